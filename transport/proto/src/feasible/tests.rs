//! The estimate against runs of DPM over the paper's network: 1500 kbit/s, three hops of 5 ms, cross-traffic of
//! 400 kbit/s + R_cbr both ways.

use super::*;

fn paper(r_cbr: f64, cross_flows: u32, cross_packet_bytes: u32) -> Feasibility {
    let path = Path {
        capacity_kbps: 1500.0,
        cross_kbps: 400.0 + r_cbr,
        propagation_ms: 15.0,
        transmitting_hops: 3,
        cross_flows,
        cross_packet_bytes,
    };
    let triggers = TriggerConfig::default();
    let fluid = Path { cross_flows: 0, ..path };
    let feedback = Feedback::over(&fluid, &Stream::FORWARD, &triggers).unwrap();
    estimate(&path, &Stream::BACKWARD, &triggers, &feedback)
}

fn worst(feasibility: &Feasibility, medium: Medium) -> f64 {
    let verdict = feasibility.media.iter().find(|v| v.medium == medium).unwrap();
    verdict.worst_delay_ms.unwrap()
}

#[test]
fn rates_are_those_of_the_paper() {
    for (k, backward, forward) in [(1, 1096.0, 688.0), (2, 828.0, 440.0), (3, 738.7, 357.3), (4, 694.0, 316.0)] {
        assert!((Stream::BACKWARD.rate_kbps(k) - backward).abs() < 0.1);
        assert!((Stream::FORWARD.rate_kbps(k) - forward).abs() < 0.1);
    }
}

/// Largest delay of a run of 40 s with two flows of constant rate in packets of 20 bytes, its first 5 s left out.
const NEAR_FLUID: [(f64, f64); 21] = [
    (0.0, 17.24),
    (20.0, 23.55),
    (40.0, 23.55),
    (60.0, 23.65),
    (80.0, 24.50),
    (100.0, 24.60),
    (120.0, 25.23),
    (140.0, 25.82),
    (160.0, 26.41),
    (180.0, 27.20),
    (200.0, 27.53),
    (220.0, 28.44),
    (240.0, 28.59),
    (260.0, 29.50),
    (280.0, 23.66),
    (300.0, 23.85),
    (320.0, 24.39),
    (340.0, 25.48),
    (360.0, 26.68),
    (380.0, 24.24),
    (400.0, 25.01),
];

#[test]
fn near_fluid_runs_are_met_within_a_millisecond() {
    for (r_cbr, run) in NEAR_FLUID {
        // Without a level to oscillate at, 20 bytes raise no I_C.
        let flows = if r_cbr == 0.0 { 0 } else { 2 };
        let got = worst(&paper(r_cbr, flows, 20), Medium::Haptic);
        let low = if r_cbr == 360.0 { 1.35 } else { 1.0 };
        assert!((-0.4..low).contains(&(run - got)), "R_cbr {r_cbr}: {got:.2} ms, the run has {run}");
    }
}

#[test]
fn the_onset_at_full_packet_rate_is_met_too() {
    // The first 1.5 s after all of R_cbr set in at once, k being 1.
    for (r_cbr, run) in [(100.0, 24.53), (200.0, 27.63), (260.0, 29.50), (300.0, 29.35), (360.0, 31.16), (400.0, 32.33)]
    {
        let got = paper(r_cbr, 2, 20).onset_delay_ms.unwrap();
        assert!((-1.2..1.0).contains(&(run - got)), "R_cbr {r_cbr}: {got:.2} ms, the run has {run}");
    }
}

#[test]
fn random_cross_traffic_is_two_to_three_milliseconds_worse() {
    // Range of the largest delay over six runs of 500 s; two flows of 200-byte packets on the mean.
    for (r_cbr, flows, least, most) in [
        (0.0, 1, 24.61, 24.61),
        (100.0, 2, 27.8, 28.4),
        (260.0, 2, 33.3, 34.0),
        (300.0, 2, 34.0, 36.9),
        (400.0, 2, 29.4, 31.0),
    ] {
        let got = worst(&paper(r_cbr, flows, 200), Medium::Haptic);
        assert!(
            (least - 3.0..most + 0.5).contains(&got),
            "R_cbr {r_cbr}: {got:.2} ms, the runs have {least} to {most}"
        );
    }
}

