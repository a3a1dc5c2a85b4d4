//! One step of the operator's side: where the hand is goes out, the peer's force comes in and reaches the hand through
//! the safety stage.

use media::{Duration, Force, Instant, Motion, Velocity};

use crate::control::{ControlConfig, ControlStatus, Gate, Local, Newest, Received, valid_force};
use crate::device::{DeviceError, DeviceInfo, DeviceState};
use crate::safety::{DeadMan, ForceGuard, LoopGains};

/// Control of the master device.
#[derive(Clone, Debug)]
pub struct Master {
    config: ControlConfig,
    guard: ForceGuard,
    local: Local,
    peer: Newest<Force>,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MasterOut {
    /// To the peer: the last valid position, with velocity zero while the device does not answer.
    pub motion: Motion,
    /// To the device, N: finite, within clamp and slew, zero when it must be.
    pub force: Force,
    /// How it went.
    pub status: ControlStatus,
}

impl Master {
    /// Control of a device with these limits, not engaged.
    pub fn new(config: ControlConfig, info: &DeviceInfo, _now: Instant) -> Self {
        let config = config.in_range(info.max_stiffness, info.max_damping);
        // The peer's coupling is taken to be as stiff as ours would be.
        let gains = LoopGains {
            stiffness: config.stiffness * config.force_scale,
            damping: config.safety.hand_damping + config.master_damping,
        };
        Master {
            config,
            guard: ForceGuard::new(config.safety, info, Some(gains), config.master_damping),
            local: Local::new(),
            peer: Newest::new(),
        }
    }

    /// The longest force that the device will be given, N.
    pub fn max_force(&self) -> f32 {
        self.guard.max_force()
    }

    /// What has to be held for force to come on; never [`DeadMan::Auto`].
    pub fn dead_man(&self) -> DeadMan {
        self.guard.dead_man()
    }

    /// One tick: `state` as just read from the device, `newest` sample of the peer if there ever was one.
    pub fn step(
        &mut self,
        now: Instant,
        state: &Result<DeviceState, DeviceError>,
        newest: Option<Received<Force>>,
        gate: Gate,
    ) -> MasterOut {
        let reading = self.local.step(now, state);
        if let Some(sample) = newest {
            self.peer.offer(now, sample.at, sample.value, valid_force(&sample.value));
        }
        if !gate.connected {
            self.peer.forget();
        }
        let sample = self.peer.get(now);
        let sample_age: Option<Duration> = sample.map(|(_, age)| age);
        let refused = self.peer.invalid + self.local.invalid();
        let permit = self.guard.permit(now, gate, &reading, sample_age, refused);

        let velocity = reading.state.map_or(Velocity::ZERO, |s| s.velocity);
        let mut want = sample.map_or(Force::ZERO, |(force, _)| force).0 * (self.config.force_scale * permit.gain);
        if reading.damping {
            want = want - velocity.0 * self.config.master_damping;
        }
        let limited = self.guard.limit(&permit, Force(want), &reading);

        let position = self.local.last().unwrap_or_default().position;
        MasterOut {
            motion: Motion { position, velocity },
            force: limited.force,
            status: ControlStatus {
                engagement: permit.engagement,
                reason: permit.reason,
                sample_age,
                device_ok: reading.state.is_some(),
                safety: *self.guard.status(),
                passed: limited.passed,
                clamped: limited.clamped,
                slewed: limited.slewed,
                invalid_samples: self.peer.invalid,
                invalid_states: self.local.invalid(),
            },
        }
    }
}
