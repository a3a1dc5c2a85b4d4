//! A synthetic hand and what it meets, open loop: free motion, contact, texture, and again. Both stations of a run make
//! the same story from the same seed; nothing that the network does changes it.
//!
//! - Free motion: slow sines of 0.2 to 3 Hz and a tremor of 8 to 12 Hz, no force. So well over 90 % of the power of
//!   position and velocity lies below 20 Hz, as in human motion.
//! - Contact: the force steps up within a millisecond, rings off at 100 to 250 Hz as a tap on something hard does, then
//!   follows the slow pressure of the hand.
//! - Texture: the hand presses and strokes; friction against the motion, and a vibration of the ridges it passes, its
//!   frequency proportional to its speed.
//!
//! Base frame of the master: x right, y up, z toward the user; the surface is the plane z = 0, met from z > 0.

use core::f64::consts::TAU;

use media::{Force, HapticSample, Instant, Motion, Position, Role, Velocity};
use netem::SplitMix64;

use super::Servo;

/// The hand hovers so far above the surface, and wants to be so far below it in contact, m.
const LIFT: f64 = 0.006;
/// It crosses the surface in the middle of a smooth move that lasts twice this, ms.
const HALF_MOVE_MS: u64 = 150;
/// Slow sines and tremor of one axis.
const SLOW: usize = 4;
/// Amplitude of one slow sine along x, y, z, m.
const WANDER: [f64; 3] = [0.004, 0.004, 0.0005];
/// Amplitude of the tremor, m.
const TREMOR: f64 = 0.000_05;
/// Coulomb friction coefficient in texture.
const FRICTION: f64 = 0.3;
/// Friction is smoothed below this speed, m/s.
const CREEP: f64 = 0.01;
/// The tap at first contact, as a share of the contact force, and how fast it rings off, s.
const TAP: f64 = 0.3;
const TAP_DECAY: f64 = 0.01;
/// The pressure of the hand varies by this share, at this frequency, Hz.
const PRESSURE: f64 = 0.15;
const PRESSURE_HZ: f64 = 1.5;

/// What the generator makes. Ranges are (least, most); values out of range are moved into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneratorConfig {
    /// Length of a free motion, ms, 300 to 600,000. Default 1000 to 3000.
    pub free_ms: (u64, u64),
    /// Length of a contact before the stroke begins, ms, 300 to 600,000. Default 500 to 1500.
    pub contact_ms: (u64, u64),
    /// Length of a stroke over texture, ms, 300 to 600,000. Default 500 to 1500.
    pub texture_ms: (u64, u64),
    /// Force of a contact, N, 0 to 10. Default 1 to 2, which stays below the 3.3 N of a small desktop device with all
    /// that comes on top (taps 30 %, pressure 15 %, friction, vibration).
    pub contact_force: (f32, f32),
    /// Amplitude of the vibration in texture, N, 0 to 2. Default 0.3.
    pub vibration: f32,
    /// From ridge to ridge of the texture, m, 0.0002 to 0.01. Default 0.001: 60 Hz at 6 cm/s.
    pub ridge: f32,
}

impl Default for GeneratorConfig {
    fn default() -> Self {
        GeneratorConfig {
            free_ms: (1000, 3000),
            contact_ms: (500, 1500),
            texture_ms: (500, 1500),
            contact_force: (1.0, 2.0),
            vibration: 0.3,
            ridge: 0.001,
        }
    }
}

/// What the synthetic hand does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It moves above the surface.
    Free,
    /// It presses.
    Contact,
    /// It strokes while it presses.
    Texture,
}

/// One station's part of the story.
#[derive(Clone, Debug)]
pub struct Generator {
    config: GeneratorConfig,
    role: Role,
    rng: SplitMix64,
    axes: [[Sine; SLOW + 1]; 3],
    phase: Phase,
    /// Ticks at which the phase begins and ends.
    from: u64,
    to: u64,
    /// Of the present or last contact.
    touch: Touch,
}

/// A contact from tap to release.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    from: u64,
    force: f64,
    tap_hz: f64,
}

impl Generator {
    /// The servo of `role`: motion at the operator, force at the teleoperator. Free motion begins at tick 0.
    pub fn new(config: GeneratorConfig, role: Role, seed: u64) -> Self {
        let mut rng = SplitMix64::new(seed);
        let axes = WANDER.map(|wander| {
            core::array::from_fn(|i| {
                let (hz, amplitude) = if i < SLOW { ((0.2, 3.0), wander) } else { ((8.0, 12.0), TREMOR) };
                Sine { amplitude, omega: TAU * between(&mut rng, hz), phase: between(&mut rng, (0.0, TAU)) }
            })
        });
        let config = in_range(config);
        let to = length(&mut rng, config.free_ms);
        Generator { config, role, rng, axes, phase: Phase::Free, from: 0, to, touch: Touch::default() }
    }

    /// What the hand does at the last tick.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Goes on to the phase of this tick.
    fn advance(&mut self, tick: u64) {
        while self.to <= tick {
            let c = &self.config;
            let (phase, lengths) = match self.phase {
                Phase::Free => (Phase::Contact, c.contact_ms),
                Phase::Contact => (Phase::Texture, c.texture_ms),
                Phase::Texture => (Phase::Free, c.free_ms),
            };
            if phase == Phase::Contact {
                let (least, most) = c.contact_force;
                let force = between(&mut self.rng, (f64::from(least), f64::from(most)));
                self.touch = Touch { from: self.to, force, tap_hz: between(&mut self.rng, (100.0, 250.0)) };
            }
            self.phase = phase;
            self.from = self.to;
            self.to += length(&mut self.rng, lengths);
        }
    }

