//! One direction of the emulator: payloads wait here while their packets pass the network in virtual time.
//!
//! Memory is bounded: payloads live in a ring of slots that are used again, more of them than a network holds packets.

use media::{DataSize, Duration, Instant};
use netem::{DirectionSpec, FlowStats, Network};
use proto::report::{CrossReport, FlowReport};
use proto::wire::LOWER_HEADERS;
use serde::{Deserialize, Serialize};

use crate::socket::Datagram;

/// Datagrams remembered per direction; more than a network holds.
const SLOTS: usize = 2 * netem::MAX_INSIDE;

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
    /// Through the network, but not sent on: the system refused them, or no operator has been heard yet to send them to.
    #[serde(default)]
    pub unsent: u64,
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

/// One direction.
#[derive(Debug)]
pub(super) struct Lane {
    /// The network in use is the last; those before it still hold packets.
    networks: Vec<Network>,
    /// When the figures of the cross-traffic begin, and what it had done by then.
    counts_from: Option<Instant>,
    before: Vec<FlowStats>,
    /// Payloads by number of datagram, modulo the number of slots.
    slots: Vec<Slot>,
    next_id: u64,
    late_sum: Duration,
    late_max: Duration,
    report: LaneReport,
    pub(super) log: Option<LaneLog>,
}

#[derive(Debug, Default)]
struct Slot {
    id: u64,
    bytes: Vec<u8>,
}

impl Lane {
    pub(super) fn new(spec: &DirectionSpec, now: Instant, seed: u64) -> Lane {
        Lane {
            networks: vec![Network::new(spec, now, seed)],
            counts_from: None,
            before: Vec::new(),
            slots: Vec::new(),
            next_id: 0,
            late_sum: Duration::ZERO,
            late_max: Duration::ZERO,
            report: LaneReport::default(),
            log: None,
        }
    }

    /// From `at` on datagrams pass `network`; those inside stay on the way that they took. A log begins anew.
    /// Figures of the cross-traffic leave `warmup` out.
    pub(super) fn change(&mut self, network: Network, at: Instant, warmup: Duration) {
        self.counts_from = Some(at + warmup);
        if let Some(log) = &mut self.log {
            *log = LaneLog { start: Some(at), ..LaneLog::default() };
        }
        self.networks.push(network);
    }

    pub(super) fn take(&mut self, datagram: &Datagram, bytes: &[u8]) {
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

    /// Sends what has left the network by `now`; `send` returns the time afterwards, `None` if it could not.
    pub(super) fn release(&mut self, now: Instant, mut send: impl FnMut(&[u8]) -> Option<Instant>) {
        for network in &mut self.networks {
            network.advance(now);
            while let Some(delivery) = network.poll_delivery() {
                let slot = &self.slots[delivery.id as usize % SLOTS];
                if slot.id != delivery.id {
                    // Held back for so long that its slot serves another by now.
                    self.report.dropped += 1;
                    continue;
                }
                let Some(sent_at) = send(&slot.bytes) else {
                    self.report.unsent += 1;
                    continue;
                };
                self.report.forwarded += 1;
                let late = sent_at.saturating_since(delivery.at);
                self.late_sum += late;
                self.late_max = self.late_max.max(late);
                if let Some(log) = &mut self.log {
                    log.departures.push((delivery.id, delivery.at, sent_at));
                }
            }
            while network.poll_drop().is_some() {
                self.report.dropped += 1;
            }
        }
        if let Some(network) = self.networks.last()
            && self.counts_from.take_if(|from| *from <= now).is_some()
        {
            self.before = network.cross_report(now);
        }
        // The empty network from before the start goes when its last packet has left.
        if self.networks.len() > 1 && self.networks[0].counts().inside == 0 {
            self.networks.remove(0);
        }
    }

    /// When something may leave next.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.networks.iter().filter_map(Network::poll_timeout).min()
    }

    pub(super) fn report(&self) -> LaneReport {
        let us = |d: Duration| d.as_secs_f64() * 1e6;
        let mean = us(self.late_sum) / self.report.forwarded.max(1) as f64;
        LaneReport { late_us: [mean, us(self.late_max)], ..self.report.clone() }
    }

    /// The cross-traffic of the network in use.
    pub(super) fn cross(&self, now: Instant) -> CrossReport {
        let flows = self.networks.last().map(|n| n.cross_report(now)).unwrap_or_default();
        // Before the end of the warm-up nothing counts yet.
        let before = if self.counts_from.is_some() { &flows } else { &self.before };
        let flows: Vec<FlowStats> = flows.iter().zip(before).map(|(flow, before)| flow.since(before)).collect();
        let (sent, lost) = flows.iter().fold((0, 0), |(s, l), f| (s + f.sent, l + f.lost));
        let share = if sent == 0 { 0.0 } else { 100.0 * lost as f64 / sent as f64 };
        let flow = |f: &FlowStats| FlowReport {
            name: f.name.clone(),
            sent: f.sent,
            lost: f.lost,
            kbps: f.kbps(),
            nominal_kbps: f.nominal.as_kbps(),
        };
        CrossReport { sent, lost, lost_percent: share, flows: flows.iter().map(flow).collect() }
    }
}
