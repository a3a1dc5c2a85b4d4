//! The closed loop in virtual time: two endpoints, two networks, synthetic audio and video, one event loop.
//!
//! The figures that these tests compare with come from reference runs of the paper's experiment; `docs/protocol.md`
//! tells the order of things at a tick and the triggers' constants.

use telehaptic_proto as proto;

mod clocks;
mod constants;
mod extremes;
mod figures;
mod frames;
mod rates;
mod reference;
mod station;
mod table;
mod world;
