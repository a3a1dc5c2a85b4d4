//! The vocabulary of telehaptic: what travels (samples, frames) and when (two clocks that cannot be mixed).
//!
//! Depends on nothing, holds no state, does no input or output. All units are SI: metres, metres per
//! second, newtons, nanoseconds.

mod coupling;
mod quantity;
mod sample;
mod time;

pub use coupling::{Coupling, UnknownCoupling};
pub use quantity::{Bitrate, DataSize};
pub use sample::{Force, HapticSample, Motion, Position, SampleKind, Vector, Velocity, Wave};
pub use time::{Duration, Instant, PeerTime};

/// Which station this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The operator: holds the master device, hears and sees the remote place.
    Op,
    /// The teleoperator: the slave device, camera and microphone.
    Top,
}

impl Role {
    /// The station at the other end.
    pub const fn peer(self) -> Role {
        match self {
            Role::Op => Role::Top,
            Role::Top => Role::Op,
        }
    }

    /// The channel that this station transmits on.
    pub const fn transmits(self) -> Channel {
        match self {
            Role::Op => Channel::Forward,
            Role::Top => Channel::Backward,
        }
    }

    /// The channel that this station receives from.
    pub const fn receives(self) -> Channel {
        self.peer().transmits()
    }
}

/// A direction of transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// OP to TOP: position and velocity.
    Forward,
    /// TOP to OP: force, audio and video.
    Backward,
}

impl Channel {
    /// Both channels, in the order of reports.
    pub const ALL: [Channel; 2] = [Channel::Backward, Channel::Forward];

    /// The name used in reports and file names.
    pub const fn name(self) -> &'static str {
        match self {
            Channel::Forward => "forward",
            Channel::Backward => "backward",
        }
    }
}

/// One of the three kinds of data of a telehaptic stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Medium {
    /// Samples at 1 kHz.
    Haptic,
    /// Opus frames, 50 a second.
    Audio,
    /// H.264 frames, 25 a second.
    Video,
}

impl Medium {
    /// All media, in the order of reports.
    pub const ALL: [Medium; 3] = [Medium::Haptic, Medium::Audio, Medium::Video];

    /// The name used in reports and file names.
    pub const fn name(self) -> &'static str {
        match self {
            Medium::Haptic => "haptic",
            Medium::Audio => "audio",
            Medium::Video => "video",
        }
    }

    /// The field's quality-of-service limits for this medium (`docs/protocol.md`, "Limits").
    pub const fn limits(self) -> QosLimits {
        match self {
            Medium::Haptic => QosLimits { delay_ms: 30.0, jitter_ms: 10.0, loss_percent: 10.0 },
            Medium::Audio => QosLimits { delay_ms: 150.0, jitter_ms: 30.0, loss_percent: 1.0 },
            Medium::Video => QosLimits { delay_ms: 400.0, jitter_ms: 30.0, loss_percent: 1.0 },
        }
    }
}

/// Quality-of-service limits of one medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QosLimits {
    /// One-way delay, milliseconds.
    pub delay_ms: f64,
    /// Jitter, milliseconds.
    pub jitter_ms: f64,
    /// Loss, percent of what was sent.
    pub loss_percent: f64,
}
