//! The buffer between a microphone's clock and the station's: what the device's thread has put into a ring is cut into
//! frames, as many a second as the station's clock says. Knows no device.
//!
//! The sound made so far is compared with the time that has passed, and stretched slowly to keep with it, so that frames
//! neither pile up nor starve at the other end.

use media::{Duration, Instant};

use crate::steer::Steering;
use crate::{FRAME, FRAME_TIME, RATE, Resampler};

/// Cuts the device's stream into frames and dates them on the station's clock.
#[derive(Debug)]
pub(crate) struct Cutter {
    ring: rtrb::Consumer<f32>,
    resampler: Resampler,
    rate: u32,
    raw: Vec<f32>,
    pending: Vec<f32>,
    last: Option<Instant>,
    dropped: u64,
    received: u64,
    steering: Steering,
    /// Since when `made` is counted.
    since: Option<Instant>,
    /// Samples at 48 kHz.
    made: u64,
    steered_at: Instant,
}

/// A caller further behind has stalled: the oldest sound is dropped.
const MOST_PENDING: usize = RATE as usize / 5;
/// Dates are smoothed against the blocks of the device; a larger jump, ns, is taken as it is.
const JUMP: i64 = 60_000_000;
/// A distance, s, between sound and time that no drift makes: the device has lost sound, or stood still.
const LOST: f64 = 0.040;

impl Cutter {
    /// Takes from a ring that is filled with mono samples, `rate` a second.
    pub fn new(ring: rtrb::Consumer<f32>, rate: u32) -> Self {
        Cutter {
            ring,
            resampler: Resampler::new(rate, RATE),
            rate,
            raw: Vec::new(),
            pending: Vec::new(),
            last: None,
            dropped: 0,
            received: 0,
            steering: Steering::default(),
            since: None,
            made: 0,
            steered_at: Instant::ZERO,
        }
    }

    /// Fills a frame if 20 ms are there; gives when its first sample was captured.
    pub fn poll(&mut self, now: Instant, frame: &mut [f32; FRAME]) -> Option<Instant> {
        self.raw.clear();
        while let Ok(sample) = self.ring.pop() {
            self.raw.push(sample);
        }
        if !self.raw.is_empty() {
            self.received += self.raw.len() as u64;
            let before = self.pending.len();
            self.resampler.process(&self.raw, &mut self.pending);
            self.made += (self.pending.len() - before) as u64;
            self.steer(now);
        }
        if self.pending.len() > MOST_PENDING {
            let excess = self.pending.len() - MOST_PENDING;
            self.pending.drain(..excess);
            self.dropped += excess as u64;
            self.last = None;
        }
        if self.pending.len() < FRAME {
            return None;
        }
        let measured = now - Duration::from_secs_f64(self.pending.len() as f64 / f64::from(RATE) + self.lag());
        let at = match self.last {
            Some(last) => {
                let expected = last + FRAME_TIME;
                let off = measured.signed_since(expected);
                if off.abs() > JUMP { measured } else { expected.offset(off / 16) }
            }
            None => measured,
        };
        self.last = Some(at);
        frame.copy_from_slice(&self.pending[..FRAME]);
        self.pending.drain(..FRAME);
        Some(at)
    }

    /// Samples of the device so far: one that delivers no more has stalled.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Samples at 48 kHz dropped because nobody polled for too long.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Sound in the resampler, s.
    fn lag(&self) -> f64 {
        self.resampler.lag() as f64 / f64::from(self.rate)
    }