    fn motion(&self, tick: u64) -> Motion {
        let seconds = tick as f64 * 1e-3;
        let mut position = [0.0; 3];
        let mut velocity = [0.0; 3];
        for ((p, v), sines) in position.iter_mut().zip(&mut velocity).zip(&self.axes) {
            for sine in sines {
                *p += sine.value(seconds);
                *v += sine.slope(seconds);
            }
        }
        let (lift, lift_speed) = self.lift(tick);
        position[2] += LIFT * lift;
        velocity[2] += LIFT * lift_speed;
        let [[x, y, z], [vx, vy, vz]] = [position, velocity].map(|v| v.map(|c| c as f32));
        Motion { position: Position::new(x, y, z), velocity: Velocity::new(vx, vy, vz) }
    }

    /// 1 above the surface, -1 below, smooth in between; and its derivative, 1/s.
    fn lift(&self, tick: u64) -> (f64, f64) {
        let (since, left) = (tick.saturating_sub(self.from), self.to - tick);
        // Time from the nearest crossing of the surface, ms, and 1 if the hand rises there, -1 if it sinks.
        let (ms, sense) = match self.phase {
            Phase::Free if left < HALF_MOVE_MS => (-(left as f64), -1.0),
            Phase::Free if since < HALF_MOVE_MS && self.from > 0 => (since as f64, 1.0),
            Phase::Contact if since < HALF_MOVE_MS => (since as f64, -1.0),
            Phase::Texture if left < HALF_MOVE_MS => (-(left as f64), 1.0),
            Phase::Free => return (1.0, 0.0),
            Phase::Contact | Phase::Texture => return (-1.0, 0.0),
        };
        let whole = 2.0 * HALF_MOVE_MS as f64;
        let u = ms / whole + 0.5;
        let value = 2.0 * u * u * (3.0 - 2.0 * u) - 1.0;
        let slope = 12.0 * u * (1.0 - u) / whole * 1e3;
        (sense * value, sense * slope)
    }

    fn force(&self, tick: u64) -> Force {
        if self.phase == Phase::Free {
            return Force::ZERO;
        }
        let Touch { from, force, tap_hz } = self.touch;
        let since = (tick - from) as f64 * 1e-3;
        let tap = TAP * (-since / TAP_DECAY).exp() * (TAU * tap_hz * since).sin();
        let normal = force * (1.0 + PRESSURE * (TAU * PRESSURE_HZ * since).sin() + tap);
        if self.phase == Phase::Contact {
            return Force::new(0.0, 0.0, normal as f32);
        }
        let Motion { position, velocity } = self.motion(tick);
        let [x, y, _] = position.0.0.map(f64::from);
        let [vx, vy, _] = velocity.0.0.map(f64::from);
        let drag = -FRICTION * normal / (vx * vx + vy * vy + CREEP * CREEP).sqrt();
        let ridge = TAU / f64::from(self.config.ridge);
        let vibration = f64::from(self.config.vibration) * 0.5 * ((ridge * x).sin() + (ridge * y).sin());
        Force::new((drag * vx) as f32, (drag * vy) as f32, (normal + vibration) as f32)
    }
}

impl Servo for Generator {
    fn display(&mut self, _at: Instant, _index: u64, _sample: HapticSample) {}

    fn tick(&mut self, tick: u64) -> HapticSample {
        self.advance(tick);
        match self.role {
            Role::Op => HapticSample::Motion(self.motion(tick)),
            Role::Top => HapticSample::Force(self.force(tick)),
        }
    }
}

/// One component of the motion along an axis.
#[derive(Clone, Copy, Debug)]
struct Sine {
    /// m.
    amplitude: f64,
    /// rad/s.
    omega: f64,
    /// rad.
    phase: f64,
}

impl Sine {
    fn value(&self, seconds: f64) -> f64 {
        self.amplitude * (self.omega * seconds + self.phase).sin()
    }

    fn slope(&self, seconds: f64) -> f64 {
        self.amplitude * self.omega * (self.omega * seconds + self.phase).cos()
    }
}

fn in_range(config: GeneratorConfig) -> GeneratorConfig {
    let default = GeneratorConfig::default();
    let lengths = |(least, most): (u64, u64)| {
        let least = least.clamp(2 * HALF_MOVE_MS, 600_000);
        (least, most.clamp(least, 600_000))
    };
    let keep =
        |value: f32, default: f32, low: f32, high: f32| if value.is_nan() { default } else { value.clamp(low, high) };
    let least = keep(config.contact_force.0, default.contact_force.0, 0.0, 10.0);
    GeneratorConfig {
        free_ms: lengths(config.free_ms),
        contact_ms: lengths(config.contact_ms),
        texture_ms: lengths(config.texture_ms),
        contact_force: (least, keep(config.contact_force.1, least, least, 10.0)),
        vibration: keep(config.vibration, default.vibration, 0.0, 2.0),
        ridge: keep(config.ridge, default.ridge, 0.0002, 0.01),
    }
}

/// Uniform in this range.
fn between(rng: &mut SplitMix64, (least, most): (f64, f64)) -> f64 {
    let share = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    least + (most - least) * share
}

/// Uniform in this range of whole milliseconds, both ends included.
fn length(rng: &mut SplitMix64, (least, most): (u64, u64)) -> u64 {
    least - 1 + rng.up_to(most - least + 1)
}

#[cfg(test)]
mod tests;
