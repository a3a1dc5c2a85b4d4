//! Measures of sound for tests and for `doctor`: spectrum, the strongest tone, level.

use std::f64::consts::PI;

/// The strongest tone of a piece of sound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tone {
    /// Frequency, Hz; resolution well below 1 Hz for half a second of a clean tone.
    pub frequency_hz: f64,
    /// Peak amplitude, full scale 1.
    pub amplitude: f64,
    /// Power of the tone over the power of all the rest (without the mean), dB.
    pub above_rest_db: f64,
}

/// `count` samples of a sine of `amplitude` (peak) at `frequency` Hz, `rate` samples a second.
pub fn sine(frequency: f64, amplitude: f64, rate: u32, count: usize) -> Vec<f32> {
    (0..count).map(|i| ((2.0 * PI * frequency * i as f64 / f64::from(rate)).sin() * amplitude) as f32).collect()
}

/// Root mean square, full scale 1; zero of nothing.
pub fn level(samples: &[f32]) -> f64 {
    if samples.is_empty() {
        return 0.0;
    }
    (samples.iter().map(|s| f64::from(*s) * f64::from(*s)).sum::<f64>() / samples.len() as f64).sqrt()
}

/// Power at one frequency (Goertzel's algorithm under a Hann window), as the square of the peak
/// amplitude of a sine that would give it.
pub fn goertzel(samples: &[f32], rate: u32, frequency: f64) -> f64 {
    let n = samples.len();
    if n < 2 {
        return 0.0;
    }
    let coefficient = 2.0 * (2.0 * PI * frequency / f64::from(rate)).cos();
    let (mut s1, mut s2, mut gain) = (0.0, 0.0, 0.0);
    for (i, sample) in samples.iter().enumerate() {
        let window = hann(i, n);
        gain += window;
        let s0 = f64::from(*sample) * window + coefficient * s1 - s2;
        (s2, s1) = (s1, s0);
    }
    let power = s1 * s1 + s2 * s2 - coefficient * s1 * s2;
    4.0 * power / (gain * gain)
}

/// Power spectrum under a Hann window of the last power of two of samples: bin `i` is at
/// `i * rate / (2 * (len - 1))` Hz. Empty for fewer than 16 samples.
pub fn spectrum(samples: &[f32]) -> Vec<f64> {
    if samples.len() < 16 {
        return Vec::new();
    }
    let n = 1usize << samples.len().ilog2();
    let tail = &samples[samples.len() - n..];
    let mean = tail.iter().map(|s| f64::from(*s)).sum::<f64>() / n as f64;
    let mut re: Vec<f64> = tail.iter().enumerate().map(|(i, s)| (f64::from(*s) - mean) * hann(i, n)).collect();
    let mut im = vec![0.0; n];
    fft(&mut re, &mut im);
    (0..=n / 2).map(|i| re[i] * re[i] + im[i] * im[i]).collect()
}

/// Finds the strongest tone above 20 Hz. Uses the last power of two of samples; give at least half a
/// second, without the codec's onset.
pub fn tone(samples: &[f32], rate: u32) -> Tone {
    let power = spectrum(samples);
    let n = power.len().saturating_sub(1) * 2;
    let bin_hz = f64::from(rate) / n.max(1) as f64;
    let lowest = ((20.0 / bin_hz) as usize).max(LOBE + 1);
    let Some(peak) = (lowest..power.len().saturating_sub(LOBE)).max_by(|a, b| power[*a].total_cmp(&power[*b])) else {
        return Tone { frequency_hz: 0.0, amplitude: 0.0, above_rest_db: f64::NEG_INFINITY };
    };
    // The Hann window's main lobe is near a parabola in decibels.
    let db = |i: usize| (power[i] + 1e-30).ln();
    let (a, b, c) = (db(peak - 1), db(peak), db(peak + 1));
    let bend = a - 2.0 * b + c;
    let shift = if bend < 0.0 { (0.5 * (a - c) / bend).clamp(-0.5, 0.5) } else { 0.0 };
    let frequency_hz = (peak as f64 + shift) * bin_hz;
    let inside: f64 = power[peak - LOBE..=peak + LOBE].iter().sum();
    let total: f64 = power.iter().sum();
    let rest = (total - inside).max(inside * 1e-15) + 1e-30;
    let tail = &samples[samples.len() - n..];
    Tone {
        frequency_hz,
        amplitude: goertzel(tail, rate, frequency_hz).sqrt(),
        above_rest_db: 10.0 * ((inside + 1e-30) / rest).log10(),
    }
}

/// Bins each side of a peak that belong to it: the main lobe of the Hann window (2) and its side lobes down to -60 dB.
const LOBE: usize = 10;

fn hann(i: usize, n: usize) -> f64 {
    0.5 - 0.5 * (2.0 * PI * i as f64 / n as f64).cos()
}

/// In-place radix-2 transform; the length is a power of two.
fn fft(re: &mut [f64], im: &mut [f64]) {
    let n = re.len();
    let bits = n.ilog2();
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - bits);
        if j > i {
            re.swap(i, j);
            im.swap(i, j);
        }
    }
    let mut size = 2;
    while size <= n {
        let half = size / 2;
        for k in 0..half {
            let (sin, cos) = (-2.0 * PI * k as f64 / size as f64).sin_cos();
            for start in (0..n).step_by(size) {
                let (i, j) = (start + k, start + k + half);
                let (tr, ti) = (re[j] * cos - im[j] * sin, re[j] * sin + im[j] * cos);
                (re[j], im[j]) = (re[i] - tr, im[i] - ti);
                re[i] += tr;
                im[i] += ti;
            }
        }
        size *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tone_and_noise_are_told_apart() {
        let mut sound = sine(440.3, 0.25, 48_000, 48_000);
        let clean = tone(&sound, 48_000);
        assert!((clean.frequency_hz - 440.3).abs() < 0.1, "{clean:?}");
        assert!((clean.amplitude - 0.25).abs() < 0.005, "{clean:?}");
        assert!(clean.above_rest_db > 60.0, "{clean:?}");
        // White noise 20 dB below the tone's power, from a linear congruential generator.
        let mut state = 1u32;
        let spread = (0.25f64 * 0.25 / 2.0 / 100.0 * 12.0).sqrt();
        for s in &mut sound {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *s += ((f64::from(state) / f64::from(u32::MAX) - 0.5) * spread) as f32;
        }
        let noisy = tone(&sound, 48_000);
        assert!((noisy.above_rest_db - 20.0).abs() < 0.5, "{noisy:?}");
        assert!((noisy.frequency_hz - 440.3).abs() < 0.3, "{noisy:?}");
        assert!(goertzel(&sound, 48_000, 440.3) > 100.0 * goertzel(&sound, 48_000, 600.0));
    }

    #[test]
    fn short_or_empty_input_gives_no_tone() {
        assert!(spectrum(&[0.0; 15]).is_empty());
        assert_eq!(tone(&[], 48_000).amplitude, 0.0);
        assert!(tone(&[0.0; 4096], 48_000).amplitude < 1e-9);
        assert_eq!(level(&[]), 0.0);
        assert!((level(&[0.5, -0.5]) - 0.5).abs() < 1e-9);
    }
}
