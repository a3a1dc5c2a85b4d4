//! The HID report: what is written can be read, nothing else can, and `assets/devices/telehaptic-hid.md` says the same as
//! the code.

use std::collections::BTreeSet;

use media::{Force, Position};
use proptest::prelude::*;
use telehaptic_haptic::Model;
use telehaptic_haptic::report::{
    IN_ID, IN_SIZE, InRepr, OUT_ID, OUT_SIZE, OutCommand, OutRepr, TEST_PRODUCT, TEST_VENDOR, USAGE, USAGE_PAGE,
    USAGE_RAW,
    descriptor::{self, Direction},
    in_field, out_field, polhem, status,
};

const DOC: &str = include_str!("../../../assets/devices/telehaptic-hid.md");
const RULES: &str = include_str!("../../../assets/devices/70-telehaptic.rules");

proptest! {
    #[test]
    fn in_reports_survive(axes in any::<[i32; 3]>(), time_us: u32, sequence: u16, status: u16) {
        let repr = InRepr { axes, time_us, sequence, status };
        let mut bytes = [0; IN_SIZE];
        repr.emit(&mut bytes);
        prop_assert_eq!(InRepr::parse(&bytes), Some(repr));
    }

    #[test]
    fn out_reports_survive(units in any::<[i16; 3]>(), sequence: u16, command in 0usize..3) {
        let command = [OutCommand::Off, OutCommand::Show, OutCommand::Calibrate][command];
        let repr = OutRepr { units, sequence, command };
        let mut bytes = [0; OUT_SIZE];
        repr.emit(&mut bytes);
        prop_assert_eq!(OutRepr::parse(&bytes), Some(repr));
    }

    #[test]
    fn only_bytes_that_emit_could_have_written_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..70), id in 0u8..4) {
        let mut bytes = bytes;
        for size in [bytes.len(), IN_SIZE, OUT_SIZE] {
            bytes.resize(size, 1);
            if let Some(first) = bytes.first_mut() {
                *first = id;
            }
            if let Some(repr) = InRepr::parse(&bytes) {
                let mut again = [0; IN_SIZE];
                repr.emit(&mut again);
                prop_assert_eq!(&again[..], &bytes[..]);
            }
            if let Some(repr) = OutRepr::parse(&bytes) {
                let mut again = [0; OUT_SIZE];
                repr.emit(&mut again);
                prop_assert_eq!(&again[..], &bytes[..]);
            }
        }
    }

    #[test]
    fn units_are_nanometres_and_millinewtons(m in -2f32..2.0, n in -32f32..32.0) {
        let repr = InRepr { axes: InRepr::nm(Position::new(m, 0.0, -m)), ..InRepr::default() };
        prop_assert!((repr.position().0.0[0] - m).abs() <= 1e-9 + m.abs() * 1e-6);
        let repr = OutRepr { units: OutRepr::mn(Force::new(0.0, n, 0.0)), sequence: 0, command: OutCommand::Show };
        prop_assert!((repr.force().0.0[1] - n).abs() <= 0.000_51);
    }
}

#[test]
fn absurd_quantities_become_what_fits() {
    assert_eq!(InRepr::nm(Position::new(f32::NAN, f32::INFINITY, -9.0)), [0, i32::MAX, i32::MIN]);
    assert_eq!(OutRepr::mn(Force::new(f32::NAN, f32::INFINITY, -99.0)), [0, i16::MAX, i16::MIN]);
}

/// Rows of the table below the heading that starts with `heading`: offset and size.
fn table(heading: &str) -> Vec<(usize, usize)> {
    let section = DOC.split("\n## ").find(|s| s.starts_with(heading)).expect("the heading is there");
    section
        .lines()
        .map(|l| l.split('|').map(str::trim).collect::<Vec<_>>())
        .filter_map(|cells| Some((cells.get(1)?.parse().ok()?, cells.get(2)?.parse().ok()?)))
        .collect()
}

