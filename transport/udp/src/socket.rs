//! One UDP socket, IPv4 and IPv6: kernel stamps on receipt, a large buffer that is read back, drops of the kernel counted apart.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};

use media::Instant;
use proto::Address;
use socket2::{Domain, Protocol, SockAddr, Type};

use crate::clock::{Clock, wall_ns};
use crate::error::UdpError;

/// Receive buffer asked for: a second of the largest streams and more.
const RECEIVE_BUFFER: usize = 4 << 20;

/// The address as the endpoint compares it: IPv4 mapped into IPv6.
pub fn to_address(address: SocketAddr) -> Address {
    let ip = match address.ip() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    Address { ip: ip.octets(), port: address.port() }
}

/// The address as people write it.
pub fn from_address(address: Address) -> SocketAddr {
    SocketAddr::new(Ipv6Addr::from(address.ip).to_canonical(), address.port)
}

/// A received datagram; its bytes stand in the buffer given to [`Socket::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its source.
    pub from: Address,
    /// Bytes received.
    pub len: usize,
    /// It was longer than the buffer.
    pub truncated: bool,
    /// When it reached this machine, never before the one before it.
    pub at: Instant,
}

/// A bound UDP socket. Receives and sends without blocking.
#[derive(Debug)]
pub struct Socket {
    socket: socket2::Socket,
    ipv4: bool,
    clock: Clock,
    local: SocketAddr,
    last_at: Instant,
    receive_buffer: usize,
    overflow: u32,
    kernel_drops: u64,
    unsent: u64,
}

impl Socket {
    /// Listens on `address`. `[::]` listens on IPv4 as well; where the system has no IPv6, on IPv4 alone.
    ///
    /// # Errors
    /// [`UdpError::Bind`] if the address is in use or not of this machine.
    pub fn bind(address: SocketAddr, clock: Clock) -> Result<Socket, UdpError> {
        let opened = Self::open(address, clock).or_else(|error| match without_ipv6(address, &error) {
            Some(instead) => Self::open(instead, clock),
            None => Err(error),
        });
        opened.map_err(|source| UdpError::Bind { address, source })
    }

    /// A socket on any free port from which `peer` can be reached.
    ///
    /// # Errors
    /// [`UdpError::Bind`] if this machine does not speak the peer's kind of address.
    pub fn bind_towards(peer: SocketAddr, clock: Clock) -> Result<Socket, UdpError> {
        let any = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        Self::bind(any.parse().expect("a literal address"), clock)
    }

    fn open(address: SocketAddr, clock: Clock) -> io::Result<Socket> {
        let socket = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(!address.ip().is_unspecified())?;
        }
        socket.set_nonblocking(true)?;
        switch_on(&socket, libc::SO_TIMESTAMPNS)?;
        switch_on(&socket, libc::SO_RXQ_OVFL)?;
        let mut this = Socket {
            ipv4: address.is_ipv4(),
            clock,
            local: address,
            last_at: Instant::ZERO,
            receive_buffer: 0,
            overflow: 0,
            kernel_drops: 0,
            unsent: 0,
            socket,
        };
        this.set_receive_buffer(RECEIVE_BUFFER)?;
        this.socket.bind(&SockAddr::from(address))?;
        this.local = this.socket.local_addr()?.as_socket().unwrap_or(address);
        Ok(this)
    }

    /// Asks for a receive buffer of `bytes`, beyond the system's limit where that is permitted.
    ///
    /// # Errors
    /// If the socket does not answer; a smaller buffer is no error: see [`Socket::receive_buffer`].
    pub fn set_receive_buffer(&mut self, bytes: usize) -> io::Result<()> {
        let wanted = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        if set_option(&self.socket, libc::SO_RCVBUFFORCE, wanted).is_err() {
            set_option(&self.socket, libc::SO_RCVBUF, wanted)?;
        }
        self.receive_buffer = self.socket.recv_buffer_size()?;
        Ok(())
    }

    /// The next datagram, if one waits.
    ///
    /// # Errors
    /// Only what ends the socket; errors of single datagrams are passed over.
    pub fn receive(&mut self, buf: &mut [u8]) -> io::Result<Option<Datagram>> {
        // SAFETY: all-zero is a valid value of both plain structures.
        let (mut source, mut message): (libc::sockaddr_in6, libc::msghdr) = unsafe { (zeroed(), zeroed()) };
        // Room for a time stamp and the drop counter, aligned as the kernel writes them.
        let mut control = [0u64; 16];
        let mut part = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
        message.msg_name = (&raw mut source).cast();
        message.msg_namelen = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the message points to buffers that live through the call, with their true lengths.
        let len = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        if len < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EBADF | libc::ENOTSOCK | libc::EFAULT | libc::EINVAL) => Err(error),
                _ => Ok(None),
            };
        }
        let (now, wall) = both_clocks(self.clock);
        let at = self.read_control(&message, now, wall).clamp(self.last_at, now.max(self.last_at));
        self.last_at = at;
        let truncated = message.msg_flags & libc::MSG_TRUNC != 0;
        Ok(Some(Datagram { from: source_address(&source), len: len as usize, truncated, at }))
    }

    fn read_control(&mut self, message: &libc::msghdr, now: Instant, wall: i64) -> Instant {
        let mut at = now;
        // SAFETY: the kernel filled the control buffer; CMSG_* walk it within the length that it set, and the
        // payloads are read unaligned with the types that these options carry.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(message);
            while let Some(h) = header.as_ref() {
                if h.cmsg_level == libc::SOL_SOCKET && h.cmsg_type == libc::SCM_TIMESTAMPNS {
                    let t = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                    at = self.clock.from_wall(t.tv_sec * 1_000_000_000 + t.tv_nsec, wall, now);
                } else if h.cmsg_level == libc::SOL_SOCKET && h.cmsg_type == libc::SO_RXQ_OVFL {
                    let total = libc::CMSG_DATA(header).cast::<u32>().read_unaligned();
                    self.kernel_drops += u64::from(total.wrapping_sub(self.overflow));
                    self.overflow = total;
                }
                header = libc::CMSG_NXTHDR(message, header);
            }
        }
        at
    }

    /// Sends `bytes` to `to`; whether the system took them. What it will not take is lost like any packet, and counted.
    pub fn send(&mut self, to: Address, bytes: &[u8]) -> bool {
        let to = from_address(to);
        let to = match to {
            SocketAddr::V4(v4) if !self.ipv4 => SocketAddr::new(IpAddr::V6(v4.ip().to_ipv6_mapped()), v4.port()),
            other => other,
        };
        let sent = self.socket.send_to(bytes, &SockAddr::from(to)).is_ok();
        self.unsent += u64::from(!sent);
        sent
    }

    /// The address listened on, with the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Size of the receive buffer as the system tells it, bytes.
    pub fn receive_buffer(&self) -> usize {
        self.receive_buffer
    }

    /// Datagrams that reached this machine but found the receive buffer full.
    pub fn kernel_drops(&self) -> u64 {
        self.kernel_drops
    }

    /// Datagrams that the system would not send.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Both clocks at one moment: a thread that loses the processor between the two readings reads again.
