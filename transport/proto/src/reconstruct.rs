//! What a receiver shows between the samples of a scheme that skips. The sender of a deadband scheme runs the same
//! reconstruction, so that it knows what the receiver shows if nothing is lost.

use media::{HapticSample, Motion, Vector};

/// The samples that reconstruction goes by.
#[derive(Clone, Debug)]
pub struct Reconstruction {
    /// Along the line through the last two samples; else the last one is held.
    first_order: bool,
    /// No value is made up for ticks further than this behind the last sample.
    horizon: u64,
    last: Option<(u64, HapticSample)>,
    before: Option<(u64, HapticSample)>,
}

impl Reconstruction {
    /// Nothing to go by yet.
    pub fn new(first_order: bool, horizon_ms: u64) -> Self {
        Reconstruction { first_order, horizon: horizon_ms, last: None, before: None }
    }

    /// The sample of tick `index` is known.
    pub fn push(&mut self, index: u64, sample: HapticSample) {
        self.before = self.last.replace((index, sample));
    }

    /// The newest tick known.
    pub fn newest(&self) -> Option<u64> {
        self.last.map(|l| l.0)
    }

    /// What to show for tick `index`; `None` if it is before the newest sample known or too far behind it.
    pub fn at(&self, index: u64) -> Option<HapticSample> {
        let (last, sample) = self.last?;
        // A wave is a packet of energy: shown twice it is given twice.
        if index > last && matches!(sample, HapticSample::MasterWave(..) | HapticSample::SlaveWave(_)) {
            return None;
        }
        let ahead = index.checked_sub(last).filter(|n| *n <= self.horizon)?;
        match self.before {
            Some((before, earlier)) if self.first_order && before < last && last - before <= self.horizon => {
                // No further than the two are apart: a step of the force must not grow into a ramp.
                let ahead = ahead.min(last - before);
                Some(extrapolate(earlier, sample, ahead as f32 / (last - before) as f32))
            }
            _ => Some(sample),
        }
    }
}

/// The value `steps` distances of the two behind the later one.
fn extrapolate(earlier: HapticSample, later: HapticSample, steps: f32) -> HapticSample {
    let along = |a: Vector, b: Vector| b + (b - a) * steps;
    match (earlier, later) {
        (HapticSample::Force(a), HapticSample::Force(b)) => HapticSample::Force(media::Force(along(a.0, b.0))),
        (HapticSample::Motion(a), HapticSample::Motion(b)) => HapticSample::Motion(Motion {
            position: media::Position(along(a.position.0, b.position.0)),
            velocity: media::Velocity(along(a.velocity.0, b.velocity.0)),
        }),
        _ => later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::{Force, SampleKind};

    fn force(x: f32) -> HapticSample {
        HapticSample::Force(Force::new(x, 0.0, 0.0))
    }

    #[test]
    fn holds_or_follows_the_line_up_to_its_horizon() {
        for (first_order, at_14) in [(false, 3.0), (true, 4.0)] {
            let mut r = Reconstruction::new(first_order, 20);
            assert_eq!(r.at(5), None);
            r.push(8, force(2.0));
            assert_eq!(r.at(9), Some(force(2.0)));
            r.push(10, force(3.0));
            assert_eq!((r.at(9), r.at(10), r.at(14)), (None, Some(force(3.0)), Some(force(at_14))));
            assert_eq!((r.at(30).is_some(), r.at(31)), (true, None));
        }
    }

    #[test]
    fn waves_are_not_made_up() {
        for wave in [SampleKind::MasterWave, SampleKind::SlaveWave].map(HapticSample::zero) {
            let mut r = Reconstruction::new(false, 20);
            r.push(8, wave);
            assert_eq!((r.at(8), r.at(9)), (Some(wave), None));
        }
    }
}
