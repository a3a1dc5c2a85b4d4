//! Every arm that is built in, held to the same rules over its whole workspace.

use media::{Force, Position};
use proptest::prelude::*;
use telehaptic_haptic::{Elbow, Joints, Kinematics, Model, PoseError, SerialArm};

/// An arm and how far around its middle it is looked at, m.
struct Case {
    id: String,
    arm: Kinematics,
    radius: f32,
}

/// Arms of all built-in models, and each serial one again with its third joint in the elbow.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for model in Model::builtin() {
        let Some(arm) = &model.kinematics else { continue };
        let radius = model.limits.workspace_radius;
        cases.push(Case { id: model.id.clone(), arm: arm.clone(), radius });
        if let Kinematics::Serial(arm) = arm {
            let mut config = *arm.config();
            config.elbow = Elbow::UpperArm;
            config.limits[2] = config.inside_elbow;
            let arm = Kinematics::Serial(SerialArm::new(config));
            cases.push(Case { id: format!("{} with the encoder in the elbow", model.id), arm, radius });
        }
    }
    assert_eq!(cases.len(), 9);
    cases
}

/// Positions of a cube of 1.6 times the radius each way, at 21 x 21 x 21 points.
fn grid(radius: f32) -> impl Iterator<Item = Position> {
    let at = move |i: usize| (i as f32 / 10.0 - 1.0) * 1.6 * radius;
    (0..21 * 21 * 21).map(move |n| Position::new(at(n % 21), at(n / 21 % 21), at(n / 441)))
}

/// Joint angles over the whole range that the limits give, at 21 x 21 x 21 points.
fn joint_grid(arm: &Kinematics) -> impl Iterator<Item = Joints> + use<> {
    let limits = arm.joint_limits();
    let at = move |joint: usize, i: usize| {
        let (low, high) = limits[joint];
        // Both ends exactly.
        low * (1.0 - i as f32 / 20.0) + high * (i as f32 / 20.0)
    };
    (0..21 * 21 * 21).map(move |n| Joints([at(0, n % 21), at(1, n / 21 % 21), at(2, n / 441)]))
}

fn apart(a: Position, b: Position) -> f32 {
    (a.0 - b.0).norm()
}

#[test]
fn a_position_leads_to_angles_that_lead_back() {
    for Case { id, arm, radius } in cases() {
        let (mut reached, mut worst) = (0, 0.0f32);
        for p in grid(radius) {
            let inside = p.0.norm() <= radius;
            match arm.inverse(p) {
                Ok(q) => {
                    reached += 1;
                    // From the middle, from the pose itself, and from one far off.
                    for near in [None, Some(p), Some(Position::new(-p.0.0[0], -p.0.0[1], -p.0.0[2]))] {
                        let back = arm.forward(q, near).unwrap_or_else(|e| panic!("{id}: {p:?} from {near:?}: {e}"));
                        worst = worst.max(apart(p, back));
                    }
                    assert!(arm.contains(p), "{id}: {p:?}");
                }
                Err(e) => assert!(!inside, "{id}: {p:?} is in the workspace: {e}"),
            }
        }
        assert!(worst < 1e-6, "{id}: {worst} m");
        assert!(reached > 3000, "{id}: only {reached} of 9261 points reached");
    }
}

#[test]
fn angles_lead_to_a_position_that_leads_back() {
    for Case { id, arm, .. } in cases() {
        let mut reached = 0;
        for q in joint_grid(&arm) {
            let p = match arm.forward(q, None) {
                Ok(p) => p,
                // What the elbow or the legs cannot do; within their own limits all joints are here.
                Err(PoseError::BeyondLimit { joint: 2 } | PoseError::NoConvergence | PoseError::OutOfReach) => continue,
                Err(e) => panic!("{id}: {q:?}: {e}"),
            };
            // Near or behind the turret's axis the same position is reached the other way round.
            if arm.jacobian(q, p) == Err(PoseError::Singular) {
                continue;
            }
            let back = arm.inverse(p).unwrap_or_else(|e| panic!("{id}: {q:?} at {p:?}: {e}"));
            reached += 1;
            for (a, b) in q.0.iter().zip(back.0) {
                assert!((a - b).abs() < 1e-4, "{id}: {q:?} came back as {back:?}");
            }
            let again = arm.forward(back, Some(p)).unwrap();
            assert!(apart(p, again) < 1e-6, "{id}: {q:?}");
        }
        assert!(reached > 1000, "{id}: only {reached} of 9261 poses reached");
    }
}

