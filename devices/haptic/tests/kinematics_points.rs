//! Single poses of arms: singular ones, made from their geometry, and those that the sources of the figures tell.

use media::{Force, Position};
use telehaptic_haptic::{
    DeltaConfig, Elbow, Joints, Kinematics, Model, PoseError, SerialArm, SerialConfig, StamperDelta,
};

fn apart(a: Position, b: Position) -> f32 {
    (a.0 - b.0).norm()
}

/// A serial arm with nearly no stops.
fn free_arm() -> SerialConfig {
    let wide = (-3.1, 3.1);
    SerialConfig {
        foot: 0.1,
        upper: 0.174,
        fore: 0.133,
        elbow: Elbow::Ground,
        limits: [wide, wide, (-3.1, 6.2)],
        inside_elbow: (0.0, std::f64::consts::PI),
        middle: [0.0; 3],
    }
}

#[test]
fn singular_poses_of_a_serial_arm_are_refused() {
    let arm = Kinematics::Serial(SerialArm::new(free_arm()));
    let refused = |b: f32, c: f32| {
        let q = Joints([0.3, b, c]);
        let p = arm.forward(q, None).unwrap();
        let jacobian = arm.jacobian(q, p);
        (jacobian, arm.torques(q, p, Force::new(1.0, 0.0, 0.0)), arm.inverse(p), arm.contains(p))
    };
    let pi = std::f32::consts::PI;
    // Stretched, nearly stretched, nearly folded; the hand over the turret's axis: upper sin B + fore sin C = 0.
    let over_axis = (0.174 * 0.8f32.sin() / 0.133).asin();
    for (b, c) in [(1.0, pi - 1.0 - 1e-6), (1.0, pi - 1.09), (1.2, -1.13), (-0.8, over_axis), (-0.8, over_axis + 0.01)]
    {
        let (jacobian, torques, inverse, contains) = refused(b, c);
        assert_eq!(jacobian, Err(PoseError::Singular), "{b} {c}");
        assert_eq!(torques, Err(PoseError::Singular), "{b} {c}");
        // Rounding may put a stretched arm just out of reach.
        assert!(matches!(inverse, Err(PoseError::Singular | PoseError::OutOfReach)), "{b} {c}: {inverse:?}");
        assert!(!contains);
    }
    // Just within the bound all is well.
    let (jacobian, torques, inverse, contains) = refused(1.0, pi - 1.0 - 0.11);
    assert!(jacobian.is_ok() && torques.is_ok() && inverse.is_ok() && contains);
}

/// The Falcon's lengths with nearly no stops.
fn free_delta() -> DeltaConfig {
    let Some(Kinematics::Delta(falcon)) = &Model::find("falcon").unwrap().kinematics else { panic!("no delta") };
    DeltaConfig { limits: (-3.1, 3.1), depth: (0.01, 0.3), ..*falcon.config() }
}

/// In the middle, v of every leg is the same, and so is the distance that links and shin bridge in the plane of the arm.
fn bridged(config: &DeltaConfig) -> (f64, f64) {
    let v = -config.s + config.f;
    (config.c - config.r, (config.b * config.b - v * v).sqrt() + config.d + config.e)
}

#[test]
fn singular_poses_of_a_delta_are_refused() {
    // A stretched leg: arm and shin in one line, so that a force along it needs no torque and one across it cannot be shown.
    let config = free_delta();
    let delta = Kinematics::Delta(StamperDelta::new(config));
    let (u, rho) = bridged(&config);
    let height = ((config.a + rho).powi(2) - u * u).sqrt();
    for below in [0.0, 1e-5, 2e-4] {
        let z = height - below;
        let far = u.hypot(z);
        let cos: f64 = (far * far + config.a * config.a - rho * rho) / (2.0 * config.a * far);
        let q = Joints([(z.atan2(u) - cos.min(1.0).acos()) as f32; 3]);
        let p = Position::new(0.0, 0.0, (z - config.middle) as f32);
        assert_eq!(delta.jacobian(q, p), Err(PoseError::Singular), "{below}");
        assert_eq!(delta.torques(q, p, Force::new(0.0, 0.0, 1.0)), Err(PoseError::Singular), "{below}");
        let inverse = delta.inverse(p);
        assert!(matches!(inverse, Err(PoseError::Singular | PoseError::OutOfReach)), "{below}: {inverse:?}");
        assert!(!delta.contains(p));
    }

    // All shins in one plane: the platform moves in and out although no motor does. Arms long enough to get there.
    let config = DeltaConfig { a: 0.12, middle: 0.1, ..config };
    let delta = Kinematics::Delta(StamperDelta::new(config));
    let (u, rho) = bridged(&config);
    for lifted in [0.0, 0.002] {
        // The shins slope by `lifted`: the knee at u + rho cos, the platform above it by rho sin.
        let slope: f64 = lifted / rho;
        let q = ((u + rho * slope.cos()) / config.a).acos();
        let z = config.a * q.sin() + rho * slope.sin();
        let p = Position::new(0.0, 0.0, (z - config.middle) as f32);
        assert_eq!(delta.jacobian(Joints([q as f32; 3]), p), Err(PoseError::Singular), "{lifted}");
        assert!(!delta.contains(p));
    }
}

