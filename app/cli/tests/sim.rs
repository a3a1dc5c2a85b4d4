//! `telehaptic sim` from outside: table, report, traces, exit codes, errors.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn telehaptic(args: &[&str]) -> Output {
    Command::new("timeout").arg("60").arg(env!("CARGO_BIN_EXE_telehaptic")).arg("sim").args(args).output().unwrap()
}

/// Runs, expects this exit code, and returns what stdout and stderr say.
fn run(args: &[&str], code: i32) -> (String, String) {
    let output = telehaptic(args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}: {err}");
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    (out, err)
}

/// Expects this exit code, these words in at most two lines on stderr, and nothing on stdout.
fn refused(args: &[&str], code: i32, words: &[&str]) {
    let (out, err) = run(args, code);
    assert!(out.is_empty(), "{args:?}: {out}");
    assert!((1..=2).contains(&err.lines().count()), "{args:?}: {err}");
    for word in words {
        assert!(err.contains(word), "{args:?}: no '{word}' in: {err}");
    }
}

#[test]
fn a_table_has_one_row_a_run() {
    let (out, err) =
        run(&["paper/r0", "paper/r260-m0", "--scheme", "no-merge", "--scheme", "k-merge:2", "--seconds", "3"], 0);
    assert!(err.is_empty(), "{err}");
    let rows: Vec<Vec<&str>> = out.lines().skip(2).map(|l| l.split_whitespace().take(2).collect()).collect();
    let wanted = [
        ["paper/r0", "no-merge"],
        ["paper/r0", "k-merge:2"],
        ["paper/r260-m0", "no-merge"],
        ["paper/r260-m0", "k-merge:2"],
    ];
    assert_eq!(rows, wanted, "{out}");
    let widths: Vec<usize> = out.lines().skip(1).map(|l| l.rfind(' ').unwrap()).collect();
    assert!(widths.iter().all(|w| *w == widths[0]), "{out}");
}

#[test]
fn one_run_is_an_object_several_are_an_array() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.json");
    let file = file.to_str().unwrap();
    let (out, _) = run(&["paper/r400", "--seconds", "4.5", "--seed", "9", "--report", file], 0);
    assert!(out.is_empty(), "{out}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(report["schema"], 1);
    assert_eq!((&report["scheme"], &report["scenario"]), (&"dpm".into(), &"paper/r400".into()));
    assert_eq!((&report["seed"], &report["seconds"], &report["clock"]), (&9.into(), &4.5.into(), &"virtual".into()));
    assert_eq!(report["system"]["servo"]["ticks"], 9_000);
    assert!(report["channels"]["forward"]["audio"].is_null());
    assert!(report["channels"]["backward"]["video"]["jitter_ms"]["packet"].is_f64());
    assert!(report["simulation"]["backward"]["convergence"][1]["converged_ms"].is_number());
    assert!(report["simulation"]["forward"]["flows"][0]["throughput_kbps"].is_f64());

    let (out, err) = run(&["lan", "wifi", "--seconds", "1", "--report", "-"], 0);
    assert!(err.is_empty(), "{err}");
    let reports: Value = serde_json::from_str(&out).unwrap();
    let names: Vec<&str> = reports.as_array().unwrap().iter().map(|r| r["scenario"].as_str().unwrap()).collect();
    assert_eq!(names, ["lan", "wifi"]);
}

#[test]
fn traces_of_several_runs_lie_in_folders_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let files = |dir: &Path| std::fs::read_dir(dir).unwrap().count();
    let one = dir.path().join("one");
    run(&["paper/r0", "--seconds", "1", "--csv", one.to_str().unwrap()], 0);
    assert_eq!(files(&one), 8);
    let packets = std::fs::read_to_string(one.join("packets_backward.csv")).unwrap();
    assert_eq!(packets.lines().next(), Some("sequence,send_ns,receive_ns,k,first_sample_ms"));
    assert_eq!(packets.lines().nth(1), Some("0,0,17192001,1,0"));
    let several = dir.path().join("several");
    let schemes = ["--scheme", "dpm", "--scheme", "k-merge:8"];
    run(&[&["paper/r0", "--seconds", "1", "--csv", several.to_str().unwrap()][..], &schemes].concat(), 0);
    assert_eq!(files(&several), 2);
    assert_eq!(files(&several.join("paper-r0_dpm")), 8);
    assert_eq!(files(&several.join("paper-r0_k-merge-8")), 8);
}

