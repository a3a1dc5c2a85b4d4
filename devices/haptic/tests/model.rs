//! Device models: those that are built in are whole and true to their page; a wrong file is refused in one line.

use std::path::Path;

use proptest::prelude::*;
use telehaptic_haptic::{Joints, Model, ModelError, Profile};

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/devices"))
}

fn text(id: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{id}.toml"))).unwrap()
}

#[test]
fn every_file_is_built_in_and_stands_on_the_page() {
    let page = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let mut ids: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    ids.sort();
    let mut built_in: Vec<_> = Model::builtin().iter().map(|model| model.id.clone()).collect();
    built_in.sort();
    assert_eq!(ids, built_in);
    for model in Model::builtin() {
        assert_eq!(&Model::load(&folder().join(format!("{}.toml", model.id))).unwrap(), model);
        assert_eq!(Model::find(&model.id), Some(model));
        assert!(model.source.len() > 40, "{}: say where the figures are from", model.id);
        let limits = &model.limits;
        let row = format!(
            "| `{}` | {} | {} N | {} N/m | {} mm |",
            model.id,
            model.name,
            limits.max_force,
            limits.max_stiffness,
            (limits.workspace_radius * 1000.0).round()
        );
        assert!(page.contains(&row), "assets/devices/README.md lacks: {row}");
    }
    assert_eq!(Model::find("glove"), None);
}

#[test]
fn a_usb_device_is_known_by_its_ids() {
    let id = |vendor, product| Model::for_usb(vendor, product).map(|model| model.id.as_str());
    assert_eq!(id(0x1209, 0x7e57), Some("telehaptic"));
    assert_eq!(id(0x1234, 0x0006), Some("polhem-v1"));
    assert_eq!(id(0x046d, 0xc626), Some("spacemouse"));
    // Closed protocols: seen, but not ours to drive.
    assert_eq!(id(0x0403, 0xcb48), None);
    assert_eq!(id(0x0301, 0x2988), None);
}

#[test]
fn a_device_tells_the_limits_of_its_model() {
    let info = Model::find("falcon").unwrap().info();
    assert_eq!((info.max_force, info.max_stiffness, info.workspace_radius), (8.0, 3000.0, 0.04));
    assert_eq!((info.dead_man, info.shows_force), (4, true));
    let info = Model::find("spacemouse").unwrap().info();
    assert_eq!((info.max_force, info.shows_force), (0.0, false));
    assert!(info.name.contains("no force"));
    assert_eq!(Model::find("phantom-touch").unwrap().info().max_stiffness, 400.0);
    // What is not named gets what a small desktop device bears.
    let generic = Model::find("telehaptic").unwrap().info();
    assert_eq!(generic, telehaptic_haptic::DeviceInfo::desktop("telehaptic device"));
}

#[test]
fn counts_and_angles_are_each_others_inverse() {
    for model in Model::builtin() {
        let Some(joints) = model.joints else { continue };
        for counts in [[0, 0, 0], [1, -1, 2], [1234, -567, 890], [-4000, 4000, -1]] {
            assert_eq!(joints.counts(joints.joints(counts)), counts, "{}", model.id);
        }
        assert_eq!(joints.counts(Joints([f32::NAN, f32::INFINITY, f32::NEG_INFINITY]))[0], 0);
        // The furthest counts there are make finite angles, and back.
        assert!(joints.joints([i32::MIN, i32::MAX, 0]).is_finite());
        assert!(joints.counts(Joints([f32::MAX; 3])).iter().all(|c| [i32::MAX, i32::MIN].contains(c)));
    }
}

#[test]
fn currents_saturate_together_and_keep_the_direction_of_the_force() {
    let motors = Model::find("polhem-v1").unwrap().motors.unwrap();
    let (currents, limited) = motors.currents([0.9684, 0.0, -0.538]);
    assert!((currents[0] + 1.0).abs() < 1e-6 && currents[1] == 0.0 && (currents[2] - 1.0).abs() < 1e-6);
    assert!(!limited);
    assert_eq!(motors.units([0.9684, 0.0, -0.538]), ([-1000, 0, 1000], false));
    let (currents, limited) = motors.currents([9.684, 0.538, 0.0]);
    assert!((currents[0] + 2.0).abs() < 1e-6 && (currents[1] + 0.2).abs() < 1e-6, "{currents:?}");
    assert!(limited);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(motors.units([0.1, bad, 0.1]), ([0; 3], true));
    }
    for model in Model::builtin() {
        let Some(motors) = model.motors else { continue };
        let ([a, b, c], limited) = motors.currents([f32::MAX, -f32::MAX, 1.0]);
        assert!(limited && a.abs() <= 30.0 && b.abs() <= 30.0 && c.is_finite(), "{}", model.id);
    }
}

