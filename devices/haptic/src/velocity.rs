//! Velocity from positions with the time that really passed between them.

use media::{Duration, Position, Vector, Velocity};

/// Differences of positions through a first-order low-pass filter. An interval outside the trusted range gives no
/// velocity: it restarts the filter, for a difference over an unknown time is worse than none.
#[derive(Clone, Debug)]
pub struct VelocityEstimator {
    time_constant: f32,
    last: Option<Position>,
    velocity: Velocity,
}

impl VelocityEstimator {
    /// Shortest interval that is trusted: below it, quantisation of position is all that is seen.
    pub const MIN_INTERVAL: Duration = Duration::from_micros(200);
    /// Longest interval that is trusted.
    pub const MAX_INTERVAL: Duration = Duration::from_millis(20);
    /// Time constant that suits encoders of 450 dots an inch at 1 kHz: one count (56 um) moves the estimate by 9 mm/s.
    pub const TIME_CONSTANT: Duration = Duration::from_millis(5);

    /// A filter with this time constant (zero: no filter).
    pub fn new(time_constant: Duration) -> Self {
        VelocityEstimator { time_constant: time_constant.as_secs_f32(), last: None, velocity: Velocity::ZERO }
    }

    /// Takes the position that was reached `interval` after the last one and gives the velocity, m/s. The first
    /// position, and one after an interval out of range, give zero.
    pub fn update(&mut self, interval: Duration, position: Position) -> Velocity {
        let before = self.last.replace(position);
        let trusted = (Self::MIN_INTERVAL..=Self::MAX_INTERVAL).contains(&interval);
        self.velocity = match before {
            Some(before) if trusted => {
                let dt = interval.as_secs_f32();
                let raw = (position.0 - before.0) * (1.0 / dt);
                let share = dt / (dt + self.time_constant);
                Velocity(self.velocity.0 + (raw - self.velocity.0) * share)
            }
            _ => Velocity::ZERO,
        };
        if !self.velocity.0.is_finite() {
            self.velocity = Velocity(Vector::ZERO);
        }
        self.velocity
    }

    /// Forgets everything, as after a gap.
    pub fn reset(&mut self) {
        self.last = None;
        self.velocity = Velocity::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(1);

    #[test]
    fn steady_motion_is_measured_whatever_the_interval() {
        let mut estimator = VelocityEstimator::new(VelocityEstimator::TIME_CONSTANT);
        let mut x = 0.0;
        let mut v = Velocity::ZERO;
        for i in 0..200u64 {
            let interval = Duration::from_micros(500 + 700 * (i % 3));
            x += 0.2 * interval.as_secs_f32();
            v = estimator.update(interval, Position::new(x, 0.0, 0.0));
        }
        assert!((v.0.0[0] - 0.2).abs() < 0.002, "{v:?}");
    }

    #[test]
    fn an_interval_out_of_range_gives_no_velocity() {
        for interval in [Duration::ZERO, Duration::from_micros(10), Duration::from_millis(21), Duration::from_secs(9)] {
            let mut estimator = VelocityEstimator::new(Duration::ZERO);
            estimator.update(TICK, Position::ZERO);
            assert_eq!(estimator.update(TICK, Position::new(1e-3, 0.0, 0.0)).0.0[0], 1.0);
            assert_eq!(estimator.update(interval, Position::new(0.1, 0.0, 0.0)), Velocity::ZERO);
            // The position counts as the new start.
            let v = estimator.update(TICK, Position::new(0.101, 0.0, 0.0)).0.0[0];
            assert!((v - 1.0).abs() < 1e-3, "{v}");
        }
    }

    #[test]
    fn nothing_infinite_comes_out() {
        let mut estimator = VelocityEstimator::new(Duration::ZERO);
        for x in [f32::MAX, f32::MIN, f32::NAN, f32::INFINITY, 0.0] {
            assert!(estimator.update(TICK, Position::new(x, 0.0, 0.0)).0.is_finite());
        }
        estimator.reset();
        assert_eq!(estimator.update(TICK, Position::new(1.0, 0.0, 0.0)), Velocity::ZERO);
    }
}
