//! When received data is shown: haptic samples in order and 1 ms apart; sound and picture in step.
//!
//! Delivered stays lossless: every sample that arrived is counted so. What is *displayed* may skip: the buffer is
//! bounded, and when its least filling over 100 releases is not zero, k has fallen or the clocks drift, and one
//! sample is skipped (counted), so that no delay stands in it for longer than need be.

use std::collections::VecDeque;

use media::{Duration, HapticSample, Instant, PeerTime};

use crate::reconstruct::Reconstruction;

const PERIOD: Duration = Duration::from_millis(1);
/// Releases over which the least filling is judged.
const JUDGE_AFTER: u32 = 100;

/// A sample on its way to the display.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// Its tick.
    pub index: u64,
    /// What to show.
    pub sample: HapticSample,
    /// It was sent; false: made up in the place of one that was left out on purpose.
    pub received: bool,
}

/// The buffer of haptic samples.
#[derive(Clone, Debug)]
pub struct HapticPlayout {
    queue: VecDeque<(u64, HapticSample)>,
    capacity: usize,
    next_at: Instant,
    last: Option<u64>,
    least: usize,
    releases: u32,
    /// Fills the gaps that a scheme leaves on purpose.
    fill: Option<Reconstruction>,
    /// The tick shown last, made up or received.
    shown: u64,
    /// Samples not shown to shrink the buffer.
    pub skipped: u64,
    /// Samples not shown because a later one already was.
    pub late: u64,
}

impl HapticPlayout {
    /// At most `capacity` samples wait (at least 8, a whole packet).
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(8);
        HapticPlayout {
            queue: VecDeque::with_capacity(capacity + 1),
            capacity,
            next_at: Instant::ZERO,
            last: None,
            least: usize::MAX,
            releases: 0,
            fill: None,
            shown: 0,
            skipped: 0,
            late: 0,
        }
    }

    /// Forgets everything but its counters: the sender is another.
    pub fn reset(&mut self) {
        self.queue.clear();
        self.last = None;
        self.least = usize::MAX;
        self.releases = 0;
    }

    /// A sample arrived.
    pub fn push(&mut self, index: u64, sample: HapticSample) {
        if self.last.is_some_and(|last| index <= last) {
            self.late += 1;
            return;
        }
        let place = self.queue.iter().rposition(|&(i, _)| i < index).map_or(0, |p| p + 1);
        self.queue.insert(place, (index, sample));
        if self.queue.len() > self.capacity {
            self.skip();
        }
    }

    /// The sample to show at `now`, if one is due.
    pub fn poll(&mut self, now: Instant) -> Option<Shown> {
        if now < self.next_at {
            return None;
        }
        let Some((index, sample)) = self.queue.pop_front() else { return self.made_up(now) };
        if let Some(fill) = &mut self.fill {
            fill.push(index, sample);
        }
        self.shown = index;
        // A wake-up that comes late by less than a period keeps the pace; after a pause the pace begins anew.
        self.pace(now);
        self.last = Some(index);
        self.least = self.least.min(self.queue.len());
        self.releases += 1;
        if self.releases == JUDGE_AFTER {
            if self.least > 0 {
                self.skip();
            }
            self.releases = 0;
            self.least = usize::MAX;
        }
        Some(Shown { index, sample, received: true })
    }

    fn pace(&mut self, now: Instant) {
        self.next_at = if now.saturating_since(self.next_at) < PERIOD { self.next_at } else { now } + PERIOD;
    }

    /// Between the samples of a scheme that skips.
    fn made_up(&mut self, now: Instant) -> Option<Shown> {
        let index = self.shown + 1;
        let sample = self.fill.as_ref()?.at(index)?;
        self.shown = index;
        self.pace(now);
        Some(Shown { index, sample, received: false })
    }

    /// From now on gaps are filled by `fill`, or not at all.
    pub fn set_fill(&mut self, fill: Option<Reconstruction>) {
        self.fill = fill;
    }

    /// When the next sample is due.
    pub fn due(&self) -> Option<Instant> {
        let fills = || self.fill.as_ref().is_some_and(|fill| fill.at(self.shown + 1).is_some());
        (!self.queue.is_empty() || fills()).then_some(self.next_at)
    }

    /// Samples waiting.
    pub fn depth(&self) -> usize {
        self.queue.len()
    }

    fn skip(&mut self) {
        if let Some((index, _)) = self.queue.pop_front() {
            self.last = Some(index);
            self.skipped += 1;
        }
    }
}

/// Largest time that frames are held back for the other medium's sake.
const MAX_HOLD_NS: i64 = 300_000_000;

/// The common lag shrinks by no more than this with a frame: at 75 frames a second 3 ms a second, which a speaker follows by playing
/// 0.3 % faster.
const MAX_SHRINK_NS: i64 = 40_000;

