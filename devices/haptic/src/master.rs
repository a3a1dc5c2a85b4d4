//! One step of the operator's side: where the hand is goes out, the peer's force comes in and reaches the hand through
//! the safety stage.

use media::{Channel, Coupling, Duration, Force, HapticSample, Instant, Motion, Position, Vector, Velocity, Wave};

use crate::control::{ControlConfig, ControlStatus, Gate, Local, Newest, Received, valid_sample};
use crate::device::{DeviceError, DeviceInfo, DeviceState};
use crate::safety::{DeadMan, ForceGuard, LoopGains, Permit};
use crate::wave;

/// Control of the master device.
#[derive(Clone, Debug)]
pub struct Master {
    config: ControlConfig,
    guard: ForceGuard,
    local: Local,
    peer: Newest<HapticSample>,
    /// Position-position: from the hand to the slave at engagement, m; `None` while not engaged.
    offset: Option<Vector>,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MasterOut {
    /// Where the hand is: the last valid position, with velocity zero while the device does not answer.
    pub motion: Motion,
    /// To the peer: of the kind that the coupling wants.
    pub sample: HapticSample,
    /// To the device, N: finite, within clamp and slew, zero when it must be.
    pub force: Force,
    /// How it went.
    pub status: ControlStatus,
}

impl Master {
    /// Control of a device with these limits, not engaged.
    pub fn new(config: ControlConfig, info: &DeviceInfo, _now: Instant) -> Self {
        let config = config.in_range(info.max_stiffness, info.max_damping);
        let mut master = Master {
            config,
            guard: ForceGuard::new(config.safety, info),
            local: Local::new(),
            peer: Newest::new(),
            offset: None,
        };
        master.close_loop();
        master
    }

    /// Uses another coupling from the next step on. Samples of the old one are none any more; what safety has latched
    /// stays.
    pub fn set_coupling(&mut self, coupling: Coupling) {
        if coupling != self.config.coupling {
            self.config.coupling = coupling;
            self.peer.forget();
            self.offset = None;
            self.close_loop();
        }
    }

    /// Tells safety what loop the coupling makes.
    fn close_loop(&mut self) {
        let config = &self.config;
        // The peer's coupling is taken to be as stiff as ours would be.
        let gains = LoopGains {
            stiffness: config.stiffness * config.force_scale,
            damping: config.safety.hand_damping + config.master_damping,
        };
        match config.coupling {
            Coupling::PositionForce | Coupling::PositionPosition => {
                self.guard.close_loop(Some(gains), config.master_damping);
            }
            // Waves bear any delay with the whole force.
            Coupling::Wave => self.guard.close_loop(None, wave::IMPEDANCE),
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
        newest: Option<Received<HapticSample>>,
        gate: Gate,
    ) -> MasterOut {
        let reading = self.local.step(now, state);
        // A sample of another coupling is none.
        if let Some(sample) = newest.filter(|n| n.value.kind() == self.config.coupling.sample(Channel::Backward)) {
            match sample.value {
                // A slave that is not engaged, and so goes nowhere, says no position: nothing draws the hand there.
                HapticSample::Position(position) if !position.0.is_finite() => self.peer.forget(),
                value => self.peer.offer(now, sample.at, value, valid_sample(&value)),
            }
        }
        if !gate.connected {
            self.peer.forget();
        }
        let sample = self.peer.get(now);
        let sample_age: Option<Duration> = sample.map(|(_, age)| age);
        let refused = self.peer.invalid + self.local.invalid();
        let permit = self.guard.permit(now, gate, &reading, sample_age, refused);

        let motion = Motion {
            position: self.local.last().unwrap_or_default().position,
            velocity: reading.state.map_or(Velocity::ZERO, |s| s.velocity),
        };
        let velocity = if reading.damping { motion.velocity.0 } else { Vector::ZERO };
        let back = match sample {
            Some((HapticSample::SlaveWave(wave), age)) if !permit.off => wave::faded(wave, age),
            _ => Wave::ZERO,
        };
        let want = self.couple(&permit, velocity, motion.position, sample.map(|(sample, _)| sample), back);
        let limited = self.guard.limit(&permit, Force(want), &reading);
        let sample = match self.config.coupling {
            Coupling::PositionForce | Coupling::PositionPosition => motion.into(),
            Coupling::Wave if permit.off => HapticSample::MasterWave(Wave::ZERO, motion.position),
            // With what was shown, not with what was wanted: the rest was not the hand's work.
            Coupling::Wave => {
                HapticSample::MasterWave(wave::from_hand(velocity, limited.force.0, back), motion.position)
            }
        };

        MasterOut {
            motion,
            sample,
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

    /// The coupling's force on the hand, N, that moves at `velocity`; `back` is the wave of the slave.
    fn couple(
        &mut self,
        permit: &Permit,
        velocity: Vector,
        here: Position,
        sample: Option<HapticSample>,
        back: Wave,
    ) -> Vector {
        let share = self.config.force_scale * permit.gain;
        let damping = velocity * self.config.master_damping;
        if permit.off {
            self.offset = None;
        }
        match (self.config.coupling, sample) {
            (Coupling::Wave, _) => wave::on_hand(velocity, back),
            (Coupling::PositionPosition, Some(HapticSample::Position(slave))) if !permit.off => {
                let apart = slave.0 - here.0;
                // Where the two stand at engagement is where nothing pulls; the slave comes here meanwhile.
                let offset = *self.offset.get_or_insert(apart) * (1.0 - permit.engagement);
                (apart - offset) * (self.config.stiffness * share) - damping
            }
            (Coupling::PositionForce, Some(HapticSample::Force(force))) => force.0 * share - damping,
            // Off, nothing heard, or of a kind that was not let in.
            (Coupling::PositionForce | Coupling::PositionPosition, _) => damping * -1.0,
        }
    }
}
