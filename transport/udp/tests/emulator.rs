//! The live emulator on real sockets against the network in virtual time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as Wall;

use media::{Channel, DataSize, Duration, Instant};
use netem::{Network, Scenario};
use telehaptic_udp::{Clock, Emulator, Socket, Waker, from_address, to_address, wait};

const SEED: u64 = 7;

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// A running emulator; dropped, it ends.
struct Running {
    at: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<thread::JoinHandle<Emulator>>,
}

impl Running {
    fn start(scenario: &str, to: SocketAddr) -> Running {
        let scenario = Scenario::load(scenario).unwrap();
        let mut emulator = Emulator::bind(loopback(), to, scenario, SEED, Clock::start()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        emulator.keep_log();
        let (at, waker) = (emulator.local_addr(), emulator.waker());
        let flag = stop.clone();
        let thread = thread::spawn(move || {
            emulator.run(&flag).unwrap();
            emulator
        });
        Running { at, stop, waker, thread: Some(thread) }
    }

    fn end(mut self) -> Emulator {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        self.thread.take().unwrap().join().unwrap()
    }
}

/// The bytes of a data packet of this length: version 1, no control bit, a number where no header reaches.
fn packet(number: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![0x40; len];
    bytes[30..34].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// A control datagram: version 1, control bit.
fn control(number: u32) -> Vec<u8> {
    let mut bytes = packet(number, 40);
    bytes[0] |= 0x20;
    bytes
}

fn number(bytes: &[u8]) -> u32 {
    bytes.get(30..34).map_or(0, |b| u32::from_be_bytes(b.try_into().unwrap()))
}

/// Receives until nothing has come for `quiet`.
fn collect(socket: &mut Socket, quiet: Wall) -> Vec<(Instant, u32, usize)> {
    let waker = Waker::new().unwrap();
    let mut got = Vec::new();
    let mut buf = [0; 2_048];
    let mut idle = std::time::Instant::now();
    while idle.elapsed() < quiet {
        while let Some(d) = socket.receive(&mut buf).unwrap() {
            got.push((d.at, number(&buf[..d.len]), d.len));
            idle = std::time::Instant::now();
        }
        wait(std::os::fd::AsRawFd::as_raw_fd(socket), &waker, Duration::from_millis(20)).unwrap();
    }
    got
}

/// More than the bottleneck carries, so that its queue is never empty for long. On the same arrivals the network in virtual
/// time must let the same datagrams out at the same nanosecond; and what is really sent keeps that rate.
#[test]
fn departures_are_those_of_the_network_in_virtual_time() {
    const PACKETS: u32 = 6_000;
    const LEN: usize = 137 - 54;
    let mut sink = Socket::bind(loopback(), Clock::start()).unwrap();
    let running = Running::start("paper/r400", sink.local_addr());
    let at = to_address(running.at);
    let sender = thread::spawn(move || {
        let clock = Clock::start();
        let mut socket = Socket::bind(loopback(), clock).unwrap();
        let start = clock.now();
        for n in 0..PACKETS {
            // 1.1 Mbit/s beside 800 kbit/s of cross-traffic.
            let due = start + Duration::from_millis(u64::from(n));
            thread::sleep(due.saturating_since(clock.now()));
            socket.send(at, &packet(n, LEN));
        }
    });
    let got = collect(&mut sink, Wall::from_millis(700));
    sender.join().unwrap();
    let mut emulator = running.end();
    let report = emulator.report();
    let log = emulator.log(Channel::Forward).unwrap();

    let spec = Scenario::load("paper/r400").unwrap();
    let seed = netem::direction_seed(SEED, Channel::Forward);
    let mut network = Network::new(spec.direction(Channel::Forward), log.start.unwrap(), seed);
    for &(at, size, id) in &log.arrivals {
        network.send(at, size, id);
    }
    network.advance(log.start.unwrap() + Duration::from_secs(600));
    let expected: Vec<_> = std::iter::from_fn(|| network.poll_delivery()).map(|d| (d.id, d.at)).collect();
    let live: Vec<_> = log.departures.iter().map(|d| (d.0, d.1)).collect();
    assert_eq!(live, expected);
    assert_eq!(got.len(), live.len());
    assert_eq!(report.forward.received, u64::from(PACKETS));
    assert_eq!(report.forward.forwarded + report.forward.dropped, u64::from(PACKETS));
    assert!(report.forward.dropped > 100, "{report:?}");

    // The rate really sent: if late wake-ups added up, the last datagrams would be later and later. The median lateness
    // of the first and of the last five hundred is what an accumulating error would pull apart.
    let lateness = |part: &[(u64, Instant, Instant)]| {
        let mut late: Vec<i64> = part.iter().map(|d| d.2.signed_since(d.1)).collect();
        late.sort_unstable();
        late[late.len() / 2]
    };
    let (first, last) = (lateness(&log.departures[..500]), lateness(&log.departures[log.departures.len() - 500..]));
    let span = log.departures[log.departures.len() - 1].1.signed_since(log.departures[0].1);
    let error = (last - first) as f64 / span as f64;
    println!("rate error {:.4} % over {:.1} s; late {:?} us", error * 100.0, span as f64 / 1e9, report.forward.late_us);
    assert!(error.abs() < 0.0005, "rate error {error}");
    for flow in report.cross_traffic.forward.flows {
        assert!((flow.kbps / flow.nominal_kbps - 1.0).abs() < 0.03, "{flow:?}");
    }
}

/// The same arrival stamps in two networks, one advanced in time and one by wake-ups up to 20 ms late: the same departures to
/// the nanosecond, so the rate error of the emulator is that of its last wake-up alone.
#[test]
fn late_wake_ups_never_accumulate() {
    let scenario = Scenario::load("paper/r400").unwrap();
    let run = |late: fn(u64) -> u64| {
        let mut network = Network::new(&scenario.backward, Instant::ZERO, SEED);
        let mut got = Vec::new();
        for n in 0..60_000u64 {
            let at = Instant::from_nanos(n * 4_000_000);
            network.send(at, DataSize::from_bytes(347), n);
            network.advance(at + Duration::from_micros(late(n)));
            while let Some(d) = network.poll_delivery() {
                got.push(d);
            }
        }
        network.advance(Instant::from_millis(300_000));
        got.extend(std::iter::from_fn(|| network.poll_delivery()));
        got
    };
    let prompt = run(|_| 0);
    let lazy = run(|n| if n % 5 == 4 { 3_900 } else { n * 7_919 % 3_000 });
    assert_eq!(prompt.len(), lazy.len());
    assert_eq!(prompt, lazy);
}

#[test]
fn the_answer_finds_an_operator_that_moved() {
    let mut top = Socket::bind(loopback(), Clock::start()).unwrap();
    let running = Running::start("lan", top.local_addr());
    let at = to_address(running.at);
    for n in 0..3 {
        let mut op = Socket::bind(loopback(), Clock::start()).unwrap();
        op.send(at, &control(n));
        let asked = collect(&mut top, Wall::from_millis(200));
        assert_eq!(asked.iter().map(|p| p.1).collect::<Vec<_>>(), [n]);
        top.send(at, &control(100 + n));
        let answers = collect(&mut op, Wall::from_millis(200));
        assert_eq!(answers.iter().map(|p| p.1).collect::<Vec<_>>(), [100 + n]);
    }
    let report = running.end().report();
    assert_eq!((report.forward.forwarded, report.backward.forwarded), (3, 3));
}

#[test]
fn a_port_in_use_is_named() {
    let held = Socket::bind(loopback(), Clock::start()).unwrap();
    let error = Socket::bind(held.local_addr(), Clock::start()).unwrap_err().to_string();
    assert!(error.contains(&held.local_addr().to_string()) && error.contains("another"), "{error}");
    assert_eq!(from_address(to_address(held.local_addr())), held.local_addr());
}

/// The bytes of a control datagram that shows this token and session.
fn showing(number: u32, token: u8, session: u8) -> Vec<u8> {
    let mut bytes = control(number);
    bytes[10..26].fill(token);
    bytes[26..30].fill(session);
    bytes
}

/// A stranger neither gets the teleoperator's answers nor keeps the operator from them, whoever comes first; the operator is
/// followed when it moves, and another one with the token takes its place when it has left.
#[test]
fn only_the_operator_gets_the_answers() {
    let [mut top, mut op, mut moved, mut stranger] =
        [(); 4].map(|()| Socket::bind(loopback(), Clock::start()).unwrap());
    let running = Running::start("lan", top.local_addr());
    let at = to_address(running.at);
    let quiet = Wall::from_millis(100);
    // The number of datagrams that reached the teleoperator, and whether its answer reached `by`.
    let mut answered = |by: &mut Socket, number: u32| {
        let reached = collect(&mut top, quiet).len();
        top.send(at, &showing(number, 7, 1));
        (reached, collect(by, quiet).iter().any(|g| g.1 == number))
    };
    // Who comes first is no operator yet.
    stranger.send(at, &[0xff; 3]);
    stranger.send(at, &showing(0, 9, 9));
    op.send(at, &showing(1, 7, 2));
    assert_eq!(answered(&mut op, 2), (3, true));
    // Data, a hello of a second operator, a wrong token, bytes of nothing: not passed on, and none gets an answer.
    for bytes in [packet(3, 60), showing(3, 7, 8), showing(3, 9, 2), vec![0xff; 3], vec![]] {
        op.send(at, &packet(4, 60));
        stranger.send(at, &bytes);
        assert_eq!(answered(&mut stranger, 5), (1, false));
        op.send(at, &packet(4, 60));
        assert_eq!(answered(&mut op, 6), (1, true));
    }
    moved.send(at, &showing(7, 7, 2));
    assert_eq!(answered(&mut moved, 8), (1, true));
    // A quiet operator's place is for one who knows the token.
    thread::sleep(Wall::from_millis(1_100));
    stranger.send(at, &packet(9, 60));
    stranger.send(at, &showing(9, 9, 9));
    assert_eq!(answered(&mut stranger, 10), (1, false));
    op.send(at, &showing(11, 7, 3));
    assert_eq!(answered(&mut op, 12), (1, true));
    assert_eq!(running.end().report().foreign, 6);
}

/// The cross-traffic begins with the first data of a station, not with what anyone throws at the port.
#[test]
fn only_data_starts_the_scenario() {
    let top = Socket::bind(loopback(), Clock::start()).unwrap();
    let mut op = Socket::bind(loopback(), Clock::start()).unwrap();
    let running = Running::start("paper/r400", top.local_addr());
    let at = to_address(running.at);
    for bytes in [vec![], vec![0x40], vec![0xc0; 60], vec![0; 60], control(1), vec![0x40; 3_000]] {
        op.send(at, &bytes);
    }
    thread::sleep(Wall::from_millis(50));
    let mut emulator = running.end();
    assert!(emulator.log(Channel::Forward).unwrap().start.is_none());
    assert!(emulator.report().cross_traffic.forward.flows.iter().all(|f| f.sent == 0));
}

#[test]
fn answers_before_the_first_question_are_not_said_to_be_sent() {
    let mut top = Socket::bind(loopback(), Clock::start()).unwrap();
    let running = Running::start("lan", top.local_addr());
    top.send(to_address(running.at), &packet(1, 60));
    thread::sleep(Wall::from_millis(200));
    let backward = running.end().report().backward;
    assert_eq!((backward.received, backward.forwarded, backward.unsent), (1, 0, 1));
}
