//! What every device keeps, real ones and the one that fails on purpose included, and what control around it keeps. One
//! suite for all: HID devices of each model are played over a cable without threads.

use media::{Duration, Force, Instant};

use crate::hid_device::played::Played;
use crate::{
    Calibration, ControlConfig, DeviceError, FaultConfig, FaultyDevice, Gate, Hand, HandConfig, HandScript,
    HapticDevice, Master, Received, ReplayDevice, SimConfig, SimDevice,
};

const START: Instant = Instant::from_millis(4_000);

fn held() -> SimDevice {
    SimDevice::held(SimConfig::default(), Hand::scripted(HandConfig::default(), HandScript::default()), START)
}

fn faults() -> FaultConfig {
    FaultConfig {
        not_finite: 0.01,
        absurd: 0.01,
        stale: 0.02,
        write_error: 0.01,
        lost: 0.0003,
        lost_for: Duration::from_millis(120),
    }
}

/// Figures of a run, so that a test can ask whether what it is about has happened at all.
#[derive(Default)]
struct Seen {
    errors: u64,
    invalid: u64,
    shown: u64,
    last: Option<DeviceError>,
}

/// Ten seconds of control around `device` with a peer that asks for 2 N.
fn contract(device: &mut dyn HapticDevice) -> Seen {
    let info = device.info().clone();
    assert!(!info.name.is_empty());
    assert!(info.workspace_radius.is_finite() && info.workspace_radius > 0.0, "{info:?}");
    for limit in [info.max_force, info.continuous_force, info.max_stiffness, info.max_damping] {
        assert!(limit.is_finite() && limit >= 0.0 && (limit > 0.0 || !info.shows_force), "{info:?}");
    }
    assert!(info.continuous_force <= info.max_force);
    let mut master = Master::new(ControlConfig::default(), &info, START);
    let mut seen = Seen::default();
    let (mut last_at, mut last_force, mut reports) = (Instant::ZERO, Force::ZERO, 0);
    for ms in 1..=10_000u64 {
        let now = START + Duration::from_millis(ms);
        let state = device.read(now);
        match &state {
            Ok(state) => {
                assert!(state.at <= now && state.at >= last_at, "stamps rise and are not of the future");
                last_at = state.at;
            }
            Err(error) => {
                seen.errors += 1;
                let text = error.to_string();
                assert!(text.len() > 20 && !text.contains('\n'), "one clear line: {text:?}");
                seen.last = Some(error.clone());
            }
        }
        let needed = device.calibration() != Calibration::Ready;
        assert!(state.is_err() || !needed, "a device that is not calibrated tells no position");
        assert!(needed || state != Err(DeviceError::NotCalibrated), "one that is does");
        assert!(device.arrival().is_none_or(|at| at <= now), "reports do not come from the future");
        let health = device.health();
        assert!(health.reports >= reports && health.written <= health.forces);
        reports = health.reports;
        // Of a scene that a real device does not feel.
        device.touch(Force::ZERO);
        let newest = Some(Received { value: Force::new(0.0, 2.0, 0.0).into(), at: now });
        let out = master.step(now, &state, newest, Gate::OPEN);
        assert!(out.force.0.is_finite() && out.force.0.norm() <= info.max_force * 1.00001);
        assert!(state.is_ok() || out.force == Force::ZERO, "a device that fails gets no force");
        let change = (out.force.0 - last_force.0).norm();
        assert!(out.force == Force::ZERO || change < 0.3001, "slewed: {change} N at {ms} ms");
        assert!(out.motion.position.0.is_finite() && out.motion.position.0.norm() <= 1.8);
        last_force = out.force;
        seen.invalid = out.status.invalid_states;
        match device.write(now, out.force) {
            Ok(()) => seen.shown += u64::from(out.force.0.norm() > 1.0),
            Err(error) => assert_ne!(error, DeviceError::BadForce),
        }
        for bad in [f32::NAN, f32::INFINITY] {
            if ms % 1000 == 0 {
                device.write(now, Force::new(0.0, bad, 0.0)).expect_err("a force that is not finite is refused");
            }
        }
    }
    assert_eq!(*device.info(), info, "what it can do does not change");
    assert!(!device.describe().contains('\n'));
    seen
}

