//! Passivity observer and controller at the port where hand and device meet (time-domain passivity, after Hannaford and
//! Ryu): counts the energy that goes through, and where the device gives away more than it got, damps the motion.
//!
//! The count is exact for a force that is held between samples: what the hand puts in during a step is -F . dx, with F
//! the force that was really shown, limits included. Four bounds keep the controller from being a danger itself: the
//! credit is capped and fades (energy stored long ago pays for nothing now), debt is floored, the damper goes no further
//! than 0.9 of what the device stably renders, and there is no division by a speed near zero. What the damper cannot
//! take, the force itself gives up, along the motion only.

use media::{Position, Vector};

/// Credit at most, J: what a coupling of 140 N/m holds at 3.3 N is 0.04.
const CREDIT: f32 = 0.05;
/// Credit fades with this time constant, s: the window of the observer.
const WINDOW_S: f32 = 5.0;
/// Debt at most, J, so that it is paid back within moments.
const DEBT: f32 = 0.01;
/// At this debt, J, nothing of the force along the motion is left.
const FULL_CUT: f32 = 0.002;
/// Below this speed, m/s, the damper is not worked out from the debt.
const SLOW: f32 = 0.005;
/// Share of the device's damping that may be used in all.
const DAMPING_SHARE: f32 = 0.9;

/// The observer and its controller.
#[derive(Clone, Debug)]
pub(crate) struct Passivity {
    /// Most damping that may be added, N s/m.
    cap: f32,
    /// Energy that the hand has put in and not got back, J.
    energy: f32,
    last: Option<Position>,
}

/// What the controller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct Correction {
    /// To be added, N s/m.
    pub damping: f32,
    /// Share of the force along the motion that is left, 0 to 1.
    pub share: f32,
}

impl Correction {
    pub(crate) const NONE: Correction = Correction { damping: 0.0, share: 1.0 };

    /// `want` (N) with the correction for a motion at `velocity`, m/s.
    pub(crate) fn apply(self, want: Vector, velocity: Vector) -> Vector {
        let speed = velocity.norm();
        if self == Correction::NONE || speed < f32::EPSILON {
            return want;
        }
        let along = velocity * (1.0 / speed);
        let pushing = want.dot(along).max(0.0);
        want - along * (pushing * (1.0 - self.share)) - velocity * self.damping
    }
}

impl Passivity {
    /// For a device that stably renders `max_damping`, of which control uses `in_use` already, N s/m.
    pub(crate) fn new(max_damping: f32, in_use: f32) -> Self {
        Passivity { cap: (DAMPING_SHARE * max_damping - in_use).max(0.0), energy: 0.0, last: None }
    }

    /// Counts the step that ends at `position`, m, in which `shown` (N) was shown for `dt` seconds; what is to be done in
    /// the next one, with the hand at `speed`, m/s.
    pub(crate) fn step(&mut self, position: Position, shown: Vector, speed: f32, dt: f32) -> Correction {
        if let Some(last) = self.last.replace(position) {
            let work = -shown.dot(position.0 - last.0);
            let kept = self.energy - self.energy.max(0.0) * (dt / WINDOW_S).min(1.0);
            self.energy = (kept + work).clamp(-DEBT, CREDIT);
            if !self.energy.is_finite() {
                self.energy = 0.0;
            }
        }
        if self.energy >= 0.0 || dt <= 0.0 {
            return Correction::NONE;
        }
        let damping = if speed < SLOW { self.cap } else { (-self.energy / (dt * speed * speed)).min(self.cap) };
        Correction { damping, share: (1.0 + self.energy / FULL_CUT).max(0.0) }
    }

    /// The next position has no past: after a gap.
    pub(crate) fn pause(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f32) -> Position {
        Position::new(x, 0.0, 0.0)
    }

    /// Swings against a spring that is late by `delay` steps, with the damping of 2 N s/m that the hand always has.
    fn swing(stiffness: f32, delay: usize, periods: usize) -> (f32, Passivity) {
        let mut passivity = Passivity::new(5.0, 2.0);
        let x = |i: usize| 0.01 * (i as f32 * 0.02).sin();
        let (mut shown, mut most) = (Vector::ZERO, 0.0_f32);
        for i in 0..periods * 314 {
            let correction = passivity.step(at(x(i)), shown, 0.2, 0.001);
            most = most.max(correction.damping);
            let speed = 0.2 * (i as f32 * 0.02).cos();
            shown = Vector([-stiffness * x(i.saturating_sub(delay)) - 2.0 * speed, 0.0, 0.0]);
        }
        (most, passivity)
    }

    #[test]
    fn a_true_spring_is_left_alone_and_a_late_one_is_damped_no_more_than_allowed() {
        let (most, passivity) = swing(140.0, 0, 5);
        assert_eq!(most, 0.0, "what a spring gives back it got before");
        assert!(passivity.energy >= 0.0);
        let (most, passivity) = swing(140.0, 60, 5);
        assert!((most - 2.5).abs() < 1e-6, "0.9 of 5 less the 2 in use: {most}");
        assert!(passivity.energy >= -DEBT);
    }

    #[test]
    fn credit_is_capped_and_fades_and_debt_is_floored() {
        let mut passivity = Passivity::new(5.0, 0.0);
        for i in 0..1000 {
            passivity.step(at(i as f32 * 1e-3), Vector([-3.0, 0.0, 0.0]), 1.0, 0.001);
        }
        assert_eq!(passivity.energy, CREDIT);
        for _ in 0..10_000 {
            passivity.step(at(1.0), Vector::ZERO, 0.0, 0.001);
        }
        assert!(passivity.energy < CREDIT * 0.4, "{}", passivity.energy);
        for i in 0..1000 {
            passivity.step(at(1.0 + i as f32 * 1e-3), Vector([3.0, 0.0, 0.0]), 1.0, 0.001);
        }
        assert!((passivity.energy + DEBT).abs() < 1e-5);
    }

    #[test]
    fn the_correction_takes_only_what_pushes_along_the_motion() {
        let correction = Correction { damping: 1.0, share: 0.25 };
        let out = correction.apply(Vector([2.0, 1.0, 0.0]), Vector([0.1, 0.0, 0.0]));
        assert!((out - Vector([0.4, 1.0, 0.0])).norm() < 1e-6, "{out:?}");
        // A force against the motion stays whole.
        let out = correction.apply(Vector([-2.0, 0.0, 0.0]), Vector([0.1, 0.0, 0.0]));
        assert!((out.0[0] + 2.1).abs() < 1e-6, "{out:?}");
        assert_eq!(correction.apply(Vector([2.0, 0.0, 0.0]), Vector::ZERO), Vector([2.0, 0.0, 0.0]));
    }

    #[test]
    fn numbers_that_are_none_do_not_stay() {
        let mut passivity = Passivity::new(5.0, 0.0);
        passivity.step(at(0.0), Vector::ZERO, 0.0, 0.001);
        passivity.step(at(f32::NAN), Vector([f32::INFINITY, 0.0, 0.0]), f32::NAN, 0.001);
        assert_eq!(passivity.energy, 0.0);
        passivity.pause();
        assert_eq!(passivity.step(at(1.0), Vector::ZERO, 0.0, 0.001), Correction::NONE);
    }
}
