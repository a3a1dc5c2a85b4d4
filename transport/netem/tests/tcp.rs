//! Cross-traffic that obeys TCP, and flows that come and go: what they take, how they share, when they end.

use media::{Bitrate, DataSize, Duration, Instant};
use telehaptic_netem::{
    Arrivals, CrossSpec, DirectionSpec, FlowStats, HopSpec, Network, QueueLimit, RateRange, RateStep, Scenario,
    TcpPath, Traffic,
};

const PACKET: DataSize = DataSize::from_bytes(1500);
const CAPACITY: Bitrate = Bitrate::from_kbps(1500);

fn path(beyond_ms: u64) -> TcpPath {
    TcpPath { packet: PACKET, beyond: Duration::from_millis(beyond_ms), max_window: 256 }
}

fn flow(name: &str, start_ms: u64, traffic: Traffic) -> CrossSpec {
    CrossSpec {
        name: name.into(),
        start: Duration::from_millis(start_ms),
        stop: None,
        repeat: None,
        traffic,
        access_rate: Some(Bitrate::from_kbps(100_000)),
        access_propagation: Duration::from_millis(5),
    }
}

/// One hop of 1.5 Mbit/s, 5 ms and a queue of 100 packets.
fn bottleneck(cross: Vec<CrossSpec>) -> DirectionSpec {
    let hop = HopSpec { rate: Some(CAPACITY), propagation: Duration::from_millis(5), ..HopSpec::default() };
    DirectionSpec { hops: vec![hop], bottleneck: 0, cross }
}

fn report(spec: &DirectionSpec, seed: u64, seconds: u64) -> Vec<FlowStats> {
    let mut network = Network::new(spec, Instant::ZERO, seed);
    let end = Instant::from_millis(1000 * seconds);
    network.advance(end);
    network.cross_report(end)
}

/// Kbit/s that went into the bottleneck; what waits at the end counts.
fn through(flow: &FlowStats, seconds: u64) -> f64 {
    (flow.delivered * PACKET.as_bytes() * 8) as f64 / 1000.0 / seconds as f64
}

#[test]
fn one_long_flow_fills_the_bottleneck() {
    for beyond in [1, 20, 100, 300] {
        let got = report(&bottleneck(vec![flow("long", 0, Traffic::TcpLong(path(beyond)))]), 1, 120);
        let share = through(&got[0], 120) / CAPACITY.as_kbps();
        assert!((0.9..=1.01).contains(&share), "{beyond} ms: {share}");
        assert_eq!(got[0].nominal, Bitrate::from_bps(0));
        assert!(got[0].lost > 0 && got[0].lost * 50 < got[0].sent, "{:?}", got[0]);
    }
}

/// The window climbs, loses and halves: the delay that a thin flow meets swings between a full queue (30 of its packets and
/// 70 of 1500 bytes, 8 ms each) and about half of one, again and again.
#[test]
fn the_queue_shows_a_sawtooth() {
    let mut network = Network::new(&bottleneck(vec![flow("long", 0, Traffic::TcpLong(path(20)))]), Instant::ZERO, 1);
    for id in 0..6000 {
        network.send(Instant::from_millis(20 * id), DataSize::from_bytes(100), id);
        network.advance(Instant::from_millis(20 * id));
    }
    network.advance(Instant::from_millis(130_000));
    let delays: Vec<f64> = std::iter::from_fn(|| network.poll_delivery())
        .filter(|d| d.id >= 1000)
        .map(|d| d.at.signed_since(Instant::from_millis(20 * d.id)) as f64 / 1e6)
        .collect();
    let (low, high) = delays.iter().fold((f64::MAX, 0.0f64), |(l, h), &d| (l.min(d), h.max(d)));
    assert!((200.0..400.0).contains(&low) && (500.0..800.0).contains(&high), "{low} {high}");
    // Half a swing down from the top, counted with hysteresis.
    let (mut up, mut teeth) = (false, 0);
    for delay in delays {
        if delay > low + 0.9 * (high - low) {
            up = true;
        } else if up && delay < low + 0.2 * (high - low) {
            up = false;
            teeth += 1;
        }
    }
    assert!((3..20).contains(&teeth), "{teeth}");
}

fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
    sum * sum / (rates.len() as f64 * squares)
}

#[test]
fn long_flows_share() {
    for (others, beyond) in [(1, 20), (1, 25), (2, 20), (3, 60)] {
        let long = |n: u64| flow("long", 700 * n, Traffic::TcpLong(path(if n == 0 { 20 } else { beyond })));
        let got = report(&bottleneck((0..=others).map(long).collect()), 1, 120);
        let rates: Vec<f64> = got.iter().map(|f| through(f, 120)).collect();
        let total: f64 = rates.iter().sum();
        assert!(jain(&rates) > 0.8, "{others} others at {beyond} ms: {rates:?}");
        assert!(total > 0.9 * CAPACITY.as_kbps(), "{rates:?}");
    }
}

#[test]
fn short_transfers_end_and_their_rate_is_the_load() {
    let arrivals = Arrivals::Open { mean_gap: Duration::from_millis(800) };
    let (min, max) = (DataSize::from_bytes(30_000), DataSize::from_bytes(120_000));
    let spec = bottleneck(vec![flow("short", 0, Traffic::TcpShort { path: path(20), min, max, arrivals })]);
    let got = &report(&spec, 3, 2000)[0];
    assert_eq!(got.nominal, Bitrate::from_kbps(750));
    assert!((2300..2700).contains(&got.transfers), "{got:?}");
    let rate = through(got, 2000);
    // Half a packet more each, for whole packets; and what was lost is not among these.
    assert!((700.0..820.0).contains(&rate), "{rate}");
    let mean = got.transfer_time.as_secs_f64() / got.transfers as f64;
    // 75 kB alone take 0.4 s on the wire, and a few round trips of 35 ms.
    assert!((0.45..2.0).contains(&mean), "{mean}");
}

#[test]
fn sources_pause_between_transfers() {
    let arrivals = Arrivals::Closed { sources: 4, mean_pause: Duration::from_secs(10) };
    let size = DataSize::from_bytes(150_000);
    let short = Traffic::TcpShort { path: path(20), min: size, max: size, arrivals };
    let got = &report(&bottleneck(vec![flow("readers", 0, short)]), 5, 2000)[0];
    let took = got.transfer_time.as_secs_f64() / got.transfers as f64;
    let expected = 4.0 * 2000.0 / (10.0 + took);
    assert!((got.transfers as f64 / expected - 1.0).abs() < 0.1, "{got:?} {expected}");
    assert_eq!(got.nominal, Bitrate::from_bps(0));
}

