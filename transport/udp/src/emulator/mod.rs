//! The live emulator: a process between an operator and a teleoperator that delays and drops their datagrams as a network of
//! the scenario would.
//!
//! Departures follow the virtual queue from the kernel's arrival stamps, so a wake-up that comes late delays one packet and
//! never accumulates. Cross-traffic exists in virtual time alone and costs nothing on the real wire. Its clock starts
//! with the first data packet of a station; control messages before that meet an empty network.

mod lane;
mod operator;
mod target;

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use media::{Channel, Duration, Instant};
use netem::{DirectionSpec, Network, Scenario, direction_seed};
use proto::Address;
use proto::report::CrossTraffic;
use proto::wire::{FLAG_CONTROL, HEADER, VERSION};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::error::UdpError;
use crate::socket::{Datagram, Socket, to_address};
use crate::wait::{Waker, wait};
use lane::Lane;
pub use lane::{LaneLog, LaneReport};
use operator::Operator;

/// Largest datagram passed on, bytes.
const MAX_DATAGRAM: usize = 2_048;
/// Longest sleep: `stop` is seen after it even if nobody calls the waker.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

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
    /// Datagrams of sources that are neither the teleoperator nor its operator: not passed on.
    #[serde(default)]
    pub foreign: u64,
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
    operator: Operator,
    forward: Lane,
    backward: Lane,
    started: bool,
}

impl Emulator {
    /// Listens on `listen` for an operator and passes its datagrams to the teleoperator at `to`, the answers back.
    /// The operator is who shows the token that the teleoperator answers with; it may move, and another one takes its place
    /// when it has been quiet for a second.
    ///
    /// # Errors
    /// [`UdpError::Bind`] if `listen` cannot be listened on, [`UdpError::Target`] if nothing can reach `to` from there.
    pub fn bind(
        listen: SocketAddr,
        to: SocketAddr,
        scenario: Scenario,
        seed: u64,
        clock: Clock,
    ) -> Result<Emulator, UdpError> {
        let socket = Socket::bind(listen, clock)?;
        target::check(socket.local_addr(), to)?;
        let now = clock.now();
        let quiet = |spec: &DirectionSpec| Lane::new(&DirectionSpec { cross: Vec::new(), ..spec.clone() }, now, seed);
        Ok(Emulator {
            waker: Arc::new(Waker::new()?),
            forward: quiet(&scenario.forward),
            backward: quiet(&scenario.backward),
            top: to_address(to),
            operator: Operator::default(),
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
            wait(self.socket.as_raw_fd(), &self.waker, pause.min(LONGEST_SLEEP))?;
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
            cross_traffic: CrossTraffic { backward: self.backward.cross(now), forward: self.forward.cross(now) },
            backward: self.backward.report(),
            forward: self.forward.report(),
            kernel_drops: self.socket.kernel_drops(),
            foreign: self.operator.foreign,
        }
    }

    fn take(&mut self, datagram: &Datagram, bytes: &[u8]) {
        let backward = datagram.from == self.top;
        if backward {
            self.operator.on_answer(bytes);
        } else if !self.operator.passes(datagram.from, datagram.at, bytes) {
            return;
        }
        let data = |first: &u8| first >> 6 == VERSION && first & FLAG_CONTROL == 0;
        if !datagram.truncated && bytes.len() >= HEADER && bytes.first().is_some_and(data) && !self.started {
            self.start(datagram.at);
        }
        let lane = if backward { &mut self.backward } else { &mut self.forward };
        lane.take(datagram, bytes);
    }

    fn start(&mut self, at: Instant) {
        self.started = true;
        for (lane, channel) in [(&mut self.forward, Channel::Forward), (&mut self.backward, Channel::Backward)] {
            let network = Network::new(self.scenario.direction(channel), at, direction_seed(self.seed, channel));
            lane.change(network, at, self.scenario.warmup);
        }
    }

    fn release(&mut self, now: Instant) {
        let op = self.operator.address();
        for (lane, to) in [(&mut self.forward, Some(self.top)), (&mut self.backward, op)] {
            let socket = &mut self.socket;
            lane.release(now, |bytes| (socket.send(to?, bytes)).then(|| self.clock.now()));
        }
    }
}
