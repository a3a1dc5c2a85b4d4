//! Two halves of a run whose every figure is known.

use std::path::Path;

use media::{Instant, Medium, Role};
use proto::report::{CrossTraffic, System};
use proto::{KCause, Scheme, TraceEvent};

use super::*;

/// Clocks of the two stations: their zero on the machine's clock.
const OP_EPOCH: i64 = -3_000_000_000;
const TOP_EPOCH: i64 = 7_000_000_123;
/// The operator connects at this moment of the machine's clock, the teleoperator 5 ms before.
const CONNECTED: i64 = 20_000_000_000;
/// The first index after the connection: servos run before.
const FIRST: u64 = 65_000;
const SAMPLES: u64 = 3_000;
const DELAY: i64 = 12_000_000;
const LOST: std::ops::Range<u64> = 1_000..1_010;

fn at(machine: i64, epoch: i64) -> Instant {
    Instant::from_nanos(u64::try_from(machine - epoch).unwrap())
}

/// Sends `SAMPLES` samples, two a packet, and loses ten of them.
fn write_channel(sender: &mut TraceWriter, sender_epoch: i64, receiver: &mut TraceWriter, receiver_epoch: i64) {
    let taken = |i: u64| CONNECTED + 1_000_000 * (i as i64 + 1);
    let mut send = |event| sender.record(&Record::Event(event)).unwrap();
    let mut receive = |event| receiver.record(&Record::Event(event)).unwrap();
    send(TraceEvent::MergeFactor { index: FIRST - 50, k: 2, cause: KCause::Start });
    // From before the connection: does not count.
    send(TraceEvent::HapticTaken { index: FIRST - 1, at: at(CONNECTED - 900_000, sender_epoch) });
    send(TraceEvent::MergeFactor { index: FIRST + 2_000, k: 3, cause: KCause::Congestion });
    for i in 0..SAMPLES {
        send(TraceEvent::HapticTaken { index: FIRST + i, at: at(taken(i), sender_epoch) });
        if i % 2 == 1 {
            let first_index = FIRST + i - 1;
            let sequence = 500 + i / 2;
            send(TraceEvent::PacketSent { sequence, at: at(taken(i), sender_epoch), k: 2, first_index, mask: 3 });
            // The receiver counts from where it began.
            let first_index = first_index - 65_536 * (first_index / 65_536);
            let arrives = taken(i) + DELAY;
            if !LOST.contains(&i) {
                receive(TraceEvent::PacketReceived { at: at(arrives, receiver_epoch), k: 2, first_index, mask: 3 });
                receive(TraceEvent::HapticDisplayed { index: first_index, at: at(arrives, receiver_epoch) });
            }
        }
    }
    // On its way when the run ends.
    let late = taken(SAMPLES);
    let first_index = FIRST + SAMPLES;
    send(TraceEvent::HapticTaken { index: first_index, at: at(late, sender_epoch) });
    send(TraceEvent::PacketSent {
        sequence: 500 + SAMPLES / 2,
        at: at(late, sender_epoch),
        k: 1,
        first_index,
        mask: 1,
    });
    for (packets, ms) in [(0, -5), (250, 500), (1_500, 3_005)] {
        let counters = Counters {
            at: at(CONNECTED + ms * 1_000_000, sender_epoch),
            packets,
            wire_bytes: packets * 110,
            i_c: packets / 250,
            i_s: 0,
        };
        sender.record(&Record::Counters(counters)).unwrap();
    }
}

fn info(role: &str, epoch_ns: i64) -> StationInfo {
    StationInfo {
        role: role.into(),
        epoch_ns,
        scheme: Scheme::Dpm,
        scenario: "paper/r400".into(),
        seed: 3,
        peer_session: 1,
        start_ns: 0,
        end_ns: at(CONNECTED + 3_010_000_000, epoch_ns).as_nanos(),
        dropped: 0,
        counters: Default::default(),
        system: System { cpu_s: 1.5, ..System::default() },
    }
}

