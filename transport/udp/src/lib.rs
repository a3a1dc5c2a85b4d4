//! The real world around an endpoint: the monotonic clock, the UDP socket, the body of the network thread, and the live
//! emulator between two sockets.
//!
//! The only crate that reads the clock or names a socket. It starts no threads: whoever calls [`NetLoop::run`] or
//! [`Emulator::run`] brings one.

mod clock;
mod emulator;
mod error;
mod net_loop;
mod socket;
mod wait;

pub use clock::Clock;
pub use emulator::{Emulator, EmulatorReport, LaneLog, LaneReport};
pub use error::UdpError;
pub use net_loop::{NetHandler, NetLoop};
pub use socket::{Datagram, Socket, from_address, to_address};
pub use wait::{Waker, raise_priority, wait};
