//! Reads one station's half of a trace.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use media::Medium;
use proto::Scheme;
use proto::report::System;
use serde::{Deserialize, Serialize};

use super::{
    COUNTERS, FRAMES_RECEIVED, FRAMES_SENT, HAPTIC_SENT, HAPTIC_SHOWN, LINK_EVENTS, MERGE_FACTORS, PACKETS_RECEIVED,
    PACKETS_SENT, Table,
};
use crate::error::SessionError;

/// `station.json`: what a half trace says of the run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StationInfo {
    /// "op" or "top".
    pub role: String,
    /// `CLOCK_MONOTONIC` at zero of this station's clock, ns: adding it puts both halves on one clock.
    pub epoch_ns: i64,
    /// Scheme at the end.
    pub scheme: Scheme,
    /// Name of the network scenario, empty if unknown.
    pub scenario: String,
    /// Seed.
    pub seed: u64,
    /// Session number of the last peer, 0 without one.
    pub peer_session: u32,
    /// Start of the station on its clock, ns.
    pub start_ns: u64,
    /// End of the station on its clock, ns.
    pub end_ns: u64,
    /// Facts that found the recorder's queue full and are missing from the trace.
    pub dropped: u64,
    /// Counters by name, of the whole run.
    pub counters: BTreeMap<String, u64>,
    /// What the run cost.
    pub system: System,
}

/// A half in memory. All times are already on the machine's clock, ns.
#[derive(Debug)]
pub(super) struct Half {
    pub info: StationInfo,
    /// (index, at)
    pub haptic_sent: Vec<(u64, i64)>,
    /// (index, at)
    pub haptic_shown: Vec<(u64, i64)>,
    pub frames_sent: Vec<Frame>,
    pub frames_received: Vec<Frame>,
    pub packets_sent: Vec<PacketSent>,
    pub packets_received: Vec<PacketReceived>,
    /// (index, k, cause)
    pub merge_factors: Vec<(u64, u8, String)>,
    /// (at, event)
    pub link: Vec<(i64, String)>,
    /// (at, packets, wire bytes, I_C, I_S)
    pub counters: Vec<[i64; 5]>,
}

/// A frame that left or arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub medium: Medium,
    pub number: u64,
    pub at: i64,
    /// Received: when it is shown. Sent: unused.
    pub display: i64,
}

/// A packet that left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PacketSent {
    pub sequence: u64,
    pub at: i64,
    pub k: u8,
    pub first_index: u64,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PacketReceived {
    pub at: i64,
    pub k: u8,
    pub first_index: u64,
}

impl Half {
    /// Reads the half in `dir`.
    pub fn read(dir: &Path) -> Result<Half, SessionError> {
        let path = dir.join(super::write::STATION_FILE);
        let text = std::fs::read_to_string(&path).map_err(SessionError::file("read", &path))?;
        let info: StationInfo = serde_json::from_str(&text).map_err(|e| wrong(&path, e.to_string()))?;
        let epoch = info.epoch_ns;
        let common = move |row: &Row, i: usize| row.get::<i64>(i).map(|at| at.saturating_add(epoch));
        Ok(Half {
            haptic_sent: read(dir, HAPTIC_SENT, |r| Some((r.get(0)?, common(r, 1)?)))?,
            haptic_shown: read(dir, HAPTIC_SHOWN, |r| Some((r.get(0)?, common(r, 1)?)))?,
            frames_sent: read(dir, FRAMES_SENT, |r| {
                Some(Frame { medium: medium(r.0.first()?)?, number: r.get(1)?, at: common(r, 2)?, display: -1 })
            })?,
            frames_received: read(dir, FRAMES_RECEIVED, |r| {
                let medium = medium(r.0.first()?)?;
                Some(Frame { medium, number: r.get(1)?, at: common(r, 2)?, display: common(r, 3)? })
            })?,
            packets_sent: read(dir, PACKETS_SENT, |r| {
                Some(PacketSent { sequence: r.get(0)?, at: common(r, 1)?, k: r.get(2)?, first_index: r.get(3)? })
            })?,
            packets_received: read(dir, PACKETS_RECEIVED, |r| {
                Some(PacketReceived { at: common(r, 0)?, k: r.get(1)?, first_index: r.get(2)? })
            })?,
            merge_factors: read(dir, MERGE_FACTORS, |r| Some((r.get(0)?, r.get(1)?, (*r.0.get(2)?).to_owned())))?,
            link: read(dir, LINK_EVENTS, |r| Some((common(r, 0)?, (*r.0.get(1)?).to_owned())))?,
            counters: read(dir, COUNTERS, |r| Some([common(r, 0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?]))?,
            info,
        })
    }

    /// End of the station on the machine's clock.
    pub fn end(&self) -> i64 {
        i64::try_from(self.info.end_ns).unwrap_or(i64::MAX).saturating_add(self.info.epoch_ns)
    }

    /// When the last peer connected.
    pub fn connected(&self) -> Option<i64> {
        self.link.iter().rev().find(|(_, event)| event == "connected").map(|(at, _)| *at)
    }
}

/// One line of a table.
struct Row<'a>(Vec<&'a str>);

impl Row<'_> {
    fn get<T: FromStr>(&self, column: usize) -> Option<T> {
        self.0.get(column)?.parse().ok()
    }
}

fn medium(name: &str) -> Option<Medium> {
    Medium::ALL.into_iter().find(|m| m.name() == name)
}

fn wrong(path: &Path, why: String) -> SessionError {
    SessionError::Trace { path: PathBuf::from(path), why: format!("{why}; record the run again") }
}

fn read<T>(dir: &Path, table: Table, parse: impl Fn(&Row) -> Option<T>) -> Result<Vec<T>, SessionError> {
    let path = dir.join(table.name);
    let file = BufReader::new(File::open(&path).map_err(SessionError::file("read", &path))?);
    let mut rows = Vec::new();
    for (number, line) in file.lines().enumerate() {
        let line = line.map_err(SessionError::file("read", &path))?;
        if number == 0 {
            if line != table.header {
                return Err(wrong(&path, format!("its first line is not '{}'", table.header)));
            }
            continue;
        }
        let row = Row(line.split(',').collect());
        rows.push(parse(&row).ok_or_else(|| wrong(&path, format!("line {} cannot be read", number + 1)))?);
    }
    Ok(rows)
}
