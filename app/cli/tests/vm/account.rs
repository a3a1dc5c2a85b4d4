//! What stations and devices say of themselves.

use std::fs;
use std::path::Path;

use session::Snapshot;

/// What a station said at the moment NAME.
pub fn status(results: &Path, name: &str) -> Snapshot {
    let name = format!("status-{name}.json");
    serde_json::from_str(&read(results, &name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A file of the results as text.
pub fn read(results: &Path, name: &str) -> String {
    fs::read_to_string(results.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The last line of a test device.
#[derive(Debug)]
pub struct Device {
    /// Reports sent, spoilt ones aside.
    pub sent: u64,
    /// Of the numbers of its reports, those that it left out.
    pub skipped: u64,
    /// Spoilt reports sent besides.
    pub spoilt: u64,
}

impl Device {
    /// The account of the device NAME.
    pub fn read(results: &Path, name: &str) -> Device {
        let log = read(results, &format!("uhid-{name}.log"));
        let line = log.lines().find(|l| l.starts_with("sent ")).unwrap_or_else(|| panic!("{name} has no account"));
        let words: Vec<&str> = line.split_whitespace().collect();
        let count = |name: &str| -> u64 {
            let at = words.iter().position(|w| *w == name).unwrap_or_else(|| panic!("{name} in '{line}'"));
            words[at + 1].parse().expect("a number")
        };
        Device { sent: count("sent"), skipped: count("skipped"), spoilt: count("spoilt") }
    }
}
