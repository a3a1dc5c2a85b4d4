//! No clicks where sound begins, ends or has a gap: the old sound decays while the new one rises, over 5 ms.

/// Fades a stream of samples that may be interrupted.
#[derive(Debug)]
pub(crate) struct Fade {
    /// Sample given last.
    last: f32,
    /// What decays under the next sound.
    old: f32,
    /// How far the sound has come up, 0 to 1.
    gain: f32,
    step: f32,
}

const SECONDS: f32 = 0.005;
/// -120 dB: from here on it is silence, and no number too small for the processor.
const INAUDIBLE: f32 = 1e-6;

impl Fade {
    /// At the start of sound of `rate` samples a second.
    pub fn new(rate: u32) -> Self {
        Fade { last: 0.0, old: 0.0, gain: 0.0, step: 1.0 / (SECONDS * rate.max(1_000) as f32) }
    }

    /// The sample to play where `next` is the sound, or where there is none.
    pub fn next(&mut self, next: Option<f32>) -> f32 {
        if next.is_none() && self.gain > 0.0 {
            self.restart();
        }
        self.old *= 1.0 - self.step;
        if self.old.abs() < INAUDIBLE {
            self.old = 0.0;
        }
        self.last = match next {
            Some(next) if self.gain >= 1.0 => next,
            Some(next) => {
                self.gain = (self.gain + self.step).min(1.0);
                self.old * (1.0 - self.gain) + next * self.gain
            }
            None => self.old,
        };
        self.last
    }

    /// The next sample does not follow the one before.
    pub fn restart(&mut self) {
        self.old = self.last;
        self.gain = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_that_comes_goes_and_jumps_has_no_steep_step() {
        let mut fade = Fade::new(48_000);
        let mut heard = Vec::new();
        for i in 0..5_000 {
            if i == 4_000 {
                fade.restart();
            }
            let sound = if i < 4_000 { 0.8 } else { -0.8 };
            heard.push(fade.next((!(1_000..2_500).contains(&i)).then_some(sound)));
        }
        let steepest = heard.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
        assert!(steepest < 0.02, "{steepest}");
        assert!((heard[999] - 0.8).abs() < 1e-6 && heard[2_499].abs() < 0.002);
        assert!((heard[3_000] - 0.8).abs() < 1e-6 && (heard[4_999] + 0.8).abs() < 1e-6);
    }
}
