//! The telehaptic program: reads the command line, runs what it asks for, and turns the result into an exit code.
//!
//! 0 done; 1 failed while running; 2 bad usage or configuration; 3 `--assert-qos` and a limit was broken.

mod access;
mod cost;
mod ctl;
mod demo;
mod devices;
mod doctor;
mod emulate;
mod failure;
mod options;
mod output;
mod signal;
mod sim;
mod station;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::failure::Failure;
use crate::options::{Command, Options};

/// What is logged without `RUST_LOG`. The window system warns of things that nobody can do anything about.
const USUAL_LOG: &str = "warn,winit=error";

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => return usage(&error),
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| USUAL_LOG.into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    if options.end_with_stdin {
        signal::end_with_stdin();
    }
    match run(options.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("telehaptic: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Top(args) => station::top(&args),
        Command::Op(args) => station::op(&args),
        Command::Emulate(args) => emulate::run(&args),
        Command::Sim(args) => sim::run(&args),
        Command::Ctl(args) => ctl::run(&args),
        Command::Devices => devices::run(),
        Command::Doctor(args) => doctor::run(&args),
    }
}

/// Help and version go to stdout; of an error only what is wrong, in one line, and where to read on.
fn usage(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        // A closed pipe is the reader's business.
        let _ = write!(std::io::stdout(), "{error}");
        return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("Usage:"));
    let first = lines.next().unwrap_or("wrong usage").trim_start_matches("error: ");
    let rest: Vec<&str> = lines.take_while(|l| !l.starts_with("For more") && !l.starts_with("tip:")).collect();
    eprintln!("telehaptic: {}", [&[first], rest.as_slice()].concat().join(" "));
    eprintln!("`telehaptic --help` lists the commands and options.");
    ExitCode::from(2)
}