#[test]
fn the_simulated_device() {
    let seen = contract(&mut held());
    assert_eq!((seen.errors, seen.invalid), (0, 0));
    assert!(seen.shown > 8_000);
}

#[test]
fn a_boxed_device() {
    let mut device: Box<dyn HapticDevice> = Box::new(held());
    assert!(contract(&mut device).shown > 8_000);
}

#[test]
fn a_device_that_fails() {
    let mut total = Seen::default();
    for seed in 0..20 {
        let seen = contract(&mut FaultyDevice::new(held(), faults(), seed));
        total.errors += seen.errors;
        total.invalid += seen.invalid;
        total.shown += seen.shown;
    }
    assert!(total.errors > 1_000 && total.invalid > 1_000, "the faults have come");
    assert!(total.shown > 20_000, "and force has come back after each: {}", total.shown);
}

#[test]
fn a_device_that_always_fails_never_gets_force() {
    let always = FaultConfig { not_finite: 1.0, ..FaultConfig::default() };
    assert_eq!(contract(&mut FaultyDevice::new(held(), always, 1)).shown, 0);
    let frozen = FaultConfig { stale: 1.0, ..FaultConfig::default() };
    assert_eq!(contract(&mut FaultyDevice::new(held(), frozen, 1)).shown, 0);
}

#[test]
fn a_recording() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let rows: Vec<String> =
        (0..5000).map(|i| format!("{},{},0,0", i as f64 * 1e-3, 0.02 * (i as f64 * 3e-3).sin())).collect();
    std::fs::write(file.path(), format!("time,x,y,z\n{}\n", rows.join("\n"))).unwrap();
    let seen = contract(&mut ReplayDevice::open(file.path(), START).unwrap());
    assert_eq!(seen.errors, 0);
    assert!(seen.shown > 8_000);
}

const MODELS: [&str; 6] = ["telehaptic", "phantom-omni", "phantom-touch", "falcon", "polhem-v1", "woodenhaptics-2015"];

#[test]
fn every_hid_device_that_shows_force() {
    for id in MODELS {
        let mut device = Played::new(id);
        let seen = contract(&mut device);
        // A Polhem waits for its button.
        let early = if matches!(id, "polhem-v1" | "woodenhaptics-2015") { 100 } else { 0 };
        assert_eq!((seen.errors, seen.invalid), (early, 0), "{id}: {:?}", seen.last);
        assert!(seen.shown > 7_500, "{id}: {}", seen.shown);
        assert_eq!(device.health().reports, 10_000);
    }
}

#[test]
fn a_hid_device_that_shows_none() {
    let mut device = Played::new("spacemouse");
    let seen = contract(&mut device);
    assert_eq!((seen.shown, seen.invalid), (0, 0));
    assert!((400..600).contains(&seen.errors), "it has to be let go of first: {}", seen.errors);
    assert!(device.read(START + Duration::from_secs(11)).unwrap().position.0.norm() > 0.0);
}

#[test]
fn hid_devices_that_fail() {
    for id in MODELS.into_iter().chain(["spacemouse"]) {
        let mut total = Seen::default();
        for seed in 0..3 {
            let seen = contract(&mut FaultyDevice::new(Played::new(id), faults(), seed));
            total.errors += seen.errors;
            total.invalid += seen.invalid;
        }
        assert!(total.errors > 100 && total.invalid > 100, "{id}: {} {}", total.errors, total.invalid);
    }
}

/// Pulled out for good half way: not a newton from then on, and one clear line.
#[test]
fn hid_devices_that_are_pulled_out() {
    for id in MODELS.into_iter().chain(["spacemouse"]) {
        let mut device = Played::new(id);
        (0..2_000).for_each(|ms| drop(device.read(START + Duration::from_millis(ms))));
        device.plug(false);
        let seen = contract(&mut device);
        assert_eq!((seen.errors, seen.shown, seen.last), (10_000, 0, Some(DeviceError::Lost)), "{id}");
    }
}
