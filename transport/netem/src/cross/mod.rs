//! Cross-traffic: flows of other people's packets that join the bottleneck's queue, each through an access link of
//! its own.
//!
//! What is here decides what leaves a source and when; the network moves it. Sources of a fixed pattern ask for one
//! step after the other ([`Flow::emit`]); those that obey TCP live in [`elastic`].

mod elastic;
mod hours;
mod tcp;

use media::{Bitrate, DataSize, Duration, Instant};

use crate::link::{Link, QueueLimit};
use crate::rng::SplitMix64;
use elastic::Elastic;
pub(crate) use elastic::TcpStep;
use hours::Hours;

/// One flow. Rates count all bytes on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossSpec {
    /// Its name in reports.
    pub name: String,
    /// When its first packet leaves its source, counted from the start of the network.
    pub start: Duration,
    /// When it stops, counted likewise and later than `start`: nothing leaves its source from then on. `None`: never.
    pub stop: Option<Duration>,
    /// It starts again each so often, as at first, and stops after as long; not less than `stop` - `start`. `None`, or no
    /// `stop`: it comes once.
    pub repeat: Option<Duration>,
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
    /// One TCP connection that always has something to send.
    TcpLong(TcpPath),
    /// TCP connections that each carry one short transfer.
    TcpShort {
        /// How they travel.
        path: TcpPath,
        /// Smallest transfer; packets are whole, the last one is filled up.
        min: DataSize,
        /// Largest transfer; sizes are drawn uniformly, both ends included.
        max: DataSize,
        /// When they come.
        arrivals: Arrivals,
    },
}

/// What a TCP connection needs to know of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPath {
    /// Size of its packets on the wire, all headers included.
    pub packet: DataSize,
    /// From the far end of the bottleneck's wire to the receiver, and of the acknowledgement from there to the source:
    /// the part of the round trip that is the same for every packet. At least 100 us; less is taken as that.
    pub beyond: Duration,
    /// Most packets on their way: the receiver's window, at least 1.
    pub max_window: u32,
}

/// When short transfers come. Times are drawn from an exponential distribution, the first one from the start on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// From the arrival of one to that of the next (a Poisson process). At most 64 are under way, more wait.
    Open {
        /// Mean of the time between two.
        mean_gap: Duration,
    },
    /// Sources that each make one transfer after the other, with a pause from the end of one to the start of the next.
    Closed {
        /// Number of sources, at least 1.
        sources: u16,
        /// Mean of the pause.
        mean_pause: Duration,
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
    /// The mean rate over a long time. TCP takes what is left and has none of its own: zero, but for short transfers that
    /// come at a rate of theirs, which is that of the data asked for, without what is sent again.
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
            Traffic::TcpShort { min, max, arrivals: Arrivals::Open { mean_gap }, .. } => {
                let bits = u128::from(min.as_bytes() + max.as_bytes()) * 4;
                Bitrate::from_bps((bits * 1_000_000_000 / mean_gap.as_nanos().max(1)) as u64)
            }
            Traffic::TcpLong(_) | Traffic::TcpShort { .. } => Bitrate::from_bps(0),
        }
    }
}

/// What a flow has done so far.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowStats {
    /// Name in the scenario.
    pub name: String,
    /// Packets that left its source; of TCP those sent again among them.
    pub sent: u64,
    /// Packets lost in a queue or on the bottleneck's wire.
    pub lost: u64,
    /// Packets that went through the bottleneck.
    pub delivered: u64,
    /// Bytes of `sent`.
    pub sent_bytes: u64,
    /// Bytes of `delivered`.
    pub delivered_bytes: u64,
    /// The mean rate that the scenario asks for while the flow is on; see [`Traffic::nominal`].
    pub nominal: Bitrate,
    /// How long the flow has been on.
    pub on_for: Duration,
    /// Short transfers that are complete: their last acknowledgement has come.
    pub transfers: u64,
    /// Time that those took together, from arrival to completion.
    pub transfer_time: Duration,
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
            transfers: self.transfers - before.transfers,
            transfer_time: self.transfer_time.saturating_sub(before.transfer_time),
        }
    }

    /// The rate sent while the flow was on, kbit/s; zero before it begins.
    pub fn kbps(&self) -> f64 {
        let seconds = self.on_for.as_secs_f64();
        if seconds > 0.0 { self.sent_bytes as f64 * 8.0 / 1000.0 / seconds } else { 0.0 }
    }
}

/// What happens to a flow in the network. Small, since the network moves many of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The next packet of a fixed pattern leaves the source.
    Emit,
    /// It reaches the bottleneck's queue.
    Pass {
        /// Its size.
        bytes: u32,
    },
    /// A step of TCP.
    Tcp(TcpStep),
}

