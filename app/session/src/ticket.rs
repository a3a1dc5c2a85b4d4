//! The ticket: where a teleoperator listens and the secret that it wants to see. Printed by the TOP, typed at the OP.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::str::FromStr;

use proto::Token;

use crate::error::SessionError;

/// Address and secret of a teleoperator: `ADDRESS:PORT/` and 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Where the teleoperator can be reached.
    pub address: SocketAddr,
    /// What it wants to see.
    pub token: Token,
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, token_hex(&self.token))
    }
}

impl FromStr for Ticket {
    type Err = SessionError;

    fn from_str(text: &str) -> Result<Self, SessionError> {
        // The secret does not go into error lines: they end up in logs.
        let (address, token) = text.trim().split_once('/').unwrap_or((text.trim(), ""));
        let wrong = |why| SessionError::Ticket { text: format!("{address}/..."), why };
        let address: SocketAddr =
            address.parse().map_err(|_| wrong("the part before '/' must be ADDRESS:PORT in digits"))?;
        if address.port() == 0 || address.ip().is_unspecified() {
            return Err(wrong("this address cannot be called"));
        }
        let token = parse_token(token).ok_or_else(|| wrong("the part after '/' must be 32 hexadecimal digits"))?;
        Ok(Ticket { address, token })
    }
}

impl<'de> serde::Deserialize<'de> for Ticket {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn token_hex(token: &Token) -> String {
    token.0.iter().map(|b| format!("{b:02x}")).collect()
}

fn parse_token(text: &str) -> Option<Token> {
    let text = text.as_bytes();
    if text.len() != 32 {
        return None;
    }
    let digit = |c: u8| char::from(c).to_digit(16);
    let mut token = [0u8; 16];
    for (byte, pair) in token.iter_mut().zip(text.chunks_exact(2)) {
        *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
    }
    Some(Token(token))
}

/// A token from the system's random numbers.
///
/// # Errors
/// The system has none.
pub fn new_token() -> Result<Token, SessionError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| SessionError::Network(format!("no random numbers for a ticket from this system: {e}")))?;
    Ok(Token(bytes))
}

/// The token kept in `path`, so that a restarted teleoperator keeps its ticket. A missing file is made, readable by
/// this user alone, with a new token in it.
///
/// # Errors
/// The file cannot be read or made, does not hold a token, or others may read it.
pub fn token_in_file(path: &Path) -> Result<Token, SessionError> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let mode = fs::metadata(path).map_err(SessionError::file("read", path))?.permissions().mode();
            if mode & 0o077 != 0 {
                return Err(SessionError::Config(format!(
                    "ticket file {p} can be read by other users: run `chmod 600 {p}`",
                    p = path.display()
                )));
            }
            // A whole ticket line is as good as the bare token.
            let line = text.trim();
            parse_token(line.rsplit('/').next().unwrap_or(line)).ok_or_else(|| {
                SessionError::Config(format!(
                    "ticket file {} does not hold 32 hexadecimal digits: delete it to get a new one",
                    path.display()
                ))
            })
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let token = new_token()?;
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)
                .map_err(SessionError::file("create", path))?;
            writeln!(file, "{}", token_hex(&token)).map_err(SessionError::file("write", path))?;
            Ok(token)
        }
        Err(e) => Err(SessionError::file("read", path)(e)),
    }
}

/// The address to print in a ticket for a socket bound to `bound`: itself, or, where that is "any address", the
/// address of this machine that its route to the world uses, else one of its interfaces, else loopback.
pub fn reachable(bound: SocketAddr) -> SocketAddr {
    if !bound.ip().is_unspecified() {
        return bound;
    }
    let ip = route_address().or_else(interface_address).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    SocketAddr::new(ip, bound.port())
}

/// Connecting a datagram socket sends nothing; it only asks the routing table which address would be used.
fn route_address() -> Option<IpAddr> {
    for (local, probe) in [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")] {
        let Ok(socket) = UdpSocket::bind(local) else { continue };
        if socket.connect(probe).is_ok()
            && let Ok(address) = socket.local_addr()
            && !address.ip().is_unspecified()
        {
            return Some(address.ip());
        }
    }
    None
}

/// First IPv4 address of an interface that is up and no loopback.
fn interface_address() -> Option<IpAddr> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: getifaddrs writes a list head into `list`, which outlives the call.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return None;
    }
    let mut found = None;
    let mut next = list;
    while !next.is_null() && found.is_none() {
        // SAFETY: `next` is an element of the list that getifaddrs gave and that is not yet freed.
        let entry = unsafe { &*next };
        let flags = entry.ifa_flags as i32;
        if !entry.ifa_addr.is_null() && flags & libc::IFF_UP != 0 && flags & libc::IFF_LOOPBACK == 0 {
            // SAFETY: ifa_addr is not null and begins with a sockaddr; it is read as sockaddr_in only for AF_INET.
            unsafe {
                if i32::from((*entry.ifa_addr).sa_family) == libc::AF_INET {
                    let address = &*entry.ifa_addr.cast::<libc::sockaddr_in>();
                    found = Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr))));
                }
            }
        }
        next = entry.ifa_next;
    }
    // SAFETY: `list` came from getifaddrs and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_round_trip_over_both_families() {
        for address in ["10.0.0.2:47000", "[2001:db8::7]:9"] {
            let ticket = Ticket { address: address.parse().unwrap(), token: Token([0xa5; 16]) };
            assert_eq!(ticket.to_string().parse::<Ticket>().unwrap(), ticket);
        }
    }

    #[test]
    fn wrong_tickets_say_what_is_wrong_and_keep_the_secret() {
        let hex = "00112233445566778899aabbccddeeff";
        for text in [
            String::new(),
            "10.0.0.2:47000".into(),
            format!("host:47000/{hex}"),
            format!("0.0.0.0:47000/{hex}"),
            format!("10.0.0.2:0/{hex}"),
            format!("10.0.0.2:47000/{}", &hex[1..]),
            format!("10.0.0.2:47000/+{}", &hex[1..]),
        ] {
            let error = text.parse::<Ticket>().unwrap_err();
            assert!(error.is_usage());
            let line = error.to_string();
            assert!(line.contains("ADDRESS:PORT/TOKEN") && !line.contains(&hex[1..]), "{line}");
        }
    }

    #[test]
    fn a_ticket_file_is_made_private_and_then_reused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ticket");
        let first = token_in_file(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(token_in_file(&path).unwrap(), first);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(token_in_file(&path).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "nonsense").unwrap();
        assert!(token_in_file(&path).unwrap_err().to_string().contains("delete it"));
        let missing = dir.path().join("no/ticket");
        assert!(token_in_file(&missing).unwrap_err().to_string().starts_with("cannot create"));
    }

    #[test]
    fn an_unspecified_address_becomes_one_that_can_be_called() {
        let bound: SocketAddr = "0.0.0.0:47000".parse().unwrap();
        let address = reachable(bound);
        assert!(!address.ip().is_unspecified() && address.port() == 47000);
        let own: SocketAddr = "127.0.0.1:5".parse().unwrap();
        assert_eq!(reachable(own), own);
    }
}
