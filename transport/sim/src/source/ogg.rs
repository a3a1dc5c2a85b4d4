//! Opus packets out of an Ogg file (RFC 3533, RFC 7845) of one logical stream, each with its duration (RFC 6716, 3.1).
//!
//! Strict where a cut or damaged file would otherwise pass for a shorter one: checksums, page numbers and the
//! mark of the last page must be right.

use media::Duration;

use super::recording::{Flaw, Part};

/// Fields of a page's header: offsets in bytes.
mod field {
    pub const VERSION: usize = 4;
    pub const FLAGS: usize = 5;
    pub const SERIAL: usize = 14;
    pub const NUMBER: usize = 18;
    pub const CHECKSUM: usize = 22;
    pub const SEGMENTS: usize = 26;
    pub const TABLE: usize = 27;
}

/// Flags of a page.
const CONTINUED: u8 = 1;
const FIRST: u8 = 2;
const LAST: u8 = 4;

/// Frames of a packet, at most (RFC 6716, 3.2.5).
const MAX_PACKET: Duration = Duration::from_millis(120);

/// The packets of sound, one behind the other, and where each ends; none in an empty file.
pub(super) fn opus_packets(file: &[u8]) -> Result<(Vec<u8>, Vec<Part>), Flaw> {
    let mut bytes = Vec::new();
    let mut parts: Vec<Part> = Vec::new();
    // Of the packet that has begun: where in `bytes`, and where its page is in the file.
    let (mut begin, mut begun_at) = (0, None);
    let mut headers = 0;
    let (mut at, mut serial, mut ended) = (0, None, false);
    for number in 0u32.. {
        if at == file.len() {
            break;
        }
        let page = Page::parse(file, at)?;
        let flaw = |what| Err(Flaw { offset: at, what });
        if ended || *serial.get_or_insert(page.serial) != page.serial {
            return flaw("a second stream in the file");
        }
        if page.number != number || (page.flags & FIRST != 0) != (number == 0) {
            return flaw("a page is missing before this one");
        }
        if (page.flags & CONTINUED != 0) != begun_at.is_some() {
            return flaw("the page does not continue the one before it");
        }
        let mut body = page.body;
        for &lacing in page.table {
            let (segment, rest) = body.split_at(usize::from(lacing));
            body = rest;
            let page_at = *begun_at.get_or_insert(at);
            bytes.extend_from_slice(segment);
            if lacing == 255 {
                continue;
            }
            let packet = &bytes[begin..];
            let flaw = |what| Flaw { offset: page_at, what };
            match headers {
                0 | 1 => {
                    let magic = [&b"OpusHead"[..], b"OpusTags"][headers];
                    if !packet.starts_with(magic) {
                        return Err(flaw(
                            ["the stream is not Opus", "the packet of comments (OpusTags) is missing"][headers],
                        ));
                    }
                    headers += 1;
                    bytes.truncate(begin);
                }
                _ => {
                    let lasts = duration(packet).ok_or(flaw("a packet that is not Opus"))?;
                    parts.push(Part { end: bytes.len(), key: false, lasts });
                }
            }
            begin = bytes.len();
            begun_at = None;
        }
        ended = page.flags & LAST != 0;
        at = page.end;
    }
    if at > 0 && (!ended || begun_at.is_some()) {
        return Err(Flaw { offset: at, what: "the stream has no last page: the file is cut" });
    }
    Ok((bytes, parts))
}

/// How long the sound of a packet is; `None` if it cannot be a packet.
fn duration(packet: &[u8]) -> Option<Duration> {
    let (&toc, rest) = packet.split_first()?;
    let frame_us = match toc >> 3 {
        config @ 0..=11 => [10_000, 20_000, 40_000, 60_000][usize::from(config % 4)],
        config @ 12..=15 => [10_000, 20_000][usize::from(config % 2)],
        config => [2_500, 5_000, 10_000, 20_000][usize::from(config % 4)],
    };
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u64::from(rest.first()? & 0x3f),
    };
    let lasts = Duration::from_micros(frame_us * frames);
    (!lasts.is_zero() && lasts <= MAX_PACKET).then_some(lasts)
}

/// One page.
struct Page<'a> {
    flags: u8,
    serial: u32,
    number: u32,
    /// Lengths of the segments; one below 255 ends a packet.
    table: &'a [u8],
    /// All segments.
    body: &'a [u8],
    /// Where the next page is.
    end: usize,
}

