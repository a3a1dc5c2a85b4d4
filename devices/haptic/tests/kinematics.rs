//! Every arm that is built in, held to the same rules over its whole workspace; and points known from the sources.

use media::Position;
use telehaptic_haptic::{Kinematics, Model};

/// Arms of all built-in models, with the name and the workspace radius of each.
fn arms() -> Vec<(&'static str, &'static Kinematics, f32)> {
    let arms: Vec<_> = Model::builtin()
        .iter()
        .filter_map(|m| m.kinematics.as_ref().map(|k| (m.id.as_str(), k, m.limits.workspace_radius)))
        .collect();
    assert!(arms.len() >= 5, "{} models have an arm", arms.len());
    arms
}

#[test]
fn the_middle_of_the_workspace_is_the_origin() {
    for (id, arm, _) in arms() {
        let rest = arm.rest().unwrap_or_else(|| panic!("{id}: the middle is out of reach"));
        let back = arm.forward(rest, None).unwrap();
        assert!((back.0 - Position::ZERO.0).norm() < 1e-6, "{id}: {back:?}");
    }
}
