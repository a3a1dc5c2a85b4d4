//! The buffer between the station's clock and a speaker's: a ring filled by [`Feeder`] at the station's
//! pace and emptied by [`Drain`] at the device's. Knows no device and no clock.
//!
//! The feeder measures the fill and stretches the sound slowly, by at most a third of a percent, to keep it at the
//! target. Beyond that it drops whole blocks with a crossfade; the drain fades out when it runs dry and fades in again
//! when the target is reached. All of it is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use media::Duration;

use crate::fade::Fade;
use crate::steer::Steering;
use crate::{RATE, Resampler};

/// Counters of a playback ring.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlaybackStats {
    /// Times the device found nothing to play.
    pub underruns: u64,
    /// Samples at 48 kHz dropped because too much was queued.
    pub dropped: u64,
    /// Stretch in use, parts per million: above zero the device is faster than the source.
    pub stretch_ppm: f64,
}

#[derive(Debug, Default)]
struct Shared {
    playing: AtomicBool,
    /// Largest block that the device has taken at once, samples at its rate.
    block: AtomicU32,
    underruns: AtomicU64,
    /// Blocks taken.
    pulls: AtomicU64,
}

/// The station's end.
#[derive(Debug)]
pub(crate) struct Feeder {
    ring: rtrb::Producer<f32>,
    shared: Arc<Shared>,
    resampler: Resampler,
    rate: u32,
    steering: Steering,
    dropped: u64,
    converted: Vec<f32>,
    /// Start of the block dropped last, faded into the next one that is taken.
    tail: Vec<f32>,
}

/// The device's end.
#[derive(Debug)]
pub(crate) struct Drain {
    ring: rtrb::Consumer<f32>,
    shared: Arc<Shared>,
    rate: u32,
    fade: Fade,
}

/// Queue that is aimed at, besides one block of the device.
const TARGET: f64 = 0.040;
/// Blocks of devices are taken into account up to this length.
const LONGEST_BLOCK: f64 = 0.150;
/// Queue above the target at which new sound is dropped.
const MARGIN: f64 = 0.160;
/// Crossfade over what is dropped.
const FADE: f64 = 0.005;

/// A ring for a device of `rate` samples a second.
pub(crate) fn ring(rate: u32) -> (Feeder, Drain) {
    let (producer, consumer) = rtrb::RingBuffer::new(rate as usize);
    let shared = Arc::new(Shared::default());
    let feeder = Feeder {
        ring: producer,
        shared: shared.clone(),
        resampler: Resampler::new(RATE, rate),
        rate,
        steering: Steering::default(),
        dropped: 0,
        converted: Vec::with_capacity(rate as usize / 10),
        tail: Vec::new(),
    };
    (feeder, Drain { ring: consumer, shared, rate, fade: Fade::new(rate) })
}

fn target(shared: &Shared, rate: u32) -> f64 {
    let block = f64::from(shared.block.load(Ordering::Relaxed)) / f64::from(rate);
    TARGET + block.min(LONGEST_BLOCK)
}

impl Feeder {
    /// Queues samples at 48 kHz.
    pub(crate) fn push(&mut self, samples: &[f32]) {
        let fill = self.fill();
        let target = target(&self.shared, self.rate);
        let span = samples.len() as f64 / f64::from(RATE);
        if self.shared.playing.load(Ordering::Acquire) {
            // What is about to be added counts half: the fill swings by it around its mean.
            let stretch = self.steering.step(fill + span / 2.0 - target, span);
            self.resampler.stretch(stretch);
        } else {
            self.steering.restart();
        }
        self.converted.clear();
        self.resampler.process(samples, &mut self.converted);
        if fill + span > target + MARGIN || self.converted.len() > self.ring.slots() {
            self.dropped += samples.len() as u64;
            if self.tail.is_empty() {
                let fade = (FADE * f64::from(self.rate)) as usize;
                self.tail.extend(self.converted.iter().take(fade));
            }
            return;
        }
        let length = self.tail.len().max(1) as f32;
        for (i, (new, old)) in self.converted.iter_mut().zip(self.tail.drain(..)).enumerate() {
            let weight = (i as f32 + 1.0) / (length + 1.0);
            *new = old + (*new - old) * weight;
        }
        for sample in &self.converted {
            // Room was checked above, and only this side takes it.
            let _ = self.ring.push(*sample);
        }
    }

