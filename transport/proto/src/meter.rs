//! Turns delays of single samples and frames into the figures of the report. Streaming: constant memory
//! (100 kB), no allocation after construction, so that it can run for days.

use media::QosLimits;

use crate::report::{DelaySummary, JitterSummary, MediumReport, Verdict};

/// Share of late samples from which a medium breaks its delay limit, percent.
const OVER_LIMIT_PERCENT: f64 = 1.0;

/// Delays beyond an hour come from a clock that lies.
const ABSURD_NS: i64 = 3_600_000_000_000;

/// Figures of one medium on one channel.
#[derive(Clone, Debug)]
pub struct MediumMeter {
    limits: QosLimits,
    sent: u64,
    delivered: u64,
    lost: u64,
    delays: Histogram,
    packet_changes: Changes,
    /// Delay of the last sample delivered.
    last_sample_ns: Option<i64>,
    sample_change_ns: u64,
}

impl MediumMeter {
    /// An empty meter against `limits`.
    pub fn new(limits: QosLimits) -> Self {
        MediumMeter {
            limits,
            sent: 0,
            delivered: 0,
            lost: 0,
            delays: Histogram::new(),
            packet_changes: Changes::default(),
            last_sample_ns: None,
            sample_change_ns: 0,
        }
    }

    /// A sample or frame was given to the transport. Where only the receiver is known nobody says so, and what was
    /// delivered or lost counts as sent.
    pub fn on_sent(&mut self) {
        self.sent += 1;
    }

    /// One arrived, `delay_ns` after its sender had it (`None`: clocks not related yet). Samples come in
    /// order; `packet_start` marks the first of a packet (every frame is one).
    pub fn on_delivered(&mut self, delay_ns: Option<i64>, packet_start: bool) {
        self.delivered += 1;
        let Some(delay) = delay_ns.map(|d| d.clamp(-ABSURD_NS, ABSURD_NS)) else { return };
        self.delays.add(delay);
        if let Some(last) = self.last_sample_ns
            && packet_start
        {
            self.sample_change_ns = self.sample_change_ns.saturating_add(delay.abs_diff(last));
        }
        self.last_sample_ns = Some(delay);
    }

    /// A packet (frame) arrived with this network delay. An unknown constant in all of them does no harm.
    pub fn on_packet(&mut self, network_delay_ns: i64) {
        self.packet_changes.add(network_delay_ns);
    }

    /// What comes now is of another peer or over another clock: the step to it is no jitter.
    pub fn on_new_peer(&mut self) {
        self.packet_changes.last = None;
        self.last_sample_ns = None;
    }

    /// `count` will never arrive.
    pub fn on_lost(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count);
    }

    /// Takes up to `count` losses back: those samples were never sent. How many.
    pub fn on_never_sent(&mut self, count: u64) -> u64 {
        let count = count.min(self.lost);
        self.lost -= count;
        count
    }

    /// Number delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Number lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Samples or frames given to the transport.
    fn sent(&self) -> u64 {
        self.sent.max(self.delivered.saturating_add(self.lost))
    }

    /// The figures; absolute delays are known to plus or minus `bound_ms`.
    pub fn report(&self, bound_ms: Option<f64>) -> MediumReport {
        let limit_ns = self.limits.delay_ms * 1e6;
        let bound_ns = bound_ms.unwrap_or(0.0) * 1e6;
        let sent = self.sent();
        let percent = |part: u64| if sent == 0 { 0.0 } else { 100.0 * part as f64 / sent as f64 };
        let late = self.delays.count_above(limit_ns);
        let loss_percent = percent(self.lost);
        let measured = self.delays.count > 0;
        let jitter = measured.then(|| JitterSummary {
            packet: self.packet_changes.mean_ms(),
            sample: self.sample_change_ns as f64 / 1e6 / self.delays.count as f64,
        });
        let compliant_with = |late: u64| {
            measured
                && percent(late) < OVER_LIMIT_PERCENT
                && loss_percent <= self.limits.loss_percent
                && jitter.is_some_and(|j| j.sample <= self.limits.jitter_ms)
        };
        let at_worst = compliant_with(self.delays.count_above(limit_ns - bound_ns));
        let at_best = compliant_with(self.delays.count_above(limit_ns + bound_ns));
        MediumReport {
            sent,
            delivered: self.delivered,
            lost: self.lost,
            late,
            loss_percent,
            over_limit_percent: percent(late),
            delay_ms: self.delays.summary(),
            jitter_ms: jitter,
            limits: self.limits.into(),
            compliant: compliant_with(late),
            verdict: verdict(
                measured && bound_ms.is_some(),
                at_worst,
                at_best,
                loss_percent > self.limits.loss_percent,
            ),
        }
    }
}

