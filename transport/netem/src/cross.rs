//! Cross-traffic: flows of other people's packets that join the bottleneck's queue, each through an access link of
//! its own.

use media::{Bitrate, DataSize, Duration, Instant};

use crate::link::{Link, QueueLimit};
use crate::rng::SplitMix64;

/// One flow. Rates count all bytes on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossSpec {
    /// Its name in reports.
    pub name: String,
    /// When its first packet leaves its source, counted from the start of the network.
    pub start: Duration,
    /// What it sends.
    pub traffic: Traffic,
    /// Rate of its access link; `None`: transmission takes no time there.
    pub access_rate: Option<Bitrate>,
    /// Length of its access link.
    pub access_propagation: Duration,
}

/// The pattern of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Packets of one size at one rate: packet n leaves n L / R after the first, rounded down to the nanosecond.
    Constant {
        /// Rate R, above zero.
        rate: Bitrate,
        /// Packet size L.
        packet: DataSize,
    },
    /// Packets of one size; after each a rate is drawn and sets the gap to the next.
    VariableGap {
        /// Range of the rate; drawn in whole kbit/s, both ends included.
        rates: RateRange,
        /// Packet size.
        packet: DataSize,
    },
    /// One packet every so often; a rate is drawn for each and sets its size.
    VariableSize {
        /// Range of the rate; drawn in whole kbit/s, both ends included.
        rates: RateRange,
        /// Time from packet to packet.
        interval: Duration,
    },
}

/// A range of rates in whole kbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateRange {
    /// Lowest, kbit/s, above zero.
    pub min_kbps: u64,
    /// Highest, kbit/s, not below the lowest.
    pub max_kbps: u64,
}

impl RateRange {
    fn draw(self, rng: &mut SplitMix64) -> u64 {
        self.min_kbps + rng.next_u64() % (self.max_kbps - self.min_kbps + 1)
    }
}

impl Traffic {
    /// The mean rate over a long time.
    pub fn nominal(self) -> Bitrate {
        match self {
            Traffic::Constant { rate, .. } => rate,
            // Slow packets last longer: the mean over time is the harmonic one.
            Traffic::VariableGap { rates, .. } => {
                let n = (rates.max_kbps - rates.min_kbps + 1) as f64;
                let sum: f64 = (rates.min_kbps..=rates.max_kbps).map(|r| 1.0 / r as f64).sum();
                Bitrate::from_bps((n / sum * 1000.0).round() as u64)
            }
            Traffic::VariableSize { rates, .. } => Bitrate::from_bps((rates.min_kbps + rates.max_kbps) * 500),
        }
    }
}

/// What a flow has done so far.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowStats {
    /// Name in the scenario.
    pub name: String,
    /// Packets that left its source.
    pub sent: u64,
    /// Packets lost in a queue or on the bottleneck's wire.
    pub lost: u64,
    /// Packets that went through the bottleneck.
    pub delivered: u64,
    /// Bytes of `sent`.
    pub sent_bytes: u64,
    /// Bytes of `delivered`.
    pub delivered_bytes: u64,
    /// The mean rate that the scenario asks for.
    pub nominal: Bitrate,
    /// How long the flow has been on.
    pub on_for: Duration,
}

impl FlowStats {
    /// What happened after `before`, which the same flow said earlier.
    pub fn since(&self, before: &FlowStats) -> FlowStats {
        FlowStats {
            name: self.name.clone(),
            sent: self.sent - before.sent,
            lost: self.lost - before.lost,
            delivered: self.delivered - before.delivered,
            sent_bytes: self.sent_bytes - before.sent_bytes,
            delivered_bytes: self.delivered_bytes - before.delivered_bytes,
            nominal: self.nominal,
            on_for: self.on_for.saturating_sub(before.on_for),
        }
    }

    /// The rate sent while the flow was on, kbit/s; zero before it begins.
    pub fn kbps(&self) -> f64 {
        let seconds = self.on_for.as_secs_f64();
        if seconds > 0.0 { self.sent_bytes as f64 * 8.0 / 1000.0 / seconds } else { 0.0 }
    }
}

/// A flow at work.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    spec: CrossSpec,
    access: Link,
    rng: SplitMix64,
    starts_at: Instant,
    next_at: Instant,
    sent: u64,
    sent_bytes: u64,
    pub(crate) lost: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
}

