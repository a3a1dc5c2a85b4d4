//! Laws that hold in every network: packets are conserved, keep their order where nothing reorders, never exceed a
//! rate, and memory stays bounded.

use std::collections::BTreeMap;

use media::{Bitrate, DataSize, Duration, Instant};
use proptest::prelude::*;
use telehaptic_netem::{
    Arrivals, CrossSpec, DirectionSpec, HopSpec, LossSpec, MAX_INSIDE, Network, Probability, QueueLimit, RateRange,
    RateStep, ReorderSpec, Scenario, TcpPath, Traffic,
};

fn probability(max: f64) -> impl Strategy<Value = Probability> {
    (0.0..=max).prop_map(|p| Probability::new(p).unwrap())
}

fn loss() -> impl Strategy<Value = LossSpec> {
    prop_oneof![
        Just(LossSpec::None),
        probability(0.5).prop_map(LossSpec::Bernoulli),
        (probability(0.3), probability(1.0), probability(0.1), probability(1.0)).prop_map(
            |(to_bad, to_good, loss_good, loss_bad)| LossSpec::GilbertElliott { to_bad, to_good, loss_good, loss_bad }
        ),
    ]
}

/// Rates of so many percent of the first, each so many milliseconds after the last.
fn steps(kbps: u64, slower: &[(u64, u64)]) -> Vec<RateStep> {
    let mut at = Duration::ZERO;
    let step = |&(gap_ms, percent): &(u64, u64)| {
        at += Duration::from_millis(gap_ms);
        RateStep { at, rate: Bitrate::from_bps(kbps * percent * 10) }
    };
    slower.iter().map(step).collect()
}

prop_compose! {
    fn hop(reorders: bool)(
        rate in proptest::option::weighted(0.8, 100u64..20_000),
        slower in proptest::collection::vec((1u64..500, 1u64..100), 0..4),
        propagation in 0u64..20_000,
        queue in prop_oneof![(0usize..50).prop_map(QueueLimit::Packets), (0u64..20_000).prop_map(QueueLimit::Bytes)],
        loss in loss(),
        reorder in proptest::option::of((probability(0.5), 0u64..10_000)),
        duplicate in probability(0.2),
    ) -> HopSpec {
        HopSpec {
            rate: rate.map(Bitrate::from_kbps),
            rate_steps: steps(rate.unwrap_or(100), &slower),
            propagation: Duration::from_micros(propagation),
            queue,
            loss,
            reorder: reorder.filter(|_| reorders)
                .map(|(probability, us)| ReorderSpec { probability, extra: Duration::from_micros(us) }),
            duplicate,
        }
    }
}

prop_compose! {
    fn cross()(
        start in 0u64..100_000,
        kind in 0u8..6,
        stop in proptest::option::of((1u64..300_000, proptest::option::of(0u64..300_000))),
        rate in 10u64..2_000,
        more in 0u64..1_000,
        packet in 40u64..1500,
        access in proptest::option::of(100u64..5_000),
    ) -> CrossSpec {
        let rates = RateRange { min_kbps: rate, max_kbps: rate + more };
        let packet = DataSize::from_bytes(packet);
        let path = TcpPath { packet, beyond: Duration::from_micros(start), max_window: 64 };
        let open = Arrivals::Open { mean_gap: Duration::from_millis(rate) };
        let closed = Arrivals::Closed { sources: 3, mean_pause: Duration::from_millis(rate) };
        CrossSpec {
            name: "cross".into(),
            start: Duration::from_micros(start),
            stop: stop.map(|(length, _)| Duration::from_micros(start + length)),
            repeat: stop.and_then(|(length, more)| Some(Duration::from_micros(length + more?))),
            traffic: match kind {
                0 => Traffic::Constant { rate: Bitrate::from_kbps(rate), packet },
                1 => Traffic::VariableGap { rates, packet },
                2 => Traffic::VariableSize { rates, interval: Duration::from_millis(4) },
                3 => Traffic::TcpLong(path),
                4 => Traffic::TcpShort { path, min: packet, max: DataSize::from_bytes(30_000), arrivals: open },
                _ => Traffic::TcpShort { path, min: packet, max: DataSize::from_bytes(90_000), arrivals: closed },
            },
            access_rate: access.map(Bitrate::from_kbps),
            access_propagation: Duration::from_millis(3),
        }
    }
}

prop_compose! {
    fn direction(reorders: bool)(
        hops in proptest::collection::vec(hop(reorders), 1..5),
        cross in proptest::collection::vec(cross(), 0..3),
        bottleneck in any::<prop::sample::Index>(),
    ) -> DirectionSpec {
        DirectionSpec { bottleneck: bottleneck.index(hops.len()), hops, cross }
    }
}

