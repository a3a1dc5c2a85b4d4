//! What the facts about a machine mean for a session: no system call here, so that every machine can be tried.

use audio::DeviceKind;
use media::Role;

/// How a check came out, with what was found or the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// As it should be.
    Ok(String),
    /// A session runs, but may not run well.
    Warn(String),
    /// Part of a session is missing.
    Fail(String),
}

use Finding::{Fail, Ok as Fine, Warn};

/// What was found out about this machine.
#[derive(Clone, Debug)]
pub struct Facts {
    /// A second of the servo's beat, or why there is none.
    pub beat: Result<Beat, String>,
    /// Bytes of a socket's receive buffer.
    pub receive_buffer: Result<usize, String>,
    /// The teleoperator's usual port is free.
    pub port: Result<(), String>,
    /// HID devices.
    pub haptic: Vec<haptic::FoundDevice>,
    /// Cameras.
    pub cameras: Nodes,
    /// Microphones and speakers.
    pub sound: Vec<audio::FoundDevice>,
    /// Sound cards that this user may not open, and the remedy.
    pub forbidden_sound: Option<String>,
    /// Controls that let nothing through.
    pub muted: Vec<audio::Muted>,
    /// There is a display that answers.
    pub display: Result<(), String>,
}

/// A second of the servo's beat.
#[derive(Clone, Debug)]
pub struct Beat {
    /// Whether the thread got real-time priority, in words.
    pub realtime: String,
    /// Of 1000 ticks.
    pub missed: u64,
    /// Lateness: median, 99th percentile, longest.
    pub late_us: [f64; 3],
}

/// Devices of a kind.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// Names, each with its problem.
    pub found: Vec<(String, Option<String>)>,
    /// Those that this user may not open, and the remedy.
    pub forbidden: Option<String>,
}

/// What the machine is to be used for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Windows are opened.
    pub window: bool,
    /// Real devices are used.
    pub devices: bool,
    /// Only this station runs here; otherwise either may.
    pub station: Option<Role>,
}

impl Wanted {
    fn here(&self, role: Role) -> bool {
        self.station.is_none_or(|station| station == role)
    }
}

/// All checks: item and finding, in the order in which they are printed.
pub fn findings(facts: &Facts, wanted: Wanted) -> Vec<(&'static str, Finding)> {
    let mut found = vec![
        ("real-time priority", priority(&facts.beat)),
        ("1 kHz timer", timer(&facts.beat)),
        ("receive buffer", receive_buffer(&facts.receive_buffer)),
    ];
    if wanted.here(Role::Top) {
        found.push(("UDP port 47000", port(&facts.port)));
    }
    if wanted.devices {
        found.push(("haptic device", haptic_device(&facts.haptic)));
        if wanted.here(Role::Top) {
            found.push(("camera", camera(&facts.cameras)));
            found.push(("microphone", sound(facts, DeviceKind::Microphone)));
        }
        if wanted.here(Role::Op) {
            found.push(("speaker", sound(facts, DeviceKind::Speaker)));
        }
    }
    if wanted.window {
        found.push(("display", facts.display.clone().map_or_else(Fail, |()| Fine("answers".into()))));
    }
    found
}

fn priority(beat: &Result<Beat, String>) -> Finding {
    match beat {
        Ok(Beat { realtime, .. }) if realtime.starts_with("real-time") => Fine("SCHED_FIFO is granted".into()),
        Ok(Beat { realtime, .. }) => {
            Warn(format!("{realtime}; run as root, or: sudo setcap cap_sys_nice+ep on the program"))
        }
        Err(reason) => Fail(reason.clone()),
    }
}

fn timer(beat: &Result<Beat, String>) -> Finding {
    let Ok(Beat { missed, late_us: [p50, p99, max], .. }) = beat else { return Fail("not measured".into()) };
    let text = format!("late p50 {p50:.0} p99 {p99:.0} max {max:.0} us, {missed} of 1000 ticks missed");
    match (missed, *p99 < 500.0) {
        (0, true) => Fine(text),
        (0..=10, _) => Warn(format!("{text}; end other programs, and see real-time priority")),
        _ => Fail(format!("{text}; this machine is too busy or its timers too coarse for 1 kHz")),
    }
}

fn receive_buffer(bytes: &Result<usize, String>) -> Finding {
    match bytes {
        Ok(bytes) if *bytes >= 1 << 20 => Fine(format!("{} KiB", bytes / 1024)),
        Ok(bytes) => Warn(format!(
            "{} KiB; sudo sysctl -w net.core.rmem_max=4194304 gives room for a second of traffic",
            bytes / 1024
        )),
        Err(reason) => Fail(reason.clone()),
    }
}