fn record(dir: &Path) {
    let mut op = TraceWriter::create(&dir.join("op"), Role::Op).unwrap();
    let mut top = TraceWriter::create(&dir.join("top"), Role::Top).unwrap();
    for (writer, epoch, when) in [(&mut op, OP_EPOCH, CONNECTED), (&mut top, TOP_EPOCH, CONNECTED - 5_000_000)] {
        let link = Record::Link { at: at(when, epoch), event: LinkEvent::Connected, session: 1 };
        writer.record(&link).unwrap();
    }
    write_channel(&mut op, OP_EPOCH, &mut top, TOP_EPOCH);
    write_channel(&mut top, TOP_EPOCH, &mut op, OP_EPOCH);
    // Frames each 20 ms; the receiver's numbers differ by a wrap.
    for i in 0..140u64 {
        let taken = CONNECTED + 20_000_000 * (i as i64 + 1);
        let number = 70_000 + i;
        let (medium, bytes) = (Medium::Audio, 154);
        top.record(&Record::Event(TraceEvent::FrameTaken { medium, number, at: at(taken, TOP_EPOCH), bytes })).unwrap();
        if i != 100 {
            let arrives = at(taken + 30_000_000, OP_EPOCH);
            let display_at = at(taken + 60_000_000, OP_EPOCH);
            let number = number - 65_536;
            op.record(&Record::Event(TraceEvent::FrameReceived { medium, number, at: arrives, display_at })).unwrap();
        }
    }
    op.finish(&info("op", OP_EPOCH)).unwrap();
    top.finish(&info("top", TOP_EPOCH)).unwrap();
}

#[test]
fn the_figures_are_those_of_the_run() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let emulator = Some(CrossTraffic { backward: Default::default(), forward: Default::default() });
    let options = MergeOptions { emulator: emulator.clone(), ..MergeOptions::default() };
    let merged = merge(&dir.path().join("op"), &dir.path().join("top"), &options).unwrap();
    let report = &merged.report;
    assert_eq!((report.scheme.as_str(), report.scenario.as_str(), report.seed), ("dpm", "paper/r400", 3));
    assert_eq!(report.cross_traffic, emulator);
    assert!((report.seconds - 3.009).abs() < 1e-9);
    assert_eq!(report.system.as_ref().unwrap().cpu_s, 3.0);
    for channel in [&report.channels.backward, &report.channels.forward] {
        let h = &channel.haptic;
        assert_eq!((h.sent, h.delivered, h.lost), (2_500, 2_490, 10));
        let delay = h.delay_ms.unwrap();
        assert!((delay.mean - 12.5).abs() < 1e-9 && (delay.max - 13.0).abs() < 1e-9, "{delay:?}");
        let jitter = h.jitter_ms.unwrap();
        assert_eq!(jitter.packet, 0.0);
        // Each packet start jumps from 12 back to 13 ms.
        assert!((jitter.sample - 0.5).abs() < 1e-3, "{jitter:?}");
        assert_eq!((channel.wire.packets, channel.wire.bytes, channel.wire.lost), (1_250, 137_500, Some(5)));
        let shares: Vec<_> = channel.k.share_percent.iter().map(|(k, s)| (*k, s.round())).collect();
        assert_eq!((shares, channel.k.changes, channel.k.i_c), (vec![(2, 60.0), (3, 40.0)], 1, 5));
        assert_eq!(channel.video.is_some(), channel.audio.is_some());
    }
    let audio = report.channels.backward.audio.as_ref().unwrap();
    // Frames from 500 ms after the first sample on: the 25th is 499 ms after it.
    assert_eq!((audio.sent, audio.lost), (115, 1));
    assert!((audio.delay_ms.unwrap().p50 - 30.0).abs() < 0.02);
}