#[test]
fn the_motors_of_each_arm_can_show_its_force_in_the_middle() {
    // A fifth of the stated peak at least, in each direction: else a factor in the file is wrong.
    for model in Model::builtin() {
        let (Some(arm), Some(motors)) = (&model.kinematics, &model.motors) else { continue };
        let rest = arm.rest().unwrap();
        for axis in 0..3 {
            let mut force = media::Force::ZERO;
            force.0.0[axis] = model.limits.max_force / 5.0;
            let torques = arm.torques(rest, media::Position::ZERO, force).unwrap();
            assert!(!motors.currents(torques).1, "{} axis {axis}: {torques:?}", model.id);
        }
    }
}

#[test]
fn a_spacemouse_moves_right_up_and_toward_the_user() {
    let rate = Model::find("spacemouse").unwrap().rate_control.unwrap();
    assert_eq!(rate.speed([0, 0, 0]), [0.0; 3]);
    assert_eq!(rate.speed([20, -20, 20]), [0.0; 3]);
    let near = |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
    // Reported x right, y toward the user, z down.
    assert!(near(rate.speed([350, 0, 0]), [0.1, 0.0, 0.0]));
    assert!(near(rate.speed([0, 350, 0]), [0.0, 0.0, 0.1]));
    assert!(near(rate.speed([0, 0, 350]), [0.0, -0.1, 0.0]));
    // From zero at the border of the dead zone, and not beyond full speed, also for clones with larger counts.
    assert!(near(rate.speed([185, 0, 0]), [0.05, 0.0, 0.0]));
    assert!(near(rate.speed([i16::MIN, i16::MAX, 21]), [-0.1, -0.1 / 330.0, 0.1]));
}

/// The line of the error that a changed file makes.
fn refused(id: &str, from: &str, to: &str) -> String {
    let text = text(id);
    assert!(text.contains(from), "{id} has no {from}");
    let error = Model::from_toml(id, &text.replacen(from, to, 1)).expect_err(to);
    let line = error.to_string();
    assert!(!line.contains('\n') && line.contains(&format!("{id}.toml")), "{line}");
    line
}

