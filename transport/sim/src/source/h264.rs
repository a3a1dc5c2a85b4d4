//! Where the access units of an H.264 byte stream begin (ITU-T H.264, annex B and 7.4.1.2.3), without decoding it.
//!
//! A unit begins with the first delimiter, parameter set or SEI message after the slices of the one before, or with a slice whose
//! `first_mb_in_slice` is 0. Streams with arbitrary slice order are not for this parser; each field of an interlaced picture
//! counts as a unit.

use super::recording::Flaw;

/// All NAL units of one picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessUnit {
    /// One after its last byte.
    pub end: usize,
    /// It has an IDR slice.
    pub key: bool,
}

/// `nal_unit_type` (table 7-1).
const SLICE: u8 = 1;
const PARTITION_A: u8 = 2;
const PARTITION_C: u8 = 4;
const IDR: u8 = 5;
/// SEI, sequence and picture parameter sets, delimiter.
const LEADING: std::ops::RangeInclusive<u8> = 6..=9;
/// Prefix NAL unit, subset parameter set and reserved ones that come before a picture, too.
const LEADING_EXTENSIONS: std::ops::RangeInclusive<u8> = 14..=18;

/// The access units of a stream; none in an empty one.
pub(super) fn access_units(bytes: &[u8]) -> Result<Vec<AccessUnit>, Flaw> {
    let mut units = Vec::new();
    // Of the unit that has begun: where, and whether it has slices, and an IDR slice.
    let (mut begin, mut slices, mut key) = (0, false, false);
    let mut at = 0;
    if bytes.is_empty() {
        return Ok(units);
    }
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    if zeros < 2 || bytes.get(zeros) != Some(&1) {
        return Err(Flaw { offset: 0, what: "no start code (00 00 01) at the beginning" });
    }
    while let Some(nal) = next_nal(bytes, at) {
        at = nal.body;
        let flaw = |what| Err(Flaw { offset: nal.body, what });
        let Some(&header) = bytes.get(nal.body) else { return flaw("the file ends after a start code") };
        if header & 0x80 != 0 {
            return flaw("no NAL unit: its forbidden_zero_bit is set");
        }
        let kind = header & 0x1f;
        let is_slice = matches!(kind, SLICE | PARTITION_A | IDR);
        let starts = if is_slice {
            let Some(&first) = bytes.get(nal.body + 1) else {
                return flaw("a slice without contents: the file is cut");
            };
            // ue(v) of zero is a single bit 1.
            first & 0x80 != 0
        } else {
            LEADING.contains(&kind) || LEADING_EXTENSIONS.contains(&kind)
        };
        if starts && slices {
            units.push(AccessUnit { end: nal.start, key });
            (begin, slices, key) = (nal.start, false, false);
        }
        if !slices && (PARTITION_A + 1..=PARTITION_C).contains(&kind) {
            return flaw("a data partition without the one that begins its slice");
        }
        slices |= is_slice;
        key |= kind == IDR;
    }
    if !slices {
        return Err(Flaw { offset: begin, what: "no slice from here to the end of the file" });
    }
    units.push(AccessUnit { end: bytes.len(), key });
    Ok(units)
}

struct Nal {
    /// Its start code, the zero byte before it included.
    start: usize,
    /// Its header.
    body: usize,
}

/// The first NAL unit whose start code begins at `from` or later.
fn next_nal(bytes: &[u8], from: usize) -> Option<Nal> {
    let code = from + bytes.get(from..)?.windows(3).position(|w| w == [0, 0, 1])?;
    let zero_byte = code > from && bytes[code - 1] == 0;
    Some(Nal { start: code - usize::from(zero_byte), body: code + 3 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIRST: u8 = 0x88;
    const LATER: u8 = 0x44;

    /// A stream of these NAL units, the even ones behind start codes of four bytes.
    fn stream(nals: &[&[u8]]) -> Vec<u8> {
        let code = |i: usize| if i.is_multiple_of(2) { &[0, 0, 0, 1][..] } else { &[0, 0, 1] };
        nals.iter().enumerate().flat_map(|(i, nal)| [code(i), nal].concat()).collect()
    }

    fn units(nals: &[&[u8]]) -> Vec<(usize, bool)> {
        access_units(&stream(nals)).unwrap().iter().map(|u| (u.end, u.key)).collect()
    }

    #[test]
    fn units_begin_at_delimiters_parameter_sets_and_first_slices() {
        let (sps, pps, sei, delimiter) = (&[0x67, 1][..], &[0x68, 2][..], &[6, 3][..], &[9, 0xf0][..]);
        let (idr, idr_later, slice, later) =
            (&[0x65, FIRST][..], &[0x65, LATER][..], &[0x41, FIRST][..], &[1, LATER][..]);
        // Two slices of a key frame, one of a predicted one, parameter sets and a key frame again.
        assert_eq!(units(&[sps, pps, idr, idr_later, slice, sps, idr]), [(22, true), (28, false), (39, true)]);
        assert_eq!(units(&[delimiter, slice, later, delimiter, sei, slice]), [(17, false), (33, false)]);
        // What follows the last slice, as an end of sequence or filler does, stays with it.
        assert_eq!(units(&[slice, &[10], &[12, 0xff], slice]), [(16, false), (21, false)]);
        assert_eq!(units(&[&[2, FIRST], &[3, 1], &[4, 1], &[2, FIRST]]), [(17, false), (22, false)]);
    }

    #[test]
    fn flaws_name_their_place() {
        for (bytes, offset, what) in [
            (b"RIFF....AVI".to_vec(), 0, "no start code"),
            (vec![0; 100], 0, "no start code"),
            (vec![0, 0, 0, 1], 4, "ends after a start code"),
            (stream(&[&[0xe5, FIRST]]), 4, "forbidden_zero_bit"),
            (stream(&[&[0x65, FIRST], &[0x41]]), 9, "the file is cut"),
            (stream(&[&[0x65, FIRST], &[0x67, 1]]), 6, "no slice from here"),
            (stream(&[&[0x67, 1]]), 0, "no slice from here"),
            (stream(&[&[4, 1], &[0x65, FIRST]]), 4, "data partition"),
        ] {
            let flaw = access_units(&bytes).unwrap_err();
            assert!(flaw.offset == offset && flaw.what.contains(what), "{bytes:?}: {flaw:?}");
        }
        assert_eq!(access_units(&[]), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_units_cover_them(bytes in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), any::<u8>()], 0..400)) {
            for bytes in [bytes.clone(), [&[0, 0, 1][..], &bytes].concat()] {
                if let Ok(units) = access_units(&bytes) {
                    prop_assert_eq!(units.last().map_or(0, |u| u.end), bytes.len());
                    prop_assert!(units.is_sorted_by(|a, b| a.end < b.end));
                }
            }
        }
    }
}
