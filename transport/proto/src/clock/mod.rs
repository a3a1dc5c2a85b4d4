//! Delays without synchronised clocks.
//!
//! Three things are kept apart. (1) [`PeerClock`] unwraps the 16-bit send stamps: raw transit times on two
//! unrelated clocks, good for differences. (2) [`SentLog`] finds the packet that a notification names
//! and unwraps its 14-bit transit. (3) [`OffsetEstimator`] relates the clocks, for display.

mod offset;

use media::{Duration, Instant, PeerTime};

pub use offset::OffsetEstimator;

use crate::wire::{NOTIFIED_MASK, Notification, TRANSIT_MASK};

/// Unit of stamps and transits, ns.
pub const UNIT_NS: i64 = 10_000;
/// A stamp wraps after this, ns: 655.36 ms.
const STAMP_WRAP_NS: i64 = 65_536 * UNIT_NS;
/// A transit wraps after this, ns: 163.84 ms.
const TRANSIT_WRAP_NS: i64 = 16_384 * UNIT_NS;

/// `now` as a 16-bit stamp.
pub fn stamp(now: Instant) -> u16 {
    (now.as_nanos() / UNIT_NS as u64) as u16
}

/// The notification for a packet with stamp `sent` received at `now`.
pub fn transit(now: Instant, sent: u16) -> u16 {
    stamp(now).wrapping_sub(sent) & TRANSIT_MASK
}

/// Moves `value` by whole multiples of `wrap` as near to `expected` as possible.
fn nearest(value: i64, expected: i64, wrap: i64) -> i64 {
    let delta = (value - expected).rem_euclid(wrap);
    expected + if delta >= wrap / 2 { delta - wrap } else { delta }
}

/// Unwraps the peer's send stamps.
#[derive(Clone, Debug, Default)]
pub struct PeerClock {
    last: Option<(Instant, PeerTime)>,
}

impl PeerClock {
    /// The peer says that `sent` was its full time when it sent what arrived at `now`.
    pub fn set(&mut self, now: Instant, sent: PeerTime) {
        self.last = Some((now, sent));
    }

    /// The full send time of a packet with this stamp that arrived at `now`: the candidate nearest to
    /// the last one plus the time passed since, right while delay varies by less than 327 ms.
    pub fn unwrap(&mut self, now: Instant, sent: u16) -> PeerTime {
        let value = i64::from(sent) * UNIT_NS;
        let full = match self.last {
            None => value,
            Some((at, time)) => nearest(value, time.as_nanos() + now.signed_since(at), STAMP_WRAP_NS),
        };
        self.last = Some((now, PeerTime::from_nanos(full)));
        PeerTime::from_nanos(full)
    }
}

/// The data packets sent lately, by the low 10 bits of their first index.
#[derive(Clone, Debug)]
pub struct SentLog {
    entries: Box<[Option<SentEntry>]>,
    last_named: u16,
    last_units: i64,
    last_at: Instant,
    /// Some packet other than the "nothing yet" name was named.
    begun: bool,
}

#[derive(Clone, Copy, Debug)]
struct SentEntry {
    at: Instant,
    tick: u64,
}

/// A notification made sense of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noticed {
    /// Tick at which the packet left.
    pub sent_tick: u64,
    /// When it left.
    pub sent_at: Instant,
    /// Transit in 10 us, unwrapped from one notification to the next; any constant offset.
    pub units: i64,
    /// The transit as it came, ns, modulo 163.84 ms.
    pub transit_ns: i64,
    /// The first after a pause, or a jump: the past says nothing about it.
    pub restart: bool,
}

impl SentLog {
    /// An empty log.
    pub fn new() -> Self {
        SentLog {
            entries: vec![None; usize::from(NOTIFIED_MASK) + 1].into(),
            last_named: NOTIFIED_MASK,
            last_units: 0,
            last_at: Instant::ZERO,
            begun: false,
        }
    }

