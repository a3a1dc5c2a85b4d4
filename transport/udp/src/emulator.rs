//! The live emulator: a process between an operator and a teleoperator that delays and drops their datagrams as a network of
//! the scenario would.
//!
//! Departures follow the virtual queue from the kernel's arrival stamps, so a wake-up that comes late delays one packet and
//! never accumulates. Cross-traffic exists in virtual time alone and costs nothing on the real wire. Its clock starts
//! with the first data packet of a station; control messages before that meet an empty network.

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use media::{Channel, DataSize, Duration, Instant};
use netem::{DirectionSpec, Network, Scenario, direction_seed};
use proto::Address;
use proto::report::{CrossReport, CrossTraffic, FlowReport};
use proto::wire::{FLAG_CONTROL, LOWER_HEADERS};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::error::UdpError;
use crate::socket::{Datagram, Socket, to_address};
use crate::wait::{Waker, wait};

/// Largest datagram passed on, bytes.
const MAX_DATAGRAM: usize = 2_048;
/// Datagrams remembered per direction; more than a network holds.
const SLOTS: usize = 2 * netem::MAX_INSIDE;

/// What an emulator did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmulatorReport {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// Cross-traffic.
    pub cross_traffic: CrossTraffic,
    /// TOP to OP.
    pub backward: LaneReport,
    /// OP to TOP.
    pub forward: LaneReport,
    /// Datagrams dropped by this machine before the emulator saw them.
    pub kernel_drops: u64,
}

/// One direction of an emulator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaneReport {
    /// Datagrams received.
    pub received: u64,
    /// Sent on, copies included.
    pub forwarded: u64,
    /// Dropped by the emulated network.
    pub dropped: u64,
    /// Longer than this emulator passes on.
    pub oversize: u64,
    /// How much later than the network asks datagrams were sent on, us: mean and largest.
    pub late_us: [f64; 2],
}

/// Everything that one direction did, for comparison with the same network in virtual time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneLog {
    /// When the network with its cross-traffic began.
    pub start: Option<Instant>,
    /// Datagrams since then: arrival stamp, size on the wire, number.
    pub arrivals: Vec<(Instant, DataSize, u64)>,
    /// Number, when the network let it out, when it was sent.
    pub departures: Vec<(u64, Instant, Instant)>,
}

/// A network between two sockets.
#[derive(Debug)]
pub struct Emulator {
    socket: Socket,
    waker: Arc<Waker>,
    clock: Clock,
    scenario: Scenario,
    seed: u64,
    top: Address,
    op: Option<Address>,
    forward: Lane,
    backward: Lane,
    started: bool,
}

/// One direction.
#[derive(Debug)]
struct Lane {
    /// The network in use is the last; those before it still hold packets.
    networks: Vec<Network>,
    /// Payloads by number of datagram, modulo the number of slots.
    slots: Vec<Slot>,
    next_id: u64,
    late_sum: Duration,
    late_max: Duration,
    report: LaneReport,
    log: Option<LaneLog>,
}

#[derive(Debug, Default)]
struct Slot {
    id: u64,
    bytes: Vec<u8>,
}

impl Emulator {
    /// Listens on `listen` for an operator and passes its datagrams to the teleoperator at `to`, the answers back.
    ///
    /// # Errors
    /// [`UdpError::Bind`] if `listen` cannot be listened on.
    pub fn bind(
        listen: SocketAddr,
        to: SocketAddr,
        scenario: Scenario,
        seed: u64,
        clock: Clock,
    ) -> Result<Emulator, UdpError> {
        let socket = Socket::bind(listen, clock)?;
        let now = clock.now();
        let quiet = |spec: &DirectionSpec| Lane::new(&DirectionSpec { cross: Vec::new(), ..spec.clone() }, now, seed);
        Ok(Emulator {
            waker: Arc::new(Waker::new()?),
            forward: quiet(&scenario.forward),
            backward: quiet(&scenario.backward),
            top: to_address(to),
            op: None,
            started: false,
            socket,
            clock,
            scenario,
            seed,
        })
    }

    /// The address listened on, with the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    /// Ends [`Emulator::run`] early after its `stop` is set.
    pub fn waker(&self) -> Arc<Waker> {
        self.waker.clone()
    }

    /// Keeps a log of every datagram from now on. It grows without bound: for tests and short measurements.
    pub fn keep_log(&mut self) {
        self.forward.log = Some(LaneLog::default());
        self.backward.log = Some(LaneLog::default());
    }

    /// The log of a channel, if one is kept.
    pub fn log(&self, channel: Channel) -> Option<&LaneLog> {
        match channel {
            Channel::Forward => self.forward.log.as_ref(),
            Channel::Backward => self.backward.log.as_ref(),
        }
    }

