//! What the receiving side counts as lost, and what it tells of itself: to the peer once a second, to its own station at any time.

use media::{Instant, Medium};

use super::Receiver;
use crate::control::MediumStatistics;
use crate::stats::{ClockStats, ReceiveStats, Stats};

impl Receiver {
    /// The peer told how many of its ticks were never sent: their numbers are missing, but not lost.
    pub fn on_unsent(&mut self, total: u32) {
        let more = total.wrapping_sub(self.unsent.0);
        if more as i32 > 0 {
            // A peer that skips numbers its packets: no number is missing for what it did not send.
            let due = if self.skipping { 0 } else { u64::from(more) };
            self.unsent = (total, self.unsent.1.saturating_add(due));
        }
    }

    /// So many haptic samples (packets of a peer that skips) will never come; those never sent are taken back.
    pub(super) fn on_lost(&mut self, count: u64) {
        self.meters[0].on_lost(count);
        self.unsent.1 -= self.meters[0].on_never_sent(self.unsent.1);
    }

    /// Delivered, lost and late of each medium so far.
    pub(super) fn counts(&self) -> [[u64; 3]; 3] {
        self.meters.each_ref().map(|m| {
            let report = m.report(Some(0.0));
            [report.delivered, report.lost, report.late]
        })
    }

    /// Receiver statistics for the peer.
    pub fn statistics(&self) -> [MediumStatistics; 3] {
        let known = self.offsets.bound().is_some();
        let session = core::array::from_fn::<_, 3, _>(|i| (&self.meters[i], self.before[i]));
        session.map(|(meter, [delivered, lost, late])| {
            let report = meter.report(Some(0.0));
            let count = |total: u64, before: u64| u32::try_from(total.saturating_sub(before)).unwrap_or(u32::MAX);
            let scaled = |v: f64| v.clamp(0.0, 65_535.0) as u16;
            let delay = report.delay_ms.filter(|_| known);
            MediumStatistics {
                delivered: count(report.delivered, delivered),
                lost: count(report.lost, lost),
                late: count(report.late, late),
                delay: delay.map_or([u16::MAX; 4], |d| [d.mean, d.p50, d.p99, d.max].map(|ms| scaled(ms * 100.0))),
                jitter: report.jitter_ms.map_or([u16::MAX; 2], |j| [j.packet, j.sample].map(|ms| scaled(ms * 1000.0))),
            }
        })
    }

    /// Fills in the receiving side and the clocks of `stats`.
    pub fn stats(&self, now: Instant, stats: &mut Stats) {
        let ms = |ns: i64| ns as f64 / 1e6;
        let bound_ms = self.offsets.bound().map(ms);
        let offset = self.offsets.offset(now);
        let mut media = [None, None, None];
        for (i, medium) in Medium::ALL.into_iter().enumerate() {
            if medium == Medium::Haptic || self.with_media {
                media[i] = Some(self.meters[i].report(bound_ms));
            }
        }
        stats.receive = ReceiveStats {
            display_skipped: self.playout.skipped,
            display_late: self.playout.late,
            playout_depth: self.playout.depth(),
            delay_ms: self.recent.delay.zip(offset).map(|(raw, o)| (raw + o as f64) / 1e6),
            jitter_ms: self.recent.delay.map(|_| self.recent.jitter / 1e6),
            media,
            ..self.counters.clone()
        };
        stats.clock = ClockStats {
            rtt_ms: self.offsets.rtt().map(ms),
            bound_ms,
            skew_ppm: self.offsets.skew_ppm(),
            offset_ns: offset,
            steps: self.offsets.steps,
        };
    }
}