    /// Seconds queued.
    fn fill(&self) -> f64 {
        (self.ring.buffer().capacity() - self.ring.slots()) as f64 / f64::from(self.rate)
    }

    /// Sound queued.
    pub(crate) fn queued(&self) -> Duration {
        Duration::from_secs_f64(self.fill())
    }

    /// Blocks that the device has taken so far: one that takes no more has stalled.
    pub(crate) fn pulls(&self) -> u64 {
        self.shared.pulls.load(Ordering::Relaxed)
    }

    pub(crate) fn stats(&self) -> PlaybackStats {
        PlaybackStats {
            underruns: self.shared.underruns.load(Ordering::Relaxed),
            dropped: self.dropped,
            stretch_ppm: self.steering.stretch() * 1e6,
        }
    }
}

impl Drain {
    /// The device is about to take a block of this many samples, in one or several pulls.
    pub(crate) fn start_block(&mut self, length: usize) {
        self.shared.pulls.fetch_add(1, Ordering::Relaxed);
        self.shared.block.fetch_max(length as u32, Ordering::Relaxed);
    }

    /// Fills a block for the device, or a part of it. Never blocks, never allocates.
    pub(crate) fn pull(&mut self, block: &mut [f32]) {
        let mut playing = self.shared.playing.load(Ordering::Relaxed);
        if !playing {
            let enough = target(&self.shared, self.rate) * f64::from(self.rate);
            playing = self.ring.slots() as f64 >= enough;
            self.shared.playing.store(playing, Ordering::Release);
        }
        for sample in block.iter_mut() {
            let next = if playing { self.ring.pop().ok() } else { None };
            if playing && next.is_none() {
                playing = false;
                self.shared.playing.store(false, Ordering::Release);
                self.shared.underruns.fetch_add(1, Ordering::Relaxed);
            }
            *sample = self.fade.next(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{sine, tone};

    struct Run {
        feeder: Feeder,
        heard: Vec<f32>,
        highest: f64,
        lowest: f64,
        /// Mean stretch after the first minute, ppm: the fill swings as pushes slip against pulls, and the stretch with it.
        stretch_ppm: f64,
    }

    /// Pushes frames of 20 ms at the station's pace while a device whose clock is off by `ppm` pulls blocks.
    fn run(seconds: f64, rate: u32, block: usize, ppm: f64) -> Run {
        let (mut feeder, mut drain) = ring(rate);
        let sound = sine(440.0, 0.5, RATE, (seconds * f64::from(RATE)) as usize);
        let mut run_heard = Vec::new();
        let (mut highest, mut lowest) = (0.0f64, 1.0f64);
        let mut frames = sound.chunks(960).enumerate().peekable();
        let (mut stretch, mut pushes) = (0.0, 0u32);
        let mut pulled = 0u64;
        while let Some((number, frame)) = frames.peek() {
            let push_at = *number as f64 * 0.020;
            let pull_at = pulled as f64 * block as f64 / (f64::from(rate) * (1.0 + ppm * 1e-6));
            if push_at <= pull_at {
                feeder.push(frame);
                frames.next();
                if push_at > 60.0 {
                    highest = highest.max(feeder.fill());
                    lowest = lowest.min(feeder.fill());
                    stretch += feeder.stats().stretch_ppm;
                    pushes += 1;
                }
            } else {
                let mut out = vec![0.0; block];
                drain.start_block(block);
                drain.pull(&mut out);
                run_heard.extend(out);
                pulled += 1;
            }
        }
        Run { feeder, heard: run_heard, highest, lowest, stretch_ppm: stretch / f64::from(pushes.max(1)) }
    }

    #[test]
    fn ten_minutes_of_drifting_clocks_neither_drain_nor_fill_the_queue_nor_hurt_the_tone() {
        for (rate, block, ppm) in
            [(48_000, 480, 200.0), (48_000, 1024, -200.0), (44_100, 441, 500.0), (48_000, 317, -500.0)]
        {
            let run = run(600.0, rate, block, ppm);
            let stats = run.feeder.stats();
            assert_eq!((stats.underruns, stats.dropped), (0, 0), "{rate} {ppm}: {stats:?}");
            assert!((run.stretch_ppm - ppm).abs() < 20.0, "{ppm}: {} ppm", run.stretch_ppm);
            let start = run.heard.iter().position(|s| s.abs() > 0.4).unwrap();
            // Past the fade-in, which is a change of the tone that is meant.
            let heard = &run.heard[start + rate as usize / 100..];
            // The steepest step of the tone itself, at the largest stretch.
            let slope = 0.5 * std::f32::consts::TAU * 440.0 / rate as f32 * 1.003;
            let steepest = heard.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
            assert!(steepest < slope, "{ppm}: {steepest} of {slope}");
            let tones = heard.chunks_exact(65_536).step_by(4).map(|piece| tone(piece, rate));
            let (mut off, mut purity) = (0.0f64, f64::MAX);
            for found in tones {
                off = off.max((found.frequency_hz - 440.0).abs());
                purity = purity.min(found.above_rest_db);
            }
            println!("{rate} {block} {ppm}: {purity:.1} dB, {off:.3} Hz, fill {:.4}..{:.4}", run.lowest, run.highest);
            assert!(off < 0.7 && purity > 50.0, "{ppm}: {off} Hz off, {purity} dB");
            // The target is 40 ms and a block; frames and blocks make it swing by one of each.
            let (target, swing) = (TARGET + block as f64 / f64::from(rate), 0.020 + block as f64 / f64::from(rate));
            assert!((run.highest - target).max(target - run.lowest) < swing + 0.008, "{} {}", run.lowest, run.highest);
        }
    }

    #[test]
    fn clocks_far_apart_are_followed_as_well() {
        for (rate, block, ppm) in [(44_100, 441, 1000.0), (48_000, 480, -2000.0)] {
            let run = run(300.0, rate, block, ppm);
            let stats = run.feeder.stats();
            assert_eq!((stats.underruns, stats.dropped), (0, 0), "{rate} {ppm}: {stats:?}");
            assert!((run.stretch_ppm - ppm).abs() < 100.0, "{ppm}: {} ppm", run.stretch_ppm);
            assert!(run.highest < 0.15 && run.lowest > 0.01, "{ppm}: {} to {}", run.lowest, run.highest);
        }
    }

    #[test]
    fn too_much_sound_is_dropped_smoothly_and_counted() {
        let (mut feeder, _drain) = ring(48_000);
        let sound = sine(100.0, 0.5, RATE, 48_000);
        for frame in sound.chunks(960) {
            feeder.push(frame);
        }
        assert!(feeder.queued() < Duration::from_millis(221), "{:?}", feeder.queued());
        assert!(feeder.stats().dropped > 36_000);
    }

    #[test]
    fn an_empty_queue_fades_out_is_counted_and_starts_again_at_the_target() {
        let (mut feeder, mut drain) = ring(48_000);
        let mut block = [1.0; 480];
        drain.start_block(480);
        drain.pull(&mut block);
        assert_eq!(block, [0.0; 480]);
        for _ in 0..4 {
            feeder.push(&[0.5; 960]);
        }
        let mut heard = Vec::new();
        for _ in 0..20 {
            drain.pull(&mut block);
            heard.extend(block);
        }
        assert_eq!(feeder.stats().underruns, 1);
        let steepest = heard[200..].windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
        assert!(steepest < 0.05, "{steepest}");
        assert!(heard.last().unwrap().abs() < 0.001);
        feeder.push(&[0.5; 960]);
        drain.pull(&mut block);
        assert!(block[479].abs() < 0.001, "waits for the target");
        for _ in 0..3 {
            feeder.push(&[0.5; 960]);
        }
        drain.pull(&mut block);
        assert!((block[479] - 0.5).abs() < 0.01);
        assert_eq!(feeder.stats().underruns, 1);
    }

    #[test]
    fn the_crossfade_after_a_drop_has_no_step() {
        let (mut feeder, mut drain) = ring(48_000);
        // A slow ramp of tone, so that a dropped stretch would be a jump.
        let sound = sine(50.0, 0.8, RATE, 960 * 40);
        let mut heard = Vec::new();
        for (i, frame) in sound.chunks(960).enumerate() {
            feeder.push(frame);
            // The device stalls for a while, then goes on.
            if !(10..25).contains(&i) {
                for _ in 0..2 {
                    let mut block = [0.0; 480];
                    drain.pull(&mut block);
                    heard.extend(block);
                }
            }
        }
        assert!(feeder.stats().dropped > 0);
        let start = heard.iter().position(|s| s.abs() > 0.1).unwrap();
        let steepest = heard[start..].windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
        assert!(steepest < 0.02, "{steepest}");
    }
}
