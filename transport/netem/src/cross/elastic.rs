//! A flow that obeys TCP: one long connection, or short ones that come and go. It says which steps follow
//! ([`Elastic::poll_step`]); the network brings each back at its time ([`Elastic::handle`]).
//!
//! Only data packets meet the network: acknowledgements come back over a path that is never congested.

use std::collections::VecDeque;

use media::{DataSize, Duration, Instant};

use super::hours::Hours;
use super::tcp::Connection;
use super::{Arrivals, Line, TcpPath};
use crate::rng::SplitMix64;

/// Short transfers of one flow that are under way at most, where they do not wait for each other by themselves.
const AT_ONCE: usize = 64;
/// Shortest constant part of a round trip: virtual time must go on.
const MIN_BEYOND: Duration = Duration::from_micros(100);
/// More packets than any run can send.
const ENDLESS: u64 = u64::MAX / 4;

/// What happens to a flow. `slot` is a connection, `number` a packet of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TcpStep {
    /// The flow starts.
    Start,
    /// The flow stops.
    Stop,
    /// A transfer of its own accord.
    Request,
    /// The pause of a source is over.
    Resume { slot: u16 },
    /// A packet reaches the bottleneck's queue: for the network.
    Arrive { slot: u16, number: u32 },
    /// An acknowledgement comes back.
    Ack { slot: u16, number: u32 },
    /// A connection may have waited too long.
    Timeout { slot: u16 },
}

/// The connections of a flow. Memory is bounded by their number and windows.
#[derive(Clone, Debug)]
pub(crate) struct Elastic {
    path: TcpPath,
    hours: Hours,
    load: Load,
    slots: Vec<Slot>,
    /// Transfers that wait for a slot, and the sum of the times when they came.
    waiting: u64,
    waiting_since: u128,
    next: VecDeque<(Instant, TcpStep)>,
    transfers: u64,
    transfer_time: Duration,
}

#[derive(Clone, Debug)]
enum Load {
    Long,
    Short { sizes: (u64, u64), arrivals: Arrivals, rng: SplitMix64 },
}

#[derive(Clone, Debug)]
struct Slot {
    connection: Connection,
    busy: bool,
    since: Instant,
    /// When the next step [`TcpStep::Timeout`] of this connection comes.
    alarm: Option<Instant>,
}

impl Elastic {
    /// One connection that always has something to send.
    pub(super) fn long(path: TcpPath, hours: Hours) -> Self {
        Elastic::new(path, hours, Load::Long, 1)
    }

    /// Transfers of a size drawn between the two of `sizes`.
    pub(super) fn short(
        path: TcpPath,
        sizes: (DataSize, DataSize),
        arrivals: Arrivals,
        hours: Hours,
        rng: SplitMix64,
    ) -> Self {
        let slots = match arrivals {
            Arrivals::Open { .. } => AT_ONCE,
            Arrivals::Closed { sources, .. } => usize::from(sources.max(1)),
        };
        let sizes = (sizes.0.as_bytes(), sizes.1.as_bytes());
        Elastic::new(path, hours, Load::Short { sizes, arrivals, rng }, slots)
    }

    fn new(path: TcpPath, hours: Hours, load: Load, slots: usize) -> Self {
        let slot = Slot {
            connection: Connection::new(u64::from(path.max_window)),
            busy: false,
            since: hours.first(),
            alarm: None,
        };
        Elastic {
            path: TcpPath { beyond: path.beyond.max(MIN_BEYOND), ..path },
            load,
            slots: vec![slot; slots],
            waiting: 0,
            waiting_since: 0,
            next: VecDeque::from([(hours.first(), TcpStep::Start)]),
            hours,
            transfers: 0,
            transfer_time: Duration::ZERO,
        }
    }

    /// Size of every packet.
    pub(crate) fn packet(&self) -> DataSize {
        self.path.packet
    }

    /// From the far end of the bottleneck's wire until the acknowledgement is back.
    pub(crate) fn beyond(&self) -> Duration {
        self.path.beyond
    }

    /// Short transfers completed, and the time that they took together.
    pub(super) fn transfers(&self) -> (u64, Duration) {
        (self.transfers, self.transfer_time)
    }

    /// A step that follows from those handled, and when it is due. Steps of one moment come in the order of this.
    pub(crate) fn poll_step(&mut self) -> Option<(Instant, TcpStep)> {
        self.next.pop_front()
    }

