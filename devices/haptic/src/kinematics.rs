//! From joint angles to the hand and from a force to joint torques, for devices whose reports carry encoder counts.
//!
//! Pure mathematics: no device, no clock, no allocation; safe to call at 1 kHz with any numbers. Positions are in the base
//! frame of the device (x right, y up, z toward the user, origin in the middle of its workspace). Each kinematics says how
//! its own joints are counted and how the axes of its source map to ours. Numbers are f32 at the interface, f64 inside.
//!
//! A pose is refused, never guessed: beyond a joint limit, out of reach, or so near a singular pose that a small force
//! would need a large torque (or, for a delta, that the motors could not hold it).

mod delta;
mod linear;
mod serial;

use media::{Force, Position};

pub use delta::{DeltaConfig, StamperDelta};
pub use serial::{Elbow, SerialArm, SerialConfig};

/// Joint angles, rad, in the order and with the zero that the kinematics documents.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Joints(pub [f32; 3]);

impl Joints {
    /// True if no angle is infinite or not a number.
    pub fn is_finite(self) -> bool {
        self.0.iter().all(|q| q.is_finite())
    }
}

/// Why a pose is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoseError {
    /// A joint is beyond its limits. Remedy: calibrate anew; a real arm cannot be there.
    #[error("joint {joint} is beyond its limits: calibrate the device anew")]
    BeyondLimit {
        /// Which one, 0 to 2.
        joint: u8,
    },
    /// No joint angles lead there. Remedy: ask for a position within the workspace.
    #[error("the position is out of the reach of the arm: use one within its workspace")]
    OutOfReach,
    /// Too near to a pose in which the arm loses a direction. Remedy: move away from the border of the workspace.
    #[error("the arm is stretched or folded: move it toward the middle of its workspace")]
    Singular,
    /// No position was found for the joint angles. Remedy: calibrate anew; the links of a real arm cannot stand so.
    #[error("these joint angles fit no position of the arm: calibrate the device anew")]
    NoConvergence,
    /// An angle, a coordinate or a force is not a finite number.
    #[error("an angle, position or force is not a finite number")]
    NotFinite,
}

/// A kind of arm with its lengths.
#[derive(Clone, Debug, PartialEq)]
pub enum Kinematics {
    /// Turret, upper arm and forearm: Phantom, Polhem, WoodenHaptics.
    Serial(SerialArm),
    /// Three arms with parallelogram shins: Novint Falcon.
    Delta(StamperDelta),
}

impl Kinematics {
    /// Position (m, base frame) of these joint angles. `near` is the last pose, where the delta's search starts (`None`, or
    /// a position that is not within reach: the middle of the workspace).
    ///
    /// # Errors
    /// [`PoseError::BeyondLimit`], [`PoseError::NotFinite`]; for a delta also [`PoseError::NoConvergence`] and
    /// [`PoseError::OutOfReach`]. A serial arm tells its position in singular poses too.
    pub fn forward(&self, joints: Joints, near: Option<Position>) -> Result<Position, PoseError> {
        match self {
            Kinematics::Serial(arm) => arm.forward(joints),
            Kinematics::Delta(delta) => delta.forward(joints, near),
        }
    }

    /// Joint angles that lead to `position` (m, base frame).
    ///
    /// # Errors
    /// Any [`PoseError`] but [`PoseError::NoConvergence`].
    pub fn inverse(&self, position: Position) -> Result<Joints, PoseError> {
        match self {
            Kinematics::Serial(arm) => arm.inverse(position),
            Kinematics::Delta(delta) => delta.inverse(position),
        }
    }

    /// The Jacobian in this pose, m/rad: rows x, y, z, columns joints; a small motion of the joints `dq` moves the hand by
    /// `J dq`. `position` must be that of `joints`; the delta needs it, the serial arm does not look at it.
    ///
    /// # Errors
    /// Any [`PoseError`] but [`PoseError::NoConvergence`].
    pub fn jacobian(&self, joints: Joints, position: Position) -> Result<[[f32; 3]; 3], PoseError> {
        let j = match self {
            Kinematics::Serial(arm) => arm.jacobian(joints),
            Kinematics::Delta(delta) => delta.jacobian(joints, position),
        }?;
        Ok(j.map(|row| row.map(|v| v as f32)))
    }

