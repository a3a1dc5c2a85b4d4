//! Frames at 50 a second from the time that the caller passes: the clock of files and silence.

use media::{Duration, Instant};

use crate::{FRAME, FRAME_TIME};

/// Says which frame is due.
#[derive(Debug)]
pub(crate) struct Pace {
    start: Instant,
    next: u64,
    skipped: u64,
}

/// A caller further behind than this has stalled: the frames in between are skipped, as a
/// microphone's would be, rather than sent in a burst.
const MOST_BEHIND: Duration = Duration::from_millis(200);

impl Pace {
    pub(crate) fn new(start: Instant) -> Self {
        Pace { start, next: 0, skipped: 0 }
    }

    /// Number and capture time of the next frame, if its last sample has passed by `now`.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<(u64, Instant)> {
        let frame = FRAME_TIME.as_nanos() as u64;
        let complete = now.saturating_since(self.start).as_nanos() as u64 / frame;
        if complete <= self.next {
            return None;
        }
        let most = MOST_BEHIND.as_nanos() as u64 / frame;
        if complete - self.next > most {
            self.skipped += complete - 1 - self.next;
            self.next = complete - 1;
        }
        let number = self.next;
        self.next += 1;
        Some((number, self.start + Duration::from_nanos(number * frame)))
    }

    /// Samples skipped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.skipped * FRAME as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_when_complete_and_a_stall_is_skipped() {
        let start = Instant::from_millis(1_000_003);
        let mut pace = Pace::new(start);
        let ms = |n| start + Duration::from_millis(n);
        assert_eq!(pace.poll(ms(19)), None);
        assert_eq!(pace.poll(ms(20)), Some((0, ms(0))));
        assert_eq!(pace.poll(ms(39)), None);
        assert_eq!(pace.poll(ms(65)), Some((1, ms(20))));
        assert_eq!(pace.poll(ms(65)), Some((2, ms(40))));
        assert_eq!(pace.poll(ms(65)), None);
        assert_eq!(pace.poll(ms(1000)), Some((49, ms(980))));
        assert_eq!(pace.poll(ms(1000)), None);
        assert_eq!(pace.dropped(), 46 * FRAME as u64);
    }
}
