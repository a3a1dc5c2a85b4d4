//! The runs of an experiment on several threads. They take jobs from one queue; results come back to the caller, who
//! alone touches files and the terminal. Which thread runs what changes nothing in any result.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use sim::experiment::{Job, References};

use super::progress::{self, Progress};
use super::results::Results;
use crate::failure::Failure;
use crate::signal;

/// Runs the jobs that have no result yet. Returns early, in order, if the process is to end.
pub fn run(name: &str, jobs: &[Job], results: &mut Results, threads: usize) -> Result<(), Failure> {
    let waiting: Vec<usize> = (0..jobs.len()).filter(|&i| results.all()[i].is_none()).collect();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let references = References::new();
    let work = |done: mpsc::Sender<_>| {
        while !stop.load(Ordering::Relaxed) && !signal::ending() {
            let Some(&number) = waiting.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            if done.send((number, jobs[number].run(&references))).is_err() {
                return;
            }
        }
    };
    let mut progress = Progress::new(name, jobs.len() - waiting.len(), jobs.len());
    thread::scope(|scope| {
        let (done, results_in) = mpsc::channel();
        for i in 0..threads.min(waiting.len()) {
            let (work, done) = (&work, done.clone());
            thread::Builder::new()
                .name(format!("sim-{i}"))
                .spawn_scoped(scope, move || work(done))
                .map_err(|e| Failure::Failed(format!("cannot start a thread ({e}); give a smaller --threads")))?;
        }
        drop(done);
        let mut outcome = Ok(());
        loop {
            match results_in.recv_timeout(progress::REFRESH) {
                Ok((number, result)) => {
                    let job: &Job = &jobs[number];
                    let kept = match result {
                        Ok(result) => results.add(number, job, result),
                        Err(e) => Err(Failure::Failed(format!("{}: {e}", job.title()))),
                    };
                    progress.done();
                    if kept.is_err() && outcome.is_ok() {
                        stop.store(true, Ordering::Relaxed);
                        outcome = kept;
                    }
                }
                Err(RecvTimeoutError::Timeout) => progress.show(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        progress.end();
        outcome
    })
}
