//! What a run of an experiment leaves: enough for every table and picture, and nothing that differs from machine to
//! machine.

use media::{Channel, Force};
use proto::Scheme;
use proto::report::Report;
use serde::{Deserialize, Serialize};

use crate::outcome::{Details, Outcome};
use crate::traces::Traces;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// Each session, the first one first.
    pub sessions: Vec<SessionResult>,
    /// The stretch that was asked for, of the first session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

/// One session of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionResult {
    /// Its scheme.
    pub scheme: Scheme,
    /// Its report, without the cost of the run.
    pub report: Report,
    /// What only a simulation knows.
    pub simulation: Details,
}

impl SessionResult {
    pub(super) fn new(scheme: Scheme, outcome: Outcome) -> (SessionResult, Option<Traces>) {
        let report = Report { system: None, ..outcome.report };
        (SessionResult { scheme, report, simulation: outcome.details }, outcome.traces)
    }

    /// Rate of the backward channel on the wire, kbit/s.
    pub fn backward_kbps(&self) -> f64 {
        self.report.channels.backward.wire.kbps
    }

    /// Rate of the forward channel on the wire, kbit/s.
    pub fn forward_kbps(&self) -> f64 {
        self.report.channels.forward.wire.kbps
    }
}

/// A stretch of a run, moment by moment. Times are ms from its start.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// Time of capture, and haptic delay of the backward channel, ms, to the microsecond; lost samples are left out.
    pub delay_ms: Vec<(f64, f64)>,
    /// First tick, and k of the backward channel from then on.
    pub k: Vec<(f64, f64)>,
    /// Magnitude of the force shown to the operator, N, one a millisecond, from the start of the stretch; empty for
    /// synthetic samples.
    pub force_n: Vec<f64>,
    /// The same over an ideal network.
    pub ideal_force_n: Vec<f64>,
}

impl Series {
    /// The stretch from `from` to `to`, ms.
    pub(super) fn new(traces: &Traces, (from, to): (u64, u64), forces: Option<[&[Force]; 2]>) -> Series {
        let channel = traces.channel(Channel::Backward);
        let ms = |ns: i64| (ns as f64 / 1e3).round() / 1e3;
        let inside = |at: i64| (from as i64 * 1_000_000..to as i64 * 1_000_000).contains(&at);
        let samples = channel.haptic.iter().filter(|row| inside(row.capture_ns));
        let delays = samples.filter_map(|row| Some((ms(row.capture_ns), ms(row.receive_ns? - row.capture_ns))));
        let (mut k, mut before) = (Vec::new(), None);
        for row in &channel.merge_factors {
            match row.tick {
                tick if tick <= from => before = Some(row.k),
                tick if tick < to => k.push((tick as f64, f64::from(row.k))),
                _ => {}
            }
        }
        let first = before.map(|k| (from as f64, f64::from(k)));
        let last = k.last().copied().or(first).map(|(_, k)| (to as f64, k));
        let stretch = |signal: &[Force]| -> Vec<f64> {
            let (from, to) = (from as usize, to as usize);
            let part = signal.get(from..to.min(signal.len())).unwrap_or_default();
            part.iter().map(|f| (f64::from(f.0.norm()) * 1e4).round() / 1e4).collect()
        };
        let [force_n, ideal_force_n] = forces.map_or_else(Default::default, |f| f.map(stretch));
        Series {
            delay_ms: delays.collect(),
            k: first.into_iter().chain(k).chain(last).collect(),
            force_n,
            ideal_force_n,
        }
    }
}
