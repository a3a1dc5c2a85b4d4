//! One telehaptic session: two stations and the two channels between them.

use media::{Instant, Medium, Role, SampleKind};
use netem::Scenario;
use proto::report::{Channels, Clock, Report, SCHEMA};
use proto::wire::{LOWER_HEADERS, Packet as WirePacket};
use proto::{Endpoint, Event, FRAME_HEADER, FrameIn, Host, Input, TraceEvent, Transmit, drive};

use crate::channel::{Channel, Packet, TICK};
use crate::outcome::{self, Details, FlowDetails, Footprint, Outcome};
use crate::road::Road;
use crate::slab::Owner;
use crate::source::{FrameSource, Servo};
use crate::spec::{FrameWatch, SessionSpec};
use crate::traces::Traces;

/// Which station, and which road it sends on; in the order in which they come at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Sends on the backward road.
    Top,
    /// Sends on the forward road.
    Op,
}

impl Side {
    pub const BOTH: [Side; 2] = [Side::Top, Side::Op];

    pub fn peer(self) -> Side {
        match self {
            Side::Top => Side::Op,
            Side::Op => Side::Top,
        }
    }
}

/// Both directions of the network.
pub(crate) struct Roads {
    pub backward: Road,
    pub forward: Road,
}

impl Roads {
    /// The road that a station sends on.
    pub fn from(&mut self, side: Side) -> &mut Road {
        match side {
            Side::Top => &mut self.backward,
            Side::Op => &mut self.forward,
        }
    }

    /// The road that a station sends on, and the one that it hears.
    fn both(&mut self, side: Side) -> (&mut Road, &mut Road) {
        match side {
            Side::Top => (&mut self.backward, &mut self.forward),
            Side::Op => (&mut self.forward, &mut self.backward),
        }
    }
}

/// What all sessions of a run have in common.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// Length, s.
    pub seconds: f64,
}

/// Two stations and what is known of their channels.
pub(crate) struct Session {
    number: usize,
    /// Tick 0.
    start: Instant,
    next_tick: u64,
    /// Nothing is handed in from here to there.
    pause: Option<(Instant, Instant)>,
    /// The figures begin here, and the ticks end there.
    from: Instant,
    end: Instant,
    scheme: String,
    top: Station,
    op: Station,
    backward: Channel,
    forward: Channel,
    buf: Vec<u8>,
}

struct Station {
    endpoint: Endpoint,
    servo: Box<dyn Servo>,
    media: Vec<FrameSource>,
    watch: Option<FrameWatch>,
    wake_at: Option<Instant>,
    /// What it had counted before the figures began.
    before: Counts,
}

/// What an endpoint counts on its sending side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Triggers raised.
    pub i_c: u64,
    pub i_s: u64,
    /// Frames for which the multiplexer had no room.
    pub refused_frames: u64,
}

impl Session {
    /// Session `number` of a run that ends at `end`.
    pub fn new(number: usize, spec: SessionSpec, scenario: &Scenario, seed: u64, traces: bool, end: Instant) -> Self {
        let start = Instant::ZERO + spec.start;
        let from = (start + scenario.warmup).min(end);
        let station = |role: Role| Endpoint::new(spec.config(role), seed.wrapping_add(number as u64), start);
        let (top, op) = (station(Role::Top), station(Role::Op));
        let has = [spec.audio.is_some(), spec.video.is_some()];
        let media = spec.audio.into_iter().chain(spec.video).collect();
        Session {
            number,
            start,
            next_tick: 0,
            pause: spec.pause.map(|(from, to)| (Instant::ZERO + from, Instant::ZERO + to)),
            from,
            end,
            scheme: spec.scheme.to_string(),
            backward: Channel::new(&scenario.backward, start, from, has, traces),
            forward: Channel::new(&scenario.forward, start, from, [false; 2], traces),
            top: Station::new(top, spec.top, media, None),
            op: Station::new(op, spec.op, Vec::new(), spec.watch),
            buf: Vec::new(),
        }
    }

    /// When the next tick of both stations is due, if there is one more.
    pub fn tick_at(&self) -> Option<Instant> {
        let at = Instant::from_nanos(self.start.as_nanos() + self.next_tick * TICK.as_nanos() as u64);
        (at < self.end).then_some(at)
    }

