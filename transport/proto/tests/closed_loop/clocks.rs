//! The triggers work on differences of one clock pair: unknown offsets change nothing, drift hardly anything, leaps and
//! lopsided paths do no harm.

use media::{Channel, Duration, Role};

use crate::proto::Scheme;
use crate::proto::stats::ClockStats;
use crate::station::Clock;
use crate::world::{Packet, World, load};

const MS: i64 = 1_000_000;

fn offset(offset_ns: i64) -> Clock {
    Clock { offset_ns, ..Clock::default() }
}

fn run(scenario: &str, scheme: Scheme, clocks: [Clock; 2], ms: u64) -> World {
    let mut world = World::over(&load(scenario), 1, scheme, clocks, |_| {});
    world.run_to(ms);
    world.drain();
    world
}

/// Multiples of 10 us, of both signs, up to two seconds. Fixed, so that every machine tests the same.
fn random_offsets(n: usize) -> Vec<i64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as i64 % 400_000 - 200_000) * 10_000
    })
    .take(n)
    .collect()
}

#[test]
fn offsets_give_the_identical_packets() {
    for (scenario, scheme) in
        [("paper/r260-m0", Scheme::Dpm), ("paper/r260-f400", Scheme::Dpm), ("paper/r400", Scheme::DpmHoldUp)]
    {
        let packets = |world: &World| -> [Vec<Packet>; 2] { Channel::ALL.map(|c| world.packets(c)) };
        let reference = run(scenario, scheme, [offset(0), offset(0)], 6_000);
        let wanted = packets(&reference);
        assert!(reference.k_changes(Channel::Backward, 1).len() >= 4);
        let mut offsets = vec![100 * MS, -100 * MS, 327 * MS, -327 * MS, -18 * MS];
        offsets.extend(random_offsets(8));
        for ns in offsets {
            for clocks in [[offset(0), offset(ns)], [offset(ns), offset(0)]] {
                let world = run(scenario, scheme, clocks, 6_000);
                for channel in Channel::ALL {
                    assert_eq!(world.k_changes(channel, 0), reference.k_changes(channel, 0), "{scenario} {ns}");
                }
                assert!(packets(&world) == wanted, "{scenario}: a packet differs with offset {ns} ns");
            }
        }
    }
}

/// Ticks at which k rose to 4.
fn congestions(world: &World, from: u64) -> Vec<u64> {
    world.k_changes(Channel::Backward, from).iter().filter(|c| c.1 == 4).map(|c| c.0).collect()
}

/// Mean time from one rise to the next, ms.
fn period(world: &World, from: u64) -> f64 {
    let rises = congestions(world, from);
    assert!(rises.len() > 10, "{rises:?}");
    (rises[rises.len() - 1] - rises[0]) as f64 / (rises.len() - 1) as f64
}

#[track_caller]
fn assert_lossless(world: &World, what: &str) {
    for channel in Channel::ALL {
        assert_eq!(world.lost(channel), 0, "{what}, {channel:?}");
    }
}

/// k goes 1, 4, 3, 2, 1 and never otherwise.
#[track_caller]
fn assert_cycle(world: &World, from: u64, what: &str) {
    let ks: Vec<u8> = world.k_changes(Channel::Backward, from).iter().map(|c| c.1).collect();
    for w in ks.windows(2) {
        assert!(matches!(w, [1, 4] | [4, 3] | [3, 2] | [2, 1]), "{what}: {ks:?}");
    }
}

