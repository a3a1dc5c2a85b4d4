//! The delta of R. E. Stamper's thesis (University of Maryland, 1997) as the Novint Falcon has it: three arms, each turned
//! by a motor at the base, each with a parallelogram shin to the platform that is held. The platform does not turn.
//!
//! Leg `i` stands at the angle `phi` around z and has its own frame: u outward from the axis, v along the motor's axis, w
//! out of the base (toward the user). With the platform at (x, y, z):
//!
//! ```text
//! u = x cos phi + y sin phi - r + c      from the motor's axis to the end of the shin
//! v = -x sin phi + y cos phi - s + f
//! w = z
//! knee at (a cos q, 0, a sin q); rho = distance of (u, w) from the knee in the plane of the arm
//! (rho - d - e)^2 + v^2 = b^2            the shin of length b swings between two short links d and e
//! ```
//!
//! The names of the lengths are Stamper's, and those of libnifalcon's FalconGeometry.h. A joint angle q is 0 when the arm
//! lies in the plane of the base and points outward, positive when the knee rises out of the base. The Falcon's own axes
//! are ours (x right, y up, z out of the base toward the user); only the origin moves, along z.
//!
//! Angles follow from a position in closed form; the position from angles by Newton's method. What Newton finds is
//! accepted only if its residual is below a nanometre and the closed form leads back to the same angles, so that another
//! way to assemble the legs is never taken for the real one.

use media::Position;

use super::linear::{Matrix, invert, norm, times};
use super::{Joints, PoseError, checked, finite, position_of, within};

/// Lengths and limits of a [`StamperDelta`]; m and rad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeltaConfig {
    /// Arm: from the motor's axis to the knee, m.
    pub a: f64,
    /// Shin, m.
    pub b: f64,
    /// From the end of the shin to the middle of the platform, outward part, m.
    pub c: f64,
    /// Short link between shin and platform, m.
    pub d: f64,
    /// Short link between knee and shin, m.
    pub e: f64,
    /// From the end of the shin to the middle of the platform, part along the motor's axis, m.
    pub f: f64,
    /// From the axis of the base to the motor's axis, outward part, m.
    pub r: f64,
    /// From the axis of the base to the leg, part along the motor's axis, m.
    pub s: f64,
    /// Where the legs stand, rad around z from x toward y.
    pub legs: [f64; 3],
    /// Limits of all three joints, rad.
    pub limits: (f64, f64),
    /// Least and greatest z of the platform above the base, m.
    pub depth: (f64, f64),
    /// z of the middle of the workspace above the base, m.
    pub middle: f64,
}

/// The delta.
#[derive(Clone, Debug, PartialEq)]
pub struct StamperDelta {
    config: DeltaConfig,
    /// Sine and cosine of where the legs stand.
    legs: [(f64, f64); 3],
}

/// Least |sine| of the angle at a knee (arm against shin): beyond, the leg is stretched or folded.
const SINGULAR_KNEE: f64 = 0.1;
/// Least |determinant| of the three shins' unit vectors: below, they are nearly in one plane, and the platform can move
/// although no motor does.
const SINGULAR_SHINS: f64 = 0.05;
/// Steps of Newton's method, from one start.
const MAX_STEPS: u32 = 16;
/// Length of a shin may be wrong by this, m.
const RESIDUAL: f64 = 1e-9;
/// Joint angles of the position found may differ from those given by this, rad: rejects other ways to assemble the legs.
const SAME_ANGLES: f64 = 1e-5;
/// A position given with joint angles may be off by this, m.
const SAME_POSE: f64 = 1e-4;
/// No step is longer than this, m.
const MAX_STEP: f64 = 0.03;

/// One leg in one pose.
#[derive(Clone, Copy, Default)]
struct Leg {
    /// How much longer than the shin the distance it has to bridge is, m: 0 in a possible pose.
    excess: f64,
    /// Unit vector along the shin, in the base frame: gradient of `excess` by position.
    shin: [f64; 3],
    /// -gradient of `excess` by the joint angle, m/rad: lever arm of the joint along the shin.
    lever: f64,
}

impl StamperDelta {
    /// A delta of these lengths; see `model` for checked ones.
    pub fn new(config: DeltaConfig) -> Self {
        StamperDelta { config, legs: config.legs.map(f64::sin_cos) }
    }

    /// Its lengths and limits.
    pub fn config(&self) -> &DeltaConfig {
        &self.config
    }

    pub(super) fn joint_limits(&self) -> [(f32, f32); 3] {
        [(self.config.limits.0 as f32, self.config.limits.1 as f32); 3]
    }

    pub(super) fn forward(&self, joints: Joints, near: Option<Position>) -> Result<Position, PoseError> {
        self.forward_counted(joints, near).map(|(position, _)| position)
    }

