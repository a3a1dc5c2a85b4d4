//! Full queues both ways, outages, and every number that wraps.

use media::{Channel, Duration, Instant, Medium, Role};
use netem::Network;

use crate::proto::Scheme;
use crate::station::Clock;
use crate::world::{World, load};

fn clock(offset_ms: i64) -> Clock {
    Clock { offset_ns: offset_ms * 1_000_000, ..Clock::default() }
}

/// No-merge at R_cbr = 400 over a forward channel as busy as the backward one, and so long that a packet takes 150 ms each
/// way: the most that the stated range allows.
#[test]
fn both_queues_full() {
    let mut scenario = load("paper/r400-f800");
    for direction in [&mut scenario.backward, &mut scenario.forward] {
        direction.hops[2].propagation = Duration::from_millis(50);
    }
    for offset in [0, -18, 327, -150, 5_000] {
        let mut world = World::over(&scenario, 1, Scheme::NoMerge, [clock(0), clock(offset)], |_| {});
        world.run_to(25_000);
        world.drain();
        for channel in Channel::ALL {
            let delays = world.delays(channel, 10_000..25_000);
            assert!((120.0..175.0).contains(&delays.mean) && delays.loss_percent > 5.0, "{channel:?}: {delays:?}");
            let role = if channel == Channel::Backward { Role::Op } else { Role::Top };
            let stats = world.stats(role);
            let lost: u64 =
                world.packets(channel).iter().filter(|p| p.received_at.is_none()).map(|p| u64::from(p.sent.k)).sum();
            let report = stats.receive.media[0].as_ref().unwrap();
            // The last half second is not judged yet.
            assert!(report.lost <= lost && lost - report.lost < 500, "{channel:?}: {} of {lost}", report.lost);
            assert_eq!(stats.receive.garbage + stats.receive.duplicate, 0, "{channel:?}");
            let clock = stats.clock;
            let rtt = clock.rtt_ms.unwrap();
            assert!((240.0..350.0).contains(&rtt), "offset {offset}, {channel:?}: round trip {rtt} ms");
            assert_eq!(clock.steps, 0, "offset {offset}: no clock stepped");
            let (peer_ahead, bound) = (clock.offset_ns.unwrap() as f64 / 1e6, clock.bound_ms.unwrap());
            let truth = if role == Role::Op { offset } else { -offset } as f64;
            let error = (peer_ahead - truth).rem_euclid(655.36);
            assert!(error.min(655.36 - error) <= bound, "offset {offset}, {channel:?}: {peer_ahead}, bound {bound}");
        }
        // Samples are displayed on all the time, and checked against what was sent where they are noted.
        assert!(world.op.log.displayed.len() > 15_000);
    }
}

/// DPM takes over from no-merge with both queues full, and empties them.
#[test]
fn dpm_drains_full_queues() {
    let scenario = load("paper/r400-f700");
    let mut world = World::over(&scenario, 1, Scheme::NoMerge, [clock(0), clock(-18)], |_| {});
    world.run_to(15_000);
    assert!(world.delays(Channel::Backward, 12_000..14_000).mean > 90.0);
    world.command(crate::proto::Command::Scheme(Scheme::Dpm));
    world.run_to(75_000);
    world.drain();
    for channel in Channel::ALL {
        let delays = world.delays(channel, 55_000..75_000);
        assert!(delays.max < 40.0 && delays.loss_percent == 0.0, "{channel:?}: {delays:?}");
    }
}

