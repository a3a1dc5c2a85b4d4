//! Velocity trip: a device that moves faster than hands do is out of hand. Then only damping acts; if that does not
//! help, nothing.

use media::{Duration, Instant};

/// Damping alone has this long to slow it down.
const PATIENCE: Duration = Duration::from_millis(150);
/// Beyond this multiple of the limit there is no patience.
const FAR_BEYOND: f32 = 2.0;
/// Back in hand below this share of the limit.
const BACK: f32 = 0.7;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trip {
    /// Nothing.
    No,
    /// Show damping and nothing else.
    Damp,
    /// Show nothing until a person engages.
    Off,
}

/// Watches the speed.
#[derive(Clone, Debug)]
pub(crate) struct VelocityTrip {
    limit: f32,
    since: Option<Instant>,
}

impl VelocityTrip {
    /// Trips at `limit`, m/s.
    pub(crate) fn new(limit: f32) -> Self {
        VelocityTrip { limit, since: None }
    }

    /// One step at `speed`, m/s.
    pub(crate) fn step(&mut self, now: Instant, speed: f32) -> Trip {
        // A speed that is no number is beyond all limits.
        let speed = if speed.is_nan() { f32::INFINITY } else { speed };
        if speed < self.limit * BACK {
            self.since = None;
        }
        let beyond = speed > self.limit;
        if self.since.is_none() && !beyond {
            return Trip::No;
        }
        let since = *self.since.get_or_insert(now);
        if speed > self.limit * FAR_BEYOND || now.saturating_since(since) >= PATIENCE {
            self.since = None;
            return Trip::Off;
        }
        Trip::Damp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_excess_is_damped_a_long_or_wild_one_ends_in_nothing() {
        let at = Instant::from_millis;
        let mut trip = VelocityTrip::new(1.5);
        assert_eq!(trip.step(at(0), 1.5), Trip::No);
        assert_eq!(trip.step(at(1), 1.6), Trip::Damp);
        assert_eq!(trip.step(at(2), 1.2), Trip::Damp, "not slow enough yet");
        assert_eq!(trip.step(at(3), 1.0), Trip::No);
        assert_eq!(trip.step(at(1000), 1.6), Trip::Damp);
        assert_eq!(trip.step(at(1149), 1.6), Trip::Damp);
        assert_eq!(trip.step(at(1150), 1.6), Trip::Off);
        assert_eq!(trip.step(at(1151), 0.0), Trip::No);
        assert_eq!(trip.step(at(1152), 3.1), Trip::Off);
        assert_eq!(trip.step(at(1153), f32::NAN), Trip::Off);
    }
}
