//! `assets/devices/telehaptic_hid.h` says the same as the code, and a C compiler takes it.

use std::path::Path;
use std::process::Command;

use telehaptic_haptic::report::{IN_ID, OUT_ID, OutCommand, descriptor, status};

const HEADER: &str = include_str!("../../../assets/devices/telehaptic_hid.h");

/// The value of `#define NAME VALUE`, comments and suffix left out.
fn defined(name: &str) -> u32 {
    let line = HEADER.lines().find(|line| line.split(' ').nth(1) == Some(name));
    let text = line.unwrap_or_else(|| panic!("no {name}")).split(' ').nth(2).expect("a value").trim_end_matches('u');
    let value = text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u32::from_str_radix(hex, 16));
    value.unwrap_or_else(|e| panic!("{name} {text}: {e}"))
}

/// The bytes of a descriptor, as the preprocessor would see them.
fn bytes(name: &str) -> Vec<u8> {
    let after = HEADER.split(&format!("#define {name} \\\n")).nth(1).expect("the macro");
    let mut bytes = Vec::new();
    for line in after.lines() {
        let code = line.split("/*").next().expect("code before the comment");
        bytes.extend(code.split([',', ' ']).filter_map(|b| u8::from_str_radix(b.strip_prefix("0x")?, 16).ok()));
        if !line.ends_with('\\') {
            break;
        }
    }
    bytes
}

#[test]
fn it_has_the_numbers_of_the_code() {
    for (name, value) in [
        ("TELEHAPTIC_IN_ID", u32::from(IN_ID)),
        ("TELEHAPTIC_OUT_ID", u32::from(OUT_ID)),
        ("TELEHAPTIC_READY", u32::from(status::READY)),
        ("TELEHAPTIC_FAULT", u32::from(status::FAULT)),
        ("TELEHAPTIC_LIMITED", u32::from(status::LIMITED)),
        ("TELEHAPTIC_WATCHDOG", u32::from(status::WATCHDOG)),
        ("TELEHAPTIC_OFF", OutCommand::Off as u32),
        ("TELEHAPTIC_SHOW", OutCommand::Show as u32),
        ("TELEHAPTIC_CALIBRATE", OutCommand::Calibrate as u32),
    ] {
        assert_eq!(defined(name), value, "{name}");
    }
    for (name, shift) in [("HOMED(encoder)", status::HOMED_SHIFT), ("BUTTON(button)", status::BUTTONS_SHIFT)] {
        let (_, argument) = name.trim_end_matches(')').split_once('(').expect("an argument");
        let line = format!("#define TELEHAPTIC_{name} ({:#06x}u << ({argument}))", 1 << shift);
        assert!(HEADER.contains(&line), "{line}");
    }
}

#[test]
fn it_has_the_descriptors_of_the_code() {
    for (name, expected) in [("CARTESIAN", descriptor::CARTESIAN), ("RAW", descriptor::RAW)] {
        assert_eq!(bytes(&format!("TELEHAPTIC_{name}_DESCRIPTOR")), expected, "{name}");
        assert_eq!(defined(&format!("TELEHAPTIC_{name}_DESCRIPTOR_SIZE")) as usize, expected.len());
    }
}

/// The assertions in it hold the layout of the structures.
#[test]
fn a_c_compiler_takes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("firmware.c");
    std::fs::write(
        &source,
        "#include \"telehaptic_hid.h\"\n\
         #include \"telehaptic_hid.h\"\n\
         const uint8_t cartesian[] = {TELEHAPTIC_CARTESIAN_DESCRIPTOR};\n\
         const uint8_t raw[] = {TELEHAPTIC_RAW_DESCRIPTOR};\n\
         uint16_t status(void) { return TELEHAPTIC_READY | TELEHAPTIC_HOMED(2) | TELEHAPTIC_BUTTON(7); }\n",
    )
    .expect("a file");
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/devices");
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"])
        .args([&assets, &source])
        .output()
        .expect("cc, which building the dependencies needs too");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
