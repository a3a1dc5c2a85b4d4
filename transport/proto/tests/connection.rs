//! Two endpoints with control messages over a plain delay line in virtual time: hello, silence, return, scheme, emergency
//! stop, key frames, skipped samples.

use telehaptic_proto as proto;

use std::collections::BTreeMap;

use media::{Duration, Force, HapticSample, Instant, Motion, Role};
use proto::report::Verdict;
use proto::wire::{Header, MediaHeader, Notification, SkipHeader};
use proto::{Address, Command, Config, Endpoint, Event, FrameIn, Host, Input, Scheme, Token, Transmit, drive};

const OP_AT: Address = Address { ip: [1; 16], port: 1 };
const TOP_AT: Address = Address { ip: [2; 16], port: 2 };
const DELAY: Duration = Duration::from_millis(20);

/// One station and what it has seen.
struct Station {
    endpoint: Endpoint,
    address: Address,
    tick: u64,
    sent: Vec<(Address, Vec<u8>)>,
    events: Vec<(Instant, Event)>,
    /// Haptic samples given to the display.
    shown: u64,
    /// When the last of them was.
    shown_at: Instant,
    buf: Vec<u8>,
}

struct Noting<'a> {
    sent: &'a mut Vec<(Address, Vec<u8>)>,
    events: &'a mut Vec<(Instant, Event)>,
    shown: &'a mut u64,
    shown_at: &'a mut Instant,
}

impl Host for Noting<'_> {
    fn transmit(&mut self, _: Instant, transmit: Transmit, bytes: &[u8]) {
        self.sent.push((transmit.to, bytes.to_vec()));
    }

    fn event(&mut self, now: Instant, event: &Event) {
        if matches!(event, Event::Haptic { .. }) {
            *self.shown += 1;
            *self.shown_at = now;
        } else {
            self.events.push((now, event.clone()));
        }
    }
}

impl Station {
    fn new(role: Role, seed: u64, now: Instant) -> Station {
        let config = Config { token: Token([7; 16]), ..Config::new(role) };
        let address = if role == Role::Op { OP_AT } else { TOP_AT };
        let endpoint = Endpoint::new(config, seed, now);
        Station {
            endpoint,
            address,
            tick: 0,
            sent: Vec::new(),
            events: Vec::new(),
            shown: 0,
            shown_at: Instant::ZERO,
            buf: Vec::new(),
        }
    }

    fn input(&mut self, now: Instant, input: Input<'_>) {
        let (shown, shown_at) = (&mut self.shown, &mut self.shown_at);
        let mut host = Noting { sent: &mut self.sent, events: &mut self.events, shown, shown_at };
        drive(&mut self.endpoint, now, input, &mut self.buf, &mut host);
    }

    fn tick(&mut self, now: Instant) {
        let sample = match self.endpoint.config().role {
            Role::Op => HapticSample::Motion(Motion::default()),
            Role::Top => HapticSample::Force(Force::ZERO),
        };
        self.input(now, Input::Haptic { tick: self.tick, sample });
        self.tick += 1;
    }

    fn saw(&self, wanted: impl Fn(&Event) -> bool) -> Option<Instant> {
        self.events.iter().find(|(_, e)| wanted(e)).map(|(at, _)| *at)
    }
}

/// Says of a packet to an address whether it is lost.
type Drop = Box<dyn FnMut(Instant, Address, &[u8]) -> bool>;

/// Both stations and the packets between them.
struct World {
    now: Instant,
    op: Option<Station>,
    top: Option<Station>,
    wire: BTreeMap<(Instant, u64), (Address, Address, Vec<u8>)>,
    count: u64,
    /// Video frames of this size every 40 ms.
    video: usize,
    /// Every fourth packet takes so much longer.
    stagger: Duration,
    /// `true`: drop this packet.
    drop: Drop,
}

impl World {
    fn new() -> World {
        let now = Instant::from_millis(1_000);
        let mut world = World {
            now,
            op: Some(Station::new(Role::Op, 1, now)),
            top: Some(Station::new(Role::Top, 2, now)),
            wire: BTreeMap::new(),
            count: 0,
            video: 0,
            stagger: Duration::ZERO,
            drop: Box::new(|_, _, _| false),
        };
        world.op().input(now, Input::Command(Command::Connect(TOP_AT)));
        world
    }

    fn op(&mut self) -> &mut Station {
        self.op.as_mut().expect("the operator runs")
    }

