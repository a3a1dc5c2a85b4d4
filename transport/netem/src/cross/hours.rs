//! When a flow is on: once, or again and again.

use media::{Duration, Instant};

/// The time from a start to a stop, perhaps repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hours {
    first: Instant,
    /// How long it is on; `None`: for ever.
    length: Option<Duration>,
    /// From one start to the next; not below the length.
    repeat: Option<Duration>,
    opened: Instant,
}

impl Hours {
    /// `start` and `stop` count from `origin`; a stop that is not later than the start is one right after it.
    pub(super) fn new(origin: Instant, start: Duration, stop: Option<Duration>, repeat: Option<Duration>) -> Self {
        let length = stop.map(|stop| stop.saturating_sub(start).max(Duration::from_nanos(1)));
        let repeat = length.and_then(|length| repeat.map(|repeat| repeat.max(length)));
        let first = origin + start;
        Hours { first, length, repeat, opened: first }
    }

    /// The first start.
    pub(super) fn first(self) -> Instant {
        self.first
    }

    /// The last start.
    pub(super) fn opened(self) -> Instant {
        self.opened
    }

    /// The stop that follows the last start.
    pub(super) fn closes(self) -> Option<Instant> {
        self.length.map(|length| self.opened + length)
    }

    /// Goes on to the next start, if there is one.
    pub(super) fn reopen(&mut self) -> Option<Instant> {
        let next = self.opened + self.repeat?;
        self.opened = next;
        Some(next)
    }

    /// How long it has been on at `now`, all times together.
    pub(super) fn open_for(self, now: Instant) -> Duration {
        let since = now.saturating_since(self.first);
        let Some(length) = self.length else { return since };
        let Some(repeat) = self.repeat else { return since.min(length) };
        let (rounds, into) = (since.as_nanos() / repeat.as_nanos(), since.as_nanos() % repeat.as_nanos());
        let ns = rounds * length.as_nanos() + into.min(length.as_nanos());
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_on_counts_every_round() {
        let ms = Duration::from_millis;
        let mut h = Hours::new(Instant::from_millis(1000), ms(100), Some(ms(130)), Some(ms(50)));
        let on = |h: Hours, at| h.open_for(Instant::from_millis(at)).as_millis();
        assert_eq!(
            [1000, 1100, 1110, 1130, 1140, 1150, 1155, 1200].map(|at| on(h, at)),
            [0, 0, 10, 30, 30, 30, 35, 60]
        );
        assert_eq!((h.first(), h.closes()), (Instant::from_millis(1100), Some(Instant::from_millis(1130))));
        assert_eq!(h.reopen(), Some(Instant::from_millis(1150)));
        assert_eq!(h.closes(), Some(Instant::from_millis(1180)));
        let mut once = Hours::new(Instant::ZERO, ms(100), Some(ms(130)), None);
        assert_eq!((on(once, 500), once.reopen()), (30, None));
        let ever = Hours::new(Instant::ZERO, ms(100), None, Some(ms(1)));
        assert_eq!((on(ever, 500), ever.closes()), (400, None));
    }
}
