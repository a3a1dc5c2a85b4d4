//! Which packets have arrived: unwraps their numbers, finds duplicates, and declares loss by deadline, never by a
//! gap alone, so that reordering is not loss.

use media::{Duration, Instant};

/// Numbers remembered. The deadline must fit several times.
const MEMORY: u64 = 4_096;
/// A number further from what the time passed suggests than this is garbage.
pub const PLAUSIBLE: u64 = 4_096;
/// A number may be ahead of it by no more than the delay of the newest packet before can have been: it would make all that
/// really come next look late.
const AHEAD: i64 = 1_024;
/// So many implausible numbers in succession are the truth: the sender began anew.
pub const RESYNC_AFTER: u32 = 200;

/// Tracks the numbers of one channel: ticks, or packet numbers where samples are skipped on purpose.
#[derive(Clone, Debug)]
pub struct Arrivals {
    deadline: u64,
    tick: Duration,
    /// Numbers follow the clock: one every `tick`.
    paced: bool,
    newest: Option<(u64, Instant)>,
    /// Where the first number is to be sought.
    hint: u64,
    /// Everything below is judged: delivered or lost.
    judged: u64,
    seen: Box<[u64]>,
    implausible: u32,
}

/// What to make of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The first time; its full number, and how many older numbers are now lost for good.
    New { first: u64, reordered: bool, lost: u64 },
    /// Seen before.
    Duplicate,
    /// It was declared lost already.
    TooLate,
    /// Its number cannot be.
    Implausible,
    /// The sender's numbers began anew here; what was pending is void, and so many of it are lost.
    Restarted { first: u64, lost: u64 },
}

impl Arrivals {
    /// Numbers advance by one every `tick`; one that has not come `deadline` after its neighbours is lost.
    pub fn new(deadline: Duration, tick: Duration) -> Self {
        let deadline = (deadline.as_nanos() / tick.as_nanos().max(1)) as u64;
        Arrivals {
            deadline: deadline.clamp(1, MEMORY / 2),
            tick,
            paced: true,
            newest: None,
            hint: 0,
            judged: 0,
            seen: vec![0; (MEMORY / 64) as usize].into(),
            implausible: 0,
        }
    }

    /// Forgets everything; the next number is near `hint`. `paced`: numbers follow the clock, as ticks do and packet
    /// numbers of a sender that skips do not. How many of the old numbers are lost.
    pub fn reset(&mut self, hint: u64, paced: bool) -> u64 {
        let lost = self.newest.map_or(0, |(newest, _)| self.judge(newest));
        self.hint = hint;
        self.paced = paced;
        self.newest = None;
        self.implausible = 0;
        self.seen.fill(0);
        lost
    }

    /// A packet of `count` numbers from `low` (16 bits) on arrived at `now`.
    pub fn on_packet(&mut self, now: Instant, low: u16, count: u64) -> Arrival {
        let Some((newest, at)) = self.newest else {
            let first = self.hint.saturating_add_signed(i64::from(low.wrapping_sub(self.hint as u16) as i16));
            self.begin(now, first, count);
            return Arrival::New { first, reordered: false, lost: 0 };
        };
        let elapsed = (now.saturating_since(at).as_nanos() / self.tick.as_nanos().max(1)) as u64;
        let expected = if self.paced { newest + elapsed } else { newest };
        let delta = i64::from(low.wrapping_sub(expected as u16) as i16);
        let first = expected.saturating_add_signed(delta);
        if delta.unsigned_abs() > PLAUSIBLE || self.paced && delta > AHEAD {
            self.implausible += 1;
            if self.implausible < RESYNC_AFTER {
                return Arrival::Implausible;
            }
            let lost = self.reset(first, self.paced);
            self.begin(now, first, count);
            return Arrival::Restarted { first, lost };
        }
        if first < self.judged {
            // Where numbers do not follow the clock, one stray number may have led us too far ahead.
            self.implausible += u32::from(!self.paced);
            if self.implausible < RESYNC_AFTER {
                return Arrival::TooLate;
            }
            let lost = self.reset(first, self.paced);
            self.begin(now, first, count);
            return Arrival::Restarted { first, lost };
        }
        self.implausible = 0;
        if (first..first + count).any(|n| n <= newest && self.is_seen(n)) {
            return Arrival::Duplicate;
        }
        let last = first + count - 1;
        let reordered = last < newest;
        let lost = if reordered { 0 } else { self.judge(last.saturating_sub(self.deadline)) };
        for n in first..=last {
            self.mark(n);
        }
        if !reordered {
            self.newest = Some((last, now));
        }
        Arrival::New { first, reordered, lost }
    }

