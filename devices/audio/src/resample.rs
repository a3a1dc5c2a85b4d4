//! Streaming sample rate conversion of mono sound by rubato's windowed sinc: any ratio, which may change while running.
//!
//! The kernel reaches over 32 samples of the lower rate on each side under a squared Blackman-Harris window; its cut-off
//! lies below half of the lower rate.

use rubato::audioadapter_buffers::direct::SequentialSlice;
use rubato::{
    Adjustable, Async, FixedAsync, Resampler as _, SincInterpolationParameters, SincInterpolationType, WindowFunction,
};

/// Converts mono samples from one rate to another.
pub struct Resampler {
    inner: Async<f32>,
    /// Samples that the kernel takes in at a time.
    piece: usize,
    /// Half of the kernel's length, input samples.
    half: usize,
    waiting: Vec<f32>,
    out: Vec<f32>,
}

impl std::fmt::Debug for Resampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resampler").field("ratio", &self.inner.resample_ratio()).finish_non_exhaustive()
    }
}

impl Resampler {
    /// From `input_rate` to `output_rate`, both in samples a second; taken into 1 kHz to 1 MHz.
    pub fn new(input_rate: u32, output_rate: u32) -> Self {
        let (input_rate, output_rate) = (input_rate.clamp(1_000, 1_000_000), output_rate.clamp(1_000, 1_000_000));
        let ratio = f64::from(output_rate) / f64::from(input_rate);
        let length = (KERNEL * (1.0 / ratio).max(1.0)).ceil() as usize;
        let length = length.next_multiple_of(8);
        let parameters = SincInterpolationParameters::new(length, WindowFunction::BlackmanHarris2)
            .oversampling_factor(PHASES)
            .interpolation(SincInterpolationType::Cubic);
        let piece = (input_rate / PIECES_PER_SECOND).max(1) as usize;
        let inner = Async::new_sinc(ratio, 1.0 + 2.0 * MAX_STRETCH, &parameters, piece, 1, FixedAsync::Input);
        let inner = inner.expect("ratio and piece lie within what rubato takes");
        let out = vec![0.0; inner.output_frames_max()];
        Resampler { inner, piece, half: length / 2, waiting: Vec::with_capacity(4 * piece), out }
    }

    /// Makes the output longer (above zero) or shorter (below) by this share, for clocks that drift; the change is
    /// spread over the next 2.5 ms. Limited to half of a percent, below what is heard as a change of pitch in speech.
    pub fn stretch(&mut self, share: f64) {
        let set = self.inner.set_resample_ratio_relative(1.0 + share.clamp(-MAX_STRETCH, MAX_STRETCH), true);
        debug_assert!(set.is_ok(), "{set:?}");
    }

    /// Takes `input`, any number of samples, and appends to `output` whatever can be computed from it. The output lags
    /// by [`Resampler::lag`].
    pub fn process(&mut self, input: &[f32], output: &mut Vec<f32>) {
        self.waiting.extend_from_slice(input);
        let mut done = 0;
        while let Some(piece) = self.waiting.get(done..done + self.piece) {
            let room = self.out.len();
            let (Ok(from), Ok(mut into)) =
                (SequentialSlice::new(piece, 1, piece.len()), SequentialSlice::new_mut(&mut self.out, 1, room))
            else {
                unreachable!("one channel of exactly this length");
            };
            let made = self.inner.process_into_buffer(&from, &mut into, None);
            // Both buffers have the sizes that rubato asked for, so that it has nothing to refuse.
            let made = made.map_or(0, |(_, made)| made);
            output.extend_from_slice(&self.out[..made]);
            done += self.piece;
        }
        self.waiting.drain(..done);
    }

    /// Input samples by which the output lags now.
    pub fn lag(&self) -> usize {
        self.half + self.waiting.len()
    }

    /// Input samples by which the output can lag.
    pub fn longest_lag(&self) -> usize {
        self.half + self.piece
    }
}

/// Length of the kernel, samples of the lower rate.
const KERNEL: f64 = 64.0;
/// Tabulated kernels from sample to sample, interpolated by cubics between them.
const PHASES: usize = 128;
/// Sound is converted in pieces of 2.5 ms.
const PIECES_PER_SECOND: u32 = 400;
const MAX_STRETCH: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{sine, tone};

    #[test]
    fn tones_keep_pitch_level_and_purity_at_all_common_rates() {
        for rate in [8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000, 192_000] {
            let mut out = Vec::new();
            let mut resampler = Resampler::new(rate, 48_000);
            // In pieces of odd size, as devices deliver.
            for piece in sine(440.0, 0.5, rate, rate as usize * 2).chunks(317) {
                resampler.process(piece, &mut out);
            }
            assert!((out.len() as i64 - 96_000).abs() < 300, "{rate}: {}", out.len());
            let found = tone(&out[4_800..], 48_000);
            assert!((found.frequency_hz - 440.0).abs() < 0.2, "{rate}: {found:?}");
            assert!(found.above_rest_db > 60.0, "{rate}: {found:?}");
            assert!((found.amplitude - 0.5).abs() < 0.01, "{rate}: {found:?}");
        }
    }

    #[test]
    fn what_does_not_fit_below_half_the_lower_rate_is_removed() {
        let mut out = Vec::new();
        Resampler::new(48_000, 16_000).process(&sine(11_000.0, 0.5, 48_000, 48_000), &mut out);
        let peak = out[1000..].iter().fold(0.0f32, |m, s| m.max(s.abs()));
        assert!(peak < 0.001, "{peak}");
    }

    #[test]
    fn stretch_is_limited_and_changes_the_count() {
        let count = |share| {
            let mut out = Vec::new();
            let mut resampler = Resampler::new(48_000, 48_000);
            resampler.stretch(share);
            resampler.process(&vec![0.1; 48_000], &mut out);
            out.len() as i64
        };
        let plain = count(0.0);
        assert!((count(0.002) - plain - 96).abs() <= 1);
        assert!((count(-0.002) - plain + 96).abs() <= 1);
        assert_eq!(count(0.5), count(0.005));
    }
}