#[test]
fn the_jacobian_is_the_slope_of_the_position() {
    // Steps as small as f32 positions allow: rounding and curvature are then both near 1e-4 of a lever arm.
    let h = 2e-3f32;
    for Case { id, arm, radius } in cases() {
        let mut looked_at = 0u32;
        for p in grid(radius).filter(|p| p.0.norm() <= radius * 0.97) {
            let q = arm.inverse(p).unwrap();
            let p = arm.forward(q, Some(p)).unwrap();
            let jacobian = arm.jacobian(q, p).unwrap();
            for joint in 0..3 {
                let [mut ahead, mut behind] = [q; 2];
                ahead.0[joint] += h;
                behind.0[joint] -= h;
                let (a, b) = (arm.forward(ahead, Some(p)).unwrap(), arm.forward(behind, Some(p)).unwrap());
                looked_at += 1;
                let step = ahead.0[joint] - behind.0[joint];
                for (axis, row) in jacobian.iter().enumerate() {
                    let slope = (a.0.0[axis] - b.0.0[axis]) / step;
                    assert!((slope - row[joint]).abs() < 2e-4, "{id}: {p:?} d{axis}/dq{joint}: {slope}, {row:?}");
                }
            }
        }
        assert!(looked_at > 2500, "{id}: {looked_at}");
    }
}

#[test]
fn no_power_is_made_or_lost() {
    // The hand's power is the joints', for any force and any motion: F . (J dq) = torque . dq.
    let forces = [Force::new(3.0, 0.0, 0.0), Force::new(0.0, -2.0, 0.5), Force::new(-1.0, 1.5, 4.0)];
    let motions = [[1.0f32, 0.0, 0.0], [0.0, -0.7, 0.2], [0.4, 0.9, -1.3]];
    for Case { id, arm, radius } in cases() {
        for p in grid(radius).filter(|p| p.0.norm() <= radius) {
            let q = arm.inverse(p).unwrap();
            let jacobian = arm.jacobian(q, p).unwrap();
            for (force, dq) in forces.iter().zip(motions) {
                let torques = arm.torques(q, p, *force).unwrap();
                let dx = jacobian.map(|row| row[0] * dq[0] + row[1] * dq[1] + row[2] * dq[2]);
                let hand: f32 = dx.iter().zip(force.0.0).map(|(d, f)| d * f).sum();
                let joints: f32 = torques.iter().zip(dq).map(|(t, d)| t * d).sum();
                assert!((hand - joints).abs() < 1e-5, "{id}: {p:?}: {hand} W against {joints} W");
            }
        }
    }
}

#[test]
fn a_joint_beyond_its_limit_is_refused_by_name() {
    for Case { id, arm, .. } in cases() {
        let rest = arm.rest().unwrap();
        for joint in 0..3u8 {
            let (low, high) = arm.joint_limits()[usize::from(joint)];
            for angle in [low - 0.001, high + 0.001, -100.0, 100.0, f32::MAX] {
                let mut q = rest;
                q.0[usize::from(joint)] = angle;
                let refused = Err(PoseError::BeyondLimit { joint });
                assert_eq!(arm.forward(q, None), refused, "{id}: {q:?}");
                assert_eq!(arm.jacobian(q, Position::ZERO).map(|_| Position::ZERO), refused, "{id}: {q:?}");
            }
        }
    }
}

#[test]
fn what_is_far_off_or_no_number_is_refused() {
    for Case { id, arm, .. } in cases() {
        let rest = arm.rest().unwrap();
        for axis in 0..3 {
            for far in [1.0f32, -1.0, 1e30, -f32::MAX] {
                let mut p = Position::ZERO;
                p.0.0[axis] = far;
                assert_eq!(arm.inverse(p), Err(PoseError::OutOfReach), "{id}: {p:?}");
                assert!(!arm.contains(p), "{id}: {p:?}");
            }
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let (mut p, mut q, mut f) = (Position::ZERO, rest, Force::ZERO);
                p.0.0[axis] = bad;
                q.0[axis] = bad;
                f.0.0[axis] = bad;
                assert_eq!(arm.inverse(p), Err(PoseError::NotFinite), "{id}");
                assert_eq!(arm.forward(q, None), Err(PoseError::NotFinite), "{id}");
                assert_eq!(arm.torques(rest, Position::ZERO, f), Err(PoseError::NotFinite), "{id}");
                assert_eq!(arm.torques(q, Position::ZERO, Force::ZERO), Err(PoseError::NotFinite), "{id}");
                // A bad last pose does no harm: the search starts in the middle.
                assert!(apart(arm.forward(rest, Some(p)).unwrap(), Position::ZERO) < 1e-6, "{id}");
            }
        }
        assert!(!arm.contains_sphere(0.5), "{id}");
    }
}

