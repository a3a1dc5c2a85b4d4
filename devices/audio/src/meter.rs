//! Level of sound for a meter on the screen: root mean square and peak over the last 100 ms, and whether it was clipped.

use std::collections::VecDeque;

/// Level of the last 100 ms. 0 dBFS is an amplitude of 1: a sine of full scale has a peak of 0 and an RMS of -3.01.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Root mean square, dBFS, not below [`FLOOR_DBFS`].
    pub rms_dbfs: f32,
    /// Largest sample, dBFS, not below [`FLOOR_DBFS`].
    pub peak_dbfs: f32,
    /// A sample of the last second reached full scale.
    pub clipped: bool,
}

/// Silence, dBFS: below the smallest step of 16 bits.
pub const FLOOR_DBFS: f32 = -120.0;

/// Pieces that the level is taken over: of 20 ms each in a station.
const PIECES: usize = 5;
/// Pieces for which clipping is shown: a flash of 100 ms would be missed.
const CLIP_PIECES: u32 = 50;
/// Full scale less what a step of 16 bits and the rounding of conversions take off.
const CLIPPED: f32 = 0.9995;

/// Measures piece by piece.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// Sum of squares, samples, peak of each piece.
    pieces: VecDeque<(f64, usize, f32)>,
    clipped_for: u32,
}

impl Meter {
    /// A meter that shows silence.
    pub fn new() -> Self {
        Meter { pieces: VecDeque::with_capacity(PIECES + 1), clipped_for: 0 }
    }

    /// Takes a piece in, 20 ms in a station, and gives the level of the last five.
    pub fn measure(&mut self, samples: &[f32]) -> Level {
        let squares = samples.iter().map(|s| f64::from(*s) * f64::from(*s)).sum();
        let peak = samples.iter().fold(0.0f32, |peak, s| peak.max(s.abs()));
        self.pieces.push_back((squares, samples.len(), peak));
        if self.pieces.len() > PIECES {
            self.pieces.pop_front();
        }
        self.clipped_for = if peak >= CLIPPED { CLIP_PIECES } else { self.clipped_for.saturating_sub(1) };
        let count: usize = self.pieces.iter().map(|p| p.1).sum();
        let squares: f64 = self.pieces.iter().map(|p| p.0).sum();
        let peak = self.pieces.iter().fold(0.0f32, |peak, p| peak.max(p.2));
        Level {
            rms_dbfs: dbfs((squares / count.max(1) as f64).sqrt() as f32),
            peak_dbfs: dbfs(peak),
            clipped: self.clipped_for > 0,
        }
    }
}

fn dbfs(amplitude: f32) -> f32 {
    (20.0 * amplitude.log10()).max(FLOOR_DBFS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::sine;
    use crate::{FRAME, RATE};

    #[test]
    fn a_sine_of_full_scale_reads_0_and_minus_3_and_half_of_it_6_less() {
        for (amplitude, peak) in [(1.0, 0.0), (0.5, -6.02), (0.01, -40.0)] {
            let mut meter = Meter::new();
            let sound = sine(1_000.0, amplitude, RATE, FRAME * 10);
            let level = sound.chunks(FRAME).map(|piece| meter.measure(piece)).last().unwrap();
            assert!((level.peak_dbfs - peak).abs() < 0.05, "{amplitude}: {level:?}");
            assert!((level.rms_dbfs - peak + 3.01).abs() < 0.05, "{amplitude}: {level:?}");
            assert_eq!(level.clipped, amplitude == 1.0);
        }
    }

    #[test]
    fn sound_is_forgotten_after_100_ms_and_clipping_after_a_second() {
        let mut meter = Meter::new();
        assert!(meter.measure(&[1.0; FRAME]).clipped);
        let after: Vec<Level> = (0..60).map(|_| meter.measure(&[0.0; FRAME])).collect();
        assert!(after[3].peak_dbfs > -0.1 && after[4].peak_dbfs == FLOOR_DBFS && after[4].rms_dbfs == FLOOR_DBFS);
        assert!(after[48].clipped && !after[49].clipped);
        assert!(meter.measure(&[]).rms_dbfs.is_finite());
    }
}
