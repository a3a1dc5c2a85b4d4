//! Packetization: how many fragments make a packet. A closed set of schemes behind [`Packetizer`]; DPM and
//! its triggers are the heart. Works on ticks and on differences of delays alone.
//!
//! Source: Gokhale, Nair, Chaudhuri, ACM TOMM 13(2), 2017; the constants of the triggers are ours
//! (`docs/protocol.md`, "Triggers"). The rivals follow the one-sentence accounts of them there; their constants:
//! `docs/evaluation.md`.

mod triggers;

use crate::api::KCause;
use crate::config::{MAX_MERGE, Scheme, TriggerConfig};
use crate::rivals::RivalConfig;
use triggers::Triggers;

/// Decides k, tick by tick.
#[derive(Clone, Debug)]
pub struct Packetizer {
    scheme: Scheme,
    config: TriggerConfig,
    rivals: RivalConfig,
    k: u8,
    /// Tick from which packets are sent under the present k: older ones say nothing about it.
    changed_at: u64,
    triggers: Triggers,
    hold: HoldUp,
    /// `rtp-report`: tick of the packet that the last report was about.
    reported_at: Option<u64>,
    losses: Losses,
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
    pub fn new(scheme: Scheme, config: TriggerConfig, rivals: RivalConfig) -> Self {
        let config = TriggerConfig { k_max: config.k_max.clamp(1, MAX_MERGE), ..config };
        Packetizer {
            scheme,
            config,
            rivals,
            k: first_k(scheme),
            changed_at: 0,
            triggers: Triggers::new(trigger_config(scheme, config, &rivals)),
            hold: HoldUp::default(),
            reported_at: None,
            losses: Losses::default(),
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
        self.triggers = Triggers::new(trigger_config(scheme, self.config, &self.rivals));
        self.hold = HoldUp::default();
        self.reported_at = None;
        self.losses = Losses::default();
        self.set_k(first_k(scheme), tick)
    }

    /// Forgets what was measured: the peer or the route is another.
    pub fn reset(&mut self) {
        self.triggers.restart();
        self.reported_at = None;
        self.losses = Losses::default();
    }

    /// The peer measured `transit` (10 us, any constant offset, unwrapped) for the packet that left at tick
    /// `sent_at`; with its answer that makes a round trip of the network of `round_trip` (10 us).
    pub fn on_notification(&mut self, sent_at: u64, transit: i64, round_trip: i64) {
        if sent_at < self.changed_at {
            return;
        }
        match self.scheme {
            Scheme::Nafcah => self.triggers.on_notification(round_trip),
            Scheme::RtpReport => {
                let due = self.reported_at.is_none_or(|at| sent_at >= at + self.rivals.report_ms);
                if due {
                    self.reported_at = Some(sent_at);
                    self.triggers.on_notification(transit);
                }
            }
            _ => self.triggers.on_notification(transit),
        }
    }

    /// The peer tells how many samples of ours it received and lost so far.
    pub fn on_report(&mut self, delivered: u64, lost: u64) {
        self.losses.on_report(delivered, lost, &self.rivals);
    }

    /// Lets what came since the last tick act; returns the cause if k changed.
    pub fn tick(&mut self, tick: u64) -> Option<KCause> {
        let raised = match self.scheme {
            Scheme::LossMerge => self.losses.raised(&self.rivals),
            _ => self.triggers.raised(),
        }?;
        let up = match self.scheme {
            Scheme::Dpm | Scheme::DpmHoldUp | Scheme::RtpReport => self.config.k_max,
            Scheme::Nafcah | Scheme::LossMerge => (self.k + 1).min(self.config.k_max),
            _ => return None,
        };
        match raised {
            KCause::Congestion => {
                self.counters.i_c += 1;
                if self.k < self.config.k_max {
                    self.hold.congested_at = Some(self.k);
                    self.set_k(up, tick);
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
        _ => 1,
    }
}

fn trigger_config(scheme: Scheme, dpm: TriggerConfig, rivals: &RivalConfig) -> TriggerConfig {
    match scheme {
        Scheme::Nafcah => rivals.nafcah,
        Scheme::RtpReport => rivals.rtp,
        _ => dpm,
    }
}

/// `loss-merge`: how many reports in succession were bad, how many good.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    /// Delivered and lost by the last report.
    last: Option<(u64, u64)>,
    bad: u32,
    good: u32,
}

impl Losses {
    fn on_report(&mut self, delivered: u64, lost: u64, rivals: &RivalConfig) {
        let Some((delivered_before, lost_before)) = self.last.replace((delivered, lost)) else { return };
        let (delivered, lost) = (delivered.saturating_sub(delivered_before), lost.saturating_sub(lost_before));
        let share = 100.0 * lost as f64 / (delivered + lost).max(1) as f64;
        (self.bad, self.good) = if share > rivals.loss_percent { (self.bad + 1, 0) } else { (0, self.good + 1) };
    }

    fn raised(&mut self, rivals: &RivalConfig) -> Option<KCause> {
        let cause = match () {
            () if self.bad >= rivals.loss_reports.max(1) => KCause::Congestion,
            () if self.good >= rivals.clear_reports.max(1) => KCause::Steady,
            () => return None,
        };
        (self.bad, self.good) = (0, 0);
        Some(cause)
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

#[cfg(test)]
mod tests;
