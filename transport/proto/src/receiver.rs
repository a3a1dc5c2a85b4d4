//! The receiving side: packets become samples and frames, and a notification for the peer.

mod figures;
mod sink;

use media::{Channel, Duration, HapticSample, Instant, Medium, PeerTime, SampleKind};

use crate::api::{Event, Reason, Timeout, TraceEvent};
use crate::arrivals::{Arrival, Arrivals, PLAUSIBLE, RESYNC_AFTER};
use crate::clock::{self, Noticed, OffsetEstimator, PeerClock};
use crate::config::{Config, Scheme};
use crate::endpoint::Events;
use crate::meter::MediumMeter;
use crate::playout::{AvSync, HapticPlayout, Shown};
use crate::reassembly::Reassembly;
use crate::reconstruct::Reconstruction;
use crate::stats::ReceiveStats;
use crate::wire::{LOWER_HEADERS, NOTIFIED_MASK, Notification, Packet};
use sink::FrameSink;

const TICK_NS: i64 = 1_000_000;
/// No clock shows this: 36 years.
const ABSURD_NS: i64 = 1 << 60;
/// No session has so many ticks: 8900 years.
const ABSURD_TICK: u64 = 1 << 48;
/// Where packet numbers begin for us: so far from zero that an older one can be told.
const FIRST_PACKET: u64 = 1 << 20;
/// A key frame is asked for again after this: time for the request, the frame's 8 kB and two delays.
const KEY_AGAIN: Duration = Duration::from_millis(400);

/// Everything about the channel that this station receives.
#[derive(Debug)]
pub struct Receiver {
    kind: SampleKind,
    with_media: bool,
    trace: bool,
    arrivals: Arrivals,
    /// The peer skips samples on purpose: `arrivals` counts packets, not ticks.
    skipping: bool,
    /// So many packets in succession named a tick that cannot be.
    absurd: u32,
    scheme: Scheme,
    max_gap_ms: u64,
    reassembly: Reassembly,
    playout: HapticPlayout,
    sync: AvSync,
    peer_clock: PeerClock,
    offsets: OffsetEstimator,
    notification: Notification,
    newest: Option<Newest>,
    meters: [MediumMeter; 3],
    /// Delivered, lost and late of each medium when this session began.
    before: [[u64; 3]; 3],
    /// Ticks that the peer says it never sent, and how many of them are yet to be taken from the losses.
    unsent: (u32, u64),
    /// The peer's next tick when it said hello.
    first_expected: u64,
    recent: Recent,
    wants_key: bool,
    key_asked: Option<Instant>,
    counters: ReceiveStats,
}

/// The newest packet.
#[derive(Clone, Copy, Debug)]
struct Newest {
    /// Tick of its last sample.
    tick: u64,
    /// When the peer sent it.
    sent_at: PeerTime,
    received_at: Instant,
}

/// Running means for the display.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    /// Raw delay, ns.
    delay: Option<f64>,
    last_of_packet: Option<i64>,
    jitter: f64,
}

impl Receiver {
    /// A receiver that has heard nothing yet.
    pub fn new(config: &Config) -> Self {
        let kind = config.receives();
        Receiver {
            kind,
            with_media: kind.channel() == Channel::Backward,
            trace: config.trace,
            arrivals: Arrivals::new(config.loss_deadline, Duration::from_millis(1)),
            skipping: false,
            absurd: 0,
            scheme: config.scheme,
            max_gap_ms: config.rivals.max_gap_ms,
            reassembly: Reassembly::new(config.reassembly_deadline),
            playout: HapticPlayout::new(config.playout_capacity),
            sync: AvSync::default(),
            peer_clock: PeerClock::default(),
            offsets: OffsetEstimator::new(),
            notification: Notification::NONE,
            newest: None,
            meters: Medium::ALL.map(|m| MediumMeter::new(m.limits())),
            before: [[0; 3]; 3],
            unsent: (0, 0),
            first_expected: 0,
            recent: Recent::default(),
            wants_key: false,
            key_asked: None,
            counters: ReceiveStats::default(),
        }
    }

