//! A simulated device: a mass on a spring and a damper in free space, within end stops. Held by a [`Hand`] it is a
//! master; pushed by a scene through [`HapticDevice::touch`] it is a slave.

use media::{Duration, Force, Instant, Position, Vector, Velocity};

use crate::control::{keep, shorten};
use crate::device::{DeviceError, DeviceInfo, DeviceState, HapticDevice};
use crate::hand::Hand;

/// Mechanics and limits of the simulated device. Values out of range are moved into it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimConfig {
    /// Name and limits; default "simulated device" with those of a small desktop device: 3.3 N, 700 N/m, 5 N s/m,
    /// 0.1 m.
    pub info: DeviceInfo,
    /// Apparent mass, kg, 0.005 to 5. Default 0.04.
    pub mass: f32,
    /// Spring towards `rest`, N/m, 0 to 1000. Default 0.
    pub spring: f32,
    /// Friction, N s/m, 0 to 20. Default 0.3.
    pub damping: f32,
    /// Where the spring is at ease, and where a device without a hand starts, m.
    pub rest: Position,
}

impl Default for SimConfig {
    fn default() -> Self {
        SimConfig {
            // No motor, no heat.
            info: DeviceInfo {
                continuous_force: 3.3,
                max_stiffness: 700.0,
                max_damping: 5.0,
                workspace_radius: 0.1,
                ..DeviceInfo::desktop("simulated device")
            },
            mass: 0.04,
            spring: 0.0,
            damping: 0.3,
            rest: Position::ZERO,
        }
    }
}

/// Step of the integration (semi-implicit Euler).
const STEP: Duration = Duration::from_micros(250);
/// After a pause longer than this the time in between is not simulated: the servo must not stall.
const CATCH_UP: Duration = Duration::from_millis(100);
/// End stops: stiffness, N/m, and damping, N s/m.
const STOP_STIFFNESS: f32 = 3000.0;
const STOP_DAMPING: f32 = 10.0;
/// The scene pushes no harder than this, N.
const MAX_CONTACT: f32 = 100.0;

/// The simulated device.
#[derive(Debug)]
pub struct SimDevice {
    config: SimConfig,
    hand: Option<Hand>,
    started: Instant,
    time: Instant,
    position: Position,
    velocity: Velocity,
    force: Force,
    contact: Force,
    sequence: u32,
}

impl SimDevice {
    /// A free device at rest.
    pub fn new(config: SimConfig, now: Instant) -> Self {
        let default = SimConfig::default();
        let rest = if config.rest.0.is_finite() { config.rest } else { default.rest };
        let config = SimConfig {
            mass: keep(config.mass, default.mass, 0.005, 5.0),
            spring: keep(config.spring, default.spring, 0.0, 1000.0),
            damping: keep(config.damping, default.damping, 0.0, 20.0),
            rest,
            info: DeviceInfo {
                max_force: keep(config.info.max_force, default.info.max_force, 0.0, 50.0),
                workspace_radius: keep(config.info.workspace_radius, default.info.workspace_radius, 0.001, 1.0),
                ..config.info
            },
        };
        SimDevice {
            config,
            hand: None,
            started: now,
            time: now,
            position: rest,
            velocity: Velocity::ZERO,
            force: Force::ZERO,
            contact: Force::ZERO,
            sequence: 0,
        }
    }

    /// A device held by `hand`, which starts where the hand wants to be.
    pub fn held(config: SimConfig, hand: Hand, now: Instant) -> Self {
        let mut device = SimDevice::new(config, now);
        device.position = Position(shorten(hand.wanted().0, device.config.info.workspace_radius).0);
        device.hand = Some(hand);
        device
    }

    /// Where the hand wants to be, if there is one, m.
    pub fn wanted(&self) -> Option<Position> {
        self.hand.as_ref().map(Hand::wanted)
    }

    /// The force that it shows now, N.
    pub fn shown(&self) -> Force {
        self.force
    }

    fn advance(&mut self, now: Instant) {
        if now.saturating_since(self.time) > CATCH_UP {
            self.time = now - CATCH_UP;
        }
        while now.saturating_since(self.time) >= STEP {
            self.time += STEP;
            self.integrate();
        }
    }

