//! Limits of force and the constants of the stages.

use media::Duration;

use crate::control::keep;

/// Limits of force. Values out of range are moved into it; a not-a-number becomes the default. Where the device has a
/// limit of its own, the lower of the two holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SafetyConfig {
    /// What the user allows, N, 0 to 50; the device's own limit holds too. Default 3.3, that of a small desktop device.
    pub max_force: f32,
    /// Largest change of the force vector, N/ms, direction included, 0.001 to 10. Default 0.3: full force in 11 ms. Lower
    /// blurs contacts; much higher lets kicks through (5 N at once is felt as one).
    pub slew: f32,
    /// What the force may change by at that pace before it has to slow down to half of it, N, 0.5 to 100. Default 4: below
    /// the 5 N that are felt as a kick.
    pub kick: f32,
    /// Force comes up over this time after each engagement, 0 to 10 s. Default 1 s.
    pub engagement: Duration,
    /// The last valid sample counts in full for this long. Default 4 ms: one packet of four samples.
    pub hold: Duration,
    /// At this age of the last valid sample, and later, force is exactly zero; linear in between. At most 49 ms.
    /// Default 34 ms: with a tick, 9 ms of playout and a wake-up that comes some milliseconds late that is zero 50 ms after
    /// the sample reached the station.
    pub zero: Duration,
    /// A pause between two of our own steps beyond this starts force anew, 5 to 1000 ms. Default 20 ms.
    pub stall: Duration,
    /// The peer's force is shown in the share that the delay of the loop allows. Default true. Off is for experiments:
    /// long delays then ring.
    pub schedule: bool,
    /// What the hand itself damps, N s/m, 0 to 50: part of the gain schedule. Default 6, an arm that holds a stylus.
    pub hand_damping: f32,
    /// Energy that the device gives away without having got it is taken back. Default true. Off is for experiments.
    pub passivity: bool,
    /// Hands do not move a device faster, m/s, 0.1 to 10. Default 1.5. Beyond, only damping acts; for long, nothing.
    pub trip_speed: f32,
    /// Time in which the motors warm up and cool down, 1 to 1000 s. Default 30 s.
    pub heat_time: Duration,
    /// What stands for a hand on the device. Default: its button, if it has one for this.
    pub dead_man: DeadMan,
}

/// What has to be held for any force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DeadMan {
    /// The device's button if its description names one, else nothing.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// The device's button; on a device without one there is no force.
    Button,
    /// A key of the window.
    Key,
}

impl Default for SafetyConfig {
    fn default() -> Self {
        SafetyConfig {
            max_force: 3.3,
            slew: 0.3,
            kick: 4.0,
            engagement: Duration::from_secs(1),
            hold: Duration::from_millis(4),
            zero: Duration::from_millis(34),
            stall: Duration::from_millis(20),
            schedule: true,
            hand_damping: 6.0,
            passivity: true,
            trip_speed: 1.5,
            heat_time: Duration::from_secs(30),
            dead_man: DeadMan::Auto,
        }
    }
}

impl SafetyConfig {
    pub(crate) fn in_range(self) -> Self {
        let default = SafetyConfig::default();
        let zero = self.zero.clamp(Duration::from_millis(1), Duration::from_millis(49));
        SafetyConfig {
            max_force: keep(self.max_force, default.max_force, 0.0, 50.0),
            slew: keep(self.slew, default.slew, 0.001, 10.0),
            kick: keep(self.kick, default.kick, 0.5, 100.0),
            engagement: self.engagement.min(Duration::from_secs(10)),
            hold: self.hold.min(zero),
            zero,
            stall: self.stall.clamp(Duration::from_millis(5), Duration::from_secs(1)),
            hand_damping: keep(self.hand_damping, default.hand_damping, 0.0, 50.0),
            trip_speed: keep(self.trip_speed, default.trip_speed, 0.1, 10.0),
            heat_time: self.heat_time.clamp(Duration::from_secs(1), Duration::from_secs(1000)),
            ..self
        }
    }
}
