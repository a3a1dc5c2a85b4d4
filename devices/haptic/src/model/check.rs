//! Do the parts of a device model fit each other?

use super::{Model, ModelError, Profile};
use crate::kinematics::PoseError;

/// Refuses a model that a device could not be driven by.
pub(super) fn consistent(model: &Model, file: &str) -> Result<(), ModelError> {
    let conflict =
        |key: &str, reason: String| Err(ModelError::Conflict { file: file.to_owned(), key: key.to_owned(), reason });
    let raw = matches!(model.profile, Profile::TelehapticRaw | Profile::Polhem);
    let parts = [
        ("kinematics", model.kinematics.is_some(), raw),
        ("joints", model.joints.is_some(), raw),
        ("motors", model.motors.is_some(), raw),
        ("rate_control", model.rate_control.is_some(), model.profile == Profile::Spacemouse),
    ];
    for (key, is, needed) in parts {
        if is != needed {
            let word = if needed { "is missing, and this profile needs it" } else { "has no use with this profile" };
            return conflict(key, word.to_owned());
        }
    }
    let limits = &model.limits;
    if model.shows_force() {
        for (key, value) in [
            ("limits.max_force_n", limits.max_force),
            ("limits.continuous_force_n", limits.continuous_force),
            ("limits.max_stiffness_n_per_m", limits.max_stiffness),
        ] {
            if value <= 0.0 {
                return conflict(key, "is 0, and this profile shows force: use more".to_owned());
            }
        }
    } else if limits.max_force > 0.0 {
        return conflict("limits.max_force_n", "is not 0, and this profile shows no force: use 0".to_owned());
    }
    let (Some(kinematics), Some(joints)) = (&model.kinematics, &model.joints) else { return Ok(()) };
    let radius = limits.workspace_radius;
    if !kinematics.contains_sphere(radius) {
        return conflict(
            "limits.workspace_radius_m",
            format!("= {radius}: the arm does not reach the whole sphere around kinematics.middle_m: use less"),
        );
    }
    match kinematics.forward(joints.joints([0; 3]), None) {
        Ok(_) | Err(PoseError::Singular) => Ok(()),
        Err(e) => conflict("joints.zero_rad", format!("is a pose that the arm cannot take ({e})")),
    }
}
