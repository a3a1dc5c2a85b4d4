//! The reference table: mean, 99th percentile and maximum of the haptic delay in ms, and the loss, over [0.5, 500] s of the
//! backward channel, VBR of mode m3.
//!
//! With a fixed k the run is open: the figures must be the same but for rounding (maxima within 0.1 ms). With DPM it is
//! closed and chaotic: the ranges over six seeds, widened by half their width (maxima by 2 ms) and by half a digit of what
//! is printed.

use netem::Scenario;
use proto::Scheme;
use telehaptic_sim::{Outcome, RunSpec, run};

#[path = "../../proto/tests/closed_loop/figures.rs"]
mod figures;

use figures::{ADAPTIVE, FIXED, Figures};

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
