//! Everything that must hold, one step after another. A step that fails does not keep later ones from running unless
//! they need what it builds.

use std::process::{Command, ExitCode};

use crate::board::{Board, Outcome};
use crate::{acceptance, bench, rules, setup, shell};

/// `cargo xtask check`: what is quick to tell.
pub fn check() -> ExitCode {
    let mut board = Board::new();
    quick(&mut board);
    code(board)
}

/// `cargo xtask test`: all of it.
pub fn test() -> ExitCode {
    let mut board = Board::new();
    if !board.step("system packages", |_| setup::install(setup::Purpose::Test).into()) {
        return code(board);
    }
    quick(&mut board);
    board.step("documentation", |_| {
        let mut doc = shell::cargo();
        doc.args(["doc", "--release", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
        shell::run(&mut doc).into()
    });
    let built = board.step("build", |_| {
        shell::run(shell::cargo().args(["build", "--release", "--workspace", "--all-targets"])).into()
    });
    if built {
        board.step("kernel for the virtual machine", |_| kernel());
        board.step("tests", tests);
        board.step("examples in the documentation", doc_tests);
        board.step("benchmarks", |_| bench::run());
        board.step("demo: DPM at paper/r400", |_| acceptance::run(&acceptance::DPM_R400));
        board.step("demo: DPM at paper/r260", |_| acceptance::run(&acceptance::DPM_R260));
        board.step("demo: no-merge at paper/r400", |_| acceptance::run(&acceptance::NO_MERGE_R400));
    } else {
        for name in ["tests", "examples in the documentation", "benchmarks", "demo"] {
            board.left_out(name, "not run: the build failed");
        }
    }
    code(board)
}

fn quick(board: &mut Board) {
    board.step("format", |_| {
        shell::run(shell::cargo().args(["fmt", "--all", "--check"]))
            .and_then(|()| {
                shell::run(shell::cargo().args(["fmt", "--check", "--manifest-path", ".ci/xtask/Cargo.toml"]))
            })
            .into()
    });
    board.step("arrows between crates", |_| rules::arrows().into());
    board.step("names and where they may stand", |_| rules::names().into());
    board.step("lengths of files", |_| match rules::lengths() {
        Ok(text) => Outcome::Passed(text),
        Err(e) => Outcome::Failed(e),
    });
    board.step("top of the repository", |_| rules::top_level().into());
    board.step("lints", |_| {
        let all = ["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"];
        shell::run(shell::cargo().args(all))
            .and_then(|()| xtask(&["clippy", "--all-targets"], &["-D", "warnings"]))
            .into()
    });
    board.step("tests of xtask itself", |closing| match shell::tee(&mut xtask_command(&["test", "--quiet"], &[])) {
        Err(e) => Outcome::Failed(e),
        Ok((good, text)) => {
            closing.extend(closing_lines(&text));
            if good { Outcome::Passed(String::new()) } else { Outcome::Failed("see above".into()) }
        }
    });
}

fn xtask(args: &[&str], rest: &[&str]) -> Result<(), String> {
    shell::run(&mut xtask_command(args, rest))
}

/// A cargo command on this crate, which stands outside of the workspace.
fn xtask_command(args: &[&str], rest: &[&str]) -> Command {
    let mut command = shell::cargo();
    command.args(args).args(["--manifest-path", ".ci/xtask/Cargo.toml", "--target-dir", "target/xtask"]);
    if !rest.is_empty() {
        command.arg("--").args(rest);
    }
    command
}

/// Fetched before the tests, so that a slow download is not taken for a slow test.
fn kernel() -> Outcome {
    match shell::run(Command::new(".ci/vm/kernel").arg("target/vm")) {
        Ok(()) => Outcome::Passed(String::new()),
        Err(e) => Outcome::Skipped(format!("{e}: the virtual machine cannot run")),
    }
}

fn tests(closing: &mut Vec<String>) -> Outcome {
    let mut command = shell::cargo();
    if setup::nextest() {
        command.args(["nextest", "run", "--release", "--workspace"]);
    } else {
        command.args(["test", "--release", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]);
    }
    runner(&mut command, closing)
}

fn doc_tests(closing: &mut Vec<String>) -> Outcome {
    runner(shell::cargo().args(["test", "--release", "--workspace", "--doc"]), closing)
}

/// A test runner: its closing lines are kept, and what tests left out is told.
fn runner(command: &mut Command, closing: &mut Vec<String>) -> Outcome {
    let (good, text) = match shell::tee(command) {
        Ok(done) => done,
        Err(e) => return Outcome::Failed(e),
    };
    let lines = closing_lines(&text);
    let last = lines.last().cloned().unwrap_or_default();
    closing.extend(lines);
    if !good {
        return Outcome::Failed(if last.is_empty() { "see above".into() } else { last });
    }
    match skipped(&text) {
        None => Outcome::Passed(last),
        Some(reason) => Outcome::Skipped(format!("in part: {reason}")),
    }
}

/// The lines in which test runners sum up what they did.
fn closing_lines(text: &str) -> Vec<String> {
    let sums_up = |line: &&str| {
        (line.starts_with("Summary [") && line.contains(" run:"))
            || (line.starts_with("test result: ") && !line.contains(" 0 passed; 0 failed"))
    };
    text.lines().map(str::trim).filter(sums_up).map(String::from).collect()
}

/// What a test says that cannot run on this machine: "skipped: REASON" on a line of its own. Shown by nextest also for
/// tests that pass, as `.config/nextest.toml` asks.
fn skipped(text: &str) -> Option<String> {
    let mut reasons: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("skipped: ")).collect();
    reasons.sort_unstable();
    reasons.dedup();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn code(board: Board) -> ExitCode {
    if board.close() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_both_runners_are_found() {
        let text = "  Summary [  12.3s] 40 tests run: 40 passed, 0 skipped\n  PASS [ 1s] a Summary\n\
                    test result: ok. 0 passed; 0 failed; 0 ignored\ntest result: ok. 2 passed; 0 failed\n";
        assert_eq!(
            closing_lines(text),
            ["Summary [  12.3s] 40 tests run: 40 passed, 0 skipped", "test result: ok. 2 passed; 0 failed"]
        );
    }

    #[test]
    fn a_part_that_a_test_left_out_is_told() {
        assert_eq!(
            skipped("a\n    skipped: no root\n skipped: no qemu\nskipped: no root\n"),
            Some("no qemu; no root".into())
        );
        assert_eq!(skipped("1 test was skipped: x"), None);
    }
}
