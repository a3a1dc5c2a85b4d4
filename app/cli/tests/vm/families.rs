//! Each family of haptic devices: calibrated before it is used, engaged by a person, its hand where its sensors say, its
//! motors doing the work of the force.

use std::path::Path;

use haptic::{Joints, Model};
use media::{Force, Position};

use crate::account;
use crate::table::Table;

/// Rounding of single precision in the kinematics, m.
const NEAR_M: f32 = 3e-6;
/// A step of a joint for the difference that stands for a derivative, rad.
const STEP_RAD: f32 = 2e-3;

/// Judges the sessions of all families in `results`.
pub fn judge(results: &Path) {
    for name in ["phantom-omni", "falcon", "polhem-v1"] {
        life(results, name);
        let model = Model::find(name).expect("a model");
        let op = Table::read(&results.join(format!("op-{name}/servo_op.csv")));
        let device = Table::read(&results.join(format!("{name}.csv")));
        positions(name, model, &op, &device);
        currents(name, model, &op, &device);
    }
    spacemouse(results);
}

fn moment(results: &Path, name: &str, moment: &str) -> session::HapticSnapshot {
    account::status(results, &format!("{name}-{moment}")).haptic
}

/// No force before it is calibrated and a person says so.
fn life(results: &Path, name: &str) {
    let before = moment(results, name, "before");
    let calibration = before.calibration.as_ref().unwrap_or_else(|| panic!("{name}: {before:?}"));
    assert!(!calibration.guide.is_empty() && before.force == [0.0; 3], "{name}: {before:?}");
    assert!(before.shows_force && before.engagement == 0.0, "{name}: {before:?}");
    let ready = moment(results, name, "calibrated");
    assert!(ready.calibration.is_none() && ready.fault.is_empty(), "{name}: {ready:?}");
    if ready.dead_man == "button" {
        assert!(ready.force_off.contains("dead-man") && ready.force == [0.0; 3], "{name}: {ready:?}");
    } else {
        // Who pressed the calibration button has it in the hand.
        assert!(ready.force_off.is_empty() && ready.engagement > 0.5, "{name}: {ready:?}");
    }
    let engaged = moment(results, name, "engaged");
    assert!(engaged.force_off.is_empty() && engaged.engagement > 0.9, "{name}: {engaged:?}");
    assert!(engaged.health.rate_hz > 900, "{name}: {:?}", engaged.health);
}

/// Every position is where one of the reported sets of encoder counts puts the arm.
fn positions(name: &str, model: &Model, op: &Table, device: &Table) {
    let (arm, map) = (model.kinematics.as_ref().expect("an arm"), model.joints.expect("joints"));
    let axes = ["x", "y", "z"].map(|axis| device.column::<i32>(axis));
    let kinds = device.column::<String>("kind");
    let mut reported: Vec<Position> = Vec::new();
    for i in (0..device.len()).filter(|&i| kinds[i] == "in") {
        let joints = map.joints([axes[0][i], axes[1][i], axes[2][i]]);
        reported.extend(arm.forward(joints, reported.last().copied()));
    }
    let near = |p: [f32; 3]| reported.iter().any(|r| distance(r.0.0, p) < NEAR_M);
    let positions: Vec<_> = op.vectors("position").into_iter().filter(|p| *p != [0.0; 3]).collect();
    let unknown = positions.iter().filter(|p| !near(**p)).count();
    println!("{name}: {} positions, of {} reports", positions.len(), reported.len());
    assert!(positions.len() > 1_000, "{name}: only {} positions", positions.len());
    assert_eq!(unknown, 0, "{name}: positions where the encoders never were");
}

/// The currents that came are, in order, those whose torques do the work of the forces of the trace; none without a force.
fn currents(name: &str, model: &Model, op: &Table, device: &Table) {
    let (force, position, held) = (op.vectors("force"), op.vectors("position"), op.column::<u8>("held"));
    assert!((0..op.len()).all(|i| held[i] == 0 || force[i] == [0.0; 3]), "{name}: force while it must be zero");
    let wanted: Vec<[f32; 3]> = (0..op.len())
        .filter(|&i| force[i] != [0.0; 3])
        .map(|i| units(model, Position::new(position[i][0], position[i][1], position[i][2]), force[i]))
        .collect();
    let kinds = device.column::<String>("kind");
    let [x, y, z] = ["x", "y", "z"].map(|axis| device.column::<i32>(axis));
    let got = (0..device.len()).filter(|&i| kinds[i] == "out").map(|i| [x[i], y[i], z[i]]).filter(|c| *c != [0; 3]);
    let (mut next, mut shown, mut strong) = (0, 0, 0);
    for current in got {
        let close = |want: &[f32; 3]| (0..3).all(|i| (current[i] as f32 - want[i]).abs() <= 1.5 + 0.01 * want[i].abs());
        let found = wanted[next..].iter().position(close);
        next += found.unwrap_or_else(|| panic!("{name}: {current:?} is asked for by no force after row {next}"));
        shown += 1;
        strong += usize::from(current.iter().any(|c| c.abs() > 20));
    }
    println!("{name}: {shown} sets of currents for {} forces, {strong} of them above 20 units", wanted.len());
    assert!(shown > 200 && strong > 100, "{name}: {shown} sets of currents, {strong} of them strong");
}

/// Units of current whose torques do, at a small motion of each joint, the work that `force` does at the hand.
fn units(model: &Model, position: Position, force: [f32; 3]) -> [f32; 3] {
    let (arm, motors) = (model.kinematics.as_ref().expect("an arm"), model.motors.expect("motors"));
    let joints = arm.inverse(position).expect("a pose");
    [0, 1, 2].map(|i| {
        let moved = |step: f32| {
            let mut joints = joints.0;
            joints[i] += step;
            arm.forward(Joints(joints), Some(position)).expect("a pose").0.0
        };
        let (there, back) = (moved(STEP_RAD), moved(-STEP_RAD));
        let work: f32 = (0..3).map(|c| Force::new(force[0], force[1], force[2]).0.0[c] * (there[c] - back[c])).sum();
        let amps = f64::from(work / (2.0 * STEP_RAD)) * motors.sign[i] / motors.torque_per_amp[i];
        (amps.clamp(-motors.max_current[i], motors.max_current[i]) * motors.units_per_amp) as f32
    })
}

/// It moves the hand, and is labelled as what it is.
fn spacemouse(results: &Path) {
    let moments = ["before", "calibrated", "engaged"].map(|m| moment(results, "spacemouse", m));
    for m in &moments {
        assert!(!m.shows_force && m.device.contains("no force") && m.force == [0.0; 3], "{m:?}");
    }
    for m in &moments[1..] {
        assert!(m.calibration.is_none() && m.fault.is_empty(), "{m:?}");
    }
    let op = Table::read(&results.join("op-spacemouse/servo_op.csv"));
    let x: Vec<f32> = op.vectors("position").iter().map(|p| p[0]).collect();
    let far = x.iter().fold(0.0, |far: f32, x| far.max(x.abs()));
    println!("spacemouse: {:.1} mm to the side", far * 1e3);
    assert!(far > 0.02, "{far} m to the side");
    assert!(op.vectors("force").iter().all(|f| *f == [0.0; 3]), "force of a device that has none");
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f32>().sqrt()
}