    /// Compares sound and time where a block has just arrived.
    fn steer(&mut self, now: Instant) {
        let sound = self.made as f64 / f64::from(RATE) + self.lag();
        let distance = match self.since {
            Some(since) => sound - now.saturating_since(since).as_secs_f64(),
            None => f64::INFINITY,
        };
        if distance.abs() > LOST {
            // What came so far was captured up to now.
            self.made = 0;
            self.since = Some(now - Duration::from_secs_f64(self.lag()));
            self.steering.restart();
        } else {
            let span = now.saturating_since(self.steered_at).as_secs_f64();
            let stretch = self.steering.step(distance, span);
            self.resampler.stretch(stretch);
        }
        self.steered_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{sine, tone};

    struct Run {
        cutter: Cutter,
        dates: Vec<Instant>,
        heard: Vec<f32>,
    }

    /// A device whose clock is off by `ppm` delivers blocks of a tone; the station looks every 4 ms.
    fn run(seconds: u64, rate: u32, block: usize, ppm: f64) -> Run {
        let (mut producer, consumer) = rtrb::RingBuffer::new(rate as usize);
        let mut cutter = Cutter::new(consumer, rate);
        let sound = sine(440.0, 0.5, rate, (seconds as f64 * f64::from(rate) * 1.001) as usize + block);
        let (mut heard, mut dates) = (Vec::new(), Vec::new());
        let (mut frame, mut delivered) = ([0.0; FRAME], 0);
        for ms in (0..seconds * 1_000).step_by(4) {
            let captured = ms as f64 / 1_000.0 * f64::from(rate) * (1.0 + ppm * 1e-6);
            while (delivered + block) as f64 <= captured {
                for sample in &sound[delivered..delivered + block] {
                    producer.push(*sample).unwrap();
                }
                delivered += block;
            }
            while let Some(at) = cutter.poll(Instant::from_millis(5_000 + ms), &mut frame) {
                heard.extend(frame);
                dates.push(at);
            }
        }
        Run { cutter, dates, heard }
    }

    #[test]
    fn blocks_of_a_device_become_frames_dated_20_ms_apart() {
        let run = run(4, 44_100, 882, 0.0);
        assert!(run.dates.len() > 195 && run.cutter.dropped() == 0);
        for (i, pair) in run.dates.windows(2).enumerate() {
            let step = pair[1].signed_since(pair[0]);
            assert!((step - 20_000_000).abs() < 3_000_000, "{i}: {step}");
        }
        // The date of a late frame lies within the polling interval of the truth.
        let truth = Instant::from_millis(5_000) + FRAME_TIME * (run.dates.len() as u32 - 1);
        let off = run.dates.last().unwrap().signed_since(truth);
        assert!((-2_000_000..9_000_000).contains(&off), "{off}");
        let found = tone(&run.heard[9_600..], RATE);
        assert!((found.frequency_hz - 440.0).abs() < 0.5 && found.above_rest_db > 50.0, "{found:?}");
    }

    #[test]
    fn ten_minutes_of_a_clock_that_drifts_give_as_many_frames_as_time_has() {
        for (rate, block, ppm) in
            [(48_000, 480, 200.0), (44_100, 441, -200.0), (16_000, 512, 500.0), (96_000, 960, -500.0)]
        {
            let run = run(600, rate, block, ppm);
            // Half a minute of 500 ppm is a frame: not even that is off at the end.
            let frames = run.dates.len() as i64;
            assert!((frames - 30_000).abs() <= 4, "{ppm}: {frames} frames");
            assert_eq!(run.cutter.dropped(), 0);
            let slope = 0.5 * std::f32::consts::TAU * 440.0 / RATE as f32 * 1.003;
            let heard = &run.heard[FRAME..];
            let steepest = heard.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
            assert!(steepest < slope, "{ppm}: {steepest} of {slope}");
            let (mut off, mut purity) = (0.0f64, f64::MAX);
            for found in heard.chunks_exact(65_536).step_by(4).map(|piece| tone(piece, RATE)) {
                off = off.max((found.frequency_hz - 440.0).abs());
                purity = purity.min(found.above_rest_db);
            }
            // A date never leaves the time of its frame by more than blocks and looks make it.
            let start = run.dates[0];
            let late = |(i, at): (usize, &Instant)| at.signed_since(start + FRAME_TIME * i as u32).abs();
            let wander = run.dates.iter().enumerate().map(late).max().unwrap() as f64 / 1e6;
            println!("{rate} {block} {ppm}: {purity:.1} dB, {off:.3} Hz, {frames} frames, dates within {wander:.1} ms");
            assert!(off < 0.7 && purity > 50.0, "{ppm}: {off} Hz off, {purity} dB");
            assert!(wander < 30.0, "{ppm}: {wander} ms");
        }
    }

    #[test]
    fn a_device_that_stood_still_goes_on_at_its_own_pitch() {
        let (mut producer, consumer) = rtrb::RingBuffer::new(48_000);
        let mut cutter = Cutter::new(consumer, 48_000);
        let (mut frame, mut frames, mut fastest) = ([0.0; FRAME], 0, 0.0f64);
        for ms in (0..20_000u64).step_by(10) {
            // Nothing for a second.
            if !(5_000..6_000).contains(&ms) {
                for _ in 0..480 {
                    producer.push(0.1).unwrap();
                }
            }
            while cutter.poll(Instant::from_millis(ms), &mut frame).is_some() {
                frames += 1;
            }
            fastest = fastest.max(cutter.steering.stretch().abs());
        }
        assert!((948..=950).contains(&frames), "{frames}");
        assert!(fastest < 0.000_1, "{fastest}");
    }

    #[test]
    fn a_stalled_caller_gets_the_newest_sound_and_the_rest_is_counted() {
        let (mut producer, consumer) = rtrb::RingBuffer::new(48_000);
        let mut cutter = Cutter::new(consumer, 48_000);
        for _ in 0..48_000 {
            producer.push(0.25).unwrap();
        }
        let mut frame = [0.0; FRAME];
        let mut frames = 0;
        while cutter.poll(Instant::from_millis(2_000), &mut frame).is_some() {
            frames += 1;
        }
        assert_eq!(frames, 10);
        assert!((38_000..38_500).contains(&cutter.dropped()), "{}", cutter.dropped());
    }
}
