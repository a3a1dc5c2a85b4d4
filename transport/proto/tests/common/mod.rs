//! A small world in virtual time: two endpoints, two networks, synthetic audio and video as in the paper, one event loop.
//!
//! Order at an instant: deliveries first, then frames, then the tick's sample, then what the endpoints asked to be woken for.

use telehaptic_proto as proto;

use media::{Channel, DataSize, Force, HapticSample, Instant, Motion, Position, Role, Velocity};
use netem::{Network, Scenario, direction_seed};
use proto::wire::{FRAME_HEADER, LOWER_HEADERS};
use proto::{Config, Endpoint, Event, FrameIn, Host, Input, TraceEvent, Transmit, drive};

/// A data packet: `receive_ns` is -1 while it has not arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketRecord {
    pub sequence: u64,
    pub send_ns: i64,
    pub receive_ns: i64,
    pub k: u8,
    pub first_sample: u64,
    pub wire_bytes: u64,
}

/// A station's clock as seen from true time: `offset_ns` ahead, drifting, with steps at given true times.
#[derive(Clone, Debug, Default)]
pub struct StationClock {
    pub offset_ns: i64,
    pub skew_ppm: f64,
    /// (true time in ms, ns added from then on)
    pub steps: Vec<(u64, i64)>,
}

/// Where true time zero lies on an unshifted clock: room for negative offsets.
const ORIGIN_NS: i64 = 10_000_000_000;

impl StationClock {
    fn at(&self, true_ns: u64) -> Instant {
        let steps: i64 = self.steps.iter().filter(|s| true_ns >= s.0 * 1_000_000).map(|s| s.1).sum();
        let skew = (true_ns as f64 * self.skew_ppm * 1e-6) as i64;
        Instant::from_nanos((ORIGIN_NS + true_ns as i64 + self.offset_ns + skew + steps) as u64)
    }
}

/// Everything one station saw.
#[derive(Default)]
pub struct Station {
    pub sent: Vec<PacketRecord>,
    /// (tick, k)
    pub k_changes: Vec<(u64, u8)>,
    /// Displayed samples.
    pub displayed: Vec<(u64, HapticSample)>,
    /// (index, delay from tick to reception in ns)
    pub frames: Vec<(media::Medium, u64, Vec<u8>)>,
    /// Indexes of received packets: (true ns, first index, k)
    pub received: Vec<(u64, u64, u8)>,
}

pub struct World {
    pub op: Endpoint,
    pub top: Endpoint,
    pub at_op: Station,
    pub at_top: Station,
    pub forward: Network,
    pub backward: Network,
    pub op_clock: StationClock,
    pub top_clock: StationClock,
    /// Real frames instead of constant bytes: payload of the frame of this number.
    pub payload: fn(media::Medium, u64) -> Vec<u8>,
    /// Nothing passes while true time is in here, ms.
    pub outage_ms: core::ops::Range<u64>,
    packets: Vec<Vec<u8>>,
    buf: Vec<u8>,
    audio: u64,
    video: u64,
}

pub fn paper_payload(medium: media::Medium, number: u64) -> Vec<u8> {
    let len = if medium == media::Medium::Audio { 160 } else { 2000 } - FRAME_HEADER;
    vec![number as u8; len]
}

/// The sample that a station takes at a tick: different bits at every tick.
pub fn sample(role: Role, tick: u64) -> HapticSample {
    let bits = |salt: u32| f32::from_bits((tick as u32).wrapping_mul(2_654_435_761) ^ salt);
    match role {
        Role::Top => HapticSample::Force(Force::new(bits(1), bits(2), bits(3))),
        Role::Op => HapticSample::Motion(Motion {
            position: Position::new(bits(4), bits(5), bits(6)),
            velocity: Velocity::new(bits(7), bits(8), bits(9)),
        }),
    }
}