    /// Joint torques (N m) that show `force` (N, base frame) to the hand in this pose: the transposed Jacobian times the
    /// force, by virtual work. Not limited to what the motors can do.
    ///
    /// # Errors
    /// As [`Kinematics::jacobian`]; [`PoseError::NotFinite`] for a force that is not finite.
    pub fn torques(&self, joints: Joints, position: Position, force: Force) -> Result<[f32; 3], PoseError> {
        if !force.0.is_finite() {
            return Err(PoseError::NotFinite);
        }
        let j = match self {
            Kinematics::Serial(arm) => arm.jacobian(joints),
            Kinematics::Delta(delta) => delta.jacobian(joints, position),
        }?;
        let f = force.0.0.map(f64::from);
        let torques = [0, 1, 2].map(|c| (j[0][c] * f[0] + j[1][c] * f[1] + j[2][c] * f[2]) as f32);
        // A finite force near the end of f32 can still give an infinite torque.
        if torques.iter().all(|t| t.is_finite()) { Ok(torques) } else { Err(PoseError::NotFinite) }
    }

    /// Lowest and highest angle of each joint, rad.
    pub fn joint_limits(&self) -> [(f32, f32); 3] {
        match self {
            Kinematics::Serial(arm) => arm.joint_limits(),
            Kinematics::Delta(delta) => delta.joint_limits(),
        }
    }

    /// Joint angles in the middle of the workspace, the origin of the base frame. `None` if the middle that the
    /// configuration states cannot be reached.
    pub fn rest(&self) -> Option<Joints> {
        self.inverse(Position::ZERO).ok()
    }

    /// Can the arm be at `position` (m, base frame), and can it show a force there?
    pub fn contains(&self, position: Position) -> bool {
        self.inverse(position).and_then(|joints| self.jacobian(joints, position)).is_ok()
    }

    /// Is the whole sphere of this radius (m) around the middle of the workspace reachable? Looked at in 26 directions and
    /// steps of a tenth of the radius: for checking a configuration, not for the servo.
    pub fn contains_sphere(&self, radius: f32) -> bool {
        let signs = [-1.0f32, 0.0, 1.0];
        self.contains(Position::ZERO)
            && signs.iter().all(|&x| {
                signs.iter().all(|&y| {
                    signs.iter().all(|&z| {
                        let norm = (x * x + y * y + z * z).sqrt();
                        norm == 0.0
                            || (1..=10u8).all(|step| {
                                let scale = radius * f32::from(step) / 10.0 / norm;
                                self.contains(Position::new(x * scale, y * scale, z * scale))
                            })
                    })
                })
            })
    }
}

/// Slack of limits, rad: what rounding to f32 does to an angle must not put it beyond its own limit.
const LIMIT_SLACK: f64 = 1e-6;

/// Angles as f64, if all are finite and within `limits`.
fn checked(joints: Joints, limits: &[(f64, f64); 3]) -> Result<[f64; 3], PoseError> {
    if !joints.is_finite() {
        return Err(PoseError::NotFinite);
    }
    let q = joints.0.map(f64::from);
    within(&q, limits)?;
    Ok(q)
}

/// Are the angles within `limits`?
fn within(q: &[f64; 3], limits: &[(f64, f64); 3]) -> Result<(), PoseError> {
    for (joint, (angle, (low, high))) in (0u8..).zip(q.iter().zip(limits)) {
        if !(low - LIMIT_SLACK..=high + LIMIT_SLACK).contains(angle) {
            return Err(PoseError::BeyondLimit { joint });
        }
    }
    Ok(())
}

/// Coordinates as f64, if all are finite.
fn finite(position: Position) -> Result<[f64; 3], PoseError> {
    if position.0.is_finite() { Ok(position.0.0.map(f64::from)) } else { Err(PoseError::NotFinite) }
}

/// The position of these coordinates.
fn position_of(p: [f64; 3]) -> Position {
    Position::new(p[0] as f32, p[1] as f32, p[2] as f32)
}
