//! Streaming sample rate conversion: windowed sinc, any ratio, which may change while running.
//!
//! 16 zero crossings each side under a Kaiser window (beta 8.6, about 86 dB of rejection); the cut-off lies
//! below half of the lower rate. The kernel is tabulated and interpolated linearly.

/// Converts mono samples from one rate to another.
#[derive(Debug)]
pub struct Resampler {
    nominal_step: f64,
    step: f64,
    half: usize,
    table: Vec<f32>,
    buffer: Vec<f32>,
    position: f64,
}

impl Resampler {
    /// From `input_rate` to `output_rate`, both in samples a second and above zero.
    pub fn new(input_rate: u32, output_rate: u32) -> Self {
        let nominal_step = f64::from(input_rate.max(1)) / f64::from(output_rate.max(1));
        let cutoff = ROLL_OFF * (1.0 / nominal_step).min(1.0);
        let half = (ZERO_CROSSINGS / (1.0 / nominal_step).min(1.0)).ceil() as usize;
        let table = (0..=half * PHASES + 1).map(|i| kernel(i as f64 / PHASES as f64, cutoff, half) as f32).collect();
        Resampler { nominal_step, step: nominal_step, half, table, buffer: vec![0.0; half], position: half as f64 }
    }

    /// Makes the output longer (above zero) or shorter (below) by this share, for clocks that drift.
    /// Limited to half of a percent, below what is heard as a change of pitch in speech.
    pub fn stretch(&mut self, share: f64) {
        self.step = self.nominal_step / (1.0 + share.clamp(-MAX_STRETCH, MAX_STRETCH));
    }

    /// Takes `input` and appends to `output` whatever can be computed from it. The output lags by
    /// [`Resampler::delay`] input samples.
    pub fn process(&mut self, input: &[f32], output: &mut Vec<f32>) {
        self.buffer.extend_from_slice(input);
        let reach = self.half as f64;
        while self.position + reach < self.buffer.len() as f64 {
            let first = (self.position - reach).ceil().max(0.0) as usize;
            let last = ((self.position + reach).floor() as usize).min(self.buffer.len() - 1);
            let mut sum = 0.0;
            for (i, sample) in self.buffer.iter().enumerate().take(last + 1).skip(first) {
                let at = ((i as f64 - self.position).abs() * PHASES as f64) as f32;
                let cell = at as usize;
                let (a, b) = (self.table[cell], self.table[cell + 1]);
                sum += sample * (a + (b - a) * (at - cell as f32));
            }
            output.push(sum);
            self.position += self.step;
        }
        let done = ((self.position - reach).floor().max(0.0) as usize).min(self.buffer.len());
        self.buffer.drain(..done);
        self.position -= done as f64;
    }

    /// Input samples by which the output lags.
    pub fn delay(&self) -> usize {
        self.half
    }
}

fn kernel(t: f64, cutoff: f64, half: usize) -> f64 {
    let x = t / half as f64;
    if x >= 1.0 {
        return 0.0;
    }
    let sinc =
        if t == 0.0 { 1.0 } else { (std::f64::consts::PI * cutoff * t).sin() / (std::f64::consts::PI * cutoff * t) };
    cutoff * sinc * bessel_i0(BETA * (1.0 - x * x).sqrt()) / bessel_i0(BETA)
}

/// Modified Bessel function of the first kind, order zero, by its power series.
fn bessel_i0(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..40 {
        term *= (x / (2.0 * f64::from(k))).powi(2);
        sum += term;
    }
    sum
}

const ZERO_CROSSINGS: f64 = 16.0;
const ROLL_OFF: f64 = 0.92;
const BETA: f64 = 8.6;
const PHASES: usize = 256;
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
            assert!(found.above_rest_db > 55.0, "{rate}: {found:?}");
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
