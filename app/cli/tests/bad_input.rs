//! Bad input: one or two clear lines on stderr that name the object and the remedy, and the right exit code.

use std::net::UdpSocket;
use std::process::{Command, Output};

/// A ticket that is well-formed; nobody has it.
const TICKET: &str = "127.0.0.1:9/0123456789abcdef0123456789abcdef";

fn telehaptic(args: &[&str]) -> Output {
    // A program that hangs must not hang the check with it.
    Command::new("timeout")
        .arg("60")
        .arg(env!("CARGO_BIN_EXE_telehaptic"))
        .args(args)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap()
}

/// Runs and expects this exit code and words in at most two lines.
fn expect(args: &[&str], code: i32, words: &[&str]) {
    let output = telehaptic(args);
    check(&format!("{args:?}"), &output, code, words);
}

fn check(what: &str, output: &Output, code: i32, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{what}: {text}");
    let lines = text.lines().count();
    assert!((1..=2).contains(&lines), "{what}: {lines} lines: {text}");
    for word in words {
        assert!(text.contains(word), "{what}: no '{word}' in: {text}");
    }
    assert!(!text.contains("panicked"), "{what}: {text}");
}

#[test]
fn wrong_usage_is_2_and_names_what_is_right() {
    expect(&["op", TICKET, "--headless", "--scheme", "fastest"], 2, &["fastest", "dpm-hold-up"]);
    expect(&["op", TICKET, "--headless", "--scheme", "k-merge:9"], 2, &["k-merge:9", "from 1 to 8"]);
    expect(&["op", "127.0.0.1:9", "--headless"], 2, &["ticket", "telehaptic top"]);
    expect(&["op", "127.0.0.1:9/xyz", "--headless"], 2, &["ticket", "telehaptic top"]);
    expect(&["op", "--headless"], 2, &["ticket"]);
    expect(&["op", TICKET, "--headless", "--camera", "scene"], 2, &["--camera", "telehaptic top"]);
    expect(&["top", "--headless", "--master", "sim"], 2, &["--master", "telehaptic op"]);
    expect(&["op", TICKET, "--headless", "--master", "joystick"], 2, &["joystick", "hid:VID:PID"]);
    expect(&["top", "--headless", "--coupling", "wave"], 2, &["--coupling", "telehaptic op"]);
    expect(&["op", TICKET, "--headless", "--coupling", "rope"], 2, &["rope", "position-force"]);
    expect(&["top", "--headless", "--camera", "webcam"], 2, &["webcam", "device:N"]);
    expect(&["top", "--headless", "--force-limit", "900"], 2, &["force_limit", "50"]);
    expect(&["top", "--headless", "--seconds", "long"], 2, &["long", "seconds"]);
    expect(&["demo", "--headless", "--scenario", "paper/r9999"], 2, &["paper/r9999"]);
    expect(&["demo", "--headless", "--scenario", "moon"], 2, &["moon", "paper/rN"]);
    expect(&["fly"], 2, &["fly", "--help"]);
    expect(&["top", "--no-such-option"], 2, &["--no-such-option", "--help"]);
}

#[test]
fn broken_files_are_2_and_named_with_their_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let broken = file("broken.toml", "scheme = \"dpm\"\nwidth = = 3\n");
    expect(&["top", "--headless", "--config", &broken], 2, &["broken.toml", "line 2"]);
    let unknown = file("unknown.toml", "widht = 320\n");
    expect(&["top", "--headless", "--config", &unknown], 2, &["unknown.toml", "widht"]);
    let scenario = file("net.toml", "[backward]\nhops = 7\n");
    expect(&["demo", "--headless", "--scenario", &scenario], 2, &["net.toml", "line"]);
    let missing = dir.path().join("none.toml");
    let missing = missing.to_str().unwrap();
    expect(&["top", "--headless", "--config", missing], 2, &["none.toml"]);
    expect(&["demo", "--headless", "--config", missing, "--seconds", "2"], 2, &["none.toml"]);
    expect(&["demo", "--headless", "--scenario", missing], 2, &["none.toml"]);
}

