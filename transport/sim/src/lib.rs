//! The simulated world: discrete events around two endpoints in virtual time.
//!
//! [`run`] puts the same [`proto::Endpoint`] that runs on the wire at both ends of a scenario's networks, feeds it
//! samples and frames, and passes its packets on, byte for byte. A run depends on its [`RunSpec`] alone: the same
//! seed gives the same packets to the nanosecond. Both ends are connected from the start, without control messages.
//! Not here: what the paper's experiment is (`assets/scenarios`), and how it is judged (`proto::meter`).

mod channel;
mod convergence;
mod error;
pub mod experiment;
mod fidelity;
mod figures;
mod frames;
mod outcome;
mod road;
mod session;
mod slab;
pub mod snr;
pub mod source;
mod spec;
mod traces;
mod world;

pub use convergence::{Convergence, SETTLED_AFTER};
pub use error::SimError;
pub use fidelity::{Reference, run_with_snr};
pub use figures::TimeOverLimit;
pub use outcome::{ChannelDetails, Details, FlowDetails, Footprint, Outcome};
pub use spec::{DEFAULT_SECONDS, FrameWatch, RunSpec, SECONDS, SessionSpec, TRACED_SECONDS};
pub use traces::{ChannelTraces, Traces};

/// Runs one session over the scenario's networks to the end.
///
/// # Errors
/// [`SimError::Seconds`] if the length is out of range.
pub fn run(spec: RunSpec) -> Result<Outcome, SimError> {
    let mut outcomes = run_together(spec, Vec::new())?;
    Ok(outcomes.remove(0))
}

/// Runs the session of `spec` and `others` over the same networks, whose bottlenecks they share. One outcome each,
/// that of `spec` first.
///
/// # Errors
/// [`SimError::Seconds`] if the length is out of range.
pub fn run_together(spec: RunSpec, others: Vec<SessionSpec>) -> Result<Vec<Outcome>, SimError> {
    let ticks = spec.ticks()?;
    Ok(world::World::new(spec, others, ticks).run())
}