#[test]
fn levels_are_those_at_which_runs_oscillate() {
    for (r_cbr, level, mistaken) in [
        (0.0, None, false),
        (20.0, Some(1), false),
        (260.0, Some(1), false),
        (280.0, Some(2), true),
        (300.0, Some(2), true),
    ] {
        let got = paper(r_cbr, 2, 200);
        assert_eq!((got.oscillates_at, got.mistaken), (level, mistaken), "R_cbr {r_cbr}");
    }
    for (r_cbr, level) in [(310.0, Some(2)), (360.0, Some(2)), (400.0, Some(3))] {
        let got = paper(r_cbr, 2, 200);
        assert_eq!((got.oscillates_at, got.mistaken), (level, false), "R_cbr {r_cbr}");
    }
}

#[test]
fn audio_and_video_are_late_by_the_fragments_of_their_frames() {
    // Runs: audio 19.19 ms and video 56.24 ms over fluid at R_cbr = 0, video 62.55 ms at 20.
    let got = paper(0.0, 0, 0);
    assert!((worst(&got, Medium::Audio) - 19.19).abs() < 0.05 && (worst(&got, Medium::Video) - 56.24).abs() < 0.1);
    assert!((worst(&paper(20.0, 0, 0), Medium::Video) - 62.55).abs() < 0.1);
    for (r_cbr, audio, video) in
        [(100.0, 26.60, 62.55), (200.0, 27.63, 63.53), (240.0, 30.59, 66.59), (260.0, 28.50, 68.16)]
    {
        let got = paper(r_cbr, 2, 20);
        for (medium, run) in [(Medium::Audio, audio), (Medium::Video, video)] {
            let estimate = worst(&got, medium);
            assert!(run < estimate + 1.0, "R_cbr {r_cbr}, {medium:?}: {estimate:.2} ms, the run has {run}");
        }
    }
}

#[test]
fn verdicts_follow_the_limits_and_say_why() {
    let got = paper(100.0, 2, 200);
    assert!(got.media.iter().all(|v| v.compliant && v.reason.is_none()) && got.media.len() == 3);
    let got = paper(260.0, 2, 200);
    let reasons: Vec<_> = got.media.iter().map(|v| v.reason).collect();
    assert_eq!(reasons, [Some(Reason::AboveLimit), None, None]);
    // R_4 is 694 kbit/s: 406 kbit/s is the end.
    assert!(paper(406.0, 2, 200).media[0].worst_delay_ms.is_some());
    let got = paper(407.0, 2, 200);
    assert_eq!((got.oscillates_at, got.onset_delay_ms), (None, None));
    for verdict in &got.media {
        assert_eq!((verdict.compliant, verdict.worst_delay_ms), (false, None));
        let reason = verdict.reason.unwrap().to_string();
        assert!(reason.contains("694 kbit/s") && reason.contains("693 kbit/s are left"), "{reason}");
    }
    let large = Stream { audio: Some(Frames { bytes: 1200, period_ms: 20 }), ..Stream::BACKWARD };
    let path = Path {
        capacity_kbps: 10_000.0,
        cross_kbps: 0.0,
        propagation_ms: 5.0,
        transmitting_hops: 1,
        cross_flows: 0,
        cross_packet_bytes: 0,
    };
    let feedback = Feedback { period_ms: 1.0, delay_ms: 6.0 };
    let got = estimate(&path, &large, &TriggerConfig::default(), &feedback);
    let reasons: Vec<_> = got.media.iter().map(|v| v.reason).collect();
    assert_eq!(reasons, [None, Some(Reason::FramesTooLarge), Some(Reason::FramesTooLarge)]);
}

#[test]
fn nonsense_is_not_compliant() {
    for capacity_kbps in [0.0, -1.0, f64::NAN] {
        let path = Path {
            capacity_kbps,
            cross_kbps: 0.0,
            propagation_ms: 5.0,
            transmitting_hops: 3,
            cross_flows: 1,
            cross_packet_bytes: 200,
        };
        assert_eq!(Feedback::over(&path, &Stream::FORWARD, &TriggerConfig::default()), None);
        let feedback = Feedback { period_ms: 1.0, delay_ms: 5.0 };
        let got = estimate(&path, &Stream::BACKWARD, &TriggerConfig::default(), &feedback);
        assert!(got.media.iter().all(|v| !v.compliant));
        let path = Path { capacity_kbps: 1500.0, propagation_ms: f64::NAN, ..path };
        let got = estimate(&path, &Stream::BACKWARD, &TriggerConfig::default(), &feedback);
        assert!(got.media.iter().all(|v| !v.compliant));
    }
}
