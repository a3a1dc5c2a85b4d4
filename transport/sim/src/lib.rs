//! The simulated world around two protocol endpoints, in virtual time.
//!
//! Seeded and deterministic: no clock, thread or socket.

pub mod snr;
pub mod source;
