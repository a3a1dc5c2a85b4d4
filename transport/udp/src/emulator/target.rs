//! Whether the emulator can pass datagrams on to the address that it was given.

use std::net::SocketAddr;

use crate::error::UdpError;

/// Refuses a teleoperator's address that no datagram could reach, or whose answers could not be told from an operator's.
pub(super) fn check(listen: SocketAddr, to: SocketAddr) -> Result<(), UdpError> {
    match fault(listen, to) {
        Some(why) => Err(UdpError::Target { listen, to, why }),
        None => Ok(()),
    }
}

fn fault(listen: SocketAddr, to: SocketAddr) -> Option<&'static str> {
    let (own, target) = (listen.ip().to_canonical(), to.ip().to_canonical());
    let everywhere = own.is_unspecified();
    if to.port() == 0 {
        Some("it has no port; name the teleoperator's")
    } else if target.is_unspecified() {
        Some("it names no machine; name the teleoperator's, 127.0.0.1 for this one")
    } else if own.is_ipv4() && target.is_ipv6() {
        Some("a socket on IPv4 cannot reach IPv6; listen on [::]")
    } else if own.is_ipv6() && !everywhere && target.is_ipv4() {
        Some("a socket on one IPv6 address cannot reach IPv4; listen on [::]")
    } else if listen.port() == to.port() && (own == target || everywhere && target.is_loopback()) {
        Some("this is the emulator itself; name the teleoperator's port")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_named_with_both_addresses_and_a_remedy() {
        for (listen, to, word) in [
            ("127.0.0.1:5", "127.0.0.1:0", "port"),
            ("127.0.0.1:5", "0.0.0.0:6", "machine"),
            ("[::]:5", "[::]:6", "machine"),
            ("0.0.0.0:5", "[::1]:6", "listen on [::]"),
            ("[::1]:5", "127.0.0.1:6", "listen on [::]"),
            ("127.0.0.1:5", "127.0.0.1:5", "itself"),
            ("127.0.0.1:5", "[::ffff:127.0.0.1]:5", "itself"),
            ("0.0.0.0:5", "127.0.0.1:5", "itself"),
            ("[::]:5", "127.0.0.1:5", "itself"),
        ] {
            let error = check(listen.parse().unwrap(), to.parse().unwrap()).unwrap_err().to_string();
            assert!([listen, to, word].iter().all(|part| error.contains(part)), "{error}");
        }
    }

    #[test]
    fn what_can_be_reached_is_taken() {
        for (listen, to) in [
            ("127.0.0.1:5", "127.0.0.1:6"),
            ("0.0.0.0:5", "10.0.0.1:5"),
            ("[::]:5", "10.0.0.1:5"),
            ("[::]:5", "[::1]:6"),
            ("[::1]:5", "[::1]:6"),
        ] {
            assert!(check(listen.parse().unwrap(), to.parse().unwrap()).is_ok(), "{listen} {to}");
        }
    }
}
