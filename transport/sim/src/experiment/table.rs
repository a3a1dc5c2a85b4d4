//! Results as tables: for people, as Markdown (a row for each network and scheme, mean and standard deviation over seeds),
//! and as CSV (a row for each run and session).

use std::fmt::Write;

use super::job::Job;
use super::quantity::Quantity;
use super::result::JobResult;
use super::{Experiment, Kind};

/// A table of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Heads of the columns.
    pub header: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<String>>,
    /// How many columns from the left are names; the rest are numbers.
    names: usize,
}

/// Runs that differ in seed and hand start alone, and their results.
pub(super) fn groups<'a>(jobs: &'a [Job], results: &'a [Option<JobResult>]) -> Vec<Vec<(&'a Job, &'a JobResult)>> {
    let mut groups: Vec<Vec<(&Job, &JobResult)>> = Vec::new();
    for (job, result) in jobs.iter().zip(results).filter_map(|(job, result)| Some((job, result.as_ref()?))) {
        let alike = |other: &Job| {
            (&other.key.scenario, other.key.share_kbps, other.schemes())
                == (&job.key.scenario, job.key.share_kbps, job.schemes())
        };
        match groups.last_mut().filter(|group| alike(group[0].0)) {
            Some(group) => group.push((job, result)),
            None => groups.push(vec![(job, result)]),
        }
    }
    groups
}

/// Mean and standard deviation (0 for one value) of a quantity of a session over the runs of a group.
pub(super) fn over_runs(group: &[(&Job, &JobResult)], session: usize, quantity: Quantity) -> Option<(f64, f64)> {
    let values: Vec<f64> = group.iter().filter_map(|(_, run)| quantity.of(run.sessions.get(session)?, run)).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let deviation = if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
    (!values.is_empty()).then_some((mean, deviation))
}

impl Table {
    /// The table of an experiment, of the runs that have a result.
    pub fn new(experiment: &Experiment, jobs: &[Job], results: &[Option<JobResult>]) -> Table {
        let shared = experiment.sharing.is_some();
        let mut header: Vec<String> = match experiment.kind {
            Kind::Sweep => vec!["R_cbr".into()],
            _ => vec!["network".into()],
        };
        if shared {
            header.extend(["sessions", "kbit/s each", "session"].map(String::from));
        }
        header.push("scheme".into());
        let names = header.len();
        header.extend(experiment.columns.iter().map(|q| match q.unit() {
            "" => q.title(),
            unit => format!("{}, {unit}", q.title()),
        }));
        let several = experiment.seeds.len() * experiment.hand_starts_ms.len() > 1;
        let mut rows = Vec::new();
        for group in groups(jobs, results) {
            let job = group[0].0;
            for (session, scheme) in job.schemes().iter().enumerate() {
                let mut row = vec![match (experiment.kind, job.cross_kbps) {
                    (Kind::Sweep, Some(rate)) => rate.to_string(),
                    _ => job.key.scenario.clone(),
                }];
                if let Some(share) = job.key.share_kbps {
                    row.extend([job.schemes().len().to_string(), share.to_string(), (session + 1).to_string()]);
                }
                row.push(scheme.to_string());
                row.extend(experiment.columns.iter().map(|&quantity| {
                    let digits = quantity.digits();
                    match over_runs(&group, session, quantity) {
                        None => "-".into(),
                        Some((mean, deviation)) if several => format!("{mean:.digits$} ± {deviation:.digits$}"),
                        Some((mean, _)) => format!("{mean:.digits$}"),
                    }
                }));
                rows.push(row);
            }
        }
        Table { header, rows, names }
    }

    /// In columns, for a terminal. Heads stand upright above narrow columns: one word a line.
    pub fn text(&self) -> String {
        let heads: Vec<Vec<&str>> = self.header.iter().map(|head| wrapped(head)).collect();
        let height = heads.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.chain(heads[column].iter().map(|word| word.chars().count())).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let mut out = String::new();
        let mut line = |cells: Vec<&str>| {
            let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column < self.names { format!("{cell:width$}") } else { format!("{cell:>width$}") }
            });
            let line = padded.collect::<Vec<_>>().join("  ");
            let _ = writeln!(out, "{}", line.trim_end());
        };
        for row in 0..height {
            // The last line of every head stands on the same line.
            line(heads.iter().map(|head| (row + head.len()).checked_sub(height).map_or("", |i| head[i])).collect());
        }
        for row in &self.rows {
            line(row.iter().map(String::as_str).collect());
        }
        out
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: Vec<&str> =
            (0..self.header.len()).map(|column| if column < self.names { "---" } else { "--:" }).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}|{}|\n{rows}", line(&self.header), rule.join("|"))
    }

    /// Every run and session as CSV: what it depends on, then the columns of the experiment by their names.
    pub fn csv(experiment: &Experiment, jobs: &[Job], results: &[Option<JobResult>]) -> String {
        let mut out = String::from("scenario,cross_kbps,share_kbps,sessions,session,scheme,seed,hand_start_ms,seconds");
        for column in &experiment.columns {
            let _ = write!(out, ",{column}");
        }
        out.push('\n');
        for (job, result) in jobs.iter().zip(results) {
            let Some(result) = result else { continue };
            for (session, done) in result.sessions.iter().enumerate() {
                let known = |number: Option<u64>| number.map_or_else(String::new, |n| n.to_string());
                let key = &job.key;
                let _ = write!(
                    out,
                    "{},{},{},{},{},{},{},{},{}",
                    quoted(&key.scenario),
                    known(job.cross_kbps.map(u64::from)),
                    known(key.share_kbps),
                    result.sessions.len(),
                    session + 1,
                    done.scheme,
                    key.seed,
                    key.hand_start_ms,
                    key.seconds
                );
                for column in &experiment.columns {
                    let digits = column.digits() + 2;
                    let value = column.of(done, result);
                    let _ = write!(out, ",{}", value.map_or_else(String::new, |v| format!("{v:.digits$}")));
                }
                out.push('\n');
            }
        }
        out
    }
}

/// A head in lines of few characters.
fn wrapped(head: &str) -> Vec<&str> {
    const WIDTH: usize = 14;
    let mut lines = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (at, _) in head.match_indices(' ').chain([(head.len(), "")]) {
        if at - start > WIDTH && end > start {
            lines.push(&head[start..end]);
            start = end + 1;
        }
        end = at;
    }
    lines.push(&head[start..end]);
    lines
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_in_columns_and_markdown_in_bars() {
        let cells = |row: [&str; 3]| row.map(String::from).to_vec();
        let table = Table {
            header: cells(["R_cbr", "scheme", "99th percentile of haptic delay, ms"]),
            rows: vec![cells(["0", "dpm", "23.55"]), cells(["400", "no-merge", "-"])],
            names: 2,
        };
        assert_eq!(
            table.text(),
            [
                "                          99th",
                "                 percentile of",
                "                 haptic delay,",
                "R_cbr  scheme               ms",
                "0      dpm               23.55",
                "400    no-merge              -",
                "",
            ]
            .join("\n")
        );
        assert_eq!(
            table.markdown(),
            "| R_cbr | scheme | 99th percentile of haptic delay, ms |\n|---|---|--:|\n| 0 | dpm | 23.55 |\n| 400 | no-merge | - |\n"
        );
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
