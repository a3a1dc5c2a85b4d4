//! The list of steps: each with a headline while it runs, and a table of them all at the end.

use std::time::{Duration, Instant};

/// How a step went.
pub enum Outcome {
    /// It holds; a few words or figures, may be empty.
    Passed(String),
    /// It does not hold.
    Failed(String),
    /// It cannot be told on this machine, and why.
    Skipped(String),
}

impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Outcome::Passed(String::new()),
            Err(e) => Outcome::Failed(e),
        }
    }
}

struct Row {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

/// All steps so far.
pub struct Board {
    rows: Vec<Row>,
    started: Instant,
    /// Lines of the test runners to be shown again at the close.
    pub closing: Vec<String>,
}

impl Board {
    /// An empty one.
    pub fn new() -> Self {
        Board { rows: Vec::new(), started: Instant::now(), closing: Vec::new() }
    }

    /// Runs a step; `true` if it did not fail.
    pub fn step(&mut self, name: &'static str, body: impl FnOnce(&mut Vec<String>) -> Outcome) -> bool {
        println!("\n==== {name} ====");
        let started = Instant::now();
        let outcome = body(&mut self.closing);
        let took = started.elapsed();
        let (word, text) = words(&outcome);
        println!("---- {name}: {word} in {:.1} s{}{text}", took.as_secs_f64(), if text.is_empty() { "" } else { ": " });
        let good = !matches!(outcome, Outcome::Failed(_));
        self.rows.push(Row { name, outcome, took });
        good
    }

    /// Notes a step that is left out since another failed.
    pub fn left_out(&mut self, name: &'static str, because: &str) {
        self.rows.push(Row { name, outcome: Outcome::Failed(because.into()), took: Duration::ZERO });
    }

    /// Prints the table and the runners' own closing lines; `true` if everything held. In continuous integration
    /// (`CI=true`) a skipped part counts as failed: there every part can run.
    pub fn close(self) -> bool {
        let strict = std::env::var("CI").is_ok_and(|v| v == "true" || v == "1");
        let (mut failed, mut skipped) = (0, 0);
        println!("\n==== summary ====");
        println!("{:<34} {:>8}  result", "step", "seconds");
        for row in &self.rows {
            let (word, text) = words(&row.outcome);
            match row.outcome {
                Outcome::Failed(_) => failed += 1,
                Outcome::Skipped(_) => skipped += 1,
                Outcome::Passed(_) => {}
            }
            // One line each: details stand above, at the step.
            let text = text.lines().next().unwrap_or_default();
            println!(
                "{:<34} {:>8.1}  {word}{}{text}",
                row.name,
                row.took.as_secs_f64(),
                if text.is_empty() { "" } else { ": " }
            );
        }
        let good = failed == 0 && !(strict && skipped > 0);
        println!(
            "{:<34} {:>8.1}  {}",
            "all",
            self.started.elapsed().as_secs_f64(),
            if good { "everything that ran holds" } else { "NOT everything holds" }
        );
        if skipped > 0 {
            let note = if strict { "with CI=true that is a failure" } else { "see the reasons above" };
            println!("{skipped} steps were skipped, wholly or in part: {note}");
        }
        for line in &self.closing {
            println!("{line}");
        }
        good
    }
}

fn words(outcome: &Outcome) -> (&'static str, &str) {
    match outcome {
        Outcome::Passed(text) => ("passed", text),
        Outcome::Failed(text) => ("FAILED", text),
        Outcome::Skipped(text) => ("skipped", text),
    }
}
