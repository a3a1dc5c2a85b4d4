//! SNR of a displayed force signal against the one that an ideal network would have displayed (the measure of the
//! paper's Table 2; Gokhale, Nair, Chaudhuri, ACM TOMM 13(2), 2017).
//!
//! SNR = 10 log10( sum |f_ref|^2 / sum |f - f_ref|^2 ) dB, over the same milliseconds of both signals; |.| is the
//! Euclidean length. Both are what the operator is shown: each sample is held until the next (zero-order hold).
//!
//! Alignment in time is the caller's choice, since the field does both. [`Alignment::None`] compares the same moments of
//! both runs: delay is an error like any other, as a hand in the loop feels it. [`Alignment::Shift`] takes a constant
//! delay out first, so that jitter, loss and reconstruction alone count.

use media::{Duration, Force, Instant};

/// Time between two values of a recorded signal.
const PERIOD: Duration = Duration::from_millis(1);

/// Records what is displayed, a value each millisecond.
#[derive(Clone, Debug, Default)]
pub struct DisplayRecorder {
    /// Value n is what was shown at n milliseconds.
    values: Vec<Force>,
    now: Force,
}

impl DisplayRecorder {
    /// A display that shows no force from `Instant::ZERO` on.
    pub fn new() -> Self {
        DisplayRecorder::default()
    }

    /// `force` (N) is shown from `at` on, that moment included. Moments do not fall; one that does counts as now.
    pub fn on_display(&mut self, at: Instant, force: Force) {
        self.hold_until(at);
        self.now = force;
    }

    /// The signal up to `end`, that moment not included: value n is what was shown at n milliseconds.
    pub fn finish(mut self, end: Instant) -> Vec<Force> {
        self.hold_until(end);
        self.values
    }

    fn hold_until(&mut self, at: Instant) {
        // Values at whole milliseconds before `at`.
        let len = at.as_nanos().div_ceil(PERIOD.as_nanos() as u64);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > self.values.len() {
            self.values.resize(len, self.now);
        }
    }
}

/// Which values of two signals are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Alignment {
    /// Those of the same moment: delay counts as error.
    #[default]
    None,
    /// The displayed signal is taken to be late by so many milliseconds: the difference of the mean haptic delays of
    /// both runs, rounded. Values without a partner are left out.
    Shift(usize),
}

/// SNR in dB of `displayed` against `reference`, both N, a value each millisecond, over the milliseconds that both have.
///
/// Infinite if they are equal. `None` if there is nothing to compare: no common milliseconds, a reference without force,
/// or a value that is not finite.
pub fn snr_db(reference: &[Force], displayed: &[Force], alignment: Alignment) -> Option<f64> {
    let late = match alignment {
        Alignment::None => 0,
        Alignment::Shift(ms) => ms,
    };
    let (mut signal, mut noise) = (0.0, 0.0);
    for (wanted, shown) in reference.iter().zip(displayed.iter().skip(late)) {
        for (w, s) in wanted.0.0.iter().zip(shown.0.0) {
            let (w, s) = (f64::from(*w), f64::from(s));
            signal += w * w;
            noise += (s - w) * (s - w);
        }
    }
    // False for a not-a-number too.
    (signal > 0.0 && signal.is_finite() && noise.is_finite()).then(|| 10.0 * (signal / noise).log10())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::f64::consts::TAU;
    use proptest::prelude::*;

    fn x(value: f32) -> Force {
        Force::new(value, 0.0, 0.0)
    }

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    /// A sine of 1 Hz over whole periods, late by so many milliseconds.
    fn sine(late: usize) -> Vec<Force> {
        (0..4000).map(|i| x((TAU * (i as f64 - late as f64) * 1e-3).sin() as f32)).collect()
    }

    #[test]
    fn known_answers() {
        let reference = [Force::new(3.0, 0.0, 4.0), Force::ZERO];
        // Error 0.5 N against 5 N: a factor of 10 in amplitude.
        let displayed = [Force::new(3.0, 0.3, 4.4), Force::ZERO];
        let snr = snr_db(&reference, &displayed, Alignment::None).unwrap();
        assert!((snr - 20.0).abs() < 1e-4, "{snr}");
        assert_eq!(snr_db(&reference, &[Force::ZERO; 2], Alignment::None), Some(0.0));
        assert_eq!(snr_db(&reference, &reference, Alignment::None), Some(f64::INFINITY));
        let double = reference.map(|f| Force(f.0 * 3.0));
        let snr = snr_db(&reference, &double, Alignment::None).unwrap();
        assert!((snr + 6.0206).abs() < 1e-4, "{snr}");
    }

    #[test]
    fn delay_is_an_error_unless_it_is_taken_out() {
        // |sin(a) - sin(a - d)| has the amplitude 2 sin(d / 2).
        for late in [1, 10, 20, 100] {
            let wanted = -20.0 * (2.0 * (TAU * late as f64 * 1e-3 / 2.0).sin()).log10();
            let snr = snr_db(&sine(0), &sine(late), Alignment::None).unwrap();
            assert!((snr - wanted).abs() < 1e-3, "{late} ms: {snr} dB, {wanted} expected");
            let aligned = snr_db(&sine(0), &sine(late), Alignment::Shift(late)).unwrap();
            assert!(aligned > 100.0, "{late} ms: {aligned} dB");
        }
    }

    #[test]
    fn what_cannot_be_compared_has_no_snr() {
        for (reference, displayed, alignment) in [
            (vec![], vec![], Alignment::None),
            (vec![Force::ZERO], vec![x(1.0)], Alignment::None),
            (vec![x(f32::NAN)], vec![x(1.0)], Alignment::None),
            (vec![x(1.0)], vec![x(f32::INFINITY)], Alignment::None),
            (vec![x(1.0)], vec![x(1.0)], Alignment::Shift(1)),
        ] {
            assert_eq!(snr_db(&reference, &displayed, alignment), None);
        }
    }

    #[test]
    fn each_sample_is_held_until_the_next() {
        let mut recorder = DisplayRecorder::new();
        recorder.on_display(us(1_000), x(1.0));
        recorder.on_display(us(2_300), x(2.0));
        recorder.on_display(us(2_700), x(3.0));
        recorder.on_display(us(5_001), x(4.0));
        // A moment of the past changes nothing that was shown.
        recorder.on_display(us(3), x(5.0));
        let values: Vec<f32> = recorder.finish(us(8_000)).iter().map(|f| f.0.0[0]).collect();
        assert_eq!(values, [0.0, 1.0, 1.0, 3.0, 3.0, 3.0, 5.0, 5.0]);
        assert!(DisplayRecorder::new().finish(Instant::ZERO).is_empty());
    }

    proptest! {
        #[test]
        fn common_scale_and_extra_values_change_nothing(
            values in proptest::collection::vec((-3f32..3.0, -3f32..3.0), 1..50), scale in 0.1f32..10.0,
        ) {
            let (a, b): (Vec<_>, Vec<_>) = values.iter().map(|&(a, b)| (x(a), x(b))).unzip();
            let Some(snr) = snr_db(&a, &b, Alignment::None).filter(|snr| snr.is_finite()) else { return Ok(()) };
            let scaled = |v: &[Force]| v.iter().map(|f| Force(f.0 * scale)).collect::<Vec<_>>();
            prop_assert!((snr_db(&scaled(&a), &scaled(&b), Alignment::None).unwrap() - snr).abs() < 1e-3);
            let longer: Vec<_> = b.iter().copied().chain([x(9.0)]).collect();
            prop_assert_eq!(snr_db(&a, &longer, Alignment::None), Some(snr));
        }
    }
}