    /// The samples are of another kind from now on, one of the same channel. Only between peers: what waits is of the old one.
    pub fn set_kind(&mut self, kind: SampleKind) {
        self.kind = kind;
    }

    /// The peer is another; its next tick is `next_tick`, and `unsent` ticks before it left in no packet. Counters and
    /// meters go on.
    pub fn reset(&mut self, next_tick: u64, unsent: u32) {
        let lost = self.arrivals.reset(next_tick.min(ABSURD_TICK), true);
        // What the old peer never sent is taken from what is lost only now, not from what was lost before.
        self.unsent.1 = self.unsent.1.min(lost);
        self.on_lost(lost);
        self.skipping = false;
        self.reconstruct();
        self.unsent = (unsent, 0);
        self.first_expected = next_tick;
        self.meters.iter_mut().for_each(MediumMeter::on_new_peer);
        self.before = self.counts();
        self.reassembly.reset();
        self.playout.reset();
        self.sync = AvSync::default();
        self.peer_clock = PeerClock::default();
        self.offsets = OffsetEstimator::new();
        self.notification = Notification::NONE;
        self.newest = None;
        self.recent = Recent::default();
        self.need_key_frame();
    }

    /// What to tell the peer in the next packet.
    pub fn notification(&self) -> Notification {
        self.notification
    }

    /// The relation of the clocks.
    pub fn offsets(&self) -> &OffsetEstimator {
        &self.offsets
    }

    /// A datagram from a stranger.
    pub fn on_foreign(&mut self) {
        self.counters.foreign += 1;
    }

    /// A datagram that says nothing.
    pub fn on_garbage(&mut self) {
        self.counters.garbage += 1;
    }

    /// The peer told its full time.
    pub fn on_peer_time(&mut self, now: Instant, sent_at: u64) {
        if sent_at < ABSURD_NS as u64 {
            self.peer_clock.set(now, PeerTime::from_nanos(sent_at as i64));
        }
    }

    /// Both stations read one machine's clock: the peer's time is ours plus `offset_ns`.
    pub fn set_exact_offset(&mut self, offset_ns: i64) {
        if (-ABSURD_NS..ABSURD_NS).contains(&offset_ns) {
            self.offsets.set_exact(offset_ns);
        }
    }