    /// Both stations have done this tick.
    pub fn end_tick(&mut self) {
        self.next_tick += 1;
    }

    /// When the figures begin.
    pub fn from(&self) -> Instant {
        self.from
    }

    /// When a station's endpoint wants to be woken.
    pub fn wake_at(&self, side: Side) -> Option<Instant> {
        self.station(side).wake_at
    }

    /// A wake-up is due.
    pub fn wake(&mut self, now: Instant, side: Side, roads: &mut Roads) {
        let (mut driven, _) = self.driven(side, roads.from(side));
        driven.input(now, Input::Timeout);
    }

    /// A tick of a station: sound and picture of this instant, then the sample.
    pub fn tick(&mut self, now: Instant, side: Side, roads: &mut Roads) {
        let paused = self.pause.is_some_and(|(from, to)| from <= now && now < to);
        let tick = self.next_tick;
        let (mut driven, media) = self.driven(side, roads.from(side));
        for source in media {
            let medium = source.medium();
            // Frames of a pause are gone, not late.
            if let Some(frame) = source.frame(tick).filter(|_| !paused) {
                let frame = FrameIn { payload: frame.payload, key: frame.key, captured_at: now };
                driven.input(now, if medium == Medium::Video { Input::Video(frame) } else { Input::Audio(frame) });
            }
        }
        if paused {
            return;
        }
        let sample = driven.around.servo.tick(tick);
        driven.input(now, Input::Haptic { tick, sample });
    }

    /// Packet `id` of the road that this station hears has arrived.
    pub fn arrive(&mut self, now: Instant, side: Side, roads: &mut Roads, id: u64) {
        let (sends, hears) = roads.both(side);
        let (owner, bytes) = hears.packet(id);
        let (mut driven, _) = self.driven(side, sends);
        driven.around.arriving = owner.sequence;
        driven.input(now, Input::Datagram { from: Default::default(), bytes });
        if let Some(owner) = hears.finish(id) {
            self.on_gone(side.peer(), owner.sequence);
        }
    }

    /// The last copy of a packet that this station sent is gone.
    pub fn on_gone(&mut self, side: Side, sequence: Option<u64>) {
        let Some(sequence) = sequence else { return };
        match side {
            Side::Top => self.backward.on_gone(sequence),
            Side::Op => self.forward.on_gone(sequence),
        }
    }

    /// The figures begin at `now`.
    pub fn begin_figures(&mut self, now: Instant) {
        for station in [&mut self.top, &mut self.op] {
            station.before = station.counts(now);
        }
    }

    /// Nothing more will come: the outcome. `flows` are those of the backward and of the forward direction.
    pub fn finish(mut self, spec: &Common, flows: [&[FlowDetails]; 2], packet_buffers: usize) -> Outcome {
        let end = self.end;
        let [backward_flows, forward_flows] = flows.map(<[FlowDetails]>::to_vec);
        let (top, op) = (self.top.counts_of_figures(end), self.op.counts_of_figures(end));
        let cross_traffic = Some(outcome::cross_traffic(&backward_flows, &forward_flows));
        let (backward, backward_details) = self.backward.finish(end, top, backward_flows);
        let (forward, forward_details) = self.forward.finish(end, op, forward_flows);
        let packets_under_way = self.backward.most_under_way().max(self.forward.most_under_way());
        let traces = self.backward.take_traces().zip(self.forward.take_traces());
        Outcome {
            report: Report {
                schema: SCHEMA,
                scheme: self.scheme,
                scenario: spec.scenario.clone(),
                seed: spec.seed,
                seconds: spec.seconds,
                clock: Clock::Virtual,
                clock_bound_ms: Some(0.0),
                channels: Channels { backward, forward },
                cross_traffic,
                system: None,
            },
            details: Details { backward: backward_details, forward: forward_details, force_snr_db: None },
            traces: traces.map(|(backward, forward)| Traces { backward, forward }),
            footprint: Footprint { packet_buffers, packets_under_way },
        }
    }

