//! The CSV files of a joined run, as `docs/report.md` tells them: the same from a simulation and a live run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use proto::table::{self, MEDIUM_HEADER, MERGE_FACTORS_HEADER, PACKETS_HEADER};

use super::join::{Joined, MediumRow};
use crate::error::SessionError;

/// Writes the files of one channel into `dir` (made if missing), times from `start`.
pub(super) fn write(dir: &Path, joined: &Joined, start: i64) -> Result<(), SessionError> {
    fs::create_dir_all(dir).map_err(SessionError::file("create", dir))?;
    let channel = joined.channel.name();
    file(dir, &format!("packets_{channel}.csv"), PACKETS_HEADER, |out| {
        for p in &joined.packets {
            let row = table::PacketRow {
                sequence: p.sequence,
                send_ns: p.send - start,
                receive_ns: p.receive.map(|at| at - start),
                k: p.k,
                first_index: p.first_index,
            };
            writeln!(out, "{row}")?;
        }
        Ok(())
    })?;
    file(dir, &format!("k_{channel}.csv"), MERGE_FACTORS_HEADER, |out| {
        for (tick, k, cause) in &joined.merge_factors {
            writeln!(out, "{tick},{k},{cause}")?;
        }
        Ok(())
    })?;
    medium(dir, &format!("haptic_{channel}.csv"), &joined.haptic, start)?;
    for (name, rows) in [("audio", &joined.audio), ("video", &joined.video)] {
        if let Some(rows) = rows {
            medium(dir, &format!("{name}_{channel}.csv"), rows, start)?;
        }
    }
    Ok(())
}

fn medium(dir: &Path, name: &str, rows: &[MediumRow], start: i64) -> Result<(), SessionError> {
    file(dir, name, MEDIUM_HEADER, |out| {
        for r in rows {
            let since = |at: i64| at - start;
            let row = table::MediumRow {
                index: r.index,
                capture_ns: since(r.capture),
                receive_ns: r.receive.map(since),
                display_ns: r.display.map(since),
            };
            writeln!(out, "{row}")?;
        }
        Ok(())
    })
}

fn file(
    dir: &Path,
    name: &str,
    header: &str,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), SessionError> {
    let path = dir.join(name);
    let write = || {
        let mut out = BufWriter::new(File::create(&path)?);
        writeln!(out, "{header}")?;
        fill(&mut out)?;
        out.flush()
    };
    write().map_err(SessionError::file("write", &path))
}