#[test]
fn a_report_that_cannot_be_written_is_1_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("no/report.json");
    let nowhere = nowhere.to_str().unwrap();
    // Without an end of their own: a run that began would be ended by the timeout.
    expect(&["demo", "--headless", "--report", nowhere], 1, &[nowhere, "folder"]);
    expect(&["top", "--headless", "--listen", "127.0.0.1:0", "--report", nowhere], 1, &[nowhere, "folder"]);
    let folder = dir.path().to_str().unwrap();
    expect(&["op", TICKET, "--headless", "--report", folder], 1, &[folder]);
    // A run that fails leaves no empty report behind.
    let report = dir.path().join("report.json");
    expect(&["op", "--headless", "--report", report.to_str().unwrap()], 2, &["ticket"]);
    expect(
        &["op", TICKET, "--headless", "--report", report.to_str().unwrap(), "--master", "replay:/no/such.csv"],
        1,
        &["/no/such.csv"],
    );
    assert!(!report.exists());
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    for args in [&["devices"][..], &["--help"]] {
        let mut process = Command::new(env!("CARGO_BIN_EXE_telehaptic"))
            .args(args)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
    }
}

#[test]
fn what_is_not_there_is_1_and_named() {
    let top = ["top", "--headless", "--listen", "127.0.0.1:0", "--seconds", "2"];
    let with = |extra: &[&'static str]| [&top[..], extra].concat();
    expect(&with(&["--slave", "hid:dead:beef"]), 1, &["dead:beef"]);
    expect(&with(&["--camera", "device:77"]), 1, &["device:77", "telehaptic devices"]);
    expect(&with(&["--camera", "file:/no/such.y4m"]), 1, &["/no/such.y4m"]);
    expect(&with(&["--mic", "file:/no/such.wav"]), 1, &["/no/such.wav"]);
    expect(&with(&["--mic", "device:no such card"]), 1, &["no such card"]);
    expect(&["op", TICKET, "--headless", "--speaker", "device:no such card"], 1, &["no such card"]);
    if !std::fs::read_to_string("/proc/asound/cards").is_ok_and(|cards| cards.contains('[')) {
        // Without any card the sound library has much to say of its own: none of it is ours.
        expect(&with(&["--mic", "device"]), 1, &["microphone", "--mic silence"]);
        expect(&["op", TICKET, "--headless", "--speaker", "device"], 1, &["speaker", "--speaker none"]);
    }
    expect(&["op", TICKET, "--headless", "--master", "replay:/no/such.csv"], 1, &["/no/such.csv"]);
}

#[test]
fn a_port_in_use_is_1_and_named() {
    let held = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = held.local_addr().unwrap().to_string();
    expect(&["top", "--headless", "--listen", &address], 1, &[&address, "another"]);
    expect(&["emulate", "--listen", &address, "--to", "127.0.0.1:9", "--scenario", "lan"], 1, &[&address, "another"]);
}

#[test]
fn a_display_that_is_not_there_is_1_and_named() {
    expect(&["op", TICKET], 1, &["no display", "--headless"]);
    let output = Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_telehaptic"), "top", "--listen", "127.0.0.1:0"])
        .env("DISPLAY", ":987")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    check("dead display", &output, 1, &[":987", "--headless"]);
}

#[test]
fn a_wrong_token_meets_silence_and_ends_with_1() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("top.sock");
    let mut top = Command::new(env!("CARGO_BIN_EXE_telehaptic"))
        .args(["top", "--headless", "--listen", "127.0.0.1:0", "--seconds", "30", "--control-socket"])
        .arg(&socket)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(top.stdout.as_mut().unwrap()), &mut line).unwrap();
    let ticket = line.trim().strip_prefix("ticket: ").unwrap();
    let (address, _) = ticket.split_once('/').unwrap();
    let wrong = format!("{address}/0123456789abcdef0123456789abcdef");
    expect(
        &["op", &wrong, "--headless", "--control-socket", dir.path().join("op.sock").to_str().unwrap()],
        1,
        &["no answer", address, "ticket"],
    );
    top.kill().unwrap();
    top.wait().unwrap();
}

#[test]
fn ctl_without_a_station_is_1() {
    let output = Command::new(env!("CARGO_BIN_EXE_telehaptic"))
        .args(["ctl", "status"])
        .env("XDG_RUNTIME_DIR", "/no/such/folder")
        .output()
        .unwrap();
    check("ctl", &output, 1, &["op.sock", "top.sock"]);
    expect(&["ctl", "--socket", "/no/such.sock", "status"], 1, &["/no/such.sock", "telehaptic top"]);
}
