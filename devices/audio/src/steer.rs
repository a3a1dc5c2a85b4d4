//! Steers a conversion so that two clocks that drift against each other stay together: a proportional and integral
//! control of a distance in seconds by a stretch, slow enough that nobody hears it. Both ends of a sound card use it.
//!
//! The distance falls by as much as the sound is shortened, so the loop is of second order with
//! `PROPORTIONAL = 2 * damping * w` and `INTEGRAL = w^2`; here `w` = 0.03 /s, damping 1: it settles within two minutes,
//! and clocks that are 500 ppm apart from the start move the distance by at most 500e-6 / (e * w) = 6 ms meanwhile.

/// The control.
#[derive(Debug, Default)]
pub(crate) struct Steering {
    average: f64,
    /// Share that the clocks have been found to differ by.
    drift: f64,
    stretch: f64,
}

/// The distance swings by blocks of the device and frames of the station; time over which it is averaged, s.
const AVERAGE_SECONDS: f64 = 1.0;
const PROPORTIONAL: f64 = 0.06;
const INTEGRAL: f64 = 0.000_9;
/// Sound cards are within 200 ppm; what is found beyond this is no drift.
const MOST_DRIFT: f64 = 0.002;
/// A larger distance, s, comes from a stall or a burst, and says nothing about drift.
const MOST_LEARNT: f64 = 0.030;
/// Largest stretch: a third of a per cent is 5 cents, below what is heard as out of tune.
pub(crate) const MOST_STRETCH: f64 = 0.003;
/// Fastest change of the stretch, per second: 1 cent a second, far below what is heard as wow.
pub(crate) const MOST_SLEW: f64 = 0.000_5;

impl Steering {
    /// Takes the distance in seconds, above zero if there is too much sound, `span` seconds after the last one; gives
    /// the stretch to apply.
    pub fn step(&mut self, distance: f64, span: f64) -> f64 {
        self.average += (distance - self.average) * (span / AVERAGE_SECONDS).min(1.0);
        if self.average.abs() < MOST_LEARNT {
            self.drift = (self.drift + self.average * INTEGRAL * span).clamp(-MOST_DRIFT, MOST_DRIFT);
        }
        let wanted = (-self.drift - self.average * PROPORTIONAL).clamp(-MOST_STRETCH, MOST_STRETCH);
        let most = MOST_SLEW * span;
        self.stretch += (wanted - self.stretch).clamp(-most, most);
        self.stretch
    }

    /// The sound was interrupted: the distance starts anew, what is known of the clocks stays.
    pub fn restart(&mut self) {
        self.average = 0.0;
    }

    /// Stretch in use.
    pub fn stretch(&self) -> f64 {
        self.stretch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_is_learnt_slowly_without_overshoot_that_matters() {
        for ppm in [-500.0, -200.0, 200.0, 500.0] {
            let mut steering = Steering::default();
            let (mut distance, mut worst, mut before) = (0.0f64, 0.0f64, 0.0f64);
            for _ in 0..50 * 600 {
                let stretch = steering.step(distance, 0.020);
                assert!((stretch - before).abs() <= MOST_SLEW * 0.020 + 1e-12);
                before = stretch;
                distance += (ppm * 1e-6 + stretch) * 0.020;
                worst = worst.max(distance.abs());
            }
            assert!(worst < 0.008, "{ppm}: {worst} s");
            assert!(distance.abs() < 0.000_1, "{ppm}: {distance} s left");
            assert!((steering.stretch() * 1e6 + ppm).abs() < 2.0, "{ppm}: {}", steering.stretch());
        }
    }

    #[test]
    fn a_burst_is_worked_off_and_not_learnt() {
        let mut steering = Steering::default();
        let (mut distance, mut lowest) = (0.120f64, 0.0f64);
        for _ in 0..50 * 180 {
            distance += steering.step(distance, 0.020) * 0.020;
            lowest = lowest.min(distance);
        }
        assert!(distance.abs() < 0.003, "{distance} s after three minutes");
        assert!(lowest > -0.020, "{lowest} s");
    }
}
