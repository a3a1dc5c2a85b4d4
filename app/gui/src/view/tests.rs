//! Both windows without a display: what is written where, and which wish follows which key or click.

use egui::epaint::ClippedShape;
use egui::{Context, Event, Key, Modifiers, PointerButton, Pos2, RawInput, Rect, Shape, pos2, vec2};
use session::report::Verdict;
use session::{Command, LinkState, Scheme, Snapshot};

use super::{OperatorView, TeleoperatorView};
use crate::{preview, theme};

/// A window of 1280 x 800 points in a test's hand.
struct Window {
    ctx: Context,
    operator: OperatorView,
    teleoperator: TeleoperatorView,
    snapshot: Snapshot,
    time: f64,
    focused: bool,
    shapes: Vec<ClippedShape>,
    copied: Vec<String>,
}

impl Window {
    fn new(snapshot: Snapshot) -> Self {
        let ctx = Context::default();
        theme::install(&ctx);
        let (operator, teleoperator) = Default::default();
        let mut window = Window {
            ctx,
            operator,
            teleoperator,
            snapshot,
            time: 0.0,
            focused: true,
            shapes: Vec::new(),
            copied: Vec::new(),
        };
        window.pass(Vec::new());
        window.pass(Vec::new());
        window
    }

    fn pass(&mut self, events: Vec<Event>) -> Vec<Command> {
        self.time += 1.0 / 60.0;
        let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, vec2(1280.0, 800.0)));
        let input =
            RawInput { screen_rect, time: Some(self.time), focused: self.focused, events, ..RawInput::default() };
        let mut wishes = Vec::new();
        let ctx = self.ctx.clone();
        let output = ctx.run_ui(input, |ui| {
            wishes.extend(if self.snapshot.is_operator {
                self.operator.ui(ui, &self.snapshot, None)
            } else {
                self.teleoperator.ui(ui, &self.snapshot, None)
            });
        });
        self.shapes = output.shapes;
        for command in output.platform_output.commands {
            if let egui::OutputCommand::CopyText(text) = command {
                self.copied.push(text);
            }
        }
        wishes
    }

    /// All texts drawn, each with its place and the place that it may show in.
    fn texts(&self) -> Vec<(String, Rect, Rect)> {
        fn collect(shape: &Shape, clip: Rect, out: &mut Vec<(String, Rect, Rect)>) {
            match shape {
                Shape::Vec(shapes) => shapes.iter().for_each(|s| collect(s, clip, out)),
                Shape::Text(t) => {
                    let shown: String = t.galley.rows.iter().map(|row| row.text()).collect();
                    out.push((shown, t.galley.rect.translate(t.pos.to_vec2()), clip));
                }
                _ => {}
            }
        }
        let mut out = Vec::new();
        self.shapes.iter().for_each(|s| collect(&s.shape, s.clip_rect, &mut out));
        out
    }

    fn shows(&self, text: &str) -> bool {
        self.texts().iter().any(|(t, ..)| t.contains(text))
    }

    fn place(&self, text: &str) -> Rect {
        let texts = self.texts();
        texts.iter().find(|(t, ..)| t.contains(text)).unwrap_or_else(|| panic!("'{text}' is not shown")).1
    }

    /// Clicks on the middle of a text; what follows in the passes until the button is up again.
    fn click(&mut self, text: &str) -> Vec<Command> {
        let pos = self.place(text).center();
        let button =
            |pressed| Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE };
        let mut wishes = self.pass(vec![Event::PointerMoved(pos)]);
        wishes.extend(self.pass(vec![button(true)]));
        wishes.extend(self.pass(vec![button(false)]));
        wishes.extend(self.pass(Vec::new()));
        wishes
    }

    /// Presses a key, or lets it go.
    fn hold(&mut self, key: Key, pressed: bool) -> Vec<Command> {
        self.pass(vec![Event::Key { key, physical_key: None, pressed, repeat: false, modifiers: Modifiers::NONE }])
    }

    /// Presses a key, holds it long enough to repeat, releases it.
    fn key(&mut self, key: Key, modifiers: Modifiers) -> Vec<Command> {
        let event = |pressed| Event::Key { key, physical_key: None, pressed, repeat: false, modifiers };
        let mut wishes = self.pass(vec![event(true)]);
        wishes.extend(self.pass(vec![event(true)]));
        wishes.extend(self.pass(vec![event(false)]));
        wishes
    }
}