    fn top(&mut self) -> &mut Station {
        self.top.as_mut().expect("the teleoperator runs")
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            let now = self.now;
            while let Some(entry) = self.wire.first_entry().filter(|e| e.key().0 <= now) {
                let (from, to, bytes) = entry.remove();
                let station = if to == OP_AT { &mut self.op } else { &mut self.top };
                if let Some(station) = station {
                    station.input(now, Input::Datagram { from, bytes: &bytes });
                }
            }
            for station in [&mut self.op, &mut self.top].into_iter().flatten() {
                let key = station.saw(|e| matches!(e, Event::KeyFrameRequested)).is_some();
                if self.video > 0 && station.address == TOP_AT && station.tick.is_multiple_of(40) {
                    let payload = vec![1; if key { self.video * 3 } else { self.video }];
                    station.events.retain(|(_, e)| !matches!(e, Event::KeyFrameRequested));
                    station.input(now, Input::Video(FrameIn { payload: &payload, key, captured_at: now }));
                }
                station.tick(now);
                for (to, bytes) in station.sent.drain(..) {
                    if !(self.drop)(now, to, &bytes) {
                        self.count += 1;
                        let delay = if self.count % 8 < 6 { DELAY } else { DELAY + self.stagger };
                        self.wire.insert((now + delay, self.count), (station.address, to, bytes));
                    }
                }
            }
        }
    }
}

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

/// Packets as a skipping scheme sends them: a number of their own, samples left out between them.
#[test]
fn skipped_samples_are_not_lost_but_lost_packets_are() {
    let mut op = Endpoint::new(Config { control: false, ..Config::new(Role::Op) }, 1, Instant::ZERO);
    let mut tick = 0u64;
    for number in 0..3_000u16 {
        tick += 1 + u64::from(number % 5);
        if number % 100 == 7 {
            continue;
        }
        let now = Instant::from_millis(tick + 20);
        let header = Header {
            k: 1,
            index: tick as u16,
            sent: (tick * 100) as u16,
            notification: Notification::NONE,
            media: Some(MediaHeader::default()),
            skip: Some(SkipHeader { number, mask: 1 }),
        };
        let mut bytes = Vec::new();
        header.emit(&mut bytes);
        bytes.extend([0; 12]);
        op.handle(now, Input::Datagram { from: Address::default(), bytes: &bytes });
        while let Some(event) = op.poll_event() {
            if let Event::Haptic { index, .. } = event {
                assert!(index <= tick && index + 20 > tick, "{index} {tick}");
            }
        }
    }
    let haptic = op.stats(Instant::from_millis(tick)).receive.media[0].clone().unwrap();
    // The last 500 packets are not judged yet.
    assert_eq!((haptic.delivered, haptic.lost), (2_970, 25));
}

/// A sender that hears nobody for 5 s stops; what it then does not send is neither sent nor lost, and no stale tick leaves
/// when it goes on.
#[test]
fn what_was_never_sent_is_not_lost() {
    for scheme in [Scheme::NoMerge, Scheme::KMerge(4)] {
        let mut world = World::new();
        world.run(500);
        let now = world.now;
        world.op().input(now, Input::Command(Command::Scheme(scheme)));
        world.run(2_503);
        world.drop = Box::new(|_, _, _| true);
        world.run(8_001);
        world.drop = Box::new(|_, _, _| false);
        world.run(3_000);
        // A servo that stood still for longer than its last sample may be repeated.
        world.op().tick += 200;
        world.top().tick += 200;
        world.now += Duration::from_millis(200);
        world.run(3_000);
        let now = world.now;
        let (op, top) = (world.op().endpoint.stats(now), world.top().endpoint.stats(now));
        for (sender, receiver) in [(&op, &top), (&top, &op)] {
            let sent = sender.transmit.haptic_sent;
            let haptic = receiver.receive.media[0].clone().unwrap();
            // In the blackout 5 s left: about 250 ms before silence is noticed are part of them.
            assert!((4_500..5_300).contains(&haptic.lost), "{scheme}: {haptic:?}");
            let under_way = sent - haptic.delivered - haptic.lost;
            assert!(under_way < 530, "{scheme}: {sent} {haptic:?}");
            let told = sender.transmit.media[0].clone().unwrap();
            assert!(told.lost <= haptic.lost && told.lost > 4_500, "{told:?}");
        }
    }
}