/// Pass or fail only where it holds at both ends of the clock's bound; loss alone needs no clock.
fn verdict(clock_known: bool, at_worst: bool, at_best: bool, loss_broken: bool) -> Verdict {
    match (clock_known, at_worst, at_best) {
        _ if loss_broken => Verdict::Fail,
        (true, true, true) => Verdict::Pass,
        (true, false, false) => Verdict::Fail,
        _ => Verdict::Unknown,
    }
}

/// Mean absolute change between successive values.
#[derive(Clone, Debug, Default)]
struct Changes {
    last: Option<i64>,
    sum: u64,
    count: u64,
}

impl Changes {
    fn add(&mut self, value: i64) {
        if let Some(last) = self.last.replace(value) {
            // The values may hold any constant, so only their change can be absurd.
            let change = value.wrapping_sub(last).unsigned_abs().min(ABSURD_NS as u64);
            self.sum = self.sum.saturating_add(change);
            self.count += 1;
        }
    }

    fn mean_ms(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 / 1e6 }
    }
}

const FINE_NS: i64 = 10_000;
const FINE: usize = 16_384;
const COARSE_NS: i64 = 100_000;
const COARSE: usize = 10_000;
/// Where the coarse part begins: 163.84 ms.
const SPLIT_NS: i64 = FINE_NS * FINE as i64;

/// Delays in steps of 10 us up to 163.84 ms, of 100 us up to 1.16 s, above in one bucket; sum and maximum exact.
#[derive(Clone, Debug)]
struct Histogram {
    buckets: Box<[u32]>,
    /// Buckets outside this range are empty.
    used: core::ops::Range<usize>,
    count: u64,
    sum_ns: i128,
    max_ns: i64,
}

impl Histogram {
    fn new() -> Self {
        Histogram { buckets: vec![0; FINE + COARSE + 1].into(), used: 0..0, count: 0, sum_ns: 0, max_ns: i64::MIN }
    }

