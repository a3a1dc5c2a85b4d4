//! The report that every run ends with, in the words of the outside of the program (`docs/report.md`).

use std::collections::BTreeMap;

use media::{Medium, QosLimits};
use serde::{Deserialize, Serialize};

/// Version of this shape.
pub const SCHEMA: u32 = 1;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the packetization scheme at the end of the run.
    pub scheme: String,
    /// Name of the network scenario, empty if unknown.
    pub scenario: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// Length of the run in seconds.
    pub seconds: f64,
    /// How delays were measured.
    pub clock: Clock,
    /// Half-width of the uncertainty of absolute delays, ms. Null where nothing is known.
    pub clock_bound_ms: Option<f64>,
    /// `backward` and `forward`.
    pub channels: Channels,
    /// Cross-traffic per channel; null where not known (a lone station).
    pub cross_traffic: Option<CrossTraffic>,
    /// What the run cost.
    pub system: Option<System>,
}

/// How delays were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Virtual time: exact.
    Virtual,
    /// Both stations read one machine's clock.
    Common,
    /// Estimated from four timestamps.
    Estimated,
}

/// Both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Channels {
    /// TOP to OP.
    pub backward: ChannelReport,
    /// OP to TOP.
    pub forward: ChannelReport,
}

/// One direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChannelReport {
    /// The merge factor.
    pub k: MergeReport,
    /// Packets.
    pub wire: WireReport,
    /// Haptic samples.
    pub haptic: MediumReport,
    /// Audio frames; null where the channel has none.
    pub audio: Option<MediumReport>,
    /// Video frames; null where the channel has none.
    pub video: Option<MediumReport>,
}

impl ChannelReport {
    /// The report of `medium`, if the channel has it.
    pub fn medium(&self, medium: Medium) -> Option<&MediumReport> {
        match medium {
            Medium::Haptic => Some(&self.haptic),
            Medium::Audio => self.audio.as_ref(),
            Medium::Video => self.video.as_ref(),
        }
    }
}

/// The merge factor over a run.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct MergeReport {
    /// Share of ticks at each k, percent.
    pub share_percent: BTreeMap<u8, f64>,
    /// How often k changed.
    pub changes: u64,
    /// Triggers I_C raised.
    pub i_c: u64,
    /// Triggers I_S raised.
    pub i_s: u64,
}

/// Packets on the wire: link, IP and UDP headers (54 bytes a packet) included.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct WireReport {
    /// Data packets sent (received, where only the receiver is known).
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their rate over the run, kbit/s.
    pub kbps: f64,
    /// Packets never received; null where only one end is known.
    pub lost: Option<u64>,
}

/// One medium of one channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MediumReport {
    /// Samples or frames given to the transport.
    pub sent: u64,
    /// Received.
    pub delivered: u64,
    /// Never received.
    pub lost: u64,
    /// Received after the delay limit: a part of `delivered`.
    pub late: u64,
    /// `lost` as a share of `sent`.
    pub loss_percent: f64,
    /// `late` as a share of `sent`.
    pub over_limit_percent: f64,
    /// Delays from transport to transport; null where unknown.
    pub delay_ms: Option<DelaySummary>,
    /// Jitter; null where unknown.
    pub jitter_ms: Option<JitterSummary>,
    /// The limits applied.
    pub limits: Limits,
    /// Within the limits at face value.
    pub compliant: bool,
    /// Within the limits for certain?
    pub verdict: Verdict,
}

/// Delays over a run, ms.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct DelaySummary {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// Jitter over a run, ms.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct JitterSummary {
    /// Mean |D_i - D_(i-1)| of the network delay of successive packets (frames).
    pub packet: f64,
    /// Sum of |change of delay of successive samples at packet starts| / samples.
    pub sample: f64,
}

/// Limits of one medium.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// One-way delay, ms.
    pub delay_ms: f64,
    /// Jitter, ms.
    pub jitter_ms: f64,
    /// Loss, percent.
    pub loss_percent: f64,
}

impl From<QosLimits> for Limits {
    fn from(q: QosLimits) -> Self {
        Limits { delay_ms: q.delay_ms, jitter_ms: q.jitter_ms, loss_percent: q.loss_percent }
    }
}

/// Compliance in the light of what the clocks allow to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Compliant at delay + bound and at delay - bound.
    Pass,
    /// Not compliant at either.
    Fail,
    /// It depends on the clock, or nothing was measured.
    #[default]
    Unknown,
}

/// Cross-traffic per channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossTraffic {
    /// Through the bottleneck of TOP to OP.
    pub backward: CrossReport,
    /// Through the bottleneck of OP to TOP.
    pub forward: CrossReport,
}

/// Cross-traffic of one channel.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct CrossReport {
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped.
    pub lost: u64,
    /// `lost` as a share of `sent`.
    pub lost_percent: f64,
    /// Each flow on its own.
    #[serde(default)]
    pub flows: Vec<FlowReport>,
}

/// One flow of cross-traffic.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct FlowReport {
    /// Name in the scenario.
    pub name: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped.
    pub lost: u64,
    /// Rate sent while the flow was on, kbit/s, 54 bytes of headers a packet included as the scenario counts them.
    pub kbps: f64,
    /// The rate that the scenario asks for, kbit/s.
    pub nominal_kbps: f64,
}

/// What a run cost.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct System {
    /// Wall time, s.
    pub wall_s: f64,
    /// CPU time of the process, s.
    pub cpu_s: f64,
    /// Largest resident set, MiB.
    pub peak_rss_mib: f64,
    /// The 1 kHz loop.
    pub servo: ServoReport,
}

/// The 1 kHz loop over a run.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct ServoReport {
    /// Ticks due.
    pub ticks: u64,
    /// Ticks skipped because the loop woke more than a period late.
    pub missed: u64,
    /// Lateness of wake-ups, microseconds.
    pub late_us: LateSummary,
}

/// Lateness of wake-ups, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct LateSummary {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}
