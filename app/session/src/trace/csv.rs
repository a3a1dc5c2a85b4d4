//! The CSV files of a joined run, as `docs/report.md` tells them: the same from a simulation and a live run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::join::{Joined, MediumRow};
use crate::error::SessionError;

/// Writes the files of one channel into `dir` (made if missing), times from `start`.
pub(super) fn write(dir: &Path, joined: &Joined, start: i64) -> Result<(), SessionError> {
    fs::create_dir_all(dir).map_err(SessionError::file("create", dir))?;
    let channel = joined.channel.name();
    table(dir, &format!("packets_{channel}.csv"), "sequence,send_ns,receive_ns,k,first_sample_ms", |out| {
        for p in &joined.packets {
            let receive = since(p.receive, start);
            writeln!(out, "{},{},{receive},{},{}", p.sequence, p.send - start, p.k, p.first_index)?;
        }
        Ok(())
    })?;
    table(dir, &format!("k_{channel}.csv"), "tick_ms,k,cause", |out| {
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
    table(dir, name, "index,capture_ns,receive_ns,display_ns", |out| {
        for r in rows {
            let (receive, display) = (since(r.receive, start), since(r.display, start));
            writeln!(out, "{},{},{receive},{display}", r.index, r.capture - start)?;
        }
        Ok(())
    })
}

fn since(at: Option<i64>, start: i64) -> i64 {
    at.map_or(-1, |at| at - start)
}

fn table(
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