    /// A data packet from the peer. `None` if it is garbage or came before; its notification and its own raw
    /// delay, if it is newer than those before.
    pub fn on_packet(
        &mut self,
        now: Instant,
        bytes: &[u8],
        events: &mut Events,
    ) -> Option<Option<(Notification, i64)>> {
        let Some(packet) = Packet::parse(bytes, self.kind.size(), self.with_media) else {
            self.counters.garbage += 1;
            return None;
        };
        let header = packet.header;
        if header.skip.is_some() && self.is_absurd(now, header.index) {
            self.counters.garbage += 1;
            return None;
        }
        if header.skip.is_some() != self.skipping {
            self.change_numbering(now);
        }
        let k = u64::from(header.k);
        let (number, count) = header.skip.map_or((header.index, k), |s| (s.number, 1));
        let (number, reordered) = match self.arrivals.on_packet(now, number, count) {
            Arrival::New { first, reordered, lost } => {
                self.on_lost(lost);
                (first, reordered)
            }
            Arrival::Restarted { first, lost } => {
                self.on_lost(lost);
                self.unsent.1 = 0;
                self.reassembly.reset();
                self.playout.reset();
                (first, false)
            }
            Arrival::Duplicate => {
                self.counters.duplicate += 1;
                return None;
            }
            Arrival::TooLate => {
                self.counters.reordered += 1;
                return None;
            }
            Arrival::Implausible => {
                self.counters.garbage += 1;
                return None;
            }
        };
        self.counters.packets += 1;
        self.counters.wire_bytes += bytes.len() as u64 + LOWER_HEADERS;
        let first = if self.skipping { self.unwrap_index(now, header.index) } else { number };
        if self.newest.is_none() && !self.skipping {
            // Ticks between the hello and the first packet leave no gap, so nothing is to be taken back for them.
            let before = first.saturating_sub(self.first_expected);
            let known = before.min(self.unsent.1);
            self.unsent = (self.unsent.0.wrapping_add((before - known) as u32), self.unsent.1 - known);
        }
        let sent_at = self.peer_clock.unwrap(now, header.sent);
        let inbound = (now.as_nanos() as i64).wrapping_sub(sent_at.as_nanos());
        if reordered {
            self.counters.reordered += 1;
        } else {
            self.newest = Some(Newest { tick: first + k - 1, sent_at, received_at: now });
            self.counters.k = header.k;
            self.notification =
                Notification { transit: clock::transit(now, header.sent), index: header.index & NOTIFIED_MASK };
        }
        if self.trace {
            events.push_back(Event::Trace(TraceEvent::PacketReceived {
                at: now,
                k: header.k,
                first_index: first,
                mask: header.mask(),
            }));
        }
        self.on_samples(now, first, inbound, &packet);
        if self.with_media {
            self.on_media(now, number, count, &packet, events);
        }
        Some((!reordered).then_some((header.notification, inbound)))
    }

    /// Is a tick of a skipping scheme far from where time has brought the ticks? If many in succession are, it is the truth.
    fn is_absurd(&mut self, now: Instant, low: u16) -> bool {
        let Some(expected) = self.expected_tick(now) else { return false };
        let absurd = i64::from(low.wrapping_sub(expected as u16) as i16).unsigned_abs() > PLAUSIBLE;
        self.absurd = if absurd { self.absurd + 1 } else { 0 };
        absurd && self.absurd < RESYNC_AFTER
    }

    /// The peer begins or ends to skip samples on purpose: other numbers count from here on.
    fn change_numbering(&mut self, now: Instant) {
        self.skipping = !self.skipping;
        let hint = if self.skipping { FIRST_PACKET } else { self.expected_tick(now).unwrap_or(0) };
        let lost = self.arrivals.reset(hint, !self.skipping);
        self.on_lost(lost);
        self.reassembly.reset();
        self.playout.reset();
        self.reconstruct();
    }

    /// The scheme in force: it says how to fill the gaps of one that skips.
    pub fn set_scheme(&mut self, scheme: Scheme) {
        self.scheme = scheme;
        self.reconstruct();
    }

    fn reconstruct(&mut self) {
        let first_order = self.scheme == Scheme::WeberFirstOrder;
        let fill = Reconstruction::new(first_order, self.max_gap_ms);
        self.playout.set_fill(self.skipping.then_some(fill));
    }

    /// The peer's tick now, less the delay.
    fn expected_tick(&self, now: Instant) -> Option<u64> {
        let newest = self.newest?;
        Some(newest.tick + (now.saturating_since(newest.received_at).as_nanos() / TICK_NS as u128) as u64)
    }

    /// Skipping schemes: the full tick nearest to the one expected.
    fn unwrap_index(&self, now: Instant, low: u16) -> u64 {
        let near = self.expected_tick(now).unwrap_or(self.first_expected.min(ABSURD_TICK));
        near.saturating_add_signed(i64::from(low.wrapping_sub(near as u16) as i16))
    }

