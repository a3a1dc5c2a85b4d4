//! Gain schedule: how much of the peer's force a loop of this delay bears.
//!
//! A stiffness K shown over a loop that delays by td and is sampled every T stays stable, to first order, while
//! K < (b + B) / (T/2 + td), with b the damping of hand and device and B the damping that we command (the family of
//! Hulin, Albu-Schaeffer and Hirzinger, TCST 2014; with td = 0 it is the condition of Colgate and Schenkel).

use media::Duration;

/// Time of a step, s.
const PERIOD_S: f32 = 0.001;
/// The share falls within this time, s, and grows back ten times slower: a loop whose delay swings is not pumped.
const FALL_S: f32 = 0.05;

/// Stiffness and damping of the loop at the hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopGains {
    /// What the hand feels of the coupling with the whole force shown, N/m.
    pub stiffness: f32,
    /// Damping of the hand and that which is commanded, N s/m.
    pub damping: f32,
}

/// The share of the force that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    gains: LoopGains,
    share: f32,
}

impl Schedule {
    pub(crate) fn new(gains: LoopGains) -> Self {
        Schedule { gains, share: 1.0 }
    }

    /// The share for this delay of the loop, `dt` after the last. While the delay is not known it stays: the engagement
    /// ramp covers the time until the first measurement.
    pub(crate) fn step(&mut self, loop_delay: Option<Duration>, dt: Duration) -> f32 {
        let Some(delay) = loop_delay else { return self.share };
        let goal = share(self.gains, delay);
        let time = if goal < self.share { FALL_S } else { 10.0 * FALL_S };
        let part = (dt.as_secs_f32() / time).min(1.0);
        self.share += (goal - self.share) * part;
        self.share
    }
}

/// The share (0 to 1) that a loop of this delay bears.
pub(crate) fn share(gains: LoopGains, delay: Duration) -> f32 {
    let bearable = gains.damping / (PERIOD_S / 2.0 + delay.as_secs_f32());
    // No stiffness asks for nothing.
    if gains.stiffness <= bearable { 1.0 } else { bearable / gains.stiffness }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_bearable_stiffness() {
        // For 1 N s/m: 2000, 667, 182, 95, 33, 16, 10 N/m at 0, 1, 5, 10, 30, 60, 100 ms.
        for (ms, bearable) in [(0, 2000.0), (1, 666.7), (5, 181.8), (10, 95.24), (30, 32.79), (60, 16.53), (100, 9.95)]
        {
            let share = share(LoopGains { stiffness: 4000.0, damping: 1.0 }, Duration::from_millis(ms));
            assert!((share * 4000.0 / bearable - 1.0).abs() < 1e-3, "{ms} ms: {}", share * 4000.0);
        }
        assert_eq!(share(LoopGains { stiffness: 0.0, damping: 0.0 }, Duration::from_secs(1)), 1.0);
    }

    #[test]
    fn it_falls_fast_grows_slowly_and_keeps_what_it_had_when_nothing_is_known() {
        let mut schedule = Schedule::new(LoopGains { stiffness: 140.0, damping: 7.0 });
        let ms = Duration::from_millis;
        let mut run = |delay, steps| (0..steps).map(|_| schedule.step(delay, ms(1))).last().unwrap();
        assert_eq!(run(None, 5), 1.0);
        assert_eq!(run(Some(ms(20)), 50), 1.0);
        let low = run(Some(ms(200)), 250);
        assert!((low - 0.249).abs() < 0.01, "{low}");
        assert_eq!(run(None, 100), low);
        let after = run(Some(ms(20)), 250);
        assert!(after > 0.4 && after < 0.7, "{after}");
        assert!(run(Some(ms(20)), 5_000) > 0.99);
    }
}
