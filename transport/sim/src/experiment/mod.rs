//! Experiments by name: which runs, what of them goes into a table, and what is drawn. Those of the house are compiled in
//! from `assets/experiments`; any other comes from a TOML file of the same shape (told in `assets/experiments/README.md`).
//!
//! An [`Experiment`] is data. Its [`Job`]s are independent of each other, so that whoever has threads may run them in any
//! order; [`Table`] and [`plots`] take the results in the order of the jobs. Not here: threads, files of results, pictures.

mod job;
mod plot;
mod quantity;
mod result;
mod shape;
mod table;

use std::ops::RangeInclusive;

use netem::Scenario;
use proto::Scheme;

use crate::source::Source;
use crate::spec::{SECONDS, TRACED_SECONDS};

pub use job::{Job, Key, References};
pub use plot::{Axis, Curve, Plot, plots};
pub use quantity::Quantity;
pub use result::{JobResult, Series, SessionResult};
pub use table::Table;

/// Name, file and contents of an experiment of the house.
macro_rules! built_in {
    ($name:literal) => {
        (
            $name,
            concat!("assets/experiments/", $name, ".toml"),
            include_str!(concat!("../../../../assets/experiments/", $name, ".toml")),
        )
    };
}
/// The experiments compiled in: name, file, contents. The only list of them.
const BUILT_IN: [(&str, &str, &str); 11] = [
    built_in!("fairness"),
    built_in!("paper/fig10"),
    built_in!("paper/fig13"),
    built_in!("paper/fig14"),
    built_in!("paper/fig15"),
    built_in!("paper/fig17"),
    built_in!("paper/fig18"),
    built_in!("paper/fig19"),
    built_in!("paper/table1"),
    built_in!("paper/table2"),
    built_in!("snapshot"),
];

/// Keys by which a file is told from that of a scenario, which has none of them.
const TELLING_KEYS: [&str; 4] = ["title", "kind", "schemes", "seconds"];

/// What an experiment's runs have in common, and how their results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A stretch of each run, moment by moment, and a table.
    OverTime,
    /// Curves over the rate R_cbr of the cross-traffic, and a table.
    Sweep,
    /// A table alone.
    Table,
}

/// A set of runs, and what is shown of them.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The name or path it was loaded by.
    pub name: String,
    /// A few words.
    pub title: String,
    /// One sentence for people.
    pub description: String,
    /// How results are shown.
    pub kind: Kind,
    /// The networks, 1 or more, with their R_cbr in kbit/s where the experiment is about that.
    pub networks: Vec<(Option<u32>, Scenario)>,
    /// Schemes compared, 1 or more.
    pub schemes: Vec<Scheme>,
    /// Seeds of all randomness; a table shows mean and standard deviation over several.
    pub seeds: Vec<u64>,
    /// Where in its round the hand of the source `closed-loop` is at the start, ms; as seeds.
    pub hand_starts_ms: Vec<u64>,
    /// Length of each run, s.
    pub seconds: f64,
    /// Name of the source of haptic samples, as [`Source::parse`] takes it.
    pub source: String,
    /// The stretch that is kept moment by moment, ms from the start of the run.
    pub window_ms: Option<(u64, u64)>,
    /// At which R_cbr of a sweep, kbit/s; empty: of every run.
    pub window_at_kbps: Vec<u64>,
    /// Several sessions at once.
    pub sharing: Option<Sharing>,
    /// Columns of the table.
    pub columns: Vec<Quantity>,
    /// What is drawn.
    pub drawings: Vec<Drawing>,
}

/// Several telehaptic sessions over the same links.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// How many at once, 2 or more.
    pub sessions: Vec<usize>,
    /// What each link has for each session, kbit/s, beside the cross-traffic's nominal rate.
    pub share_kbps: Vec<u64>,
    /// Scheme of all sessions but the first; `None`: that of the first.
    pub others: Vec<Option<Scheme>>,
}

/// One picture (of experiments over time: one for each network).
#[derive(Clone, Debug)]
pub enum Drawing {
    /// Quantities over R_cbr, a curve for each scheme.
    Curves(Vec<Quantity>),
    /// Haptic delay of the backward channel over time, ms.
    Delay,
    /// k of the backward channel over time.
    MergeFactor,
    /// Magnitude of the force displayed to the operator over time, N, and over an ideal network.
    Force,
}

