//! Ten million random and mutated datagrams into a connected operator's endpoint, with the hand's control behind it: no panic, no
//! growth, no absurd answer, no force beyond clamp and slew, and afterwards it still works.

use haptic::{ControlConfig, DeviceInfo, DeviceState, Gate, Master, Received};
use media::{Coupling, Duration, Force, HapticSample, Instant, Role};
use proto::control::{ControlHeader, Hello, MediumStatistics, Message};
use proto::{Address, Command, Config, Endpoint, Event, FrameIn, Input, Scheme, Token};

const TOKEN: Token = Token([42; 16]);
const TOP_AT: Address = Address { ip: [2; 16], port: 2 };
const OP_AT: Address = Address { ip: [1; 16], port: 1 };
const DATAGRAMS: u64 = 10_000_000;
/// Clamp, N, and slew, N/ms, of the control's defaults.
const MAX_FORCE: f32 = 3.3;
const MAX_SLEW: f32 = 0.3;

/// A small generator of its own: the test must be the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn absurd(&mut self) -> u64 {
        let n = self.next();
        [u64::MAX, 0, 1 << 63, n, n << 40][self.below(5)]
    }
}

fn drain(endpoint: &mut Endpoint, now: Instant, mut packet: impl FnMut(&[u8])) -> usize {
    let mut buf = Vec::new();
    while endpoint.poll_transmit(now, &mut buf).is_some() {
        packet(&buf);
    }
    let mut events = 0;
    while let Some(event) = endpoint.poll_event() {
        events += 1;
        endpoint.recycle(event);
    }
    events
}

/// Both endpoints say what they have until nothing is left; the session of the second.
fn exchange(op: &mut Endpoint, top: &mut Endpoint, now: Instant) -> u32 {
    let mut session = 0;
    for _ in 0..4 {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        drain(op, now, |p| a.push(p.to_vec()));
        drain(top, now, |p| b.push(p.to_vec()));
        session =
            b.iter().filter_map(|bytes| Message::parse(bytes)).map(|(h, _)| h.session).next_back().unwrap_or(session);
        a.iter().for_each(|bytes| top.handle(now, Input::Datagram { from: OP_AT, bytes }));
        b.iter().for_each(|bytes| op.handle(now, Input::Datagram { from: TOP_AT, bytes }));
    }
    session
}

fn station(role: Role, seed: u64, now: Instant) -> Endpoint {
    Endpoint::new(Config { token: TOKEN, ..Config::new(role) }, seed, now)
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A well-formed control message with absurd numbers, half of the time with the right token, and half of these in the
/// right session and newer than all before, so that it is heard: the peer's clock leaps by hours to and fro.
fn control(random: &mut Random, session: u32, number: u64, bytes: &mut Vec<u8>) {
    let heard = random.below(2) == 0;
    let hours = (1 + number % 3) * 3_600_000_000_000;
    let header = ControlHeader {
        sequence: if heard { 1_000 + number as u32 } else { random.absurd() as u32 },
        ack: random.next() as u32,
        token: if random.below(2) == 0 { TOKEN } else { Token([0; 16]) },
        session: if heard { session } else { random.below(3) as u32 },
        sent_at: if heard { hours } else { random.absurd() },
        unsent: random.absurd() as u32,
    };
    let message = match random.below(5) {
        0 => Message::Hello(Hello {
            role: Role::Top,
            scheme: Scheme::KMerge(8),
            next_tick: random.absurd(),
            fragment_size: random.next() as u16,
            common_clock_epoch: Some(random.absurd() as i64),
            coupling: Coupling::ALL[random.below(3)],
        }),
        1 => Message::Statistics(
            [MediumStatistics {
                delivered: u32::MAX,
                lost: u32::MAX,
                late: random.next() as u32,
                delay: [u16::MAX, 0, 1, 2],
                jitter: [u16::MAX; 2],
            }; 3],
        ),
        2 => Message::EmergencyStop(true),
        3 => Message::Scheme(Scheme::KMerge(1 + random.below(8) as u8)),
        _ => Message::Unknown(random.next() as u8),
    };
    message.emit(&header, bytes);
}

/// A real packet with some bytes changed, cut short or made longer.
fn mutated(random: &mut Random, packets: &[Vec<u8>], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&packets[random.below(packets.len())]);
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        bytes[at] = random.next() as u8;
    }
    match random.below(6) {
        0 => bytes.truncate(random.below(bytes.len() + 1)),
        1 => bytes.extend((0..random.below(900)).map(|b| b as u8)),
        _ => {}
    }
}

/// The operator's control at 1 kHz, fed with whatever the endpoint releases.
struct Hand {
    master: Master,
    newest: Option<Received<HapticSample>>,
    next_at: Instant,
    last: Force,
    pushes: u64,
}

impl Hand {
    fn new(now: Instant) -> Hand {
        let info = DeviceInfo { max_force: MAX_FORCE, max_damping: 5.0, ..DeviceInfo::desktop("hand") };
        let master = Master::new(ControlConfig::default(), &info, now);
        Hand { master, newest: None, next_at: now, last: Force::ZERO, pushes: 0 }
    }

