//! The results of an experiment's runs, and `results.jsonl` in the folder of `--csv`: a line for each finished run,
//! appended as it ends, so that an interrupted experiment goes on where it was. Lines of other runs stay; lines that are
//! none are dropped when the experiment is complete.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sim::experiment::{Job, JobResult, Key};

use crate::failure::Failure;

/// Name of the file.
const FILE: &str = "results.jsonl";
/// Version of its lines.
const SCHEMA: u32 = 1;

/// One line.
#[derive(Serialize, Deserialize)]
struct Line<K, R> {
    schema: u32,
    run: K,
    result: R,
}

/// The results so far.
pub struct Results {
    results: Vec<Option<JobResult>>,
    file: Option<Kept>,
}

struct Kept {
    path: PathBuf,
    out: File,
    /// Lines of other runs, as they stand in the file.
    foreign: Vec<String>,
    /// The file as it should be read, or something else since?
    before: Vec<u8>,
}

impl Results {
    /// Those of `jobs` in the file in `dir`; none without a folder.
    pub fn open(dir: Option<&Path>, jobs: &[Job]) -> Result<Results, Failure> {
        let mut results: Vec<Option<JobResult>> = vec![None; jobs.len()];
        let Some(path) = dir.map(|dir| dir.join(FILE)) else { return Ok(Results { results, file: None }) };
        let before = match std::fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            read => {
                read.map_err(|e| Failure::Failed(format!("cannot read {} ({e}); name another folder", path.display())))?
            }
        };
        let (mut foreign, mut broken) = (Vec::new(), 0);
        for bytes in before.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let line = String::from_utf8_lossy(bytes);
            match serde_json::from_str::<Line<Key, JobResult>>(&line) {
                Ok(Line { schema: SCHEMA, run, result }) if jobs.iter().any(|job| job.key == run) => {
                    // A run that an experiment names twice is run once.
                    for (job, slot) in jobs.iter().zip(&mut results) {
                        if job.key == run {
                            *slot = Some(result.clone());
                        }
                    }
                }
                _ if serde_json::from_str::<serde::de::IgnoredAny>(&line).is_ok() => foreign.push(line.into_owned()),
                _ => broken += 1,
            }
        }
        if !foreign.is_empty() || broken > 0 {
            eprintln!(
                "telehaptic: {}: {} lines of other runs and {broken} that are none are ignored",
                path.display(),
                foreign.len()
            );
        }
        let mut out = OpenOptions::new().append(true).create(true).open(&path).map_err(Failure::writing(&path))?;
        if before.last().is_some_and(|&b| b != b'\n') {
            out.write_all(b"\n").map_err(Failure::writing(&path))?;
        }
        Ok(Results { results, file: Some(Kept { path, out, foreign, before }) })
    }

    /// Those there are, in the order of the jobs.
    pub fn all(&self) -> &[Option<JobResult>] {
        &self.results
    }

    /// How many are not there.
    pub fn missing(&self) -> usize {
        self.results.iter().filter(|r| r.is_none()).count()
    }

    /// Keeps the result of the job with this number.
    pub fn add(&mut self, number: usize, job: &Job, result: JobResult) -> Result<(), Failure> {
        if let Some(Kept { path, out, .. }) = &mut self.file {
            out.write_all(line(job, &result)?.as_bytes()).map_err(Failure::writing(path))?;
        }
        self.results[number] = Some(result);
        Ok(())
    }

    /// All runs are done: brings the lines into the order of the experiment, whatever order they ended in.
    pub fn settle(&self, jobs: &[Job]) -> Result<(), Failure> {
        let Some(Kept { path, foreign, before, .. }) = &self.file else { return Ok(()) };
        let mut text = String::new();
        for (job, result) in jobs.iter().zip(&self.results) {
            if let Some(result) = result {
                text.push_str(&line(job, result)?);
            }
        }
        for line in foreign {
            text.push_str(line);
            text.push('\n');
        }
        if text.as_bytes() == before.as_slice() {
            return Ok(());
        }
        let replace = || {
            let dir = path.parent().unwrap_or(Path::new("."));
            let mut new = tempfile::NamedTempFile::new_in(dir)?;
            new.write_all(text.as_bytes())?;
            new.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
            new.persist(path)?;
            Ok(())
        };
        replace().map_err(Failure::writing(path))
    }
}

fn line(job: &Job, result: &JobResult) -> Result<String, Failure> {
    let line = Line { schema: SCHEMA, run: &job.key, result };
    serde_json::to_string(&line).map(|text| text + "\n").map_err(Failure::failed)
}
