//! The reference table: mean, 99th percentile and maximum of the haptic delay in ms, and the loss, over [0.5, 500] s of the
//! backward channel, VBR of mode m3.
//!
//! With a fixed k the run is open: the figures must be the same but for rounding (maxima within 0.1 ms). With DPM it is
//! closed and chaotic: the ranges over six seeds, widened by half their width (maxima by 2 ms) and by half a digit of what
//! is printed.

use netem::Scenario;
use proto::Scheme;
use telehaptic_sim::{Outcome, RunSpec, run};

/// Mean, p99, max, loss in percent.
type Figures = [f64; 4];

/// R_cbr, and the figures of k = 1 to 4 with seed 1.
const FIXED: [(u64, [Figures; 4]); 5] = [
    (
        0,
        [
            [18.25, 20.63, 23.08, 0.0],
            [19.00, 20.09, 20.12, 0.0],
            [20.60, 22.46, 22.56, 0.0],
            [22.05, 23.55, 23.55, 0.0],
        ],
    ),
    (
        100,
        [
            [97.62, 99.51, 101.41, 6.58],
            [19.18, 20.72, 20.79, 0.0],
            [20.77, 23.18, 23.38, 0.0],
            [22.06, 23.68, 23.75, 0.0],
        ],
    ),
    (
        260,
        [
            [99.51, 101.57, 103.50, 14.49],
            [19.65, 21.18, 22.69, 0.0],
            [20.92, 22.73, 23.38, 0.0],
            [22.16, 24.39, 24.39, 0.0],
        ],
    ),
    (
        300,
        [
            [99.91, 102.08, 104.05, 16.38],
            [125.73, 128.50, 130.18, 2.92],
            [21.00, 23.18, 23.46, 0.0],
            [22.12, 23.80, 24.12, 0.0],
        ],
    ),
    (
        400,
        [
            [99.81, 102.41, 104.43, 16.32],
            [126.11, 128.50, 130.06, 13.73],
            [140.96, 144.45, 146.68, 3.48],
            [22.43, 24.94, 27.19, 0.0],
        ],
    ),
];

/// Ranges over seeds: mean, p99, max. Nothing is lost.
type Ranges = [(f64, f64); 3];

/// R_cbr, the ranges of DPM, those with hold-up.
const ADAPTIVE: [(u64, Ranges, Ranges); 5] = [
    (0, [(19.52, 19.56), (23.55, 23.55), (24.61, 24.61)], [(19.39, 19.46), (23.55, 23.55), (24.61, 24.61)]),
    (100, [(21.03, 21.05), (24.6, 24.9), (27.8, 28.4)], [(20.57, 20.59), (24.6, 24.6), (27.9, 28.5)]),
    (260, [(21.88, 21.90), (28.9, 29.0), (33.3, 34.0)], [(21.43, 21.47), (28.4, 28.5), (33.0, 34.0)]),
    (300, [(21.67, 21.68), (24.6, 24.6), (34.0, 36.9)], [(21.60, 21.62), (24.5, 24.6), (34.5, 38.2)]),
    (400, [(23.27, 23.31), (27.1, 27.3), (29.4, 31.0)], [(23.18, 23.38), (27.0, 27.4), (29.3, 31.1)]),
];

fn outcome(r: u64, scheme: Scheme, seed: u64) -> Outcome {
    let scenario = Scenario::load(&format!("paper/r{r}")).unwrap();
    run(RunSpec { seed, ..RunSpec::new(scenario, scheme) }).unwrap()
}

fn figures(r: u64, scheme: Scheme, seed: u64) -> Figures {
    let report = outcome(r, scheme, seed).report;
    let backward = &report.channels.backward;
    for medium in [Some(&backward.haptic), backward.audio.as_ref(), backward.video.as_ref()].into_iter().flatten() {
        assert_eq!(medium.sent, medium.delivered + medium.lost, "r{r}, {scheme}: {medium:?}");
    }
    let delay = backward.haptic.delay_ms.unwrap();
    println!("r{r} {scheme} seed {seed}: {delay:.3?}, loss {:.3} %", backward.haptic.loss_percent);
    [delay.mean, delay.p99, delay.max, backward.haptic.loss_percent]
}

fn fixed_k(row: usize) {
    let (r, columns) = FIXED[row];
    for (k, wanted) in (1u8..).zip(columns) {
        let got = figures(r, Scheme::KMerge(k), 1);
        // Half a digit of what is printed; the meter knows quantiles to 5 us.
        let tolerance = [0.006, 0.011, 0.1, 0.006];
        let same = (0..4).all(|i| (got[i] - wanted[i]).abs() < tolerance[i]);
        assert!(same, "r{r}, k = {k}: {got:.3?}, the table has {wanted:?}");
    }
}

fn adaptive(row: usize, seeds: core::ops::RangeInclusive<u64>) {
    let (r, dpm, hold_up) = ADAPTIVE[row];
    for (scheme, ranges) in [(Scheme::Dpm, dpm), (Scheme::DpmHoldUp, hold_up)] {
        for seed in seeds.clone() {
            let got = figures(r, scheme, seed);
            let half = |(low, high): (f64, f64)| (high - low) / 2.0;
            let more = [half(ranges[0]) + 0.005, half(ranges[1]) + 0.05, 2.0];
            for i in 0..3 {
                let (low, high) = ranges[i];
                let range = low - more[i]..=high + more[i];
                assert!(range.contains(&got[i]), "r{r}, {scheme}, seed {seed}: {got:.3?}, the table has {ranges:?}");
            }
            assert_eq!(got[3], 0.0, "r{r}, {scheme}, seed {seed}");
        }
    }
}

macro_rules! rows {
    ($($row:literal: $fixed:ident $adaptive:ident $seeds:expr;)*) => {$(
        #[test]
        fn $fixed() {
            fixed_k($row);
        }

        #[test]
        fn $adaptive() {
            adaptive($row, $seeds);
        }
    )*};
}

rows! {
    0: fixed_k_at_0 dpm_at_0 1..=2;
    1: fixed_k_at_100 dpm_at_100 1..=2;
    2: fixed_k_at_260 dpm_at_260 1..=6;
    3: fixed_k_at_300 dpm_at_300 1..=2;
    4: fixed_k_at_400 dpm_at_400 1..=6;
}
