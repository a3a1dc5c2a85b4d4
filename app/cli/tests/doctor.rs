//! `doctor` on this machine: what is missing fails item by item with exit code 1, what is not wanted is not missed.

use std::process::{Command, Output};

fn doctor(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telehaptic"));
    command.arg("doctor").args(args).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("WAYLAND_SOCKET");
    command.output().expect("doctor runs")
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8(output.stdout.clone()).expect("text").lines().map(str::to_owned).collect()
}

/// The line of an item must fail: its text.
fn failed<'a>(lines: &'a [String], item: &str) -> &'a str {
    let start = format!("FAIL  {item}: ");
    let line = lines.iter().find(|l| l.starts_with(&start));
    line.unwrap_or_else(|| panic!("{item} does not fail: {lines:#?}"))
}

#[test]
fn a_machine_without_display_says_so_and_fails() {
    let output = doctor(&["--simulated"]);
    let lines = lines(&output);
    assert!(failed(&lines, "display").contains("--headless"));
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("of 5 checks failed"), "{text}");
}

/// Devices are looked for unless they are not wanted. Machines with all of them are judged in the virtual machine.
#[test]
fn a_machine_without_devices_says_so_item_by_item() {
    if std::path::Path::new("/dev/snd").exists() || std::path::Path::new("/dev/video0").exists() {
        println!("this machine has devices: the pure judgement and the virtual machine show the same");
        return;
    }
    let output = doctor(&["--headless"]);
    let lines = lines(&output);
    for item in ["haptic device", "camera", "microphone", "speaker"] {
        assert!(failed(&lines, item).len() > 20);
    }
    assert_eq!(output.status.code(), Some(1));
    // An operator needs neither camera nor microphone.
    let operator = doctor(&["--headless", "--station", "op"]);
    let text = String::from_utf8_lossy(&operator.stdout).into_owned();
    assert!(text.contains("haptic device") && !text.contains("camera") && !text.contains("microphone"), "{text}");
}

#[test]
fn udev_rules_are_printed_as_they_are_shipped() {
    let output = doctor(&["--udev-rules"]);
    let shipped = include_str!("../../../assets/devices/70-telehaptic.rules");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).trim()), (Some(0), shipped.trim()));
    assert_eq!(doctor(&["--station", "middle"]).status.code(), Some(2));
}