impl Page<'_> {
    /// The page at `at`.
    fn parse(file: &[u8], at: usize) -> Result<Page<'_>, Flaw> {
        let flaw = |what| Flaw { offset: at, what };
        let page = &file[at..];
        if page[..page.len().min(4)] != b"OggS"[..page.len().min(4)] {
            return Err(flaw("no Ogg page (OggS)"));
        }
        let cut = || flaw("the file ends within the page that begins here");
        let segments = usize::from(*page.get(field::SEGMENTS).ok_or_else(cut)?);
        let table = page.get(field::TABLE..field::TABLE + segments).ok_or_else(cut)?;
        let length: usize = table.iter().map(|l| usize::from(*l)).sum();
        let (start, end) = (field::TABLE + segments, field::TABLE + segments + length);
        let body = page.get(start..end).ok_or_else(cut)?;
        if page[field::VERSION] != 0 {
            return Err(flaw("an Ogg page of an unknown version"));
        }
        let word = |i: usize| u32::from_le_bytes([page[i], page[i + 1], page[i + 2], page[i + 3]]);
        // The checksum is that of the page with zeros in its place.
        let (before, after) = (&page[..field::CHECKSUM], &page[field::CHECKSUM + 4..end]);
        if checksum([before, &[0; 4], after]) != word(field::CHECKSUM) {
            return Err(flaw("wrong checksum of the page that begins here"));
        }
        let (serial, number) = (word(field::SERIAL), word(field::NUMBER));
        Ok(Page { flags: page[field::FLAGS], serial, number, table, body, end: at + end })
    }
}

/// CRC-32 of polynomial 04c11db7, most significant bit first, from zero (RFC 3533, 6).
fn checksum(parts: [&[u8]; 3]) -> u32 {
    let bytes = parts.into_iter().flatten();
    bytes.fold(0, |crc: u32, byte| crc << 8 ^ CRC[usize::from((crc >> 24) as u8 ^ byte)])
}

