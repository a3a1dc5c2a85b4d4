//! `emulate`: the live emulator as a process of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use udp::{Clock, Emulator};

use crate::failure::Failure;
use crate::options::{EmulateArgs, scenario};
use crate::{output, signal};

/// Real-time priority of the emulator: above the stations', since what it is late falls on both.
const PRIORITY: i32 = 60;

/// Runs the emulator until the time is over or it is told to end.
pub fn run(args: &EmulateArgs) -> Result<(), Failure> {
    signal::watch();
    let network = scenario(&args.scenario)?;
    output::check_writable(args.report.as_deref())?;
    let mut emulator =
        Emulator::bind(args.listen, args.to, network, args.seed, Clock::start()).map_err(Failure::failed)?;
    let voice = output::Voice::beside(args.report.as_deref());
    voice.line(&format!("listening: {}", emulator.local_addr()));
    let stop = AtomicBool::new(false);
    let waker = emulator.waker();
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            if let Err(error) = udp::raise_priority(PRIORITY) {
                tracing::warn!("the emulator runs without real-time priority ({error}): delays will be less exact");
            }
            let done = emulator.run(&stop);
            stop.store(true, Ordering::Release);
            done
        });
        let begin = Instant::now();
        let over = || args.seconds.is_some_and(|s| begin.elapsed() >= Duration::from_secs_f64(s));
        while !over() && !signal::ending() && !stop.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Release);
        waker.wake();
        worker.join()
    });
    done.map_err(|_| Failure::failed("the emulator's thread broke down"))?.map_err(Failure::failed)?;
    if let Some(path) = &args.report {
        output::write_json(path, &emulator.report())?;
    }
    Ok(())
}
