//! Touch: what the device in the hand was told, against the control law applied to what the teleoperator sent.
//!
//! The law is written down here a second time, from its documentation: the peer's force times a scale, less a damping of
//! the device's own velocity; with what the gain schedule and passivity did to it, by their columns of the trace; cut to
//! what the heat budget left; times the engagement ramp and the freshness of the sample; changing no faster than the slew
//! limit, within its budget. Only its constants are those of the program.

use std::path::Path;
use std::time::Duration;

use haptic::ControlConfig;

use crate::table::Table;

/// A longer pause between two ticks than this allows no larger change of force, ms.
const SLEW_MS: f32 = 4.0;
/// Rounding of a few steps of single precision, N.
const TOLERANCE: f32 = 2e-4;

/// Judges the traces of both stations and of the device in `results`.
pub fn judge(results: &Path) {
    let op = Table::read(&results.join("op-main/servo_op.csv"));
    let top = Table::read(&results.join("top-main/servo_top.csv"));
    let device = Table::read(&results.join("main.csv"));
    assert!(op.len() > 3_000, "{} ticks at the operator", op.len());
    positions_come_from_the_device(&op, &device);
    forces_are_those_that_were_sent(&op, &top);
    the_slave_sends_what_its_coupling_exerts(&top);
    forces_follow_the_law(&op);
    the_device_gets_these_forces(&op, &device);
}

/// Every position at the operator is one that the device reported.
fn positions_come_from_the_device(op: &Table, device: &Table) {
    let kinds = device.column::<String>("kind");
    let [x, y, z] = ["x", "y", "z"].map(|axis| device.column::<i64>(axis));
    let reported: std::collections::BTreeSet<[i64; 3]> =
        (0..device.len()).filter(|&i| kinds[i] == "in").map(|i| [x[i], y[i], z[i]]).collect();
    let nm = |m: f32| (f64::from(m) * 1e9).round() as i64;
    // Single precision of 20 mm is 2 nm.
    let near = |p: &[f32; 3]| {
        let p = p.map(nm);
        reported
            .range([p[0] - 3, i64::MIN, i64::MIN]..=[p[0] + 3, i64::MAX, i64::MAX])
            .any(|r| (r[1] - p[1]).abs() <= 3 && (r[2] - p[2]).abs() <= 3)
    };
    let positions = op.vectors("position");
    let unknown = positions.iter().filter(|p| **p != [0.0; 3] && !near(p)).count();
    let known = positions.iter().filter(|p| near(p)).count();
    assert_eq!(unknown, 0, "positions that the device never reported");
    assert!(known > positions.len() / 2, "{known} of {} positions from the device", positions.len());
}

/// Each force that the operator uses is, bit for bit and in order, one that the teleoperator sent.
fn forces_are_those_that_were_sent(op: &Table, top: &Table) {
    let sent = top.vectors("sent");
    let at = op.column::<i64>("incoming_ns");
    let incoming = op.vectors("incoming");
    let (mut next, mut used, mut last) = (0, 0, -1);
    for (at, force) in at.iter().zip(&incoming) {
        if *at < 0 || *at == last {
            continue;
        }
        last = *at;
        let found = sent[next..].iter().position(|s| s == force);
        let found =
            found.unwrap_or_else(|| panic!("force {force:?} was not sent after row {next} of the teleoperator"));
        next += found;
        used += 1;
    }
    println!("touch: {used} samples of force used at the operator");
    assert!(used > 2_000, "only {used} samples of force were used");
    let strongest = incoming.iter().map(norm).fold(0.0, f32::max);
    assert!(strongest > 0.3, "the scene was not touched: {strongest} N");
}

/// Minus the force on the slave's own device.
fn the_slave_sends_what_its_coupling_exerts(top: &Table) {
    for (tick, (force, sent)) in top.vectors("force").iter().zip(top.vectors("sent")).enumerate() {
        assert!(distance(&force.map(|c| -c), &sent) <= TOLERANCE, "row {tick}: {force:?} acts, {sent:?} is sent");
    }
}