#[test]
fn a_delta_gives_no_torque_for_a_position_that_is_not_that_of_its_joints() {
    let falcon = Model::find("falcon").unwrap().kinematics.as_ref().unwrap();
    let rest = falcon.rest().unwrap();
    assert!(falcon.torques(rest, Position::ZERO, Force::new(0.0, 0.0, 1.0)).is_ok());
    let elsewhere = Position::new(0.0, 0.0, 0.002);
    assert_eq!(falcon.torques(rest, elsewhere, Force::new(0.0, 0.0, 1.0)), Err(PoseError::OutOfReach));
}

fn any_f32() -> impl Strategy<Value = f32> {
    prop_oneof![any::<u32>().prop_map(f32::from_bits), -2.0f32..2.0, -0.2f32..0.2]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn nothing_panics_and_nothing_infinite_comes_out(
        q in [any_f32(), any_f32(), any_f32()],
        p in [any_f32(), any_f32(), any_f32()],
        f in [any_f32(), any_f32(), any_f32()],
    ) {
        let (q, p, f) = (Joints(q), Position::new(p[0], p[1], p[2]), Force::new(f[0], f[1], f[2]));
        for Case { id, arm, .. } in cases() {
            for near in [None, Some(p)] {
                if let Ok(found) = arm.forward(q, near) {
                    prop_assert!(found.0.is_finite() && found.0.norm() < 1.0, "{id}: {found:?}");
                }
            }
            if let Ok(found) = arm.inverse(p) {
                prop_assert!(found.is_finite(), "{id}: {found:?}");
                prop_assert!(apart(arm.forward(found, Some(p)).unwrap(), p) < 1e-6, "{id}: {p:?}");
                // From rest a far corner may be refused, but is never another place.
                let from_rest = arm.forward(found, None);
                prop_assert!(from_rest.is_err() || apart(from_rest.unwrap(), p) < 1e-6, "{id}: {p:?}");
            }
            if let Ok(torques) = arm.torques(q, p, f) {
                prop_assert!(torques.iter().all(|t| t.is_finite()), "{id}");
            }
            if let Ok(jacobian) = arm.jacobian(q, p) {
                prop_assert!(jacobian.iter().flatten().all(|v| v.abs() < 2.0), "{id}: {jacobian:?}");
            }
            arm.contains(p);
        }
    }
}

/// `cargo nextest run --release -p telehaptic-haptic --run-ignored all -E 'test(cost)' --no-capture` prints what calls cost.
#[test]
#[ignore = "measures time"]
fn cost_of_a_call() {
    use std::hint::black_box;
    for Case { id, arm, radius } in cases() {
        let poses: Vec<_> = grid(radius)
            .filter(|p| p.0.norm() <= radius)
            .map(|p| {
                // The last pose as a servo has it: 2 mm away.
                let near = Position(p.0 * (1.0 - 0.002 / p.0.norm().max(0.002)));
                (arm.inverse(p).unwrap(), p, near)
            })
            .collect();
        let mut lines = Vec::new();
        let mut time = |name: &str, call: &dyn Fn(&(Joints, Position, Position))| {
            let mut worst = 0;
            let start = std::time::Instant::now();
            for _ in 0..20 {
                poses.iter().for_each(call);
            }
            let mean = start.elapsed().as_nanos() / (20 * poses.len() as u128);
            for pose in &poses {
                // The least of several, so that the worst is that of a pose and not of an interrupted thread.
                let runs = (0..5).map(|_| {
                    let start = std::time::Instant::now();
                    call(pose);
                    start.elapsed().as_nanos()
                });
                worst = worst.max(runs.min().unwrap_or(0));
            }
            lines.push(format!("{name} {mean} ns (worst pose {worst} ns)"));
        };
        time("forward", &|(q, _, near)| {
            let _ = black_box(arm.forward(black_box(*q), Some(*near)));
        });
        time("forward from the middle", &|(q, ..)| {
            let _ = black_box(arm.forward(black_box(*q), None));
        });
        time("inverse", &|(_, p, _)| {
            let _ = black_box(arm.inverse(black_box(*p)));
        });
        time("torques", &|(q, p, _)| {
            let _ = black_box(arm.torques(*q, *p, black_box(Force::new(1.0, 2.0, 3.0))));
        });
        // Angles over the whole range of the joints, most of which no real arm takes: what the search costs at worst.
        let worst = joint_grid(&arm).map(|q| {
            let runs = (0..5).map(|_| {
                let start = std::time::Instant::now();
                let _ = black_box(arm.forward(black_box(q), Some(Position::ZERO)));
                start.elapsed().as_nanos()
            });
            runs.min().unwrap_or(0)
        });
        lines.push(format!("forward of any angles at worst {} ns", worst.max().unwrap_or(0)));
        println!("{id}: {}", lines.join(", "));
    }
}