const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = (i as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc >> 31 == 1 { crc << 1 ^ 0x04c1_1db7 } else { crc << 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A page with a right checksum.
    fn page(number: u32, flags: u8, serial: u32, table: &[u8], body: &[u8]) -> Vec<u8> {
        let mut page = [&b"OggS\0"[..], &[flags], &[0; 8], &serial.to_le_bytes(), &number.to_le_bytes()].concat();
        page.extend([0; 4]);
        page.push(table.len() as u8);
        page.extend(table);
        page.extend(body);
        let crc = checksum([&page, &[], &[]]);
        page[field::CHECKSUM..field::CHECKSUM + 4].copy_from_slice(&crc.to_le_bytes());
        page
    }

    const HEAD: &[u8] = b"OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0";
    const TAGS: &[u8] = b"OpusTags\0\0\0\0\0\0\0\0";

    /// A file with these packets of 20 ms CELT, each of `sizes` bytes; every page has so many segments.
    fn file(sizes: &[usize], segments: usize) -> (Vec<u8>, Vec<u8>) {
        let packets: Vec<Vec<u8>> = (0..).zip(sizes).map(|(i, &n)| [&[0xf8][..], &vec![i; n - 1]].concat()).collect();
        let body = packets.concat();
        let table: Vec<u8> = sizes.iter().flat_map(|n| [vec![255; n / 255], vec![(n % 255) as u8]].concat()).collect();
        let mut out = [page(0, FIRST, 7, &[HEAD.len() as u8], HEAD), page(1, 0, 7, &[TAGS.len() as u8], TAGS)].concat();
        let (mut at, mut continued) = (0, 0);
        let count = table.len().div_ceil(segments);
        for (i, table) in table.chunks(segments).enumerate() {
            let n: usize = table.iter().map(|l| usize::from(*l)).sum();
            let last = if i + 1 == count { LAST } else { 0 };
            out.extend(page(2 + i as u32, continued | last, 7, table, &body[at..at + n]));
            at += n;
            continued = if table.ends_with(&[255]) { CONTINUED } else { 0 };
        }
        (out, body)
    }

    #[test]
    fn a_known_checksum() {
        // The check value of POSIX cksum, 765e7680, without the inversion at its end.
        assert_eq!(checksum([b"1234", b"56789", b""]), 0x89a1_897f);
    }

    #[test]
    fn packets_come_whole_out_of_any_pages() {
        for segments in [1, 2, 3, 255] {
            let sizes = [1, 254, 255, 256, 510, 1_275, 3];
            let (file, body) = file(&sizes, segments);
            let (bytes, parts) = opus_packets(&file).unwrap();
            assert!(bytes == body);
            let ends: Vec<usize> = parts.iter().map(|p| p.end).collect();
            let wanted: Vec<usize> = sizes
                .iter()
                .scan(0, |end, n| {
                    *end += n;
                    Some(*end)
                })
                .collect();
            assert_eq!(ends, wanted);
            assert!(parts.iter().all(|p| p.lasts == Duration::from_millis(20)));
        }
    }

    #[test]
    fn durations_are_those_of_the_first_bytes() {
        let us = |packet: &[u8]| duration(packet).map(|d| d.as_nanos() as u64 / 1_000);
        for (packet, wanted) in [
            (&[0 << 3][..], Some(10_000)),
            (&[11 << 3], Some(60_000)),
            (&[13 << 3 | 1], Some(40_000)),
            (&[16 << 3], Some(2_500)),
            (&[31 << 3 | 2], Some(40_000)),
            (&[28 << 3 | 3, 48], Some(120_000)),
            (&[31 << 3 | 3, 0x80 | 6], Some(120_000)),
            (&[31 << 3 | 3, 7], None),
            (&[31 << 3 | 3, 0], None),
            (&[3], None),
            (&[], None),
        ] {
            assert_eq!(us(packet), wanted, "{packet:?}");
        }
    }

    #[test]
    fn flaws_name_their_place() {
        let (whole, _) = file(&[600, 20, 20], 2);
        let head = || page(0, FIRST, 7, &[19], HEAD);
        let tags = || page(1, 0, 7, &[16], TAGS);
        let (a, b) = (head().len(), head().len() + tags().len());
        let mut wrong = whole.clone();
        wrong[b + 40] ^= 1;
        let mut version = whole.clone();
        version[4] = 1;
        for (file, offset, what) in [
            (b"RIFF".to_vec(), 0, "no Ogg page"),
            (b"Og".to_vec(), 0, "ends within the page"),
            ([&whole[..], b"junk"].concat(), whole.len(), "no Ogg page"),
            (whole[..whole.len() - 1].to_vec(), whole.len() - 27 - 1 - 20, "ends within the page"),
            (whole[..b].to_vec(), b, "the file is cut"),
            (wrong, b, "wrong checksum"),
            (version, 0, "unknown version"),
            (page(0, FIRST, 7, &[4], b"\x01vor"), 0, "not Opus"),
            ([head(), page(1, LAST, 7, &[1], &[0xf8])].concat(), a, "OpusTags"),
            ([head(), page(1, 0, 8, &[16], TAGS)].concat(), a, "second stream"),
            ([&whole[..], &whole].concat(), whole.len(), "second stream"),
            ([head(), tags(), page(3, LAST, 7, &[1], &[0xf8])].concat(), b, "a page is missing"),
            ([head(), tags(), page(2, CONTINUED | LAST, 7, &[1], &[0xf8])].concat(), b, "does not continue"),
            ([head(), tags(), page(2, LAST, 7, &[1, 0], &[0xf8])].concat(), b, "not Opus"),
        ] {
            let flaw = opus_packets(&file).unwrap_err();
            assert!(flaw.offset == offset && flaw.what.contains(what), "{what} at {offset}: {flaw:?}");
        }
        assert!(opus_packets(&[]).unwrap().1.is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), segments: u8) {
            let _ = opus_packets(&bytes);
            let _ = opus_packets(&[b"OggS\0", &bytes[..]].concat());
            let table: Vec<u8> = bytes.iter().copied().take(segments.into()).collect();
            let length = table.iter().map(|l| usize::from(*l)).sum();
            let body: Vec<u8> = bytes.iter().copied().cycle().take(length).collect();
            let head = [page(0, FIRST, 7, &[19], HEAD), page(1, 0, 7, &[16], TAGS)].concat();
            let _ = opus_packets(&[head, page(2, LAST, 7, &table, &body)].concat());
        }

        #[test]
        fn a_damaged_file_is_never_taken_for_a_whole_one(at: proptest::sample::Index, with in 1u8.., cut: proptest::sample::Index) {
            let (whole, _) = file(&[600, 20, 255, 30], 2);
            let mut damaged = whole.clone();
            damaged[at.index(whole.len())] ^= with;
            prop_assert!(opus_packets(&damaged).is_err());
            prop_assert!(opus_packets(&whole[..cut.index(whole.len()).max(1)]).is_err());
        }
    }
}
