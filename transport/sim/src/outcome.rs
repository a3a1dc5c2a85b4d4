//! What a simulation gives.

use netem::FlowStats;
use proto::report::{CrossReport, CrossTraffic, FlowReport, Report};
use serde::{Deserialize, Serialize};

use crate::convergence::Convergence;
use crate::figures::TimeOverLimit;
use crate::traces::Traces;

/// The outcome of one session.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The report of every run, on the virtual clock.
    pub report: Report,
    /// What only a simulation knows.
    pub details: Details,
    /// If they were asked for.
    pub traces: Option<Traces>,
    /// The memory that the run needed.
    pub footprint: Footprint,
}

/// What only a simulation knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// TOP to OP.
    pub backward: ChannelDetails,
    /// OP to TOP.
    pub forward: ChannelDetails,
    /// SNR of the force displayed to the operator against that over an ideal network, dB; null where nobody asked or nothing
    /// can be compared.
    pub force_snr_db: Option<f64>,
}

/// The same of one channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChannelDetails {
    /// Time over the limits of the haptic samples.
    pub haptic_over_limit: TimeOverLimit,
    /// Of the audio frames; null where the channel has none.
    pub audio_over_limit: Option<TimeOverLimit>,
    /// Of the video frames; null where the channel has none.
    pub video_over_limit: Option<TimeOverLimit>,
    /// Frames of audio and video that the sender's multiplexer had no room for: they were not sent.
    #[serde(default)]
    pub refused_frames: u64,
    /// How soon the haptic delay settled after each change of load.
    pub convergence: Vec<Convergence>,
    /// What became of each flow of cross-traffic.
    pub flows: Vec<FlowDetails>,
}

/// A flow of cross-traffic while it was on, the warm-up left out. Rates are of all bytes on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowDetails {
    /// Name in the scenario.
    pub name: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets that went through the bottleneck. What was neither delivered nor lost was on its way at the end.
    pub delivered: u64,
    /// Packets lost.
    pub lost: u64,
    /// Rate sent, kbit/s.
    pub sent_kbps: f64,
    /// Throughput behind the bottleneck, kbit/s.
    pub throughput_kbps: f64,
    /// The rate that the scenario asks for, kbit/s.
    pub nominal_kbps: f64,
}

/// The most of everything that a run held at once: none of it grows with the run's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Buffers for packets inside the network, both directions together.
    pub packet_buffers: usize,
    /// Packets of a channel whose end was not yet known; the larger channel.
    pub packets_under_way: usize,
}

/// Flows of one direction at two moments: the end of the warm-up and the end of the run.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    pub at_start: Vec<FlowStats>,
    pub at_end: Vec<FlowStats>,
}

impl Flows {
    /// What became of each between the two moments.
    pub fn details(&self) -> Vec<FlowDetails> {
        let between = |(a, b): (&FlowStats, &FlowStats)| {
            let seconds = b.on_for.saturating_sub(a.on_for).as_secs_f64();
            let kbps = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8.0 / 1e3 / seconds } else { 0.0 };
            FlowDetails {
                name: b.name.clone(),
                sent: b.sent - a.sent,
                delivered: b.delivered - a.delivered,
                lost: b.lost - a.lost,
                sent_kbps: kbps(b.sent_bytes - a.sent_bytes),
                throughput_kbps: kbps(b.delivered_bytes - a.delivered_bytes),
                nominal_kbps: b.nominal.as_kbps(),
            }
        };
        self.at_start.iter().zip(&self.at_end).map(between).collect()
    }
}

/// The part of the report.
pub(crate) fn cross_traffic(backward: &[FlowDetails], forward: &[FlowDetails]) -> CrossTraffic {
    CrossTraffic { backward: cross_report(backward), forward: cross_report(forward) }
}

fn cross_report(flows: &[FlowDetails]) -> CrossReport {
    let sent = flows.iter().map(|f| f.sent).sum();
    let lost = flows.iter().map(|f| f.lost).sum();
    let flow = |f: &FlowDetails| FlowReport {
        name: f.name.clone(),
        sent: f.sent,
        lost: f.lost,
        kbps: f.sent_kbps,
        nominal_kbps: f.nominal_kbps,
    };
    CrossReport {
        sent,
        lost,
        lost_percent: if sent == 0 { 0.0 } else { 100.0 * lost as f64 / sent as f64 },
        flows: flows.iter().map(flow).collect(),
    }
}
