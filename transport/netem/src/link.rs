//! One link: a first-in first-out droptail queue in front of a wire of some rate and length.
//!
//! Departures follow from arrival stamps alone (`start = max(arrival, wire free)`), so nobody's late wake-up
//! ever adds to a delay.

use std::collections::VecDeque;

use media::{Bitrate, DataSize, Duration, Instant};

/// How much may wait. The packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most so many packets.
    Packets(usize),
    /// At most so many bytes.
    Bytes(u64),
}

impl Default for QueueLimit {
    fn default() -> Self {
        QueueLimit::Packets(100)
    }
}

/// The rate of a wire changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    /// When, counted from the start of the network.
    pub at: Duration,
    /// The rate from then on, above zero.
    pub rate: Bitrate,
}

/// Queue and wire.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    rate: Option<Bitrate>,
    /// Rates still to come, in order of their times.
    steps: VecDeque<(Instant, Bitrate)>,
    propagation: Duration,
    limit: QueueLimit,
    free_at: Instant,
    /// Packets whose transmission had not begun at the last arrival: when it begins, and their bytes.
    waiting: VecDeque<(Instant, u64)>,
    waiting_bytes: u64,
}

impl Link {
    /// Without a rate nothing is ever queued.
    pub(crate) fn new(rate: Option<Bitrate>, propagation: Duration, limit: QueueLimit) -> Self {
        Link {
            rate,
            steps: VecDeque::new(),
            propagation,
            limit,
            free_at: Instant::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    /// The same link with a rate that changes; `steps` are in order of their times and counted from `start`. A packet
    /// on the wire at that moment goes on at the new rate: its remaining bits take their time at that one.
    pub(crate) fn with_steps(mut self, start: Instant, steps: &[RateStep]) -> Self {
        self.steps = steps.iter().map(|step| (start + step.at, step.rate)).collect();
        self
    }

    /// A packet comes to the queue at `at`, not before the last one. When its last bit reaches the far end, or
    /// `None` if the queue is full.
    pub(crate) fn offer(&mut self, at: Instant, size: DataSize) -> Option<Instant> {
        let Some(rate) = self.rate else { return Some(at + self.propagation) };
        while let Some(&(_, bytes)) = self.waiting.front().filter(|&&(start, _)| start <= at) {
            self.waiting_bytes -= bytes;
            self.waiting.pop_front();
        }
        let start = at.max(self.free_at);
        if start > at {
            let fits = match self.limit {
                QueueLimit::Packets(limit) => self.waiting.len() < limit,
                QueueLimit::Bytes(limit) => self.waiting_bytes + size.as_bytes() <= limit,
            };
            if !fits {
                return None;
            }
            self.waiting.push_back((start, size.as_bytes()));
            self.waiting_bytes += size.as_bytes();
        }
        self.free_at =
            if self.steps.is_empty() { start + rate.transmission_time(size) } else { self.transmit(start, rate, size) };
        Some(self.free_at + self.propagation)
    }

    /// The end of a transmission that begins at `start`, not before that of the last one: exact over any number of
    /// changes of the rate, rounded once, at its end, as on a wire of one rate.
    fn transmit(&mut self, start: Instant, mut rate: Bitrate, size: DataSize) -> Instant {
        let mut from = start;
        let mut left = u128::from(size.as_bytes()) * 8 * 1_000_000_000;
        while let Some(&(at, next)) = self.steps.front() {
            let room = at.saturating_since(from).as_nanos() * u128::from(rate.as_bps());
            if at > from && left <= room {
                break;
            }
            left -= room;
            from = from.max(at);
            rate = next;
            self.rate = Some(rate);
            self.steps.pop_front();
        }
        let bps = u128::from(rate.as_bps()).max(1);
        from + Duration::from_nanos(u64::try_from((left + bps / 2) / bps).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEGABIT: Bitrate = Bitrate::from_kbps(1000);
    const PROPAGATION: Duration = Duration::from_millis(5);

    fn bytes(n: u64) -> DataSize {
        DataSize::from_bytes(n)
    }

    #[test]
    fn the_packet_in_transmission_is_not_counted() {
        let mut link = Link::new(Some(MEGABIT), PROPAGATION, QueueLimit::Packets(2));
        // 125 bytes take one millisecond.
        let at = |n| link_time(n);
        assert_eq!(link.offer(at(0), bytes(125)), Some(at(6)));
        assert_eq!(link.offer(at(0), bytes(125)), Some(at(7)));
        assert_eq!(link.offer(at(0), bytes(125)), Some(at(8)));
        assert_eq!(link.offer(at(0), bytes(125)), None);
        // At 1 ms the second begins and makes room.
        assert_eq!(link.offer(at(1), bytes(125)), Some(at(9)));
        assert_eq!(link.offer(at(1), bytes(125)), None);
        assert_eq!(link.offer(at(20), bytes(125)), Some(at(26)));
    }

    fn link_time(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn without_a_rate_there_is_only_propagation() {
        let mut link = Link::new(None, PROPAGATION, QueueLimit::Packets(0));
        for _ in 0..10 {
            assert_eq!(link.offer(Instant::ZERO, bytes(10_000)), Some(Instant::ZERO + PROPAGATION));
        }
    }

    #[test]
    fn a_rate_that_changes_changes_in_the_middle_of_a_packet() {
        let step = |ms, kbps| RateStep { at: Duration::from_millis(ms), rate: Bitrate::from_kbps(kbps) };
        let start = link_time(100);
        let mut link = Link::new(Some(MEGABIT), PROPAGATION, QueueLimit::Packets(1))
            .with_steps(start, &[step(2, 500), step(3, 250), step(4, 2000), step(1000, 1000)]);
        // 1000 bits in the first millisecond, as ever.
        assert_eq!(link.offer(start, bytes(125)), Some(link_time(106)));
        // 1000 bits at 1 Mbit/s, 500 at half of it, 250 at a quarter, the last 250 at 2 Mbit/s.
        let end = link_time(104) + Duration::from_micros(125);
        assert_eq!(link.offer(link_time(101), bytes(250)), Some(end + PROPAGATION));
        // Waits for it; nothing else fits.
        assert_eq!(link.offer(link_time(102), bytes(250)), Some(end + Duration::from_millis(1) + PROPAGATION));
        assert_eq!(link.offer(link_time(102), bytes(250)), None);
        // A step that passes while the wire is idle.
        assert_eq!(link.offer(link_time(2000), bytes(125)), Some(link_time(2006)));
        assert!(link.steps.is_empty());
    }

    proptest! {
        /// Steps that change nothing change nothing, to the nanosecond.
        #[test]
        fn steps_to_the_same_rate_are_not_seen(
            packets in proptest::collection::vec((0u64..3_000_000, 1u64..1500), 1..100),
            mut steps in proptest::collection::vec(0u64..100, 0..20),
            kbps in 1u64..5_000,
        ) {
            steps.sort_unstable();
            let rate = Bitrate::from_kbps(kbps);
            let steps: Vec<RateStep> =
                steps.iter().map(|&ms| RateStep { at: Duration::from_millis(ms), rate }).collect();
            let mut plain = Link::new(Some(rate), PROPAGATION, QueueLimit::default());
            let mut stepped = plain.clone().with_steps(Instant::ZERO, &steps);
            let mut at = Instant::ZERO;
            for (gap, size) in packets {
                at += Duration::from_nanos(gap);
                prop_assert_eq!(plain.offer(at, bytes(size)), stepped.offer(at, bytes(size)));
            }
        }

        /// Packets leave in order and no faster than the rate, and what waits stays within the limit.
        #[test]
        fn rate_and_limit_hold(
            packets in proptest::collection::vec((0u64..3_000_000, 1u64..1500), 1..300),
            limit in prop_oneof![(0usize..20).prop_map(QueueLimit::Packets), (0u64..5000).prop_map(QueueLimit::Bytes)],
        ) {
            let mut link = Link::new(Some(MEGABIT), Duration::ZERO, limit);
            let mut at = Instant::ZERO;
            let mut last = Instant::ZERO;
            for (gap, size) in packets {
                at += Duration::from_nanos(gap);
                let idle = last <= at;
                let left = link.offer(at, bytes(size));
                prop_assert!(left.is_some() || !idle, "an idle wire refused a packet");
                if let Some(left) = left {
                    let start = if idle { at } else { last };
                    prop_assert_eq!(left, start + MEGABIT.transmission_time(bytes(size)));
                    last = left;
                }
                match limit {
                    QueueLimit::Packets(n) => prop_assert!(link.waiting.len() <= n),
                    QueueLimit::Bytes(n) => prop_assert!(link.waiting_bytes <= n),
                }
                prop_assert_eq!(link.waiting_bytes, link.waiting.iter().map(|w| w.1).sum::<u64>());
            }
        }
    }
}
