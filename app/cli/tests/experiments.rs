//! `telehaptic sim EXPERIMENT` from outside: tables, results, plots, going on after an interruption, broken files.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The experiments of the house.
const NAMES: [&str; 11] = [
    "fairness",
    "paper/fig10",
    "paper/fig13",
    "paper/fig14",
    "paper/fig15",
    "paper/fig17",
    "paper/fig18",
    "paper/fig19",
    "paper/table1",
    "paper/table2",
    "snapshot",
];

/// A sweep of 12 runs.
const SWEEP: &str = r#"title = "Small"
description = "Two schemes at six loads."
kind = "sweep"
cross_kbps = { from = 100, to = 350, step = 50 }
schemes = ["dpm", "nafcah"]
seconds = 3
columns = ["haptic-mean", "haptic-max", "k"]
plots = ["haptic-max, haptic-mean"]
"#;

fn telehaptic(args: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.arg("60").arg(env!("CARGO_BIN_EXE_telehaptic")).arg("sim").args(args);
    command
}

/// Runs, expects this exit code, and returns what stdout and stderr say.
fn run(args: &[&str], code: i32) -> (String, String) {
    let Output { status, stdout, stderr } = telehaptic(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(stdout), text(stderr));
    assert_eq!(status.code(), Some(code), "{args:?}: {err}");
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    (out, err)
}

/// Every file of a folder with its contents.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_string(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn every_experiment_of_the_house_runs_and_draws() {
    let dir = tempfile::tempdir().unwrap();
    let (list, _) = run(&["--list"], 0);
    for name in NAMES {
        assert!(list.contains(&format!("{name} ")), "{name} is not in: {list}");
        let (plots, csv) = (dir.path().join("plots"), dir.path().join("csv"));
        let (plots_dir, csv_dir) = (plots.to_str().unwrap(), csv.to_str().unwrap());
        let (out, _) = run(&[name, "--seconds", "1", "--plot", plots_dir, "--csv", csv_dir], 0);
        assert!(out.starts_with(&format!("{name}: ")) && out.lines().count() > 4, "{name}: {out}");
        let stem = name.replace('/', "-");
        assert!(csv.join(format!("{stem}.csv")).exists() && csv.join(format!("{stem}.md")).exists(), "{name}");
        let drawn = files(&plots);
        let expected = !["fairness", "paper/table1", "paper/table2"].contains(&name);
        assert_eq!(drawn.iter().any(|(file, _)| file.starts_with(&format!("{stem}_"))), expected, "{name}");
        for (file, bytes) in drawn {
            let head: &[u8] = if file.ends_with(".png") { b"\x89PNG\r\n" } else { b"<svg" };
            assert!(bytes.starts_with(head) && bytes.len() > 2_000, "{file}");
        }
        fs::remove_dir_all(&plots).unwrap();
        fs::remove_dir_all(&csv).unwrap();
    }
}

#[test]
fn rates_on_the_wire_are_those_of_the_formula() {
    let dir = tempfile::tempdir().unwrap();
    run(&["paper/table1", "--csv", dir.path().to_str().unwrap()], 0);
    let csv = fs::read_to_string(dir.path().join("paper-table1.csv")).unwrap();
    let paper = [[1096.0, 688.0], [828.0, 440.0], [738.7, 357.3], [694.0, 316.0]];
    assert_eq!(csv.lines().count(), 1 + paper.len());
    for (line, paper) in csv.lines().skip(1).zip(paper) {
        let cells: Vec<f64> = line.split(',').skip(9).map(|cell| cell.parse().unwrap()).collect();
        for (channel, paper) in cells.chunks(2).zip(paper) {
            assert!((channel[0] - paper).abs() < 0.06, "{line}");
            assert!((channel[0] - channel[1]).abs() < 0.1, "{line}");
        }
    }
}

