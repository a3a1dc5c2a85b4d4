//! Triggers I_C and I_S: congestion builds up, delays are steady. They work on differences of delays alone.

use crate::api::KCause;
use crate::config::TriggerConfig;

/// Triggers I_C and I_S.
#[derive(Clone, Debug)]
pub(super) struct Triggers {
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
    pub(super) fn new(config: TriggerConfig) -> Self {
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

    pub(super) fn restart(&mut self) {
        self.base = None;
        self.congested = false;
        self.steady = false;
        self.restart_rises_and_window();
    }

    pub(super) fn restart_rises_and_window(&mut self) {
        self.rises = 0;
        self.restart_window();
    }

    pub(super) fn restart_window(&mut self) {
        self.window.clear();
    }

    pub(super) fn on_notification(&mut self, transit: i64) {
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
    pub(super) fn raised(&mut self) -> Option<KCause> {
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
