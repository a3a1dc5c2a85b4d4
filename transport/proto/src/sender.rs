//! The sending side: ticks become fragments, fragments packets; notifications steer k.

use media::{Channel, Duration, HapticSample, Instant, Medium, SampleKind};

use crate::api::{Event, FrameIn, KCause, SentPacket, TraceEvent};
use crate::clock::UNIT_NS;
use crate::clock::{self, Noticed, OffsetEstimator, SentLog};
use crate::config::{Config, RivalConfig, Scheme};
use crate::control::MediumStatistics;
use crate::endpoint::Events;
use crate::merge::Packetizer;
use crate::mux::Mux;
use crate::report::{DelaySummary, JitterSummary, MediumReport, Verdict};
use crate::sampling::Sampler;
use crate::stats::{Stats, TransmitStats};
use crate::wire::{Header, LOWER_HEADERS, MediaHeader, Notification, SkipHeader};

/// A servo that missed more ticks than this in a row was stopped: the time is not filled with its last sample.
const MAX_REPEATS: u64 = 50;
/// Key frame requests closer than this are one: the first answer is still on its way.
const KEY_REQUEST_SPACING: Duration = Duration::from_millis(150);

/// Everything about the channel that this station sends.
#[derive(Debug)]
pub struct Sender {
    kind: SampleKind,
    with_media: bool,
    trace: bool,
    step: Duration,
    stale: Duration,
    mux: Mux,
    packetizer: Packetizer,
    sampler: Sampler,
    rivals: RivalConfig,
    sent: SentLog,
    next_tick: u64,
    /// Ticks that left in no packet.
    unsent: u64,
    last_sample: Option<HapticSample>,
    traced_start: bool,
    key_requested: Option<Instant>,
    peer_statistics: Option<[MediumStatistics; 3]>,
    /// Delivered, lost and late as the peers of past sessions told last.
    past: [[u64; 3]; 3],
    counters: TransmitStats,
}

impl Sender {
    /// A sender at tick 0.
    pub fn new(config: &Config) -> Self {
        let kind = config.sends();
        let with_media = kind.channel() == Channel::Backward;
        let fragment_size = if with_media { config.fragment_size } else { kind.size() };
        let mut sender = Sender {
            kind,
            with_media,
            trace: config.trace,
            step: Duration::from_nanos((config.triggers.step_ms * 1e6) as u64),
            stale: Duration::from_millis(config.triggers.stale_ms),
            mux: Mux::new(fragment_size, kind.size()),
            packetizer: Packetizer::new(config.scheme, config.triggers, config.rivals),
            sampler: Sampler::new(config.scheme, config.rivals, kind),
            rivals: config.rivals,
            sent: SentLog::new(),
            next_tick: 0,
            unsent: 0,
            last_sample: None,
            traced_start: false,
            key_requested: None,
            peer_statistics: None,
            past: [[0; 3]; 3],
            counters: TransmitStats::default(),
        };
        sender.mux.set_first_come(config.scheme == Scheme::Hoip);
        sender
    }

    /// The samples are of another kind from now on, one of the same channel.
    pub fn set_kind(&mut self, kind: SampleKind) {
        if kind != self.kind {
            self.kind = kind;
            self.last_sample = None;
            self.sampler = Sampler::new(self.packetizer.scheme(), self.rivals, kind);
        }
    }

    /// The peer is another: nothing that waits is for it. Ticks and frame numbers go on.
    pub fn reset(&mut self) {
        self.drop_waiting();
        self.sent.reset();
        self.packetizer.reset();
        self.sampler.reset();
        for (past, told) in self.past.iter_mut().zip(self.peer_statistics.take().unwrap_or_default()) {
            let told = [told.delivered, told.lost, told.late];
            past.iter_mut().zip(told).for_each(|(past, told)| *past += u64::from(told));
        }
    }

    /// Fragments that wait will not leave.
    fn drop_waiting(&mut self) {
        let dropped = self.mux.clear();
        self.counters.haptic_sent -= dropped;
        if !self.packetizer.scheme().skips() {
            self.unsent += dropped;
        }
    }

    /// The servo's sample of `tick`. `open`: somebody listens.
    pub fn on_haptic(&mut self, now: Instant, tick: u64, sample: HapticSample, open: bool, events: &mut Events) {
        if tick < self.next_tick || sample.kind() != self.kind {
            self.counters.stale += 1;
            return;
        }
        if !open {
            self.drop_waiting();
            if !self.packetizer.scheme().skips() {
                self.unsent += tick + 1 - self.next_tick;
            }
            self.next_tick = tick + 1;
            self.last_sample = None;
            return;
        }
        let missed = tick - self.next_tick;
        match self.last_sample {
            Some(last) if missed <= MAX_REPEATS => {
                for index in self.next_tick..tick {
                    self.counters.repeated += 1;
                    self.fragment(now, index, last, events);
                }
            }
            _ if missed > 0 => {
                if !self.packetizer.scheme().skips() {
                    self.unsent += missed;
                }
                // The next fragment does not follow those that wait.
                self.mux.finish();
            }
            _ => {}
        }
        self.fragment(now, tick, sample, events);
        self.next_tick = tick + 1;
        self.last_sample = Some(sample);
    }