fn windows() -> [Window; 2] {
    [true, false].map(|is_operator| Window::new(preview::snapshot(is_operator)))
}

#[test]
fn every_value_that_the_issue_names_is_shown() {
    for window in windows() {
        for text in [
            "connected",
            "192.0.2.17:47000",
            "1:24",
            "39.3 ms",
            "±0.62 ms",
            "-11.8 ppm",
            "Scheme",
            "dpm",
            "Backward channel",
            "Forward channel",
            "k now",
            "haptic delay now",
            "22.4 ms",
            "16.9 ms",
            "within 30 ms",
            "jitter, last second",
            "0.34 ms",
            "0.08 ms",
            "haptic loss",
            "0.00 %",
            "812 kbit/s",
            "688 kbit/s",
            "haptic",
            "audio",
            "video",
            "pass",
            "unknown",
            "18.6 / 24.9",
            "37.8 / 46.0",
            "58.0 / 171",
            "16.8 / 19.2",
            "not carried on this channel",
            "Haptic delay, one way",
            "limit 30 ms",
            "Merge factor k",
            "-25 s",
            "now",
            "backward, full line",
            "forward, dashed",
            "Force on",
            "2.32 of 8.0 N",
            "100 %",
            "Position",
            "1.4 ms old",
            "84 300 ticks, 3 missed (0.004 %)",
            "p99 1.3",
            "real-time priority",
            "EMERGENCY STOP  (Space)",
            "k = 1",
            "k = 4",
            "Release stop",
            "2 104 frames",
            "3 skipped",
            "4 212 frames",
            "foreign 2",
            "duplicate 1",
            "backward channel steady",
            "Engage  (E)",
            "Device  (D)",
            "position-force",
            "sanity",
            "schedule",
            "passivity",
            "watchdogs",
            "dead-man",
            "-21 dBFS",
        ] {
            assert!(window.shows(text), "'{text}' missing; operator: {}", window.snapshot.is_operator);
        }
    }
}

#[test]
fn the_teleoperator_sees_slave_and_ticket() {
    let window = &windows()[1];
    for text in [
        "Slave device and force",
        "Desired position",
        "Actual position",
        "Contact force",
        "3.4 mm apart",
        "2.19 N",
        "192.0.2.17:47000/3f9a41c06d2be8577a10c4f2b95d8e63",
        "Copy ticket",
        "Operator",
        "192.0.2.17:47000 connected",
    ] {
        assert!(window.shows(text), "'{text}' missing");
    }
}

/// All texts stand within the window and their place, whole, and apart from each other.
fn assert_tidy(window: &Window) {
    let texts = window.texts();
    let screen = Rect::from_min_size(Pos2::ZERO, vec2(1280.0, 800.0));
    for (text, place, clip) in texts.iter().filter(|(t, ..)| !t.is_empty()) {
        assert!(screen.contains_rect(place.shrink(0.6)), "'{text}' at {place} leaves the window");
        assert!(clip.contains_rect(place.shrink(0.6)), "'{text}' at {place} is cut off by {clip}");
        assert!(!text.ends_with('…'), "'{text}' is shortened");
    }
    for (i, (a, place_a, _)) in texts.iter().enumerate() {
        for (b, place_b, _) in &texts[i + 1..] {
            let common = place_a.intersect(*place_b);
            let overlap = common.width().min(common.height());
            // Lines may share the room of their ascenders.
            assert!(overlap < 4.5, "'{a}' and '{b}' overlap by {overlap} points");
        }
    }
}

