//! `sim EXPERIMENT`: all runs of an experiment, its table, its plots.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sim::experiment::{Experiment, ExperimentError, Job, JobResult, Key, Table, plots};

use super::results::Results;
use super::{draw, queue};
use crate::failure::Failure;
use crate::options::SimArgs;
use crate::output::{self, Voice};
use crate::signal;

/// Runs the experiment, or what of it is not yet in the folder of `--csv`.
pub fn run(name: &str, args: &SimArgs) -> Result<(), Failure> {
    let experiment = chosen(name, args)?;
    let jobs = experiment.jobs()?;
    output::check_writable(args.report.as_deref())?;
    let file_name = plain(&experiment.name);
    for dir in [&args.csv, &args.plot].into_iter().flatten() {
        std::fs::create_dir_all(dir).map_err(Failure::writing(dir))?;
        output::check_writable(Some(&dir.join(".try")))?;
    }
    let mut results = Results::open(args.csv.as_deref(), &jobs)?;
    signal::watch();
    let threads = args.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    queue::run(&experiment.name, &jobs, &mut results, threads)?;
    let missing = results.missing();
    let table = Table::new(&experiment, &jobs, results.all());
    match &args.report {
        Some(path) if missing == 0 => output::write_json(path, &reported(&jobs, results.all()))?,
        Some(_) => {}
        None => {
            let table = if args.markdown { table.markdown() } else { table.text() };
            let title = format!("{}: {} ({})", experiment.name, experiment.title, length(&experiment));
            Voice::stdout().line(&format!("{title}\n\n{}", table.trim_end()));
        }
    }
    if missing > 0 {
        let kept = args.csv.as_ref().map_or_else(
            || "nothing is kept without --csv DIR".to_string(),
            |dir| format!("the same command goes on from what is in {}", dir.display()),
        );
        return Err(Failure::Failed(format!("ended after {} of {} runs; {kept}", jobs.len() - missing, jobs.len())));
    }
    results.settle(&jobs)?;
    if let Some(dir) = &args.csv {
        write(&dir.join(format!("{file_name}.csv")), Table::csv(&experiment, &jobs, results.all()))?;
        write(&dir.join(format!("{file_name}.md")), table.markdown())?;
    }
    if let Some(dir) = &args.plot {
        for plot in plots(&experiment, &jobs, results.all()) {
            draw::write(&plot, &dir.join(format!("{file_name}_{}", plot.name)))?;
        }
    }
    Ok(())
}

/// The experiment with the options of the command line, or why they do not go together.
fn chosen(name: &str, args: &SimArgs) -> Result<Experiment, Failure> {
    if args.scenarios.len() > 1 {
        return Err(Failure::Usage(format!(
            "'{name}' is an experiment and runs alone; name it without other networks"
        )));
    }
    let others =
        [("--config", args.config.is_some()), ("--source", args.source.is_some()), ("--assert-qos", args.assert_qos)];
    if let Some((option, _)) = others.into_iter().find(|(_, given)| *given) {
        return Err(Failure::Usage(format!(
            "{option} does not go with an experiment; '{name}' says itself what it runs"
        )));
    }
    let mut experiment = Experiment::load(name)?;
    if let Some(seconds) = args.seconds {
        experiment = experiment.with_seconds(seconds)?;
    }
    if !args.schemes.is_empty() {
        experiment.schemes.clone_from(&args.schemes);
    }
    if let Some(seed) = args.seed {
        experiment.seeds = vec![seed];
    }
    Ok(experiment)
}

/// `500 s, 6 seeds`.
fn length(experiment: &Experiment) -> String {
    let several = |n: usize, what: &str| if n > 1 { format!(", {n} {what}") } else { String::new() };
    format!(
        "{} s{}{}",
        experiment.seconds,
        several(experiment.seeds.len(), "seeds"),
        several(experiment.hand_starts_ms.len(), "starts of the hand")
    )
}

#[derive(Serialize)]
struct Reported<'a> {
    run: &'a Key,
    #[serde(flatten)]
    result: &'a JobResult,
}

fn reported<'a>(jobs: &'a [Job], results: &'a [Option<JobResult>]) -> Vec<Reported<'a>> {
    jobs.iter().zip(results).filter_map(|(job, r)| Some(Reported { run: &job.key, result: r.as_ref()? })).collect()
}

/// `paper-fig10` of `paper/fig10`, `mine` of `some/where/mine.toml`.
fn plain(name: &str) -> String {
    let stem = name.strip_suffix(".toml").map(PathBuf::from);
    let name = match stem.as_deref().and_then(Path::file_name) {
        Some(file) => file.to_string_lossy().into_owned(),
        None => name.to_string(),
    };
    name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-")
}

fn write(path: &Path, text: String) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(Failure::writing(path))
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Failure {
        Failure::Usage(error.to_string())
    }
}