#[test]
fn the_csv_files_count_from_the_first_sample() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let merged = merge(&dir.path().join("op"), &dir.path().join("top"), &MergeOptions::default()).unwrap();
    let out = dir.path().join("csv");
    merged.write_csv(&out).unwrap();
    let lines = |name: &str| -> Vec<String> {
        std::fs::read_to_string(out.join(name)).unwrap().lines().map(str::to_owned).collect()
    };
    for channel in ["backward", "forward"] {
        let packets = lines(&format!("packets_{channel}.csv"));
        assert_eq!(packets[0], "sequence,send_ns,receive_ns,k,first_sample_ms");
        assert_eq!(packets[1], "0,1000000,13000000,2,0");
        assert_eq!(packets[2], "1,3000000,15000000,2,2");
        assert_eq!(packets[501], "500,1001000000,-1,2,1000");
        assert_eq!(packets.len(), 1_501, "the one in flight is left out");
        let haptic = lines(&format!("haptic_{channel}.csv"));
        assert_eq!(haptic[0], "index,capture_ns,receive_ns,display_ns");
        assert_eq!(haptic[1], "0,0,13000000,13000000");
        assert_eq!(haptic[2], "1,1000000,13000000,-1");
        assert_eq!(haptic[1_001], "1000,1000000000,-1,-1");
        assert_eq!(haptic.len(), 3_001);
        assert_eq!(lines(&format!("k_{channel}.csv")), ["tick_ms,k,cause", "0,2,start", "2000,3,i_c"]);
    }
    let audio = lines("audio_backward.csv");
    assert_eq!(audio[1], "0,19000000,49000000,79000000");
    assert_eq!(audio[101], "100,2019000000,-1,-1");
    assert!(!out.join("audio_forward.csv").exists() && !out.join("video_forward.csv").exists());
}

#[test]
fn damaged_halves_are_named() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path());
    let (op, top) = (dir.path().join("op"), dir.path().join("top"));
    let error = |a: &Path, b: &Path| merge(a, b, &MergeOptions::default()).unwrap_err().to_string();
    assert!(error(&top, &op).contains("not of 'op'"));
    std::fs::write(op.join("packets_sent.csv"), "sequence,at_ns,k,first_index\n1,2,x,4\n").unwrap();
    let line = error(&op, &top);
    assert!(line.contains("packets_sent.csv") && line.contains("line 2"), "{line}");
    std::fs::write(op.join("packets_sent.csv"), "what\n").unwrap();
    assert!(error(&op, &top).contains("first line"));
    std::fs::write(op.join("link.csv"), "at_ns,event,session\n").unwrap();
    std::fs::write(op.join("packets_sent.csv"), "sequence,at_ns,k,first_index\n").unwrap();
    assert!(error(&op, &top).contains("never were connected"));
    std::fs::remove_file(top.join("station.json")).unwrap();
    assert!(error(&op, &top).contains("station.json"));
}

#[test]
fn servo_lines_have_as_many_columns_as_the_header() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = TraceWriter::create(dir.path(), Role::Top).unwrap();
    let record = ServoRecord {
        tick: 4,
        at: Instant::from_millis(2),
        state: Default::default(),
        desired: media::Position::new(1.0, 2.0, 3.0),
        contact: Default::default(),
        incoming_at: None,
        incoming: media::Vector::ZERO,
        incoming_velocity: media::Vector::ZERO,
        force: media::Force::new(0.5, 0.0, -0.25),
        sent: media::Vector::ZERO,
        engagement: 0.5,
        gain: 0.9,
        damping: 0.25,
        passed: 0.75,
        limit: 2.5,
        age_ns: -1,
        held: true,
        stopped: false,
    };
    writer.servo(&record).unwrap();
    writer.flush().unwrap();
    let text = std::fs::read_to_string(dir.path().join("servo_top.csv")).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(lines[0].len(), lines[1].len());
    let value = |name: &str| lines[1][lines[0].iter().position(|c| *c == name).unwrap()];
    assert_eq!((value("desired_y"), value("force_z"), value("incoming_ns"), value("held")), ("2", "-0.25", "-1", "1"));
    assert_eq!((value("gain"), value("damping"), value("passed"), value("limit")), ("0.9", "0.25", "0.75", "2.5"));
    assert_eq!((value("engagement"), value("stopped"), value("tick")), ("0.5", "0", "4"));
}