    /// As [`StamperDelta::forward`], and how many steps it took.
    pub(super) fn forward_counted(&self, joints: Joints, near: Option<Position>) -> Result<(Position, u32), PoseError> {
        let q = checked(joints, &[self.config.limits; 3])?;
        let knees = q.map(f64::sin_cos);
        let middle = [0.0, 0.0, self.config.middle];
        let near = near.and_then(|p| self.in_base(p).ok());
        let mut steps = 0;
        let found = near
            .and_then(|start| self.search(&q, &knees, start, &mut steps))
            .or_else(|| self.search(&q, &knees, middle, &mut steps))
            .ok_or(PoseError::NoConvergence)?;
        self.check_depth(found[2])?;
        Ok((position_of([found[0], found[1], found[2] - self.config.middle]), steps))
    }

    pub(super) fn inverse(&self, position: Position) -> Result<Joints, PoseError> {
        let p = self.in_base(position)?;
        let q = self.angles(p)?;
        within(&q, &[self.config.limits; 3])?;
        self.check_pose(&q.map(f64::sin_cos), p)?;
        Ok(Joints(q.map(|v| v as f32)))
    }

    pub(super) fn jacobian(&self, joints: Joints, position: Position) -> Result<Matrix, PoseError> {
        let q = checked(joints, &[self.config.limits; 3])?;
        let p = self.in_base(position)?;
        let (legs, inverse) = self.check_pose(&q.map(f64::sin_cos), p)?;
        if legs.iter().any(|leg| leg.excess.abs() > SAME_POSE) {
            return Err(PoseError::OutOfReach);
        }
        // shin . dp = lever dq for each leg.
        Ok(inverse.map(|row| [row[0] * legs[0].lever, row[1] * legs[1].lever, row[2] * legs[2].lever]))
    }

    /// From the base frame to coordinates from the base plate, if it is within the depth of the arm.
    fn in_base(&self, position: Position) -> Result<[f64; 3], PoseError> {
        let [x, y, z] = finite(position)?;
        let z = z + self.config.middle;
        self.check_depth(z)?;
        Ok([x, y, z])
    }

    fn check_depth(&self, z: f64) -> Result<(), PoseError> {
        let (low, high) = self.config.depth;
        if (low - RESIDUAL..=high + RESIDUAL).contains(&z) { Ok(()) } else { Err(PoseError::OutOfReach) }
    }

    /// Joint angles of the platform at `p`, closed form.
    fn angles(&self, p: [f64; 3]) -> Result<[f64; 3], PoseError> {
        let DeltaConfig { a, b, d, e, .. } = self.config;
        let mut q = [0.0; 3];
        for (angle, &leg) in q.iter_mut().zip(&self.legs) {
            let [u, v, w] = self.shin_end(p, leg);
            let swing = b * b - v * v;
            if swing < 0.0 {
                return Err(PoseError::OutOfReach);
            }
            let rho = swing.sqrt() + d + e;
            // The triangle of motor, knee and end of the shin; the knee is outside, away from the axis.
            let far = u.hypot(w);
            let cos = (far * far + a * a - rho * rho) / (2.0 * a * far);
            if !(-1.0..=1.0).contains(&cos) {
                return Err(PoseError::OutOfReach);
            }
            *angle = w.atan2(u) - cos.acos();
        }
        Ok(q)
    }

    /// u, v, w of the end of a shin, from the motor's axis.
    fn shin_end(&self, p: [f64; 3], (sin, cos): (f64, f64)) -> [f64; 3] {
        let DeltaConfig { c, f, r, s, .. } = self.config;
        [p[0] * cos + p[1] * sin - r + c, -p[0] * sin + p[1] * cos - s + f, p[2]]
    }

    /// The three legs with the knees at these (sine, cosine) and the platform at `p`.
    fn legs(&self, knees: &[(f64, f64); 3], p: [f64; 3]) -> Option<[Leg; 3]> {
        let DeltaConfig { a, b, d, e, .. } = self.config;
        let mut legs = [Leg::default(); 3];
        for ((leg, &(sin_q, cos_q)), &(sin, cos)) in legs.iter_mut().zip(knees).zip(&self.legs) {
            let [u, v, w] = self.shin_end(p, (sin, cos));
            let (du, dw) = (u - a * cos_q, w - a * sin_q);
            let rho = du.hypot(dw);
            let bridge = (rho - d - e).hypot(v);
            if !(rho > 0.0 && bridge > 0.0) {
                return None;
            }
            let in_plane = (rho - d - e) / bridge / rho;
            let [nu, nv, nw] = [in_plane * du, v / bridge, in_plane * dw];
            *leg = Leg {
                excess: bridge - b,
                shin: [nu * cos - nv * sin, nu * sin + nv * cos, nw],
                lever: a * (nw * cos_q - nu * sin_q),
            };
        }
        Some(legs)
    }

