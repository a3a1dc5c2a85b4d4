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

/// A file that is committed with the project.
fn asset(name: &str) -> String {
    format!("{}/../../assets/media/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn sound_and_pictures_come_by_size_from_files_or_not_at_all() {
    let report = |audio: &str, video: &str| -> Value {
        let args = ["paper/r0", "--seconds", "8", "--report", "-", "--audio", audio, "--video", video];
        serde_json::from_str(&run(&args, 0).0).unwrap()
    };
    let sent = |report: &Value, medium: &str| report["channels"]["backward"][medium]["sent"].as_u64().unwrap();
    // The first half second is not counted; a frame may still wait at the end.
    let paper = report("160@20", "2000@40");
    assert_eq!(sent(&paper, "audio"), 375);
    let files = report(&format!("file:{}", asset("voice.opus")), &format!("file:{}@50", asset("pattern.h264")));
    assert_eq!(sent(&files, "audio"), 375);
    assert!((149..=150).contains(&sent(&files, "video")));
    assert_eq!(files["channels"]["backward"]["video"]["lost"], 0);
    let bytes = |report: &Value| report["channels"]["backward"]["wire"]["bytes"].as_u64().unwrap();
    assert!(bytes(&files) < bytes(&paper));
    let crowded = report("none", "32006@40");
    assert!(crowded["channels"]["backward"]["audio"].is_null());
    assert!(crowded["simulation"]["backward"]["refused_frames"].as_u64().unwrap() > 100);
    let (table, _) = run(&["paper/r0", "--seconds", "2", "--audio", "none", "--video", "none"], 0);
    assert!(table.lines().last().unwrap().ends_with("pass"), "{table}");
}

#[test]
fn sound_and_pictures_that_cannot_be_are_2_and_name_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let broken = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        format!("file:{}", path.to_str().unwrap())
    };
    let audio = |source: &str, words: &[&str]| refused(&["paper/r0", "--audio", source], 2, words);
    let video = |source: &str, words: &[&str]| refused(&["paper/r0", "--video", source], 2, words);
    audio("loud", &["'loud'", "BYTES@MS", "file:PATH.opus", "none"]);
    audio("9000@20", &["9000", "14 to 8000 bytes"]);
    audio("160@0", &["'0' ms", "1 to 10000 ms"]);
    audio("file:/no/such.opus", &["/no/such.opus", "check the path"]);
    audio(&format!("file:{}", asset("voice.wav")), &["voice.wav", "file:PATH.opus"]);
    video("2000", &["'2000'", "BYTES@MS", "file:PATH.h264[@MS]"]);
    video("-5@40", &["'-5' bytes", "14 to 32006 bytes"]);
    video("file:/no/such.h264@40", &["/no/such.h264", "check the path"]);
    video(&format!("file:{}@fast", asset("pattern.h264")), &["'fast' ms", "1 to 10000 ms"]);
    let sound = std::fs::read(asset("voice.opus")).unwrap();
    audio(&broken("cut.opus", &sound[..9_000]), &["cut.opus, byte ", "the file ends within the page"]);
    audio(&broken("empty.ogg", &[]), &["empty.ogg", "no frames", "Opus in Ogg"]);
    video(&broken("garbage.264", &sound), &["garbage.264, byte 0", "start code", "annex B"]);
    let large = [&[0, 0, 1, 0x65, 0x80][..], &[0xff; 40_000]].concat();
    video(&broken("large.h264", &large), &["large.h264, frame 0: 40005 bytes", "1 to 32000"]);
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
    for word in [
        "paper/r260",
        "paper/rN[-fM]",
        "wifi",
        "cellular",
        "dpm-hold-up",
        "k-merge:N",
        "file:PATH.opus",
        "file:PATH.h264[@MS]",
    ] {
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
