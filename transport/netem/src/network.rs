//! One direction of a network: hops in a row, and the cross-traffic that joins one of them.
//!
//! Exact in integer nanoseconds: events happen in the order of their times, those of one instant in the order of the
//! moments at which they were caused (cross-traffic before the caller's packets, then in order of sending); never in the
//! order in which the caller happened to ask. Memory is bounded by [`MAX_INSIDE`] whatever the caller does.

use std::cmp::{Ordering, Reverse};
use std::collections::VecDeque;
use std::collections::binary_heap::{BinaryHeap, PeekMut};

use media::{Bitrate, DataSize, Duration, Instant};

use crate::cross::{CrossSpec, Flow, FlowStats, Step, TcpStep, Traffic};
use crate::impair::{Impairments, LossSpec, Probability, ReorderSpec};
use crate::link::{Link, QueueLimit, RateStep};
use crate::rng::SplitMix64;

/// Packets of the caller's that may be inside, deliveries not yet polled among them. One more is dropped.
pub const MAX_INSIDE: usize = 16_384;

/// The number of a step of cross-traffic is that of its flow above so many bits, and below them (for TCP alone) counts:
/// further than any run.
const FLOW_SHIFT: u32 = 44;

/// One hop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HopSpec {
    /// Rate of its wire; `None`: transmission takes no time and nothing queues.
    pub rate: Option<Bitrate>,
    /// How that rate changes, in order of time: a capacity schedule. Without `rate` it has no effect. A packet in
    /// transmission at that moment goes on at the new rate with the bits that are left; delays are exact, rounded to the
    /// nearest nanosecond once per packet.
    pub rate_steps: Vec<RateStep>,
    /// How long a bit travels.
    pub propagation: Duration,
    /// How much may wait for the wire. Default 100 packets.
    pub queue: QueueLimit,
    /// What the wire loses. Lost packets took their time on the wire.
    pub loss: LossSpec,
    /// What it holds back.
    pub reorder: Option<ReorderSpec>,
    /// How often it delivers a packet twice.
    pub duplicate: Probability,
}

/// One direction: what [`Network`] is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionSpec {
    /// From the sender to the receiver; none: packets arrive at once.
    pub hops: Vec<HopSpec>,
    /// Which hop's queue the cross-traffic joins. It leaves behind that hop.
    pub bottleneck: usize,
    /// The flows of cross-traffic.
    pub cross: Vec<CrossSpec>,
}

/// A packet at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When its last bit arrived.
    pub at: Instant,
    /// The number given to [`Network::send`].
    pub id: u64,
}

/// What became of the caller's packets. `sent + duplicated = delivered + dropped + inside`, where
/// `dropped = dropped_in_queues + dropped_on_wires + dropped_for_room`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Given to [`Network::send`].
    pub sent: u64,
    /// Copies made on the way.
    pub duplicated: u64,
    /// Arrived, copies included.
    pub delivered: u64,
    /// Dropped because a queue was full.
    pub dropped_in_queues: u64,
    /// Dropped by a loss model.
    pub dropped_on_wires: u64,
    /// Dropped because [`MAX_INSIDE`] was reached.
    pub dropped_for_room: u64,
    /// Still on the way.
    pub inside: u64,
}

/// One direction at work.
#[derive(Clone, Debug)]
pub struct Network {
    hops: Vec<Hop>,
    bottleneck: usize,
    flows: Vec<Flow>,
    /// Counts steps of TCP, which keep their order within an instant.
    tcp_steps: u64,
    /// The caller's packets on their way to the entrance of a hop, or to the far end.
    own: BinaryHeap<Reverse<Event<Packet>>>,
    cross: BinaryHeap<Reverse<Event<Step>>>,
    last_send: Instant,
    deliveries: VecDeque<Delivery>,
    drops: VecDeque<u64>,
    copies: VecDeque<u64>,
    counts: Counts,
}

#[derive(Clone, Debug)]
struct Hop {
    link: Link,
    wire: Impairments,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    id: u64,
    /// Counts packets sent.
    number: u64,
    size: DataSize,
    /// The hop at whose entrance it arrives.
    hop: usize,
}

