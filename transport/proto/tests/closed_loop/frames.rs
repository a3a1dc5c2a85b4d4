//! Audio and video: complete and in order without loss; byte by byte right and soon there again with it.

use std::collections::BTreeMap;

use media::{Bitrate, Duration, Instant, Medium, Role};
use netem::{DirectionSpec, HopSpec, LossSpec, Network, Probability, QueueLimit, ReorderSpec};
use proptest::prelude::*;

use crate::proto::{MAX_FRAME, Scheme};
use crate::station::{Clock, Given, Log};
use crate::world::{World, load};

const MEDIA: [Medium; 2] = [Medium::Audio, Medium::Video];

/// Contents that differ in every frame and at every place.
fn bytes(number: u64, len: usize) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Sizes from one byte up, on average a little below what fits.
fn uneven(medium: Medium, number: u64) -> (Vec<u8>, bool) {
    let spread = number.wrapping_mul(2_654_435_761) >> 8;
    let len = match medium {
        Medium::Audio => 1 + spread % 154,
        _ if number.is_multiple_of(50) => 8_000,
        _ => 1 + spread % 3_000,
    };
    (bytes(number, len as usize), number.is_multiple_of(50))
}

fn given(log: &Log, medium: Medium) -> &[Given] {
    &log.given[usize::from(medium == Medium::Video)]
}

/// Every frame that came out is one that went in, byte by byte, in order, each once. Returns their numbers.
fn assert_genuine(world: &World) -> BTreeMap<Medium, Vec<u64>> {
    let mut numbers = BTreeMap::new();
    for medium in MEDIA {
        let given = given(&world.top.log, medium);
        let of_medium: &mut Vec<u64> = numbers.entry(medium).or_default();
        for g in world.op.log.got(medium) {
            let number = g.frame.number;
            let original = &given[number as usize];
            assert!(g.frame.payload == original.payload, "{medium:?} {number} is not what was sent");
            assert_eq!(g.frame.key, original.key, "{medium:?} {number}");
            assert!(of_medium.last().is_none_or(|&last| last < number), "{medium:?} {number} out of order");
            assert!(g.at >= original.at, "{medium:?} {number} before its time");
            of_medium.push(number);
        }
    }
    numbers
}

#[test]
fn all_frames_arrive_in_order_where_nothing_is_lost() {
    for (scenario, scheme) in [
        ("paper/r260", Scheme::Dpm),
        ("paper/r400", Scheme::DpmHoldUp),
        ("paper/r0", Scheme::NoMerge),
        ("paper/r0", Scheme::KMerge(8)),
        ("lan", Scheme::Dpm),
    ] {
        for payload in [crate::world::paper_frames, uneven] {
            let mut world = World::new(scenario, scheme);
            world.payload = payload;
            world.run_to(20_000);
            let backlog = world.stats(Role::Top).transmit;
            world.drain();
            let numbers = assert_genuine(&world);
            let waiting = backlog.video_frames_waiting as u64 + 1;
            assert_eq!(numbers[&Medium::Audio].len(), 1_000, "{scenario} {scheme}");
            assert!(numbers[&Medium::Video].iter().copied().eq(0..numbers[&Medium::Video].len() as u64));
            assert!(numbers[&Medium::Video].len() as u64 >= 500 - waiting, "{scenario} {scheme}: {numbers:?}");
            assert_eq!(world.op.log.video_lost, 0, "{scenario} {scheme}");
        }
    }
}

/// The paper's limits for audio and video hold with DPM, and a frame knows when it was captured.
#[test]
fn frames_are_in_time_and_know_their_age() {
    for r in [0, 100, 260, 300, 400] {
        let offset_ns = 23_450_000;
        let clocks = [Clock::default(), Clock { offset_ns, ..Clock::default() }];
        let mut world = World::over(&load(&format!("paper/r{r}")), 1, Scheme::Dpm, clocks, |_| {});
        world.run_to(30_000);
        world.drain();
        assert_genuine(&world);
        for (medium, limit_ms) in [(Medium::Audio, 150.0), (Medium::Video, 400.0)] {
            for g in world.op.log.got(medium) {
                let original = &given(&world.top.log, medium)[g.frame.number as usize];
                let delay = (g.at - original.at) as f64 / 1e6;
                assert!(delay < limit_ms, "r{r}, {medium:?} {}: {delay} ms", g.frame.number);
                // Known in steps of 4 ms; without control messages the peer's time modulo 655.36 ms.
                let told = g.frame.captured_at.as_nanos() - world.top.clock.at(original.at).as_nanos() as i64;
                let error = (told + 327_680_000).rem_euclid(655_360_000) - 327_680_000;
                assert!(error.abs() <= 4_000_000, "r{r}, {medium:?} {}: {error} ns", g.frame.number);
                assert!(g.frame.display_at >= world.op.clock.at(g.at), "shown before it was there");
            }
        }
    }
}

