//! Who the peer is and what is being said to it: hello, acknowledgement and repetition, silence, and where it moved to.
//!
//! Only a source that has shown the token is a peer; to all others this station does not exist. There are no
//! keys yet: whoever reads the token on the wire can show it too.

use media::{Coupling, Duration, Instant, Role};

use crate::api::{Address, Reason, Timeout};
use crate::config::{Config, Scheme, Token};
use crate::control::{ControlHeader, Hello, MediumStatistics, Message};

/// Time between hellos.
const HELLO_EVERY: Duration = Duration::from_millis(250);
/// Time before a message without acknowledgement is said again.
const REPEAT_AFTER: Duration = Duration::from_millis(120);
/// Copies of one message that an acknowledgement may name.
const COPIES: usize = 8;
/// Time between receiver statistics.
const STATISTICS_EVERY: Duration = Duration::from_secs(1);
/// From one session number of a teleoperator to the next; odd, so that all are visited.
const SESSION_STEP: u32 = 0x9e37_79b9;
/// Goodbyes said, and the time between them: whoever leaves does not stay for an acknowledgement.
const GOODBYES: u8 = 3;
const GOODBYE_EVERY: Duration = Duration::from_millis(10);
/// A peer silent for this long gets no more data until it is heard: a sender without feedback must stop.
const DORMANT_AFTER: Duration = Duration::from_secs(5);

/// State of the connection.
#[derive(Clone, Debug)]
pub struct Link {
    role: Role,
    token: Token,
    hello: Hello,
    silence: Duration,
    session: u32,
    sequence: u32,
    /// Where the operator says hello to.
    target: Option<Address>,
    hello_at: Option<Instant>,
    /// An answer to this hello is due.
    answer_to: Option<Address>,
    peer: Option<Peer>,
    /// Messages that wait for an acknowledgement: key frame, scheme, emergency stop.
    pending: [Option<Pending>; 3],
    leaving: Option<Leaving>,
    /// This end said goodbye: it hears no new hello until it connects again.
    left: bool,
    /// Session of the peer that said goodbye last: what else it says is no news.
    gone: Option<u32>,
    unsent: u32,
    ack_due: u32,
    acknowledge: bool,
    statistics_at: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Peer {
    address: Address,
    session: u32,
    newest: u32,
    heard_at: Instant,
    silent: bool,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    message: Message,
    /// Sequences of its last copies; each copy is a message of its own, so that order is judged by one rule.
    sequences: [u32; COPIES],
    copies: usize,
    due: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Leaving {
    to: Address,
    copies: u8,
    due: Instant,
}

/// What a datagram or the passing of time means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Heard {
    /// From nobody we know.
    Foreign,
    /// Old news.
    Nothing,
    /// A peer is there, a new one or one that began anew.
    Connected { address: Address, header: ControlHeader, hello: Hello },
    /// Our peer says this for the first time. `moved`: from a new address; `resumed`: after silence.
    Said { message: Message, header: ControlHeader, moved: bool, resumed: bool },
}

impl Link {
    /// A link without a peer. `session` is random.
    pub fn new(config: &Config, session: u32, now: Instant) -> Self {
        Link {
            role: config.role,
            token: config.token,
            hello: Hello {
                role: config.role,
                scheme: config.scheme,
                next_tick: 0,
                fragment_size: u16::try_from(config.fragment_size).unwrap_or(u16::MAX),
                common_clock_epoch: config.common_clock_epoch,
                coupling: config.coupling,
            },
            silence: config.silence,
            session,
            sequence: 0,
            target: None,
            hello_at: None,
            answer_to: None,
            peer: None,
            pending: [None; 3],
            leaving: None,
            left: false,
            gone: None,
            unsent: 0,
            ack_due: 0,
            acknowledge: false,
            statistics_at: now,
        }
    }

    /// What our hello says of the samples.
    pub fn set_coupling(&mut self, coupling: Coupling) {
        self.hello.coupling = coupling;
    }

    /// The operator begins to say hello to `target`.
    pub fn connect(&mut self, now: Instant, target: Address) {
        self.target = Some(target);
        self.hello_at = Some(now);
        self.left = false;
        self.leaving = None;
    }

    /// Where the peer is.
    pub fn peer(&self) -> Option<Address> {
        self.peer.map(|p| p.address)
    }

