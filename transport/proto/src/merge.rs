//! Packetization: how many fragments make a packet. A closed set of schemes behind [`Packetizer`]; DPM and
//! its triggers are the heart. Works on ticks and on differences of delays alone.
//!
//! Source: Gokhale, Nair, Chaudhuri, ACM TOMM 13(2), 2017; the constants of the triggers are ours
//! (`docs/protocol.md`, "Triggers").

use crate::api::KCause;
use crate::config::{MAX_MERGE, Scheme, TriggerConfig};

/// Decides k, tick by tick.
#[derive(Clone, Debug)]
pub struct Packetizer {
    scheme: Scheme,
    config: TriggerConfig,
    k: u8,
    /// Tick from which packets are sent under the present k: older ones say nothing about it.
    changed_at: u64,
    triggers: Triggers,
    hold: HoldUp,
    /// Counters for the report.
    pub counters: Counters,
}

/// How often what happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Changes of k.
    pub changes: u64,
    /// Triggers I_C raised.
    pub i_c: u64,
    /// Triggers I_S raised.
    pub i_s: u64,
}

impl Packetizer {
    /// A packetizer at the scheme's first k.
    pub fn new(scheme: Scheme, config: TriggerConfig) -> Self {
        let config = TriggerConfig { k_max: config.k_max.clamp(1, MAX_MERGE), ..config };
        Packetizer {
            scheme,
            config,
            k: first_k(scheme),
            changed_at: 0,
            triggers: Triggers::new(config),
            hold: HoldUp::default(),
            counters: Counters::default(),
        }
    }

    /// Merge factor in force.
    pub fn k(&self) -> u8 {
        self.k
    }

    /// Scheme in force.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Changes the scheme from `tick` on; returns true if k changed.
    pub fn set_scheme(&mut self, scheme: Scheme, tick: u64) -> bool {
        self.scheme = scheme;
        self.hold = HoldUp::default();
        self.set_k(first_k(scheme), tick)
    }

    /// Forgets what was measured: the peer or the route is another.
    pub fn reset(&mut self) {
        self.triggers.restart();
    }

    /// The peer measured `transit` (10 us, any constant offset, unwrapped) for the packet that left at tick
    /// `sent_at`.
    pub fn on_notification(&mut self, sent_at: u64, transit: i64) {
        if sent_at >= self.changed_at {
            self.triggers.on_notification(transit);
        }
    }

    /// Lets the notifications that came since the last tick act; returns the cause if k changed.
    pub fn tick(&mut self, tick: u64) -> Option<KCause> {
        let raised = self.triggers.raised()?;
        if !matches!(self.scheme, Scheme::Dpm | Scheme::DpmHoldUp) {
            return None;
        }
        match raised {
            KCause::Congestion => {
                self.counters.i_c += 1;
                if self.k < self.config.k_max {
                    self.hold.congested_at = Some(self.k);
                    self.set_k(self.config.k_max, tick);
                    return Some(KCause::Congestion);
                }
                self.triggers.restart_rises_and_window();
            }
            KCause::Steady => {
                if self.scheme == Scheme::DpmHoldUp && self.hold.holds(self.k, tick, self.config.hold_up_ms) {
                    return None;
                }
                self.counters.i_s += 1;
                if self.k > 1 {
                    self.set_k(self.k - 1, tick);
                    return Some(KCause::Steady);
                }
                self.triggers.restart_window();
            }
            KCause::Start => {}
        }
        None
    }

    fn set_k(&mut self, k: u8, tick: u64) -> bool {
        self.triggers.restart();
        self.changed_at = tick;
        if self.k == k {
            return false;
        }
        self.k = k;
        self.counters.changes += 1;
        if self.hold.congested_at.is_some_and(|c| k == c + 1) {
            self.hold.since = tick;
        }
        true
    }
}

fn first_k(scheme: Scheme) -> u8 {
    match scheme {
        Scheme::KMerge(k) => k.clamp(1, MAX_MERGE),
        Scheme::NoMerge | Scheme::Dpm | Scheme::DpmHoldUp => 1,
    }
}

/// Hold-up remembers the k that congested, and since when k is one above it.
#[derive(Clone, Copy, Debug, Default)]
struct HoldUp {
    congested_at: Option<u8>,
    since: u64,
}

impl HoldUp {
    fn holds(&self, k: u8, tick: u64, hold_up_ms: u64) -> bool {
        self.congested_at.is_some_and(|c| k == c + 1) && tick < self.since + hold_up_ms
    }
}

/// Triggers I_C and I_S.
#[derive(Clone, Debug)]
struct Triggers {
    config: TriggerConfig,
    /// Delays count from the first one after a restart, so that a constant offset changes no digit.
    base: Option<i64>,
    average: f64,
    rises: u32,
    window: Window,
    /// Raised since the last tick: a decision stands even if a later notification of the same tick contradicts.
    congested: bool,
    steady: bool,
}

impl Triggers {
    fn new(config: TriggerConfig) -> Self {
        Triggers {
            config,
            base: None,
            average: 0.0,
            rises: 0,
            window: Window::new(config.window.max(1)),
            congested: false,
            steady: false,
        }
    }

    fn restart(&mut self) {
        self.base = None;
        self.congested = false;
        self.steady = false;
        self.restart_rises_and_window();
    }

    fn restart_rises_and_window(&mut self) {
        self.rises = 0;
        self.restart_window();
    }