    fn add(&mut self, ns: i64) {
        let at = bucket(ns);
        self.buckets[at] = self.buckets[at].saturating_add(1);
        self.used = if self.used.is_empty() { at..at + 1 } else { self.used.start.min(at)..self.used.end.max(at + 1) };
        self.count += 1;
        self.sum_ns += i128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many are above `ns`, at the resolution of the buckets.
    fn count_above(&self, ns: f64) -> u64 {
        let first = if ns < 0.0 { 0 } else { bucket(ns as i64) };
        let first = first.clamp(self.used.start, self.used.end);
        self.buckets[first..self.used.end].iter().map(|&n| u64::from(n)).sum()
    }

    fn quantile_ms(&self, q: f64) -> f64 {
        let rank = ((self.count as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        for i in self.used.clone() {
            let n = self.buckets[i];
            seen += u64::from(n);
            if seen >= rank {
                let middle = if i < FINE {
                    (i as i64) * FINE_NS + FINE_NS / 2
                } else if i < FINE + COARSE {
                    SPLIT_NS + ((i - FINE) as i64) * COARSE_NS + COARSE_NS / 2
                } else {
                    self.max_ns
                };
                return middle.min(self.max_ns) as f64 / 1e6;
            }
        }
        self.max_ns as f64 / 1e6
    }

    fn summary(&self) -> Option<DelaySummary> {
        (self.count > 0).then(|| DelaySummary {
            mean: self.sum_ns as f64 / self.count as f64 / 1e6,
            p50: self.quantile_ms(0.5),
            p99: self.quantile_ms(0.99),
            max: self.max_ns as f64 / 1e6,
        })
    }
}

fn bucket(ns: i64) -> usize {
    if ns < SPLIT_NS {
        (ns.max(0) / FINE_NS) as usize
    } else {
        FINE + (((ns - SPLIT_NS) / COARSE_NS) as usize).min(COARSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::Medium;

    fn meter(delays_ms: &[f64]) -> MediumMeter {
        let mut m = MediumMeter::new(Medium::Haptic.limits());
        for d in delays_ms {
            m.on_sent();
            m.on_delivered(Some((d * 1e6) as i64), true);
            m.on_packet((d * 1e6) as i64);
        }
        m
    }

    #[test]
    fn figures_of_a_known_series() {
        let m = meter(&[10.0, 20.0, 12.0, 40.0]);
        let r = m.report(Some(0.0));
        let d = r.delay_ms.unwrap();
        assert!((d.mean - 20.5).abs() < 1e-9 && (d.max - 40.0).abs() < 1e-9);
        assert!((d.p50 - 12.0).abs() < 0.02 && (d.p99 - 40.0).abs() < 0.02);
        assert_eq!(r.late, 1);
        assert!((r.over_limit_percent - 25.0).abs() < 1e-9 && !r.compliant);
        let j = r.jitter_ms.unwrap();
        assert!((j.packet - (10.0 + 8.0 + 28.0) / 3.0).abs() < 1e-9);
        assert!((j.sample - (10.0 + 8.0 + 28.0) / 4.0).abs() < 1e-9);
    }

    #[test]
    fn verdict_weighs_the_bound_and_compliance_does_not() {
        let m = meter(&[25.0; 200]);
        assert_eq!(m.report(Some(1.0)).verdict, Verdict::Pass);
        assert_eq!(m.report(Some(8.0)).verdict, Verdict::Unknown);
        assert_eq!(m.report(None).verdict, Verdict::Unknown);
        assert!(m.report(Some(8.0)).compliant);
        let m = meter(&[50.0; 200]);
        assert_eq!(m.report(Some(8.0)).verdict, Verdict::Fail);
        assert_eq!(m.report(Some(30.0)).verdict, Verdict::Unknown);
    }

    #[test]
    fn loss_breaks_the_limit_whatever_the_clock() {
        let mut m = meter(&[25.0; 80]);
        for _ in 0..20 {
            m.on_sent();
            m.on_lost(1);
        }
        assert_eq!(m.report(None).verdict, Verdict::Fail);
        assert!(!m.report(Some(0.0)).compliant);
    }

    #[test]
    fn nothing_sent_is_unknown_and_extremes_are_counted() {
        let m = MediumMeter::new(Medium::Haptic.limits());
        assert_eq!(m.report(Some(0.0)).verdict, Verdict::Unknown);
        let mut m = meter(&[]);
        for d in [i64::MIN / 4, -1, 0, SPLIT_NS, i64::MAX / 4] {
            m.on_sent();
            m.on_delivered(Some(d), true);
        }
        assert_eq!(m.report(Some(0.0)).late, 2);
    }

    /// Clocks that leap to and fro for weeks must not end the thread that measures.
    #[test]
    fn absurd_changes_saturate() {
        let mut m = MediumMeter::new(Medium::Haptic.limits());
        for i in 0..3_000_000u64 {
            let delay = if i % 2 == 0 { i64::MAX } else { i64::MIN };
            m.on_packet(delay);
            m.on_delivered(Some(delay), true);
        }
        m.on_lost(u64::MAX);
        m.on_lost(1);
        let r = m.report(Some(0.0));
        assert!(!r.compliant && r.jitter_ms.unwrap().sample > 1e6);
    }

    #[test]
    fn a_constant_in_all_delays_changes_no_jitter_and_a_new_peer_adds_none() {
        for constant in [0, i64::MAX / 2, i64::MIN / 2] {
            let mut m = MediumMeter::new(Medium::Haptic.limits());
            for d in [10, 20, 12] {
                m.on_packet(constant + d * 1_000_000);
                m.on_delivered(Some(d * 1_000_000), true);
            }
            m.on_new_peer();
            m.on_packet(5_000_000);
            m.on_delivered(Some(5_000_000), true);
            let jitter = m.report(Some(0.0)).jitter_ms.unwrap();
            assert!((jitter.packet - 9.0).abs() < 1e-9 && (jitter.sample - 18.0 / 4.0).abs() < 1e-9, "{jitter:?}");
        }
    }
}
