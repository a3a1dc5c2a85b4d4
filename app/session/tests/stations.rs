//! Two whole stations in one process, over loopback: simulated devices, no sound card, no camera. Waits are generous and
//! nothing is asserted about how long they took; what must happen within a time is read from the time stamps of the trace.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use media::{Coupling, Role};
use telehaptic_session::ctl::{Client, CtlError};
use telehaptic_session::trace::{MergeOptions, merge};
use telehaptic_session::{
    Command, Ended, LinkState, Scheme, SessionError, Snapshot, Station, StationConfig, Ticket, ViewPicture,
};

const PATIENCE: Duration = Duration::from_secs(60);
/// The kernel stamps on another clock: arrivals may seem this much too early.
const STAMP_ERROR_NS: f64 = 1e6;

/// Waits until `done` says so of the station's snapshot.
fn wait_for(station: &Station, what: &str, done: impl Fn(&Snapshot) -> bool) {
    let start = Instant::now();
    while !done(&station.snapshot()) {
        let snapshot = station.snapshot();
        assert!(start.elapsed() < PATIENCE, "{what}: {snapshot:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn connected(snapshot: &Snapshot) -> bool {
    snapshot.link == LinkState::Connected
}

fn has_line(snapshot: &Snapshot, text: &str) -> bool {
    snapshot.log.iter().any(|line| line.contains(text))
}

fn norm(v: [f32; 3]) -> f32 {
    v.iter().map(|c| c * c).sum::<f32>().sqrt()
}

fn top(dir: &Path) -> StationConfig {
    StationConfig {
        listen: Some("127.0.0.1:0".parse().unwrap()),
        ticket_file: Some(dir.join("ticket")),
        control_socket: Some(dir.join("top.sock")),
        trace_dir: Some(dir.join("top")),
        common_clock: true,
        ..StationConfig::new(Role::Top)
    }
}

fn op(dir: &Path, ticket: Ticket) -> StationConfig {
    StationConfig {
        ticket: Some(ticket),
        control_socket: Some(dir.join("op.sock")),
        trace_dir: Some(dir.join("op")),
        common_clock: true,
        ..StationConfig::new(Role::Op)
    }
}

fn pair(dir: &Path) -> (Station, Station) {
    let top = Station::start(top(dir)).unwrap();
    let op = Station::start(op(dir, top.ticket().unwrap())).unwrap();
    wait_for(&op, "operator connected", connected);
    wait_for(&top, "teleoperator connected", connected);
    (op, top)
}

/// A table of numbers without its header; a word becomes not-a-number.
fn table(path: PathBuf) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines = text.lines();
    let header = lines.next().unwrap().split(',').map(|c| c.trim().to_owned()).collect();
    let rows = lines.map(|l| l.split(',').map(|c| c.parse().unwrap_or(f64::NAN)).collect()).collect();
    (header, rows)
}

#[test]
fn the_operator_feels_sees_and_hears_and_the_traces_merge() {
    let dir = tempfile::tempdir().unwrap();
    let (op, top) = pair(dir.path());
    wait_for(&top, "the slave touches", |s| s.haptic.contact.is_some_and(|c| norm(c) > 0.2));
    wait_for(&op, "the operator feels it", |s| norm(s.haptic.force) > 0.1 && s.haptic.engagement > 0.5);
    wait_for(&op, "sound arrives", |s| s.audio.frames > 20);
    wait_for(&op, "pictures arrive", |s| s.video.frames > 10);
    let mut picture = ViewPicture::default();
    assert!(op.picture(&mut picture));
    assert_eq!((picture.width, picture.height, picture.rgb.len()), (320, 240, 320 * 240 * 3));
    assert!(picture.rgb.iter().any(|&p| p > 60), "a black picture");
    let number = picture.number;
    wait_for(&op, "statistics of the peer", |s| s.forward.haptic.is_some() && s.backward.haptic.is_some());
    wait_for(&top, "histories", |s| s.backward.history.len() > 5 && s.forward.history.len() > 5);
    wait_for(&op, "a run of three seconds", |s| s.uptime_s > 3.0);
    wait_for(&op, "more pictures", |s| s.video.frames > number + 10);
    assert!(op.picture(&mut picture) && picture.number > number);

    let lone = op.finish().unwrap();
    assert_eq!(lone.report.channels.backward.haptic.lost, 0);
    wait_for(&top, "goodbye", |s| s.link == LinkState::Left && has_line(s, "goodbye"));
    top.finish().unwrap();

    let merged = merge(&dir.path().join("op"), &dir.path().join("top"), &MergeOptions::default()).unwrap();
    assert_eq!(merged.dropped, 0);
    let report = &merged.report;
    for (channel, media) in [(&report.channels.backward, true), (&report.channels.forward, false)] {
        assert!(channel.haptic.sent > 1_000, "{channel:?}");
        assert_eq!(channel.haptic.delivered + channel.haptic.lost, channel.haptic.sent);
        assert_eq!(channel.haptic.lost, 0, "{channel:?}");
        assert_eq!((channel.audio.is_some(), channel.video.is_some()), (media, media));
        let share: f64 = channel.k.share_percent.values().sum();
        assert!((share - 100.0).abs() < 1e-6, "{:?}", channel.k);
        assert_eq!(channel.wire.lost, Some(0));
        let delay = channel.haptic.delay_ms.unwrap();
        assert!(delay.p50 > 0.0 && delay.mean < 1_000.0, "{delay:?}");
    }
    let video = report.channels.backward.video.as_ref().unwrap();
    assert!(video.delivered > 10 && video.lost == 0, "{video:?}");
    let sent = report.channels.forward.wire.clone();
    let bytes = sent.bytes as f64 - 62.0 * sent.packets as f64;
    let per_sample = bytes / report.channels.forward.haptic.sent as f64;
    assert!((per_sample - 24.0).abs() < 2.0, "{per_sample} bytes a sample");

    merged.write_csv(&dir.path().join("csv")).unwrap();
    let csv = |name: &str| table(dir.path().join("csv").join(name));
    for channel in ["backward", "forward"] {
        let (header, rows) = csv(&format!("packets_{channel}.csv"));
        assert_eq!(header.join(","), "sequence,send_ns,receive_ns,k,first_sample_ms");
        for (i, r) in rows.iter().enumerate() {
            assert_eq!(r[0], i as f64);
            assert!(r[2] > r[1] - STAMP_ERROR_NS, "packet {i} came {} ns before it left", r[1] - r[2]);
        }
        let (header, rows) = csv(&format!("haptic_{channel}.csv"));
        assert_eq!(header.join(","), "index,capture_ns,receive_ns,display_ns");
        assert!(rows[0][1] >= 0.0 && rows[0][1] < 1e9);
        assert!(rows.iter().all(|r| r[2] > r[1] - STAMP_ERROR_NS));
        // Control is given samples no earlier than they come.
        assert!(rows.iter().all(|r| r[3] == -1.0 || r[3] > r[2] - STAMP_ERROR_NS));
        assert!(rows.iter().filter(|r| r[3] > 0.0).count() * 10 > rows.len() * 8);
        assert_eq!(csv(&format!("k_{channel}.csv")).0.join(","), "tick_ms,k,cause");
    }
    assert!(csv("audio_backward.csv").1.len() > 20 && csv("video_backward.csv").1.len() > 10);
}

/// Rows of a servo's file as (tick, at, incoming at, force, engagement).
fn servo(path: PathBuf) -> Vec<[f64; 5]> {
    let (header, rows) = table(path);
    let column = |name: &str| header.iter().position(|h| h == name).unwrap_or_else(|| panic!("no column {name}"));
    let force = column("force_x");
    let columns = [column("tick"), column("at_ns"), column("incoming_ns"), column("engagement")];
    rows.iter()
        .map(|r| {
            let norm = (r[force].powi(2) + r[force + 1].powi(2) + r[force + 2].powi(2)).sqrt();
            [r[columns[0]], r[columns[1]], r[columns[2]], norm, r[columns[3]]]
        })
        .collect()
}

/// What must hold at every tick of every run.
fn check_watchdog(rows: &[[f64; 5]]) {
    for r in rows {
        assert!(r[3] <= 3.31, "force beyond the clamp: {r:?}");
        if r[2] < 0.0 || r[1] - r[2] > 50e6 {
            assert_eq!(r[3], 0.0, "force without fresh samples: {r:?}");
        }
    }
}

#[test]
fn the_operators_coupling_holds_at_both_stations() {
    for coupling in [Coupling::PositionPosition, Coupling::Wave] {
        let dir = tempfile::tempdir().unwrap();
        let top = Station::start(top(dir.path())).unwrap();
        let op = op(dir.path(), top.ticket().unwrap());
        let op = Station::start(StationConfig { coupling, ..op }).unwrap();
        for station in [&op, &top] {
            wait_for(station, "connected", connected);
            wait_for(station, "coupled", |s| s.coupling == coupling.name() && has_line(s, coupling.name()));
        }
        wait_for(&top, "the slave touches", |s| s.haptic.contact.is_some_and(|c| norm(c) > 0.2));
        wait_for(&op, "the operator feels it", |s| norm(s.haptic.force) > 0.1 && s.haptic.engagement > 0.5);
    }
}

#[test]
fn a_killed_teleoperator_leaves_no_force_and_a_new_one_is_taken_up() {
    let dir = tempfile::tempdir().unwrap();
    let (op, top) = pair(dir.path());
    wait_for(&op, "force", |s| norm(s.haptic.force) > 0.2);
    let address = top.ticket().unwrap().address;
    // No goodbye: as a killed process.
    drop(top);
    wait_for(&op, "force off", |s| norm(s.haptic.force) == 0.0 && s.haptic.force_off.contains("stopped coming"));
    wait_for(&op, "the log says why", |s| has_line(s, "haptic samples have stopped coming"));
    wait_for(&op, "silence is noticed", |s| s.link == LinkState::Silent);
    let again = StationConfig { listen: Some(address), ..self::top(dir.path()) };
    let top = Station::start(again).unwrap();
    wait_for(&top, "a new teleoperator is found", connected);
    wait_for(&op, "operator goes on", |s| connected(s) && norm(s.haptic.force) > 0.2 && s.haptic.engagement >= 0.99);
    op.finish().unwrap();
    top.finish().unwrap();

    let rows = servo(dir.path().join("op/servo_op.csv"));
    check_watchdog(&rows);
    // Two engagements, each from zero.
    let starts = rows.windows(2).filter(|w| w[0][4] == 0.0 && w[1][4] > 0.0).count();
    assert!(starts >= 2, "{starts} engagements");
    assert!(rows.windows(2).all(|w| w[1][4] - w[0][4] < 0.2 || w[1][0] - w[0][0] > 50.0), "a jump of the ramp");
    check_watchdog(&servo(dir.path().join("top/servo_top.csv")));
}

#[test]
fn a_killed_operator_leaves_the_slave_without_force_and_may_return() {
    let dir = tempfile::tempdir().unwrap();
    let (op, top) = pair(dir.path());
    wait_for(&top, "force", |s| norm(s.haptic.force) > 0.2);
    drop(op);
    wait_for(&top, "force off", |s| norm(s.haptic.force) == 0.0 && s.haptic.force_off.contains("stopped coming"));
    let op = Station::start(self::op(dir.path(), top.ticket().unwrap())).unwrap();
    wait_for(&op, "connected anew", connected);
    wait_for(&top, "force again", |s| norm(s.haptic.force) > 0.2);
    wait_for(&op, "pictures again", |s| s.video.frames > 5);
    top.finish().unwrap();
    wait_for(&op, "goodbye", |s| s.link == LinkState::Left && norm(s.haptic.force) == 0.0);
    op.finish().unwrap();
    check_watchdog(&servo(dir.path().join("top/servo_top.csv")));
}

#[test]
fn the_control_service_shows_and_commands() {
    let dir = tempfile::tempdir().unwrap();
    let (op, top) = pair(dir.path());
    let socket = dir.path().join("op.sock");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = Client::connect(&socket).unwrap();
    let status = client.status().unwrap();
    assert!(status.is_operator && connected(&status));

    client.command(Command::EmergencyStop).unwrap();
    wait_for(&op, "stopped here", |s| s.haptic.stopped_here && norm(s.haptic.force) == 0.0);
    wait_for(&top, "stopped there", |s| s.haptic.stopped_there && norm(s.haptic.force) == 0.0);
    assert!(client.status().unwrap().haptic.force_off.contains("emergency stop"));
    client.command(Command::ReleaseStop).unwrap();
    wait_for(&top, "released", |s| !s.haptic.stopped_there && s.haptic.engagement > 0.0);

    client.command(Command::Scheme(Scheme::KMerge(3))).unwrap();
    wait_for(&top, "scheme there", |s| s.scheme == Some(Scheme::KMerge(3)) && s.backward.k == Some(3));
    wait_for(&op, "scheme here", |s| s.scheme == Some(Scheme::KMerge(3)) && s.forward.k == Some(3));

    // A second station does not take the socket away, a client that talks nonsense does not disturb.
    let refused = Station::start(self::op(dir.path(), top.ticket().unwrap())).err().unwrap();
    assert!(refused.to_string().contains("already served"), "{refused}");
    use std::io::{BufRead, Write};
    let mut raw = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    raw.write_all(b"hello\n").unwrap();
    let mut answer = String::new();
    std::io::BufReader::new(raw).read_line(&mut answer).unwrap();
    assert!(answer.contains("error") && answer.contains("not understood"), "{answer}");

    client.command(Command::Stop).unwrap();
    wait_for(&op, "told to end", |s| s.ended.is_some());
    assert_eq!(op.ended(), Some(Ended::Stopped));
    op.finish().unwrap();
    assert!(matches!(Client::connect(&socket), Err(CtlError::NoStation(_))));
    top.finish().unwrap();
}

#[test]
fn a_wrong_ticket_meets_silence_and_ends_with_a_clear_line() {
    let dir = tempfile::tempdir().unwrap();
    let top = Station::start(top(dir.path())).unwrap();
    let right = top.ticket().unwrap();
    let text = right.to_string();
    let last = if text.ends_with('0') { '1' } else { '0' };
    let wrong: Ticket = format!("{}{last}", &text[..text.len() - 1]).parse().unwrap();
    let op = Station::start(StationConfig { answer_timeout_s: 1.0, ..op(dir.path(), wrong) }).unwrap();
    wait_for(&op, "gives up", |s| s.ended.is_some());
    assert!(matches!(op.ended(), Some(Ended::Failed(_))));
    let error = op.finish().err().unwrap();
    assert!(matches!(error, SessionError::NoAnswer { .. }) && !error.is_usage());
    assert!(error.to_string().contains("ticket") && error.to_string().contains("no answer from 127.0.0.1"), "{error}");
    wait_for(&top, "the intruder is counted", |s| s.dropped.foreign > 0 && s.link == LinkState::Waiting);
    top.finish().unwrap();
}

#[test]
fn what_is_not_there_is_named_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("voice.wav");
    let cases = [
        (StationConfig { mic: format!("file:{}", missing.display()).parse().unwrap(), ..top(dir.path()) }, "voice.wav"),
        (
            StationConfig { camera: format!("file:{}", missing.display()).parse().unwrap(), ..top(dir.path()) },
            "voice.wav",
        ),
        (StationConfig { slave: "hid:1209:7e57:none".parse().unwrap(), ..top(dir.path()) }, "hid:1209:7e57:none"),
        (StationConfig { trace_dir: Some("/proc/trace".into()), ..top(dir.path()) }, "/proc/trace"),
    ];
    for (config, word) in cases {
        let error = Station::start(config).err().unwrap();
        let line = error.to_string();
        assert!(line.contains(word) && !line.contains('\n') && !error.is_usage(), "{line}");
    }
    let first = Station::start(top(dir.path())).unwrap();
    let address = first.ticket().unwrap().address;
    let second =
        StationConfig { listen: Some(address), control_socket: Some(dir.path().join("2.sock")), ..top(dir.path()) };
    let error = Station::start(second).err().unwrap();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    let broken = StationConfig { ticket_file: Some(dir.path().to_owned()), ..top(dir.path()) };
    assert!(Station::start(StationConfig { control_socket: Some(dir.path().join("3.sock")), ..broken }).is_err());
    first.finish().unwrap();
}
