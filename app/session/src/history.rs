//! The recent past of a channel: its rate over the last second and the points of its plots.

use std::collections::VecDeque;
use std::time::Duration;

use media::Instant;
use proto::report::MediumReport;

use crate::snapshot::{ChannelSnapshot, HistoryPoint};

/// Points kept: 30 s at 20 a second.
const POINTS: usize = 600;

/// What is remembered of one channel.
#[derive(Default)]
pub(crate) struct ChannelMemory {
    history: VecDeque<HistoryPoint>,
    /// (when, bytes on the wire) of the last second.
    bytes: VecDeque<(Instant, u64)>,
}

/// One channel at one moment.
pub(crate) struct Now<'a> {
    pub at: Instant,
    pub k: u8,
    pub delay_ms: Option<f64>,
    pub jitter_ms: Option<f64>,
    pub wire_bytes: u64,
    pub media: &'a [Option<MediumReport>; 3],
    /// Uptime in seconds if the plots get a point.
    pub point: Option<f64>,
}

impl ChannelMemory {
    /// The channel as it is shown, after `now` has joined its history.
    pub fn channel(&mut self, now: Now<'_>) -> ChannelSnapshot {
        let kbps = self.rate(now.at, now.wire_bytes);
        if let Some(at_s) = now.point
            && now.k > 0
        {
            if self.history.len() == POINTS {
                self.history.pop_front();
            }
            let delay_ms = now.delay_ms.map_or(f32::NAN, |d| d as f32);
            self.history.push_back(HistoryPoint { at_s, k: now.k, delay_ms });
        }
        let [haptic, audio, video] = now.media;
        ChannelSnapshot {
            k: (now.k > 0).then_some(now.k),
            delay_ms: now.delay_ms,
            jitter_ms: now.jitter_ms,
            loss_percent: haptic.as_ref().map(|r| r.loss_percent),
            kbps,
            haptic: haptic.clone(),
            audio: audio.clone(),
            video: video.clone(),
            carries: None,
            history: self.history.iter().copied().collect(),
        }
    }

    /// Rate of the last second, kbit/s.
    fn rate(&mut self, at: Instant, bytes: u64) -> f64 {
        if self.bytes.back().is_none_or(|(last, _)| *last != at) {
            self.bytes.push_back((at, bytes));
        }
        while self.bytes.len() > 2 && at.saturating_since(self.bytes[1].0) >= Duration::from_secs(1) {
            self.bytes.pop_front();
        }
        let Some(&(since, before)) = self.bytes.front() else { return 0.0 };
        let seconds = at.saturating_since(since).as_secs_f64();
        if seconds > 0.0 { bytes.saturating_sub(before) as f64 * 8.0 / 1e3 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_second() {
        let mut channel = ChannelMemory::default();
        let mut bytes = 0;
        let mut rate = 0.0;
        for ms in (0..5_000u64).step_by(20) {
            // 100 bytes/ms in the first half, then silence.
            bytes += if ms < 2_500 { 2_000 } else { 0 };
            rate = channel.rate(Instant::from_millis(ms), bytes);
            if (1_500..2_500).contains(&ms) {
                assert!((rate - 800.0).abs() < 1.0, "{rate}");
            }
        }
        assert_eq!(rate, 0.0);
        assert!(channel.bytes.len() < 60);
    }

    #[test]
    fn histories_hold_thirty_seconds() {
        let mut channel = ChannelMemory::default();
        let media = [None, None, None];
        let mut last = ChannelSnapshot::default();
        for i in 0..1_000u64 {
            last = channel.channel(Now {
                at: Instant::from_millis(50 * i),
                k: 2,
                delay_ms: None,
                jitter_ms: None,
                wire_bytes: 0,
                media: &media,
                point: Some(i as f64 * 0.05),
            });
        }
        assert_eq!(last.history.len(), POINTS);
        assert!((last.history[0].at_s - 20.0).abs() < 1e-9 && last.history[0].delay_ms.is_nan());
        let json = serde_json::to_string(&last.history[0]).unwrap();
        assert!(json.contains("null"), "{json}");
        assert!(serde_json::from_str::<HistoryPoint>(&json).unwrap().delay_ms.is_nan());
    }
}
