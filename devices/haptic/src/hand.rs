//! A simulated hand that holds a simulated master: an arm of mass, spring and damper that pulls towards where it wants
//! to be. What the device shows pushes it away from there, as it does a person.

use core::fmt;

use media::{Duration, Position, Vector, Velocity};

use crate::control::keep;

/// Impedance of an arm that holds a stylus. Values out of range are moved into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandConfig {
    /// Mass of hand and stylus that moves with the device, kg, 0.01 to 5. Default 0.15.
    pub mass: f32,
    /// Pull towards the target, N/m, 0 to 2000. Default 300: an arm at ease.
    pub stiffness: f32,
    /// Damping of muscles and skin, N s/m, 0 to 50. Default 6.
    pub damping: f32,
    /// The hand pulls no harder than this, N, 0 to 50. Default 10.
    pub max_force: f32,
}

impl Default for HandConfig {
    fn default() -> Self {
        HandConfig { mass: 0.15, stiffness: 300.0, damping: 6.0, max_force: 10.0 }
    }
}

/// The hand: its impedance and where it wants to be, as a function of the time since the device started.
pub struct Hand {
    config: HandConfig,
    target: Box<dyn FnMut(Duration) -> Position + Send>,
    wanted: Position,
}

impl fmt::Debug for Hand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hand").field("config", &self.config).field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

impl Hand {
    /// A hand that wants to be at `target(elapsed)`, m in the base frame. The closure is called from the servo thread:
    /// it must not block or allocate. Targets that are not finite are ignored.
    pub fn new(config: HandConfig, mut target: impl FnMut(Duration) -> Position + Send + 'static) -> Self {
        let default = HandConfig::default();
        let config = HandConfig {
            mass: keep(config.mass, default.mass, 0.01, 5.0),
            stiffness: keep(config.stiffness, default.stiffness, 0.0, 2000.0),
            damping: keep(config.damping, default.damping, 0.0, 50.0),
            max_force: keep(config.max_force, default.max_force, 0.0, 50.0),
        };
        let first = target(Duration::ZERO);
        let wanted = if first.0.is_finite() { first } else { Position::ZERO };
        Hand { config, target: Box::new(target), wanted }
    }

    /// A hand that follows a script.
    pub fn scripted(config: HandConfig, script: HandScript) -> Self {
        Hand::new(config, move |elapsed| script.target(elapsed))
    }

    /// Mass that moves with the device, kg.
    pub(crate) fn mass(&self) -> f32 {
        self.config.mass
    }

    /// Where it wants to be now, m.
    pub fn wanted(&self) -> Position {
        self.wanted
    }

    /// Force of the arm on the device at this moment, N.
    pub(crate) fn force(&mut self, elapsed: Duration, position: Position, velocity: Velocity) -> Vector {
        let target = (self.target)(elapsed);
        if target.0.is_finite() {
            self.wanted = target;
        }
        // Far targets overflow nothing: components beyond a metre pull no harder.
        let way = (self.wanted.0 - position.0).0.map(|c| c.clamp(-1.0, 1.0));
        let (pull, _) = crate::control::shorten(Vector(way) * self.config.stiffness, self.config.max_force);
        pull - velocity.0 * self.config.damping
    }
}

/// A simple round: wait, approach, push onto a surface, stroke along it, retreat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandScript {
    /// Where the hand waits, m.
    pub rest: Position,
    /// A point on the surface, m.
    pub surface: Position,
    /// Unit vector out of the surface.
    pub outward: Vector,
    /// How deep the hand wants to push, m.
    pub depth: f32,
    /// From the middle of a stroke to its end, m.
    pub stroke: Vector,
    /// Waiting, approach, push, stroke and retreat take this long each.
    pub phase: Duration,
}

impl Default for HandScript {
    /// Pushes 8 mm into a wall that faces the user 10 mm behind the origin and strokes 15 mm to both sides.
    fn default() -> Self {
        HandScript {
            rest: Position::ZERO,
            surface: Position::new(0.0, 0.0, -0.01),
            outward: Vector::new(0.0, 0.0, 1.0),
            depth: 0.008,
            stroke: Vector::new(0.015, 0.0, 0.0),
            phase: Duration::from_millis(800),
        }
    }
}

impl HandScript {
    /// Where the hand wants to be `elapsed` after the start: continuous, repeats after five phases.
    pub fn target(&self, elapsed: Duration) -> Position {
        let phase = self.phase.as_secs_f64().max(1e-3);
        let at = (elapsed.as_secs_f64() / phase).rem_euclid(5.0) as f32;
        let pushed = self.surface.0 - self.outward * self.depth;
        let smooth = |t: f32| t * t * (3.0 - 2.0 * t);
        let between = |a: Vector, b: Vector, t: f32| a + (b - a) * smooth(t);
        Position(match at {
            t if t < 1.0 => self.rest.0,
            t if t < 2.0 => between(self.rest.0, self.surface.0, t - 1.0),
            t if t < 3.0 => between(self.surface.0, pushed, t - 2.0),
            t if t < 4.0 => pushed + self.stroke * ((t - 3.0) * core::f32::consts::TAU).sin(),
            t => between(pushed, self.rest.0, (t - 4.0).min(1.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_continuous_and_touches() {
        let script = HandScript::default();
        let mut last = script.target(Duration::ZERO);
        let mut deepest: f32 = 0.0;
        for ms in 1..12_000 {
            let here = script.target(Duration::from_millis(ms));
            assert!((here.0 - last.0).norm() < 2e-4, "jump at {ms} ms");
            deepest = deepest.min(here.0.0[2]);
            last = here;
        }
        assert!((deepest + 0.018).abs() < 1e-4, "{deepest}");
    }

    #[test]
    fn absurd_targets_are_ignored_or_limited() {
        let mut hand = Hand::new(HandConfig::default(), |t| {
            Position::new(if t.is_zero() { f32::NAN } else { f32::MAX }, f32::NEG_INFINITY, 0.0)
        });
        assert_eq!(hand.force(Duration::ZERO, Position::ZERO, Velocity::ZERO), Vector::ZERO);
        let mut far = Hand::new(HandConfig::default(), |_| Position::new(f32::MAX, 0.0, 0.0));
        let force = far.force(Duration::from_secs(1), Position::ZERO, Velocity::ZERO);
        assert!((force.norm() - 10.0).abs() < 1e-3);
    }
}
