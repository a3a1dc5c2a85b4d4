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
    /// Datagrams cannot be passed on to this address from the socket that listens.
    #[error("cannot pass datagrams on from {listen} to {to}: {why}")]
    Target {
        /// The address listened on.
        listen: SocketAddr,
        /// The address asked for.
        to: SocketAddr,
        /// What is wrong with it, and the remedy.
        why: &'static str,
    },
    /// The system refused a socket or a wait: out of file descriptors or memory.
    #[error("the network thread cannot go on: {0}; close other programs and start again")]
    System(#[from] io::Error),
}
