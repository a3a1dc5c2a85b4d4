//! The network thread's loop: two of them over loopback, a peer that moves, a flood, and what a packet costs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration as Wall;

use media::{Duration, Force, HapticSample, Instant, Motion, Role};
use proto::stats::Stats;
use proto::{Address, Command, Config, Endpoint, Event, Host, Input, Token, Transmit, drive};
use telehaptic_udp::{Clock, NetHandler, NetLoop, Socket, Waker, to_address, wait};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

// SAFETY: every call is passed to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as our caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as our caller promised.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as our caller promised.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Ticks left out of the count of allocations, ticks in each of the windows counted, and windows.
const SETTLED: u64 = 1_000;
const WINDOW: u64 = 125;
const WINDOWS: usize = 8;
/// Ticks after which all has been counted.
const COUNTED: u64 = SETTLED + WINDOW * WINDOWS as u64;

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn config(role: Role) -> Config {
    Config { token: Token([5; 16]), ..Config::new(role) }
}

/// Feeds one sample a millisecond, counts what comes.
struct Handler {
    role: Role,
    clock: Clock,
    start: Instant,
    tick: u64,
    connect: Option<Address>,
    heard: Arc<AtomicU64>,
    last: Option<Stats>,
    /// Allocations of this thread up to the bounds of the windows.
    allocations: [u64; WINDOWS + 1],
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
            if self.tick >= SETTLED && self.tick.is_multiple_of(WINDOW) && self.tick <= COUNTED {
                self.allocations[((self.tick - SETTLED) / WINDOW) as usize] = ALLOCATIONS.get();
            }
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

/// A station's network thread.
struct Running {
    at: SocketAddr,
    heard: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: JoinHandle<Handler>,
}

impl Running {
    fn start(role: Role, peer: Option<SocketAddr>) -> Running {
        let clock = Clock::start();
        let socket = Socket::bind(loopback(), clock).unwrap();
        let (at, now, waker) = (socket.local_addr(), clock.now(), Arc::new(Waker::new().unwrap()));
        let mut net = NetLoop::new(socket, Endpoint::new(config(role), 1, now), waker.clone(), clock);
        let (heard, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (connect, last) = (peer.map(to_address), None);
        let mut handler = Handler {
            role,
            clock,
            start: now,
            tick: 0,
            connect,
            heard: heard.clone(),
            last,
            allocations: [0; WINDOWS + 1],
        };
        let flag = stop.clone();
        let thread = thread::spawn(move || {
            net.run(&mut handler, &flag).unwrap();
            handler
        });
        Running { at, heard, stop, waker, thread }
    }

    fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    fn end(self) -> Handler {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        self.thread.join().unwrap()
    }
}

/// Waits, with patience for a busy machine, until both have heard `count` samples.
fn until_heard(stations: [&Running; 2], count: u64) {
    for _ in 0..1_000 {
        if stations.iter().all(|s| s.heard() >= count) {
            return;
        }
        thread::sleep(Wall::from_millis(20));
    }
    panic!("heard {:?} of {count} samples", stations.map(Running::heard));
}

/// Statistics every millisecond are part of what is counted. Where the machine stalls a thread, a longer burst than ever
/// before can make a buffer grow once, so one window without any allocation is what must be found, and few in all: a
/// packet that costs one would cost it in every window, a thousand times.
#[test]
fn two_network_threads_exchange_samples_and_a_packet_costs_no_allocation() {
    let top = Running::start(Role::Top, None);
    let op = Running::start(Role::Op, Some(top.at));
    until_heard([&top, &op], COUNTED + 500);
    for handler in [top.end(), op.end()] {
        let stats = handler.last.unwrap();
        assert!(stats.connected);
        let haptic = stats.receive.media[0].clone().unwrap();
        assert!(haptic.delivered > COUNTED, "{haptic:?}");
        assert_eq!((stats.receive.garbage, stats.receive.foreign), (0, 0));
        assert!(handler.tick > COUNTED && handler.allocations[0] > 0);
        let windows: Vec<u64> = handler.allocations.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(windows.contains(&0) && windows.iter().sum::<u64>() < 100, "{:?}: {windows:?}", handler.role);
    }
}

/// Between the two stands what an address translator is: from outside, the operator has the address of one of its two
/// outer sockets. When it changes to the other one, nothing comes back through the first any more.
#[test]
fn a_peer_whose_address_changes_is_followed() {
    let top = Running::start(Role::Top, None);
    let clock = Clock::start();
    let [mut inner, first, second] = [(); 3].map(|()| Socket::bind(loopback(), clock).unwrap());
    let (front, moved_to, top_at) = (inner.local_addr(), to_address(second.local_addr()), to_address(top.at));
    let (changed, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (change, end) = (changed.clone(), over.clone());
    let translator = thread::spawn(move || {
        let (waker, mut buf, mut outer) = (Waker::new().unwrap(), [0; 2_048], [first, second]);
        let mut op = None;
        while !end.load(Ordering::Acquire) {
            let outer = &mut outer[usize::from(change.load(Ordering::Acquire))];
            while let Some(d) = inner.receive(&mut buf).unwrap() {
                op = Some(d.from);
                outer.send(top_at, &buf[..d.len]);
            }
            while let Some(d) = outer.receive(&mut buf).unwrap() {
                if let Some(op) = op {
                    inner.send(op, &buf[..d.len]);
                }
            }
            wait(inner.as_raw_fd(), &waker, Duration::from_millis(1)).unwrap();
        }
    });
    let op = Running::start(Role::Op, Some(front));
    until_heard([&top, &op], 200);
    changed.store(true, Ordering::Release);
    until_heard([&top, &op], top.heard().max(op.heard()) + 500);
    let stats = top.end().last.unwrap();
    op.end();
    over.store(true, Ordering::Release);
    translator.join().unwrap();
    assert_eq!(stats.peer, Some(moved_to));
    assert!(stats.connected && !stats.silent);
}

/// What one pass of the loop does, in order. It ends after a single pass because it is told to stop beforehand.
#[derive(Default)]
struct Journal {
    calls: Vec<(&'static str, Instant)>,
    refused: u64,
}

impl NetHandler for Journal {
    fn feed(&mut self, now: Instant, _: &mut dyn FnMut(Instant, Input<'_>)) {
        self.calls.push(("feed", now));
    }

    fn on_event(&mut self, now: Instant, _: &Event) {
        self.calls.push(("event", now));
    }

    fn on_stats(&mut self, _: Instant, stats: Stats, _: u64) {
        self.refused = stats.receive.garbage + stats.receive.foreign;
    }
}

fn one_pass(net: &mut NetLoop) -> Journal {
    let mut journal = Journal::default();
    net.run(&mut journal, &AtomicBool::new(true)).unwrap();
    journal
}

fn loop_and_sender() -> (NetLoop, Socket, Address, Clock) {
    let clock = Clock::start();
    let socket = Socket::bind(loopback(), clock).unwrap();
    let at = to_address(socket.local_addr());
    let endpoint = Endpoint::new(config(Role::Top), 1, clock.now());
    let net = NetLoop::new(socket, endpoint, Arc::new(Waker::new().unwrap()), clock);
    (net, Socket::bind(loopback(), clock).unwrap(), at, clock)
}

#[test]
fn a_flood_lets_local_inputs_through_after_every_batch() {
    let (mut net, mut sender, at, _) = loop_and_sender();
    for n in 0..500u32 {
        assert!(sender.send(at, &n.to_be_bytes()));
    }
    for pass in 1..=7 {
        let journal = one_pass(&mut net);
        assert_eq!(journal.calls.len(), 1, "{:?}", journal.calls);
        assert_eq!(journal.refused, pass * 64);
    }
    assert_eq!(one_pass(&mut net).refused, 500);
}

/// Sends what the operator's endpoint says first.
struct Hello<'a>(&'a mut Socket);

impl Host for Hello<'_> {
    fn transmit(&mut self, _: Instant, transmit: Transmit, bytes: &[u8]) {
        assert!(self.0.send(transmit.to, bytes));
    }

    fn event(&mut self, _: Instant, _: &Event) {}
}

#[test]
fn datagrams_come_before_local_inputs_and_at_the_time_of_their_arrival() {
    let (mut net, mut sender, at, clock) = loop_and_sender();
    // The kernel begins to stamp a moment after it is asked to.
    thread::sleep(Wall::from_millis(100));
    let mut op = Endpoint::new(config(Role::Op), 2, clock.now());
    let connect = Input::Command(Command::Connect(at));
    drive(&mut op, clock.now(), connect, &mut Vec::new(), &mut Hello(&mut sender));
    thread::sleep(Wall::from_millis(200));
    let calls = one_pass(&mut net).calls;
    let [("event", event), ("feed", feed)] = calls[..] else { panic!("{calls:?}") };
    assert!(feed.saturating_since(event) > Duration::from_millis(100), "{event} {feed}");
}