/// A single packet with the skip flag, or one of a tick that is not yet, late in a session: the display goes on, and nothing
/// else is lost.
#[test]
fn one_packet_from_nowhere_does_not_stop_the_display() {
    for (skips, ahead) in [(true, 0), (true, 3_000), (true, 20_000), (true, 32_000), (false, 4_000), (false, 30_000)] {
        let mut op = Endpoint::new(Config { control: false, ..Config::new(Role::Op) }, 1, Instant::ZERO);
        let (mut shown, mut last, mut longest) = (0, 0, 0);
        let mut hand_in = |now: u64, tick: u64, skip: bool| {
            let header = Header {
                k: 1,
                index: tick as u16,
                sent: (now * 100) as u16,
                notification: Notification::NONE,
                media: Some(MediaHeader::default()),
                skip: skip.then_some(SkipHeader { number: 17, mask: 1 }),
            };
            let mut bytes = Vec::new();
            header.emit(&mut bytes);
            bytes.extend([0; 12]);
            op.handle(Instant::from_millis(now + 20), Input::Datagram { from: Address::default(), bytes: &bytes });
            while let Some(event) = op.poll_event() {
                if let Event::Haptic { .. } = event {
                    shown += 1;
                    longest = longest.max(now - last);
                    last = now;
                }
            }
        };
        for tick in 0..80_000 {
            if tick == 70_000 {
                hand_in(tick, tick + ahead, skips);
            }
            hand_in(tick, tick, false);
        }
        assert!(shown >= 79_990 && longest <= 10, "{skips} {ahead}: {shown} shown, {longest} ms without");
        let haptic = op.stats(Instant::from_millis(81_000)).receive.media[0].clone().unwrap();
        assert!(haptic.delivered >= 79_999 && haptic.lost <= 1, "{skips} {ahead}: {haptic:?}");
    }
}

/// The figures that a sender shows are those that its receiver measured, jitter of both kinds among them; a jitter over the
/// limit fails the medium on both sides.
#[test]
fn both_ends_of_a_channel_tell_the_same() {
    let mut world = World::new();
    world.run(4_000);
    let now = world.now;
    let (op, top) = (world.op().endpoint.stats(now), world.top().endpoint.stats(now));
    let (here, there) = (top.receive.media[0].clone().unwrap(), op.transmit.media[0].clone().unwrap());
    let (a, b) = (here.jitter_ms.unwrap(), there.jitter_ms.unwrap());
    assert!((a.packet - b.packet).abs() < 0.01 && (a.sample - b.sample).abs() < 0.01, "{a:?} {b:?}");
    assert_eq!(there.verdict, here.verdict);

    // Packets come now 20, now 45 ms after they left.
    let mut world = World::new();
    world.stagger = Duration::from_millis(25);
    world.run(6_000);
    let now = world.now;
    let told = world.op().endpoint.stats(now).transmit.media[0].clone().unwrap();
    let measured = world.top().endpoint.stats(now).receive.media[0].clone().unwrap();
    assert!(told.jitter_ms.unwrap().sample > 10.0, "{told:?}");
    assert!(!told.compliant && !measured.compliant);
    assert_eq!((told.verdict, measured.verdict), (Verdict::Fail, Verdict::Fail));
}

/// Every scheme carries both channels, samples and pictures whole, nothing lost; a change to any of them from any other on the
/// way costs no sample that was to be sent.
#[test]
fn every_scheme_works_and_follows_every_other() {
    let all: Vec<Scheme> = Scheme::all().collect();
    for (i, first) in all.iter().enumerate() {
        let mut world = World::new();
        world.video = 900;
        world.run(300);
        for scheme in [*first, all[(i + 5) % all.len()], all[(i + 9) % all.len()]] {
            let now = world.now;
            world.op().input(now, Input::Command(Command::Scheme(scheme)));
            world.run(700);
            let now = world.now;
            for stats in [world.op().endpoint.stats(now), world.top().endpoint.stats(now)] {
                assert_eq!(stats.scheme, scheme);
                let haptic = stats.receive.media[0].clone().unwrap();
                assert_eq!((haptic.lost, stats.receive.garbage), (0, 0), "{first} {scheme}: {haptic:?}");
            }
        }
        let now = world.now;
        let (op, top) = (world.op().endpoint.stats(now), world.top().endpoint.stats(now));
        for (sender, receiver) in [(&op, &top), (&top, &op)] {
            let delivered = receiver.receive.media[0].as_ref().unwrap().delivered;
            // 20 ms are on their way; a skipping scheme may hold samples back for media.
            let under_way = sender.transmit.haptic_sent - delivered;
            assert!(under_way <= 30, "{first}: {under_way} of {delivered}");
        }
        // A frame that straddles a change of numbering may be lost; the others arrive.
        let video = op.receive.media[2].clone().unwrap();
        assert!(video.delivered > 50 && video.lost <= 3, "{first}: {video:?}");
    }
}

/// Between the samples of a deadband scheme the display gets one each millisecond, so that no watchdog lets go of the hand; and
/// no longer than the sender's sign of life takes.
#[test]
fn gaps_left_on_purpose_are_filled_and_silence_is_not() {
    for scheme in [Scheme::Weber, Scheme::WeberFirstOrder, Scheme::Etp] {
        let mut world = World::new();
        world.run(300);
        let now = world.now;
        world.op().input(now, Input::Command(Command::Scheme(scheme)));
        world.run(500);
        world.op().shown = 0;
        world.run(1_000);
        let shown = world.op().shown;
        assert!((990..=1_010).contains(&shown), "{scheme}: {shown}");
        world.drop = Box::new(|_, _, bytes| bytes[0] & 0x20 == 0);
        world.run(60);
        world.op().shown = 0;
        world.run(100);
        assert_eq!(world.op().shown, 0, "{scheme}");
    }
}