impl Flow {
    /// `rng` serves the rates drawn, its first output the first draw.
    pub(crate) fn new(spec: CrossSpec, start: Instant, rng: SplitMix64) -> Self {
        let access = Link::new(spec.access_rate, spec.access_propagation, QueueLimit::default());
        let starts_at = start + spec.start;
        Flow {
            spec,
            access,
            rng,
            starts_at,
            next_at: starts_at,
            sent: 0,
            sent_bytes: 0,
            lost: 0,
            delivered: 0,
            delivered_bytes: 0,
        }
    }

    /// When the next packet leaves the source.
    pub(crate) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Sends the next packet; its size and when it reaches the bottleneck's queue (`None`: lost before).
    pub(crate) fn emit(&mut self) -> (DataSize, Option<Instant>) {
        let at = self.next_at;
        let size = match self.spec.traffic {
            Traffic::Constant { rate, packet } => {
                let n = u128::from(self.sent + 1);
                let ns = n * u128::from(packet.as_bytes()) * 8_000_000_000 / u128::from(rate.as_bps().max(1));
                self.next_at = self.starts_at + Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX));
                packet
            }
            Traffic::VariableGap { rates, packet } => {
                let kbps = rates.draw(&mut self.rng);
                self.next_at = at + Duration::from_nanos(packet.as_bytes() * 8_000_000 / kbps.max(1));
                packet
            }
            Traffic::VariableSize { rates, interval } => {
                let bits_ns = u128::from(rates.draw(&mut self.rng)) * interval.as_nanos();
                self.next_at = at + interval;
                DataSize::from_bytes((bits_ns / 8_000_000) as u64)
            }
        };
        self.sent += 1;
        self.sent_bytes += size.as_bytes();
        let arrives = self.access.offer(at, size);
        if arrives.is_none() {
            self.lost += 1;
        }
        (size, arrives)
    }

    /// The figures at `now`.
    pub(crate) fn stats(&self, now: Instant) -> FlowStats {
        FlowStats {
            name: self.spec.name.clone(),
            sent: self.sent,
            lost: self.lost,
            delivered: self.delivered,
            sent_bytes: self.sent_bytes,
            delivered_bytes: self.delivered_bytes,
            nominal: self.spec.traffic.nominal(),
            on_for: now.saturating_since(self.starts_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: RateRange = RateRange { min_kbps: 320, max_kbps: 480 };
    const PACKET: DataSize = DataSize::from_bytes(200);

    fn flow(traffic: Traffic) -> Flow {
        let spec = CrossSpec {
            name: "x".into(),
            start: Duration::from_micros(350),
            traffic,
            access_rate: None,
            access_propagation: Duration::ZERO,
        };
        Flow::new(spec, Instant::ZERO, SplitMix64::new(1))
    }

    #[test]
    fn constant_packets_leave_at_times_rounded_down() {
        let mut f = flow(Traffic::Constant { rate: Bitrate::from_kbps(260), packet: PACKET });
        let times: Vec<u64> = (0..4).map(|_| f.emit().1.unwrap().as_nanos()).collect();
        assert_eq!(times, [350_000, 350_000 + 6_153_846, 350_000 + 12_307_692, 350_000 + 18_461_538]);
    }

    #[test]
    fn long_run_rates_are_nominal() {
        for traffic in [
            Traffic::Constant { rate: Bitrate::from_kbps(400), packet: PACKET },
            Traffic::VariableGap { rates: PAPER, packet: PACKET },
            Traffic::VariableSize { rates: PAPER, interval: Duration::from_millis(4) },
        ] {
            let mut f = flow(traffic);
            let end = Instant::from_millis(200_000);
            while f.next_at() < end {
                let (size, _) = f.emit();
                assert!((160..=240).contains(&size.as_bytes()));
            }
            let stats = f.stats(end);
            let ratio = stats.kbps() / stats.nominal.as_kbps();
            assert!((0.997..1.003).contains(&ratio), "{traffic:?} {ratio}");
        }
        let gap = Traffic::VariableGap { rates: PAPER, packet: PACKET }.nominal().as_kbps();
        assert!((394.5..394.7).contains(&gap), "{gap}");
    }
}