/// A clock that is too fast or too slow, everything else being equal: the loop takes no notice.
#[test]
fn a_skewed_clock_leaves_the_cycle_and_its_period() {
    let steady = run("paper/r260-m0", Scheme::Dpm, [offset(0), offset(0)], 60_000);
    let wanted = period(&steady, 1_000);
    for (op, top) in [(0.0, 200.0), (0.0, -200.0), (200.0, 0.0), (-200.0, 0.0)] {
        let clock = |skew_ppm| Clock { skew_ppm, ..offset(50 * MS) };
        let world = run("paper/r260-m0", Scheme::Dpm, [clock(op), clock(top)], 60_000);
        let what = format!("OP {op} ppm, TOP {top} ppm");
        assert_lossless(&world, &what);
        assert_cycle(&world, 1_000, &what);
        let got = period(&world, 1_000);
        println!("{what}: period {got:.1} ms, without skew {wanted:.1} ms");
        assert!((got / wanted - 1.0).abs() < 0.05, "{what}: period {got} ms instead of {wanted}");
    }
}

/// A real station's servo keeps the time of its clock. Its ticks then drift through the phases of the cross-traffic, so the
/// comparison is with random cross-traffic, where now and then a k is left before its time with true clocks too.
#[test]
fn a_skewed_station_keeps_the_period_and_its_skew_is_found() {
    let steady = run("paper/r260", Scheme::Dpm, [offset(0), offset(0)], 120_000);
    let wanted = period(&steady, 1_000);
    for (op, top) in [(0.0, 200.0), (0.0, -200.0), (200.0, 0.0), (-200.0, 0.0), (100.0, -100.0)] {
        let clock = |ppm| Clock { skew_ppm: ppm, servo_ppm: ppm, ..offset(-50 * MS) };
        let world = run("paper/r260", Scheme::Dpm, [clock(op), clock(top)], 120_000);
        let what = format!("OP {op} ppm, TOP {top} ppm");
        assert_lossless(&world, &what);
        let got = period(&world, 1_000);
        println!("{what}: period {got:.1} ms, without skew {wanted:.1} ms");
        assert!((got / wanted - 1.0).abs() < 0.05, "{what}: period {got} ms instead of {wanted}");
        for (role, truth) in [(Role::Op, top - op), (Role::Top, op - top)] {
            let skew = world.stats(role).clock.skew_ppm.expect("known after two minutes");
            assert!((skew - truth).abs() < 5.0, "{what}, {role:?} estimates {skew}");
        }
        // A fast sender gives more than a sample each millisecond: the display skips some, and its buffer stays small.
        for (role, fast) in [(Role::Op, top > op), (Role::Top, op > top)] {
            let r = world.stats(role).receive;
            assert!(r.display_skipped + r.display_late < 3_000, "{what}, {role:?}: {} skipped", r.display_skipped);
            assert!(r.display_skipped >= if fast { 20 } else { 0 }, "{what}, {role:?}: {} skipped", r.display_skipped);
            assert!(r.playout_depth <= 12);
        }
    }
}

/// A leap is at most a wrong I_C; a jump in both directions at once is no congestion. (Constant cross-traffic has two
/// limit cycles, of 1040 and 1120 ms; a leap may lead from one to the other.)
#[test]
fn leaps_of_either_clock_cost_no_sample_and_the_cycle_goes_on() {
    for leap in [3 * MS, 20 * MS, 60 * MS, 163_840_000, 300 * MS, 1_000 * MS, 4_000 * MS] {
        for at_op in [true, false] {
            let leaping = Clock { leaps: vec![(5_003, leap), (9_711, leap)], ..offset(0) };
            let clocks = if at_op { [leaping, offset(0)] } else { [offset(0), leaping] };
            let world = run("paper/r260-m0", Scheme::Dpm, clocks, 30_000);
            let what = format!("leap of {} ms, {}", leap / MS, if at_op { "OP" } else { "TOP" });
            assert_lossless(&world, &what);
            assert_cycle(&world, 13_000, &what);
            let got = period(&world, 13_000);
            assert!((980.0..1_180.0).contains(&got), "{what}: period {got} ms");
            let worst = world.delays(Channel::Backward, 500..30_000).max;
            assert!(worst < 35.0, "{what}: {worst} ms");
        }
    }
}

