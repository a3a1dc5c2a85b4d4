//! The main job on real devices: a virtual machine whose kernel offers a HID device, a camera and a sound card runs a
//! teleoperator and an operator on them. Judged by content: forces, pictures and sound that come out are those that went
//! in.
//!
//! Needs qemu and the tools that make the image (`cargo xtask test` installs them); without them the test says that it
//! was skipped, which `CI=true` makes a failure.

#[path = "vm/account.rs"]
mod account;
#[path = "vm/doctor.rs"]
mod doctor;
#[path = "vm/families.rs"]
mod families;
#[path = "vm/faults.rs"]
mod faults;
#[path = "vm/forces.rs"]
mod forces;
#[path = "vm/machine.rs"]
mod machine;
#[path = "vm/pictures.rs"]
mod pictures;
#[path = "vm/steady.rs"]
mod steady;
#[path = "vm/table.rs"]
mod table;
#[path = "vm/unplug.rs"]
mod unplug;
#[path = "vm/vanish.rs"]
mod vanish;

use std::fs;
use std::path::Path;

/// The tone that is played into the microphone, Hz.
const TONE_HZ: f64 = 440.0;
const RATE: usize = 48_000;

fn skip(reason: &str) {
    println!("skipped: {reason}");
    assert!(std::env::var("CI").is_err(), "with CI set, nothing may be skipped: {reason}");
}

/// The results of a session, its logs printed; `None`: skipped.
fn results(session: &str) -> Option<machine::Results> {
    let run = machine::missing().map_or_else(|| machine::run(session), Err);
    let run = run.map_err(|reason| skip(&reason)).ok()?;
    for entry in fs::read_dir(&run.folder).expect("the results") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if name.ends_with(".log") || name.ends_with(".err") {
            let text = account::read(&run.folder, &name);
            let lines: Vec<&str> = text.lines().collect();
            println!("{name}:\n  {}", lines[lines.len().saturating_sub(9)..].join("\n  "));
        }
    }
    Some(run)
}

fn ended_well(results: &Path, names: &[&str]) {
    for name in names {
        for station in ["op", "top"] {
            let code = account::read(results, &format!("{station}-{name}.code"));
            assert_eq!(code.trim(), "0", "{station}-{name}");
        }
    }
}

#[test]
fn a_session_on_the_devices_of_a_virtual_machine() {
    let Some(run) = results("main") else { return };
    let results = &run.folder;
    ended_well(results, &["main", "unplug"]);
    assert_eq!(account::read(results, "devices.code").trim(), "0");
    devices(&account::read(results, "devices.txt"));
    forces::judge(results);
    pictures::judge(results);
    sound(results);
    unplug::judge(results);
}

#[test]
fn every_family_of_haptic_devices_in_a_virtual_machine() {
    let Some(run) = results("families") else { return };
    let names = ["steady", "phantom-omni", "falcon", "polhem-v1", "spacemouse", "stuck", "slow", "late"];
    ended_well(&run.folder, &names);
    steady::judge(&run.folder);
    families::judge(&run.folder);
    faults::judge(&run.folder);
}

#[test]
fn a_camera_and_a_sound_card_that_vanish_in_a_virtual_machine() {
    let Some(run) = results("vanish") else { return };
    ended_well(&run.folder, &["vanish"]);
    vanish::judge(&run.folder);
}

#[test]
fn doctor_in_a_virtual_machine() {
    let Some(run) = results("doctor") else { return };
    doctor::judge(&run.folder);
}

/// `telehaptic devices` lists all three, by the names that the options take.
fn devices(list: &str) {
    println!("{list}");
    for (what, name) in [
        ("haptic", "hid:1209:7e57:TH-0001"),
        ("camera", "device:0  vivid"),
        ("microphone and speaker", "device:hw:CARD=Loopback,DEV=1"),
    ] {
        assert!(list.lines().any(|line| line.trim_start().starts_with(name)), "no {what} in the list");
    }
}

/// What came out of the speaker is the tone that went into the microphone.
fn sound(results: &Path) {
    let bytes = fs::read(results.join("heard.f32")).expect("a recording");
    let heard: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    // Silence before and after the session is no part of it.
    let begin = heard.iter().position(|s| s.abs() > 0.1).expect("nothing came out of the speaker");
    let end = heard.iter().rposition(|s| s.abs() > 0.1).expect("as above");
    let seconds = (end - begin) as f64 / RATE as f64;
    assert!(seconds > 10.0, "only {seconds:.1} s of sound");
    // Away from the stop, and late: after a start with late pictures the common delay of sound and picture shrinks for
    // some seconds, and sound plays a little faster meanwhile.
    let settled = &heard[begin + RATE..end - RATE];
    let tone = audio::analysis::tone(&settled[settled.len().saturating_sub(4 * RATE)..], RATE as u32);
    println!("sound: {seconds:.1} s, {:.2} Hz, {:.1} dB above the rest", tone.frequency_hz, tone.above_rest_db);
    assert!((tone.frequency_hz - TONE_HZ).abs() < 2.0, "{} Hz", tone.frequency_hz);
    assert!(tone.above_rest_db > 20.0, "{} dB above the rest", tone.above_rest_db);
}