    /// Takes all events of the endpoint; how many.
    fn take(&mut self, endpoint: &mut Endpoint, now: Instant) -> usize {
        let mut events = 0;
        while let Some(event) = endpoint.poll_event() {
            match &event {
                Event::Haptic { sample, .. } => self.newest = Some(Received { value: *sample, at: now }),
                Event::Connected { coupling, .. } => self.master.set_coupling(*coupling),
                _ => {}
            }
            events += 1;
            endpoint.recycle(event);
        }
        events
    }

    /// Steps up to `now` and judges every force.
    fn step(&mut self, now: Instant) {
        while self.next_at <= now {
            let at = self.next_at;
            let state = Ok(DeviceState { at, ..DeviceState::default() });
            let force = self.master.step(at, &state, self.newest.filter(|n| n.at <= at), Gate::OPEN).force;
            assert!(force.0.is_finite() && force.0.norm() <= MAX_FORCE * 1.0001, "{force:?}");
            let change = (force.0 - self.last.0).norm();
            // To zero at once is allowed: that is what watchdogs do.
            assert!(
                change <= MAX_SLEW * 1.001 || force == Force::ZERO,
                "{:?} to {force:?} in a millisecond",
                self.last
            );
            self.pushes += u64::from(force != Force::ZERO);
            self.last = force;
            self.next_at += Duration::from_millis(1);
        }
    }
}

#[test]
fn ten_million_hostile_datagrams() {
    let mut op = station(Role::Op, 1, Instant::ZERO);
    let mut top = station(Role::Top, 2, Instant::ZERO);
    op.handle(Instant::ZERO, Input::Command(Command::Connect(TOP_AT)));
    let session = exchange(&mut op, &mut top, Instant::ZERO);
    assert!(op.stats(Instant::ZERO).connected && top.stats(Instant::ZERO).connected);
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut now = Instant::ZERO;
    let mut packets: Vec<Vec<u8>> = Vec::new();
    for tick in 0..200 {
        now += Duration::from_millis(1);
        let frame = |payload| FrameIn { payload, key: true, captured_at: now };
        if tick % 20 == 0 {
            top.handle(now, Input::Audio(frame(&[1; 154])));
            top.handle(now, Input::Video(frame(&[2; 900])));
        }
        top.handle(now, Input::Haptic { tick, sample: HapticSample::Force(Force::new(1.0, 2.0, 3.0)) });
        drain(&mut top, now, |p| packets.push(p.to_vec()));
    }
    let mut before = 0;
    let mut hand = Hand::new(now);
    let mut bytes = Vec::new();
    for i in 0..DATAGRAMS {
        bytes.clear();
        match random.below(4) {
            0 => bytes.extend((0..random.below(120)).map(|_| random.next() as u8).collect::<Vec<_>>()),
            1 => control(&mut random, session, i, &mut bytes),
            _ => mutated(&mut random, &packets, &mut bytes),
        }
        if i % 7 == 0 {
            now += Duration::from_nanos(random.next() % 3_000_000);
        }
        let from = if random.below(8) == 0 { OP_AT } else { TOP_AT };
        op.handle(now, Input::Datagram { from, bytes: &bytes });
        if i % 3 == 0 {
            op.handle(now, Input::Timeout);
        }
        let events = hand.take(&mut op, now);
        hand.step(now);
        drain(&mut op, now, |p| assert!(p.len() < 1_200));
        assert!(events <= 600, "{events} events of one datagram");
        if i % 100_000 == 0 {
            let _ = op.stats(now);
        }
        if i == DATAGRAMS / 10 {
            before = resident_kib();
        }
    }
    let after = resident_kib();
    assert!(hand.pushes > 100_000, "some of it must have reached the hand: {} ticks with force", hand.pushes);
    assert!(after < before + 2_048, "resident set grew from {before} to {after} KiB");

    // A new peer is heard after silence, and its samples come through bit by bit.
    now += Duration::from_secs(10);
    op.handle(now, Input::Timeout);
    let mut top = station(Role::Top, 77, now);
    op.handle(now, Input::Command(Command::Connect(TOP_AT)));
    exchange(&mut op, &mut top, now);
    let sent = HapticSample::Force(Force::new(0.25, -0.5, 1.5));
    let mut heard = 0;
    for tick in 0..300 {
        now += Duration::from_millis(1);
        top.handle(now, Input::Haptic { tick, sample: sent });
        let mut fresh = Vec::new();
        drain(&mut top, now, |p| fresh.push(p.to_vec()));
        fresh.iter().for_each(|bytes| op.handle(now, Input::Datagram { from: TOP_AT, bytes }));
        op.handle(now, Input::Timeout);
        while let Some(event) = op.poll_event() {
            if let Event::Haptic { sample, .. } = event {
                assert_eq!(sample, sent);
                heard += 1;
            }
            op.recycle(event);
        }
    }
    assert!(heard > 250, "{heard}");
}