/// The largest frames pass, larger ones are refused, empty ones too.
#[test]
fn the_largest_frame_passes() {
    fn large(medium: Medium, number: u64) -> (Vec<u8>, bool) {
        let len = match (medium, number) {
            (Medium::Audio, _) => 100,
            (_, 0) => MAX_FRAME,
            (_, 25) => MAX_FRAME + 1,
            (_, 26) => 0,
            (_, 50) => MAX_FRAME,
            _ => 1,
        };
        (bytes(number, len), number == 0)
    }
    let mut world = World::new("paper/r0", Scheme::Dpm);
    world.payload = large;
    world.run_to(4_000);
    world.drain();
    let sizes: Vec<usize> =
        world.op.log.got(Medium::Video).map(|g| g.frame.payload.len()).filter(|&n| n != 1).collect();
    assert_eq!(sizes, [MAX_FRAME, MAX_FRAME]);
    assert_eq!(world.stats(Role::Top).transmit.refused, 2);
    let first = world.op.log.got(Medium::Video).next().unwrap();
    assert!(first.frame.payload == bytes(0, MAX_FRAME));
}

fn probability(max: f64) -> impl Strategy<Value = Probability> {
    (0.0..=max).prop_map(|p| Probability::new(p).unwrap())
}

prop_compose! {
    /// A hop that does everything to packets that a hop can do.
    fn bad_hop()(
        bernoulli in probability(0.3),
        bursts in proptest::option::of((probability(0.05), probability(0.5), probability(1.0))),
        reorder in (probability(0.3), 1u64..40_000),
        duplicate in probability(0.2),
    ) -> HopSpec {
        HopSpec {
            rate: Some(Bitrate::from_kbps(3_000)),
            propagation: Duration::from_millis(10),
            queue: QueueLimit::Packets(100),
            loss: match bursts {
                None => LossSpec::Bernoulli(bernoulli),
                Some((to_bad, to_good, loss_bad)) => {
                    LossSpec::GilbertElliott { to_bad, to_good, loss_good: Probability::ZERO, loss_bad }
                }
            },
            reorder: Some(ReorderSpec { probability: reorder.0, extra: Duration::from_micros(reorder.1) }),
            duplicate,
            ..HopSpec::default()
        }
    }
}

fn scheme() -> impl Strategy<Value = Scheme> {
    prop_oneof![Just(Scheme::NoMerge), Just(Scheme::Dpm), Just(Scheme::DpmHoldUp), (1u8..=8).prop_map(Scheme::KMerge)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever happens on the way, what comes out is genuine; and when the network is good again, so is everything else.
    #[test]
    fn frames_are_genuine_over_any_loss_and_resume_after_it(hop in bad_hop(), scheme in scheme(), seed: u64) {
        let bad = DirectionSpec { hops: vec![hop], ..DirectionSpec::default() };
        let scenario = netem::Scenario { backward: bad.clone(), forward: bad, ..load("lan") };
        let mut world = World::over(&scenario, seed, scheme, [Clock::default(), Clock::default()], |_| {});
        world.payload = uneven;
        world.run_to(4_000);
        let good = load("lan");
        world.backward = Network::new(&good.backward, Instant::from_millis(4_000), seed);
        world.forward = Network::new(&good.forward, Instant::from_millis(4_000), seed);
        world.run_to(7_000);
        world.drain();
        let numbers = assert_genuine(&world);
        // Half a second after the change nothing is missing any more; what still waited when the ticks ended left.
        for (medium, per_frame) in [(Medium::Audio, 20), (Medium::Video, 40)] {
            let wanted: Vec<u64> = (4_500 / per_frame..6_500 / per_frame).collect();
            let got: Vec<u64> = numbers[&medium].iter().copied().filter(|n| wanted.contains(n)).collect();
            prop_assert_eq!(got, wanted, "{:?}", medium);
        }
        let stats = world.stats(Role::Op).receive;
        prop_assert_eq!(stats.garbage, 0);
        prop_assert_eq!(stats.packets, world.op.log.received.len() as u64);
        prop_assert!(world.op.log.displayed.last().unwrap().1 > 6_990);
    }
}
