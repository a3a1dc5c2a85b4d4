//! `cargo xtask`: set-up, the demo, and everything that must hold. No dependencies: it builds in seconds, before
//! anything else of the project does.

mod acceptance;
mod bench;
mod board;
mod check;
mod json;
mod rules;
mod setup;
mod shell;

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask demo [OPTIONS]   install what is missing, build, and run `telehaptic demo OPTIONS`
                                    (--headless, --seconds N, --scenario S, --scheme S, --report FILE, ...)
       cargo xtask test             install what is missing, then check everything that must hold
       cargo xtask check            only what needs no build of the dependencies' code: format, rules, lints";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    // Cargo runs us anywhere below the workspace; all paths here are relative to its root.
    if let Err(e) = std::env::set_current_dir(root()) {
        eprintln!("error: cannot enter {}: {e}", root().display());
        return ExitCode::FAILURE;
    }
    match command.as_str() {
        "demo" => demo(args.collect()),
        "test" => check::test(),
        "check" => check::check(),
        "help" | "-h" | "--help" => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Root of the workspace: two folders above this crate.
fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Installs, builds, and becomes the demo, so that its exit code and its signals are the caller's.
fn demo(args: Vec<String>) -> ExitCode {
    if let Err(e) = setup::install(setup::Purpose::Demo) {
        eprintln!("error: {e}");
        return ExitCode::FAILURE;
    }
    eprintln!("xtask: building telehaptic (the first time takes some minutes)");
    match shell::cargo().args(["build", "--release", "-p", "telehaptic"]).status() {
        Ok(status) if status.success() => {}
        Ok(_) => return ExitCode::FAILURE,
        Err(e) => {
            eprintln!("error: cargo cannot be started: {e}");
            return ExitCode::FAILURE;
        }
    }
    let e = Command::new("target/release/telehaptic").arg("demo").args(args).exec();
    eprintln!("error: target/release/telehaptic cannot be started: {e}");
    ExitCode::FAILURE
}
