//! Pieces of a network in virtual time, seeded and exact.
//!
//! A [`Network`] is one direction: hops (rate, propagation, droptail queue, loss, reordering, duplication) in a row and
//! the cross-traffic that joins one of them. A [`Scenario`] is both directions, read from TOML. Nothing here
//! knows what time it is: the simulator and the live emulator tell it.

mod cross;
mod impair;
mod link;
mod network;
mod rng;
mod scenario;

pub use cross::{Arrivals, CrossSpec, FlowStats, RateRange, TcpPath, Traffic};
pub use impair::{LossSpec, Probability, ReorderSpec};
pub use link::{QueueLimit, RateStep};
pub use network::{Counts, Delivery, DirectionSpec, HopSpec, MAX_INSIDE, Network};
pub use rng::SplitMix64;
pub use scenario::{Scenario, ScenarioError, SessionTiming, direction_seed};
