//! Over how many fragments a frame is spread.

/// Longest period that is looked at, ms: beyond, a frame is taken to come each minute.
const MAX_PERIOD_MS: u64 = 60_000;

/// Frames of a medium at its peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Largest frame, its header included, bytes.
    pub bytes: u64,
    /// From frame to frame, ms, 1 to 60,000.
    pub period_ms: u64,
}

impl Frames {
    /// Fragments, one a millisecond with `room` bytes each, that the frame takes if nothing goes before it: 1 or more.
    /// `None` if the next one comes before it is through.
    pub fn fragments(&self, room: u64) -> Option<u64> {
        let fragments = self.bytes.max(1).div_ceil(room.max(1));
        (room > 0 && self.bytes <= room.saturating_mul(self.period())).then_some(fragments)
    }

    /// The same for a frame that waits for all that there is of `before`, in the worst case. `None` if frames pile up.
    pub fn fragments_behind(&self, before: Option<Frames>, room: u64) -> Option<u64> {
        let Some(before) = before else { return self.fragments(room) };
        before.fragments(room)?;
        let (period, before_period) = (self.period(), before.period());
        // Both periods are at most 60,000 and both sizes at most 60,000 fragments: nothing overflows.
        let (own, others) = (u128::from(self.bytes), u128::from(before.bytes));
        let load = own * u128::from(before_period) + others * u128::from(period);
        if load > u128::from(room) * u128::from(period) * u128::from(before_period) {
            return None;
        }
        let (mut n, mut worst) = (1u64, 1);
        // Since the load is at most the room, the pause comes after at most one common multiple of both periods.
        for q in 1..=before_period {
            loop {
                let due = own * u128::from(q) + others * u128::from(n.div_ceil(before_period));
                let needed = u64::try_from(due.div_ceil(u128::from(room))).unwrap_or(u64::MAX);
                if needed <= n {
                    break;
                }
                n = needed;
            }
            worst = worst.max(n - (q - 1) * period);
            if n <= q * period {
                break;
            }
        }
        Some(worst)
    }

    fn period(&self) -> u64 {
        self.period_ms.clamp(1, MAX_PERIOD_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(bytes: u64, period_ms: u64) -> Frames {
        Frames { bytes, period_ms }
    }

    #[test]
    fn the_papers_frames() {
        let (audio, video) = (frames(160, 20), frames(2000, 40));
        assert_eq!(audio.fragments(58), Some(3));
        assert_eq!(video.fragments_behind(Some(audio), 58), Some(40));
        assert_eq!(video.fragments_behind(None, 58), Some(35));
        // One byte a fragment less, and frames pile up.
        assert_eq!(video.fragments_behind(Some(audio), 57), None);
        assert_eq!(frames(1161, 20).fragments(58), None);
        assert_eq!(video.fragments_behind(Some(frames(1161, 20)), 58), None);
        assert_eq!(frames(0, 0).fragments(1), Some(1));
        assert_eq!(frames(u64::MAX, u64::MAX).fragments(0), None);
        assert_eq!(frames(u64::MAX, u64::MAX).fragments_behind(Some(frames(u64::MAX, 1)), u64::MAX), None);
    }

    /// The multiplexer, byte by byte: the most fragments that a frame of video took.
    fn played(audio: Frames, video: Frames, room: u64, audio_phase: u64) -> u64 {
        let (mut audio_waits, mut taken, mut worst) = (0, 0, 0);
        let mut ends: std::collections::VecDeque<(u64, u64)> = Default::default();
        let mut pushed = 0;
        for tick in 0..4_000 {
            if (tick + audio_phase).is_multiple_of(audio.period_ms) {
                audio_waits += audio.bytes;
            }
            if tick.is_multiple_of(video.period_ms) {
                pushed += video.bytes;
                ends.push_back((tick, pushed));
            }
            let first = room.min(audio_waits);
            audio_waits -= first;
            taken = pushed.min(taken + room - first);
            while let Some(&(from, end)) = ends.front().filter(|e| e.1 <= taken) {
                worst = worst.max(tick + 1 - from);
                assert!(end <= taken);
                ends.pop_front();
            }
        }
        worst
    }

    proptest! {
        #[test]
        fn no_frame_takes_longer_and_the_worst_is_reached(
            audio in (1u64..60, 1u64..12), video in (1u64..300, 1u64..30), room in 1u64..40, phase in 0u64..12,
        ) {
            let (audio, video) = (frames(audio.0, audio.1), frames(video.0, video.1));
            if let Some(worst) = video.fragments_behind(Some(audio), room) {
                prop_assert!(played(audio, video, room, phase) <= worst);
                prop_assert_eq!(played(audio, video, room, 0), worst);
            }
        }
    }
}
