//! Heat budget: motors bear their peak force for a while and their continuous force for ever. Warmth follows the square
//! of the force (that of the current) with the time constant of the motor; the limit comes down before it is too much.

use media::Duration;

/// Up to this share of the bearable warmth the full force is there.
const COOL: f32 = 0.7;

/// The budget of one device.
#[derive(Clone, Debug)]
pub(crate) struct Heat {
    max: f32,
    continuous: f32,
    time_s: f32,
    /// 1: as warm as the continuous force makes it in the end.
    warmth: f32,
}

impl Heat {
    /// For a device that shows at most `max` and for ever `continuous`, N.
    pub(crate) fn new(max: f32, continuous: f32, time: Duration) -> Self {
        let continuous = if continuous.is_finite() { continuous.clamp(0.0, max) } else { 0.0 };
        Heat { max, continuous, time_s: time.as_secs_f32(), warmth: 0.0 }
    }

    /// Counts `dt` seconds of `force`, N, and gives the largest force of the next step.
    pub(crate) fn step(&mut self, force: f32, dt: f32) -> f32 {
        if self.continuous >= self.max {
            return self.max;
        }
        // A device of which nothing is known to bear: 1 mN.
        let load = (force / self.continuous.max(1e-3)).powi(2);
        self.warmth += (load - self.warmth) * (dt / self.time_s).min(1.0);
        if !self.warmth.is_finite() {
            self.warmth = 1.0;
        }
        let excess = ((self.warmth - COOL) / (1.0 - COOL)).clamp(0.0, 1.0);
        self.max + (self.continuous - self.max) * excess
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_force_lasts_a_moment_and_the_continuous_force_for_ever() {
        let mut heat = Heat::new(3.3, 0.9, Duration::from_secs(30));
        let (mut force, mut full_ms, mut worst) = (3.3, 0, 0.0_f32);
        for ms in 0..600_000 {
            force = heat.step(force, 0.001);
            if force == 3.3 {
                full_ms = ms;
            }
            worst = worst.max(heat.warmth);
        }
        assert!((1_500..1_700).contains(&full_ms), "30 s x ln(13.44 / 12.74): {full_ms} ms");
        assert!(worst < 1.0, "never warmer than bearable: {worst}");
        assert!(force > 0.9 && force < 1.0, "{force}");
        // It cools down.
        for _ in 0..60_000 {
            force = heat.step(0.0, 0.001);
        }
        assert_eq!(force, 3.3);
    }

    #[test]
    fn a_device_without_motors_has_no_budget_and_one_that_bears_nothing_shows_nothing_for_long() {
        let mut heat = Heat::new(3.3, 3.3, Duration::from_secs(30));
        assert!((0..100_000).all(|_| heat.step(3.3, 0.001) == 3.3));
        let mut heat = Heat::new(3.3, f32::NAN, Duration::from_secs(30));
        let mut force = 3.3;
        for _ in 0..100 {
            force = heat.step(force, 0.001);
        }
        assert_eq!(force, 0.0);
    }
}