    /// Runs until `stop` is set (and the waker called, or half a second has passed).
    ///
    /// # Errors
    /// If the socket cannot be used any more.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), UdpError> {
        let mut buf = vec![0; MAX_DATAGRAM];
        while !stop.load(Ordering::Acquire) {
            // What arrived before this moment is in the socket now; nothing older can come after it.
            let now = self.clock.now();
            while let Some(datagram) = self.socket.receive(&mut buf)? {
                self.take(&datagram, &buf[..datagram.len]);
            }
            self.release(now);
            let next = self.forward.poll_timeout().into_iter().chain(self.backward.poll_timeout()).min();
            let pause = next.map_or(Duration::MAX, |at| at.saturating_since(self.clock.now()));
            wait(self.socket.as_raw_fd(), &self.waker, pause.min(Duration::from_millis(500)))?;
        }
        Ok(())
    }

    /// What happened so far.
    pub fn report(&mut self) -> EmulatorReport {
        // Cross-traffic that was due since the last wake-up counts.
        let now = self.clock.now();
        self.release(now);
        EmulatorReport {
            scenario: self.scenario.name.clone(),
            seed: self.seed,
            cross_traffic: CrossTraffic {
                backward: self.backward.cross(now, self.started),
                forward: self.forward.cross(now, self.started),
            },
            backward: self.backward.report(),
            forward: self.forward.report(),
            kernel_drops: self.socket.kernel_drops(),
        }
    }

    fn take(&mut self, datagram: &Datagram, bytes: &[u8]) {
        let backward = datagram.from == self.top;
        if !backward {
            // The newest source is the operator: it may have moved.
            self.op = Some(datagram.from);
        }
        if !self.started && bytes.first().is_some_and(|b| b & FLAG_CONTROL == 0) {
            self.start(datagram.at);
        }
        let lane = if backward { &mut self.backward } else { &mut self.forward };
        lane.take(datagram, bytes);
    }

    fn start(&mut self, at: Instant) {
        self.started = true;
        for (lane, channel) in [(&mut self.forward, Channel::Forward), (&mut self.backward, Channel::Backward)] {
            if let Some(log) = &mut lane.log {
                *log = LaneLog { start: Some(at), ..LaneLog::default() };
            }
            lane.networks.push(Network::new(self.scenario.direction(channel), at, direction_seed(self.seed, channel)));
        }
    }

    fn release(&mut self, now: Instant) {
        for (lane, to) in [(&mut self.forward, Some(self.top)), (&mut self.backward, self.op)] {
            lane.release(now, |bytes| {
                if let Some(to) = to {
                    self.socket.send(to, bytes);
                }
                self.clock.now()
            });
        }
    }
}

impl Lane {
    fn new(spec: &DirectionSpec, now: Instant, seed: u64) -> Lane {
        Lane {
            networks: vec![Network::new(spec, now, seed)],
            slots: Vec::new(),
            next_id: 0,
            late_sum: Duration::ZERO,
            late_max: Duration::ZERO,
            report: LaneReport::default(),
            log: None,
        }
    }

    fn take(&mut self, datagram: &Datagram, bytes: &[u8]) {
        self.report.received += 1;
        if datagram.truncated {
            self.report.oversize += 1;
            return;
        }
        let id = self.next_id;
        self.next_id += 1;
        let at = id as usize % SLOTS;
        if at == self.slots.len() {
            self.slots.push(Slot::default());
        }
        let slot = &mut self.slots[at];
        slot.id = id;
        slot.bytes.clear();
        slot.bytes.extend_from_slice(bytes);
        let size = DataSize::from_bytes(bytes.len() as u64 + LOWER_HEADERS);
        if let Some(network) = self.networks.last_mut() {
            network.send(datagram.at, size, id);
        }
        if let Some(log) = &mut self.log {
            log.arrivals.push((datagram.at, size, id));
        }
    }

    /// Sends what has left the network by `now`; `send` returns the time afterwards.
    fn release(&mut self, now: Instant, mut send: impl FnMut(&[u8]) -> Instant) {
        for network in &mut self.networks {
            network.advance(now);
            while let Some(delivery) = network.poll_delivery() {
                let slot = &self.slots[delivery.id as usize % SLOTS];
                if slot.id == delivery.id {
                    let sent_at = send(&slot.bytes);
                    self.report.forwarded += 1;
                    let late = sent_at.saturating_since(delivery.at);
                    self.late_sum += late;
                    self.late_max = self.late_max.max(late);
                    if let Some(log) = &mut self.log {
                        log.departures.push((delivery.id, delivery.at, sent_at));
                    }
                } else {
                    self.report.dropped += 1;
                }
            }
            while network.poll_drop().is_some() {
                self.report.dropped += 1;
            }
        }
        // The empty network from before the start goes when its last packet has left.
        if self.networks.len() > 1 && self.networks[0].counts().inside == 0 {
            self.networks.remove(0);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.networks.iter().filter_map(Network::poll_timeout).min()
    }

    fn report(&self) -> LaneReport {
        let us = |d: Duration| d.as_secs_f64() * 1e6;
        let mean = us(self.late_sum) / self.report.forwarded.max(1) as f64;
        LaneReport { late_us: [mean, us(self.late_max)], ..self.report.clone() }
    }

    fn cross(&self, now: Instant, started: bool) -> CrossReport {
        let Some(network) = self.networks.last().filter(|_| started) else { return CrossReport::default() };
        let flows = network.cross_report(now);
        let (sent, lost) = flows.iter().fold((0, 0), |(s, l), f| (s + f.sent, l + f.lost));
        let share = if sent == 0 { 0.0 } else { 100.0 * lost as f64 / sent as f64 };
        let flow = |f: &netem::FlowStats| FlowReport {
            name: f.name.clone(),
            sent: f.sent,
            lost: f.lost,
            kbps: f.kbps(),
            nominal_kbps: f.nominal.as_kbps(),
        };
        CrossReport { sent, lost, lost_percent: share, flows: flows.iter().map(flow).collect() }
    }
}