#[test]
fn the_same_experiment_gives_the_same_files_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("small.toml");
    fs::write(&file, SWEEP).unwrap();
    let folder = |threads: &str| {
        let own = dir.path().join(threads);
        let own_dir = own.to_str().unwrap();
        let (out, err) = run(&[file.to_str().unwrap(), "--csv", own_dir, "--plot", own_dir, "--threads", threads], 0);
        assert!(err.is_empty(), "{err}");
        (out, files(&own))
    };
    let one = folder("1");
    let names: Vec<&str> = one.1.iter().map(|(name, _)| name.as_str()).collect();
    let drawn = ["small_haptic-max-haptic-mean.png", "small_haptic-max-haptic-mean.svg"];
    assert_eq!(names, [&["results.jsonl", "small.csv", "small.md"][..], &drawn].concat());
    assert_eq!(one, folder("7"));
    assert_eq!(one.1[1].1.iter().filter(|&&b| b == b'\n').count(), 13);
}

#[test]
fn an_interrupted_experiment_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("small.toml");
    fs::write(&file, SWEEP).unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| dir.path().join(name).to_str().unwrap().to_string());
    let args = [file.to_str().unwrap(), "--seconds", "100", "--threads", "1", "--csv"];
    let expected = run(&[&args[..], &[&whole]].concat(), 0).0;

    let args = [&args[..], &[&parts]].concat();
    let results = Path::new(&parts).join("results.jsonl");
    let lines = || fs::read_to_string(&results).map_or(0, |text| text.lines().count());
    let child = Command::new(env!("CARGO_BIN_EXE_telehaptic"))
        .arg("sim")
        .args(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while lines() < 2 && begin.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: a signal to a child of ours that nobody has waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("of 12 runs; the same command goes on"), "{err}");
    let done = lines();
    assert!((2..12).contains(&done), "{done}");
    // A run that was cut off while its line was written.
    let text = fs::read_to_string(&results).unwrap();
    fs::write(&results, &text[..text.len() - 30]).unwrap();

    let (out, err) = run(&args, 0);
    assert!(err.lines().next().unwrap().contains("0 lines of other runs and 1 that are none"), "{err}");
    assert_eq!(out, expected);
    assert_eq!(files(Path::new(&parts)), files(Path::new(&whole)));
    // Nothing is left to do.
    let begin = Instant::now();
    let (out, err) = run(&args, 0);
    assert!(begin.elapsed() < Duration::from_millis(600) && err.is_empty(), "{err}");
    assert_eq!(out, expected);
}

#[test]
fn lines_of_others_are_told_of_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (csv, results) = (dir.path().to_str().unwrap(), dir.path().join("results.jsonl"));
    let args = ["paper/table1", "--seconds", "1", "--csv", csv];
    fs::write(&results, b"{\"schema\":99}\n\xff\xfe garbage\n\n").unwrap();
    let (_, err) = run(&args, 0);
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("results.jsonl: 1 lines of other runs and 1 that are none are ignored"), "{err}");
    let text = fs::read_to_string(&results).unwrap();
    assert!(text.ends_with("\n{\"schema\":99}\n") && text.lines().count() == 5, "{text}");
    // Runs of another length are other runs.
    run(&["paper/table1", "--seconds", "2", "--csv", csv], 0);
    assert_eq!(fs::read_to_string(&results).unwrap().lines().count(), 9);
}

#[test]
fn reports_and_markdown() {
    let (out, err) = run(&["paper/fig10", "--seconds", "2", "--report", "-"], 0);
    assert!(err.is_empty(), "{err}");
    let runs: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 2);
    assert_eq!(runs[1]["run"]["scenario"], "paper/r400");
    assert_eq!(runs[0]["sessions"][0]["report"]["schema"], 1);
    assert!(runs[0]["series"]["delay_ms"].as_array().unwrap().len() > 1_900);
    let (out, _) = run(&["fairness", "--seconds", "1", "--scheme", "dpm", "--markdown"], 0);
    assert!(
        out.lines().nth(2).unwrap().starts_with("| network | sessions | kbit/s each | session | scheme |"),
        "{out}"
    );
    // For 2 and 4 sessions: 4 shares, beside its like and beside no-merge.
    assert_eq!(out.lines().filter(|line| line.starts_with("| paper/r0")).count(), (2 + 4) * 4 * 2);
}