#[test]
fn the_falcon_stands_where_its_source_says() {
    let model = Model::find("falcon").unwrap();
    let (arm, joints) = (model.kinematics.as_ref().unwrap(), model.joints.unwrap());
    let config = free_delta();
    // 35 degrees at count 0, 0.03643 degrees a count.
    let zero = joints.joints([0; 3]);
    assert!(zero.0.iter().all(|q| (q.to_degrees() - 35.0).abs() < 1e-4), "{zero:?}");
    let turned = joints.joints([1000, 0, 0]).0[0].to_degrees();
    assert!((turned - 35.0 - 1000.0 * 0.25 * 14.25 / 110.0 * 360.0 / 320.0).abs() < 1e-3, "{turned}");
    // With all arms alike the platform is on the axis, where knee, links and shin make a triangle.
    let p = arm.forward(zero, None).unwrap();
    let (u, rho) = bridged(&config);
    let q = 35f64.to_radians();
    let z = config.a * q.sin() + (rho * rho - (u - config.a * q.cos()).powi(2)).sqrt();
    assert!(p.0.0[0].abs() < 1e-6 && p.0.0[1].abs() < 1e-6, "{p:?}");
    assert!((f64::from(p.0.0[2]) + config.middle - z).abs() < 1e-6, "{p:?} against {z}");
    // The depth that libnifalcon's examples use: 0.075 to 0.175 m. It is lost a little further on.
    for (z, inside) in [(0.0751, true), (0.125, true), (0.1749, true), (0.19, false), (0.055, false)] {
        assert_eq!(arm.contains(Position::new(0.0, 0.0, z - 0.125)), inside, "{z}");
    }
    // A leg turned out by itself pushes the platform away from it: the first stands at 105 degrees, so y falls.
    let mut one = arm.rest().unwrap();
    one.0[0] += 0.1;
    let p = arm.forward(one, None).unwrap().0.0;
    assert!(p[2] > 0.001 && p[1] < -0.001, "{p:?}");
}

#[test]
fn polhem_and_woodenhaptics_follow_the_formula_of_their_source() {
    // x = cos A (Lb sin B + Lc sin C) - ox and so on, in axes x toward the user, y right, z up; motor angles through capstans.
    let polhem = ([0.058, 0.174, 0.133], [0.180, 0.100, 0.100], [0.14, 0.0, 0.10], -1.0, -5000);
    let wooden = ([0.080, 0.205, 0.245], [0.160, 0.120, 0.120], [0.22, 0.0, 0.08], 1.0, 6000);
    for (id, (length, body, origin, direction, reference)) in [("polhem-v1", polhem), ("woodenhaptics-2015", wooden)] {
        let model = Model::find(id).unwrap();
        let (arm, joints) = (model.kinematics.as_ref().unwrap(), model.joints.unwrap());
        for counts in [[0, 0, 0], [3000, 1000, 500], [-2500, -500, 700], [100, 2000, -800]] {
            let counted: [i32; 3] = [counts[0], counts[1], counts[2] + reference];
            let angle =
                |i: usize| direction * 2.0 * std::f64::consts::PI * f64::from(counted[i]) / 2000.0 * 0.010 / body[i];
            let (a, b, c) = (angle(0), angle(1), angle(2));
            let reach = length[1] * b.sin() + length[2] * c.sin();
            let height = length[0] + length[1] * b.cos() - length[2] * c.cos();
            let theirs = [a.cos() * reach - origin[0], a.sin() * reach - origin[1], height - origin[2]];
            let p = arm.forward(joints.joints(counts), None).unwrap();
            let expected = Position::new(theirs[1] as f32, theirs[2] as f32, theirs[0] as f32);
            assert!(apart(p, expected) < 1e-5, "{id} {counts:?}: {p:?} against {expected:?}");
        }
    }
    // The reference pose by hand: upper arm straight up, forearm level toward the user.
    let polhem = Model::find("polhem-v1").unwrap();
    let p = polhem.kinematics.as_ref().unwrap().forward(polhem.joints.unwrap().joints([0; 3]), None).unwrap();
    assert!(apart(p, Position::new(0.0, 0.058 + 0.174 - 0.10, 0.133 - 0.14)) < 1e-6, "{p:?}");
}

#[test]
fn the_phantom_moves_the_way_its_maker_counts() {
    let model = Model::find("phantom-omni").unwrap();
    let (arm, joints) = (model.kinematics.as_ref().unwrap(), model.joints.unwrap());
    let at = |angles: [f64; 3]| {
        let counts = [0, 1, 2].map(|i| (angles[i] * joints.counts_per_rad[i]).round() as i32);
        arm.forward(joints.joints(counts), None).unwrap().0.0
    };
    // Upper arm level, forearm hanging: the hand 134 mm from the turret's axis, 132.5 mm below the shoulder.
    let hanging = at([0.0; 3]);
    assert!(hanging[0].abs() < 1e-6, "{hanging:?}");
    assert!((hanging[1] - (0.125 - 0.1325 - 0.10)).abs() < 1e-5, "{hanging:?}");
    assert!((hanging[2] - (0.134 - 0.18)).abs() < 1e-5, "{hanging:?}");
    // Raising the upper arm alone keeps the forearm hanging, which is what relative to the ground means.
    let raised = at([0.0, 0.5, 0.0]);
    assert!((raised[1] - hanging[1] - 0.134 * 0.5f32.sin()).abs() < 1e-4, "{raised:?}");
    assert!((raised[2] - hanging[2] - 0.134 * (0.5f32.cos() - 1.0)).abs() < 1e-4, "{raised:?}");
    let out = at([0.0, 0.3, 0.6]);
    assert!(out[2] > at([0.0, 0.3, 0.0])[2] + 0.05, "{out:?}");
    assert!(at([0.3, 0.3, 0.6])[0] > 0.03);
}
