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

/// Queue and wire.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    rate: Option<Bitrate>,
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
        Link { rate, propagation, limit, free_at: Instant::ZERO, waiting: VecDeque::new(), waiting_bytes: 0 }
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
        self.free_at = start + rate.transmission_time(size);
        Some(self.free_at + self.propagation)
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

    proptest! {
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
