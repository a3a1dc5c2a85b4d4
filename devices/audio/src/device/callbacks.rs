//! What runs on a device's own thread: samples of any format and channel count from and to mono `f32`, between the
//! device and a ring. Nothing here allocates, locks or blocks.
//!
//! Of more than two channels the first two are used: on a surround card the front, on a studio one the main pair.

use std::sync::Arc;

use cpal::{Data, FromSample, I24, InputCallbackInfo, OutputCallbackInfo, SampleFormat, SizedSample, U24};

use crate::playback::Drain;
use crate::system::Health;

/// Mono samples that are converted at a time.
const PIECE: usize = 512;

/// Mixes blocks to mono and queues them.
pub(super) fn capture(
    format: SampleFormat,
    channels: u16,
    mut ring: rtrb::Producer<f32>,
    health: Arc<Health>,
) -> impl FnMut(&Data, &InputCallbackInfo) + Send + 'static {
    let channels = usize::from(channels).max(1);
    move |data, _| {
        let lost = take(data, format, channels, &mut ring);
        if lost > 0 {
            health.lose(lost);
        }
    }
}

/// Fills blocks from the ring.
pub(super) fn playback(
    format: SampleFormat,
    channels: u16,
    mut drain: Drain,
) -> impl FnMut(&mut Data, &OutputCallbackInfo) + Send + 'static {
    let channels = usize::from(channels).max(1);
    move |data, _| give(data, format, channels, &mut drain)
}

/// Returns how many samples found no room.
fn take(data: &Data, format: SampleFormat, channels: usize, ring: &mut rtrb::Producer<f32>) -> u64 {
    fn mix<T: SizedSample>(data: &Data, channels: usize, ring: &mut rtrb::Producer<f32>) -> u64
    where
        f32: FromSample<T>,
    {
        let used = channels.min(2);
        let samples = data.as_slice::<T>().unwrap_or_default();
        let mono = |all: &[T]| all[..used].iter().map(|s| f32::from_sample_(*s)).sum::<f32>() / used as f32;
        samples.chunks_exact(channels).map(|all| u64::from(ring.push(mono(all)).is_err())).sum()
    }
    match format {
        SampleFormat::F32 => mix::<f32>(data, channels, ring),
        SampleFormat::F64 => mix::<f64>(data, channels, ring),
        SampleFormat::I8 => mix::<i8>(data, channels, ring),
        SampleFormat::I16 => mix::<i16>(data, channels, ring),
        SampleFormat::I24 => mix::<I24>(data, channels, ring),
        SampleFormat::I32 => mix::<i32>(data, channels, ring),
        SampleFormat::U8 => mix::<u8>(data, channels, ring),
        SampleFormat::U16 => mix::<u16>(data, channels, ring),
        SampleFormat::U24 => mix::<U24>(data, channels, ring),
        SampleFormat::U32 => mix::<u32>(data, channels, ring),
        // No other is chosen.
        _ => 0,
    }
}

fn give(data: &mut Data, format: SampleFormat, channels: usize, drain: &mut Drain) {
    fn spread<T: SizedSample + FromSample<f32>>(data: &mut Data, channels: usize, drain: &mut Drain) {
        let used = channels.min(2);
        let samples = data.as_slice_mut::<T>().unwrap_or_default();
        drain.start_block(samples.len() / channels);
        let mut mono = [0.0; PIECE];
        for piece in samples.chunks_mut(PIECE * channels) {
            let mono = &mut mono[..piece.len() / channels];
            drain.pull(mono);
            for (all, value) in piece.chunks_exact_mut(channels).zip(mono) {
                let (front, rest) = all.split_at_mut(used);
                front.fill(T::from_sample_(value.clamp(-1.0, 1.0)));
                rest.fill(T::EQUILIBRIUM);
            }
        }
    }
    match format {
        SampleFormat::F32 => spread::<f32>(data, channels, drain),
        SampleFormat::F64 => spread::<f64>(data, channels, drain),
        SampleFormat::I8 => spread::<i8>(data, channels, drain),
        SampleFormat::I16 => spread::<i16>(data, channels, drain),
        SampleFormat::I24 => spread::<I24>(data, channels, drain),
        SampleFormat::I32 => spread::<i32>(data, channels, drain),
        SampleFormat::U8 => spread::<u8>(data, channels, drain),
        SampleFormat::U16 => spread::<u16>(data, channels, drain),
        SampleFormat::U24 => spread::<U24>(data, channels, drain),
        SampleFormat::U32 => spread::<u32>(data, channels, drain),
        // No other is chosen.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::FORMATS;
    use crate::playback::ring;

    /// A block of `frames` frames in memory, handed over as cpal does.
    fn with_data<R>(format: SampleFormat, frames: usize, channels: usize, act: impl FnOnce(&mut Data) -> R) -> R {
        // As u64, so that it is aligned for all.
        let mut bytes = vec![0u64; frames * channels];
        // SAFETY: the memory is larger than the samples and lives longer than `data`.
        let mut data = unsafe { Data::from_parts(bytes.as_mut_ptr().cast(), frames * channels, format) };
        act(&mut data)
    }

    #[test]
    fn every_format_and_channel_count_carries_sound_there_and_back() {
        for format in FORMATS {
            for channels in [1, 2, 6, 18] {
                let (mut feeder, mut drain) = ring(48_000);
                for _ in 0..5 {
                    feeder.push(&[0.5; 960]);
                }
                let (mut heard, mut listener) = rtrb::RingBuffer::new(4_000);
                // Blocks of an odd size, larger than a piece.
                for _ in 0..3 {
                    with_data(format, 1_201, channels, |data| {
                        give(data, format, channels, &mut drain);
                        assert_eq!(take(data, format, channels, &mut heard), 0);
                    });
                }
                let all: Vec<f32> = std::iter::from_fn(|| listener.pop().ok()).collect();
                assert_eq!(all.len(), 3_603);
                let late = &all[2_500..3_600];
                let off = late.iter().map(|s| (s - 0.5).abs()).fold(0.0, f32::max);
                assert!(off < 0.01, "{format} {channels}: {off}");
            }
        }
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let (mut ring, _listener) = rtrb::RingBuffer::new(100);
        let lost = with_data(SampleFormat::I16, 150, 2, |data| take(data, SampleFormat::I16, 2, &mut ring));
        assert_eq!(lost, 50);
    }
}