#[test]
fn nothing_is_cut_off_and_no_two_texts_overlap_at_1280_by_800() {
    for mut window in windows() {
        assert_tidy(&window);
        let haptic = &mut window.snapshot.haptic;
        (haptic.stopped_here, haptic.stopped_there) = (true, true);
        (haptic.position, haptic.force) = ([-0.1234, -0.1, -0.1], [-40.0, -30.0, 0.0]);
        (haptic.ticks, haptic.missed, haptic.late_us) = (36_000_000, 123_456, [140.2, 1934.7, 12_966.4]);
        let channel = &mut window.snapshot.backward;
        (channel.k, channel.delay_ms, channel.jitter_ms) = (Some(8), Some(163.8), Some(123.45));
        (channel.loss_percent, channel.kbps) = (Some(100.0), 1096.0);
        for report in [&mut channel.haptic, &mut channel.audio, &mut channel.video].into_iter().flatten() {
            (report.loss_percent, report.over_limit_percent) = (100.0, 100.0);
            report.delay_ms = report.delay_ms.map(|d| session::report::DelaySummary { p50: 234.5, p99: 2345.6, ..d });
        }
        for point in &mut channel.history {
            (point.k, point.delay_ms) = (8, 163.8);
        }
        window.pass(Vec::new());
        assert_tidy(&window);
        assert!(window.shows("k = 4") && window.shows("k = 8") && window.shows("120 ms"));
    }
}

#[test]
fn the_stop_key_stops_once_however_long_it_is_held() {
    for mut window in windows() {
        assert_eq!(window.key(Key::Space, Modifiers::NONE), [Command::EmergencyStop]);
        assert_eq!(window.key(Key::Space, Modifiers::SHIFT), [Command::EmergencyStop]);
        assert_eq!(window.key(Key::Enter, Modifiers::NONE), []);
        window.snapshot.ended = Some("peer said goodbye".into());
        assert_eq!(window.key(Key::Space, Modifiers::NONE), []);
    }
}

#[test]
fn the_stop_key_never_presses_a_focused_button() {
    let mut window = Window::new(preview::snapshot(true));
    window.snapshot.haptic.stopped_here = true;
    assert_eq!(window.click("Release stop"), [Command::ReleaseStop]);
    // Whichever widget the focus walks to, Space means stop.
    for _ in 0..8 {
        window.key(Key::Tab, Modifiers::NONE);
        assert_eq!(window.key(Key::Space, Modifiers::NONE), [Command::EmergencyStop]);
    }
}

#[test]
fn the_buttons_stop_and_release() {
    for mut window in windows() {
        assert_eq!(window.click("Release stop"), [], "nothing to release");
        assert_eq!(window.click("EMERGENCY STOP"), [Command::EmergencyStop]);
        window.snapshot.haptic.stopped_here = true;
        window.pass(Vec::new());
        assert!(window.shows("EMERGENCY STOP pressed here"));
        assert!(window.shows("emergency stop pressed here"));
        assert_eq!(window.click("STOPPED  (Space)"), [Command::EmergencyStop], "pressing again does no harm");
        assert_eq!(window.click("Release stop"), [Command::ReleaseStop]);
    }
}

#[test]
fn engaging_is_offered_when_the_force_waits_for_a_person_only() {
    for mut window in windows() {
        assert_eq!(window.key(Key::E, Modifiers::NONE), [], "nothing waits");
        assert_eq!(window.click("Engage  (E)"), []);
        window.snapshot.haptic.waits_for_user = true;
        window.pass(Vec::new());
        assert_eq!(window.click("Engage  (E)"), [Command::Engage]);
        assert_eq!(window.key(Key::E, Modifiers::NONE), [Command::Engage]);
        assert_eq!(window.key(Key::E, Modifiers::CTRL), [], "another key");
        window.snapshot.haptic.fault = "the haptic device has gone".into();
        window.pass(Vec::new());
        assert_eq!(window.key(Key::E, Modifiers::NONE), [], "not with a fault");
        assert_eq!(window.click("Engage  (E)"), []);
    }
}

#[test]
fn a_device_that_is_not_calibrated_shows_its_guide() {
    for mut window in windows() {
        assert_eq!(window.key(Key::C, Modifiers::NONE), [], "nothing to calibrate");
        let guides =
            [haptic_guide("put the arm into its reference pose, then press Calibrate"), haptic_guide(LONG_GUIDE)];
        for calibration in guides {
            window.snapshot.haptic.calibration = Some(calibration);
            window.snapshot.haptic.waits_for_user = true;
            window.pass(Vec::new());
            assert_tidy(&window);
            for text in ["Calibration", "axis 1 done", "axis 2 open", "axis 3 open"] {
                assert!(window.shows(text), "'{text}' missing");
            }
            assert_eq!(window.key(Key::E, Modifiers::NONE), [], "not before it is calibrated");
            assert_eq!(window.click("Calibrate  (C)"), [Command::Calibrate]);
            assert_eq!(window.key(Key::C, Modifiers::NONE), [Command::Calibrate]);
        }
    }
}