    fn on_samples(&mut self, now: Instant, first: u64, inbound: i64, packet: &Packet<'_>) {
        let k = i64::from(packet.header.k);
        let offset = self.offsets.offset(now);
        let meter = &mut self.meters[0];
        meter.on_packet(inbound);
        let mask = packet.header.mask();
        let places = (0..packet.header.k).filter(|i| mask >> i & 1 == 1);
        for (n, (i, bytes)) in places.zip(packet.samples.chunks_exact(self.kind.size())).enumerate() {
            // The newest sample left at once, the one before it had waited a tick, and so on.
            let raw = inbound.saturating_add((k - 1 - i64::from(i)) * TICK_NS);
            meter.on_delivered(offset.map(|o| raw.saturating_add(o)), n == 0);
            if let Some(sample) = HapticSample::parse(self.kind, bytes) {
                self.playout.push(first + u64::from(i), sample);
            }
        }
        let first_raw = inbound.saturating_add((k - 1) * TICK_NS);
        if let Some(last) = self.recent.last_of_packet.replace(inbound) {
            let change = first_raw.abs_diff(last) as f64 / k as f64;
            self.recent.jitter += (change - self.recent.jitter) / 256.0;
        }
        let middle = (inbound as f64) + (k - 1) as f64 * (TICK_NS / 2) as f64;
        self.recent.delay = Some(self.recent.delay.map_or(middle, |d| d + (middle - d) / 32.0));
    }

    fn on_media(&mut self, now: Instant, number: u64, count: u64, packet: &Packet<'_>, events: &mut Events) {
        let mut sink = FrameSink {
            now,
            offset: self.offsets.offset(now),
            newest: self.newest,
            trace: self.trace,
            meters: &mut self.meters,
            sync: &mut self.sync,
            wants_key: &mut self.wants_key,
            events,
        };
        self.reassembly.on_packet(now, number, count, packet, |a| sink.take(a));
        self.note_damage(events);
    }

    fn note_damage(&mut self, events: &mut Events) {
        if self.reassembly.take_video_damage() && !self.wants_key {
            self.wants_key = true;
            events.push_back(Event::VideoLost);
        }
    }

    /// A notification closed the circle of four timestamps.
    pub fn on_round_trip(&mut self, now: Instant, inbound: i64, noticed: &Noticed) {
        self.offsets.on_round_trip(now, inbound, noticed.sent_at, noticed.transit_ns);
    }

    /// Lets out what is due at `now`.
    pub fn on_time(&mut self, now: Instant, events: &mut Events) {
        while let Some(Shown { index, sample, received }) = self.playout.poll(now) {
            events.push_back(Event::Haptic { index, sample });
            if self.trace && received {
                events.push_back(Event::Trace(TraceEvent::HapticDisplayed { index, at: now }));
            }
        }
        if self.reassembly.due().is_some_and(|at| at <= now) {
            let mut sink = FrameSink {
                now,
                offset: self.offsets.offset(now),
                newest: self.newest,
                trace: self.trace,
                meters: &mut self.meters,
                sync: &mut self.sync,
                wants_key: &mut self.wants_key,
                events,
            };
            self.reassembly.on_timeout(now, |a| sink.take(a));
            self.note_damage(events);
        }
    }

    /// When [`Receiver::on_time`] has something to do.
    pub fn poll_timeout(&self) -> Option<Timeout> {
        let playout = self.playout.due().map(|at| Timeout { at, reason: Reason::Playout });
        let gap = self.reassembly.due().map(|at| Timeout { at, reason: Reason::Reassembly });
        Timeout::min(playout, gap)
    }

    /// The decoder (or a new connection) needs a key frame.
    pub fn need_key_frame(&mut self) {
        self.wants_key = self.with_media;
        self.key_asked = None;
    }

    /// True when the peer is to be asked for a key frame now (again).
    pub fn wants_key_frame(&mut self, now: Instant) -> bool {
        let due = self.wants_key && self.key_asked.is_none_or(|at| now.saturating_since(at) >= KEY_AGAIN);
        if due {
            self.key_asked = Some(now);
        }
        due
    }

    /// Takes a frame's buffer back.
    pub fn recycle(&mut self, payload: Vec<u8>) {
        self.reassembly.recycle(payload);
    }
}