#[test]
fn a_wrong_file_is_refused_in_one_line_that_names_the_key() {
    for (id, from, to, word) in [
        ("falcon", "max_force_n = 8.0", "max_force_n = 800.0", "limits.max_force_n = 800 is out of range: use 0 to 50"),
        ("falcon", "max_force_n = 8.0", "max_force_n = nan", "limits.max_force_n"),
        ("falcon", "max_force_n = 8.0", "max_force_n = 0.0", "limits.continuous_force_n"),
        ("falcon", "continuous_force_n = 2.0", "continuous_force_n = 9.0", "use 0 to 8"),
        ("falcon", "continuous_force_n = 2.0", "continuous_force_n = 0.0", "limits.continuous_force_n"),
        ("falcon", "continuous_force_n = 2.0", "", "continuous_force_n"),
        ("falcon", "a_m = 0.060", "a_m = inf", "kinematics.a_m"),
        ("falcon", "a_m = 0.060", "a_m = 0.060\nq_m = 1.0", "q_m"),
        ("falcon", "a_m = 0.060", "a_m = \"long\"", "falcon.toml, line "),
        ("falcon", "depth_m = [0.065, 0.180]", "depth_m = [0.180, 0.065]", "kinematics.depth_m"),
        ("falcon", "workspace_radius_m = 0.04", "workspace_radius_m = 0.08", "limits.workspace_radius_m"),
        ("falcon", "zero_rad = [0.61", "zero_rad = [2.61", "joints.zero_rad"),
        ("falcon", "sign = [1, 1, 1]", "sign = [1, 0, 1]", "joints.sign"),
        ("falcon", "units_per_amp = 1000.0", "units_per_amp = 20000.0", "motors.max_current_a[0]"),
        ("falcon", "kind = \"delta\"", "kind = \"gamma\"", "gamma"),
        ("falcon", "\"telehaptic-raw\"", "\"telehaptic-cartesian\"", "kinematics has no use"),
        ("falcon", "dead_man_buttons = [2]", "dead_man_buttons = [32]", "limits.dead_man_buttons"),
        ("falcon", "[motors]", "[engines]", "engines"),
        ("phantom-omni", "turret_rad = [-0.98, 0.98]", "turret_rad = [-0.2, 0.2]", "limits.workspace_radius_m"),
        ("phantom-omni", "middle_m = [0.0, 0.10, 0.18]", "middle_m = [0.0, 0.10, 0.9]", "limits.workspace_radius_m"),
        ("phantom-omni", "elbow = \"ground\"", "elbow = \"wall\"", "wall"),
        ("phantom-omni", "name = \"Phantom Omni arm (raw report)\"", "name = \" \"", "name is empty"),
        ("polhem-v1", "vendor = \"1234\"", "vendor = \"+123\"", "usb.vendor"),
        ("polhem-v1", "vendor = \"1234\"", "vendor = \"12345\"", "usb.vendor"),
        ("polhem-v1", "counts_per_rad = [5729", "counts_per_rad = [-5729", "joints.counts_per_rad[0]"),
        ("spacemouse", "max_force_n = 0.0", "max_force_n = 1.0", "limits.max_force_n"),
        ("spacemouse", "axes = [1, -3, 2]", "axes = [1, -3, 3]", "rate_control.axes"),
        ("spacemouse", "axes = [1, -3, 2]", "axes = [1, -128, 2]", "rate_control.axes"),
        ("spacemouse", "dead_zone_counts = 20", "dead_zone_counts = 350", "rate_control.dead_zone_counts"),
        ("telehaptic", "\"telehaptic-cartesian\"", "\"telehaptic-raw\"", "kinematics is missing"),
        ("telehaptic", "\"telehaptic-cartesian\"", "\"spacemouse\"", "rate_control is missing"),
    ] {
        let line = refused(id, from, to);
        assert!(line.contains(word), "{from} -> {to}: {line}");
    }
    let absent = Model::load(Path::new("/nowhere/arm.toml")).unwrap_err();
    assert!(matches!(&absent, ModelError::Read { file, .. } if file == "/nowhere/arm.toml"), "{absent}");
}

#[test]
fn no_number_of_a_file_may_be_absurd() {
    // Each number in turn, in each file: refused, or a model that still holds together.
    for id in Model::builtin().iter().map(|model| &model.id) {
        let text = text(id);
        let start = text.find("[limits]").unwrap();
        let (head, body) = text.split_at(start);
        let numbers: Vec<_> = body
            .match_indices(|c: char| c.is_ascii_digit())
            .map(|(at, _)| at)
            .filter(|&at| body[..at].ends_with([' ', '[', '-']))
            .collect();
        assert!(numbers.len() > 4, "{id}");
        for at in numbers {
            let end = at + body[at..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(body.len() - at);
            let from = if body[..at].ends_with('-') { at - 1 } else { at };
            for absurd in ["nan", "inf", "-inf", "1e300", "-1e300", "99999999999999999999"] {
                let changed = format!("{head}{}{absurd}{}", &body[..from], &body[end..]);
                if let Ok(model) = Model::from_toml(id, &changed) {
                    // A number within a comment.
                    assert_eq!(&model, Model::find(id).unwrap(), "{absurd} at {at}");
                }
            }
        }
    }
}

#[test]
fn profiles_have_the_parts_they_need() {
    for model in Model::builtin() {
        let raw = matches!(model.profile, Profile::TelehapticRaw | Profile::Polhem);
        assert_eq!(model.kinematics.is_some() && model.joints.is_some() && model.motors.is_some(), raw, "{}", model.id);
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(cut in 0usize..2000, insert in "[ -~\n]{0,40}", id in 0usize..7) {
        let model = &Model::builtin()[id];
        let mut text = text(&model.id);
        let mut at = cut.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, &insert);
        if let Err(e) = Model::from_toml(&model.id, &text) {
            prop_assert!(!e.to_string().contains('\n'), "{e}");
        }
    }
}