struct Noting<'a> {
    station: &'a mut Station,
    network: &'a mut Network,
    packets: &'a mut Vec<Vec<u8>>,
    true_ns: u64,
    blocked: bool,
}

impl Host for Noting<'_> {
    fn transmit(&mut self, _: Instant, transmit: Transmit, bytes: &[u8]) {
        let Some(data) = transmit.data else { return };
        let wire_bytes = bytes.len() as u64 + LOWER_HEADERS;
        self.station.sent.push(PacketRecord {
            sequence: data.sequence,
            send_ns: self.true_ns as i64,
            receive_ns: -1,
            k: data.k,
            first_sample: data.first_index,
            wire_bytes,
        });
        if !self.blocked {
            self.network.send(
                Instant::from_nanos(self.true_ns),
                DataSize::from_bytes(wire_bytes),
                self.packets.len() as u64,
            );
        }
        self.packets.push(bytes.to_vec());
    }

    fn event(&mut self, _: Instant, event: &Event) {
        match event {
            Event::Haptic { index, sample } => self.station.displayed.push((*index, *sample)),
            Event::Frame(f) => self.station.frames.push((f.medium, f.number, f.payload.clone())),
            Event::Trace(TraceEvent::MergeFactor { index, k, .. }) => self.station.k_changes.push((*index, *k)),
            Event::Trace(TraceEvent::PacketReceived { k, first_index, .. }) => {
                self.station.received.push((self.true_ns, *first_index, *k));
            }
            _ => {}
        }
    }
}

impl World {
    /// The paper's set-up over `scenario`; `configure` may change either configuration.
    pub fn new(scenario: &str, seed: u64, configure: impl Fn(&mut Config)) -> World {
        let scenario = Scenario::load(scenario).unwrap_or_else(|e| panic!("{e}"));
        World::over(&scenario, seed, configure, [StationClock::default(), StationClock::default()])
    }

    /// `clocks`: OP, TOP.
    pub fn over(scenario: &Scenario, seed: u64, configure: impl Fn(&mut Config), clocks: [StationClock; 2]) -> World {
        let endpoint = |role, clock: &StationClock| {
            let mut config = Config { control: false, trace: true, ..Config::new(role) };
            configure(&mut config);
            Endpoint::new(config, seed, clock.at(0))
        };
        let network = |spec, channel| Network::new(spec, Instant::ZERO, direction_seed(seed, channel));
        let [op_clock, top_clock] = clocks;
        World {
            op: endpoint(Role::Op, &op_clock),
            top: endpoint(Role::Top, &top_clock),
            at_op: Station::default(),
            at_top: Station::default(),
            forward: network(&scenario.forward, Channel::Forward),
            backward: network(&scenario.backward, Channel::Backward),
            op_clock,
            top_clock,
            payload: paper_payload,
            outage_ms: 0..0,
            packets: Vec::new(),
            buf: Vec::new(),
            audio: 0,
            video: 0,
        }
    }

    /// Ticks 0 .. `ticks`, then drains.
    pub fn run(&mut self, ticks: u64) {
        for tick in 0..ticks {
            let now = tick * 1_000_000;
            self.advance(now);
            let [audio, video] = [tick.is_multiple_of(20), tick.is_multiple_of(40)];
            if audio {
                let payload = (self.payload)(media::Medium::Audio, self.audio);
                self.audio += 1;
                let captured_at = self.top_clock.at(now);
                self.input(now, Role::Top, Input::Audio(FrameIn { payload: &payload, key: true, captured_at }));
            }
            if video {
                let payload = (self.payload)(media::Medium::Video, self.video);
                self.video += 1;
                let captured_at = self.top_clock.at(now);
                self.input(now, Role::Top, Input::Video(FrameIn { payload: &payload, key: true, captured_at }));
            }
            for role in [Role::Top, Role::Op] {
                self.input(now, role, Input::Haptic { tick, sample: sample(role, tick) });
            }
        }
        self.advance((ticks + 2_000) * 1_000_000);
        for station in [&mut self.at_op, &mut self.at_top] {
            assert!(station.displayed.windows(2).all(|w| w[0].0 < w[1].0));
        }
    }