    fn fragment(&mut self, now: Instant, index: u64, sample: HapticSample, events: &mut Events) {
        let cause = self.packetizer.tick(index);
        let k = self.packetizer.k();
        if self.trace {
            let cause = if self.traced_start { cause } else { Some(KCause::Start) };
            self.traced_start = true;
            if let Some(cause) = cause {
                events.push_back(Event::Trace(TraceEvent::MergeFactor { index, k, cause }));
            }
        }
        self.counters.k_ticks[usize::from(k - 1)] += 1;
        let keep = self.sampler.keeps(index, sample, self.mux.waiting());
        if keep {
            self.counters.haptic_sent += 1;
            if self.trace {
                events.push_back(Event::Trace(TraceEvent::HapticTaken { index, at: now }));
            }
        }
        let mut bytes = [0; 24];
        sample.emit(&mut bytes);
        let bytes = &bytes[..self.kind.size()];
        if !self.packetizer.scheme().skips() {
            self.mux.fragment(index, bytes, k);
        } else if let Some(alone) =
            self.mux.fragment_skipping(index, keep.then_some(bytes), self.rivals.wait(self.packetizer.scheme()))
        {
            self.sampler.on_media_packet(alone);
        }
    }

    /// An encoded frame.
    pub fn on_frame(&mut self, now: Instant, medium: Medium, frame: FrameIn<'_>, open: bool, events: &mut Events) {
        let tick = self.next_tick;
        let number = match medium {
            Medium::Audio if open => self.mux.push_audio(now, tick, frame),
            Medium::Video if open => self.mux.push_video(now, tick, frame),
            _ => None,
        };
        let Some(number) = number else {
            self.counters.refused += 1;
            return;
        };
        match medium {
            Medium::Video => self.counters.video_sent += 1,
            _ => self.counters.audio_sent += 1,
        }
        if self.trace {
            let bytes = frame.payload.len();
            events.push_back(Event::Trace(TraceEvent::FrameTaken { medium, number, at: now, bytes }));
        }
    }

    /// The next packet, written behind what `buf` holds.
    pub fn poll_packet(&mut self, now: Instant, notification: Notification, buf: &mut Vec<u8>) -> Option<SentPacket> {
        let packet = self.mux.pop()?;
        let header = Header {
            k: packet.k,
            index: packet.first_index as u16,
            sent: clock::stamp(now),
            notification,
            media: self.with_media.then_some(MediaHeader { audio_len: packet.audio.len() as u16, ..packet.media }),
            skip: packet.number.map(|number| SkipHeader { number, mask: packet.mask }),
        };
        header.emit(buf);
        buf.extend_from_slice(&packet.samples);
        buf.extend_from_slice(&packet.audio);
        buf.extend_from_slice(&packet.video);
        let newest = packet.first_index + u64::from(packet.k) - 1;
        self.sent.on_sent(packet.first_index, newest, now);
        let (first_index, k, mask) = (packet.first_index, packet.k, packet.mask);
        let sent = SentPacket { sequence: self.counters.packets, first_index, k, mask };
        self.counters.packets += 1;
        self.counters.wire_bytes += buf.len() as u64 + LOWER_HEADERS;
        self.mux.done(packet);
        Some(sent)
    }

    /// The peer measured one of our packets, and told so in one that took `inbound_ns` by our clocks. What it means, if it
    /// is news.
    pub fn on_notification(&mut self, now: Instant, notification: Notification, inbound_ns: i64) -> Option<Noticed> {
        let noticed = self.sent.on_notification(now, notification, self.step, self.stale)?;
        if noticed.restart {
            self.packetizer.reset();
            self.sampler.reset();
        }
        // The clocks' difference is in both halves, with opposite signs.
        let round_trip = noticed.units.wrapping_add(inbound_ns / UNIT_NS);
        self.packetizer.on_notification(noticed.sent_tick, noticed.units, round_trip);
        if self.packetizer.scheme().skips() {
            self.sampler.on_notification(noticed.sent_tick, noticed.units, round_trip);
        }
        Some(noticed)
    }

    /// What the peer received of us.
    pub fn on_peer_statistics(&mut self, statistics: [MediumStatistics; 3]) {
        self.packetizer.on_report(u64::from(statistics[0].delivered), u64::from(statistics[0].lost));
        self.peer_statistics = Some(statistics);
    }