/// An operator that comes back after another one was served: both ends must know that a new session began, so that stops are
/// told again and counts begin together.
#[test]
fn an_operator_that_returns_after_another_one_is_connected_anew_at_both_ends() {
    let mut world = World::new();
    world.run(2_000);
    let mut first = world.op.take().unwrap();
    world.run(400);
    world.op = Some(Station::new(Role::Op, 9, world.now));
    let now = world.now;
    world.op().input(now, Input::Command(Command::Connect(TOP_AT)));
    world.run(2_000);
    let now = world.now;
    world.op().input(now, Input::Command(Command::Goodbye));
    world.run(100);
    first.events.clear();
    world.op = Some(first);
    world.top().events.clear();
    world.run(3_000);
    assert!(world.top().saw(|e| matches!(e, Event::Connected { .. })).is_some());
    assert!(world.op().saw(|e| matches!(e, Event::Connected { .. })).is_some());
    let now = world.now;
    for (sender, receiver) in [(true, false), (false, true)] {
        let stats = |world: &mut World, op: bool| if op { world.op() } else { world.top() }.endpoint.stats(now);
        let (sent, got) = (stats(&mut world, sender), stats(&mut world, receiver));
        let told = sent.transmit.media[0].clone().unwrap();
        assert!(told.delivered + told.lost <= told.sent, "{told:?}");
        assert!(got.receive.media[0].as_ref().unwrap().lost < 500, "{:?}", got.receive.media[0]);
    }
}

/// Samples that really got lost stay lost, even if the peer says later that it did not send others.
#[test]
fn what_was_never_sent_excuses_no_loss() {
    let mut world = World::new();
    world.run(2_000);
    // A twentieth of the samples is lost on the way to the teleoperator; then nothing reaches the operator any more.
    let mut n = 0u32;
    world.drop = Box::new(move |_, to, bytes| {
        n += 1;
        to == TOP_AT && bytes[0] & 0x20 == 0 && n.is_multiple_of(20)
    });
    world.run(8_000);
    let now = world.now;
    let before = world.top().endpoint.stats(now).receive.media[0].clone().unwrap().lost;
    assert!(before > 40, "{before}");
    world.drop = Box::new(|_, to, _| to == OP_AT);
    world.run(12_000);
    let now = world.now;
    let after = world.top().endpoint.stats(now).receive.media[0].clone().unwrap().lost;
    assert!(after >= before, "{before} {after}");
}

/// Two people choose at once: both stations end with one scheme, whatever each chose.
#[test]
fn a_choice_at_both_ends_at_once_ends_in_one() {
    for (at_op, at_top) in [(Scheme::Weber, Scheme::WeberFirstOrder), (Scheme::Dpm, Scheme::KMerge(4))] {
        let mut world = World::new();
        world.run(500);
        let now = world.now;
        world.op().input(now, Input::Command(Command::Scheme(at_op)));
        world.top().input(now, Input::Command(Command::Scheme(at_top)));
        world.run(1_000);
        let now = world.now;
        let schemes = [world.op().endpoint.stats(now).scheme, world.top().endpoint.stats(now).scheme];
        assert_eq!(schemes, [at_top; 2]);
        // What is said once acts once, however often it is repeated on the way.
        let changes = world.top().events.iter().filter(|(_, e)| matches!(e, Event::SchemeChanged(_))).count();
        assert_eq!(changes, 0);
    }
}

/// Made-up samples must not outlive the peer: the watchdogs, which take the force to zero 34 ms after the last one shown, promise
/// zero 50 ms after the last real one came.
#[test]
fn what_is_shown_ends_in_time_for_the_watchdogs_whatever_the_scheme() {
    const WATCHDOG: Duration = Duration::from_millis(34);
    for scheme in Scheme::all() {
        for moment in 0..8 {
            let mut world = World::new();
            let now = world.now;
            world.op().input(now, Input::Command(Command::Scheme(scheme)));
            world.run(1_000 + moment);
            let stopped = world.now;
            world.drop = Box::new(|_, _, _| true);
            world.run(300);
            let last_came = stopped + DELAY;
            for shown_at in [world.op().shown_at, world.top().shown_at] {
                assert!(shown_at + WATCHDOG < last_came + Duration::from_millis(50), "{scheme} {moment}: {shown_at:?}");
            }
        }
    }
}