    fn begin(&mut self, now: Instant, first: u64, count: u64) {
        self.judged = first;
        for n in first..first + count {
            self.mark(n);
        }
        self.newest = Some((first + count - 1, now));
    }

    /// Judges all numbers below `end`; how many of them are lost.
    fn judge(&mut self, end: u64) -> u64 {
        let mut lost = 0;
        while self.judged < end {
            // Beyond the newest nothing was marked; what stands there is from a round ago and already cleared.
            if self.is_seen(self.judged) {
                self.seen[word(self.judged)] &= !bit(self.judged);
            } else {
                lost += 1;
            }
            self.judged += 1;
        }
        lost
    }

    fn is_seen(&self, n: u64) -> bool {
        self.seen[word(n)] & bit(n) != 0
    }

    fn mark(&mut self, n: u64) {
        self.seen[word(n)] |= bit(n);
    }
}

fn word(n: u64) -> usize {
    (n % MEMORY / 64) as usize
}

fn bit(n: u64) -> u64 {
    1 << (n % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrivals() -> Arrivals {
        Arrivals::new(Duration::from_millis(500), Duration::from_millis(1))
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn numbers_unwrap_over_many_rounds_and_a_long_outage() {
        let mut a = arrivals();
        let Arrival::New { first: base, .. } = a.on_packet(ms(0), 0, 1) else { panic!() };
        for n in 1..200_000u64 {
            assert_eq!(a.on_packet(ms(n), n as u16, 1), Arrival::New { first: base + n, reordered: false, lost: 0 });
        }
        let n = 200_000 + 100_000;
        let got = a.on_packet(ms(n), n as u16, 1);
        assert_eq!(got, Arrival::New { first: base + n, reordered: false, lost: 99_500 });
    }

    #[test]
    fn reordering_is_not_loss_and_silence_is_after_the_deadline() {
        let mut a = arrivals();
        a.on_packet(ms(0), 10, 1);
        let Arrival::New { first, .. } = a.on_packet(ms(2), 12, 1) else { panic!() };
        assert_eq!(a.on_packet(ms(3), 11, 1), Arrival::New { first: first - 1, reordered: true, lost: 0 });
        assert_eq!(a.on_packet(ms(3), 11, 1), Arrival::Duplicate);
        let mut lost = 0;
        for n in 14..700u16 {
            match a.on_packet(ms(u64::from(n)), n, 1) {
                Arrival::New { lost: l, .. } => lost += l,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(lost, 1);
        assert_eq!(a.on_packet(ms(701), 13, 1), Arrival::TooLate);
    }

    #[test]
    fn garbage_is_refused_until_it_persists() {
        let mut a = arrivals();
        a.on_packet(ms(0), 0, 1);
        for _ in 0..RESYNC_AFTER - 1 {
            assert_eq!(a.on_packet(ms(1), 30_000, 1), Arrival::Implausible);
        }
        assert!(matches!(a.on_packet(ms(1), 30_000, 1), Arrival::Restarted { .. }));
        assert!(matches!(a.on_packet(ms(2), 30_001, 1), Arrival::New { .. }));
    }

    proptest! {
        /// Under any loss, duplication and bounded reordering each number is new at most once, and new + lost is
        /// everything up to the deadline.
        #[test]
        fn nothing_is_counted_twice(
            fates in proptest::collection::vec((0u8..8, 0u64..200), 300..1500),
        ) {
            let mut a = arrivals();
            let mut events: Vec<(u64, u16)> = vec![(0, 0)];
            for (i, &(fate, delay)) in fates.iter().enumerate() {
                let n = i as u64 + 1;
                if fate != 0 {
                    events.push((n + if fate < 3 { delay } else { 0 }, n as u16));
                }
                if fate == 7 {
                    events.push((n + delay, n as u16));
                }
            }
            let end = fates.len() as u64 + 1;
            events.extend((end..end + 600).map(|n| (n, n as u16)));
            events.sort();
            let (mut new, mut lost) = (0, 0);
            for (at, n) in events {
                if let Arrival::New { lost: l, .. } = a.on_packet(ms(at), n, 1) {
                    new += 1;
                    lost += l;
                }
            }
            // All but the last 500 numbers are judged, and those all arrived.
            prop_assert_eq!(new + lost, end + 600);
        }
    }
}
