//! The demo as scripts see it: a complete report, traces of the documented shape, nothing left behind. No judgement of delays: that
//! is done on a quiet machine by the check's acceptance runs.

use std::path::Path;
use std::process::Command;

use session::report::{Clock, Report};

fn demo(args: &[&str]) -> (Report, String) {
    let output = Command::new("timeout")
        .args(["120", env!("CARGO_BIN_EXE_telehaptic"), "demo", "--headless", "--report", "-"])
        .args(args)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    (report, errors)
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        .lines()
        .map(String::from)
        .collect()
}

#[test]
fn report_and_traces_are_complete() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("csv");
    let (report, people) =
        demo(&["--seconds", "6", "--scenario", "paper/r260", "--seed", "4", "--csv", csv.to_str().unwrap()]);
    assert_eq!((report.schema, report.seed), (1, 4));
    assert_eq!((report.scheme.as_str(), report.scenario.as_str()), ("dpm", "paper/r260"));
    assert_eq!(report.clock, Clock::Common);
    assert!((5.0..8.0).contains(&report.seconds), "{}", report.seconds);
    for (channel, has_media) in [(&report.channels.backward, true), (&report.channels.forward, false)] {
        assert!((5_000..8_000).contains(&channel.haptic.sent), "{}", channel.haptic.sent);
        assert!(channel.haptic.delay_ms.is_some_and(|d| d.p50 > 15.0));
        assert_eq!((channel.audio.is_some(), channel.video.is_some()), (has_media, has_media));
        assert!((channel.k.share_percent.values().sum::<f64>() - 100.0).abs() < 0.1);
        assert!(channel.wire.kbps > 100.0 && channel.wire.lost.is_some());
    }
    let cross = report.cross_traffic.expect("cross-traffic");
    assert!(cross.backward.flows.iter().any(|f| (f.nominal_kbps - 260.0).abs() < 1e-6 && f.sent > 500));
    let system = report.system.expect("system");
    assert!(system.servo.ticks > 10_000 && system.cpu_s > 0.0);
    assert!(people.contains("verdict"), "the table is for people: {people}");

    let packets = lines(&csv.join("packets_backward.csv"));
    assert_eq!(packets[0], "sequence,send_ns,receive_ns,k,first_sample_ms");
    assert!(packets.len() > 1_000);
    assert_eq!(lines(&csv.join("k_forward.csv"))[0], "tick_ms,k,cause");
    for name in ["haptic_backward", "haptic_forward", "audio_backward", "video_backward"] {
        let rows = lines(&csv.join(format!("{name}.csv")));
        assert_eq!(rows[0], "index,capture_ns,receive_ns,display_ns", "{name}");
        assert!(rows.len() > 100, "{name}: {}", rows.len());
        let row: Vec<i64> = rows[50].split(',').map(|v| v.parse().unwrap()).collect();
        assert!(row[1] >= 0 && row[2] > row[1] && row[2] - row[1] < 1_000_000_000, "{name}: {row:?}");
    }
}

#[test]
fn no_merge_keeps_k_at_1_and_asserted_limits_end_with_3() {
    let output = Command::new("timeout")
        .args(["120", env!("CARGO_BIN_EXE_telehaptic"), "demo", "--headless", "--seconds", "6", "--scheme", "no-merge"])
        .args(["--scenario", "paper/r400", "--report", "-", "--assert-qos"])
        .output()
        .unwrap();
    let report: Report = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report.channels.backward.k.share_percent.get(&1), Some(&100.0));
    assert!(report.channels.backward.haptic.lost > 0);
    assert_eq!(output.status.code(), Some(3));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("limits broken: backward haptic"), "{errors}");
}

#[test]
fn what_a_scenario_calls_its_warm_up_is_left_out_and_comes_on_top() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("slow-start.toml");
    std::fs::write(
        &file,
        "description = \"nothing in the way\"\nwarmup_ms = 2500\n[both]\nhops = [{ propagation_us = 5000 }]\n",
    )
    .unwrap();
    let (report, _) = demo(&["--seconds", "2", "--scenario", file.to_str().unwrap()]);
    assert!((4.0..6.0).contains(&report.seconds), "{}", report.seconds);
    for channel in [&report.channels.backward, &report.channels.forward] {
        // Two seconds of a thousand samples, and some more while the stations are told to end.
        assert!((1_500..3_000).contains(&channel.haptic.sent), "{}", channel.haptic.sent);
    }
}