#[test]
fn the_document_has_the_offsets_of_the_code() {
    let range = |r: core::ops::Range<usize>| (r.start, r.len());
    let expected = [
        (in_field::ID, 1),
        range(in_field::AXES),
        range(in_field::TIME),
        range(in_field::SEQUENCE),
        range(in_field::STATUS),
    ];
    assert_eq!(table("IN: report 1, device to host, 21 bytes"), expected);
    assert_eq!((IN_ID, IN_SIZE), (1, 21));
    let expected = [(out_field::ID, 1), range(out_field::UNITS), range(out_field::SEQUENCE), (out_field::COMMAND, 1)];
    assert_eq!(table("OUT: report 2, host to device, 10 bytes"), expected);
    assert_eq!((OUT_ID, OUT_SIZE), (2, 10));
    assert_eq!([OutCommand::Off as u8, OutCommand::Show as u8, OutCommand::Calibrate as u8], [0, 1, 2]);
    for command in ["0 off:", "1 show:", "2 calibrate:"] {
        assert!(DOC.contains(command), "{command}");
    }
}

#[test]
fn the_document_has_the_status_bits_of_the_code() {
    for (bit, name) in [
        (status::READY, "ready"),
        (status::FAULT, "fault"),
        (status::LIMITED, "limited"),
        (status::WATCHDOG, "watchdog"),
    ] {
        let row = format!("| {} | {name} |", bit.trailing_zeros());
        assert!(DOC.contains(&row), "{row}");
    }
    assert!(DOC.contains(&format!("| {}-{} | homed |", status::HOMED_SHIFT, status::HOMED_SHIFT + 2)));
    assert!(DOC.contains(&format!("| {}-15 | buttons |", status::BUTTONS_SHIFT)));
}

#[test]
fn the_document_has_the_descriptors_of_the_code() {
    for (variant, expected) in [("Cartesian", descriptor::CARTESIAN), ("raw", descriptor::RAW)] {
        let section = DOC.split(&format!("## Report descriptor, {variant}, ")).nth(1).expect("its heading");
        let size: usize = section.split(' ').next().unwrap().parse().unwrap();
        let block = section.split("```").nth(1).unwrap();
        let bytes: Vec<u8> = block
            .lines()
            .flat_map(|l| l.split(';').next().unwrap().split_whitespace())
            .map(|b| u8::from_str_radix(b, 16).unwrap())
            .collect();
        assert_eq!(bytes, expected, "{variant}");
        assert_eq!(size, expected.len());
    }
}

#[test]
fn ids_and_usage_stand_in_the_document() {
    assert!(DOC.contains(&format!("usage page {USAGE_PAGE:#06x}, usage {USAGE}, or {USAGE_RAW} for a raw device")));
    assert!(DOC.contains(&format!("vendor {TEST_VENDOR:04x}, product {TEST_PRODUCT:04x}")));
}

#[test]
fn the_rules_give_access_to_every_built_in_device_and_to_nothing_else() {
    let known = Model::builtin().iter().flat_map(|model| &model.usb).map(|id| (id.vendor, id.product));
    let known: BTreeSet<(u16, u16)> = known.chain([(TEST_VENDOR, TEST_PRODUCT)]).collect();
    let expected: BTreeSet<String> = known
        .iter()
        .flat_map(|(vendor, product)| {
            [
                format!(r#"ATTRS{{idVendor}}=="{vendor:04x}", ATTRS{{idProduct}}=="{product:04x}""#),
                format!(r#"KERNELS=="*:{vendor:04X}:{product:04X}.*""#),
            ]
        })
        .map(|ids| format!(r#"KERNEL=="hidraw*", SUBSYSTEM=="hidraw", {ids}, MODE="0660", TAG+="uaccess""#))
        .collect();
    let rules: BTreeSet<String> =
        RULES.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(str::to_owned).collect();
    assert_eq!(rules, expected);
}

#[test]
fn the_descriptors_describe_reports_of_these_sizes() {
    let bits = |bytes: usize| bytes as u32 * 8;
    let ours =
        [(Direction::In, u32::from(IN_ID), bits(IN_SIZE - 1)), (Direction::Out, u32::from(OUT_ID), bits(OUT_SIZE - 1))];
    assert_eq!(descriptor::reports(descriptor::CARTESIAN), ours);
    assert_eq!(descriptor::reports(descriptor::RAW), ours);
    let theirs = [(Direction::In, 0, bits(polhem::SIZE)), (Direction::Out, 0, bits(polhem::SIZE))];
    assert_eq!(descriptor::reports(polhem::DESCRIPTOR), theirs);
}
