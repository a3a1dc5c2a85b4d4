//! Facts on their way to the recorder: plain copies, so that the threads that state them allocate nothing.

use media::{Force, Instant, Motion, Position, Vector};
use proto::TraceEvent;

/// One fact of the network thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// From the endpoint.
    Event(TraceEvent),
    /// From the connection.
    Link {
        /// When.
        at: Instant,
        /// What.
        event: LinkEvent,
        /// The peer's session number, 0 where it does not matter.
        session: u32,
    },
    /// The sender's counters.
    Counters(Counters),
}

/// What happened to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// A peer is there, new or with a new process.
    Connected,
    /// Nothing is heard.
    Silent,
    /// It is heard again.
    Resumed,
    /// It said goodbye.
    Goodbye,
}

impl LinkEvent {
    /// The word in `link.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            LinkEvent::Connected => "connected",
            LinkEvent::Silent => "silent",
            LinkEvent::Resumed => "resumed",
            LinkEvent::Goodbye => "goodbye",
        }
    }
}

/// Counters of the sender at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// When.
    pub at: Instant,
    /// Data packets sent.
    pub packets: u64,
    /// Their bytes, lower headers included.
    pub wire_bytes: u64,
    /// Triggers raised.
    pub i_c: u64,
    /// Triggers raised.
    pub i_s: u64,
}

/// One tick of the servo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServoRecord {
    /// Number of the tick.
    pub tick: u64,
    /// When the step began.
    pub at: Instant,
    /// The device as read.
    pub state: Motion,
    /// TOP: where the slave should be.
    pub desired: Position,
    /// TOP: force of the scene.
    pub contact: Force,
    /// When the peer's newest sample was released; `None` before the first.
    pub incoming_at: Option<Instant>,
    /// It: position or force.
    pub incoming: Vector,
    /// TOP: its velocity.
    pub incoming_velocity: Vector,
    /// To the device.
    pub force: Force,
    /// To the peer.
    pub sent: Vector,
    /// Engagement ramp, 0 to 1.
    pub engagement: f32,
    /// Share of the peer's force that the gain schedule shows, 0 to 1; 0 at the TOP, which has none.
    pub gain: f32,
    /// Damping that passivity added, N s/m.
    pub damping: f32,
    /// Share of the force along the motion that passivity let through, 0 to 1.
    pub passed: f32,
    /// Longest force that the heat budget left, N.
    pub limit: f32,
    /// Age of the last valid sample, ns; -1 without one.
    pub age_ns: i64,
    /// Force must be zero.
    pub held: bool,
    /// An emergency stop is the reason.
    pub stopped: bool,
}