    /// A packet of first index `index` left at `at`, tick `tick`.
    pub fn on_sent(&mut self, index: u64, tick: u64, at: Instant) {
        self.entries[slot(index)] = Some(SentEntry { at, tick });
    }

    /// Looks a notification up that arrived at `now`. `None`: nothing yet, the same packet again, or a
    /// packet that this end did not send within the last second.
    pub fn on_notification(
        &mut self,
        now: Instant,
        n: Notification,
        step: Duration,
        stale: Duration,
    ) -> Option<Noticed> {
        if n.index == self.last_named && (self.begun || n == Notification::NONE) {
            return None;
        }
        let entry = self.entries[slot(u64::from(n.index))]?;
        if now.saturating_since(entry.at) > Duration::from_millis(1_024) {
            return None;
        }
        let value = i64::from(n.transit);
        let units = nearest(value, self.last_units, i64::from(TRANSIT_MASK) + 1);
        let jump = Duration::from_nanos((units - self.last_units).unsigned_abs() * UNIT_NS as u64) > step;
        let pause = now.saturating_since(self.last_at) > stale;
        let restart = !self.begun || pause || jump;
        self.last_named = n.index;
        self.last_units = units;
        self.last_at = now;
        self.begun = true;
        Some(Noticed { sent_tick: entry.tick, sent_at: entry.at, units, transit_ns: value * UNIT_NS, restart })
    }

    /// The peer is another: what it names is to be believed anew.
    pub fn reset(&mut self) {
        self.last_named = NOTIFIED_MASK;
        self.begun = false;
    }
}

fn slot(index: u64) -> usize {
    (index & u64::from(NOTIFIED_MASK)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(25);
    const STALE: Duration = Duration::from_millis(300);

    #[test]
    fn stamps_unwrap_across_their_wrap_and_an_outage() {
        let mut clock = PeerClock::default();
        let offset = 123_456_789_000_000i64;
        let mut now = Instant::from_millis(5_000);
        clock.set(now, PeerTime::from_nanos(now.as_nanos() as i64 - 17_000_000 + offset));
        for step_ms in [1, 10, 300, 650, 2_000, 31_000] {
            now += Duration::from_millis(step_ms);
            for delay in [17_000_000, 160_000_000, 40_000_000] {
                let sent = now.as_nanos() as i64 - delay + offset;
                let full = clock.unwrap(now, (sent / UNIT_NS) as u16);
                assert!((full.as_nanos() - sent).abs() < UNIT_NS, "{step_ms} {delay}");
            }
        }
    }

    #[test]
    fn transits_unwrap_over_their_wrap_and_name_each_packet_once() {
        let mut log = SentLog::new();
        let mut now = Instant::from_millis(1);
        assert_eq!(log.on_notification(now, Notification::NONE, STEP, STALE), None);
        let mut units = None;
        for tick in 0..40_000u64 {
            log.on_sent(tick, tick, now);
            now += Duration::from_millis(1);
            // Slowly round and round the 14 bits.
            let transit = (16_000 + tick / 2) as u16 & TRANSIT_MASK;
            let n = Notification { transit, index: tick as u16 & NOTIFIED_MASK };
            let got = log.on_notification(now, n, STEP, STALE).unwrap();
            assert_eq!(got.sent_tick, tick);
            assert_eq!(got.restart, tick == 0);
            if let Some(last) = units.replace(got.units) {
                assert!((0..=1).contains(&(got.units - last)));
            }
            assert_eq!(log.on_notification(now, n, STEP, STALE), None);
        }
    }

    #[test]
    fn old_or_unsent_packets_are_not_believed() {
        let mut log = SentLog::new();
        log.on_sent(5, 5, Instant::from_millis(5));
        let named = |index| Notification { transit: 3, index };
        assert_eq!(log.on_notification(Instant::from_millis(9), named(6), STEP, STALE), None);
        assert!(log.on_notification(Instant::from_millis(1_500), named(5), STEP, STALE).is_none());
        assert!(log.on_notification(Instant::from_millis(900), named(5), STEP, STALE).is_some_and(|n| n.restart));
    }
}
