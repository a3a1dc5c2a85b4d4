//! The closed loop does not know what time it is at the other end: offsets change nothing, drift hardly anything, steps and lopsided
//! paths do no harm.

mod common;

use common::{StationClock, World};
use media::{Channel, Duration};
use netem::Scenario;
use telehaptic_proto::{Scheme, TriggerConfig};

const MS: i64 = 1_000_000;

fn clock(offset_ns: i64) -> StationClock {
    StationClock { offset_ns, ..StationClock::default() }
}

/// k of both channels over `seconds` of DPM, and whether anything was lost.
fn run(scenario: &Scenario, clocks: [StationClock; 2], seconds: u64) -> (World, bool) {
    let mut world = World::over(scenario, 1, |c| c.scheme = Scheme::Dpm, clocks);
    world.run(seconds * 1000);
    let lost = Channel::ALL.iter().any(|&c| world.packets(c).iter().any(|p| p.receive_ns < 0));
    (world, lost)
}

fn scenario(name: &str) -> Scenario {
    Scenario::load(name).unwrap_or_else(|e| panic!("{e}"))
}

/// Ticks at which the backward channel went back to k = 4, from `from` on.
fn cycles(world: &World, from: u64) -> Vec<u64> {
    world.at_top.k_changes.iter().filter(|c| c.1 == 4 && c.0 >= from).map(|c| c.0).collect()
}

fn period(cycles: &[u64]) -> f64 {
    (cycles[cycles.len() - 1] - cycles[0]) as f64 / (cycles.len() - 1) as f64
}

#[test]
fn offsets_give_the_identical_sequence_of_k() {
    for name in ["paper/r260-m0", "paper/r400"] {
        let network = scenario(name);
        let (reference, _) = run(&network, [clock(0), clock(0)], 15);
        let reference = [reference.at_top.k_changes, reference.at_op.k_changes];
        assert!(reference[0].len() > 5, "{name}: {:?}", reference[0]);
        let mut random = 0x9e37_79b9u64;
        let mut offsets = vec![100 * MS, -100 * MS, 327 * MS, -327 * MS, -18 * MS];
        for _ in 0..6 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            offsets.push((random >> 33) as i64 % 400_000 * 10_000 - 2_000 * MS);
        }
        for offset in offsets {
            let (world, lost) = run(&network, [clock(0), clock(offset)], 15);
            assert!(!lost);
            assert_eq!([world.at_top.k_changes, world.at_op.k_changes], reference, "{name}, offset {offset} ns");
        }
    }
}

#[test]
fn drift_leaves_the_cycle_and_its_period() {
    let network = scenario("paper/r260-m0");
    let (steady, lost) = run(&network, [clock(0), clock(0)], 40);
    assert!(!lost);
    let wanted = period(&cycles(&steady, 5_000));
    for ppm in [200.0, -200.0] {
        let drifting = StationClock { skew_ppm: ppm, ..clock(123 * MS) };
        let (world, lost) = run(&network, [clock(0), drifting], 40);
        assert!(!lost, "{ppm} ppm");
        let got = period(&cycles(&world, 5_000));
        assert!((got / wanted - 1.0).abs() < 0.05, "{ppm} ppm: period {got} ms, without drift {wanted} ms");
        let ks: Vec<u8> = world.at_top.k_changes.iter().filter(|c| c.0 > 5_000).map(|c| c.1).collect();
        for w in ks.windows(2) {
            assert!(w[1] == 4 || w[1] + 1 == w[0], "{ppm} ppm: {ks:?}");
        }
        assert!([1, 2, 3, 4].iter().all(|k| ks.contains(k)), "{ppm} ppm");
    }
}

#[test]
fn a_clock_that_steps_costs_one_restart_and_no_sample() {
    let network = scenario("paper/r260-m0");
    for step in [50 * MS, -50 * MS, 163_840_000, 400 * MS, -1_000 * MS] {
        let stepping = StationClock { steps: vec![(8_000, step)], ..clock(0) };
        let (world, lost) = run(&network, [clock(0), stepping], 20);
        assert!(!lost, "step {step}");
        let after = cycles(&world, 9_500);
        assert!(after.len() > 5, "step {step}: {after:?}");
        let got = period(&after);
        assert!((got / 1_090.0 - 1.0).abs() < 0.1, "step {step}: period {got} ms");
    }
}

#[test]
fn lopsided_paths_change_nothing_in_the_loop() {
    let mut network = scenario("paper/r260-m0");
    network.forward.hops[0].propagation = Duration::from_millis(25);
    network.backward.hops[2].propagation = Duration::from_millis(1);
    let (world, lost) = run(&network, [clock(0), clock(77 * MS)], 20);
    assert!(!lost);
    assert!(cycles(&world, 2_000).len() > 10);
}

#[test]
fn nervous_triggers_ratchet_up_to_a_full_queue() {
    // Why the average is slow and the window long: with these the loop takes cross-traffic for congestion or a full queue
    // for a steady one, and probes on.
    let worst = |triggers: TriggerConfig| {
        let mut world = World::new("paper/r400", 1, |c| c.triggers = triggers);
        world.run(500_000);
        world.haptic_delays(Channel::Backward, 500).0.into_iter().fold(0.0, f64::max)
    };
    let good = worst(TriggerConfig::default());
    assert!(good < 33.0, "{good}");
    for bad in [
        TriggerConfig { ewma_weight: 0.2, ..TriggerConfig::default() },
        TriggerConfig { window: 8, ..TriggerConfig::default() },
        TriggerConfig { window: 16, ..TriggerConfig::default() },
    ] {
        let delay = worst(bad);
        println!("{bad:?}: {delay} ms");
        assert!(delay > 60.0, "{bad:?}: {delay} ms");
    }
}