const LONG_GUIDE: &str = "pull the handle out as far as it goes, then push it in all the way, until all three axes are done; \
                          keep your other hand off the arms";

fn haptic_guide(text: &str) -> session::CalibrationSnapshot {
    session::CalibrationSnapshot { guide: text.into(), homed: [true, false, false] }
}

#[test]
fn the_dead_man_key_is_said_in_each_frame_and_its_release_at_once() {
    let mut window = Window::new(preview::snapshot(true));
    assert_eq!(window.hold(Key::F, true), [], "not in use");
    window.hold(Key::F, false);
    window.snapshot.haptic.dead_man = "key".into();
    assert_eq!(window.hold(Key::F, true), [Command::DeadMan(true)]);
    assert_eq!(window.pass(Vec::new()), [Command::DeadMan(true)]);
    assert_eq!(window.hold(Key::F, false), [Command::DeadMan(false)]);
    assert_eq!(window.pass(Vec::new()), []);
    // The keyboard goes elsewhere with the key held.
    assert_eq!(window.hold(Key::F, true), [Command::DeadMan(true)]);
    window.focused = false;
    assert_eq!(window.pass(vec![Event::WindowFocused(false)]), [Command::DeadMan(false)]);
    assert_eq!(window.pass(Vec::new()), []);
}

#[test]
fn the_page_of_the_device_opens_and_closes_by_key_and_button() {
    for mut window in windows() {
        let names = ["Haptic device", "Units", "Axes", "84 296 in all", "2.01 at most", "0.15 ms (p50)", "84 211 of"];
        assert!(!window.shows("Haptic device"));
        assert_eq!(window.key(Key::D, Modifiers::NONE), []);
        for text in names {
            assert!(window.shows(text), "'{text}' missing");
        }
        assert_tidy(&window);
        window.click("Set mark here");
        window.snapshot.haptic.position[0] += 0.1;
        window.pass(Vec::new());
        assert!(window.shows("100.0 mm"), "a tenth of a metre from the mark");
        assert!(window.shows("x grows, as it should"));
        window.snapshot.haptic.position[1] -= 0.03;
        window.pass(Vec::new());
        assert!(window.shows("-y grows instead of y") && window.shows("use no force with it"));
        assert_tidy(&window);
        window.click("Check again");
        assert!(!window.shows("use no force with it"));
        window.click("Close  (D)");
        assert!(!window.shows("Haptic device") && window.shows("Merge factor k"));
        window.click("Device  (D)");
        window.pass(Vec::new());
        assert!(window.shows("Haptic device"));
        window.key(Key::Escape, Modifiers::NONE);
        assert!(!window.shows("Haptic device"));
    }
}

#[test]
fn the_safety_chain_and_the_level_tell_what_they_do() {
    let mut window = Window::new(preview::snapshot(true));
    let place = window.place("schedule");
    window.pass(vec![Event::PointerMoved(place.center())]);
    for _ in 0..60 {
        window.pass(Vec::new());
    }
    for text in ["gain schedule: limits the force", "0.62 of 1, acted 1 times"] {
        assert!(window.shows(text), "'{text}' missing");
    }
    assert!(window.shows("headset"));
    window.snapshot.audio.level = Some(session::SoundLevel { rms_dbfs: -1.0, peak_dbfs: 0.0, clipped: true });
    window.pass(Vec::new());
    assert!(window.shows("too loud"));
    window.snapshot.audio.level = None;
    window.pass(Vec::new());
    assert!(window.shows("no sound"));
}

#[test]
fn a_device_without_force_is_labelled() {
    let mut window = Window::new(preview::snapshot(true));
    window.snapshot.haptic.shows_force = false;
    window.pass(Vec::new());
    assert!(window.shows("No force") && window.shows("an input device"));
}