/// Why there is no such experiment. Each is one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// There is none of this name.
    #[error("unknown experiment '{0}': use {names}, or the path of a .toml file", names = Experiment::names().join(", "))]
    UnknownName(String),
    /// The file cannot be read.
    #[error("experiment file {path}: {reason}; check the path and its permissions")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The file is read, but says what cannot be.
    #[error(
        "experiment file {file}, line {line} '{text}': {what}; correct this line (assets/experiments/README.md tells the format)"
    )]
    Invalid {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// How it begins.
        text: String,
        /// What is wrong with it.
        what: String,
    },
    /// A run is not possible: its source or its length.
    #[error("{0}")]
    Run(String),
}

impl Experiment {
    /// Possible numbers of runs.
    pub const RUNS: RangeInclusive<usize> = 1..=10_000;

    /// The experiment of this name, or from the file at this path if it ends in `.toml`.
    ///
    /// # Errors
    /// If there is no such name, or the file cannot be read or says what cannot be.
    pub fn load(name_or_path: &str) -> Result<Experiment, ExperimentError> {
        if name_or_path.ends_with(".toml") {
            return shape::parse(&read(name_or_path)?, name_or_path, name_or_path);
        }
        match BUILT_IN.iter().find(|(name, ..)| *name == name_or_path) {
            Some((name, file, text)) => shape::parse(text, file, name),
            None => Err(ExperimentError::UnknownName(name_or_path.into())),
        }
    }

    /// Is this the name of an experiment, or the path of a file that looks like one (and not like a scenario)?
    pub fn is_named_by(name_or_path: &str) -> bool {
        let telling = |line: &str| line.split_once('=').is_some_and(|(key, _)| TELLING_KEYS.contains(&key.trim()));
        BUILT_IN.iter().any(|(name, ..)| *name == name_or_path)
            || name_or_path.ends_with(".toml") && read(name_or_path).is_ok_and(|text| text.lines().any(telling))
    }

    /// Names that [`Experiment::load`] takes.
    pub fn names() -> Vec<&'static str> {
        BUILT_IN.map(|(name, ..)| name).to_vec()
    }

    /// With runs of another length, s. The stretch that is kept moves to the end of a run that is too short for it.
    ///
    /// # Errors
    /// [`ExperimentError::Run`] if the length is out of range.
    pub fn with_seconds(mut self, seconds: f64) -> Result<Experiment, ExperimentError> {
        self.seconds = seconds;
        let range = if self.window_ms.is_some() { TRACED_SECONDS } else { SECONDS };
        if !range.contains(&seconds) {
            let (low, high) = (range.start(), range.end());
            return Err(ExperimentError::Run(format!("{}: give {low} to {high} seconds, not {seconds}", self.name)));
        }
        let end = (seconds * 1e3).round() as u64;
        self.window_ms =
            self.window_ms.map(|(from, to)| if to > end { (end.saturating_sub(to - from), end) } else { (from, to) });
        Ok(self)
    }

    /// All runs, in the order of the table.
    ///
    /// # Errors
    /// [`ExperimentError::Run`] if the source or the length is not possible.
    pub fn jobs(&self) -> Result<Vec<Job>, ExperimentError> {
        job::of(self)
    }

    /// Is the stretch of runs at this R_cbr kept?
    fn keeps_window(&self, cross_kbps: Option<u32>) -> bool {
        self.window_at_kbps.is_empty() || cross_kbps.is_some_and(|r| self.window_at_kbps.contains(&u64::from(r)))
    }

    /// Its source of haptic samples.
    ///
    /// # Errors
    /// [`ExperimentError::Run`] if there is no such source.
    pub fn source(&self) -> Result<Source, ExperimentError> {
        Source::parse(&self.source).map_err(|e| ExperimentError::Run(format!("{}: {e}", self.name)))
    }
}

/// The one place that reads files.
fn read(path: &str) -> Result<String, ExperimentError> {
    std::fs::read_to_string(path).map_err(|e| ExperimentError::Unreadable { path: path.into(), reason: e.to_string() })
}

#[cfg(test)]
mod tests;
