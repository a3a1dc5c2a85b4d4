//! Dead-man: force only while a hand holds a button or key. Letting go brings it down in a moment, not in a step.

use media::{Duration, Instant};

/// Time from letting go to zero: below 100 ms with the loop's own.
const RELEASE: Duration = Duration::from_millis(80);

/// The ramp.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadManRamp {
    held: bool,
    released_at: Option<Instant>,
}

impl DeadManRamp {
    /// One step: share of the force that is left (0: none), and whether this is a fresh grip. A grip that comes back while
    /// the force still falls has to wait until it is zero: then force comes up as after any engagement.
    pub(crate) fn step(&mut self, now: Instant, held: bool) -> (f32, bool) {
        let grip = held && !self.held;
        if !held && self.held {
            self.released_at.get_or_insert(now);
        }
        self.held = held;
        let Some(since) = self.released_at else { return (f32::from(u8::from(held)), grip) };
        let gone = now.saturating_since(since);
        if gone >= RELEASE {
            self.released_at = None;
            return (0.0, grip);
        }
        (1.0 - gone.as_secs_f32() / RELEASE.as_secs_f32(), grip)
    }

    /// Force is zero for another reason: nothing is left to bring down.
    pub(crate) fn rest(&mut self) {
        self.released_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letting_go_takes_80_ms_and_a_new_grip_waits_for_zero() {
        let mut ramp = DeadManRamp::default();
        let at = Instant::from_millis;
        assert_eq!(ramp.step(at(0), false), (0.0, false));
        assert_eq!(ramp.step(at(1), true), (1.0, true));
        assert_eq!(ramp.step(at(2), true), (1.0, false));
        assert_eq!(ramp.step(at(100), false), (1.0, false));
        assert_eq!(ramp.step(at(140), false), (0.5, false));
        assert_eq!(ramp.step(at(150), true), (0.375, true));
        assert_eq!(ramp.step(at(180), true), (0.0, false));
        assert_eq!(ramp.step(at(181), true), (1.0, false));
        ramp.step(at(200), false);
        ramp.rest();
        assert_eq!(ramp.step(at(201), false), (0.0, false));
    }
}
