//! Delays without synchronised clocks.
//!
//! Three things are kept apart. (1) [`PeerClock`] unwraps the 16-bit send stamps: raw transit times on two
//! unrelated clocks, good for differences. (2) [`SentLog`] finds the packet that a notification names
//! and unwraps its 14-bit transit. (3) [`OffsetEstimator`] relates the clocks for display alone: each notification
//! with the packet that brought it is a set of four timestamps; the pair with the smallest round trip is taken
//! as symmetric, which errs by at most half that round trip (RFC 5905's clock filter); the drift is the median
//! slope (Theil-Sen) through the minima of 5 s intervals.

use media::{Duration, Instant, PeerTime};

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

/// Length of an interval of minima.
const INTERVAL: Duration = Duration::from_secs(5);
/// Intervals kept: five minutes.
const INTERVALS: usize = 60;
/// Intervals before the drift is believed.
const DRIFT_FROM: usize = 4;
/// The raw delays of both directions jump against each other by more than this: a clock stepped.
const STEP_NS: i64 = 20_000_000;

/// Relates the peer's clock to ours, for display.
#[derive(Clone, Debug)]
pub struct OffsetEstimator {
    intervals: Vec<Interval>,
    /// Room for the slopes between all pairs of intervals.
    slopes: Vec<f64>,
    drift: f64,
    drift_known: bool,
    exact: Option<i64>,
    last: Option<FourStamps>,
    /// Mean of the last outbound delays, raw.
    outbound_mean: f64,
    /// Steps noticed.
    pub steps: u64,
}

/// One round trip: raw delays contain the unknown offset with opposite signs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FourStamps {
    at: Instant,
    /// Our receive time minus the peer's send time: delay to us minus the peer's lead.
    inbound: i64,
    rtt: i64,
}

impl FourStamps {
    fn outbound(&self) -> i64 {
        self.rtt - self.inbound
    }

    /// Peer's clock minus ours, if both directions took the same time.
    fn offset(&self) -> i64 {
        (self.outbound() - self.inbound) / 2
    }
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Instant,
    best: FourStamps,
    min_inbound: i64,
    min_outbound: i64,
}

impl OffsetEstimator {
    /// Knows nothing.
    pub fn new() -> Self {
        OffsetEstimator {
            intervals: Vec::with_capacity(INTERVALS),
            slopes: Vec::with_capacity(INTERVALS * INTERVALS / 2),
            drift: 0.0,
            drift_known: false,
            exact: None,
            last: None,
            outbound_mean: 0.0,
            steps: 0,
        }
    }

    /// Both stations read one clock: the peer's time minus ours is `offset_ns`, exactly.
    pub fn set_exact(&mut self, offset_ns: i64) {
        self.exact = Some(offset_ns);
    }

    /// The packet that arrived at `now` took `inbound` (raw) and brought notice that ours of `sent_at` took
    /// `transit_ns` (raw, modulo 163.84 ms).
    pub fn on_round_trip(&mut self, now: Instant, inbound: i64, sent_at: Instant, transit_ns: i64) {
        // The peer held the notice back for less than the wrap, so the true sum is the largest possible one. Stamps
        // are cut to 10 us: let it be that much too long.
        let elapsed = now.signed_since(sent_at);
        let sum = transit_ns + inbound;
        let rtt = elapsed + 3 * UNIT_NS - (elapsed + 3 * UNIT_NS - sum).rem_euclid(TRANSIT_WRAP_NS);
        let pair = FourStamps { at: now, inbound, rtt: rtt.max(0) };
        if let Some(last) = self.last
            && (pair.inbound - last.inbound).abs() > STEP_NS
            && (pair.outbound() - last.outbound()).abs() > STEP_NS
            && (pair.inbound > last.inbound) != (pair.outbound() > last.outbound())
        {
            self.steps += 1;
            self.intervals.clear();
            self.drift_known = false;
            self.drift = 0.0;
        }
        let outbound = pair.outbound() as f64;
        let smooth = self.last.is_some_and(|l| (pair.outbound() - l.outbound()).abs() < STEP_NS);
        self.outbound_mean +=
            if smooth { (outbound - self.outbound_mean) / 32.0 } else { outbound - self.outbound_mean };
        self.last = Some(pair);
        match self.intervals.last_mut() {
            Some(interval) if now.saturating_since(interval.start) < INTERVAL => {
                interval.min_inbound = interval.min_inbound.min(pair.inbound);
                interval.min_outbound = interval.min_outbound.min(pair.outbound());
                if pair.rtt < interval.best.rtt {
                    interval.best = pair;
                }
            }
            _ => {
                self.update_drift();
                if self.intervals.len() == INTERVALS {
                    self.intervals.remove(0);
                }
                self.intervals.push(Interval {
                    start: now,
                    best: pair,
                    min_inbound: pair.inbound,
                    min_outbound: pair.outbound(),
                });
            }
        }
    }