    /// The peer has not been heard for a while.
    pub fn is_silent(&self) -> bool {
        self.peer.is_some_and(|p| p.silent)
    }

    /// Where data goes, if anyone listens.
    pub fn data_to(&self, now: Instant) -> Option<Address> {
        self.peer.filter(|p| now.saturating_since(p.heard_at) < DORMANT_AFTER).map(|p| p.address)
    }

    /// Does `from` have the right to send data?
    pub fn is_peer(&self, from: Address) -> bool {
        self.peer.is_some_and(|p| p.address == from)
    }

    /// Valid data came from the peer; true if that ends its silence.
    pub fn on_data(&mut self, now: Instant) -> bool {
        self.peer.as_mut().is_some_and(|peer| {
            peer.heard_at = now;
            std::mem::take(&mut peer.silent)
        })
    }

    /// A control message came from `from`.
    pub fn on_control(&mut self, now: Instant, from: Address, header: &ControlHeader, message: Message) -> Heard {
        if !same(&header.token, &self.token) {
            return Heard::Foreign;
        }
        let known = self.peer.filter(|p| p.session == header.session);
        if let Message::Hello(hello) = message
            && known.is_none()
        {
            return self.on_new_hello(now, from, header, hello);
        }
        let Some(mut peer) = known else {
            return if self.gone == Some(header.session) { Heard::Nothing } else { Heard::Foreign };
        };
        let newer = header.sequence.wrapping_sub(peer.newest) as i32 > 0;
        if peer.address != from && !newer {
            // An old message repeated from elsewhere must not move the stream.
            return Heard::Foreign;
        }
        if matches!(message, Message::Hello(_)) && self.role == Role::Top {
            self.answer_to = Some(from);
        }
        for slot in &mut self.pending {
            if header.ack != 0 && slot.is_some_and(|p| p.sequences.contains(&header.ack)) {
                *slot = None;
            }
        }
        if !newer {
            return Heard::Nothing;
        }
        // Only what is acted on is acknowledged: an overtaken message comes again under a new sequence.
        if message.asks_for_ack() {
            self.ack_due = header.sequence;
            self.acknowledge = true;
        }
        let moved = peer.address != from;
        let resumed = peer.silent;
        peer = Peer { address: from, newest: header.sequence, heard_at: now, silent: false, ..peer };
        self.peer = Some(peer);
        if message == Message::Goodbye {
            self.forget();
            self.gone = Some(header.session);
            self.hello_at = self.target.map(|_| now + HELLO_EVERY);
        }
        Heard::Said { message, header: *header, moved, resumed }
    }

    fn on_new_hello(&mut self, now: Instant, from: Address, header: &ControlHeader, hello: Hello) -> Heard {
        let expected = self.role == Role::Top || self.target.is_some();
        let busy = self.peer.is_some_and(|p| !p.silent && p.address != from);
        if hello.role != self.role.peer() || !expected || busy || self.left {
            return Heard::Foreign;
        }
        self.forget();
        self.peer = Some(Peer {
            address: from,
            session: header.session,
            newest: header.sequence,
            heard_at: now,
            silent: false,
        });
        self.statistics_at = now + STATISTICS_EVERY;
        if self.role == Role::Top {
            self.answer_to = Some(from);
            // An operator that comes back after another one must learn that its session is over: ours gets a new name.
            self.session = self.session.wrapping_add(SESSION_STEP);
        }
        Heard::Connected { address: from, header: *header, hello }
    }

    /// Says `message` until it is acknowledged; a newer one of its kind takes its place.
    pub fn say(&mut self, now: Instant, message: Message) {
        let slot = match message {
            Message::KeyFrame => 0,
            Message::Scheme(_) => 1,
            Message::EmergencyStop(_) => 2,
            _ => return,
        };
        if self.peer.is_some() {
            self.pending[slot] = Some(Pending { message, sequences: [0; COPIES], copies: 0, due: now });
        }
    }

    /// Says goodbye (three times within 20 ms, against loss), and is without a peer from then on.
    pub fn leave(&mut self, now: Instant) {
        self.leaving = self.peer.map(|p| Leaving { to: p.address, copies: GOODBYES, due: now });
        self.gone = self.peer.map(|p| p.session);
        self.target = None;
        self.hello_at = None;
        self.left = true;
        self.forget();
    }

