//! The world around two endpoints. At one instant: arrivals first, then what the endpoints asked to be woken for, then
//! the teleoperator's audio, video and sample, then the operator's sample.

use media::{Channel, DataSize, Instant, Medium, Role};
use netem::{Network, Scenario, direction_seed};

use crate::proto::stats::Stats;
use crate::proto::wire::{FRAME_HEADER, LOWER_HEADERS};
use crate::proto::{Command, Config, Endpoint, Event, FrameIn, Host, Input, Scheme, Transmit, drive};
use crate::station::{Clock, Given, Log, Sent, Station, sample_of};

/// Makes the payload of frame `number` of a medium, and says whether it is a key frame.
pub type Payload = fn(Medium, u64) -> (Vec<u8>, bool);

/// Two stations and what is between them. Trace is on, control messages are off.
pub struct World {
    pub op: Station,
    pub top: Station,
    pub forward: Network,
    pub backward: Network,
    pub payload: Payload,
    /// Nothing sent in these milliseconds of true time arrives.
    pub outages_ms: Vec<core::ops::Range<u64>>,
    now: u64,
    packets: Vec<Vec<u8>>,
    buf: Vec<u8>,
}

/// A data packet of a channel from end to end.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    pub sent: Sent,
    /// `None`: lost.
    pub received_at: Option<u64>,
}

/// Haptic delays of a channel (tick to reception).
#[derive(Debug)]
pub struct Delays {
    pub mean: f64,
    pub p99: f64,
    pub max: f64,
    pub loss_percent: f64,
}

/// Frames of exactly the paper's sizes, headers included.
pub fn paper_frames(medium: Medium, number: u64) -> (Vec<u8>, bool) {
    let size = if medium == Medium::Audio { 160 } else { 2000 };
    ((0..size - FRAME_HEADER).map(|i| (number as usize * 31 + i) as u8).collect(), number.is_multiple_of(50))
}

struct Around<'a> {
    log: &'a mut Log,
    peer: Role,
    network: &'a mut Network,
    packets: &'a mut Vec<Vec<u8>>,
    true_ns: u64,
    blocked: bool,
}

impl Host for Around<'_> {
    fn transmit(&mut self, _: Instant, transmit: Transmit, bytes: &[u8]) {
        let data = transmit.data.expect("nothing but data packets without control messages");
        let wire_bytes = bytes.len() as u64 + LOWER_HEADERS;
        let (sequence, k, first_index) = (data.sequence, data.k, data.first_index);
        self.log.sent.push(Sent { sequence, at: self.true_ns, k, first_index, wire_bytes });
        if !self.blocked {
            let id = self.packets.len() as u64;
            self.network.send(Instant::from_nanos(self.true_ns), DataSize::from_bytes(wire_bytes), id);
            self.packets.push(bytes.to_vec());
        }
    }

    fn event(&mut self, _: Instant, event: &Event) {
        self.log.note(self.true_ns, self.peer, event);
    }
}

/// What comes next, in the order in which it comes at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Arrivals,
    Wake(Side),
    Tick(Side),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Top,
    Op,
}

impl World {
    /// Two stations with true clocks over the scenario of this name.
    pub fn new(scenario: &str, scheme: Scheme) -> World {
        World::over(&load(scenario), 1, scheme, [Clock::default(), Clock::default()], |_| {})
    }

    /// `clocks`: of the OP, of the TOP. `configure` may change both configurations.
    pub fn over(
        scenario: &Scenario,
        seed: u64,
        scheme: Scheme,
        clocks: [Clock; 2],
        configure: impl Fn(&mut Config),
    ) -> World {
        let station = |role, clock: Clock| {
            let mut config = Config { control: false, trace: true, scheme, ..Config::new(role) };
            configure(&mut config);
            let endpoint = Endpoint::new(config, seed, clock.at(0));
            Station { role, clock, endpoint, next_tick: 0, log: Log::default() }
        };
        let network = |spec, channel| Network::new(spec, Instant::ZERO, direction_seed(seed, channel));
        let [op, top] = clocks;
        World {
            op: station(Role::Op, op),
            top: station(Role::Top, top),
            forward: network(&scenario.forward, Channel::Forward),
            backward: network(&scenario.backward, Channel::Backward),
            payload: paper_frames,
            outages_ms: Vec::new(),
            now: 0,
            packets: Vec::new(),
            buf: Vec::new(),
        }
    }

    /// Everything before this true time, ticks included.
    pub fn run_to(&mut self, ms: u64) {
        while self.step(ms * 1_000_000, true) {}
        self.now = ms * 1_000_000;
    }

    /// No more ticks; all that is under way arrives, and what waits for a deadline is given up.
    pub fn drain(&mut self) {
        while self.step(self.now + 3_000_000_000, false) {}
    }

    /// The next thing before `end`, if any.
    fn step(&mut self, end: u64, ticking: bool) -> bool {
        let mut next: Option<(u64, Next)> = None;
        let mut consider = |at: u64, what: Next| {
            if next.is_none_or(|n| (at, what) < n) {
                next = Some((at, what));
            }
        };
        for network in [&self.forward, &self.backward] {
            if let Some(at) = network.poll_timeout() {
                consider(at.as_nanos(), Next::Arrivals);
            }
        }
        for (side, station) in [(Side::Top, &self.top), (Side::Op, &self.op)] {
            let (tick, wake) = station.due(self.now);
            if ticking {
                consider(tick, Next::Tick(side));
            }
            if let Some(at) = wake {
                consider(at, Next::Wake(side));
            }
        }
        let Some((at, what)) = next.filter(|n| n.0 < end) else { return false };
        self.now = self.now.max(at);
        match what {
            Next::Arrivals => self.arrivals(at),
            Next::Wake(side) => self.input(side, Input::Timeout),
            Next::Tick(side) => self.tick(side),
        }
        true
    }