#[test]
fn what_does_not_go_together_is_2() {
    let refused = |args: &[&str], words: &[&str]| {
        let (out, err) = run(args, 2);
        assert!(out.is_empty() && (1..=2).contains(&err.lines().count()), "{args:?}: {out}{err}");
        for word in words {
            assert!(err.contains(word), "{args:?}: no '{word}' in: {err}");
        }
    };
    refused(&["paper/fig99"], &["paper/fig99", "paper/fig10", "snapshot", "paper/rN"]);
    refused(&["snapshot", "lan"], &["snapshot", "alone"]);
    refused(&["snapshot", "--source", "generator"], &["--source", "snapshot"]);
    refused(&["snapshot", "--assert-qos"], &["--assert-qos"]);
    refused(&["lan", "--plot", "/tmp"], &["--plot", "experiment"]);
    refused(&["paper/fig10", "--seconds", "6000"], &["0.001 to 5000 seconds", "6000"]);
    refused(&["paper/fig10", "--threads", "0"], &["--threads", "1..=1024"]);

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("broken.toml");
    let path = file.to_str().unwrap();
    for (line, with, words) in [
        ("title", "titel = 1", &["unknown field `titel`", "line 1"][..]),
        ("title", "", &["missing field `title`"]),
        ("kind", "kind = \"movie\"", &["line 3", "over-time", "sweep"]),
        ("schemes", "schemes = []", &["line 5", "1 to 100 entries"]),
        ("schemes", "schemes = [\"fastest\"]", &["line 5", "fastest", "dpm-hold-up"]),
        ("seconds", "seconds = -3", &["line 6", "0.001 to 100000 seconds"]),
        ("seconds", "seconds = 1e99", &["line 6", "0.001 to 100000 seconds"]),
        ("seconds", "seconds = nan", &["line 6", "0.001 to 100000 seconds"]),
        ("seconds", "seeds = [1, -1]", &["line 6", "whole number from 0"]),
        ("seconds", "seeds = []", &["line 6", "1 to 100 entries"]),
        ("seconds", "source = \"moon\"", &["line 6", "closed-loop"]),
        ("seconds", "window_s = [5, 2]", &["line 6", "[from, to]"]),
        (
            "seconds",
            "sharing = { sessions = [1], share_kbps = [900], others = [\"same\"] }",
            &["line 6", "from 2 to 16"],
        ),
        ("cross_kbps", "cross_kbps = { from = 0, to = 9999, step = 20 }", &["line 4", "from 0 to 1500"]),
        ("cross_kbps", "cross_kbps = { from = 0, to = 100, step = 0 }", &["line 4", "from 1 to 1500"]),
        ("cross_kbps", "cross_kbps = { from = 100, to = 0, step = 1 }", &["from 100", "100 to 1500"]),
        ("cross_kbps", "scenarios = [\"moon\"]", &["line 4", "moon", "paper/rN"]),
        ("cross_kbps", "scenarios = [\"lan\"]", &["cross_kbps"]),
        ("cross_kbps", "", &["scenarios", "cross_kbps"]),
        ("columns", "columns = [\"beauty\"]", &["line 7", "beauty", "haptic-max"]),
        ("plots", "plots = [\"haptic-max, k\"]", &["line 8", "one unit"]),
        ("plots", "plots = [\"delay\"]", &["window_s"]),
    ] {
        let text: Vec<&str> = SWEEP.lines().map(|l| if l.starts_with(line) { with } else { l }).collect();
        fs::write(&file, text.join("\n")).unwrap();
        refused(&[path], words);
        refused(&[path], &[path, "line "]);
    }
    let many = SWEEP.replace("step = 50", "step = 1").replace("seconds = 3", &format!("seeds = {:?}", [7; 100]));
    fs::write(&file, many).unwrap();
    refused(&[path], &[path, "50200 runs", "1 to 10000"]);
}
