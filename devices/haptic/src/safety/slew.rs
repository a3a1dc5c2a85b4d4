//! Largest change of the force vector: a pace, and a budget for one go, so that a reversal at full pace does not become a
//! kick.

use media::Vector;

use crate::control::shorten;

/// A longer pause between steps than this allows no larger change of force, ms.
const MAX_STEP_MS: f32 = 4.0;
/// The budget comes back at this share of the pace: the pace that lasts.
const REFILL: f32 = 0.5;

/// The limit and what is left of its budget.
#[derive(Clone, Debug)]
pub(crate) struct Slew {
    /// N/ms.
    pace: f32,
    /// N.
    kick: f32,
    left: f32,
    pub(crate) last: Vector,
}

impl Slew {
    /// At most `pace` N/ms, and no more than `kick` N beyond half that pace.
    pub(crate) fn new(pace: f32, kick: f32) -> Self {
        Slew { pace, kick, left: kick, last: Vector::ZERO }
    }

    /// The force nearest to `target` that may be shown `elapsed_ms` after the last, and whether that is another.
    pub(crate) fn step(&mut self, target: Vector, elapsed_ms: f32) -> (Vector, bool) {
        let ms = elapsed_ms.min(MAX_STEP_MS);
        self.left = (self.left + self.pace * REFILL * ms).min(self.kick);
        let (change, cut) = shorten(target - self.last, (self.pace * ms).min(self.left));
        self.left -= change.norm();
        self.last = self.last + change;
        (self.last, cut)
    }

    /// Zero at once: what is safe needs no budget.
    pub(crate) fn zero(&mut self, elapsed_ms: f32) {
        self.left = (self.left + self.pace * REFILL * elapsed_ms.min(MAX_STEP_MS)).min(self.kick);
        self.last = Vector::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reversal_takes_the_pace_first_and_half_of_it_when_the_budget_is_spent() {
        let mut slew = Slew::new(0.3, 4.0);
        let target = |z: f32| Vector([0.0, 0.0, z]);
        for _ in 0..200 {
            slew.step(target(3.3), 1.0);
        }
        let mut ms = 0;
        while slew.last != target(-3.3) {
            let before = slew.last;
            let (now, _) = slew.step(target(-3.3), 1.0);
            assert!((now - before).norm() <= 0.3 + 1e-6);
            ms += 1;
            assert!(ms < 100);
        }
        // 6.6 N: 4 N and 0.15 N/ms against 0.3 N/ms: the budget lasts 26 ms, 7.9 N: just long enough for 22 ms.
        assert!((22..=23).contains(&ms), "{ms} ms");
        // And back at once: now there is none left.
        let mut ms = 0;
        while slew.last != target(3.3) {
            slew.step(target(3.3), 1.0);
            ms += 1;
            assert!(ms < 100);
        }
        assert!(ms > 30, "{ms} ms");
    }

    #[test]
    fn a_stalled_loop_gets_no_more_than_four_milliseconds() {
        let mut slew = Slew::new(0.3, 4.0);
        let (force, cut) = slew.step(Vector([3.0, 0.0, 0.0]), 500.0);
        assert!(cut && (force.0[0] - 1.2).abs() < 1e-6);
        slew.zero(1.0);
        assert_eq!(slew.last, Vector::ZERO);
    }
}
