//! Two halves of a run, recorded by two stations on one machine, become its report and CSV files.
//!
//! Time zero is the first sample that either station takes after both have been connected. Figures leave out the
//! first `warmup_s` after that; samples taken before it do not count at all, nor those still on their way when the
//! first station ended. If a station was started anew, only its last connection counts.

use std::path::Path;

use media::Channel;
use proto::report::{Channels, Clock, CrossTraffic, LateSummary, Report, SCHEMA, ServoReport, System};

use super::half::Half;
use super::join::{Joined, Span, join, span};
use super::{csv, figures};
use crate::error::SessionError;

/// What the two halves do not know.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeOptions {
    /// Cross-traffic that the emulator counted.
    pub emulator: Option<CrossTraffic>,
    /// Left out of the figures at the beginning, s. Default 0.5.
    pub warmup_s: f64,
}

impl Default for MergeOptions {
    fn default() -> Self {
        MergeOptions { emulator: None, warmup_s: 0.5 }
    }
}

/// A joined run.
#[derive(Debug)]
pub struct Merged {
    /// Its figures.
    pub report: Report,
    /// Facts that a recorder's queue had no room for; the figures are then too bad.
    pub dropped: u64,
    backward: Joined,
    forward: Joined,
    start: i64,
}

impl Merged {
    /// Writes `packets_*.csv`, `k_*.csv`, `haptic_*.csv`, `audio_*.csv` and `video_*.csv` into `dir`.
    ///
    /// # Errors
    /// The directory or a file cannot be written.
    pub fn write_csv(&self, dir: &Path) -> Result<(), SessionError> {
        csv::write(dir, &self.backward, self.start)?;
        csv::write(dir, &self.forward, self.start)
    }
}

/// Joins the half traces in `op_dir` and `top_dir`, recorded on one machine.
///
/// # Errors
/// A half is missing, damaged, of the wrong role, or the stations never were connected.
pub fn merge(op_dir: &Path, top_dir: &Path, options: &MergeOptions) -> Result<Merged, SessionError> {
    let trace = |dir: &Path, why: &str| SessionError::Trace { path: dir.to_owned(), why: why.to_owned() };
    let (op, top) = (Half::read(op_dir)?, Half::read(top_dir)?);
    for (half, role, dir) in [(&op, "op", op_dir), (&top, "top", top_dir)] {
        if half.info.role != role {
            return Err(trace(dir, &format!("this is the half of '{}', not of '{role}'", half.info.role)));
        }
    }
    let span = span(&op, &top).ok_or_else(|| trace(op_dir, "the stations never were connected: nothing to report"))?;
    let backward = join(Channel::Backward, &top, &op, span);
    let forward = join(Channel::Forward, &op, &top, span);
    let from = span.start.saturating_add((options.warmup_s.clamp(0.0, 1e6) * 1e9) as i64);
    let report = Report {
        schema: SCHEMA,
        scheme: op.info.scheme.to_string(),
        scenario: op.info.scenario.clone(),
        seed: op.info.seed,
        seconds: seconds(span),
        clock: Clock::Common,
        clock_bound_ms: Some(0.0),
        channels: Channels {
            backward: figures::channel(&backward, &top, span, from),
            forward: figures::channel(&forward, &op, span, from),
        },
        cross_traffic: options.emulator.clone(),
        system: Some(both(&op.info.system, &top.info.system)),
    };
    let dropped = op.info.dropped + top.info.dropped;
    Ok(Merged { report, dropped, backward, forward, start: span.start })
}

fn seconds(span: Span) -> f64 {
    (span.end - span.start).max(0) as f64 / 1e9
}

/// What both stations cost: sums, and the worse of the two where a sum means nothing.
fn both(a: &System, b: &System) -> System {
    let (la, lb) = (a.servo.late_us, b.servo.late_us);
    System {
        wall_s: a.wall_s.max(b.wall_s),
        cpu_s: a.cpu_s + b.cpu_s,
        peak_rss_mib: a.peak_rss_mib.max(b.peak_rss_mib),
        servo: ServoReport {
            ticks: a.servo.ticks + b.servo.ticks,
            missed: a.servo.missed + b.servo.missed,
            late_us: LateSummary { p50: la.p50.max(lb.p50), p99: la.p99.max(lb.p99), max: la.max.max(lb.max) },
        },
    }
}