    fn integrate(&mut self) {
        let c = &self.config;
        let mut mass = c.mass;
        let mut force =
            self.force.0 + self.contact.0 + (c.rest.0 - self.position.0) * c.spring - self.velocity.0 * c.damping;
        if let Some(hand) = &mut self.hand {
            mass += hand.mass();
            force = force + hand.force(self.time.saturating_since(self.started), self.position, self.velocity);
        }
        let radius = self.position.0.norm();
        if radius > c.info.workspace_radius {
            let outward = self.position.0 * (1.0 / radius);
            let push =
                STOP_STIFFNESS * (radius - c.info.workspace_radius) + STOP_DAMPING * self.velocity.0.dot(outward);
            force = force - outward * push.max(0.0);
        }
        let dt = STEP.as_secs_f32();
        self.velocity = Velocity(self.velocity.0 + force * (dt / mass));
        self.position = Position(self.position.0 + self.velocity.0 * dt);
    }
}

impl HapticDevice for SimDevice {
    fn info(&self) -> &DeviceInfo {
        &self.config.info
    }

    fn read(&mut self, now: Instant) -> Result<DeviceState, DeviceError> {
        self.advance(now);
        self.sequence = self.sequence.wrapping_add(1);
        Ok(DeviceState {
            position: self.position,
            velocity: self.velocity,
            buttons: 0,
            sequence: self.sequence,
            at: now,
        })
    }

    fn write(&mut self, now: Instant, force: Force) -> Result<(), DeviceError> {
        self.advance(now);
        if !force.0.is_finite() {
            self.force = Force::ZERO;
            return Err(DeviceError::BadForce);
        }
        self.force = Force(limit(force.0, self.config.info.max_force));
        Ok(())
    }

    fn touch(&mut self, contact: Force) {
        self.contact = if contact.0.is_finite() { Force(limit(contact.0, MAX_CONTACT)) } else { Force::ZERO };
    }
}

/// `v`, finite, shortened to `limit`; components are cut first so that the norm cannot overflow.
fn limit(v: Vector, limit: f32) -> Vector {
    shorten(Vector(v.0.map(|c| c.clamp(-1e6, 1e6))), limit).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand::{HandConfig, HandScript};

    fn at(ms: u64) -> Instant {
        Instant::from_millis(1000 + ms)
    }

    #[test]
    fn a_free_mass_obeys_newton() {
        let mut device = SimDevice::new(SimConfig { damping: 0.0, ..SimConfig::default() }, at(0));
        device.write(at(0), Force::new(0.04, 0.0, 0.0)).unwrap();
        let state = device.read(at(200)).unwrap();
        // Only the last 100 ms are simulated after such a pause: 1 m/s2 for 0.1 s.
        assert!((state.velocity.0.0[0] - 0.1).abs() < 1e-4, "{state:?}");
        let state = device.read(at(250)).unwrap();
        assert!((state.velocity.0.0[0] - 0.15).abs() < 1e-4, "{state:?}");
        assert!((state.position.0.0[0] - 0.5 * 0.15 * 0.15).abs() < 1e-4, "{state:?}");
    }

    #[test]
    fn the_spring_settles_and_the_end_stop_holds() {
        let config = SimConfig { spring: 50.0, damping: 2.0, ..SimConfig::default() };
        let mut device = SimDevice::new(config, at(0));
        let mut state = DeviceState::default();
        for ms in 0..2000 {
            device.write(at(ms), Force::new(0.5, 0.0, 0.0)).unwrap();
            state = device.read(at(ms)).unwrap();
        }
        assert!((state.position.0.0[0] - 0.01).abs() < 1e-5, "{state:?}");
        let mut device = SimDevice::new(SimConfig::default(), at(0));
        device.touch(Force::new(0.0, f32::MAX, 0.0));
        for ms in 0..2000 {
            state = device.read(at(ms)).unwrap();
            assert!(state.position.0.norm() < 0.2 && state.velocity.0.is_finite(), "{state:?}");
        }
        assert!(state.position.0.0[1] > 0.1);
    }

    #[test]
    fn a_hand_reaches_its_target_and_yields_to_force() {
        let hand = Hand::new(HandConfig::default(), |_| Position::new(0.01, 0.0, 0.0));
        let mut device = SimDevice::held(SimConfig::default(), hand, at(0));
        assert_eq!(device.wanted(), Some(Position::new(0.01, 0.0, 0.0)));
        for ms in 0..2000 {
            device.write(at(ms), Force::new(3.0, 0.0, 0.0)).unwrap();
            device.read(at(ms)).unwrap();
        }
        let x = device.read(at(2000)).unwrap().position.0.0[0];
        assert!((x - 0.02).abs() < 1e-4, "3 N against 300 N/m are 10 mm: {x}");
    }

    #[test]
    fn the_same_calls_give_the_same_motion() {
        let run = || {
            let hand = Hand::scripted(HandConfig::default(), HandScript::default());
            let mut device = SimDevice::held(SimConfig::default(), hand, at(0));
            (0..3000).map(|ms| device.read(at(ms)).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(run(), run());
    }
}