impl Network {
    /// A direction that starts at `start`. `seed` is the state of the first variable flow's splitmix64; everything
    /// else that is random derives from it.
    pub fn new(spec: &DirectionSpec, start: Instant, seed: u64) -> Self {
        let hop = |(i, h): (usize, &HopSpec)| Hop {
            link: Link::new(h.rate, h.propagation, h.queue).with_steps(start, &h.rate_steps),
            wire: Impairments::new(h.loss, h.reorder, h.duplicate, SplitMix64::for_part(seed, 2 * i as u64 + 1)),
        };
        let mut variable = 0;
        let mut flow = |(i, c): (usize, &CrossSpec)| {
            let is_variable = matches!(c.traffic, Traffic::VariableGap { .. } | Traffic::VariableSize { .. });
            let first = is_variable && variable == 0;
            variable += u32::from(is_variable);
            let rng = if first { SplitMix64::new(seed) } else { SplitMix64::for_part(seed, 2 * i as u64 + 2) };
            Flow::new(c.clone(), start, rng)
        };
        let mut network = Network {
            hops: spec.hops.iter().enumerate().map(hop).collect(),
            bottleneck: spec.bottleneck,
            flows: spec.cross.iter().enumerate().map(&mut flow).collect(),
            tcp_steps: 0,
            own: BinaryHeap::new(),
            cross: BinaryHeap::new(),
            last_send: start,
            deliveries: VecDeque::new(),
            drops: VecDeque::new(),
            copies: VecDeque::new(),
            counts: Counts::default(),
        };
        for flow in 0..network.flows.len() {
            if let Some(at) = network.flows[flow].next_at() {
                network.cause_cross(start, at, flow, Step::Emit);
            }
            network.cause_tcp(start, flow);
        }
        network
    }

    /// A packet of `wire_size` (all headers included) leaves the sender at `now`; `id` is the caller's.
    ///
    /// Stamps count, not calls: a packet may be given some time after its stamp, and after
    /// [`Network::advance`] to a later moment, and is treated exactly as if in time, as long as it comes before the
    /// first hop would have passed it on, and cross-traffic does not join that hop (else packets of it that came in
    /// between keep their places). A stamp before the last one is taken as equal to it.
    pub fn send(&mut self, now: Instant, wire_size: DataSize, id: u64) {
        self.counts.sent += 1;
        self.last_send = self.last_send.max(now);
        if self.counts.inside as usize + self.deliveries.len() >= MAX_INSIDE {
            self.counts.dropped_for_room += 1;
            return note(&mut self.drops, id);
        }
        self.counts.inside += 1;
        let number = self.counts.sent;
        let packet = Packet { id, number, size: wire_size, hop: 0 };
        self.own.push(Reverse(own_event(self.last_send, self.last_send, packet)));
        self.advance(self.last_send);
    }

