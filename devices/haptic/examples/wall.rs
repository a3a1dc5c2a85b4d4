//! Feel a wall with any haptic device: the shortest program that uses device, ticker and safety, to bring up hardware.
//!
//! `wall [SPEC] [SECONDS]`: SPEC as in `telehaptic op --master` (default sim), 10 seconds. The wall faces the user 10 mm
//! behind the origin, 300 N/m. Prints a line a second and how punctual the servo was.

use std::process::ExitCode;

use media::{Duration, Force, Instant};
use telehaptic_haptic::{
    ControlConfig, DeviceSpec, Gate, Hand, HandConfig, HandScript, Master, Received, SimConfig, SimDevice, Ticker, list,
};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let spec = args.next().unwrap_or_else(|| "sim".into());
    let seconds = args.next().and_then(|s| s.parse().ok()).unwrap_or(10);
    match run(&spec, seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(spec: &str, seconds: u64) -> Result<(), String> {
    for found in list() {
        let state = found.problem.unwrap_or_else(|| "usable".into());
        println!("found {} {:?} {} haptic: {} - {state}", found.spec, found.name, found.node, found.haptic);
    }
    let spec: DeviceSpec = spec.parse().map_err(|e| format!("{e}"))?;
    let epoch_ns = monotonic_ns();
    let clock = move || Instant::from_nanos(u64::try_from(monotonic_ns() - epoch_ns).unwrap_or(0));
    let held = || {
        let hand = Hand::scripted(HandConfig::default(), HandScript::default());
        SimDevice::held(SimConfig::default(), hand, clock())
    };
    let shared: telehaptic_haptic::DeviceClock = std::sync::Arc::new(clock);
    let mut device = spec.open(&shared, held).map_err(|e| format!("{e}"))?;
    let config = ControlConfig { force_scale: 1.0, ..ControlConfig::default() };
    let mut master = Master::new(config, device.info(), clock());
    let mut ticker = Ticker::start(Duration::from_millis(1), clock, epoch_ns);
    println!("{}, {}", device.info().name, ticker.realtime());
    let mut force = Force::ZERO;
    for _ in 0..seconds {
        let mut written = Ok(());
        let mut out = None;
        let mut state = device.read(clock());
        for _ in 0..1000 {
            let now = ticker.wait().now;
            state = device.read(now);
            if let Some(arrival) = device.arrival() {
                ticker.follow(now, arrival);
            }
            let step = master.step(now, &state, Some(Received { value: force.into(), at: now }), Gate::OPEN);
            written = device.write(now, step.force);
            let depth = -0.01 - step.motion.position.0.0[2];
            force = Force::new(0.0, 0.0, (300.0 * depth).max(0.0));
            out = Some(step);
        }
        let Some(out) = out else { break };
        let [x, y, z] = out.motion.position.0.0.map(|c| c * 1e3);
        let why = out.status.reason.map(|r| r.to_string()).unwrap_or_default();
        println!("{x:7.2} {y:7.2} {z:7.2} mm {:6.3} N {why}", out.force.0.0[2]);
        for error in [state.err(), written.err()].into_iter().flatten() {
            println!("{error}");
        }
    }
    let [p50, p99, max] = ticker.lateness().summary_us();
    println!("late p50 {p50} p99 {p99} max {max} us, missed {}", ticker.lateness().missed());
    println!("{}", device.describe());
    Ok(())
}

/// CLOCK_MONOTONIC now, ns.
fn monotonic_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
