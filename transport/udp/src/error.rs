//! What can go wrong with sockets, and what to do about it.

use std::io;
use std::net::SocketAddr;

/// An error of the network.
#[derive(Debug, thiserror::Error)]
pub enum UdpError {
    /// The address cannot be listened on: in use, not of this machine, or a port that needs privileges.
    #[error("cannot listen on {address}: {source}; choose another address or port, or end the program that holds it")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused a socket or a wait: out of file descriptors or memory.
    #[error("the network thread cannot go on: {0}; close other programs and start again")]
    System(#[from] io::Error),
}
