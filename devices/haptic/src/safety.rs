//! The last stage before a motor: whatever control wants, what comes out of here is finite, short enough, changes slowly
//! enough, and is zero when it must be. The same stage stands at both stations.

mod stage;

use media::{Duration, Force, Instant};

use crate::control::{ForceOff, Gate, keep, shorten};
pub use stage::{SafetyStatus, Stage, StageState, StageStatus};

/// Limits of force. Values out of range are moved into it; a not-a-number becomes the default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SafetyConfig {
    /// What the user allows, N, 0 to 50; the device's own limit holds too. Default 3.3, that of a small desktop device.
    pub max_force: f32,
    /// Largest change of the force vector, N/ms, direction included, 0.001 to 10. Default 0.3: full force in 11 ms. Lower
    /// blurs contacts; much higher lets kicks through (5 N at once is felt as one).
    pub slew: f32,
    /// Force comes up over this time after each engagement, 0 to 10 s. Default 1 s.
    pub engagement: Duration,
    /// The last valid sample counts in full for this long. Default 4 ms: one packet of four samples.
    pub hold: Duration,
    /// At this age of the last valid sample, and later, force is exactly zero; linear in between. At most 49 ms.
    /// Default 34 ms: with a tick, 9 ms of playout and a wake-up that comes some milliseconds late that is zero 50 ms after
    /// the sample reached the station.
    pub zero: Duration,
}

impl Default for SafetyConfig {
    fn default() -> Self {
        SafetyConfig {
            max_force: 3.3,
            slew: 0.3,
            engagement: Duration::from_secs(1),
            hold: Duration::from_millis(4),
            zero: Duration::from_millis(34),
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
            engagement: self.engagement.min(Duration::from_secs(10)),
            hold: self.hold.min(zero),
            zero,
        }
    }
}

/// What one step may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permit {
    /// 0 to 1, from the engagement ramp.
    pub engagement: f32,
    /// 0 to 1, from the age of the last sample.
    pub freshness: f32,
    /// Why force is off or limited.
    pub reason: Option<ForceOff>,
    /// Force is exactly zero in this step.
    pub off: bool,
}

/// Force after all limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limited {
    /// To the device.
    pub force: Force,
    /// The clamp cut it.
    pub clamped: bool,
    /// The slew limit cut its change.
    pub slewed: bool,
}

/// The safety stage. Each step asks [`ForceGuard::permit`] first, then passes the wanted force through
/// [`ForceGuard::limit`].
#[derive(Clone, Debug)]
pub struct ForceGuard {
    config: SafetyConfig,
    max_force: f32,
    engaged_at: Option<Instant>,
    last: Force,
    last_at: Option<Instant>,
    status: SafetyStatus,
}

/// A longer pause between steps than this allows no larger change of force.
const MAX_STEP_MS: f32 = 4.0;

impl ForceGuard {
    /// A guard for a device that can show `device_max_force`, N.
    pub fn new(config: SafetyConfig, device_max_force: f32) -> Self {
        let config = config.in_range();
        let max_force = keep(device_max_force, 0.0, 0.0, config.max_force);
        ForceGuard {
            config,
            max_force,
            engaged_at: None,
            last: Force::ZERO,
            last_at: None,
            status: SafetyStatus::default(),
        }
    }

    /// The longest force that comes out, N.
    pub fn max_force(&self) -> f32 {
        self.max_force
    }

    /// What each stage did in the last step.
    pub fn status(&self) -> &SafetyStatus {
        &self.status
    }

    /// Decides what this step may do. Anything that puts force off also restarts the engagement ramp.
    pub fn permit(&mut self, now: Instant, gate: Gate, device_ok: bool, sample_age: Option<Duration>) -> Permit {
        let freshness = sample_age.map_or(0.0, |age| self.freshness(age));
        let off = if gate.stopped_here {
            Some(ForceOff::StoppedHere)
        } else if gate.stopped_there {
            Some(ForceOff::StoppedThere)
        } else if !device_ok {
            Some(ForceOff::Device)
        } else if !gate.connected {
            Some(ForceOff::NotConnected)
        } else if sample_age.is_none() {
            Some(ForceOff::NoSample)
        } else if freshness <= 0.0 {
            Some(ForceOff::PeerSilent)
        } else {
            None
        };
        if off.is_some() {
            self.engaged_at = None;
            return Permit { engagement: 0.0, freshness, reason: off, off: true };
        }
        let since = now.saturating_since(*self.engaged_at.get_or_insert(now));
        let engagement = if since >= self.config.engagement {
            1.0
        } else {
            let t = since.as_secs_f32() / self.config.engagement.as_secs_f32();
            t * t * (3.0 - 2.0 * t)
        };
        let reason = if freshness < 1.0 {
            Some(ForceOff::Fading)
        } else if engagement < 1.0 {
            Some(ForceOff::Engaging)
        } else {
            None
        };
        Permit { engagement, freshness, reason, off: false }
    }

    /// Passes `want` through the clamp, the ramp with the watchdog's fade, and the slew limit, in this order. Zero, at once,
    /// if the permit is off or `want` is not finite.
    pub fn limit(&mut self, now: Instant, permit: &Permit, want: Force) -> Limited {
        let elapsed_ms = self.last_at.map_or(0.0, |last| now.saturating_since(last).as_secs_f32() * 1e3);
        self.last_at = Some(now);
        if permit.off || !want.0.is_finite() {
            self.last = Force::ZERO;
            return Limited { force: Force::ZERO, clamped: false, slewed: false };
        }
        // Components near f32::MAX overflow the norm; no force that large is meant.
        let want = want.0.0.map(|c| c.clamp(-1e6, 1e6));
        let (clamped_force, clamped) = shorten(media::Vector(want), self.max_force);
        let target = clamped_force * (permit.engagement * permit.freshness);
        let (change, slewed) = shorten(target - self.last.0, self.config.slew * elapsed_ms.min(MAX_STEP_MS));
        // Rounding may leave the last bit over.
        let (force, _) = shorten(self.last.0 + change, self.max_force);
        self.last = Force(force);
        Limited { force: self.last, clamped, slewed }
    }

    fn freshness(&self, age: Duration) -> f32 {
        let SafetyConfig { hold, zero, .. } = self.config;
        if age >= zero {
            0.0
        } else if age <= hold {
            1.0
        } else {
            (zero - age).as_secs_f32() / (zero - hold).as_secs_f32()
        }
    }
}