    /// When to call [`Network::advance`] next: something may happen to one of the caller's packets then.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.own.peek().map(|e| e.0.key.at)
    }

    /// Lets everything happen that happens up to and including `now`.
    pub fn advance(&mut self, now: Instant) {
        loop {
            let own = self.own.peek().map(|e| e.0.key);
            let cross = self.cross.peek().map(|e| e.0.key);
            let own_first = match (own, cross) {
                (Some(a), Some(b)) => (a.at, a.caused_at) < (b.at, b.caused_at),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => return,
            };
            let next = if own_first { own } else { cross };
            if next.is_none_or(|next| next.at > now) {
                return;
            }
            if own_first {
                let Some(&Reverse(event)) = self.own.peek() else { return };
                let next = self.on_own(event.key.at, event.what);
                replace_first(&mut self.own, next);
            } else {
                let Some(&Reverse(event)) = self.cross.peek() else { return };
                let next = self.on_cross(event.key, event.what);
                replace_first(&mut self.cross, next);
            }
        }
    }

    /// The next packet that has arrived. One that a wire duplicated comes twice.
    pub fn poll_delivery(&mut self) -> Option<Delivery> {
        self.deliveries.pop_front()
    }

    /// The next packet of which a copy (without duplication: the only one) was dropped. Only the newest
    /// [`MAX_INSIDE`] are kept for a caller who does not ask.
    pub fn poll_drop(&mut self) -> Option<u64> {
        self.drops.pop_front()
    }

    /// The next packet of which a wire made one copy more: it will be delivered or dropped once more. Asked for before
    /// deliveries and drops it tells when a packet's bytes are needed no longer. Kept like drops.
    pub fn poll_copy(&mut self) -> Option<u64> {
        self.copies.pop_front()
    }

    /// What became of the caller's packets so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The cross-traffic at `now`, to which the network should have been advanced.
    pub fn cross_report(&self, now: Instant) -> Vec<FlowStats> {
        self.flows.iter().map(|f| f.stats(now)).collect()
    }

    /// What follows for this packet. It is first in its heap until then: nothing that it causes comes before it.
    fn on_own(&mut self, at: Instant, packet: Packet) -> Option<Event<Packet>> {
        let Some(hop) = self.hops.get_mut(packet.hop) else {
            self.counts.delivered += 1;
            self.counts.inside -= 1;
            self.deliveries.push_back(Delivery { at, id: packet.id });
            return None;
        };
        let Some(arrives) = hop.link.offer(at, packet.size) else {
            self.counts.dropped_in_queues += 1;
            self.counts.inside -= 1;
            note(&mut self.drops, packet.id);
            return None;
        };
        let fate = hop.wire.next();
        let packet = Packet { hop: packet.hop + 1, ..packet };
        if fate.first.is_none() {
            self.counts.dropped_on_wires += 1;
            self.counts.inside -= 1;
            note(&mut self.drops, packet.id);
        }
        if let Some(extra) = fate.second
            && (self.counts.inside as usize + self.deliveries.len()) < MAX_INSIDE
        {
            self.counts.duplicated += 1;
            self.counts.inside += 1;
            note(&mut self.copies, packet.id);
            self.own.push(Reverse(own_event(at, arrives + extra, packet)));
        }
        fate.first.map(|extra| own_event(at, arrives + extra, packet))
    }

    /// What follows for this flow, as for packets of the caller's.
    fn on_cross(&mut self, key: Key, step: Step) -> Option<Event<Step>> {
        let (at, flow) = (key.at, (key.number >> FLOW_SHIFT) as usize);
        match step {
            Step::Emit => {
                let (size, arrives) = self.flows[flow].emit(at);
                if let Some(arrives) = arrives {
                    let bytes = u32::try_from(size.as_bytes()).unwrap_or(u32::MAX);
                    self.cause_cross(at, arrives, flow, Step::Pass { bytes });
                }
                let next_at = self.flows[flow].next_at()?;
                let key = Key { at: next_at, caused_at: at, ..key };
                Some(Event { key, what: Step::Emit })
            }
            Step::Pass { bytes } => {
                self.pass_bottleneck(at, flow, DataSize::from_bytes(u64::from(bytes)));
                None
            }
            Step::Tcp(step) => {
                self.on_tcp(at, flow, step);
                None
            }
        }
    }

    /// Out of the way of networks without TCP.
    #[inline(never)]
    fn on_tcp(&mut self, at: Instant, flow: usize, step: TcpStep) {
        let Flow { tcp: Some(tcp), line, .. } = &mut self.flows[flow] else { return };
        if let TcpStep::Arrive { slot, number } = step {
            let (size, beyond) = (tcp.packet(), tcp.beyond());
            if let Some(arrives) = self.pass_bottleneck(at, flow, size) {
                self.cause_cross(at, arrives + beyond, flow, Step::Tcp(TcpStep::Ack { slot, number }));
            }
            return;
        }
        tcp.handle(at, step, line);
        self.cause_tcp(at, flow);
    }

    /// A packet of cross-traffic reaches the bottleneck's queue; when it arrives behind its wire (`None`: lost).
    fn pass_bottleneck(&mut self, at: Instant, flow: usize, size: DataSize) -> Option<Instant> {
        let arrives = match self.hops.get_mut(self.bottleneck) {
            Some(hop) => hop.link.offer(at, size).and_then(|arrives| Some(arrives + hop.wire.next().first?)),
            None => Some(at),
        };
        let line = &mut self.flows[flow].line;
        if arrives.is_some() {
            line.delivered += 1;
            line.delivered_bytes += size.as_bytes();
        } else {
            line.lost += 1;
        }
        arrives
    }

    fn cause_tcp(&mut self, caused_at: Instant, flow: usize) {
        while let Some((at, step)) = self.flows[flow].tcp.as_mut().and_then(|tcp| tcp.poll_step()) {
            self.cause_cross(caused_at, at, flow, Step::Tcp(step));
        }
    }

    fn cause_cross(&mut self, caused_at: Instant, at: Instant, flow: usize, what: Step) {
        let mut number = (flow as u64) << FLOW_SHIFT;
        if let Step::Tcp(_) = what {
            self.tcp_steps += 1;
            number |= self.tcp_steps & ((1 << FLOW_SHIFT) - 1);
        }
        self.cross.push(Reverse(Event { key: Key { at, caused_at, number }, what }));
    }
}

/// Notes a packet for a caller who may never ask.
fn note(list: &mut VecDeque<u64>, id: u64) {
    if list.len() == MAX_INSIDE {
        list.pop_front();
    }
    list.push_back(id);
}

/// The packet arrives at the entrance of its hop.
fn own_event(caused_at: Instant, at: Instant, what: Packet) -> Event<Packet> {
    Event { key: Key { at, caused_at, number: what.number }, what }
}

/// Puts what follows in the place of the first event: one way down the heap in place of two.
fn replace_first<T>(heap: &mut BinaryHeap<Reverse<Event<T>>>, next: Option<Event<T>>) {
    match (next, heap.peek_mut()) {
        (Some(next), Some(mut first)) => *first = Reverse(next),
        (None, Some(first)) => drop(PeekMut::pop(first)),
        (_, None) => {}
    }
}

/// Something that happens. Events of one key (copies of one packet) are alike.
#[derive(Clone, Copy, Debug)]
struct Event<T> {
    key: Key,
    what: T,
}

/// What decides the order of events; nothing in it depends on when the caller asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    at: Instant,
    caused_at: Instant,
    number: u64,
}

impl<T> PartialEq for Event<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Event<T> {}

impl<T> PartialOrd for Event<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Event<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}
