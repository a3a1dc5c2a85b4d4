//! Sockets, stamps and the waker on real loopback sockets.

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration as Wall;

use media::{Duration, Instant};
use telehaptic_udp::{Clock, Socket, Waker, from_address, to_address, wait};

fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn receive(socket: &mut Socket) -> (proto::Address, Vec<u8>, Instant) {
    let waker = Waker::new().unwrap();
    let mut buf = [0; 2_048];
    for _ in 0..50 {
        if let Some(d) = socket.receive(&mut buf).unwrap() {
            return (d.from, buf[..d.len].to_vec(), d.at);
        }
        wait(socket.as_raw_fd(), &waker, Duration::from_millis(100)).unwrap();
    }
    panic!("nothing came");
}

#[test]
fn both_families_reach_a_dual_socket_and_get_answers() {
    let clock = Clock::start();
    let mut both = Socket::bind(addr("[::]:0"), clock).unwrap();
    let port = both.local_addr().port();
    for (own, host) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]")] {
        let mut one = Socket::bind(addr(own), clock).unwrap();
        let before = clock.now();
        one.send(to_address(addr(&format!("{host}:{port}"))), b"ask");
        let (from, bytes, at) = receive(&mut both);
        assert_eq!((from_address(from), bytes.as_slice()), (one.local_addr(), b"ask".as_slice()));
        assert!(at >= before && at <= clock.now());
        both.send(from, b"answer");
        assert_eq!(receive(&mut one).1, b"answer");
    }
}

#[test]
fn the_receive_buffer_holds_a_mebibyte_where_the_system_permits_it() {
    let socket = Socket::bind(addr("127.0.0.1:0"), Clock::start()).unwrap();
    let limit: usize = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap().trim().parse().unwrap();
    // The kernel doubles what it is asked for, up to its limit for those without privileges.
    assert!(socket.receive_buffer() >= (1 << 20).min(2 * limit), "{}", socket.receive_buffer());
}

/// A datagram that lay in the socket for long bears the time of its arrival, not that of its reading.
#[test]
fn stamps_tell_the_arrival() {
    let clock = Clock::start();
    let mut receiver = Socket::bind(addr("127.0.0.1:0"), clock).unwrap();
    let mut sender = Socket::bind(addr("127.0.0.1:0"), clock).unwrap();
    // The kernel begins to stamp a moment after it is asked to.
    thread::sleep(Wall::from_millis(100));
    let before = clock.now();
    sender.send(to_address(receiver.local_addr()), b"x");
    let sent = clock.now();
    thread::sleep(Wall::from_millis(200));
    let (_, _, at) = receive(&mut receiver);
    assert!(at >= before && at < sent + Duration::from_millis(100), "{:?} after sending", at.saturating_since(before));
}

#[test]
fn longer_than_the_buffer_is_said_so() {
    let clock = Clock::start();
    let mut receiver = Socket::bind(addr("127.0.0.1:0"), clock).unwrap();
    let mut sender = Socket::bind(addr("127.0.0.1:0"), clock).unwrap();
    let to = to_address(receiver.local_addr());
    for (len, truncated) in [(64, false), (65, true), (0, false)] {
        assert!(sender.send(to, &vec![7; len]));
        let waker = Waker::new().unwrap();
        wait(receiver.as_raw_fd(), &waker, Duration::from_secs(5)).unwrap();
        let datagram = receiver.receive(&mut [0; 64]).unwrap().unwrap();
        assert_eq!((datagram.len, datagram.truncated), (len.min(64), truncated));
    }
    // No IPv4 socket reaches IPv6: told and counted, no error.
    assert!(!sender.send(to_address(addr("[::1]:9")), b"x"));
    assert_eq!(sender.unsent(), 1);
}

#[test]
fn a_port_in_use_is_named() {
    let held = Socket::bind(addr("127.0.0.1:0"), Clock::start()).unwrap();
    let error = Socket::bind(held.local_addr(), Clock::start()).unwrap_err().to_string();
    assert!(error.contains(&held.local_addr().to_string()) && error.contains("another"), "{error}");
}

#[test]
fn what_the_kernel_drops_is_counted_apart() {
    let clock = Clock::start();
    let mut small = Socket::bind(addr("127.0.0.1:0"), clock).unwrap();
    small.set_receive_buffer(4_096).unwrap();
    let mut sender = Socket::bind(addr("127.0.0.1:0"), clock).unwrap();
    let to = to_address(small.local_addr());
    for _ in 0..500 {
        sender.send(to, &[0; 400]);
    }
    let mut buf = [0; 2_048];
    let mut received = 0;
    while small.receive(&mut buf).unwrap().is_some() {
        received += 1;
    }
    // The counter rides on the next datagram that finds room.
    sender.send(to, &[0; 400]);
    receive(&mut small);
    assert_eq!(small.kernel_drops() + received, 500);
    assert!(small.kernel_drops() > 400);
}

#[test]
fn a_call_wakes_even_if_it_comes_first() {
    let socket = Socket::bind(addr("127.0.0.1:0"), Clock::start()).unwrap();
    let waker = Arc::new(Waker::new().unwrap());
    waker.wake();
    let begin = std::time::Instant::now();
    wait(socket.as_raw_fd(), &waker, Duration::from_secs(30)).unwrap();
    let caller = waker.clone();
    let thread = thread::spawn(move || {
        thread::sleep(Wall::from_millis(50));
        caller.wake();
    });
    wait(socket.as_raw_fd(), &waker, Duration::from_secs(30)).unwrap();
    thread.join().unwrap();
    assert!(begin.elapsed() < Wall::from_secs(20));
}
