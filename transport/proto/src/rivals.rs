//! Constants of the schemes that DPM is compared with. The literature gives few of them; the defaults are those most
//! favourable to each scheme on a grid that `docs/evaluation.md` publishes, with two exceptions: the deadband is the
//! literature's, and one bad report is not yet persistent loss.

use serde::{Deserialize, Serialize};

use crate::config::{MAX_MERGE, TriggerConfig};
use crate::scheme::Scheme;

/// Constants of all schemes but DPM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RivalConfig {
    /// `nafcah`: the triggers, fed with the round trip.
    pub nafcah: TriggerConfig,
    /// `rtp-report`: the triggers, fed with one delay a report.
    pub rtp: TriggerConfig,
    /// `rtp-report`: time between two reports, ms. Default 500.
    pub report_ms: u64,
    /// Deadband schemes: a sample is sent if it differs from what the receiver shows by more than this fraction of it (the
    /// Weber fraction). Default 0.1, which the literature gives.
    pub deadband: f64,
    /// Deadband schemes: smaller differences are never sent: of a force, N. Default 0.01.
    pub floor_force: f32,
    /// Deadband schemes: the same of a velocity, m/s. Default 0.005.
    pub floor_velocity: f32,
    /// Deadband schemes: a position that differs by more than this is sent, m. Default 0.0005.
    pub floor_position: f32,
    /// Schemes that skip: the longest run of ticks without a sample, ms. Default 6: the receiver makes up no more samples than
    /// that, and with the watchdog's 34 ms force is zero 50 ms after the last real one.
    pub max_gap_ms: u64,
    /// `weber`, `opportunistic`: audio and video wait so many ticks for a sample to ride with, 1 to 8. Default 8.
    pub media_wait: u8,
    /// The same of `weber-first-order`, `etp` and `visual-haptic`, which send more evenly. Default 4.
    pub even_media_wait: u8,
    /// `opportunistic`: the deadband at full congestion. Default 0.5.
    pub deadband_max: f64,
    /// `opportunistic`: so much delay above the least one is full congestion, ms. Default 3.
    pub congested_ms: f64,
    /// `etp`: the gap widens while the round trip is so much above the least one, ms. Default 2.
    pub etp_high_ms: f64,
    /// `etp`: the gap narrows while it is less than this above it, ms. Default 1.
    pub etp_low_ms: f64,
    /// `etp`: ticks between two changes of the gap, ms. Default 120.
    pub etp_pause_ms: u64,
    /// `etp`: the widest gap, ticks. Default 6, `max_gap_ms`.
    pub etp_max_gap: u8,
    /// `loss-merge`: a report with more loss than this is bad, percent. Default 0.1.
    pub loss_percent: f64,
    /// `loss-merge`: bad reports in succession that raise k. Default 2.
    pub loss_reports: u32,
    /// `loss-merge`: good reports in succession that lower k. Default 60.
    pub clear_reports: u32,
    /// `visual-haptic`: the constant bit rate, kbit/s, headers of all layers included. Default 660.
    pub visual_haptic_kbps: f64,
}

impl Default for RivalConfig {
    fn default() -> Self {
        RivalConfig {
            nafcah: TriggerConfig {
                ewma_weight: 0.1,
                rises: 6,
                window: 128,
                tolerance_ms: 0.25,
                ..TriggerConfig::default()
            },
            rtp: TriggerConfig { ewma_weight: 1.0, rises: 1, window: 8, tolerance_ms: 2.0, ..TriggerConfig::default() },
            report_ms: 500,
            deadband: 0.1,
            floor_force: 0.01,
            floor_velocity: 0.005,
            floor_position: 0.000_5,
            max_gap_ms: 6,
            media_wait: 8,
            even_media_wait: 4,
            deadband_max: 0.5,
            congested_ms: 3.0,
            etp_high_ms: 2.0,
            etp_low_ms: 1.0,
            etp_pause_ms: 120,
            etp_max_gap: 6,
            loss_percent: 0.1,
            loss_reports: 2,
            clear_reports: 60,
            visual_haptic_kbps: 660.0,
        }
    }
}

impl RivalConfig {
    /// How many ticks audio and video wait for a sample under `scheme`.
    pub(crate) fn wait(&self, scheme: Scheme) -> u8 {
        let wait = match scheme {
            Scheme::WeberFirstOrder | Scheme::Etp | Scheme::VisualHaptic => self.even_media_wait,
            _ => self.media_wait,
        };
        wait.clamp(1, MAX_MERGE)
    }

    /// Every number with the range that makes sense: name, value, least, largest.
    pub fn ranges(&self) -> Vec<(&'static str, f64, f64, f64)> {
        vec![
            ("report_ms", self.report_ms as f64, 10.0, 10_000.0),
            ("deadband", self.deadband, 0.0, 1.0),
            ("floor_force", f64::from(self.floor_force), 0.0, 10.0),
            ("floor_velocity", f64::from(self.floor_velocity), 0.0, 10.0),
            ("floor_position", f64::from(self.floor_position), 0.0, 1.0),
            ("max_gap_ms", self.max_gap_ms as f64, 1.0, 8.0),
            ("media_wait", f64::from(self.media_wait), 1.0, f64::from(MAX_MERGE)),
            ("even_media_wait", f64::from(self.even_media_wait), 1.0, f64::from(MAX_MERGE)),
            ("deadband_max", self.deadband_max, self.deadband, 1.0),
            ("congested_ms", self.congested_ms, 0.1, 1_000.0),
            ("etp_high_ms", self.etp_high_ms, self.etp_low_ms, 1_000.0),
            ("etp_low_ms", self.etp_low_ms, 0.0, 1_000.0),
            ("etp_pause_ms", self.etp_pause_ms as f64, 1.0, 10_000.0),
            ("etp_max_gap", f64::from(self.etp_max_gap), 1.0, 25.0),
            ("loss_percent", self.loss_percent, 0.0, 100.0),
            ("loss_reports", f64::from(self.loss_reports), 1.0, 1_000.0),
            ("clear_reports", f64::from(self.clear_reports), 1.0, 10_000.0),
            ("visual_haptic_kbps", self.visual_haptic_kbps, 50.0, 1e6),
            ("nafcah.ewma_weight", self.nafcah.ewma_weight, 1e-6, 1.0),
            ("nafcah.window", self.nafcah.window as f64, 1.0, 4_096.0),
            ("nafcah.rises", f64::from(self.nafcah.rises), 1.0, 1_000.0),
            ("rtp.ewma_weight", self.rtp.ewma_weight, 1e-6, 1.0),
            ("rtp.window", self.rtp.window as f64, 1.0, 4_096.0),
            ("rtp.rises", f64::from(self.rtp.rises), 1.0, 1_000.0),
        ]
    }
}
