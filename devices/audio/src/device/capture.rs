//! A microphone: the device's thread mixes to mono and fills a ring, `poll` converts and cuts frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cpal::traits::{DeviceTrait, StreamTrait};
use cpal::{BufferSize, Data, FromSample, SampleFormat, SizedSample, StreamConfig};
use media::{Duration, Instant};

use super::{Health, block_size, choose, find, refused};
use crate::{AudioError, DeviceKind, FRAME, FRAME_TIME, RATE, Resampler, Source};

/// A running capture stream.
pub(crate) struct Microphone {
    name: String,
    config: StreamConfig,
    health: Arc<Health>,
    overruns: Arc<AtomicU64>,
    cutter: Cutter,
    // Dropped last: ends the device's thread.
    _stream: cpal::Stream,
}

impl Microphone {
    pub(crate) fn open(wanted: Option<&str>) -> Result<Self, AudioError> {
        let kind = DeviceKind::Microphone;
        let (device, name) = find(kind, wanted)?;
        let (mut config, format, buffer) = choose(kind, &device, &name)?;
        let health = Arc::new(Health::default());
        let overruns = Arc::new(AtomicU64::new(0));
        let rate = config.sample_rate;
        let open = |config: StreamConfig| -> Result<(cpal::Stream, rtrb::Consumer<f32>), cpal::Error> {
            let (mut producer, consumer) = rtrb::RingBuffer::new(rate as usize);
            let channels = usize::from(config.channels).max(1);
            let (lost, watch) = (overruns.clone(), health.clone());
            let on_data = move |data: &Data, _: &cpal::InputCallbackInfo| {
                let dropped = take(data, format, channels, &mut producer);
                if dropped > 0 {
                    lost.fetch_add(dropped, Ordering::Relaxed);
                }
            };
            let stream = device.build_input_stream_raw(config, format, on_data, move |e| watch.on_error(&e), None)?;
            stream.play()?;
            Ok((stream, consumer))
        };
        config.buffer_size = block_size(rate, buffer);
        let opened = open(config).or_else(|_| {
            config.buffer_size = BufferSize::Default;
            open(config)
        });
        let (stream, ring) = opened.map_err(|e| refused(kind, &name, &e))?;
        Ok(Microphone { name, config, health, overruns, cutter: Cutter::new(ring, rate), _stream: stream })
    }
}

impl Source for Microphone {
    fn describe(&self) -> String {
        format!("{}, {} Hz, {} ch", self.name, self.config.sample_rate, self.config.channels)
    }

    fn poll(&mut self, now: Instant, frame: &mut [f32; FRAME]) -> Result<Option<Instant>, AudioError> {
        let captured = self.cutter.poll(now, frame);
        if captured.is_none() {
            self.health.check(DeviceKind::Microphone, &self.name)?;
        }
        Ok(captured)
    }

    fn dropped(&self) -> u64 {
        let overrun =
            self.overruns.load(Ordering::Relaxed) * u64::from(RATE) / u64::from(self.config.sample_rate.max(1));
        self.cutter.dropped + overrun
    }
}

/// Mixes a block to mono and queues it; returns how many samples found no room.
fn take(data: &Data, format: SampleFormat, channels: usize, ring: &mut rtrb::Producer<f32>) -> u64 {
    fn mix<T: SizedSample>(data: &Data, channels: usize, ring: &mut rtrb::Producer<f32>) -> u64
    where
        f32: FromSample<T>,
    {
        let Some(samples) = data.as_slice::<T>() else {
            return 0;
        };
        let mut dropped = 0;
        for all in samples.chunks_exact(channels) {
            let sum: f32 = all.iter().map(|s| <f32 as FromSample<T>>::from_sample_(*s)).sum();
            dropped += u64::from(ring.push(sum / channels as f32).is_err());
        }
        dropped
    }
    match format {
        SampleFormat::F32 => mix::<f32>(data, channels, ring),
        SampleFormat::F64 => mix::<f64>(data, channels, ring),
        SampleFormat::I8 => mix::<i8>(data, channels, ring),
        SampleFormat::I16 => mix::<i16>(data, channels, ring),
        SampleFormat::I32 => mix::<i32>(data, channels, ring),
        SampleFormat::U8 => mix::<u8>(data, channels, ring),
        SampleFormat::U16 => mix::<u16>(data, channels, ring),
        // `choose` lets no other through.
        _ => 0,
    }
}

