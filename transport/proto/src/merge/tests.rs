//! Packetization alone, fed by hand.

use super::*;

fn dpm(scheme: Scheme) -> Packetizer {
    Packetizer::new(scheme, TriggerConfig::default(), RivalConfig::default())
}

/// Feeds one notification a tick, each of a packet sent just before.
fn feed(p: &mut Packetizer, tick: &mut u64, transits: impl Iterator<Item = i64>) -> Vec<(u64, u8)> {
    let mut changes = Vec::new();
    for t in transits {
        *tick += 1;
        p.on_notification(*tick - 1, t, t);
        if p.tick(*tick).is_some() {
            changes.push((*tick, p.k()));
        }
    }
    changes
}

#[test]
fn six_rises_congest_and_sixty_four_steady_delays_relax() {
    let mut p = dpm(Scheme::Dpm);
    let mut tick = 0;
    assert_eq!(feed(&mut p, &mut tick, (0..7).map(|i| 1700 + 30 * i)), [(7, 4)]);
    assert_eq!((p.k(), p.counters.i_c, p.counters.changes), (4, 1, 1));
    // The first of these names the packet of the tick that changed k, so all 64 count.
    assert_eq!(feed(&mut p, &mut tick, std::iter::repeat_n(1900, 63)), []);
    assert_eq!(feed(&mut p, &mut tick, std::iter::repeat_n(1900, 1)), [(71, 3)]);
}

#[test]
fn a_spread_over_the_tolerance_is_not_steady() {
    let mut p = dpm(Scheme::Dpm);
    let mut tick = 0;
    feed(&mut p, &mut tick, (0..7).map(|i| 30 * i));
    // Falling by 10 us each time the average sinks 0.64 ms in a window, at half that pace 0.32 ms.
    assert_eq!(feed(&mut p, &mut tick, (0..500).map(|i| -i)), []);
    assert!(!feed(&mut p, &mut tick, (0..200).map(|i| -500 - i / 2)).is_empty());
}

#[test]
fn offsets_change_nothing() {
    let run = |offset: i64| {
        let mut p = dpm(Scheme::Dpm);
        let mut tick = 0;
        let noise = (0..5000i64).map(|i| 1700 + (i * i * 7919 % 97) + (i % 700) / 3 + offset);
        feed(&mut p, &mut tick, noise)
    };
    let reference = run(0);
    assert!(!reference.is_empty());
    for offset in [10_000, -10_000, 32_700, -32_700, -1_800, i64::from(i32::MAX)] {
        assert_eq!(run(offset), reference);
    }
}

#[test]
fn hold_up_waits_half_a_second_above_the_k_that_congested() {
    let relax = |scheme| {
        let mut p = dpm(scheme);
        let mut tick = 0;
        let mut changes = feed(&mut p, &mut tick, (0..7).map(|i| 30 * i));
        changes.extend(feed(&mut p, &mut tick, std::iter::repeat_n(0, 1500)));
        changes
    };
    let without = relax(Scheme::Dpm);
    let with = relax(Scheme::DpmHoldUp);
    assert_eq!(without[..3], with[..3]);
    assert_eq!(with[2].1, 2);
    assert_eq!(with[3], (with[2].0 + 500, 1));
    assert!(without[3].0 < with[3].0);
}

#[test]
fn fixed_schemes_never_move() {
    for (scheme, k) in [(Scheme::NoMerge, 1), (Scheme::KMerge(3), 3)] {
        let mut p = dpm(scheme);
        let mut tick = 0;
        assert_eq!(feed(&mut p, &mut tick, (0..1000).map(|i| 30 * i)), []);
        assert_eq!(p.k(), k);
    }
}

/// Only DPM jumps: NAFCAH climbs a step with each congestion, judges by the round trip alone, and comes down likewise.
#[test]
fn nafcah_climbs_by_single_steps_and_by_the_round_trip() {
    let mut p = dpm(Scheme::Nafcah);
    let mut seen = Vec::new();
    for tick in 1..100 {
        p.on_notification(tick - 1, 1_700, 3_400 + 30 * tick as i64);
        seen.extend(p.tick(tick).map(|_| p.k()));
    }
    assert_eq!(seen, [2, 3, 4]);
    let mut p = dpm(Scheme::Nafcah);
    for tick in 1..50 {
        p.on_notification(tick - 1, 1_700 + 30 * tick as i64, 3_400);
        assert_eq!(p.tick(tick), None);
    }
}

#[test]
fn reports_each_half_second_hide_what_happens_between() {
    let mut p = dpm(Scheme::RtpReport);
    let mut changed = Vec::new();
    for tick in 1..3_000 {
        p.on_notification(tick - 1, 1_700 + tick as i64, 0);
        if p.tick(tick).is_some() {
            changed.push((tick, p.k()));
        }
    }
    // The first report is the base, the second the first rise.
    assert_eq!(changed[0], (501, 4));
}

#[test]
fn loss_merge_waits_for_persistent_loss_and_a_long_peace() {
    let rivals = RivalConfig { clear_reports: 10, ..RivalConfig::default() };
    let mut p = Packetizer::new(Scheme::LossMerge, TriggerConfig::default(), rivals);
    let mut tick = 0;
    let (mut delivered, mut lost) = (0, 0);
    let mut report = |p: &mut Packetizer, more_lost: u64| {
        tick += 500;
        (delivered, lost) = (delivered + 450, lost + more_lost);
        p.on_report(delivered, lost);
        p.tick(tick);
        p.k()
    };
    assert_eq!([0, 50, 0, 50, 50, 50, 50].map(|n| report(&mut p, n)), [1, 1, 1, 1, 2, 2, 3]);
    let peace: Vec<u8> = (0..20).map(|_| report(&mut p, 0)).collect();
    assert_eq!((peace[8], peace[9], peace[19]), (3, 2, 1));
}