/// More load than fits: what cannot begin waits and is only counted, and the wire stays full.
#[test]
fn too_many_transfers_wait() {
    let arrivals = Arrivals::Open { mean_gap: Duration::from_millis(100) };
    let size = DataSize::from_bytes(60_000);
    let short = Traffic::TcpShort { path: path(20), min: size, max: size, arrivals };
    let got = &report(&bottleneck(vec![flow("short", 0, short)]), 5, 600)[0];
    assert!(through(got, 600) > 0.9 * CAPACITY.as_kbps(), "{got:?}");
    let most = 600.0 * CAPACITY.as_kbps() * 1000.0 / (60_000.0 * 8.0);
    assert!(got.transfers as f64 > 0.4 * most && got.transfers as f64 <= most, "{got:?} {most}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    let arrivals = Arrivals::Open { mean_gap: Duration::from_millis(500) };
    let (min, max) = (DataSize::from_bytes(10_000), DataSize::from_bytes(100_000));
    let spec = bottleneck(vec![
        flow("long", 0, Traffic::TcpLong(path(20))),
        flow("short", 0, Traffic::TcpShort { path: path(30), min, max, arrivals }),
    ]);
    let run = |seed, step_ms: u64| {
        let mut network = Network::new(&spec, Instant::ZERO, seed);
        for at in (0..60_000).step_by(step_ms as usize) {
            network.advance(Instant::from_millis(at));
        }
        network.advance(Instant::from_millis(60_000));
        network.cross_report(Instant::from_millis(60_000))
    };
    assert_eq!(run(1, 7), run(1, 60_000));
    assert_ne!(run(1, 7), run(2, 7));
}

/// However long it lasts, a network of TCP flows holds what its queues and windows hold.
#[test]
fn memory_does_not_grow() {
    let arrivals = Arrivals::Open { mean_gap: Duration::from_millis(50) };
    let (min, max) = (DataSize::from_bytes(10_000), DataSize::from_bytes(100_000));
    let spec = bottleneck(vec![
        flow("long", 0, Traffic::TcpLong(path(20))),
        flow("short", 0, Traffic::TcpShort { path: path(30), min, max, arrivals }),
    ]);
    let mut network = Network::new(&spec, Instant::ZERO, 1);
    let mut size = |seconds: u64| {
        network.advance(Instant::from_millis(1000 * seconds));
        // All that is in it, in words.
        format!("{network:?}").len()
    };
    let early = (20..40).map(&mut size).max().unwrap();
    let late = (1000..1020).map(&mut size).max().unwrap();
    assert!(late < early * 3 / 2, "{early} {late}");
}

#[test]
fn flows_come_and_go() {
    let rates = RateRange { min_kbps: 400, max_kbps: 400 };
    for traffic in [
        Traffic::Constant { rate: Bitrate::from_kbps(400), packet: DataSize::from_bytes(200) },
        Traffic::VariableGap { rates, packet: DataSize::from_bytes(200) },
        Traffic::VariableSize { rates, interval: Duration::from_millis(4) },
    ] {
        let on_and_off = CrossSpec {
            stop: Some(Duration::from_millis(3000)),
            repeat: Some(Duration::from_millis(10_000)),
            access_rate: None,
            ..flow("x", 1000, traffic)
        };
        let mut network = Network::new(&bottleneck(vec![on_and_off.clone()]), Instant::ZERO, 1);
        let mut sent = |ms| {
            network.advance(Instant::from_millis(ms));
            network.cross_report(Instant::from_millis(ms))[0].clone()
        };
        assert_eq!(sent(999).sent, 0);
        assert_eq!(sent(1000).sent, 1);
        assert_eq!(sent(2999).sent, 500);
        assert_eq!(sent(10_999).sent, 500);
        assert_eq!(sent(11_000).sent, 501);
        let end = sent(60_000);
        assert_eq!((end.sent, end.on_for, end.kbps()), (3000, Duration::from_secs(12), 400.0));
        let once = CrossSpec { repeat: None, ..on_and_off };
        assert_eq!(report(&bottleneck(vec![once]), 1, 60)[0].sent, 500);
    }
}

#[test]
fn tcp_comes_and_goes() {
    let (min, max) = (DataSize::from_bytes(10_000), DataSize::from_bytes(100_000));
    for traffic in [
        Traffic::TcpLong(path(20)),
        Traffic::TcpShort {
            path: path(20),
            min,
            max,
            arrivals: Arrivals::Open { mean_gap: Duration::from_millis(300) },
        },
    ] {
        let on_and_off = CrossSpec {
            stop: Some(Duration::from_millis(6000)),
            repeat: Some(Duration::from_millis(20_000)),
            ..flow("x", 1000, traffic)
        };
        let mut network = Network::new(&bottleneck(vec![on_and_off]), Instant::ZERO, 1);
        let mut at = |ms| {
            network.advance(Instant::from_millis(ms));
            network.cross_report(Instant::from_millis(ms))[0].clone()
        };
        let (begun, stopped, before, again, over) = (at(999), at(6000), at(20_999), at(26_000), at(40_000));
        assert_eq!((begun.sent, stopped.sent > 100), (0, true));
        assert_eq!((before.sent, before.delivered + before.lost), (stopped.sent, stopped.sent));
        assert!(again.sent > before.sent + 100);
        assert_eq!((over.sent, over.on_for), (again.sent, Duration::from_secs(10)));
    }
}

/// A wire that becomes slower and faster carries what its schedule says, and a long flow follows.
#[test]
fn a_long_flow_follows_the_capacity() {
    let mut spec = bottleneck(vec![flow("long", 0, Traffic::TcpLong(path(90)))]);
    let step = |s, kbps| RateStep { at: Duration::from_secs(s), rate: Bitrate::from_kbps(kbps) };
    spec.hops[0].rate_steps = vec![step(40, 3125), step(80, 750), step(120, 1250)];
    spec.hops[0].queue = QueueLimit::Bytes(60_000);
    let mut network = Network::new(&spec, Instant::ZERO, 1);
    let mut last = 0;
    for (end, kbps) in [(40, 1500.0), (80, 3125.0), (120, 750.0), (160, 1250.0)] {
        network.advance(Instant::from_millis(end * 1000));
        let delivered = network.cross_report(Instant::from_millis(end * 1000))[0].delivered;
        let rate = ((delivered - last) * PACKET.as_bytes() * 8) as f64 / 40_000.0;
        last = delivered;
        assert!((0.8..1.03).contains(&(rate / kbps)), "{end} s: {rate} of {kbps}");
    }
}

/// Delays in ms and number lost of a haptic flow of packets of k = 4 backward, after the warm-up.
fn haptic(name: &str, seconds: u64) -> (Vec<f64>, usize, FlowStats) {
    let scenario = Scenario::load(name).unwrap();
    let mut network = Network::new(&scenario.backward, Instant::ZERO, 1);
    let first = scenario.warmup.as_millis() as u64;
    let (mut delays, mut lost) = (Vec::new(), 0);
    for tick in (0..1000 * seconds).step_by(4) {
        network.send(Instant::from_millis(tick), DataSize::from_bytes(67 + 4 * 70), tick);
        while let Some(d) = network.poll_delivery().filter(|d| d.id >= first) {
            delays.push(d.at.signed_since(Instant::from_millis(d.id)) as f64 / 1e6);
        }
        lost += std::iter::from_fn(|| network.poll_drop()).filter(|id| *id >= first).count();
    }
    let flow = network.cross_report(Instant::from_millis(1000 * seconds)).remove(0);
    (delays, lost, flow)
}

/// A long flow takes what the session leaves and fills the queue; short ones do so now and then. Where the queue is
/// limited in bytes, a small packet still finds room when one of 1500 does not: the session waits, but loses little.
#[test]
fn scenarios_with_tcp_compete() {
    for (name, seconds, capacity, queue_ms) in
        [("tcp/long", 120, 1500.0, 800.0), ("rfc8867/5.6", 119, 2500.0, 300.0), ("rfc8867/5.7", 300, 2500.0, 300.0)]
    {
        let (delays, lost, flow) = haptic(name, seconds);
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let max = delays.iter().copied().fold(0.0, f64::max);
        let percent = 100.0 * lost as f64 / (lost + delays.len()) as f64;
        let kbps = through(&flow, seconds);
        println!("{name}: {mean:.1} ms, at most {max:.1}, {percent:.2} % lost; TCP {kbps:.0} kbit/s, {flow:?}");
        assert!(kbps > 0.9 * (capacity - 694.0) && kbps < capacity - 600.0, "{name}: {kbps}");
        assert!(percent < 5.0, "{name}: {percent} %");
        assert!(mean > 0.2 * queue_ms && max < queue_ms + 60.0, "{name}: {mean} {max}");
    }
    let (delays, lost, flow) = haptic("tcp/short", 120);
    let below = delays.iter().filter(|d| **d < 30.0).count();
    println!("tcp/short: {below} of {} below 30 ms, {lost} lost, {flow:?}", delays.len());
    assert!(below > 0 && below < delays.len(), "{below}");
    assert!((0.7..1.4).contains(&(flow.kbps() / flow.nominal.as_kbps())), "{flow:?}");
}