    fn restart_window(&mut self) {
        self.window.clear();
    }

    fn on_notification(&mut self, transit: i64) {
        match self.base {
            None => {
                self.base = Some(transit);
                self.average = 0.0;
            }
            Some(base) => {
                let before = self.average;
                self.average += self.config.ewma_weight * ((transit - base) as f64 - before);
                self.rises = if self.average > before { self.rises + 1 } else { 0 };
            }
        }
        self.window.push(self.average);
        self.congested |= self.rises >= self.config.rises;
        self.steady |= self.window.spread().is_some_and(|s| s <= self.config.tolerance_ms * 100.0);
    }

    /// The trigger raised by the notifications since the last call, I_C before I_S.
    fn raised(&mut self) -> Option<KCause> {
        let (congested, steady) = (std::mem::take(&mut self.congested), std::mem::take(&mut self.steady));
        if congested { Some(KCause::Congestion) } else { steady.then_some(KCause::Steady) }
    }
}

/// The last so many averages.
#[derive(Clone, Debug)]
struct Window {
    values: Box<[f64]>,
    next: usize,
    full: bool,
}

impl Window {
    fn new(size: usize) -> Self {
        Window { values: vec![0.0; size].into(), next: 0, full: false }
    }

    fn clear(&mut self) {
        self.next = 0;
        self.full = false;
    }

    fn push(&mut self, value: f64) {
        self.values[self.next] = value;
        self.next += 1;
        if self.next == self.values.len() {
            self.next = 0;
            self.full = true;
        }
    }

    /// Largest minus smallest, once full.
    fn spread(&self) -> Option<f64> {
        let extremes = |(lo, hi): (f64, f64), &v: &f64| (lo.min(v), hi.max(v));
        let (min, max) = self.full.then(|| self.values.iter().fold((f64::MAX, f64::MIN), extremes))?;
        Some(max - min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dpm(scheme: Scheme) -> Packetizer {
        Packetizer::new(scheme, TriggerConfig::default())
    }

    /// Feeds one notification a tick, each of a packet sent just before.
    fn feed(p: &mut Packetizer, tick: &mut u64, transits: impl Iterator<Item = i64>) -> Vec<(u64, u8)> {
        let mut changes = Vec::new();
        for t in transits {
            *tick += 1;
            p.on_notification(*tick - 1, t);
            if p.tick(*tick).is_some() {
                changes.push((*tick, p.k()));
            }
        }
        changes
    }

    #[test]
    fn six_rises_congest_and_sixty_four_steady_delays_relax() {
        let mut p = dpm(Scheme::Dpm);
        let mut tick = 0;
        assert_eq!(feed(&mut p, &mut tick, (0..7).map(|i| 1700 + 30 * i)), [(7, 4)]);
        assert_eq!((p.k(), p.counters.i_c, p.counters.changes), (4, 1, 1));
        // The first of these names the packet of the tick that changed k, so all 64 count.
        assert_eq!(feed(&mut p, &mut tick, std::iter::repeat_n(1900, 63)), []);
        assert_eq!(feed(&mut p, &mut tick, std::iter::repeat_n(1900, 1)), [(71, 3)]);
    }

    #[test]
    fn a_spread_over_the_tolerance_is_not_steady() {
        let mut p = dpm(Scheme::Dpm);
        let mut tick = 0;
        feed(&mut p, &mut tick, (0..7).map(|i| 30 * i));
        // Falling by 10 us each time the average sinks 0.64 ms in a window, at half that pace 0.32 ms.
        assert_eq!(feed(&mut p, &mut tick, (0..500).map(|i| -i)), []);
        assert!(!feed(&mut p, &mut tick, (0..200).map(|i| -500 - i / 2)).is_empty());
    }

    #[test]
    fn offsets_change_nothing() {
        let run = |offset: i64| {
            let mut p = dpm(Scheme::Dpm);
            let mut tick = 0;
            let noise = (0..5000i64).map(|i| 1700 + (i * i * 7919 % 97) + (i % 700) / 3 + offset);
            feed(&mut p, &mut tick, noise)
        };
        let reference = run(0);
        assert!(!reference.is_empty());
        for offset in [10_000, -10_000, 32_700, -32_700, -1_800, i64::from(i32::MAX)] {
            assert_eq!(run(offset), reference);
        }
    }

    #[test]
    fn hold_up_waits_half_a_second_above_the_k_that_congested() {
        let relax = |scheme| {
            let mut p = dpm(scheme);
            let mut tick = 0;
            let mut changes = feed(&mut p, &mut tick, (0..7).map(|i| 30 * i));
            changes.extend(feed(&mut p, &mut tick, std::iter::repeat_n(0, 1500)));
            changes
        };
        let without = relax(Scheme::Dpm);
        let with = relax(Scheme::DpmHoldUp);
        assert_eq!(without[..3], with[..3]);
        assert_eq!(with[2].1, 2);
        assert_eq!(with[3], (with[2].0 + 500, 1));
        assert!(without[3].0 < with[3].0);
    }

    #[test]
    fn fixed_schemes_never_move() {
        for (scheme, k) in [(Scheme::NoMerge, 1), (Scheme::KMerge(3), 3)] {
            let mut p = dpm(scheme);
            let mut tick = 0;
            assert_eq!(feed(&mut p, &mut tick, (0..1000).map(|i| 30 * i)), []);
            assert_eq!(p.k(), k);
        }
    }
}