    fn update_drift(&mut self) {
        if self.intervals.len() < DRIFT_FROM {
            return;
        }
        self.slopes.clear();
        for (i, a) in self.intervals.iter().enumerate() {
            for b in &self.intervals[i + 1..] {
                let offset = |v: &Interval| (v.min_outbound - v.min_inbound) as f64 / 2.0;
                self.slopes.push((offset(b) - offset(a)) / b.start.signed_since(a.start) as f64);
            }
        }
        let middle = self.slopes.len() / 2;
        let (_, median, _) = self.slopes.select_nth_unstable_by(middle, f64::total_cmp);
        self.drift = *median;
        self.drift_known = true;
    }

    /// Peer's clock minus ours at `now`, ns; `None` before the first round trip.
    pub fn offset(&self, now: Instant) -> Option<i64> {
        if self.exact.is_some() {
            return self.exact;
        }
        let best = self.best()?;
        Some(best.offset() + (self.drift * now.signed_since(best.at) as f64) as i64)
    }

    /// Half-width of what is not known about [`OffsetEstimator::offset`], ns.
    pub fn bound(&self) -> Option<i64> {
        match self.exact {
            Some(_) => Some(2 * UNIT_NS),
            None => self.best().map(|b| b.rtt / 2 + 2 * UNIT_NS),
        }
    }

    /// The newest round trip of the network, ns.
    pub fn rtt(&self) -> Option<i64> {
        self.last.map(|l| l.rtt)
    }

    /// One-way delay of the network from here to the peer now, ns.
    pub fn outbound(&self, now: Instant) -> Option<i64> {
        Some(self.outbound_mean as i64 - self.offset(now)?).filter(|_| self.last.is_some())
    }

    /// Drift of the peer's clock against ours, parts per million, once known.
    pub fn skew_ppm(&self) -> Option<f64> {
        self.drift_known.then_some(self.drift * 1e6)
    }

    fn best(&self) -> Option<FourStamps> {
        self.intervals.iter().map(|i| i.best).min_by_key(|b| b.rtt)
    }
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

    /// A peer whose clock runs at (1 + ppm) and leads by `offset`; delays out and in with queueing.
    fn estimate(offset: i64, ppm: f64, out_ms: i64, in_ms: i64, seconds: u64) -> (OffsetEstimator, i64) {
        let mut e = OffsetEstimator::new();
        let mut lead = 0;
        for ms in 0..seconds * 1000 {
            let queue =
                |salt: u64| (ms.wrapping_mul(salt).rotate_left(17).wrapping_mul(salt) >> 40) as i64 % 9_000 * 1_000;
            let sent = 1_000_000_000 + ms as i64 * 1_000_000;
            let at_peer = sent + out_ms * 1_000_000 + queue(0x9e37_79b9_7f4a_7c15);
            let back = at_peer + 700_000;
            let now = back + in_ms * 1_000_000 + queue(0xd1b5_4a32_d192_ed03);
            lead = offset + (now as f64 * ppm * 1e-6) as i64;
            let transit = (at_peer + lead - sent).rem_euclid(TRANSIT_WRAP_NS) / UNIT_NS * UNIT_NS;
            let inbound = now - (back + lead) / UNIT_NS * UNIT_NS;
            e.on_round_trip(Instant::from_nanos(now as u64), inbound, Instant::from_nanos(sent as u64), transit);
        }
        (e, lead)
    }

    #[test]
    fn offsets_are_found_within_the_bound_with_drift_and_on_lopsided_paths() {
        for (offset, ppm, out_ms, in_ms) in [
            (100_000_000, 0.0, 15, 15),
            (-327_000_000, 200.0, 15, 15),
            (-18_000_000, -200.0, 20, 5),
            (5_000_000_000, 50.0, 150, 150),
        ] {
            let (e, lead) = estimate(offset, ppm, out_ms, in_ms, 120);
            let end = Instant::from_nanos(121_000_000_000);
            let error = (e.offset(end).unwrap() - lead).abs();
            assert!(error <= e.bound().unwrap(), "{offset} {ppm}: error {error}");
            assert!(out_ms != in_ms || error < 500_000, "{offset} {ppm}: error {error}");
            assert!((e.skew_ppm().unwrap() - ppm).abs() < 10.0, "{ppm}: {:?}", e.skew_ppm());
            assert_eq!(e.steps, 0);
        }
    }

    #[test]
    fn a_step_of_the_peers_clock_is_noticed_and_forgotten() {
        let mut e = OffsetEstimator::new();
        for ms in 0..20_000u64 {
            let lead = if ms < 10_000 { 0 } else { 70_000_000 };
            let now = Instant::from_millis(100 + ms);
            let transit = (20_000_000i64 + lead).rem_euclid(TRANSIT_WRAP_NS);
            e.on_round_trip(now, 20_000_000 - lead, now - Duration::from_millis(41), transit);
        }
        assert_eq!(e.steps, 1);
        assert!((e.offset(Instant::from_millis(20_100)).unwrap() - 70_000_000).abs() < 100_000);
    }
}