    fn arrivals(&mut self, at: u64) {
        self.backward.advance(Instant::from_nanos(at));
        self.forward.advance(Instant::from_nanos(at));
        while let Some(d) = self.backward.poll_delivery() {
            self.deliver(d.id, Side::Op);
        }
        while let Some(d) = self.forward.poll_delivery() {
            self.deliver(d.id, Side::Top);
        }
    }

    fn deliver(&mut self, id: u64, to: Side) {
        let bytes = std::mem::take(&mut self.packets[id as usize]);
        self.input(to, Input::Datagram { from: Default::default(), bytes: &bytes });
        self.packets[id as usize] = bytes;
    }

    fn tick(&mut self, side: Side) {
        let station = if side == Side::Op { &mut self.op } else { &mut self.top };
        let tick = station.next_tick;
        station.next_tick += 1;
        let role = station.role;
        if role == Role::Top {
            for (medium, period) in [(Medium::Audio, 20), (Medium::Video, 40)] {
                if tick.is_multiple_of(period) {
                    self.give(medium);
                }
            }
        }
        self.input(side, Input::Haptic { tick, sample: sample_of(role, tick) });
    }

    fn give(&mut self, medium: Medium) {
        let given = &mut self.top.log.given[usize::from(medium == Medium::Video)];
        let (payload, key) = (self.payload)(medium, given.len() as u64);
        given.push(Given { at: self.now, payload: payload.clone(), key });
        let frame = FrameIn { payload: &payload, key, captured_at: self.top.clock.at(self.now) };
        let input = if medium == Medium::Video { Input::Video(frame) } else { Input::Audio(frame) };
        self.input(Side::Top, input);
    }

    fn input(&mut self, side: Side, input: Input<'_>) {
        let true_ns = self.now;
        let blocked = self.outages_ms.iter().any(|o| o.contains(&(true_ns / 1_000_000)));
        let (station, network) = match side {
            Side::Op => (&mut self.op, &mut self.forward),
            Side::Top => (&mut self.top, &mut self.backward),
        };
        let peer = station.role.peer();
        let mut around = Around { log: &mut station.log, peer, network, packets: &mut self.packets, true_ns, blocked };
        drive(&mut station.endpoint, station.clock.at(true_ns), input, &mut self.buf, &mut around);
    }

    /// Both stations are told the same.
    pub fn command(&mut self, command: Command) {
        self.input(Side::Top, Input::Command(command));
        self.input(Side::Op, Input::Command(command));
    }

    /// What the station of this role says about itself now.
    pub fn stats(&self, role: Role) -> Stats {
        let station = if role == Role::Op { &self.op } else { &self.top };
        station.endpoint.stats(station.clock.at(self.now))
    }

    /// Sender's and receiver's notes of a channel.
    pub fn logs(&self, channel: Channel) -> (&Log, &Log) {
        match channel {
            Channel::Backward => (&self.top.log, &self.op.log),
            Channel::Forward => (&self.op.log, &self.top.log),
        }
    }

    /// The packets of a channel from end to end.
    pub fn packets(&self, channel: Channel) -> Vec<Packet> {
        let (sender, receiver) = self.logs(channel);
        let mut packets: Vec<Packet> =
            sender.sent.iter().map(|s| Packet { sent: s.clone(), received_at: None }).collect();
        for &(at, first, k) in &receiver.received {
            let i = packets.partition_point(|p| p.sent.first_index < first);
            let p = &mut packets[i];
            assert_eq!((p.sent.first_index, p.sent.k), (first, k), "{channel:?}: received what was not sent");
            assert_eq!(p.received_at.replace(at), None, "{channel:?}: packet {i} received twice");
        }
        packets
    }

    /// How many packets of a channel were lost.
    pub fn lost(&self, channel: Channel) -> usize {
        self.packets(channel).iter().filter(|p| p.received_at.is_none()).count()
    }

    /// Delays of the samples of these ticks.
    pub fn delays(&self, channel: Channel, ticks: core::ops::Range<u64>) -> Delays {
        let clock = if channel == Channel::Backward { &self.top.clock } else { &self.op.clock };
        let mut delays = Vec::new();
        let mut lost = 0u64;
        for p in self.packets(channel) {
            for i in (p.sent.first_index..).take(usize::from(p.sent.k)).filter(|i| ticks.contains(i)) {
                match p.received_at {
                    None => lost += 1,
                    Some(at) => delays.push((at - clock.tick(i)) as f64 / 1e6),
                }
            }
        }
        delays.sort_by(f64::total_cmp);
        Delays {
            mean: delays.iter().sum::<f64>() / delays.len() as f64,
            p99: delays[(delays.len() as f64 * 0.99).ceil() as usize - 1],
            max: delays[delays.len() - 1],
            loss_percent: 100.0 * lost as f64 / (lost + delays.len() as u64) as f64,
        }
    }

    /// Changes of k of a channel from a tick on.
    pub fn k_changes(&self, channel: Channel, from: u64) -> Vec<(u64, u8)> {
        self.logs(channel).0.k_changes.iter().copied().filter(|c| c.0 >= from).collect()
    }
}

/// The scenario of this name.
pub fn load(name: &str) -> Scenario {
    Scenario::load(name).unwrap_or_else(|e| panic!("{e}"))
}