    /// The step due at `at`.
    pub(crate) fn handle(&mut self, at: Instant, step: TcpStep, line: &mut Line) {
        match step {
            TcpStep::Start => self.on_start(at, line),
            TcpStep::Stop => self.on_stop(),
            TcpStep::Request => self.on_request(at, line),
            TcpStep::Resume { slot } => self.begin(at, at, slot, line),
            TcpStep::Arrive { .. } => {}
            TcpStep::Ack { slot, number } => {
                self.slots[slot as usize].connection.on_ack(at, number);
                self.go_on(at, slot, line);
            }
            TcpStep::Timeout { slot } => {
                let s = &mut self.slots[slot as usize];
                // An earlier one may have taken the place of this.
                if s.alarm.take_if(|alarm| *alarm == at).is_some() {
                    if s.connection.deadline().is_some_and(|deadline| deadline <= at) {
                        s.connection.on_timeout();
                    }
                    self.go_on(at, slot, line);
                }
            }
        }
    }

    fn on_start(&mut self, at: Instant, line: &mut Line) {
        if let Some(stop) = self.hours.closes() {
            self.next.push_back((stop, TcpStep::Stop));
        }
        match self.load {
            Load::Long => self.begin(at, at, 0, line),
            Load::Short { arrivals: Arrivals::Open { .. }, .. } => self.schedule(at, TcpStep::Request),
            Load::Short { arrivals: Arrivals::Closed { .. }, .. } => {
                (0..self.slots.len() as u16).for_each(|slot| self.schedule(at, TcpStep::Resume { slot }));
            }
        }
    }

    fn on_stop(&mut self) {
        for slot in &mut self.slots {
            slot.connection.close();
            slot.busy = false;
        }
        (self.waiting, self.waiting_since) = (0, 0);
        if let Some(start) = self.hours.reopen() {
            self.next.push_back((start, TcpStep::Start));
        }
    }

    fn on_request(&mut self, at: Instant, line: &mut Line) {
        self.schedule(at, TcpStep::Request);
        match self.slots.iter().position(|slot| !slot.busy) {
            Some(slot) => self.begin(at, at, slot as u16, line),
            None => {
                self.waiting += 1;
                self.waiting_since += u128::from(at.as_nanos());
            }
        }
    }

    /// The next step of this kind comes after a time drawn, unless the flow stops before.
    fn schedule(&mut self, now: Instant, step: TcpStep) {
        let Load::Short { arrivals, rng, .. } = &mut self.load else { return };
        let (Arrivals::Open { mean_gap: mean } | Arrivals::Closed { mean_pause: mean, .. }) = *arrivals;
        let at = now + rng.exponential(mean);
        if self.hours.closes().is_none_or(|stop| at < stop) {
            self.next.push_back((at, step));
        }
    }

    /// A transfer that came at `since` begins.
    fn begin(&mut self, now: Instant, since: Instant, slot: u16, line: &mut Line) {
        let packets = match &mut self.load {
            Load::Long => ENDLESS,
            Load::Short { sizes: (min, max), rng, .. } => {
                let bytes = *min + rng.next_u64() % (max.saturating_sub(*min) + 1);
                bytes.div_ceil(self.path.packet.as_bytes().max(1)).max(1)
            }
        };
        let s = &mut self.slots[slot as usize];
        s.connection.open(packets);
        s.busy = true;
        s.since = since;
        self.go_on(now, slot, line);
    }

    /// Sends what the window permits, and sees to what follows.
    fn go_on(&mut self, now: Instant, slot: u16, line: &mut Line) {
        let s = &mut self.slots[slot as usize];
        while let Some(number) = s.connection.poll_send(now) {
            if let Some(arrives) = line.send(now, self.path.packet) {
                self.next.push_back((arrives, TcpStep::Arrive { slot, number }));
            }
        }
        if let Some(deadline) = s.connection.deadline()
            && s.alarm.is_none_or(|alarm| deadline < alarm)
        {
            s.alarm = Some(deadline);
            self.next.push_back((deadline, TcpStep::Timeout { slot }));
        }
        if s.busy && s.connection.is_idle() {
            s.busy = false;
            self.transfers += 1;
            self.transfer_time = self.transfer_time.saturating_add(now.saturating_since(s.since));
            self.on_complete(now, slot, line);
        }
    }

    fn on_complete(&mut self, now: Instant, slot: u16, line: &mut Line) {
        if matches!(self.load, Load::Short { arrivals: Arrivals::Closed { .. }, .. }) {
            self.schedule(now, TcpStep::Resume { slot });
        } else if self.waiting > 0 {
            // The mean of those that wait: sums come out right, however they are served.
            let since = self.waiting_since / u128::from(self.waiting);
            self.waiting -= 1;
            self.waiting_since -= since;
            self.begin(now, Instant::from_nanos(since as u64), slot, line);
        }
    }
}