    /// The peer is gone, and all that was to be said to it.
    fn forget(&mut self) {
        self.peer = None;
        self.pending = [None; 3];
        self.ack_due = 0;
        self.acknowledge = false;
    }

    /// A scheme chosen here waits for its acknowledgement.
    pub fn says_scheme(&self) -> bool {
        self.pending[1].is_some()
    }

    /// The scheme that a hello tells from now on.
    pub fn set_scheme(&mut self, scheme: Scheme) {
        self.hello.scheme = scheme;
    }

    /// The next tick, which a hello tells, and how many ticks were never sent, which every message tells.
    pub fn set_ticks(&mut self, next: u64, unsent: u32) {
        self.hello.next_tick = next;
        self.unsent = unsent;
    }

    /// Notices silence; true when it begins.
    pub fn on_timeout(&mut self, now: Instant) -> bool {
        let Some(peer) = &mut self.peer else { return false };
        if peer.silent || now.saturating_since(peer.heard_at) < self.silence {
            return false;
        }
        peer.silent = true;
        self.hello_at = Some(now);
        true
    }

    /// The next message due at `now`, if any. `statistics` is asked when its time has come.
    pub fn poll(
        &mut self,
        now: Instant,
        statistics: impl FnOnce() -> [MediumStatistics; 3],
    ) -> Option<(Address, ControlHeader, Message)> {
        if let Some(leaving) = self.leaving.as_mut().filter(|l| l.due <= now) {
            let Leaving { to, copies, .. } = *leaving;
            leaving.due = now + GOODBYE_EVERY;
            leaving.copies -= 1;
            self.leaving.take_if(|_| copies == 1);
            return Some(self.message(now, to, Message::Goodbye));
        }
        if let Some(to) = self.answer_to.take() {
            return Some(self.message(now, to, Message::Hello(self.hello)));
        }
        if self.hello_at.is_some_and(|at| at <= now) {
            let wanted = self.peer.is_none_or(|p| p.silent);
            let to = self.data_to(now).or(self.target).filter(|_| wanted);
            self.hello_at = to.map(|_| now + HELLO_EVERY);
            if let Some(to) = to {
                return Some(self.message(now, to, Message::Hello(self.hello)));
            }
        }
        let to = self.peer.filter(|p| !p.silent)?.address;
        if let Some(slot) = self.pending.iter().position(|p| p.is_some_and(|p| p.due <= now)) {
            return self.repeat(now, to, slot);
        }
        if self.statistics_at <= now {
            self.statistics_at = now + STATISTICS_EVERY;
            return Some(self.message(now, to, Message::Statistics(statistics())));
        }
        self.acknowledge.then(|| self.message(now, to, Message::Ack))
    }

    fn repeat(&mut self, now: Instant, to: Address, slot: usize) -> Option<(Address, ControlHeader, Message)> {
        let message = self.pending[slot]?.message;
        let said = self.message(now, to, message);
        let p = self.pending[slot].as_mut()?;
        p.sequences[p.copies % COPIES] = said.1.sequence;
        p.copies += 1;
        p.due = now + REPEAT_AFTER;
        Some(said)
    }

    fn message(&mut self, now: Instant, to: Address, m: Message) -> (Address, ControlHeader, Message) {
        // 0 means none.
        self.sequence = self.sequence.checked_add(1).unwrap_or(1);
        self.acknowledge = false;
        let header = ControlHeader {
            sequence: self.sequence,
            ack: self.ack_due,
            token: self.token,
            session: self.session,
            sent_at: now.as_nanos(),
            unsent: self.unsent,
        };
        (to, header, m)
    }

    /// When something of the above is due.
    pub fn poll_timeout(&self) -> Option<Timeout> {
        let mut next = None;
        let mut note = |at, reason| next = Timeout::min(next, Some(Timeout { at, reason }));
        for at in self.hello_at.into_iter().chain(self.leaving.map(|l| l.due)) {
            note(at, Reason::Control);
        }
        if let Some(peer) = self.peer.filter(|p| !p.silent) {
            note(peer.heard_at + self.silence, Reason::Silence);
            note(self.statistics_at, Reason::Control);
            for p in self.pending.iter().flatten() {
                note(p.due, Reason::Control);
            }
        }
        next
    }
}

/// Compares without telling by its time where the difference is.
fn same(a: &Token, b: &Token) -> bool {
    a.0.iter().zip(&b.0).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}

#[cfg(test)]
mod tests;
