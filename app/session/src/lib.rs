//! One running station, OP or TOP, without a window: threads, wiring, configuration; commands in, snapshots out.
//!
//! [`Station`] is the whole of it: [`Station::start`] opens the devices and starts the threads,
//! [`Station::snapshot`] and [`Station::picture`] tell how it is, [`Station::command`] takes wishes,
//! [`Station::finish`] ends it with a report. [`ctl`] reaches a station from another process, [`trace`] joins what
//! two stations recorded.

#[cfg(test)]
mod allocations;
mod assemble;
mod camera;
mod carries;
mod config;
mod control;
mod cost;
pub mod ctl;
mod dump;
mod error;
mod history;
mod jitter;
mod net;
mod netthread;
mod outcome;
mod recorder;
mod safety;
mod screen;
mod servo;
mod shared;
mod snapshot;
mod sound;
mod station;
mod suspend;
mod threads;
mod ticket;
pub mod trace;
mod watcher;

pub use carries::Carries;
pub use config::{DEFAULT_PORT, StationConfig};
pub use error::SessionError;
pub use outcome::Outcome;
pub use proto::Scheme;
pub use proto::report;
pub use safety::{DeadManOption, SafetyOptions};
pub use snapshot::*;
pub use station::{Ended, Station};
pub use ticket::Ticket;
