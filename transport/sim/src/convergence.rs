//! How soon the haptic delay is under its limit again when the load of a channel changes.

use media::{Duration, Instant, Medium};
use netem::DirectionSpec;
use serde::{Deserialize, Serialize};

use crate::figures::is_late;

/// The delay counts as settled when it has been under its limit for so long.
pub const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// What followed a change of load, until the next change on the same channel or the end of the run. Times are those
/// of capture, counted from the change; a lost sample counts as one over the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// What changed: the flows of cross-traffic that began.
    pub change: String,
    /// When, ms from the start of the run.
    pub at_ms: f64,
    /// Convergence time, ms: from the change to the first sample from which on all samples of [`SETTLED_AFTER`] were
    /// within the limit. Zero if none was over it before; null if there was no such stretch.
    pub converged_ms: Option<f64>,
    /// The last sample over the limit, ms after the change; null if none was.
    pub last_over_ms: Option<f64>,
}

/// Watches the samples of a channel in order of capture.
#[derive(Debug)]
pub(crate) struct Watch {
    changes: Vec<Change>,
    /// How many changes have happened.
    begun: usize,
}

#[derive(Debug)]
struct Change {
    what: String,
    at: Instant,
    /// Captured first of the present stretch within the limit.
    calm_since: Option<Instant>,
    converged: Option<Duration>,
    last_over: Option<Duration>,
}

impl Watch {
    /// The changes of load of one direction.
    pub fn new(spec: &DirectionSpec) -> Self {
        let mut flows: Vec<_> = spec.cross.iter().map(|flow| (Instant::ZERO + flow.start, flow.name.clone())).collect();
        flows.sort();
        let mut changes: Vec<Change> = Vec::new();
        for (at, name) in flows {
            match changes.last_mut().filter(|change| change.at == at) {
                Some(change) => change.what = format!("{}, {name}", change.what),
                None => changes.push(Change { what: name, at, calm_since: None, converged: None, last_over: None }),
            }
        }
        Watch { changes, begun: 0 }
    }

    /// It is known what became of the sample captured at `captured`.
    pub fn settle(&mut self, captured: Instant, received: Option<Instant>) {
        while self.changes.get(self.begun).is_some_and(|next| next.at <= captured) {
            self.begun += 1;
        }
        let Some(change) = self.begun.checked_sub(1).and_then(|i| self.changes.get_mut(i)) else { return };
        let over = received.is_none_or(|at| is_late(Medium::Haptic.limits(), at.signed_since(captured)));
        if over {
            change.last_over = Some(captured.saturating_since(change.at));
            change.calm_since = None;
        } else if change.converged.is_none() {
            let since = *change.calm_since.get_or_insert(captured);
            if captured.saturating_since(since) >= SETTLED_AFTER {
                let never_over = change.last_over.is_none();
                change.converged = Some(if never_over { Duration::ZERO } else { since.saturating_since(change.at) });
            }
        }
    }

    /// What followed each change that happened.
    pub fn report(&self) -> Vec<Convergence> {
        let ms = |d: Duration| d.as_nanos() as f64 / 1e6;
        self.changes[..self.begun]
            .iter()
            .map(|change| Convergence {
                change: change.what.clone(),
                at_ms: change.at.as_nanos() as f64 / 1e6,
                converged_ms: change.converged.map(ms),
                last_over_ms: change.last_over.map(ms),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::{Bitrate, DataSize};
    use netem::{CrossSpec, Traffic};

    fn watch(starts_ms: &[u64]) -> Watch {
        let flow = |&ms: &u64| CrossSpec {
            stop: None,
            repeat: None,
            name: format!("at {ms}"),
            start: Duration::from_millis(ms),
            traffic: Traffic::Constant { rate: Bitrate::from_kbps(1), packet: DataSize::from_bytes(1) },
            access_rate: None,
            access_propagation: Duration::ZERO,
        };
        Watch::new(&DirectionSpec { cross: starts_ms.iter().map(flow).collect(), ..DirectionSpec::default() })
    }

    #[test]
    fn a_change_has_settled_when_the_delay_stays_under_its_limit() {
        let mut watch = watch(&[5_000, 0, 100_000]);
        for tick in 0..20_000u64 {
            // Over the limit from 5.1 s to 5.3 s and, after a pause that is too short, from 6 to 7 s; lost at 15 s.
            let delay = match tick {
                5_100..5_300 | 6_000..7_000 => Some(31),
                15_000 => None,
                _ => Some(30),
            };
            watch.settle(Instant::from_millis(tick), delay.map(|d| Instant::from_millis(tick + d)));
        }
        let [start, change] = watch.report().try_into().unwrap();
        assert_eq!((start.converged_ms, start.last_over_ms), (Some(0.0), None));
        assert_eq!((change.change.as_str(), change.at_ms), ("at 5000", 5_000.0));
        assert_eq!((change.converged_ms, change.last_over_ms), (Some(2_000.0), Some(10_000.0)));
    }
}