    /// The legs and the inverse of their shins' matrix, if the pose is not singular.
    fn check_pose(&self, knees: &[(f64, f64); 3], p: [f64; 3]) -> Result<([Leg; 3], Matrix), PoseError> {
        let legs = self.legs(knees, p).ok_or(PoseError::Singular)?;
        if !legs.iter().all(|leg| leg.lever.abs() > SINGULAR_KNEE * self.config.a) {
            return Err(PoseError::Singular);
        }
        let inverse = invert(&legs.map(|leg| leg.shin), SINGULAR_SHINS).ok_or(PoseError::Singular)?;
        Ok((legs, inverse))
    }

    /// Newton's method with step control from `start`; the position from the base plate, verified.
    fn search(&self, q: &[f64; 3], knees: &[(f64, f64); 3], start: [f64; 3], steps: &mut u32) -> Option<[f64; 3]> {
        let mut p = start;
        let mut legs = self.legs(knees, p)?;
        for _ in 0..MAX_STEPS {
            let excess = legs.map(|leg| leg.excess);
            let miss = norm(excess);
            if miss < RESIDUAL {
                let back = self.angles(p).ok()?;
                let same = back.iter().zip(q).all(|(back, q)| (back - q).abs() < SAME_ANGLES);
                return same.then_some(p);
            }
            *steps += 1;
            // Any matrix that can be inverted will do on the way; singular poses are refused where forces are made.
            let step = times(&invert(&legs.map(|leg| leg.shin), 1e-6)?, excess);
            let mut scale = -(MAX_STEP / norm(step)).min(1.0);
            (p, legs) = (0..8).find_map(|_| {
                let next = [0, 1, 2].map(|i| p[i] + scale * step[i]);
                scale /= 2.0;
                let legs = self.legs(knees, next)?;
                (norm(legs.map(|leg| leg.excess)) < miss).then_some((next, legs))
            })?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinematics::Kinematics;
    use crate::model::Model;

    fn falcon() -> &'static StamperDelta {
        match &Model::find("falcon").unwrap().kinematics {
            Some(Kinematics::Delta(delta)) => delta,
            other => panic!("{other:?}"),
        }
    }

    /// A path through the workspace at a constant speed, one point each millisecond: circles that tilt and change depth.
    fn path(speed: f64) -> impl Iterator<Item = Position> {
        (0..20_000).map(move |ms| {
            let way = speed * f64::from(ms) * 1e-3;
            let (turn, tilt) = (way / 0.035, way / 1.7);
            let (sin, cos) = turn.sin_cos();
            let (st, ct) = tilt.sin_cos();
            Position::new((0.035 * cos) as f32, (0.035 * sin * ct) as f32, (0.035 * sin * st) as f32)
        })
    }

    #[test]
    fn from_the_last_millisecond_three_steps_are_enough() {
        let delta = falcon();
        for (speed, most) in [(0.1, 2), (2.0, 3)] {
            let mut last = None;
            let mut worst = 0;
            for p in path(speed) {
                let (found, steps) = delta.forward_counted(delta.inverse(p).unwrap(), last).unwrap();
                assert!((found.0 - p.0).norm() < 1e-6, "{p:?} {found:?}");
                if last.is_some() {
                    worst = worst.max(steps);
                }
                last = Some(found);
            }
            assert_eq!(worst, most, "at {speed} m/s");
        }
    }

    #[test]
    fn from_the_middle_few_steps_are_enough_everywhere() {
        let delta = falcon();
        let at = |i: i32| i as f32 * 0.005;
        let mut worst = 0;
        for n in 0..21 * 21 * 21 {
            let p = Position::new(at(n % 21 - 10), at(n / 21 % 21 - 10), at(n / 441 - 10));
            let Ok(q) = delta.inverse(p) else { continue };
            let (_, steps) = delta.forward_counted(q, None).unwrap();
            worst = worst.max(steps);
        }
        assert!((3..=8).contains(&worst), "{worst} steps");
    }

    #[test]
    fn legs_that_cannot_meet_give_an_error_and_not_the_last_pose() {
        // Shins too short for arms that lie flat: the knees stand further from the axis than links and shin reach.
        let short = StamperDelta::new(DeltaConfig { b: 0.05, middle: 0.08, ..*falcon().config() });
        for near in [None, Some(Position::ZERO), Some(Position::new(0.02, -0.01, 0.03))] {
            assert_eq!(short.forward(Joints([0.0; 3]), near), Err(PoseError::NoConvergence), "{near:?}");
        }
        // One arm swung far out and two folded in: the platform would be within the base.
        assert_eq!(falcon().forward(Joints([1.7, -1.0, -1.0]), None), Err(PoseError::OutOfReach));
    }
}
