//! `top` and `op`: one station, with its window or without.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gui::Options as Window;
use media::Role;
use session::{Command, Station, StationConfig};

use crate::failure::Failure;
use crate::options::{OpArgs, StationArgs, TopArgs};
use crate::{output, signal};

/// How often a run looks for its end.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the teleoperator.
pub fn top(args: &TopArgs) -> Result<(), Failure> {
    run(args.config()?, &args.station)
}

/// Runs the operator.
pub fn op(args: &OpArgs) -> Result<(), Failure> {
    run(args.config()?, &args.station)
}

fn run(mut config: StationConfig, args: &StationArgs) -> Result<(), Failure> {
    signal::watch();
    output::check_writable(args.run.report.as_deref())?;
    let role = config.role;
    if !args.run.headless {
        gui::check_display().map_err(Failure::failed)?;
        if role == Role::Op {
            // At a window the person decides how long to wait.
            config.answer_timeout_s = 0.0;
        }
    }
    let station = Station::start(config)?;
    let voice = output::Voice::beside(args.run.report.as_deref());
    if let Some(ticket) = station.ticket() {
        voice.line(&format!("ticket: {ticket}"));
    }
    let shown = if args.run.headless { watch(&station, args, &voice) } else { show(&station, args) };
    let outcome = station.finish()?;
    shown?;
    if let Some(path) = &args.run.report {
        output::write_json(path, &outcome.report)?;
    }
    if args.run.headless {
        voice.line(output::table(&outcome.report).trim_end());
    }
    if args.run.assert_qos { output::assert_qos(&outcome.report) } else { Ok(()) }
}

/// Without a window: a status line a second until the end.
fn watch(station: &Station, args: &StationArgs, voice: &output::Voice) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut next_line = begin + Duration::from_secs(1);
    while !over(station, args, begin) {
        std::thread::sleep(LOOK);
        if Instant::now() >= next_line {
            next_line += Duration::from_secs(1);
            voice.line(&output::status(&station.snapshot()));
        }
    }
    Ok(())
}

/// With a window, on this thread, and a second one that watches for the end of the run.
fn show(station: &Station, args: &StationArgs) -> Result<(), Failure> {
    let begin = Instant::now();
    let closed = AtomicBool::new(false);
    // A run that ends by the clock or a signal takes its window with it; a station that failed leaves it to say why.
    let close = Arc::new(AtomicBool::new(args.run.seconds.is_some()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !closed.load(Ordering::Acquire) && !over(station, args, begin) {
                std::thread::sleep(LOOK);
            }
            close.fetch_or(signal::ending(), Ordering::AcqRel);
            station.command(Command::Stop);
        });
        let options = Window {
            position: args.window_at,
            screenshot: args.screenshot.as_deref().map(|p: &Path| (p.to_owned(), args.screenshot_after)),
            close_when_ended: close.clone(),
        };
        let done = match station.role() {
            Role::Op => gui::run_operator(station, options),
            Role::Top => gui::run_teleoperator(station, options),
        };
        closed.store(true, Ordering::Release);
        if let Some(path) = args.screenshot.as_deref().filter(|p| !p.exists()) {
            let after = args.screenshot_after;
            tracing::warn!("no screenshot {}: the window was open for less than {after} s", path.display());
        }
        done.map_err(Failure::failed)
    })
}

fn over(station: &Station, args: &StationArgs, begin: Instant) -> bool {
    let timed_out = args.run.seconds.is_some_and(|s| begin.elapsed() >= Duration::from_secs_f64(s));
    timed_out || signal::ending() || station.ended().is_some()
}