#[test]
fn a_file_of_settings_holds_unless_the_command_line_says_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sim.toml");
    std::fs::write(&path, "scheme = \"dpm-hold-up\"\nseed = 5\n[triggers]\nk_max = 2\n").unwrap();
    let path = path.to_str().unwrap();
    let report = |more: &[&str]| -> Value {
        let args = [&["paper/r400", "--seconds", "5", "--report", "-", "--config", path][..], more].concat();
        serde_json::from_str(&run(&args, 0).0).unwrap()
    };
    let by_file = report(&[]);
    assert_eq!((&by_file["scheme"], &by_file["seed"]), (&"dpm-hold-up".into(), &5.into()));
    let shares = by_file["channels"]["backward"]["k"]["share_percent"].as_object().unwrap();
    assert!(shares.keys().all(|k| k == "1" || k == "2"), "{shares:?}");
    let by_line = report(&["--scheme", "no-merge", "--seed", "6"]);
    assert_eq!((&by_line["scheme"], &by_line["seed"]), (&"no-merge".into(), &6.into()));
}

#[test]
fn broken_limits_are_3_and_named() {
    run(&["paper/r260", "--scheme", "k-merge:3", "--seconds", "5", "--assert-qos"], 0);
    let (_, err) = run(&["paper/r260", "--scheme", "no-merge", "--seconds", "5", "--assert-qos"], 3);
    assert!(err.contains("paper/r260 no-merge: backward haptic"), "{err}");
    assert_eq!(err.lines().count(), 1);
}

#[test]
fn what_there_is_is_listed() {
    let (out, _) = run(&["--list"], 0);
    for word in ["paper/r260", "paper/rN[-fM]", "wifi", "cellular", "dpm-hold-up", "k-merge:N"] {
        assert!(out.contains(word), "no '{word}' in: {out}");
    }
}

#[test]
fn wrong_usage_is_2_and_names_what_is_right() {
    refused(&["moon"], 2, &["moon", "paper/rN", "wifi"]);
    refused(&["lan", "paper/r9999", "--seconds", "1"], 2, &["paper/r9999", "1500"]);
    refused(&["lan", "--scheme", "fastest"], 2, &["fastest", "dpm-hold-up"]);
    for seconds in ["0", "-1", "1e9", "nan", "inf"] {
        refused(&["lan", "--seconds", seconds], 2, &[seconds, "0.001 to 100000 seconds"]);
    }
    refused(&["lan", "--seconds", "long"], 2, &["long", "number of seconds"]);
    refused(&["lan", "--seconds", "90000", "--csv", "/tmp"], 2, &["traces", "to 5000 seconds"]);
    refused(&["lan", "--seed", "-1"], 2, &["-1", "whole number from 0"]);
    refused(&[], 2, &["SCENARIO", "--help"]);
    refused(&["/no/such.toml"], 2, &["/no/such.toml"]);
    refused(&["lan", "--config", "/no/such.toml"], 2, &["/no/such.toml"]);
    let dir = tempfile::tempdir().unwrap();
    let wrong = dir.path().join("wrong.toml");
    std::fs::write(&wrong, "[triggers]\nk_max = 99\n").unwrap();
    refused(&["lan", "--config", wrong.to_str().unwrap()], 2, &["k_max", "1 to 8"]);
}

#[test]
fn what_cannot_be_written_is_1_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let nowhere = dir.path().join("no/report.json");
    // So long that a run that began would be ended by the timeout.
    let long = ["lan", "--seconds", "100000"];
    refused(&[&long[..], &["--report", nowhere.to_str().unwrap()]].concat(), 1, &[nowhere.to_str().unwrap(), "folder"]);
    refused(&["lan", "--csv", file.to_str().unwrap()], 1, &[file.to_str().unwrap(), "folder"]);
    refused(&["lan", "--csv", "/proc/traces"], 1, &["/proc/traces", "folder"]);
}