/// How far the estimated offset is from the truth, ms. Without control messages a station knows the other's time modulo
/// 655.36 ms.
fn offset_error(clock: &ClockStats, truth_ms: f64) -> f64 {
    let offset = clock.offset_ns.expect("round trips were measured") as f64 / 1e6;
    let error = (offset - truth_ms).rem_euclid(655.36);
    error.min(655.36 - error)
}

/// What is told about the clocks is true again some seconds after a leap: of more than a round trip within two, of less
/// within fifteen.
#[test]
fn after_a_leap_the_bound_is_true_again() {
    for (leap, after_ms) in [(8, 16_000), (20, 16_000), (60, 2_000), (163, 2_000), (300, 2_000), (4_000, 2_000)] {
        for at_op in [true, false] {
            let leaping = Clock { leaps: vec![(20_003, leap * MS)], ..offset(0) };
            let clocks = if at_op { [leaping, offset(0)] } else { [offset(0), leaping] };
            let mut world = World::over(&load("paper/r260"), 1, Scheme::Dpm, clocks, |_| {});
            world.run_to(20_003 + after_ms);
            for (role, sign) in [(Role::Op, -1.0), (Role::Top, 1.0)] {
                let truth = if at_op { sign } else { -sign } * leap as f64;
                let clock = world.stats(role).clock;
                let error = offset_error(&clock, truth);
                println!("{leap} ms, at OP {at_op}, {role:?}: {error:.3} {clock:?}");
                assert_eq!(clock.steps, 1, "leap of {leap} ms, at OP: {at_op}, {role:?}");
                assert!(
                    Some(error) <= clock.bound_ms,
                    "leap of {leap} ms, at OP: {at_op}, {role:?}: error {error} ms, {clock:?}"
                );
            }
        }
    }
}

/// A clock that leaps by more than the index tells apart from garbage costs 200 packets, and no more.
#[test]
fn after_an_absurd_leap_the_stream_is_believed_again() {
    let leaping = Clock { leaps: vec![(5_003, 25_000 * MS)], ..offset(0) };
    let world = run("paper/r260", Scheme::Dpm, [leaping, offset(0)], 12_000);
    let lost: Vec<_> = world.packets(Channel::Backward).into_iter().filter(|p| p.received_at.is_none()).collect();
    assert!(!lost.is_empty() && lost.len() <= 200, "{}", lost.len());
    assert!(lost.iter().all(|p| p.sent.at < 6_000_000_000));
    assert_eq!(world.op.log.displayed.last().map(|d| d.1 >= 11_996), Some(true));
}

#[test]
fn lopsided_paths_do_no_harm() {
    for (forward_ms, backward_ms) in [(1, 25), (25, 1), (60, 2), (2, 60)] {
        let mut scenario = load("paper/r260-m0");
        scenario.forward.hops[2].propagation = Duration::from_millis(forward_ms);
        scenario.backward.hops[2].propagation = Duration::from_millis(backward_ms);
        let mut world = World::over(&scenario, 1, Scheme::Dpm, [offset(0), offset(-77 * MS)], |_| {});
        world.run_to(30_000);
        world.drain();
        let what = format!("forward {forward_ms} ms, backward {backward_ms} ms");
        assert_lossless(&world, &what);
        assert_cycle(&world, 2_000, &what);
        assert!(congestions(&world, 2_000).len() > 15, "{what}");
        // The probe lasts as long as its answer takes: the queue grows with the round trip, and with nothing else.
        let longer = (forward_ms + backward_ms) as f64 - 10.0;
        let worst = world.delays(Channel::Backward, 500..30_000).max - backward_ms as f64 + 5.0;
        assert!(worst < 36.0 + longer.max(0.0) * 0.5, "{what}: {worst} ms");
        // What cannot be known without synchronised clocks is within the bound that is told.
        let clock = world.stats(Role::Op).clock;
        let error = offset_error(&clock, -77.0);
        assert!(Some(error) <= clock.bound_ms, "{what}: error {error} ms, {clock:?}");
    }
}