/// Cuts the device's stream into frames and dates them on the station's clock.
struct Cutter {
    ring: rtrb::Consumer<f32>,
    resampler: Resampler,
    rate: u32,
    raw: Vec<f32>,
    pending: Vec<f32>,
    last: Option<Instant>,
    dropped: u64,
}

/// A caller further behind has stalled: the oldest sound is dropped.
const MOST_PENDING: usize = RATE as usize / 5;
/// Dates are smoothed against the blocks of the device; a larger jump is taken as it is.
const JUMP: i64 = 60_000_000;

impl Cutter {
    fn new(ring: rtrb::Consumer<f32>, rate: u32) -> Self {
        let resampler = Resampler::new(rate, RATE);
        Cutter { ring, resampler, rate, raw: Vec::new(), pending: Vec::new(), last: None, dropped: 0 }
    }

    fn poll(&mut self, now: Instant, frame: &mut [f32; FRAME]) -> Option<Instant> {
        self.raw.clear();
        while let Ok(sample) = self.ring.pop() {
            self.raw.push(sample);
        }
        self.resampler.process(&self.raw, &mut self.pending);
        if self.pending.len() > MOST_PENDING {
            let excess = self.pending.len() - MOST_PENDING;
            self.pending.drain(..excess);
            self.dropped += excess as u64;
            self.last = None;
        }
        if self.pending.len() < FRAME {
            return None;
        }
        let held = self.pending.len() as f64 / f64::from(RATE) + self.resampler.lag() as f64 / f64::from(self.rate);
        let measured = now - Duration::from_secs_f64(held);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{sine, tone};

    #[test]
    fn blocks_of_a_device_become_frames_dated_20_ms_apart() {
        let rate = 44_100;
        let (mut producer, consumer) = rtrb::RingBuffer::new(rate as usize);
        let mut cutter = Cutter::new(consumer, rate);
        let sound = sine(440.0, 0.5, rate, rate as usize * 4);
        let mut blocks = sound.chunks(882).enumerate();
        let mut heard = Vec::new();
        let mut dates = Vec::new();
        let mut frame = [0.0; FRAME];
        let start = Instant::from_millis(5_000);
        for ms in 0..4_000u64 {
            // A block of 20 ms is complete 20 ms after its first sample.
            if ms % 20 == 0 && ms > 0 {
                for sample in blocks.next().unwrap().1 {
                    producer.push(*sample).unwrap();
                }
            }
            if ms % 5 == 3 {
                while let Some(at) = cutter.poll(start + Duration::from_millis(ms), &mut frame) {
                    heard.extend(frame);
                    dates.push(at);
                }
            }
        }
        assert!(dates.len() > 195 && cutter.dropped == 0);
        for (i, pair) in dates.windows(2).enumerate() {
            let step = pair[1].signed_since(pair[0]);
            assert!((step - 20_000_000).abs() < 3_000_000, "{i}: {step}");
        }
        // The date of a late frame lies within the polling interval of the truth.
        let truth = start + FRAME_TIME * (dates.len() as u32 - 1);
        let off = dates.last().unwrap().signed_since(truth);
        assert!((-2_000_000..9_000_000).contains(&off), "{off}");
        let found = tone(&heard[9_600..], RATE);
        assert!((found.frequency_hz - 440.0).abs() < 0.2 && found.above_rest_db > 50.0, "{found:?}");
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
        assert!((38_000..38_500).contains(&cutter.dropped), "{}", cutter.dropped);
    }
}
