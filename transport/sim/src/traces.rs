//! Everything that happened in a run, packet by packet and sample by sample, and its CSV files.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use media::Channel;
use proto::table::{MEDIUM_HEADER, MERGE_FACTORS_HEADER, MediumRow, MergeFactorRow, PACKETS_HEADER, PacketRow};

use crate::error::SimError;

/// Both channels. Times are nanoseconds from the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Traces {
    /// TOP to OP.
    pub backward: ChannelTraces,
    /// OP to TOP.
    pub forward: ChannelTraces,
}

/// One channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelTraces {
    /// Data packets in order of sending.
    pub packets: Vec<PacketRow>,
    /// The first k, then every change.
    pub merge_factors: Vec<MergeFactorRow>,
    /// Samples in order; those that a scheme did not send are never received.
    pub haptic: Vec<MediumRow>,
    /// Audio frames; `None` where the channel has none.
    pub audio: Option<Vec<MediumRow>>,
    /// Video frames; `None` where the channel has none.
    pub video: Option<Vec<MediumRow>>,
}

impl Traces {
    /// This channel's.
    pub fn channel(&self, channel: Channel) -> &ChannelTraces {
        match channel {
            Channel::Backward => &self.backward,
            Channel::Forward => &self.forward,
        }
    }

    /// Writes `packets_*.csv`, `k_*.csv`, `haptic_*.csv`, `audio_*.csv` and `video_*.csv` into `dir` (made if missing).
    ///
    /// # Errors
    /// [`SimError::Write`] if the folder or a file cannot be written.
    pub fn write_csv(&self, dir: &Path) -> Result<(), SimError> {
        fs::create_dir_all(dir).map_err(SimError::write(dir))?;
        for channel in Channel::ALL {
            let traces = self.channel(channel);
            let file = |kind: &str| dir.join(format!("{kind}_{}.csv", channel.name()));
            table(&file("packets"), PACKETS_HEADER, &traces.packets)?;
            table(&file("k"), MERGE_FACTORS_HEADER, &traces.merge_factors)?;
            table(&file("haptic"), MEDIUM_HEADER, &traces.haptic)?;
            for (kind, rows) in [("audio", &traces.audio), ("video", &traces.video)] {
                if let Some(rows) = rows {
                    table(&file(kind), MEDIUM_HEADER, rows)?;
                }
            }
        }
        Ok(())
    }
}

fn table(path: &Path, header: &str, rows: &[impl Display]) -> Result<(), SimError> {
    let write = || {
        let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
        writeln!(out, "{header}")?;
        for row in rows {
            writeln!(out, "{row}")?;
        }
        out.flush()
    };
    write().map_err(SimError::write(path))
}