    fn driven<'a>(&'a mut self, side: Side, road: &'a mut Road) -> (Driven<'a>, &'a mut [FrameSource]) {
        let (station, sends, hears) = match side {
            Side::Top => (&mut self.top, &mut self.backward, &mut self.forward),
            Side::Op => (&mut self.op, &mut self.forward, &mut self.backward),
        };
        let Station { endpoint, servo, media, watch, wake_at, .. } = station;
        let (session, servo) = (self.number, servo.as_mut());
        let around = Around { session, side, road, sends, hears, servo, watch, arriving: None };
        (Driven { endpoint, wake_at, buf: &mut self.buf, around }, media)
    }

    fn station(&self, side: Side) -> &Station {
        match side {
            Side::Top => &self.top,
            Side::Op => &self.op,
        }
    }
}

impl Station {
    fn new(endpoint: Endpoint, servo: Box<dyn Servo>, media: Vec<FrameSource>, watch: Option<FrameWatch>) -> Self {
        Station { endpoint, servo, media, watch, wake_at: None, before: Counts::default() }
    }

    fn counts(&self, now: Instant) -> Counts {
        let stats = self.endpoint.stats(now).transmit;
        Counts { i_c: stats.i_c, i_s: stats.i_s, refused_frames: stats.refused }
    }

    fn counts_of_figures(&self, now: Instant) -> Counts {
        let (counts, before) = (self.counts(now), self.before);
        Counts {
            i_c: counts.i_c - before.i_c,
            i_s: counts.i_s - before.i_s,
            refused_frames: counts.refused_frames - before.refused_frames,
        }
    }
}

/// One endpoint and what is around it for the length of one input.
struct Driven<'a> {
    endpoint: &'a mut Endpoint,
    wake_at: &'a mut Option<Instant>,
    buf: &'a mut Vec<u8>,
    around: Around<'a>,
}

impl Driven<'_> {
    fn input(&mut self, now: Instant, input: Input<'_>) {
        *self.wake_at = drive(self.endpoint, now, input, self.buf, &mut self.around).map(|timeout| timeout.at);
    }
}

struct Around<'a> {
    session: usize,
    side: Side,
    road: &'a mut Road,
    sends: &'a mut Channel,
    hears: &'a mut Channel,
    servo: &'a mut dyn Servo,
    watch: &'a mut Option<FrameWatch>,
    /// The packet that is being taken in.
    arriving: Option<u64>,
}

impl Host for Around<'_> {
    fn transmit(&mut self, now: Instant, transmit: Transmit, bytes: &[u8]) {
        let Some(data) = transmit.data else {
            // The report of a scheme that lives by them takes its place on the links like any packet.
            return self.road.send(now, Owner { session: self.session, sequence: None }, bytes);
        };
        // The streams' shares of the packet tell which frames have left.
        let parsed = match self.side {
            Side::Top => WirePacket::parse(bytes, SampleKind::Force.size(), true),
            Side::Op => None,
        };
        let (audio, video) = parsed.map_or((0, 0), |p| (p.audio.len(), p.video.len()));
        let wire_bytes = bytes.len() as u64 + LOWER_HEADERS;
        let packet = Packet { at: now, first_index: data.first_index, k: data.k, mask: data.mask, wire_bytes };
        let sequence = self.sends.on_sent(packet, audio, video);
        self.road.send(now, Owner { session: self.session, sequence: Some(sequence) }, bytes);
    }

    fn event(&mut self, now: Instant, event: &Event) {
        match *event {
            Event::Frame(ref frame) => {
                if let Some(watch) = self.watch {
                    watch(frame);
                }
            }
            Event::Haptic { index, sample } => self.servo.display(now, index, sample),
            Event::Trace(TraceEvent::HapticTaken { index, at }) => self.sends.on_taken(index, at),
            Event::Trace(TraceEvent::FrameTaken { medium, number, at, bytes }) => {
                self.sends.on_frame_taken(medium, number, at, (FRAME_HEADER + bytes) as u64);
            }
            Event::Trace(TraceEvent::MergeFactor { index, k, cause }) => self.sends.on_merge_factor(index, k, cause),
            Event::Trace(TraceEvent::PacketReceived { at, .. }) => {
                if let Some(sequence) = self.arriving {
                    self.hears.on_received(sequence, at);
                }
            }
            Event::Trace(TraceEvent::HapticDisplayed { index, at }) => self.hears.on_displayed(index, at),
            Event::Trace(TraceEvent::FrameReceived { medium, number, at, display_at }) => {
                self.hears.on_frame_received(medium, number, at, display_at);
            }
            _ => {}
        }
    }
}