/// Gives sound and picture one common delay from capture to display: the largest that either needed lately.
#[derive(Clone, Debug, Default)]
pub struct AvSync {
    /// Display time minus capture time on the peer's clock, ns; contains the unknown clock offset.
    lag: Option<i64>,
    /// Smallest lag seen lately: frames wait for no more than so much above it.
    base: i64,
}

impl AvSync {
    /// When to show a frame captured at `captured_at` that became whole at `now`.
    pub fn display_at(&mut self, now: Instant, captured_at: PeerTime) -> Instant {
        let needed = now.as_nanos() as i64 - captured_at.as_nanos();
        let lag = match self.lag {
            // A clock that stepped makes the past worthless.
            Some(lag) if (needed - lag).abs() < 2 * MAX_HOLD_NS => {
                self.base = if needed < self.base { needed } else { self.base + (needed - self.base) / 512 };
                needed.max(lag - ((lag - needed) / 256).min(MAX_SHRINK_NS)).min(self.base + MAX_HOLD_NS)
            }
            _ => {
                self.base = needed;
                needed
            }
        };
        self.lag = Some(lag);
        Instant::from_nanos((captured_at.as_nanos() + lag.max(needed)).max(0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::{Force, SampleKind};

    fn zero() -> HapticSample {
        HapticSample::zero(SampleKind::Force)
    }

    /// Runs `ms` milliseconds in steps of 0.1; `arrivals(step)` says how many samples come.
    fn run(
        p: &mut HapticPlayout,
        from: u64,
        ms: u64,
        next: &mut u64,
        k_at: impl Fn(u64) -> u64,
    ) -> Vec<(Instant, u64)> {
        let mut shown = Vec::new();
        for t in from..from + ms {
            for sub in 0..10 {
                let now = Instant::from_nanos(t * 1_000_000 + sub * 100_000);
                if sub == 0 {
                    for _ in 0..k_at(t) {
                        p.push(*next, zero());
                        *next += 1;
                    }
                }
                while let Some(Shown { index: i, .. }) = p.poll(now) {
                    shown.push((now, i));
                }
            }
        }
        shown
    }

    #[test]
    fn samples_of_one_packet_are_shown_one_millisecond_apart() {
        let mut p = HapticPlayout::new(12);
        let mut next = 0;
        let shown = run(&mut p, 0, 1000, &mut next, |t| if t % 4 == 0 { 4 } else { 0 });
        assert!(shown.windows(2).all(|w| w[1].0.signed_since(w[0].0) == 1_000_000 && w[1].1 == w[0].1 + 1));
        assert_eq!((shown.len(), p.skipped, p.late), (1000, 0, 0));
    }

    #[test]
    fn the_buffer_shrinks_when_k_falls_and_when_the_peers_clock_is_fast() {
        let mut p = HapticPlayout::new(12);
        let mut next = 0;
        // A burst fills the buffer; then k = 1: the depth must come down to nothing standing.
        run(&mut p, 0, 10, &mut next, |t| if t == 0 { 12 } else { 1 });
        run(&mut p, 10, 1_500, &mut next, |_| 1);
        assert_eq!(p.depth(), 0);
        assert!(p.skipped > 0);
        // A fast peer gives one sample more every 100 ms.
        run(&mut p, 1_510, 10_000, &mut next, |t| 1 + u64::from(t % 100 == 0));
        assert!(p.depth() <= 3, "{}", p.depth());
    }

    #[test]
    fn overtaken_samples_are_late_and_order_is_kept() {
        let mut p = HapticPlayout::new(12);
        p.push(5, zero());
        p.push(4, HapticSample::Force(Force::new(1.0, 0.0, 0.0)));
        assert_eq!(p.poll(Instant::from_millis(1)).map(|s| s.index), Some(4));
        p.push(3, zero());
        assert_eq!(p.late, 1);
        assert_eq!(p.poll(Instant::from_millis(2)).map(|s| s.index), Some(5));
        for i in 0..100 {
            p.push(10 + i, zero());
        }
        assert_eq!(p.depth(), 12);
    }

    #[test]
    fn sound_waits_for_the_picture() {
        let mut sync = AvSync::default();
        let at = |ms: i64| PeerTime::from_nanos((7_000 + ms) * 1_000_000);
        for i in 0..50 {
            let captured = i * 40;
            let audio = sync.display_at(Instant::from_millis(captured as u64 + 25), at(captured));
            let video = sync.display_at(Instant::from_millis(captured as u64 + 90), at(captured));
            if i > 0 {
                assert!(audio.signed_since(video).abs() < 2_000_000);
            }
        }
    }
}
