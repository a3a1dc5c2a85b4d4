//! The telehaptic protocol as a sans-IO endpoint: wire formats, multiplexer, packetization, delay feedback, clock
//! estimation, reassembly, playout, control messages, statistics.
//!
//! The endpoint is told the time and what happened, and says what to send and when to wake it. It
//! has no clock, socket or thread. [`drive`] is the only loop.

mod api;
mod arrivals;
mod clock;
mod config;
pub mod control;
mod endpoint;
pub mod feasible;
mod link;
mod merge;
pub mod meter;
mod mux;
mod playout;
mod reassembly;
mod receiver;
mod reconstruct;
pub mod report;
mod rivals;
mod sampling;
mod scheme;
mod sender;
pub mod stats;
pub mod table;
pub mod wire;

pub use api::*;
pub use config::{Config, MAX_MERGE, RivalConfig, Scheme, Token, TriggerConfig};
pub use endpoint::{Endpoint, drain, drive};
pub use wire::FRAME_HEADER;

/// Largest codec frame that the endpoint takes, bytes.
pub const MAX_FRAME: usize = 32_000;

/// Largest audio frame that the multiplexer has room for, bytes.
pub const MAX_AUDIO_FRAME: usize = 7_994;