#[test]
fn a_scheme_is_chosen_from_the_list() {
    let all = [Scheme::NoMerge, Scheme::KMerge(2), Scheme::DpmHoldUp, Scheme::Weber, Scheme::Hoip];
    for scheme in all {
        let mut window = Window::new(preview::snapshot(true));
        assert_eq!(window.click("dpm"), []);
        // The list needs a pass to find its size.
        window.pass(Vec::new());
        window.pass(Vec::new());
        assert_eq!(window.click(&scheme.to_string()), [Command::Scheme(scheme)]);
    }
}

#[test]
fn the_ticket_is_copied() {
    let mut window = Window::new(preview::snapshot(false));
    assert_eq!(window.click("Copy ticket"), []);
    assert_eq!(window.copied, ["192.0.2.17:47000/3f9a41c06d2be8577a10c4f2b95d8e63"]);
    assert!(window.shows("Copied"));
    window.time += 5.0;
    window.pass(Vec::new());
    assert!(window.shows("Copy ticket"));
}

#[test]
fn trouble_is_told_in_words() {
    let mut snapshot = preview::snapshot(true);
    snapshot.link = LinkState::Silent;
    snapshot.haptic.engagement = 0.0;
    snapshot.haptic.force_off = "no valid sample for 50 ms".into();
    snapshot.backward.delay_ms = Some(104.2);
    snapshot.video.fault = "camera 0 was unplugged".into();
    if let Some(haptic) = &mut snapshot.backward.haptic {
        haptic.verdict = Verdict::Fail;
        haptic.loss_percent = 14.2;
    }
    let mut window = Window::new(snapshot);
    for text in ["peer silent", "Force off", "no valid sample for 50 ms", "over 30 ms", "fail", "14.20", "camera 0 was"]
    {
        assert!(window.shows(text), "'{text}' missing");
    }
    window.snapshot.ended = Some("the peer said goodbye".into());
    window.pass(Vec::new());
    assert!(window.shows("The station has ended: the peer said goodbye"));
}

#[test]
fn an_empty_and_an_absurd_snapshot_can_be_drawn() {
    for is_operator in [true, false] {
        let mut window = Window::new(Snapshot { is_operator, ..Snapshot::default() });
        for text in ["nothing measured yet", "unknown", "no picture yet", "not known yet", "nothing has happened yet"] {
            assert!(window.shows(text), "'{text}' missing");
        }
        let mut absurd = preview::snapshot(is_operator);
        absurd.uptime_s = f64::NAN;
        absurd.rtt_ms = Some(f64::INFINITY);
        absurd.backward.delay_ms = Some(f64::NEG_INFINITY);
        absurd.haptic.force = [f32::NAN; 3];
        absurd.haptic.max_force = 0.0;
        absurd.haptic.engagement = f32::NAN;
        absurd.haptic.device = "x".repeat(4000);
        absurd.log = vec!["y".repeat(4000); 500];
        absurd.peer = "z".repeat(300);
        for point in &mut absurd.backward.history {
            *point = session::HistoryPoint { at_s: point.at_s, k: 255, delay_ms: f32::MAX };
        }
        for point in &mut absurd.forward.history {
            (point.k, point.delay_ms) = (0, f32::NAN);
        }
        window.snapshot = absurd;
        window.pass(Vec::new());
        window.pass(vec![Event::PointerMoved(pos2(600.0, 770.0))]);
        assert!(window.shows("EMERGENCY STOP"));
    }
}

#[test]
fn a_small_window_still_has_the_stop_button() {
    let mut window = Window::new(preview::snapshot(false));
    let ctx = window.ctx.clone();
    for size in [vec2(1100.0, 720.0), vec2(400.0, 300.0), vec2(20.0, 20.0)] {
        let input = RawInput { screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)), ..RawInput::default() };
        let output = ctx.run_ui(input, |ui| {
            window.teleoperator.ui(ui, &window.snapshot, None);
        });
        window.shapes = output.shapes;
        assert!(window.shows("EMERGENCY STOP"));
        if size.x > 1000.0 {
            let place = window.place("EMERGENCY STOP");
            assert!(Rect::from_min_size(Pos2::ZERO, size).contains_rect(place));
        }
    }
}
