//! Two endpoints with control messages over a plain delay line in virtual time: hello, silence, return, scheme, emergency
//! stop, key frames; what is counted; schemes and samples left out.

use telehaptic_proto as proto;

mod accounts;
mod schemes;
mod world;

use media::{Coupling, Duration, Role};
use proto::{Command, Config, Event, Input, Scheme};
use world::{DELAY, OP_AT, Station, TOP_AT, World};

#[test]
fn hello_connects_and_samples_flow_without_loss() {
    let mut world = World::new();
    world.run(3_000);
    let now = world.now;
    for stats in [world.op().endpoint.stats(now), world.top().endpoint.stats(now)] {
        assert!(stats.connected && !stats.silent);
        let haptic = stats.receive.media[0].clone().unwrap();
        assert!(haptic.delivered > 2_850 && haptic.lost == 0, "{haptic:?}");
        // 20 ms are known to half the round trip.
        let delay = haptic.delay_ms.unwrap();
        assert!((delay.p50 - 20.0).abs() < 0.1, "{delay:?}");
        let bound = stats.clock.bound_ms.unwrap();
        assert!((bound - 20.5).abs() < 1.0, "{bound}");
        assert!(stats.transmit.media[0].as_ref().is_some_and(|m| m.delivered > 1_000));
        assert_eq!((stats.receive.garbage, stats.receive.foreign, stats.receive.duplicate), (0, 0, 0));
    }
}

#[test]
fn the_operators_coupling_holds_at_both_ends_for_each_session() {
    let mut world = World::new();
    for (seed, coupling) in [(11, Coupling::Wave), (12, Coupling::PositionPosition), (13, Coupling::PositionForce)] {
        let now = world.now;
        world.op = Some(Station::with(Config { coupling, ..Config::new(Role::Op) }, seed, now));
        world.op().input(now, Input::Command(Command::Connect(TOP_AT)));
        world.run(1_500);
        let now = world.now;
        for station in [world.op.as_ref().unwrap(), world.top.as_ref().unwrap()] {
            let told = |e: &Event| matches!(e, Event::Connected { coupling: told, .. } if *told == coupling);
            assert!(station.saw(told).is_some(), "{coupling}");
            let stats = station.endpoint.stats(now);
            assert_eq!(stats.coupling, coupling);
            assert!(stats.receive.media[0].as_ref().unwrap().delivered > 1_000 && stats.receive.garbage == 0);
        }
    }
}

#[test]
fn a_killed_station_is_missed_and_found_again() {
    let mut world = World::new();
    world.run(1_000);
    world.top = None;
    world.run(1_000);
    assert!(world.op().saw(|e| *e == Event::Silent).is_some());
    world.top = Some(Station::new(Role::Top, 99, world.now));
    world.op().events.clear();
    let back = world.now;
    world.run(1_000);
    let found = world.op().saw(|e| matches!(e, Event::Connected { .. })).expect("connected again");
    assert!(found.saturating_since(back) < Duration::from_millis(400));
    let now = world.now;
    let haptic = world.top().endpoint.stats(now).receive.media[0].clone().unwrap();
    assert!(haptic.delivered > 600 && haptic.lost == 0, "{haptic:?}");
    // The same with the operator.
    world.op = Some(Station::new(Role::Op, 5, world.now));
    world.op().input(now, Input::Command(Command::Connect(TOP_AT)));
    world.run(1_000);
    assert!(world.op().saw(|e| matches!(e, Event::Connected { .. })).is_some());
}

#[test]
fn an_outage_of_two_seconds_is_bridged() {
    let mut world = World::new();
    world.run(1_000);
    let until = world.now + Duration::from_millis(2_000);
    world.drop = Box::new(move |now, _, _| now < until);
    world.run(2_000);
    let now = world.now;
    assert!(world.op().endpoint.stats(now).silent && world.top().endpoint.stats(now).silent);
    world.run(1_500);
    let now = world.now;
    for station in [world.op.as_ref().unwrap(), world.top.as_ref().unwrap()] {
        assert!(station.saw(|e| *e == Event::Resumed).is_some());
        let stats = station.endpoint.stats(now);
        assert!(!stats.silent);
        let lost = stats.receive.media[0].as_ref().unwrap().lost;
        assert!((1_990..2_010).contains(&lost), "{lost}");
    }
}

#[test]
fn commands_reach_the_peer_over_a_lossy_link() {
    let mut world = World::new();
    world.run(500);
    let mut n = 0u32;
    world.drop = Box::new(move |_, _, bytes| {
        n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes[0] & 0x20 != 0 && n >> 30 != 0
    });
    let now = world.now;
    world.op().input(now, Input::Command(Command::Scheme(Scheme::KMerge(3))));
    world.op().input(now, Input::Command(Command::EmergencyStop(true)));
    world.run(3_000);
    assert!(world.top().saw(|e| *e == Event::SchemeChanged(Scheme::KMerge(3))).is_some());
    assert!(world.top().saw(|e| *e == Event::EmergencyStop(true)).is_some());
    let now = world.now;
    assert_eq!(world.top().endpoint.stats(now).transmit.k, 3);
    assert_eq!(world.op().endpoint.stats(now).receive.k, 3);
    world.top().input(now, Input::Command(Command::Goodbye));
    world.drop = Box::new(|_, _, _| false);
    world.run(50);
    assert!(world.op().saw(|e| *e == Event::Goodbye).is_some());
}

#[test]
fn the_picture_comes_back_within_half_a_second() {
    let mut world = World::new();
    world.video = 1_994;
    world.run(2_000);
    for start in 0..10 {
        world.op().events.clear();
        let from = world.now;
        world.drop = Box::new(move |now, to, _| to == OP_AT && now < from + Duration::from_millis(5 + 3 * start));
        world.run(2_000);
        let lost = world.op().saw(|e| *e == Event::VideoLost).expect("loss noticed");
        let key = world.op().saw(|e| matches!(e, Event::Frame(f) if f.key)).expect("key frame");
        assert!(lost < key);
        let back = key.saturating_since(from + DELAY);
        assert!(back < Duration::from_millis(500), "{back:?}");
    }
}
