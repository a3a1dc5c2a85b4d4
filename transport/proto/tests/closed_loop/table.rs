//! The reference table: mean, 99th percentile and maximum of the haptic delay in ms, and the loss, over [0.5, 500] s of the
//! backward channel, VBR of mode m3.
//!
//! With a fixed k the run is open: the figures must be the same to the last digit printed. With DPM it is closed and
//! chaotic: the ranges over six seeds, widened by half their width (maxima by 2 ms) and by half a digit of what is printed.

use media::Channel;

use crate::figures::{ADAPTIVE, FIXED};
use crate::proto::Scheme;
use crate::station::Clock;
use crate::world::{Delays, World, load};

fn figures(r: u64, scheme: Scheme, seed: u64) -> Delays {
    let clocks = [Clock::default(), Clock::default()];
    let mut world = World::over(&load(&format!("paper/r{r}")), seed, scheme, clocks, |_| {});
    world.run_to(500_000);
    world.drain();
    let delays = world.delays(Channel::Backward, 500..500_000);
    println!("r{r} {scheme} seed {seed}: {delays:.2?}");
    delays
}

fn fixed_k(row: usize) {
    let (r, columns) = FIXED[row];
    for (k, wanted) in (1u8..).zip(columns) {
        let got = figures(r, Scheme::KMerge(k), 1);
        let got = [got.mean, got.p99, got.max, got.loss_percent];
        let same = got.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() < 0.006);
        assert!(same, "r{r}, k = {k}: {got:.3?}, the table has {wanted:?}");
    }
}

fn adaptive(row: usize) {
    let (r, dpm, hold_up) = ADAPTIVE[row];
    for (scheme, ranges) in [(Scheme::Dpm, dpm), (Scheme::DpmHoldUp, hold_up)] {
        for seed in 1..=2 {
            let got = figures(r, scheme, seed);
            let what = format!("r{r}, {scheme}, seed {seed}: {got:?}, the table has {ranges:?}");
            let near = |value: f64, (low, high): (f64, f64), more: f64| (low - more..=high + more).contains(&value);
            let half = |(low, high): (f64, f64)| (high - low) / 2.0;
            assert!(near(got.mean, ranges[0], half(ranges[0]) + 0.005), "mean: {what}");
            assert!(near(got.p99, ranges[1], half(ranges[1]) + 0.05), "p99: {what}");
            assert!(near(got.max, ranges[2], 2.0), "max: {what}");
            assert_eq!(got.loss_percent, 0.0, "{what}");
        }
    }
}

macro_rules! rows {
    ($($row:literal: $fixed:ident $adaptive:ident;)*) => {$(
        #[test]
        fn $fixed() {
            fixed_k($row);
        }

        #[test]
        fn $adaptive() {
            adaptive($row);
        }
    )*};
}

rows! {
    0: fixed_k_at_0 dpm_at_0;
    1: fixed_k_at_100 dpm_at_100;
    2: fixed_k_at_260 dpm_at_260;
    3: fixed_k_at_300 dpm_at_300;
    4: fixed_k_at_400 dpm_at_400;
}
