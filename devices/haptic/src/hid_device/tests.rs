//! What a HID device makes of reports and forces, in virtual time; the test plays the firmware.

use media::Velocity;

use super::played::{Played, path};
use super::*;
use crate::report::{IN_SIZE, InRepr, status};

fn at(ms: u64) -> Instant {
    Instant::from_millis(9_000 + ms)
}

fn device() -> Played {
    Played::new("telehaptic")
}

fn report(sequence: u16, x_nm: i32, status: u16) -> [u8; IN_SIZE] {
    let repr = InRepr {
        axes: [x_nm, i32::from(sequence), i32::from(sequence)],
        time_us: u32::from(sequence) * 1000,
        sequence,
        status,
    };
    let mut bytes = [0; IN_SIZE];
    repr.emit(&mut bytes);
    bytes
}

#[test]
fn the_newest_report_wins_and_what_waited_or_is_missing_is_counted() {
    let mut d = device();
    assert_eq!(d.device.read(at(0)), Err(DeviceError::Silent), "nothing has come yet");
    d.put(at(1), &report(10, 0, status::READY));
    assert_eq!(d.device.read(at(1)).unwrap().velocity, Velocity::ZERO);
    for i in 11..=14u16 {
        d.put(at(u64::from(i) - 9), &report(i, i32::from(i) * 100_000, status::READY | 0x0300));
    }
    d.put(at(5), &report(17, 1_700_000, status::READY | 0x0300));
    let state = d.device.read(at(6)).unwrap();
    assert!((state.position.0.0[0] - 1.7e-3).abs() < 1e-9);
    assert_eq!((state.sequence, state.at, state.buttons), (2, at(5), 3), "stamped as it arrived");
    assert_eq!(d.device.arrival(), Some(at(5)));
    let h = d.device.health();
    assert_eq!((h.reports, h.missing, h.queue_age_us, h.max_queue_age_us), (6, 2, 6_000, 6_000));
    // 1.7 mm in 7 ms by the device's clock, through the filter.
    let expected = 1.7e-3 / 7e-3 * (7.0 / 12.0);
    assert!((state.velocity.0.0[0] - expected).abs() < 1e-4, "{state:?}");
    // Nothing new: the same state with its old stamp.
    assert_eq!(d.device.read(at(7)).unwrap(), state);
    assert_eq!(d.device.read(at(56)), Err(DeviceError::Silent));
}

#[test]
fn how_long_reports_wait_for_their_tick_is_told() {
    let mut d = device();
    for ms in 0..2_500 {
        d.read(at(ms)).unwrap();
    }
    let h = d.health();
    assert_eq!((h.rate_hz, h.missing), (1_000, 0));
    assert!((150..160).contains(&h.age_p50_us), "{h:?}");
    assert!(d.describe().contains("used p50 15"), "{}", d.describe());
}

#[test]
fn sequences_wrap_and_a_restart_is_no_loss() {
    let mut d = device();
    for i in [65_534, 65_535, 0, 1, 0, 1, 2] {
        d.put(at(0), &report(i, 0, status::READY));
    }
    d.device.read(at(1)).unwrap();
    assert_eq!(d.device.health().missing, 0);
}

#[test]
fn garbage_is_counted_and_changes_nothing() {
    let mut d = device();
    d.put(at(0), &report(1, 5_000_000, status::READY));
    d.put(at(0), &[1; 5]);
    d.put(at(0), &[9; IN_SIZE]);
    d.put(at(0), &[255; 64]);
    assert!((d.device.read(at(1)).unwrap().position.0.0[0] - 5e-3).abs() < 1e-9);
    assert_eq!(d.device.health().garbage, 3);
}

#[test]
fn faults_of_the_device_are_errors() {
    let mut d = device();
    d.put(at(1), &report(1, 0, 0));
    assert_eq!(d.device.read(at(1)), Err(DeviceError::NotCalibrated));
    let needed = Calibration::Needed { guide: Guide::Firmware, homed: [false; 3] };
    assert_eq!(d.calibration(), needed);
    d.put(at(2), &report(2, 0, status::READY | status::FAULT));
    assert_eq!(d.device.read(at(2)), Err(DeviceError::Fault));
    d.put(at(3), &report(3, 0, status::READY));
    assert!(d.device.read(at(3)).is_ok());
    // The wish to calibrate reaches the firmware, which then takes its readiness back.
    d.calibrate();
    assert!(d.slot.calibrate() && !d.slot.calibrate());
}

