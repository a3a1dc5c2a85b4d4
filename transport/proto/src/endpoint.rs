//! The endpoint: routing between its parts, each a field with its own file.

use media::{Coupling, Duration, Instant};

use crate::api::{Command, Event, FrameIn, Host, Input, SentPacket, Timeout, TraceEvent, Transmit};
use crate::config::{Config, Scheme};
use crate::control::{ControlHeader, Message};
use crate::link::{Heard, Link};
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::stats::Stats;
use crate::wire::{self, LOWER_HEADERS};

/// Time between reports where there are no control messages, as RTP's.
const REPORT_EVERY: Duration = Duration::from_millis(500);

/// One end of a telehaptic connection.
#[derive(Debug)]
pub struct Endpoint {
    config: Config,
    link: Link,
    sender: Sender,
    receiver: Receiver,
    connected_at: Option<Instant>,
    /// Without control messages: when the last report left, for the one scheme that lives by them.
    reported_at: Instant,
    report_due: bool,
    events: Events,
}

/// Events on their way out.
pub(crate) type Events = std::collections::VecDeque<Event>;

impl Endpoint {
    /// An endpoint that starts at `now`. `seed` gives the session number.
    ///
    /// Without control messages ([`Config::control`]) it is connected from the start, to the default address.
    pub fn new(config: Config, seed: u64, now: Instant) -> Self {
        // One step of splitmix64: neighbouring seeds give unrelated session numbers.
        let mut session = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        session = (session ^ (session >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        session = (session ^ (session >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Endpoint {
            link: Link::new(&config, (session ^ (session >> 31)) as u32, now),
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            connected_at: (!config.control).then_some(now),
            reported_at: now,
            report_due: false,
            events: Events::with_capacity(256),
            config,
        }
    }

    /// Notes that `input` happened at `now`.
    pub fn handle(&mut self, now: Instant, input: Input<'_>) {
        match input {
            Input::Datagram { from, bytes } => {
                if bytes.first().is_some_and(|b| b & wire::FLAG_CONTROL != 0) {
                    self.on_control(now, from, bytes);
                } else {
                    self.on_data(now, from, bytes);
                }
            }
            Input::Haptic { tick, sample } => {
                let open = !self.config.control || self.link.data_to(now).is_some();
                self.sender.on_haptic(now, tick, sample, open, &mut self.events);
                self.note_report(now);
            }
            Input::Audio(frame) => self.on_frame(now, frame, media::Medium::Audio),
            Input::Video(frame) => self.on_frame(now, frame, media::Medium::Video),
            Input::Command(command) => self.on_command(now, command),
            Input::Timeout => {}
        }
        self.receiver.on_time(now, &mut self.events);
        if self.receiver.wants_key_frame(now) {
            self.link.say(now, Message::KeyFrame);
        }
        if self.config.control && self.link.on_timeout(now) {
            self.events.push_back(Event::Silent);
        }
    }

    /// Writes the next datagram into `buf` (cleared first): data before control messages.
    pub fn poll_transmit(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Transmit> {
        buf.clear();
        let to = if self.config.control { self.link.data_to(now) } else { Some(Default::default()) };
        if let Some(to) = to
            && let Some(sent) = self.sender.poll_packet(now, self.receiver.notification(), buf)
        {
            if self.config.trace {
                let SentPacket { sequence, first_index, k, mask } = sent;
                self.events.push_back(Event::Trace(TraceEvent::PacketSent { sequence, at: now, k, first_index, mask }));
            }
            return Some(Transmit { to, data: Some(sent) });
        }
        if !self.config.control {
            return self.poll_report(now, buf);
        }
        self.link.set_ticks(self.sender.next_tick(), self.sender.unsent());
        let receiver = &self.receiver;
        let (to, header, message) = self.link.poll(now, || receiver.statistics())?;
        message.emit(&header, buf);
        self.sender.on_control_sent(buf.len() as u64 + LOWER_HEADERS);
        Some(Transmit { to, data: None })
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call `handle(.., Input::Timeout)`.
    pub fn poll_timeout(&self) -> Option<Timeout> {
        let link = if self.config.control { self.link.poll_timeout() } else { None };
        Timeout::min(self.receiver.poll_timeout(), link)
    }

    /// Receiver statistics at a tick, twice a second.
    fn note_report(&mut self, now: Instant) {
        let lives_by_them = !self.config.control && self.sender.scheme() == Scheme::LossMerge;
        if lives_by_them && now.saturating_since(self.reported_at) >= REPORT_EVERY {
            (self.reported_at, self.report_due) = (now, true);
        }
    }

    fn poll_report(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Transmit> {
        if !std::mem::take(&mut self.report_due) {
            return None;
        }
        let unsent = self.sender.unsent();
        let header = ControlHeader { sent_at: now.as_nanos(), unsent, ..ControlHeader::default() };
        Message::Statistics(self.receiver.statistics()).emit(&header, buf);
        self.sender.on_control_sent(buf.len() as u64 + LOWER_HEADERS);
        Some(Transmit { to: Default::default(), data: None })
    }

    /// Takes an event's buffer back for reuse.
    pub fn recycle(&mut self, event: Event) {
        if let Event::Frame(frame) = event {
            self.receiver.recycle(frame.payload);
        }
    }

    /// Statistics of now. Costs tens of microseconds: ask some ten times a second.
    pub fn stats(&self, now: Instant) -> Stats {
        let mut stats = Stats {
            connected: !self.config.control || self.link.peer().is_some(),
            connected_at: self.connected_at,
            silent: self.link.is_silent(),
            peer: self.link.peer(),
            scheme: self.sender.scheme(),
            coupling: self.config.coupling,
            ..Stats::default()
        };
        self.receiver.stats(now, &mut stats);
        self.sender.stats(now, self.receiver.offsets(), &mut stats);
        stats
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn on_data(&mut self, now: Instant, from: crate::Address, bytes: &[u8]) {
        if self.config.control && !self.link.is_peer(from) {
            return self.receiver.on_foreign();
        }
        let Some(news) = self.receiver.on_packet(now, bytes, &mut self.events) else { return };
        if self.link.on_data(now) {
            self.events.push_back(Event::Resumed);
        }
        if let Some((notification, inbound)) = news
            && let Some(noticed) = self.sender.on_notification(now, notification, inbound)
        {
            self.receiver.on_round_trip(now, inbound, &noticed);
        }
    }

    fn on_control(&mut self, now: Instant, from: crate::Address, bytes: &[u8]) {
        let Some((header, message)) = Message::parse(bytes) else {
            return self.receiver.on_garbage();
        };
        if !self.config.control {
            return match message {
                Message::Statistics(_) => {
                    self.receiver.on_unsent(header.unsent);
                    self.on_message(now, message);
                }
                _ => self.receiver.on_garbage(),
            };
        }
        match self.link.on_control(now, from, &header, message) {
            Heard::Foreign => self.receiver.on_foreign(),
            Heard::Nothing => {}
            Heard::Connected { address, header, hello } => {
                self.connected_at.get_or_insert(now);
                self.receiver.reset(hello.next_tick, header.unsent);
                self.sender.reset();
                self.use_coupling(hello.coupling);
                self.receiver.on_peer_time(now, header.sent_at);
                if let (Some(ours), Some(theirs)) = (self.config.common_clock_epoch, hello.common_clock_epoch) {
                    // Time t of the peer is t + theirs on the machine's clock, and t + theirs - ours on ours.
                    self.receiver.set_exact_offset(ours.wrapping_sub(theirs));
                }
                self.events.push_back(Event::Connected { session: header.session, address, coupling: hello.coupling });
                if self.config.role == media::Role::Top && hello.scheme != self.sender.scheme() {
                    self.use_scheme(hello.scheme);
                    self.events.push_back(Event::SchemeChanged(hello.scheme));
                }
            }
            Heard::Said { message, header, moved, resumed } => {
                self.receiver.on_peer_time(now, header.sent_at);
                self.receiver.on_unsent(header.unsent);
                if moved {
                    self.events.push_back(Event::Moved(from));
                }
                if resumed {
                    self.events.push_back(Event::Resumed);
                }
                self.on_message(now, message);
            }
        }
    }

    /// The teleoperator takes the operator's coupling over; the operator that of the answer, for a teleoperator may not know
    /// its wish. What the operator says to the next one is its wish still.
    fn use_coupling(&mut self, coupling: Coupling) {
        if self.config.role == media::Role::Top {
            self.link.set_coupling(coupling);
        }
        self.config.coupling = coupling;
        self.sender.set_kind(self.config.sends());
        self.receiver.set_kind(self.config.receives());
    }

    fn on_message(&mut self, now: Instant, message: Message) {
        match message {
            Message::KeyFrame => {
                if self.sender.accepts_key_request(now) {
                    self.events.push_back(Event::KeyFrameRequested);
                }
            }
            // Chosen at both ends at once: the teleoperator's choice stands, which is on its way to the operator.
            Message::Scheme(_) if self.config.role == media::Role::Top && self.link.says_scheme() => {}
            // A repetition must not begin anew.
            Message::Scheme(scheme) if scheme != self.sender.scheme() => {
                self.use_scheme(scheme);
                self.events.push_back(Event::SchemeChanged(scheme));
            }
            Message::Scheme(_) => {}
            Message::Statistics(statistics) => self.sender.on_peer_statistics(statistics),
            Message::EmergencyStop(on) => self.events.push_back(Event::EmergencyStop(on)),
            Message::Goodbye => self.events.push_back(Event::Goodbye),
            Message::Hello(_) | Message::Ack | Message::Unknown(_) => {}
        }
    }

    fn on_frame(&mut self, now: Instant, frame: FrameIn<'_>, medium: media::Medium) {
        let open = !self.config.control || self.link.data_to(now).is_some();
        self.sender.on_frame(now, medium, frame, open, &mut self.events);
    }

    fn on_command(&mut self, now: Instant, command: Command) {
        match command {
            Command::Connect(address) => self.link.connect(now, address),
            Command::Scheme(scheme) => {
                self.use_scheme(scheme);
                self.link.say(now, Message::Scheme(scheme));
            }
            Command::RequestKeyFrame => self.receiver.need_key_frame(),
            Command::EmergencyStop(on) => self.link.say(now, Message::EmergencyStop(on)),
            Command::Goodbye => self.link.leave(now),
        }
    }

    fn use_scheme(&mut self, scheme: Scheme) {
        self.receiver.set_scheme(scheme);
        self.link.set_scheme(scheme);
        if let Some((index, k)) = self.sender.set_scheme(scheme)
            && self.config.trace
        {
            let cause = crate::KCause::Start;
            self.events.push_back(Event::Trace(TraceEvent::MergeFactor { index, k, cause }));
        }
    }
}

/// Handles `input`, then gives everything that came of it to `host`: the only loop around an endpoint.
/// Returns when to call again with [`Input::Timeout`].
pub fn drive(
    endpoint: &mut Endpoint,
    now: Instant,
    input: Input<'_>,
    buf: &mut Vec<u8>,
    host: &mut impl Host,
) -> Option<Timeout> {
    endpoint.handle(now, input);
    drain(endpoint, now, buf, host)
}

/// The second half of [`drive`], for hosts that hand over several inputs at once.
pub fn drain(endpoint: &mut Endpoint, now: Instant, buf: &mut Vec<u8>, host: &mut impl Host) -> Option<Timeout> {
    while let Some(transmit) = endpoint.poll_transmit(now, buf) {
        host.transmit(now, transmit, buf);
    }
    while let Some(event) = endpoint.poll_event() {
        host.event(now, &event);
        endpoint.recycle(event);
    }
    endpoint.poll_timeout()
}