/// A flow at work.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    name: String,
    traffic: Traffic,
    rng: SplitMix64,
    hours: Hours,
    /// When the next packet leaves the source, if one does.
    next_at: Option<Instant>,
    /// Packets since the flow last started.
    run: u64,
    pub(crate) line: Line,
    pub(crate) tcp: Option<Box<Elastic>>,
}

/// The access link and what has gone over it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    access: Link,
    sent: u64,
    sent_bytes: u64,
    pub(crate) lost: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
}

impl Line {
    /// A packet leaves the source; when it reaches the bottleneck's queue (`None`: lost before).
    fn send(&mut self, at: Instant, size: DataSize) -> Option<Instant> {
        self.sent += 1;
        self.sent_bytes += size.as_bytes();
        let arrives = self.access.offer(at, size);
        if arrives.is_none() {
            self.lost += 1;
        }
        arrives
    }
}

impl Flow {
    /// `rng` serves what is drawn, its first output the first draw.
    pub(crate) fn new(spec: CrossSpec, start: Instant, rng: SplitMix64) -> Self {
        let access = Link::new(spec.access_rate, spec.access_propagation, QueueLimit::default());
        let hours = Hours::new(start, spec.start, spec.stop, spec.repeat);
        let tcp = match spec.traffic {
            Traffic::TcpLong(path) => Some(Box::new(Elastic::long(path, hours))),
            Traffic::TcpShort { path, min, max, arrivals } => {
                Some(Box::new(Elastic::short(path, (min, max), arrivals, hours, rng.clone())))
            }
            _ => None,
        };
        Flow {
            name: spec.name,
            traffic: spec.traffic,
            rng,
            hours,
            next_at: tcp.is_none().then_some(hours.first()),
            run: 0,
            line: Line { access, sent: 0, sent_bytes: 0, lost: 0, delivered: 0, delivered_bytes: 0 },
            tcp,
        }
    }

    /// When the next packet of a fixed pattern leaves the source; `None` if none ever does.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.next_at
    }

    /// Sends the packet that is due at `at`; its size and when it reaches the bottleneck's queue (`None`: lost before).
    pub(crate) fn emit(&mut self, at: Instant) -> (DataSize, Option<Instant>) {
        self.run += 1;
        let (size, next) = match self.traffic {
            Traffic::VariableGap { rates, packet } => {
                let kbps = rates.draw(&mut self.rng);
                (packet, at + Duration::from_nanos(packet.as_bytes() * 8_000_000 / kbps.max(1)))
            }
            Traffic::VariableSize { rates, interval } => {
                let bits_ns = u128::from(rates.draw(&mut self.rng)) * interval.as_nanos();
                (DataSize::from_bytes((bits_ns / 8_000_000) as u64), at + interval)
            }
            Traffic::Constant { rate, packet } => {
                let n = u128::from(self.run);
                let ns = n * u128::from(packet.as_bytes()) * 8_000_000_000 / u128::from(rate.as_bps().max(1));
                (packet, self.hours.opened() + Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
            }
            Traffic::TcpLong(path) | Traffic::TcpShort { path, .. } => (path.packet, Instant::from_nanos(u64::MAX)),
        };
        self.next_at = Some(next);
        if self.hours.closes().is_some_and(|stop| next >= stop) {
            self.next_at = self.hours.reopen();
            self.run = 0;
        }
        (size, self.line.send(at, size))
    }

    /// The figures at `now`.
    pub(crate) fn stats(&self, now: Instant) -> FlowStats {
        let (transfers, transfer_time) = self.tcp.as_ref().map_or((0, Duration::ZERO), |tcp| tcp.transfers());
        FlowStats {
            name: self.name.clone(),
            sent: self.line.sent,
            lost: self.line.lost,
            delivered: self.line.delivered,
            sent_bytes: self.line.sent_bytes,
            delivered_bytes: self.line.delivered_bytes,
            nominal: self.traffic.nominal(),
            on_for: self.hours.open_for(now),
            transfers,
            transfer_time,
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
            stop: None,
            repeat: None,
            traffic,
            access_rate: None,
            access_propagation: Duration::ZERO,
        };
        Flow::new(spec, Instant::ZERO, SplitMix64::new(1))
    }

    fn next(flow: &mut Flow) -> (DataSize, Instant) {
        let (size, at) = flow.emit(flow.next_at().unwrap());
        (size, at.unwrap())
    }

    #[test]
    fn constant_packets_leave_at_times_rounded_down() {
        let mut f = flow(Traffic::Constant { rate: Bitrate::from_kbps(260), packet: PACKET });
        let times: Vec<u64> = (0..4).map(|_| next(&mut f).1.as_nanos()).collect();
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
            while f.next_at().unwrap() < end {
                let (size, _) = next(&mut f);
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
