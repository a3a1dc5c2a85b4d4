//! The table `[safety]` of a configuration: limits and stages of the safety chain, in the units in which people think.

use haptic::{ControlConfig, DeadMan, SafetyConfig};
use serde::Deserialize;

use crate::error::SessionError;

/// Limits of force beside `force_limit`. The device's own limits hold too: the lower of both.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SafetyOptions {
    /// Largest change of the force, N/ms, 0.001 to 10. Default 0.3.
    pub slew_n_per_ms: f32,
    /// What the force may change by at that pace in one go, N, 0.5 to 100. Default 4.
    pub kick_n: f32,
    /// Force comes up over this time, s, 0.2 to 10. Default 1.
    pub engagement_s: f32,
    /// Hands do not move a device faster, m/s, 0.1 to 10. Default 1.5.
    pub trip_speed_m_s: f32,
    /// What the hand itself damps, N s/m, 0 to 50: the gain schedule counts on it. Default 6.
    pub hand_damping_ns_m: f32,
    /// Less of the peer's force the longer the loop. Default true. False is for experiments: long delays then ring.
    pub schedule: bool,
    /// Take back energy that the loop makes. Default true. False is for experiments.
    pub passivity: bool,
    /// What has to be held for force: `"auto"` (the device's button if it has one for this), `"none"`, `"button"`,
    /// `"key"` (F in the window). Default `"auto"`.
    pub dead_man: DeadManOption,
}

/// What stands for a hand on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeadManOption {
    /// The device's button if its description names one, else nothing.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// The device's button.
    Button,
    /// A key of the window.
    Key,
}

impl Default for SafetyOptions {
    fn default() -> Self {
        let SafetyConfig { slew, kick, engagement, trip_speed, hand_damping, .. } = SafetyConfig::default();
        SafetyOptions {
            slew_n_per_ms: slew,
            kick_n: kick,
            engagement_s: engagement.as_secs_f32(),
            trip_speed_m_s: trip_speed,
            hand_damping_ns_m: hand_damping,
            schedule: true,
            passivity: true,
            dead_man: DeadManOption::Auto,
        }
    }
}

impl SafetyOptions {
    /// Are all values in their ranges?
    ///
    /// # Errors
    /// The first that is not, with its range.
    pub(crate) fn check(
        &self,
        range: impl Fn(&str, f64, f64, f64) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        range("safety.slew_n_per_ms", f64::from(self.slew_n_per_ms), 0.001, 10.0)?;
        range("safety.kick_n", f64::from(self.kick_n), 0.5, 100.0)?;
        range("safety.engagement_s", f64::from(self.engagement_s), 0.2, 10.0)?;
        range("safety.trip_speed_m_s", f64::from(self.trip_speed_m_s), 0.1, 10.0)?;
        range("safety.hand_damping_ns_m", f64::from(self.hand_damping_ns_m), 0.0, 50.0)
    }

    /// The control's defaults with these limits and the user's limit of force, N.
    pub(crate) fn control(&self, force_limit: f32) -> ControlConfig {
        let safety = SafetyConfig {
            max_force: force_limit,
            slew: self.slew_n_per_ms,
            kick: self.kick_n,
            engagement: std::time::Duration::from_secs_f32(self.engagement_s.clamp(0.2, 10.0)),
            trip_speed: self.trip_speed_m_s,
            hand_damping: self.hand_damping_ns_m,
            schedule: self.schedule,
            passivity: self.passivity,
            dead_man: match self.dead_man {
                DeadManOption::Auto => DeadMan::Auto,
                DeadManOption::None => DeadMan::None,
                DeadManOption::Button => DeadMan::Button,
                DeadManOption::Key => DeadMan::Key,
            },
            ..SafetyConfig::default()
        };
        ControlConfig { safety, ..ControlConfig::default() }
    }
}
