//! The socket and the network thread's loop on real loopback sockets.

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration as Wall;

use media::{Duration, Force, HapticSample, Instant, Motion, Role};
use proto::stats::Stats;
use proto::{Command, Config, Endpoint, Event, Input, Token};
use telehaptic_udp::{Clock, NetHandler, NetLoop, Socket, Waker, from_address, to_address, wait};

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
fn what_the_kernel_drops_is_counted_apart() {
    let clock = Clock::start();
    let mut small = Socket::bind(addr("127.0.0.1:0"), clock).unwrap();
    assert!(small.receive_buffer() >= 212_992, "{}", small.receive_buffer());
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

/// Feeds one sample a millisecond, counts what comes.
struct Handler {
    role: Role,
    clock: Clock,
    start: Instant,
    tick: u64,
    connect: Option<proto::Address>,
    heard: Arc<AtomicU64>,
    last: Option<Stats>,
}

impl NetHandler for Handler {
    fn feed(&mut self, now: Instant, push: &mut dyn FnMut(Instant, Input<'_>)) {
        if let Some(to) = self.connect.take() {
            push(now, Input::Command(Command::Connect(to)));
        }
        while self.start + Duration::from_millis(self.tick) <= self.clock.now() {
            let sample = match self.role {
                Role::Op => HapticSample::Motion(Motion::default()),
                Role::Top => HapticSample::Force(Force::new(1.0, 2.0, 3.0)),
            };
            push(now, Input::Haptic { tick: self.tick, sample });
            self.tick += 1;
        }
    }

    fn on_event(&mut self, _: Instant, event: &Event) {
        if let Event::Haptic { .. } = event {
            self.heard.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn on_stats(&mut self, _: Instant, stats: Stats, _: u64) {
        self.last = Some(stats);
    }

    fn stats_every(&self) -> Duration {
        Duration::from_millis(1)
    }
}

#[test]
fn two_network_threads_exchange_samples_and_end_when_told() {
    let stop = Arc::new(AtomicBool::new(false));
    let heard = [Role::Top, Role::Op].map(|_| Arc::new(AtomicU64::new(0)));
    let mut threads = Vec::new();
    let mut top_at = None;
    let mut wakers = Vec::new();
    for (i, role) in [Role::Top, Role::Op].into_iter().enumerate() {
        let clock = Clock::start();
        let socket = Socket::bind(addr("127.0.0.1:0"), clock).unwrap();
        let at = to_address(socket.local_addr());
        let config = Config { token: Token([5; 16]), ..Config::new(role) };
        let now = clock.now();
        let waker = Arc::new(Waker::new().unwrap());
        wakers.push(waker.clone());
        let mut net = NetLoop::new(socket, Endpoint::new(config, i as u64, now), waker, clock);
        let connect = top_at.filter(|_| role == Role::Op);
        top_at.get_or_insert(at);
        let mut handler = Handler { role, clock, start: now, tick: 0, connect, heard: heard[i].clone(), last: None };
        let stop = stop.clone();
        threads.push(thread::spawn(move || {
            net.run(&mut handler, &stop).unwrap();
            handler.last.unwrap()
        }));
    }
    for _ in 0..400 {
        thread::sleep(Wall::from_millis(25));
        if heard.iter().all(|h| h.load(Ordering::Relaxed) > 500) {
            break;
        }
    }
    stop.store(true, Ordering::Release);
    wakers.iter().for_each(|w| w.wake());
    for thread in threads {
        let stats = thread.join().unwrap();
        assert!(stats.connected);
        let haptic = stats.receive.media[0].clone().unwrap();
        assert!(haptic.delivered > 500, "{haptic:?}");
        assert_eq!((stats.receive.garbage, stats.receive.foreign), (0, 0));
    }
}