#[test]
fn a_sensor_that_is_stuck_puts_the_force_off_until_it_moves() {
    for axis in 0..3 {
        for id in ["telehaptic", "phantom-omni", "falcon"] {
            let mut d = Played::new(id);
            (0..1_500).for_each(|ms| drop(d.read(at(ms))));
            assert!(d.read(at(1_500)).is_ok(), "{id}");
            d.firmware().stuck = Some(axis);
            let told =
                (1_501..8_000).find(|ms| matches!(d.read(at(*ms)), Err(DeviceError::Stuck(_) | DeviceError::Pose)));
            let told = told.unwrap_or_else(|| panic!("{id}: axis {axis} is stuck for 6 s"));
            if d.read(at(told)) == Err(DeviceError::Stuck(axis as u8 + 1)) {
                let mut homed = [true; 3];
                homed[axis] = false;
                assert_eq!(d.calibration(), Calibration::Needed { guide: Guide::MoveEachAxis, homed });
            }
            d.firmware().stuck = None;
            assert!(d.read(at(told + 1)).is_ok(), "{id}: {:?}", d.read(at(told + 1)));
        }
    }
}

#[test]
fn a_pose_that_the_arm_does_not_have_is_refused() {
    let mut d = Played::new("phantom-omni");
    (0..1_500).for_each(|ms| drop(d.read(at(ms))));
    d.write(at(1_500), Force::new(1.0, 1.0, 1.0)).unwrap();
    assert_ne!(d.slot.units(), [0; 3]);
    let mut bytes = [0; IN_SIZE];
    InRepr { axes: [1 << 30; 3], status: status::READY, ..InRepr::default() }.emit(&mut bytes);
    d.put(at(1_501), &bytes);
    assert_eq!(d.device.read(at(1_501)), Err(DeviceError::Pose));
    d.write(at(1_501), Force::new(1.0, 1.0, 1.0)).unwrap();
    assert_eq!(d.slot.units(), [0; 3], "no torque where the Jacobian is not known");
}

/// Virtual work: what the motors do on a small motion of the joints is what the force does on that of the hand.
#[test]
fn motors_show_the_force_in_every_pose() {
    for id in ["phantom-omni", "phantom-touch", "falcon", "polhem-v1", "woodenhaptics-2015"] {
        let mut d = Played::new(id);
        let model = crate::Model::find(id).unwrap();
        let (arm, motors) = (model.kinematics.as_ref().unwrap(), model.motors.unwrap());
        for ms in 0..4_000 {
            let state = d.read(at(ms));
            if ms < 1_500 || ms % 100 != 0 {
                continue;
            }
            let state = state.unwrap_or_else(|e| panic!("{id} at {ms} ms: {e}"));
            let joints = d.firmware().joints(ms);
            assert!((state.position.0 - path(ms).0).norm() < 2e-4, "{id} at {ms} ms: {state:?}");
            let force = Force::new(0.3, -0.2, 0.25);
            d.write(at(ms), force).unwrap();
            let units = d.slot.units();
            for (joint, unit) in units.into_iter().enumerate() {
                let turned = |by: f32| {
                    let mut turned = joints;
                    turned.0[joint] += by;
                    arm.forward(turned, Some(state.position)).unwrap().0
                };
                let work = (turned(1e-3) - turned(-1e-3)).dot(force.0) / 2e-3;
                let torque = f64::from(unit) / motors.units_per_amp * motors.sign[joint] * motors.torque_per_amp[joint];
                // Half a unit of current, and single precision in the differences.
                let slack = motors.torque_per_amp[joint] / motors.units_per_amp + 3e-4;
                assert!(
                    (f64::from(work) - torque).abs() < slack,
                    "{id} joint {joint}: {work} by work, {torque} by the motor"
                );
            }
        }
    }
}

#[test]
fn a_polhem_waits_for_its_reference_pose_and_forgets_it_when_lost() {
    let mut d = Played::new("polhem-v1");
    let needed = Calibration::Needed { guide: Guide::ReferencePose, homed: [false; 3] };
    for ms in 0..100 {
        assert_eq!(d.read(at(ms)), Err(DeviceError::NotCalibrated));
        d.write(at(ms), Force::new(1.0, 0.0, 0.0)).unwrap();
        assert_eq!((d.calibration(), d.slot.units()), (needed, [0; 3]));
    }
    // The button is pressed at 100 ms; its encoder's jump is no motion.
    let pressed = d.read(at(100)).unwrap();
    for ms in 101..300 {
        let state = d.read(at(ms)).unwrap();
        assert!((state.position.0 - pressed.position.0).norm() < 1e-6 && state.velocity == Velocity::ZERO);
    }
    assert_eq!((d.calibration(), d.arrival()), (Calibration::Ready, None), "in lock-step there is no beat to follow");
    d.plug(false);
    assert_eq!(d.read(at(300)), Err(DeviceError::Lost));
    assert_eq!(d.write(at(300), Force::ZERO), Err(DeviceError::Lost));
    d.plug(true);
    assert_eq!(d.read(at(301)), Err(DeviceError::NotCalibrated), "it may have been without power");
    // Said so in the window instead of pressed.
    d.calibrate();
    assert!(d.read(at(302)).is_ok());
    assert_eq!(d.health().losses, 1);
}

