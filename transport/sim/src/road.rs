//! One direction between all stations: its network and the bytes of the packets inside.

use media::{DataSize, Instant};
use netem::{Delivery, DirectionSpec, FlowStats, Network};
use proto::wire::LOWER_HEADERS;

use crate::slab::{Owner, Slab};

/// A network and what is on it.
#[derive(Debug)]
pub(crate) struct Road {
    network: Network,
    slab: Slab,
    next: Option<Delivery>,
}

impl Road {
    /// A direction that starts at zero.
    pub fn new(spec: &DirectionSpec, seed: u64) -> Self {
        Road { network: Network::new(spec, Instant::ZERO, seed), slab: Slab::default(), next: None }
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
        if self.next.is_none() {
            self.next = self.network.poll_delivery();
        }
    }

    /// When something happens next to a packet, if one is inside.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.network.poll_timeout()
    }

    /// When the next packet that is already known to arrive does so.
    pub fn arrives_at(&self) -> Option<Instant> {
        self.next.map(|d| d.at)
    }

    /// The packet of [`Road::arrives_at`]: its number here. [`Road::finish`] gives it up.
    pub fn poll_arrival(&mut self) -> Option<u64> {
        let arrived = self.next.take();
        self.next = self.network.poll_delivery();
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
