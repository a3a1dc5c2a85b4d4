//! Turret, upper arm and forearm: one set of formulas for the Phantom family, Polhem v1 and WoodenHaptics.
//!
//! In the plane of the arm, with reach `r` from the turret's axis and height `h` above the foot:
//!
//! ```text
//! r = upper sin B + fore sin C          x = r sin A          A  turret: 0 points at the user, positive to the right
//! h = foot + upper cos B - fore cos C   y = h                B  upper arm: from straight up, positive toward the user
//!                                       z = r cos A          C  forearm: from straight down, positive toward the user
//! ```
//!
//! This is Polhem's and WoodenHaptics' formula (forsslund/haptikfabrikenapi, src/kinematics.cpp) with its axes (x toward
//! the user, y right, z up) renamed to ours: x = their y, y = their z, z = their x. The angles of the Phantom's maker are
//! A, 90 deg - B (elevation of the upper arm) and C (already relative to the ground: its elbow is a parallelogram).
//!
//! B + C is the angle inside the elbow. The determinant of the Jacobian is `r upper fore sin(B + C)`: the arm is singular
//! when stretched, folded, or with the hand over the turret.

use media::Position;

use super::linear::Matrix;
use super::{Joints, LIMIT_SLACK, PoseError, checked, finite, position_of, within};

/// What the third joint counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Elbow {
    /// C, the forearm relative to the ground: the motor sits at the foot and drives a parallelogram.
    #[default]
    Ground,
    /// B + C, the angle inside the elbow: the encoder or motor sits in the elbow, between upper arm and forearm.
    UpperArm,
}

/// Lengths and limits of a [`SerialArm`]; m and rad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SerialConfig {
    /// Height of the shoulder above the foot, m.
    pub foot: f64,
    /// Shoulder to elbow, m.
    pub upper: f64,
    /// Elbow to the point that is held, m.
    pub fore: f64,
    /// What the third joint counts.
    pub elbow: Elbow,
    /// Limits of the three joints as they count.
    pub limits: [(f64, f64); 3],
    /// Limits of B + C, the angle inside the elbow, within 0 and 180 deg.
    pub inside_elbow: (f64, f64),
    /// Middle of the workspace: m, axes of the base frame, from the foot of the turret.
    pub middle: [f64; 3],
}

/// The arm.
#[derive(Clone, Debug, PartialEq)]
pub struct SerialArm {
    config: SerialConfig,
}

/// Least |sin(B + C)| and least reach relative to upper arm and forearm together: nearer to a singular pose, a force needs
/// a tenth of the lever arm and the position along it is ten times as coarse.
const SINGULAR: f64 = 0.1;

impl SerialArm {
    /// An arm of these lengths; see `model` for checked ones.
    pub fn new(config: SerialConfig) -> Self {
        SerialArm { config }
    }

    /// Its lengths and limits.
    pub fn config(&self) -> &SerialConfig {
        &self.config
    }

    pub(super) fn joint_limits(&self) -> [(f32, f32); 3] {
        self.config.limits.map(|(low, high)| (low as f32, high as f32))
    }

    pub(super) fn forward(&self, joints: Joints) -> Result<Position, PoseError> {
        let [a, b, c] = self.angles(joints)?;
        let (reach, height) = self.plane(b, c);
        let middle = &self.config.middle;
        Ok(position_of([reach * a.sin() - middle[0], height - middle[1], reach * a.cos() - middle[2]]))
    }

    pub(super) fn inverse(&self, position: Position) -> Result<Joints, PoseError> {
        let SerialConfig { foot, upper, fore, middle, .. } = self.config;
        let p = finite(position)?;
        let [x, y, z] = [p[0] + middle[0], p[1] + middle[1] - foot, p[2] + middle[2]];
        let reach = x.hypot(z);
        let cos_elbow = (upper * upper + fore * fore - reach * reach - y * y) / (2.0 * upper * fore);
        if !(-1.0..=1.0).contains(&cos_elbow) {
            return Err(PoseError::OutOfReach);
        }
        // The elbow points up and away from the user, always: the other solution is beyond its stops.
        let elbow = cos_elbow.acos();
        let (along, across) = (upper - fore * cos_elbow, fore * elbow.sin());
        let b = (reach * along - y * across).atan2(y * along + reach * across);
        let c = elbow - b;
        self.check_singular(reach, elbow)?;
        let q = [x.atan2(z), b, if self.config.elbow == Elbow::Ground { c } else { elbow }];
        within(&q, &self.config.limits)?;
        self.check_elbow(elbow)?;
        Ok(Joints(q.map(|v| v as f32)))
    }

    pub(super) fn jacobian(&self, joints: Joints) -> Result<Matrix, PoseError> {
        let SerialConfig { upper, fore, .. } = self.config;
        let [a, b, c] = self.angles(joints)?;
        let (reach, _) = self.plane(b, c);
        self.check_singular(reach, b + c)?;
        let ((sin_a, cos_a), (sin_b, cos_b), (sin_c, cos_c)) = (a.sin_cos(), b.sin_cos(), c.sin_cos());
        // Reach and height by B and by C; where the third joint counts B + C, moving B alone moves C back.
        let (mut by_b, by_c) = ((upper * cos_b, -upper * sin_b), (fore * cos_c, fore * sin_c));
        if self.config.elbow == Elbow::UpperArm {
            by_b = (by_b.0 - by_c.0, by_b.1 - by_c.1);
        }
        Ok([
            [reach * cos_a, by_b.0 * sin_a, by_c.0 * sin_a],
            [0.0, by_b.1, by_c.1],
            [-reach * sin_a, by_b.0 * cos_a, by_c.0 * cos_a],
        ])
    }

    /// A, B, C of the joints, if they are within their limits.
    fn angles(&self, joints: Joints) -> Result<[f64; 3], PoseError> {
        let [a, b, third] = checked(joints, &self.config.limits)?;
        let c = if self.config.elbow == Elbow::Ground { third } else { third - b };
        self.check_elbow(b + c)?;
        Ok([a, b, c])
    }

    /// Reach and height of the hand.
    fn plane(&self, b: f64, c: f64) -> (f64, f64) {
        let SerialConfig { foot, upper, fore, .. } = self.config;
        (upper * b.sin() + fore * c.sin(), foot + upper * b.cos() - fore * c.cos())
    }

    fn check_elbow(&self, inside: f64) -> Result<(), PoseError> {
        let (low, high) = self.config.inside_elbow;
        if (low - LIMIT_SLACK..=high + LIMIT_SLACK).contains(&inside) {
            Ok(())
        } else {
            Err(PoseError::BeyondLimit { joint: 2 })
        }
    }

    fn check_singular(&self, reach: f64, inside_elbow: f64) -> Result<(), PoseError> {
        let SerialConfig { upper, fore, .. } = self.config;
        if reach > SINGULAR * (upper + fore) && inside_elbow.sin() > SINGULAR {
            Ok(())
        } else {
            Err(PoseError::Singular)
        }
    }
}