fn port(free: &Result<(), String>) -> Finding {
    match free {
        Ok(()) => Fine("free".into()),
        Err(reason) => Warn(format!("{reason} (a teleoperator may be running; --listen takes another)")),
    }
}

/// Of several devices the usable ones count: one that is not ours stands in nobody's way.
fn of_several(ready: &[&str], problems: &[&str], none: &str) -> Finding {
    match (ready, problems) {
        ([], []) => Fail(none.into()),
        ([], problems) => Fail(problems.join("; ")),
        (ready, []) => Fine(ready.join(", ")),
        (ready, problems) => Warn(format!("{}; but {}", ready.join(", "), problems.join("; "))),
    }
}

fn haptic_device(found: &[haptic::FoundDevice]) -> Finding {
    // A keyboard is no haptic device with a problem.
    let ours: Vec<_> = found.iter().filter(|d| d.haptic).collect();
    let ready: Vec<&str> = ours.iter().filter(|d| d.problem.is_none()).map(|d| d.spec.as_str()).collect();
    let problems: Vec<&str> = ours.iter().filter_map(|d| d.problem.as_deref()).collect();
    of_several(&ready, &problems, "none: plug one in; --master sim and --slave sim need none")
}

fn camera(cameras: &Nodes) -> Finding {
    let found = &cameras.found;
    let ready: Vec<&str> =
        found.iter().filter(|(_, problem)| problem.is_none()).map(|(name, _)| name.as_str()).collect();
    let mut problems: Vec<&str> = found.iter().filter_map(|(_, problem)| problem.as_deref()).collect();
    match cameras.forbidden.as_deref() {
        // What may not be opened is the cause of what else is wrong.
        Some(forbidden) if ready.is_empty() => problems = vec![forbidden],
        Some(forbidden) => problems.push(forbidden),
        None => {}
    }
    of_several(&ready, &problems, "none: plug one in; --camera scene and --camera pattern need none")
}

