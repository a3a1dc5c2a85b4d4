//! What goes into an endpoint and what comes out of it.

use media::{Coupling, HapticSample, Instant, Medium, PeerTime};

use crate::config::Scheme;

/// Where a datagram comes from or goes to: an IPv6 address (IPv4 mapped into it) and a UDP port. The
/// endpoint only compares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Address {
    /// Sixteen bytes, network order.
    pub ip: [u8; 16],
    /// UDP port.
    pub port: u16,
}

/// One thing that happened, for [`crate::Endpoint::handle`].
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A datagram arrived; `now` is when it reached this machine.
    Datagram {
        /// Its source.
        from: Address,
        /// Its UDP payload.
        bytes: &'a [u8],
    },
    /// The servo's sample of tick `tick` (0 is the servo's first; skipped numbers are missed ticks).
    /// Closes this millisecond's fragment, so frames of the same instant come before it.
    Haptic {
        /// Number of the tick.
        tick: u64,
        /// What was measured.
        sample: HapticSample,
    },
    /// An encoded audio frame, captured now or `age` ago.
    Audio(FrameIn<'a>),
    /// An encoded video frame.
    Video(FrameIn<'a>),
    /// A wish of the user or the station.
    Command(Command),
    /// A [`Timeout`] is due.
    Timeout,
}

/// An encoded frame on its way out.
#[derive(Clone, Copy, Debug)]
pub struct FrameIn<'a> {
    /// Codec bytes, 1 to [`crate::MAX_FRAME`].
    pub payload: &'a [u8],
    /// Video: decodable without those before it.
    pub key: bool,
    /// When it was captured, on this station's clock.
    pub captured_at: Instant,
}

/// A wish.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// OP: say hello to the station at this address.
    Connect(Address),
    /// Use this scheme on both channels from the next tick.
    Scheme(Scheme),
    /// Ask the peer's encoder for a key frame (the decoder lost its reference).
    RequestKeyFrame,
    /// Tell the peer that force is off at this station (true) or may come back (false).
    EmergencyStop(bool),
    /// Say goodbye; the peer's force goes to zero at once.
    Goodbye,
}

/// What an endpoint has to say, from [`crate::Endpoint::poll_event`].
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A haptic sample is due for display now.
    Haptic {
        /// Its tick at the sender, unwrapped.
        index: u64,
        /// The sample, bit by bit as it was sent.
        sample: HapticSample,
    },
    /// A complete audio or video frame.
    Frame(FrameOut),
    /// A video frame was lost: decode nothing until the next key frame (the peer has been asked for one).
    VideoLost,
    /// The peer's encoder should make the next frame a key frame.
    KeyFrameRequested,
    /// A peer with the right token is there (again). Force must ramp up from zero.
    Connected {
        /// Random number of the peer's process.
        session: u32,
        /// Address of the peer.
        address: Address,
        /// What the samples are from now on, in both directions.
        coupling: Coupling,
    },
    /// The peer's address changed.
    Moved(Address),
    /// Nothing valid from the peer for [`crate::Config::silence`].
    Silent,
    /// The peer is heard again after silence.
    Resumed,
    /// The peer said goodbye.
    Goodbye,
    /// The peer stopped (true) or released (false) force.
    EmergencyStop(bool),
    /// The scheme is now this one, by a command of the peer's.
    SchemeChanged(Scheme),
    /// For recorders, only with [`crate::Config::trace`].
    Trace(TraceEvent),
}

/// A complete frame on its way to the decoder. Hand it back by [`crate::Endpoint::recycle`].
#[derive(Clone, Debug, PartialEq)]
pub struct FrameOut {
    /// Audio or video.
    pub medium: Medium,
    /// Counts the sender's frames of this medium, unwrapped.
    pub number: u64,
    /// Codec bytes.
    pub payload: Vec<u8>,
    /// Video: decodable without those before it.
    pub key: bool,
    /// When the sender captured it.
    pub captured_at: PeerTime,
    /// When to show it so that sound and picture are in step.
    pub display_at: Instant,
}

/// Facts for traces. Indexes are ticks of the channel's sender, moments are on this station's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TraceEvent {
    /// The multiplexer took a sample.
    HapticTaken {
        /// Its tick.
        index: u64,
        /// When.
        at: Instant,
    },
    /// The multiplexer took a frame.
    FrameTaken {
        /// Audio or video.
        medium: Medium,
        /// Counts frames of the medium.
        number: u64,
        /// When.
        at: Instant,
        /// Payload bytes.
        bytes: usize,
    },
    /// The merge factor changed.
    MergeFactor {
        /// First tick under it.
        index: u64,
        /// The new k.
        k: u8,
        /// Why.
        cause: KCause,
    },
    /// A data packet left.
    PacketSent {
        /// Counts data packets.
        sequence: u64,
        /// When.
        at: Instant,
        /// Fragments in it.
        k: u8,
        /// Tick of its oldest fragment.
        first_index: u64,
        /// Bit i: it has the sample of its fragment i.
        mask: u8,
    },
    /// A data packet arrived for the first time.
    PacketReceived {
        /// When.
        at: Instant,
        /// Fragments in it.
        k: u8,
        /// Tick of its oldest fragment.
        first_index: u64,
        /// Bit i: it has the sample of its fragment i.
        mask: u8,
    },
    /// A haptic sample was given to the display.
    HapticDisplayed {
        /// Its tick.
        index: u64,
        /// When.
        at: Instant,
    },
    /// A frame became whole.
    FrameReceived {
        /// Audio or video.
        medium: Medium,
        /// The sender's number of it.
        number: u64,
        /// When its last byte arrived.
        at: Instant,
        /// When it is to be shown.
        display_at: Instant,
    },
}

/// Why k changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KCause {
    /// The run begins or the user chose a scheme.
    Start,
    /// Trigger I_C: delays build up.
    Congestion,
    /// Trigger I_S: delays are steady.
    Steady,
}

impl KCause {
    /// The word in `k_*.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            KCause::Start => "start",
            KCause::Congestion => "i_c",
            KCause::Steady => "i_s",
        }
    }
}

/// A datagram to send now: the bytes are in the buffer given to [`crate::Endpoint::poll_transmit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub to: Address,
    /// For a data packet: what it holds.
    pub data: Option<SentPacket>,
}

/// What a data packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// Counts data packets from 0.
    pub sequence: u64,
    /// Tick of its oldest fragment, unwrapped.
    pub first_index: u64,
    /// Fragments in it.
    pub k: u8,
    /// Bit i: it has the sample of its fragment i.
    pub mask: u8,
}

/// When the endpoint next wants [`Input::Timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// The moment.
    pub at: Instant,
    /// What for.
    pub reason: Reason,
}

/// What a wake-up is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A haptic sample is due for display.
    Playout,
    /// A gap in the packets has held up frames long enough.
    Reassembly,
    /// A control message is due (again).
    Control,
    /// The peer may have fallen silent.
    Silence,
}

impl Timeout {
    /// The earlier of two, the first if they tie.
    pub fn min(a: Option<Timeout>, b: Option<Timeout>) -> Option<Timeout> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if b.at < a.at { b } else { a }),
            (a, b) => a.or(b),
        }
    }
}

/// The world around an endpoint: the socket thread or a simulator.
pub trait Host {
    /// Sends `bytes` to `transmit.to` now.
    fn transmit(&mut self, now: Instant, transmit: Transmit, bytes: &[u8]);
    /// Takes note of an event. Its buffers go back to the endpoint afterwards.
    fn event(&mut self, now: Instant, event: &Event);
}