#[test]
fn the_button_of_a_later_polhem_is_the_last_field() {
    use crate::report::polhem;
    let mut d = Played::new("polhem-v1");
    let put = |d: &mut Played, ms, info| {
        let mut bytes = [0; polhem::SIZE];
        polhem::InRepr { encoders: [5, 6, 7, 0, 0, 0], info }.emit(&mut bytes);
        d.put(at(ms), &bytes);
    };
    put(&mut d, 0, 0);
    assert_eq!(d.device.read(at(0)), Err(DeviceError::NotCalibrated));
    put(&mut d, 1, 1);
    assert!(d.device.read(at(1)).is_ok());
}

#[test]
fn a_spacemouse_moves_by_rate_within_its_sphere_and_shows_nothing() {
    let mut d = Played::new("spacemouse");
    assert!(!d.info().shows_force);
    assert_eq!(d.read(at(0)), Err(DeviceError::NotCalibrated), "it might be pushed");
    let needed = Calibration::Needed { guide: Guide::LetGo, homed: [false; 3] };
    assert_eq!(d.calibration(), needed);
    (1..700).for_each(|ms| drop(d.read(at(ms))));
    assert_eq!(d.read(at(700)).unwrap().position, Position::ZERO);
    assert_eq!(d.calibration(), Calibration::Ready);
    d.firmware().silent = true;
    // Full deflection to the right for a second: 0.1 m/s, and the sphere ends after 75 mm.
    let mut last = 0.0;
    for ms in 701..1_701 {
        if ms % 8 == 5 {
            d.put(at(ms), &[1, 0x5e, 1, 0, 0, 0, 0]);
        }
        let state = d.read(at(ms)).unwrap();
        let x = state.position.0.0[0];
        assert!(x >= last && x <= 0.075_001 && state.velocity.0.0[0] <= 0.100_1, "{state:?}");
        last = x;
    }
    assert!(last > 0.0749);
    // Silence is rest, rotation and buttons do not move it.
    (1_701..1_900).for_each(|ms| drop(d.read(at(ms))));
    d.put(at(1_900), &[2, 0xff, 1, 0xff, 1, 0xff, 1]);
    d.put(at(1_900), &[3, 2, 0]);
    d.put(at(1_900), &[7, 2, 0]);
    let state = d.read(at(1_900)).unwrap();
    assert_eq!((state.velocity, state.buttons), (Velocity::ZERO, 2));
    assert_eq!((d.health().garbage, d.write(at(1_900), Force::new(1.0, 0.0, 0.0))), (1, Ok(())));
    assert_eq!(d.slot.units(), [0; 3]);
    d.plug(false);
    assert_eq!(d.read(at(1_901)), Err(DeviceError::Lost));
}

#[test]
fn forces_are_cut_and_what_is_not_finite_shows_none() {
    let mut d = device();
    d.write(at(1), Force::new(0.5, -0.25, 0.0)).unwrap();
    assert_eq!(d.slot.units(), [500, -250, 0]);
    d.write(at(2), Force::new(0.0, f32::MAX, 0.0)).unwrap();
    assert_eq!(d.slot.units(), [0, 3300, 0]);
    assert_eq!(d.write(at(3), Force::new(f32::NAN, 1.0, 1.0)), Err(DeviceError::BadForce));
    assert_eq!(d.slot.units(), [0; 3]);
    assert_eq!(d.health().forces, 3);
}

#[test]
fn a_lost_device_is_an_error_until_it_is_back() {
    let mut d = device();
    d.put(at(0), &report(1, 1_000, status::READY));
    assert!(d.device.read(at(1)).is_ok());
    d.put(at(1), &report(2, 2_000, status::READY));
    d.plug(false);
    assert_eq!(d.device.read(at(2)), Err(DeviceError::Lost), "in the next step");
    assert_eq!(d.write(at(2), Force::ZERO), Err(DeviceError::Lost));
    d.plug(true);
    assert_eq!(d.device.read(at(3)), Err(DeviceError::Silent), "what waited is of its former life");
    d.put(at(4), &report(500, 7_000_000, status::READY));
    let state = d.device.read(at(4)).unwrap();
    assert!((state.position.0.0[0] - 7e-3).abs() < 1e-9 && state.velocity == Velocity::ZERO);
    assert_eq!((d.health().losses, d.health().missing), (1, 0));
    // Lost and back between two ticks: another life all the same.
    d.plug(true);
    assert_eq!(d.device.read(at(5)), Err(DeviceError::Silent));
    assert_eq!(d.health().losses, 2);
}