fn load() -> impl Strategy<Value = Vec<(u64, u64)>> {
    proptest::collection::vec((0u64..2_000, 50u64..1500), 1..400)
}

/// What came of one run: deliveries in order, drops.
type Outcome = (Vec<(Instant, u64)>, Vec<u64>);

/// Sends a load and drains; ids count from 0. `eager` polls as a live emulator does, else only at the end.
fn run(network: &mut Network, load: &[(u64, u64)], eager: bool) -> Outcome {
    let mut now = Instant::ZERO;
    let (mut deliveries, mut drops) = (Vec::new(), Vec::new());
    let mut drain = |network: &mut Network| {
        while let Some(d) = network.poll_delivery() {
            deliveries.push((d.at, d.id));
        }
        while let Some(id) = network.poll_drop() {
            drops.push(id);
        }
    };
    for (id, &(gap_us, size)) in load.iter().enumerate() {
        let next = now + Duration::from_micros(gap_us);
        if eager {
            while let Some(at) = network.poll_timeout().filter(|&at| at <= next) {
                network.advance(at);
                drain(network);
            }
        }
        now = next;
        network.send(now, DataSize::from_bytes(size), id as u64);
    }
    while let Some(at) = network.poll_timeout() {
        network.advance(at);
        drain(network);
    }
    drain(network);
    (deliveries, drops)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// sent + duplicated = delivered + dropped + inside, at every moment and for each packet; cross-traffic likewise.
    #[test]
    fn nothing_appears_or_vanishes(spec in direction(true), load in load(), seed: u64) {
        let mut network = Network::new(&spec, Instant::ZERO, seed);
        let mut now = Instant::ZERO;
        for (id, &(gap_us, size)) in load.iter().enumerate() {
            now += Duration::from_micros(gap_us);
            network.send(now, DataSize::from_bytes(size), id as u64);
            let c = network.counts();
            let dropped = c.dropped_in_queues + c.dropped_on_wires + c.dropped_for_room;
            prop_assert_eq!(c.sent + c.duplicated, c.delivered + dropped + c.inside);
            prop_assert_eq!(c.sent, id as u64 + 1);
            for flow in network.cross_report(now) {
                prop_assert!(flow.delivered + flow.lost <= flow.sent);
            }
        }
        let (deliveries, drops) = run(&mut network, &[], false);
        let c = network.counts();
        prop_assert_eq!(c.inside, 0);
        prop_assert_eq!((c.delivered, c.sent + c.duplicated), (deliveries.len() as u64, (deliveries.len() + drops.len()) as u64));
        let mut fates: BTreeMap<u64, u32> = BTreeMap::new();
        for id in deliveries.iter().map(|d| d.1).chain(drops) {
            *fates.entry(id).or_default() += 1;
        }
        prop_assert!(fates.keys().copied().eq(0..load.len() as u64), "every packet ends, none is invented");
        // Cross-traffic still under way is what is in the access links and the air.
        let end = now + Duration::from_secs(100);
        network.advance(end);
        for (flow, cross) in network.cross_report(end).iter().zip(&spec.cross) {
            let most = match cross.traffic {
                // The windows of all connections.
                Traffic::TcpLong(_) | Traffic::TcpShort { .. } => 64 * 64,
                _ => 130,
            };
            prop_assert!(flow.sent - flow.delivered - flow.lost <= most, "{:?}", flow);
        }
    }

    /// Without reordering packets arrive in the order in which they were sent, at times that never go back.
    #[test]
    fn order_is_kept(spec in direction(false), load in load(), seed: u64) {
        let (deliveries, _) = run(&mut Network::new(&spec, Instant::ZERO, seed), &load, false);
        for pair in deliveries.windows(2) {
            prop_assert!(pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
        }
    }

    /// Between any two arrivals behind a wire there is at least the time that what arrived after the first took on
    /// it; and no packet is faster than its transmission and propagation times together.
    #[test]
    fn no_wire_is_faster_than_its_rate(spec in direction(false), load in load(), seed: u64) {
        let hops = spec.hops.iter().map(|h| HopSpec { duplicate: Probability::ZERO, ..h.clone() }).collect();
        let spec = DirectionSpec { hops, ..spec };
        let (deliveries, _) = run(&mut Network::new(&spec, Instant::ZERO, seed), &load, false);
        let mut sent = Vec::new();
        let mut at = Instant::ZERO;
        for (gap, _) in &load {
            at += Duration::from_micros(*gap);
            sent.push(at);
        }
        let size = |id: u64| DataSize::from_bytes(load[id as usize].1);
        let transmission = |h: &HopSpec, id| h.rate.map_or(Duration::ZERO, |r| r.transmission_time(size(id)));
        let slowest = spec.hops.last().unwrap();
        for pair in deliveries.windows(2) {
            prop_assert!(pair[1].0.saturating_since(pair[0].0) >= transmission(slowest, pair[1].1));
        }
        for &(at, id) in &deliveries {
            let least: Duration = spec.hops.iter().map(|h| h.propagation + transmission(h, id)).sum();
            prop_assert!(at.saturating_since(sent[id as usize]) >= least);
        }
    }

    /// The same seed gives the same run, whenever and however often the network is asked; and a network that has
    /// already been advanced treats a packet given late by its stamp.
    #[test]
    fn runs_depend_on_stamps_and_seed_alone(spec in direction(true), load in load(), seed: u64) {
        let (lazy, lazy_drops) = run(&mut Network::new(&spec, Instant::ZERO, seed), &load, false);
        let (eager, eager_drops) = run(&mut Network::new(&spec, Instant::ZERO, seed), &load, true);
        prop_assert_eq!(&lazy, &eager);
        prop_assert_eq!(&lazy_drops, &eager_drops);
        // A first hop of constant delay, so that lateness below it has no effect.
        let mut hops = vec![HopSpec { propagation: Duration::from_millis(5), ..HopSpec::default() }];
        hops.extend(spec.hops.clone());
        let spec = DirectionSpec { hops, bottleneck: spec.bottleneck + 1, cross: spec.cross };
        let punctual = run(&mut Network::new(&spec, Instant::ZERO, seed), &load, false);
        let mut network = Network::new(&spec, Instant::ZERO, seed);
        let mut at = Instant::ZERO;
        for (id, &(gap_us, size)) in load.iter().enumerate() {
            at += Duration::from_micros(gap_us);
            network.advance(at + Duration::from_micros(4_999 * (id as u64 % 2)));
            network.send(at, DataSize::from_bytes(size), id as u64);
        }
        let late = run(&mut network, &[], false);
        prop_assert_eq!(punctual, late);
    }
}

#[test]
fn memory_is_bounded_even_if_nobody_polls() {
    let copies = Probability::new(1.0).unwrap();
    let hop = HopSpec { propagation: Duration::from_secs(60), duplicate: copies, ..HopSpec::default() };
    let mut network = Network::new(&DirectionSpec { hops: vec![hop], ..Default::default() }, Instant::ZERO, 1);
    let total = 5 * MAX_INSIDE as u64;
    for id in 0..total {
        network.send(Instant::from_nanos(id * 1000), DataSize::from_bytes(100), id);
        assert!(network.counts().inside <= MAX_INSIDE as u64);
    }
    network.advance(Instant::from_millis(1_000_000));
    let c = network.counts();
    assert_eq!(c.delivered + c.dropped_for_room, c.sent + c.duplicated);
    for id in total..2 * total {
        network.send(Instant::from_millis(1_000_000), DataSize::from_bytes(100), id);
    }
    assert_eq!(std::iter::from_fn(|| network.poll_drop()).count(), MAX_INSIDE);
    assert_eq!(std::iter::from_fn(|| network.poll_delivery()).count(), MAX_INSIDE);
}

/// An idle network wakes nobody, however much cross-traffic there is.
#[test]
fn cross_traffic_alone_wakes_nobody() {
    let scenario = Scenario::load("paper/r400").unwrap();
    let mut network = Network::new(&scenario.backward, Instant::ZERO, 1);
    assert_eq!(network.poll_timeout(), None);
    let end = Instant::from_millis(100_000);
    network.advance(end);
    assert_eq!(network.poll_timeout(), None);
    for flow in network.cross_report(end) {
        let ratio = flow.kbps() / flow.nominal.as_kbps();
        assert!((0.999..1.001).contains(&ratio), "{flow:?}");
        assert_eq!(flow.lost, 0);
    }
}

/// A second variable flow draws from a stream of its own.
#[test]
fn two_variable_flows_are_not_one_twice() {
    let flow = |name: &str| CrossSpec {
        name: name.into(),
        start: Duration::ZERO,
        stop: None,
        repeat: None,
        traffic: Traffic::VariableSize {
            rates: RateRange { min_kbps: 320, max_kbps: 480 },
            interval: Duration::from_millis(4),
        },
        access_rate: None,
        access_propagation: Duration::ZERO,
    };
    let spec = DirectionSpec { hops: vec![HopSpec::default()], bottleneck: 0, cross: vec![flow("a"), flow("b")] };
    let mut network = Network::new(&spec, Instant::ZERO, 9);
    network.advance(Instant::from_millis(1_000));
    let report = network.cross_report(Instant::from_millis(1_000));
    assert_ne!(report[0].sent_bytes, report[1].sent_bytes);
}
