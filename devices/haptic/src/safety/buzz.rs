//! Buzz detector: hands tremble at 8 to 12 Hz, loops that are too stiff swing faster. Reversals of the velocity beyond an
//! amplitude and a frequency halve the force; if they go on, they end it.

use media::{Duration, Instant, Vector};

/// A reversal counts from this speed on either side, m/s.
const AMPLITUDE: f32 = 0.03;
/// So many reversals ...
const REVERSALS: usize = 12;
/// ... within this time are a buzz: 25 Hz.
const WITHIN: Duration = Duration::from_millis(240);
/// A buzz this long after the force was halved ends it.
const GRACE: Duration = Duration::from_millis(150);
/// Without a buzz for this long the force is whole again.
const CALM: Duration = Duration::from_secs(2);

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buzz {
    /// Nothing.
    No,
    /// Show half the force.
    Half,
    /// Show nothing until a person engages.
    Off,
}

/// Reversals of one axis.
#[derive(Clone, Copy, Debug, Default)]
struct Axis {
    /// Sign of the last speed beyond the amplitude; 0 before the first.
    sign: i8,
    /// When the last reversals were; the oldest is at `next`.
    at: [Option<Instant>; REVERSALS],
    next: usize,
}

impl Axis {
    /// One step; true if this reversal is the last of a buzz.
    fn step(&mut self, now: Instant, speed: f32) -> bool {
        if speed.is_nan() || speed.abs() < AMPLITUDE {
            return false;
        }
        let sign = if speed > 0.0 { 1 } else { -1 };
        let before = std::mem::replace(&mut self.sign, sign);
        if before == 0 || before == sign {
            return false;
        }
        self.at[self.next] = Some(now);
        self.next = (self.next + 1) % REVERSALS;
        // The oldest of the last twelve.
        self.at[self.next].is_some_and(|oldest| now.saturating_since(oldest) <= WITHIN)
    }
}

/// Watches the velocity.
#[derive(Clone, Debug, Default)]
pub(crate) struct BuzzDetector {
    axes: [Axis; 3],
    halved_at: Option<Instant>,
    last_buzz: Option<Instant>,
}

impl BuzzDetector {
    /// One step at `velocity`, m/s.
    pub(crate) fn step(&mut self, now: Instant, velocity: Vector) -> Buzz {
        let mut buzz = false;
        for (axis, speed) in self.axes.iter_mut().zip(velocity.0) {
            buzz |= axis.step(now, speed);
        }
        if buzz {
            self.last_buzz = Some(now);
            let halved_at = *self.halved_at.get_or_insert(now);
            if now.saturating_since(halved_at) >= GRACE {
                *self = BuzzDetector::default();
                return Buzz::Off;
            }
        } else if self.last_buzz.is_some_and(|at| now.saturating_since(at) >= CALM) {
            self.halved_at = None;
            self.last_buzz = None;
        }
        if self.halved_at.is_some() { Buzz::Half } else { Buzz::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::TAU;

    /// What a swing of this frequency and speed leads to within a second.
    fn swing(hz: f32, speed: f32) -> Vec<Buzz> {
        let mut detector = BuzzDetector::default();
        let mut seen = Vec::new();
        for ms in 0..1000u64 {
            let v = speed * (TAU * hz * ms as f32 / 1e3).sin();
            let buzz = detector.step(Instant::from_millis(ms), Vector([0.0, v, 0.0]));
            if seen.last() != Some(&buzz) {
                seen.push(buzz);
            }
        }
        seen
    }

    #[test]
    fn tremor_passes_small_hum_passes_and_a_buzz_is_halved_then_ended() {
        assert_eq!(swing(12.0, 0.5), [Buzz::No]);
        assert_eq!(swing(20.0, 0.5), [Buzz::No]);
        assert_eq!(swing(60.0, 0.02), [Buzz::No]);
        assert_eq!(swing(30.0, 0.1)[..3], [Buzz::No, Buzz::Half, Buzz::Off]);
        assert_eq!(swing(120.0, 0.1)[..3], [Buzz::No, Buzz::Half, Buzz::Off]);
    }

    #[test]
    fn a_buzz_that_stops_when_halved_is_forgiven_after_a_while() {
        let mut detector = BuzzDetector::default();
        let mut last = Buzz::No;
        let mut whole_at = None;
        for ms in 0..5000u64 {
            let v = if last == Buzz::No && whole_at.is_none() && ms % 20 < 10 { 0.1 } else { -0.1 };
            let v = if last == Buzz::No { v } else { 0.0 };
            let now = detector.step(Instant::from_millis(ms), Vector([v, 0.0, 0.0]));
            assert_ne!(now, Buzz::Off);
            if last == Buzz::Half && now == Buzz::No {
                whole_at = Some(ms);
            }
            last = now;
        }
        let whole_at = whole_at.expect("it was halved and became whole");
        assert!((2_000..2_400).contains(&whole_at), "{whole_at} ms");
    }
}
