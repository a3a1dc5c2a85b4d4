//! A speaker: `push` fills the playback ring, the device's thread empties it and spreads it over all channels.

use std::sync::Arc;

use cpal::traits::{DeviceTrait, StreamTrait};
use cpal::{BufferSize, Data, FromSample, SampleFormat, SizedSample, StreamConfig};
use media::{Duration, Instant};

use super::{Health, block_size, choose, find, refused};
use crate::playback::{Drain, Feeder, ring};
use crate::{AudioError, DeviceKind, PlaybackStats, Sink};

/// A running playback stream.
pub(crate) struct Speaker {
    name: String,
    config: StreamConfig,
    health: Arc<Health>,
    feeder: Feeder,
    _stream: cpal::Stream,
}

impl Speaker {
    pub(crate) fn open(wanted: Option<&str>) -> Result<Self, AudioError> {
        let kind = DeviceKind::Speaker;
        let (device, name) = find(kind, wanted)?;
        let (mut config, format, buffer) = choose(kind, &device, &name)?;
        let health = Arc::new(Health::default());
        let open = |config: StreamConfig| -> Result<(cpal::Stream, Feeder), cpal::Error> {
            let (feeder, mut drain) = ring(config.sample_rate);
            let channels = usize::from(config.channels).max(1);
            let watch = health.clone();
            let mut mono = Vec::with_capacity(config.sample_rate as usize / 2);
            let on_data = move |data: &mut Data, _: &cpal::OutputCallbackInfo| {
                give(data, format, channels, &mut drain, &mut mono);
            };
            let stream = device.build_output_stream_raw(config, format, on_data, move |e| watch.on_error(&e), None)?;
            stream.play()?;
            Ok((stream, feeder))
        };
        config.buffer_size = block_size(config.sample_rate, buffer);
        let opened = open(config).or_else(|_| {
            config.buffer_size = BufferSize::Default;
            open(config)
        });
        let (stream, feeder) = opened.map_err(|e| refused(kind, &name, &e))?;
        Ok(Speaker { name, config, health, feeder, _stream: stream })
    }
}

impl Sink for Speaker {
    fn describe(&self) -> String {
        format!("{}, {} Hz, {} ch", self.name, self.config.sample_rate, self.config.channels)
    }

    fn push(&mut self, _now: Instant, samples: &[f32]) -> Result<(), AudioError> {
        self.health.check(DeviceKind::Speaker, &self.name)?;
        self.feeder.push(samples);
        Ok(())
    }

    fn queued(&self) -> Duration {
        self.feeder.queued()
    }

    fn stats(&self) -> PlaybackStats {
        self.feeder.stats()
    }
}

fn give(data: &mut Data, format: SampleFormat, channels: usize, drain: &mut Drain, mono: &mut Vec<f32>) {
    fn spread<T: SizedSample + FromSample<f32>>(
        data: &mut Data,
        channels: usize,
        drain: &mut Drain,
        mono: &mut Vec<f32>,
    ) {
        let Some(samples) = data.as_slice_mut::<T>() else {
            return;
        };
        mono.clear();
        mono.resize(samples.len() / channels, 0.0);
        drain.pull(mono);
        for (all, value) in samples.chunks_exact_mut(channels).zip(mono.iter()) {
            all.fill(T::from_sample_(value.clamp(-1.0, 1.0)));
        }
    }
    match format {
        SampleFormat::F32 => spread::<f32>(data, channels, drain, mono),
        SampleFormat::F64 => spread::<f64>(data, channels, drain, mono),
        SampleFormat::I8 => spread::<i8>(data, channels, drain, mono),
        SampleFormat::I16 => spread::<i16>(data, channels, drain, mono),
        SampleFormat::I32 => spread::<i32>(data, channels, drain, mono),
        SampleFormat::U8 => spread::<u8>(data, channels, drain, mono),
        SampleFormat::U16 => spread::<u16>(data, channels, drain, mono),
        // `choose` lets no other through.
        _ => {}
    }
}