    /// Everything up to and including `until`, in order of time.
    fn advance(&mut self, until: u64) {
        loop {
            let network = |n: &Network| n.poll_timeout().map(|t| t.as_nanos());
            let next = [network(&self.forward), network(&self.backward)].into_iter().flatten().min();
            let Some(next) = next.filter(|&t| t <= until) else { break };
            // Wake-ups that fall before the next arrival.
            self.wake(next);
            self.forward.advance(Instant::from_nanos(next));
            self.backward.advance(Instant::from_nanos(next));
            while let Some(d) = self.backward.poll_delivery() {
                self.deliver(d.at.as_nanos(), d.id, Role::Op);
            }
            while let Some(d) = self.forward.poll_delivery() {
                self.deliver(d.at.as_nanos(), d.id, Role::Top);
            }
        }
        self.wake(until);
    }

    /// Calls the endpoints at the milliseconds (of true time) up to `until` at which they asked to be woken.
    fn wake(&mut self, until: u64) {
        for role in [Role::Op, Role::Top] {
            let (endpoint, clock) = self.side(role);
            let due = endpoint.poll_timeout().is_some_and(|t| t.at <= clock.at(until));
            if due {
                self.input(until, role, Input::Timeout);
            }
        }
    }

    fn side(&self, role: Role) -> (&Endpoint, &StationClock) {
        match role {
            Role::Op => (&self.op, &self.op_clock),
            Role::Top => (&self.top, &self.top_clock),
        }
    }

    fn deliver(&mut self, at: u64, id: u64, to: Role) {
        let bytes = std::mem::take(&mut self.packets[id as usize]);
        self.input(at, to, Input::Datagram { from: Default::default(), bytes: &bytes });
        self.packets[id as usize] = bytes;
    }

    pub fn input(&mut self, true_ns: u64, role: Role, input: Input<'_>) {
        let blocked = self.outage_ms.contains(&(true_ns / 1_000_000));
        let (endpoint, clock, station, network) = match role {
            Role::Op => (&mut self.op, &self.op_clock, &mut self.at_op, &mut self.forward),
            Role::Top => (&mut self.top, &self.top_clock, &mut self.at_top, &mut self.backward),
        };
        let mut host = Noting { station, network, packets: &mut self.packets, true_ns, blocked };
        drive(endpoint, clock.at(true_ns), input, &mut self.buf, &mut host);
    }

    /// The packets of a channel with their receive times.
    pub fn packets(&self, channel: Channel) -> Vec<PacketRecord> {
        let (sender, receiver) = match channel {
            Channel::Backward => (&self.at_top, &self.at_op),
            Channel::Forward => (&self.at_op, &self.at_top),
        };
        let mut packets = sender.sent.clone();
        for &(at, first, k) in &receiver.received {
            let i = packets.partition_point(|p| p.first_sample < first);
            let p = &mut packets[i];
            assert_eq!((p.first_sample, p.k), (first, k));
            if p.receive_ns < 0 {
                p.receive_ns = at as i64;
            }
        }
        packets
    }

    /// Haptic delays (tick to reception) in ms of the samples taken from `from_ms` on, and the share lost in percent.
    pub fn haptic_delays(&self, channel: Channel, from_ms: u64) -> (Vec<f64>, f64) {
        let mut delays = Vec::new();
        let mut lost = 0;
        for p in self.packets(channel) {
            for i in (p.first_sample..).take(usize::from(p.k)).filter(|&i| i >= from_ms) {
                match p.receive_ns {
                    -1 => lost += 1,
                    at => delays.push((at - i as i64 * 1_000_000) as f64 / 1e6),
                }
            }
        }
        let total = delays.len() + lost;
        (delays, 100.0 * lost as f64 / total as f64)
    }
}