fn sound(facts: &Facts, kind: DeviceKind) -> Finding {
    let of_kind = || facts.sound.iter().filter(|d| d.kind == kind);
    let ready: Vec<&str> = of_kind().filter(|d| d.problem.is_none()).map(|d| d.name.as_str()).collect();
    let told = |d: &audio::FoundDevice| Some(format!("{}: {}", d.name, d.problem.as_ref()?));
    let told: Vec<String> = of_kind().filter_map(told).collect();
    let mut problems: Vec<&str> = told.iter().map(String::as_str).collect();
    if ready.is_empty()
        && let Some(forbidden) = facts.forbidden_sound.as_deref()
    {
        problems = vec![forbidden];
    }
    let muted: Vec<&str> = facts.muted.iter().filter(|m| m.kind == kind).map(|m| m.text.as_str()).collect();
    if !ready.is_empty() && !muted.is_empty() {
        return Fail(format!("muted: {}", muted.join("; ")));
    }
    let none = match kind {
        DeviceKind::Microphone => "none: plug one in; --mic silence and --mic file:PATH need none",
        DeviceKind::Speaker => "none: plug a headset in; --speaker none and --speaker file:PATH need none",
    };
    of_several(&ready, &problems, none)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Wanted = Wanted { window: true, devices: true, station: None };

    fn hid(haptic: bool, problem: Option<&str>) -> haptic::FoundDevice {
        haptic::FoundDevice {
            spec: "hid:1209:7e57".into(),
            name: "a device".into(),
            vendor: 0x1209,
            product: 0x7e57,
            serial: String::new(),
            node: "/dev/hidraw0".into(),
            haptic,
            problem: problem.map(str::to_owned),
        }
    }

    fn card(kind: DeviceKind, problem: Option<&str>) -> audio::FoundDevice {
        audio::FoundDevice {
            name: "hw:CARD=PCH,DEV=0".into(),
            kind,
            detail: "a card".into(),
            is_default: true,
            ability: "48000 Hz, 2 channels".into(),
            problem: problem.map(str::to_owned),
        }
    }

    fn good() -> Facts {
        Facts {
            beat: Ok(Beat { realtime: "real-time priority 80".into(), missed: 0, late_us: [9.0, 60.0, 200.0] }),
            receive_buffer: Ok(4 << 20),
            port: Ok(()),
            haptic: vec![hid(true, None), hid(false, Some("a keyboard"))],
            cameras: Nodes { found: vec![("webcam".into(), None)], forbidden: None },
            sound: vec![card(DeviceKind::Microphone, None), card(DeviceKind::Speaker, None)],
            forbidden_sound: None,
            muted: Vec::new(),
            display: Ok(()),
        }
    }

    fn failed(facts: &Facts, wanted: Wanted) -> Vec<(&'static str, String)> {
        let failed = findings(facts, wanted).into_iter();
        failed.filter_map(|(item, f)| if let Fail(text) = f { Some((item, text)) } else { None }).collect()
    }

    #[test]
    fn a_good_machine_has_nothing_to_mend() {
        for (item, finding) in findings(&good(), BOTH) {
            assert!(matches!(finding, Fine(_)), "{item}: {finding:?}");
        }
        assert_eq!(findings(&good(), BOTH).len(), 9);
    }

    /// One thing is wrong: this item fails, no other, and the remedy is in the line.
    #[test]
    fn each_fault_fails_its_own_item_and_tells_the_remedy() {
        type Spoil = fn(&mut Facts);
        let cases: [(&str, &str, Spoil); 13] = [
            ("haptic device", "plug one in", |f| f.haptic.clear()),
            ("haptic device", "plug one in", |f| f.haptic = vec![hid(false, Some("a keyboard"))]),
            ("haptic device", "no permission", |f| f.haptic = vec![hid(true, Some("no permission for it: ..."))]),
            ("camera", "plug one in", |f| f.cameras.found.clear()),
            ("camera", "usermod", |f| {
                f.cameras =
                    Nodes { found: vec![("webcam".into(), Some("cannot".into()))], forbidden: Some("usermod".into()) };
            }),
            ("camera", "in use", |f| f.cameras.found = vec![("webcam".into(), Some("in use".into()))]),
            ("microphone", "plug one in", |f| f.sound.retain(|d| d.kind == DeviceKind::Speaker)),
            ("speaker", "headset", |f| f.sound.retain(|d| d.kind == DeviceKind::Microphone)),
            ("speaker", "busy", |f| f.sound[1] = card(DeviceKind::Speaker, Some("busy"))),
            ("speaker", "amixer", |f| {
                f.muted = vec![audio::Muted { kind: DeviceKind::Speaker, text: "amixer sset".into() }];
            }),
            ("microphone", "amixer", |f| {
                f.muted = vec![audio::Muted { kind: DeviceKind::Microphone, text: "amixer sset".into() }];
            }),
            ("display", "no display", |f| f.display = Err("no display".into())),
            ("1 kHz timer", "too busy", |f| f.beat.as_mut().unwrap().missed = 11),
        ];
        for (number, (item, remedy, spoil)) in cases.into_iter().enumerate() {
            let mut facts = good();
            spoil(&mut facts);
            let failed = failed(&facts, BOTH);
            assert_eq!(failed.iter().map(|(item, _)| *item).collect::<Vec<_>>(), [item], "case {number}");
            assert!(failed[0].1.contains(remedy), "case {number}: {}", failed[0].1);
        }
    }

    #[test]
    fn everything_wrong_at_once_is_told_item_by_item() {
        let nothing = Facts {
            haptic: Vec::new(),
            cameras: Nodes { found: Vec::new(), forbidden: Some("group video".into()) },
            sound: Vec::new(),
            forbidden_sound: Some("group audio".into()),
            display: Err("no display".into()),
            ..good()
        };
        let items: Vec<_> = failed(&nothing, BOTH).into_iter().map(|(item, _)| item).collect();
        assert_eq!(items, ["haptic device", "camera", "microphone", "speaker", "display"]);
        // What is not wanted is not missed.
        assert!(failed(&nothing, Wanted { window: false, devices: false, station: None }).is_empty());
        let op = Wanted { station: Some(Role::Op), ..BOTH };
        let items: Vec<_> = failed(&nothing, op).into_iter().map(|(item, _)| item).collect();
        assert_eq!(items, ["haptic device", "speaker", "display"]);
    }

    /// A session runs, not as well as it could.
    #[test]
    fn lesser_troubles_warn() {
        let mut facts = good();
        facts.beat = Ok(Beat { realtime: "no real-time priority".into(), missed: 3, late_us: [9.0, 900.0, 3e3] });
        facts.receive_buffer = Ok(212_992);
        facts.port = Err("in use".into());
        facts.haptic.push(hid(true, Some("no permission")));
        facts.cameras.found.push(("other".into(), Some("in use".into())));
        let warned = findings(&facts, BOTH).into_iter().filter(|(_, f)| matches!(f, Warn(_))).count();
        assert_eq!((warned, failed(&facts, BOTH).len()), (6, 0));
    }
}