    /// A control datagram of so many bytes on the wire left.
    pub fn on_control_sent(&mut self, wire_bytes: u64) {
        self.counters.control_packets += 1;
        self.counters.control_wire_bytes += wire_bytes;
    }

    /// Is a request for a key frame one of its own, or a repetition?
    pub fn accepts_key_request(&mut self, now: Instant) -> bool {
        let fresh = self.key_requested.is_none_or(|at| now.saturating_since(at) > KEY_REQUEST_SPACING);
        if fresh {
            self.key_requested = Some(now);
        }
        fresh
    }

    /// Changes the scheme from the next tick; that tick and the new k if k changed.
    pub fn set_scheme(&mut self, scheme: Scheme) -> Option<(u64, u8)> {
        let tick = self.next_tick;
        self.mux.finish();
        self.mux.set_first_come(scheme == Scheme::Hoip);
        self.sampler = Sampler::new(scheme, self.rivals, self.kind);
        self.packetizer.set_scheme(scheme, tick).then(|| (tick, self.packetizer.k()))
    }

    /// Scheme in force.
    pub fn scheme(&self) -> Scheme {
        self.packetizer.scheme()
    }

    /// Ticks so far that left in no packet: nobody listened, or the servo stood still (modulo 2^32).
    pub fn unsent(&self) -> u32 {
        self.unsent as u32
    }

    /// The tick expected next.
    pub fn next_tick(&self) -> u64 {
        self.next_tick
    }

    /// Fills in the sending side of `stats`.
    pub fn stats(&self, now: Instant, offsets: &OffsetEstimator, stats: &mut Stats) {
        let triggers = self.packetizer.counters;
        let k = self.packetizer.k();
        let packetization_ns = i64::from(k - 1) * 500_000;
        let bound_ms = offsets.bound().map(|b| b as f64 / 1e6);
        let mut media = [None, None, None];
        let sent = [self.counters.haptic_sent, self.counters.audio_sent, self.counters.video_sent];
        if let Some(peer) = &self.peer_statistics {
            for (i, medium) in Medium::ALL.into_iter().enumerate() {
                if medium == Medium::Haptic || self.with_media {
                    media[i] = Some(peer_report(medium, sent[i], self.past[i], &peer[i], bound_ms));
                }
            }
        }
        stats.transmit = TransmitStats {
            k,
            k_changes: triggers.changes,
            i_c: triggers.i_c,
            i_s: triggers.i_s,
            audio_backlog: self.mux.audio_backlog(),
            video_backlog: self.mux.video_backlog(),
            video_frames_waiting: self.mux.video_frames_waiting(),
            delay_ms: offsets.outbound(now).map(|ns| (ns + packetization_ns) as f64 / 1e6),
            jitter_ms: media[0].as_ref().and_then(|m| m.jitter_ms).map(|j| j.sample),
            media,
            ..self.counters.clone()
        };
    }
}

/// A report from what the peer told of its receipts. It tells no distribution, so the clock's bound is weighed
/// against the 99th percentile: at most 1 % late is what compliance means.
fn peer_report(
    medium: Medium,
    sent: u64,
    past: [u64; 3],
    peer: &MediumStatistics,
    bound_ms: Option<f64>,
) -> MediumReport {
    let limits = medium.limits();
    let told = [peer.delivered, peer.lost, peer.late].map(u64::from);
    let [delivered, lost, late] = core::array::from_fn(|i| past[i] + told[i]);
    let counted = (delivered + lost).max(1) as f64;
    let loss_percent = 100.0 * lost as f64 / counted;
    let over_limit_percent = 100.0 * late as f64 / counted;
    let known = delivered > 0 && peer.delay[0] != u16::MAX;
    let ms = |v: u16| f64::from(v) / 100.0;
    let [mean, p50, p99, max] = peer.delay.map(ms);
    let [packet, sample] = peer.jitter.map(|us| f64::from(us) / 1000.0);
    let jitter_broken = known && sample > limits.jitter_ms;
    let loss_broken = loss_percent > limits.loss_percent;
    let compliant = known && over_limit_percent < 1.0 && !loss_broken && !jitter_broken;
    let verdict = match bound_ms {
        _ if loss_broken => Verdict::Fail,
        Some(_) if jitter_broken => Verdict::Fail,
        Some(bound) if compliant && p99 + bound <= limits.delay_ms => Verdict::Pass,
        Some(bound) if known && !compliant && p99 - bound > limits.delay_ms => Verdict::Fail,
        _ => Verdict::Unknown,
    };
    MediumReport {
        sent,
        delivered,
        lost,
        late,
        loss_percent,
        over_limit_percent,
        delay_ms: known.then_some(DelaySummary { mean, p50, p99, max }),
        jitter_ms: known.then_some(JitterSummary { packet, sample }),
        limits: limits.into(),
        compliant,
        verdict,
    }
}
