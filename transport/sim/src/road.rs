//! One direction between all stations: its network and the bytes of the packets inside.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use media::{DataSize, Duration, Instant};
use netem::{Delivery, DirectionSpec, FlowStats, Network};
use proto::wire::LOWER_HEADERS;

use crate::slab::{Owner, Slab};

/// A network and what is on it.
#[derive(Debug)]
pub(crate) struct Road {
    network: Network,
    slab: Slab,
    next: Option<Delivery>,
    /// How much later than out of the network packets of each session arrive.
    access: Vec<Duration>,
    /// Those that are on this last part of their way: when they arrive, an order among equals, number.
    last_leg: BinaryHeap<Reverse<(Instant, u64, u64)>>,
    legs: u64,
}

impl Road {
    /// A direction that starts at zero.
    /// `access`: the delay of each session on top of the network's.
    pub fn new(spec: &DirectionSpec, seed: u64, access: Vec<Duration>) -> Self {
        let network = Network::new(spec, Instant::ZERO, seed);
        Road { network, slab: Slab::default(), next: None, access, last_leg: BinaryHeap::new(), legs: 0 }
    }

    /// A packet leaves.
    pub fn send(&mut self, now: Instant, owner: Owner, bytes: &[u8]) {
        let id = self.slab.insert(owner, bytes);
        self.network.send(now, DataSize::from_bytes(bytes.len() as u64 + LOWER_HEADERS), id);
    }

    /// Everything up to and including `now` happens; `gone` hears of each packet whose last copy was dropped.
    pub fn advance(&mut self, now: Instant, mut gone: impl FnMut(Owner)) {
        self.network.advance(now);
        while let Some(id) = self.network.poll_copy() {
            self.slab.on_copy(id);
        }
        while let Some(id) = self.network.poll_drop() {
            if let Some(owner) = self.slab.release(id) {
                gone(owner);
            }
        }
        self.refill();
    }

    fn refill(&mut self) {
        while self.next.is_none()
            && let Some(delivery) = self.network.poll_delivery()
        {
            let access = self.access[self.slab.get(delivery.id).0.session];
            if access.is_zero() {
                self.next = Some(delivery);
            } else {
                self.legs += 1;
                self.last_leg.push(Reverse((delivery.at + access, self.legs, delivery.id)));
            }
        }
    }

    /// The next packet on its last leg comes before any that needs none.
    fn leg_first(&self) -> Option<Instant> {
        let at = self.last_leg.peek().map(|leg| leg.0.0)?;
        self.next.is_none_or(|next| at < next.at).then_some(at)
    }

    /// When something happens next to a packet, if one is inside.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let leg = self.last_leg.peek().map(|leg| leg.0.0);
        self.network.poll_timeout().into_iter().chain(leg).min()
    }

    /// When the next packet that is already known to arrive does so.
    pub fn arrives_at(&self) -> Option<Instant> {
        self.leg_first().or(self.next.map(|d| d.at))
    }

    /// The packet of [`Road::arrives_at`]: its number here. [`Road::finish`] gives it up.
    pub fn poll_arrival(&mut self) -> Option<u64> {
        if self.leg_first().is_some() {
            return self.last_leg.pop().map(|leg| leg.0.2);
        }
        let arrived = self.next.take();
        self.refill();
        arrived.map(|d| d.id)
    }

    /// Whose packet this is, and its bytes.
    pub fn packet(&self, id: u64) -> (Owner, &[u8]) {
        self.slab.get(id)
    }

    /// One copy of a packet was taken in; its owner if it was the last.
    pub fn finish(&mut self, id: u64) -> Option<Owner> {
        self.slab.release(id)
    }

    /// The cross-traffic so far.
    pub fn cross(&self, now: Instant) -> Vec<FlowStats> {
        self.network.cross_report(now)
    }

    /// Packet buffers ever made.
    pub fn buffers(&self) -> usize {
        self.slab.buffers()
    }
}
