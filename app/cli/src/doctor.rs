//! `doctor`: what this machine needs for a session, and how to mend what is missing.

use std::time::Duration;

use haptic::Ticker;
use udp::{Clock, Socket};

use crate::access;
use crate::failure::Failure;
use crate::output::Voice;

/// How a check came out.
enum Finding {
    Ok(String),
    Warn(String),
    Fail(String),
}

use Finding::{Fail, Ok as Fine, Warn};

/// Runs all checks; fails if one of them does.
pub fn run() -> Result<(), Failure> {
    let (priority, timer) = servo();
    let checks = [
        ("real-time priority", priority),
        ("1 kHz timer", timer),
        ("receive buffer", receive_buffer()),
        ("UDP port 47000", port()),
        ("haptic devices", haptic_devices()),
        ("cameras", cameras()),
        ("sound", sound()),
        ("display", display()),
    ];
    let voice = Voice::stdout();
    let mut failed = 0;
    for (name, finding) in &checks {
        let (word, text) = match finding {
            Fine(text) => ("ok  ", text),
            Warn(text) => ("warn", text),
            Fail(text) => {
                failed += 1;
                ("FAIL", text)
            }
        };
        voice.line(&format!("{word}  {name}: {text}"));
    }
    if failed == 0 { Ok(()) } else { Err(Failure::Failed(format!("{failed} of {} checks failed", checks.len()))) }
}

/// A second of the servo's beat on a thread of its own.
fn servo() -> (Finding, Finding) {
    let beat = std::thread::spawn(|| {
        let clock = Clock::start();
        let mut ticker = Ticker::start(Duration::from_millis(1), move || clock.now(), clock.epoch_ns());
        let mut missed = 0;
        for _ in 0..1_000 {
            missed += ticker.wait().missed;
        }
        (ticker.realtime().to_string(), missed, ticker.lateness().summary_us())
    });
    let Ok((realtime, missed, [p50, p99, max])) = beat.join() else {
        return (Fail("the servo's thread broke down".into()), Fail("not measured".into()));
    };
    let priority = if realtime.starts_with("real-time") {
        Fine("SCHED_FIFO is granted".into())
    } else {
        Warn(format!("{realtime}; run as root, or: setcap cap_sys_nice+ep on the program"))
    };
    let text = format!("late p50 {p50:.0} p99 {p99:.0} max {max:.0} us, {missed} of 1000 ticks missed");
    let timer = match (missed, p99 < 500.0) {
        (0, true) => Fine(text),
        (0..=10, _) => Warn(format!("{text}; end other programs, and see real-time priority")),
        _ => Fail(format!("{text}; this machine is too busy or its timers too coarse for 1 kHz")),
    };
    (priority, timer)
}

fn receive_buffer() -> Finding {
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    match Socket::bind(any, Clock::start()) {
        Ok(socket) if socket.receive_buffer() >= 1 << 20 => Fine(format!("{} KiB", socket.receive_buffer() / 1024)),
        Ok(socket) => Warn(format!(
            "{} KiB; sysctl -w net.core.rmem_max=4194304 gives room for a second of traffic",
            socket.receive_buffer() / 1024
        )),
        Err(error) => Fail(error.to_string()),
    }
}

fn port() -> Finding {
    let address = std::net::SocketAddr::from(([0, 0, 0, 0], session::DEFAULT_PORT));
    match Socket::bind(address, Clock::start()) {
        Ok(_) => Fine("free".into()),
        Err(error) => Warn(format!("{error} (a teleoperator may be running; --listen takes another)")),
    }
}

fn haptic_devices() -> Finding {
    let found = haptic::list();
    let usable = found.iter().filter(|d| d.problem.is_none()).count();
    match found.iter().filter(|d| d.telehaptic).find_map(|d| d.problem.clone()) {
        Some(problem) => Fail(problem),
        None if usable > 0 => Fine(format!("{usable} ready; `telehaptic devices` lists them")),
        None => Warn("none; simulated ones work everywhere".into()),
    }
}

fn cameras() -> Finding {
    if let Some(problem) = access::CAMERAS.problem() {
        return Fail(problem);
    }
    match video::list() {
        Ok(list) if list.is_empty() => Warn("none; --camera scene works everywhere".into()),
        Ok(list) => Fine(format!("{} found; `telehaptic devices` lists them", list.len())),
        Err(error) => Warn(error.to_string()),
    }
}

fn sound() -> Finding {
    if let Some(problem) = access::SOUND.problem() {
        return Fail(problem);
    }
    let found = audio::list();
    if found.is_empty() {
        return Warn("no microphone and no speaker; --mic file:PATH and --speaker none work everywhere".into());
    }
    Fine(format!("{} devices; `telehaptic devices` lists them", found.len()))
}

fn display() -> Finding {
    match gui::check_display() {
        Ok(()) => Fine("found".into()),
        Err(error) => Warn(error.to_string()),
    }
}
