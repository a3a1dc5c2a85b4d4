//! Traces: each station writes its half (what it sent, what it received, on its own clock); [`merge`] joins the
//! two halves of one run on the machine's common clock into the report and its CSV files.
//!
//! A half is a directory: `station.json` ([`StationInfo`]) and one CSV file for each kind of fact, times in
//! nanoseconds on the station's clock, indexes as the station counts them. What the columns mean is told at [`TABLES`].

mod csv;
mod figures;
mod half;
mod join;
mod merge;
mod record;
#[cfg(test)]
mod tests;
mod write;

pub use half::StationInfo;
pub use merge::{MergeOptions, Merged, merge};
pub use record::{Counters, LinkEvent, Record, ServoRecord};
pub use write::TraceWriter;

/// A file of a half trace: its name and its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// File name.
    pub name: &'static str,
    /// First line.
    pub header: &'static str,
}

/// Samples that the transport took: tick and moment.
pub const HAPTIC_SENT: Table = Table { name: "haptic_sent.csv", header: "index,at_ns" };
/// Samples that were given to control: the sender's tick and the moment.
pub const HAPTIC_SHOWN: Table = Table { name: "haptic_shown.csv", header: "index,at_ns" };
/// Frames that the transport took.
pub const FRAMES_SENT: Table = Table { name: "frames_sent.csv", header: "medium,number,at_ns,bytes" };
/// Frames whose last byte arrived, and when they are shown.
pub const FRAMES_RECEIVED: Table = Table { name: "frames_received.csv", header: "medium,number,at_ns,display_ns" };
/// Data packets that left: number, moment, fragments, tick of the first.
pub const PACKETS_SENT: Table = Table { name: "packets_sent.csv", header: "sequence,at_ns,k,first_index" };
/// Data packets that arrived for the first time.
pub const PACKETS_RECEIVED: Table = Table { name: "packets_received.csv", header: "at_ns,k,first_index" };
/// Changes of the merge factor: first tick under it, new k, cause.
pub const MERGE_FACTORS: Table = Table { name: "merge_factors.csv", header: "index,k,cause" };
/// What happened to the connection.
pub const LINK_EVENTS: Table = Table { name: "link.csv", header: "at_ns,event,session" };
/// Counters of the sender some 30 times a second.
pub const COUNTERS: Table = Table { name: "counters.csv", header: "at_ns,packets,wire_bytes,i_c,i_s" };

/// All files of a half trace but the servo's, which is named after the role.
pub const TABLES: [Table; 9] = [
    HAPTIC_SENT,
    HAPTIC_SHOWN,
    FRAMES_SENT,
    FRAMES_RECEIVED,
    PACKETS_SENT,
    PACKETS_RECEIVED,
    MERGE_FACTORS,
    LINK_EVENTS,
    COUNTERS,
];

/// Header of `servo_op.csv` and `servo_top.csv`: one line a tick. `incoming` is the peer's sample in use (OP: force,
/// N, the velocity columns empty; TOP: position, m, and velocity, m/s) and `incoming_ns` when it was released to control;
/// `force` is what the device was given, `sent` what the peer was told (OP: position and velocity are those of `position`
/// and `velocity`; TOP: force). With couplings other than position-force `incoming`, its velocity columns and `sent` are
/// what [`media::HapticSample::vectors`] says, `sent` the first of them. `gain` is the share that the gain schedule shows, `damping` and `passed` what passivity
/// added (N s/m) and left of the force along the motion, `limit` what the heat budget left (N). `held` is 1 while force must be zero.
pub const SERVO_HEADER: &str = "tick,at_ns,position_x,position_y,position_z,velocity_x,velocity_y,velocity_z,\
    desired_x,desired_y,desired_z,contact_x,contact_y,contact_z,incoming_ns,incoming_x,incoming_y,incoming_z,\
    incoming_vx,incoming_vy,incoming_vz,force_x,force_y,force_z,sent_x,sent_y,sent_z,engagement,\
    gain,damping,passed,limit,age_ns,held,stopped";