#[test]
fn outages_lose_what_was_sent_in_them_and_nothing_else() {
    // Half a second, two, ten, and one longer than the index takes to wrap.
    for length in [500, 2_000, 10_000, 100_000] {
        for scheme in [Scheme::Dpm, Scheme::KMerge(4)] {
            let outage = 6_000..6_000 + length;
            let after = outage.end;
            let mut world = World::new("paper/r260-m0", scheme);
            world.outages_ms = vec![outage.clone()];
            world.run_to(after + 12_000);
            world.drain();
            let what = format!("{length} ms, {scheme}");
            for channel in Channel::ALL {
                for p in world.packets(channel) {
                    let inside = outage.contains(&(p.sent.at / 1_000_000));
                    assert_eq!(p.received_at.is_none(), inside, "{what}, {channel:?}: {p:?}");
                }
                let (_, receiver) = world.logs(channel);
                let first = receiver.displayed.iter().find(|d| d.0 > after * 1_000_000).unwrap();
                assert!(first.1 >= after - 4 && first.0 < (after + 40) * 1_000_000, "{what}, {channel:?}: {first:?}");
            }
            if scheme == Scheme::Dpm {
                let ks: Vec<u8> = world.k_changes(Channel::Backward, after).iter().map(|c| c.1).collect();
                assert!(ks.len() > 30, "{what}: {ks:?}");
                assert!(world.delays(Channel::Backward, after..after + 12_000).max < 40.0, "{what}");
            }
            // Every frame given after the outage comes out: the first whole ones within a second.
            for (medium, period) in [(Medium::Audio, 20), (Medium::Video, 40)] {
                let got = world.op.log.got(medium).filter(|g| g.at > after * 1_000_000);
                let (mut n, mut first) = (0, None);
                for g in got {
                    first.get_or_insert(g.at);
                    n += 1;
                }
                assert!(n >= 12_000 / period - 3, "{what}, {medium:?}: {n}");
                assert!(first.unwrap() < (after + 200) * 1_000_000, "{what}, {medium:?}");
            }
        }
    }
}

/// 200 s with skew over a transit that hovers about its wrap: the 16 bits of index (65.5 s) and send time (0.66 s), the 14 bits
/// of transit (163.84 ms) and the 10 bits of the notified index (1.024 s) are all crossed, the transit in both directions.
#[test]
fn every_wrap_is_crossed() {
    for offset in [-18, -22, 145, 632] {
        let clocks = [clock(0), Clock { skew_ppm: 30.0, servo_ppm: 30.0, ..clock(-offset) }];
        let mut world = World::over(&load("paper/r260"), 1, Scheme::Dpm, clocks, |_| {});
        world.run_to(200_000);
        world.drain();
        for channel in Channel::ALL {
            assert_eq!(world.lost(channel), 0, "{channel:?}");
            let delays = world.delays(channel, 500..199_000);
            assert!(delays.max < 45.0, "{channel:?}: {delays:?}");
            let (_, receiver) = world.logs(channel);
            assert!(receiver.displayed.last().unwrap().1 > 199_990, "{channel:?}");
        }
        let changes = world.k_changes(Channel::Backward, 1_000);
        let longest = changes.windows(2).map(|w| w[1].0 - w[0].0).max().unwrap();
        assert!(longest < 2_500, "offset {offset}: k stood still for {longest} ms");
        assert_eq!(world.stats(Role::Op).clock.steps, 0);
        assert_eq!(world.stats(Role::Op).receive.garbage, 0);
    }
}

/// The route changes in the middle of a run, to a longer and to a shorter one.
#[test]
fn a_new_route_is_no_reason_to_lose() {
    for propagation_ms in [1, 40, 90] {
        let mut world = World::new("paper/r260", Scheme::Dpm);
        world.run_to(8_000);
        let mut scenario = load("paper/r260");
        scenario.backward.hops[2].propagation = Duration::from_millis(propagation_ms);
        let old =
            std::mem::replace(&mut world.backward, Network::new(&scenario.backward, Instant::from_millis(8_000), 7));
        let inside = old.counts().inside as usize;
        world.run_to(20_000);
        world.drain();
        assert_eq!(world.lost(Channel::Backward), inside, "only what was on the old route");
        assert!(world.k_changes(Channel::Backward, 10_000).len() > 20, "{propagation_ms} ms");
        let worst = world.delays(Channel::Backward, 10_000..20_000).max;
        assert!(worst < 40.0 + propagation_ms as f64 * 1.5, "{propagation_ms} ms: {worst}");
    }
}