fn both_clocks(clock: Clock) -> (Instant, i64) {
    const CLOSE_NS: i64 = 5_000;
    let mut before = clock.now();
    for _ in 0..4 {
        let wall = wall_ns();
        let after = clock.now();
        if after.signed_since(before) < CLOSE_NS {
            return (after, wall);
        }
        before = after;
    }
    (before, wall_ns())
}

/// All of IPv4, if all addresses were asked for and `error` says that the system has no IPv6.
fn without_ipv6(address: SocketAddr, error: &io::Error) -> Option<SocketAddr> {
    let all = address.is_ipv6() && address.ip().is_unspecified();
    let missing = error.raw_os_error() == Some(libc::EAFNOSUPPORT);
    (all && missing).then(|| SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port()))
}

fn switch_on(socket: &socket2::Socket, option: libc::c_int) -> io::Result<()> {
    set_option(socket, option, 1)
}

fn set_option(socket: &socket2::Socket, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value is an int and its true size is given.
    let done =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const value).cast(), size) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The source that the kernel wrote, of either family.
fn source_address(source: &libc::sockaddr_in6) -> Address {
    if libc::c_int::from(source.sin6_family) == libc::AF_INET {
        // SAFETY: the family says that the bytes are a sockaddr_in, which is smaller.
        let v4 = unsafe { &*std::ptr::from_ref(source).cast::<libc::sockaddr_in>() };
        let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
        return Address { ip: ip.to_ipv6_mapped().octets(), port: u16::from_be(v4.sin_port) };
    }
    Address { ip: source.sin6_addr.s6_addr, port: u16::from_be(source.sin6_port) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_way_there_and_back() {
        for text in ["127.0.0.1:1", "10.1.2.3:65535", "[::1]:47000", "[2001:db8::7]:9"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(from_address(to_address(address)), address);
        }
        let mapped: SocketAddr = "[::ffff:10.1.2.3]:5".parse().unwrap();
        assert_eq!(to_address(mapped), to_address("10.1.2.3:5".parse().unwrap()));
    }

    #[test]
    fn only_all_addresses_on_a_system_without_ipv6_become_ipv4() {
        let error = io::Error::from_raw_os_error;
        let instead = |text: &str, code| without_ipv6(text.parse().unwrap(), &error(code));
        assert_eq!(instead("[::]:47000", libc::EAFNOSUPPORT), Some("0.0.0.0:47000".parse().unwrap()));
        assert_eq!(instead("[::]:47000", libc::EADDRINUSE), None);
        assert_eq!(instead("[::1]:47000", libc::EAFNOSUPPORT), None);
        assert_eq!(instead("0.0.0.0:47000", libc::EAFNOSUPPORT), None);
    }
}
