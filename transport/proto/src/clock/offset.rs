//! Relates the peer's clock to ours, for display alone.
//!
//! Each notification with the packet that brought it is a set of four timestamps; the pair with the smallest round trip is taken
//! as symmetric, which errs by at most half that round trip (RFC 5905's clock filter); the drift is the median slope
//! (Theil-Sen) through the minima of 5 s intervals.

use media::{Duration, Instant};

use super::{TRANSIT_WRAP_NS, UNIT_NS};

/// Length of an interval of minima.
const INTERVAL: Duration = Duration::from_secs(5);
/// Intervals kept: five minutes.
const INTERVALS: usize = 60;
/// Intervals before the drift is believed.
const DRIFT_FROM: usize = 4;
/// Means of delays follow changes smaller than this and jump with larger ones, ns.
const SMOOTH_NS: i64 = 20_000_000;
/// Raw delays that contradict the minima of the last seconds by more than this are those of a clock that stepped: more than
/// 300 ppm of drift in 15 s, ns.
const STEP_NS: i64 = 5_000_000;
/// So many contradictions in a row are a step; fewer are packets that were under way when it happened.
const CONTRADICTIONS: u32 = 20;
/// After a step round trips are not believed for so long: packets named later were sent after it.
const SETTLE: Duration = Duration::from_millis(1_100);

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
    contradictions: u32,
    /// Round trips before this straddle a step.
    settled_at: Instant,
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
            contradictions: 0,
            settled_at: Instant::ZERO,
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
        if now < self.settled_at {
            return;
        }
        if rtt < 0 || self.contradicts(&pair) {
            self.contradictions += 1;
            if self.contradictions == CONTRADICTIONS {
                self.on_step();
                self.settled_at = now + SETTLE;
            }
            return;
        }
        self.contradictions = 0;
        let outbound = pair.outbound() as f64;
        let smooth = self.last.is_some_and(|l| (pair.outbound() - l.outbound()).abs() < SMOOTH_NS);
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
                self.note_small_step();
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

    /// The peer's lead lies between minus the one raw delay and the other: does this pair leave no room with the minima of
    /// the last two intervals?
    fn contradicts(&self, pair: &FourStamps) -> bool {
        self.intervals
            .iter()
            .rev()
            .take(2)
            .any(|i| pair.inbound + i.min_outbound < -STEP_NS || pair.outbound() + i.min_inbound < -STEP_NS)
    }

    /// A step smaller than the round trip contradicts nothing, but moves the minima against each other. (The interval in
    /// which it happened has those of before and after, so it is left out.)
    fn note_small_step(&mut self) {
        let [.., before, _, after] = self.intervals[..] else { return };
        let inbound = after.min_inbound - before.min_inbound;
        let outbound = after.min_outbound - before.min_outbound;
        let against = (inbound > 0) != (outbound > 0) && inbound.abs().min(outbound.abs()) > STEP_NS;
        if against && (inbound + outbound).abs() < STEP_NS / 2 {
            self.on_step();
            self.intervals.push(after);
        }
    }

    fn on_step(&mut self) {
        self.steps += 1;
        self.contradictions = 0;
        self.intervals.clear();
        self.drift_known = false;
        self.drift = 0.0;
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