/// Each force is what the law gives from the last one and what was known then.
fn forces_follow_the_law(op: &Table) {
    let (at, age, held) = (op.column::<i64>("at_ns"), op.column::<i64>("age_ns"), op.column::<u8>("held"));
    let (incoming, velocity, force) = (op.vectors("incoming"), op.vectors("velocity"), op.vectors("force"));
    let [gain, extra, passed, limit] = ["gain", "damping", "passed", "limit"].map(|name| op.column::<f32>(name));
    let ControlConfig { force_scale, master_damping, safety, .. } = ControlConfig::default();
    let mut budget = safety.kick;
    let ms = |time: Duration| time.as_secs_f32() * 1e3;
    let (mut engaged_at, mut full, mut damped) = (None, 0, 0);
    for i in 1..op.len() {
        let elapsed_ms = (at[i] - at[i - 1]) as f32 / 1e6;
        budget = (budget + safety.slew / 2.0 * elapsed_ms.min(SLEW_MS)).min(safety.kick);
        assert!(limit[i] <= safety.max_force && (0.0..=1.0).contains(&gain[i]) && extra[i] >= 0.0, "row {i}");
        if held[i] != 0 {
            assert_eq!(force[i], [0.0; 3], "row {i}: force while it must be zero");
            engaged_at = None;
            continue;
        }
        let engaged_at = *engaged_at.get_or_insert(at[i]);
        let ramp = ((at[i] - engaged_at) as f32 / 1e6 / ms(safety.engagement)).min(1.0);
        let ramp = ramp * ramp * (3.0 - 2.0 * ramp);
        let freshness = ((ms(safety.zero) - age[i] as f32 / 1e6) / (ms(safety.zero) - ms(safety.hold))).clamp(0.0, 1.0);
        let law = |damping: f32| {
            let want = add(&incoming[i].map(|c| c * force_scale * gain[i]), &velocity[i].map(|c| -c * damping));
            let want = if damping > 0.0 { passive(&want, &velocity[i], extra[i], passed[i]) } else { want };
            let target = shorten(want, limit[i]).map(|c| c * ramp * freshness);
            let change = add(&target, &force[i - 1].map(|c| -c));
            add(&force[i - 1], &shorten(change, (safety.slew * elapsed_ms.min(SLEW_MS)).min(budget)))
        };
        // A reading or a tick more than 5 ms late says nothing about the velocity now: then there is no damping.
        let with = distance(&law(master_damping), &force[i]) <= TOLERANCE;
        let without = distance(&law(0.0), &force[i]) <= TOLERANCE;
        assert!(with || without, "row {i}: force {:?}, the law gives {:?}", force[i], law(master_damping));
        budget -= distance(&force[i], &force[i - 1]);
        damped += usize::from(with);
        full += usize::from(ramp >= 1.0 && freshness >= 1.0 && norm(&force[i]) > 0.1);
    }
    println!("touch: {full} ticks with full force, {damped} with damping, of {}", op.len());
    assert!(full > 300, "only {full} ticks with full force");
    assert!(damped > op.len() / 2, "only {damped} of {} ticks with damping", op.len());
}

/// Each report that the device got carries the force of the tick that its sequence names.
fn the_device_gets_these_forces(op: &Table, device: &Table) {
    let force = op.vectors("force");
    let kinds = device.column::<String>("kind");
    let (sequence, command) = (device.column::<u16>("sequence"), device.column::<u16>("flags"));
    let [x, y, z] = ["x", "y", "z"].map(|axis| device.column::<i32>(axis));
    let (mut shown, mut strong) = (0, 0);
    let mut row = 0usize;
    for i in (0..device.len()).filter(|&i| kinds[i] == "out" && command[i] == 1) {
        // The first force has sequence 1. Sequences grow, and wrap after 65536.
        row += usize::from(sequence[i].wrapping_sub(row as u16));
        // After the last tick a station writes zero once more.
        let expected =
            force.get(row.wrapping_sub(1)).map_or([0; 3], |f| f.map(|n| (f64::from(n) * 1e3).round() as i32));
        assert_eq!([x[i], y[i], z[i]], expected, "report with sequence {}", sequence[i]);
        shown += 1;
        strong += usize::from(expected.iter().any(|c| c.abs() > 100));
    }
    println!("touch: {shown} forces reached the device, {strong} of them above 0.1 N");
    assert!(shown > 2_000 && strong > 300, "{shown} forces reached the device, {strong} of them above 0.1 N");
}

/// `want` less what pushes along the motion and was not let through, and with the damping that was added.
fn passive(want: &[f32; 3], velocity: &[f32; 3], damping: f32, passed: f32) -> [f32; 3] {
    let speed = norm(velocity);
    if speed < f32::EPSILON || (damping == 0.0 && passed == 1.0) {
        return *want;
    }
    let along = velocity.map(|c| c / speed);
    let pushing = want.iter().zip(&along).map(|(w, a)| w * a).sum::<f32>().max(0.0);
    add(&add(want, &along.map(|c| -c * pushing * (1.0 - passed))), &velocity.map(|c| -c * damping))
}

fn norm(v: &[f32; 3]) -> f32 {
    v.iter().map(|c| c * c).sum::<f32>().sqrt()
}

fn add(a: &[f32; 3], b: &[f32; 3]) -> [f32; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn distance(a: &[f32; 3], b: &[f32; 3]) -> f32 {
    norm(&add(a, &b.map(|c| -c)))
}

fn shorten(v: [f32; 3], limit: f32) -> [f32; 3] {
    let length = norm(&v);
    if length <= limit { v } else { v.map(|c| c * (limit / length)) }
}
