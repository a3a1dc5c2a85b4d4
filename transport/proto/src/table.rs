//! Rows of the CSV files that every run can write (`docs/report.md`, "Traces"): the same from a simulation and a live
//! run. All times are nanoseconds from the start of the run; -1 stands for never.

use core::fmt::{self, Display, Formatter};

use crate::api::KCause;

/// First line of `packets_*.csv`.
pub const PACKETS_HEADER: &str = "sequence,send_ns,receive_ns,k,first_sample_ms";
/// First line of `k_*.csv`.
pub const MERGE_FACTORS_HEADER: &str = "tick_ms,k,cause";
/// First line of `haptic_*.csv`, `audio_*.csv` and `video_*.csv`.
pub const MEDIUM_HEADER: &str = "index,capture_ns,receive_ns,display_ns";

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRow {
    /// Counts packets.
    pub sequence: u64,
    /// When it left, ns.
    pub send_ns: i64,
    /// When it arrived, ns; `None`: lost.
    pub receive_ns: Option<i64>,
    /// Fragments in it.
    pub k: u8,
    /// Tick of its oldest sample.
    pub first_index: u64,
}

/// A sample or frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumRow {
    /// Tick of the sample; frames count from 0.
    pub index: u64,
    /// When the transport took it, ns.
    pub capture_ns: i64,
    /// When its last byte arrived, ns; `None`: never.
    pub receive_ns: Option<i64>,
    /// When it was (a frame: is to be) shown, ns; `None`: never.
    pub display_ns: Option<i64>,
}

/// A change of the merge factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeFactorRow {
    /// First tick under it.
    pub tick: u64,
    /// The new k.
    pub k: u8,
    /// Why.
    pub cause: KCause,
}

impl Display for PacketRow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let receive = self.receive_ns.unwrap_or(-1);
        write!(f, "{},{},{receive},{},{}", self.sequence, self.send_ns, self.k, self.first_index)
    }
}

impl Display for MediumRow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [receive, display] = [self.receive_ns, self.display_ns].map(|t| t.unwrap_or(-1));
        write!(f, "{},{},{receive},{display}", self.index, self.capture_ns)
    }
}

impl Display for MergeFactorRow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", self.tick, self.k, self.cause.name())
    }
}
