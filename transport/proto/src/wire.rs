//! The data packet on the wire: offsets, a checked view, and a plain representation. The layout is told in
//! `docs/protocol.md`; a test holds its tables against these constants.

use crate::config::MAX_MERGE;

/// Version in the two high bits of every datagram.
pub const VERSION: u8 = 1;
/// Byte 0: this datagram is a control message.
pub const FLAG_CONTROL: u8 = 0x20;
/// Byte 0: samples are skipped on purpose; a packet number and a mask of samples follow the header.
pub const FLAG_SKIP: u8 = 0x10;
/// Byte 0: the channel carries audio and video; five media bytes follow.
pub const FLAG_MEDIA: u8 = 0x08;
/// Byte 0: k - 1.
pub const MASK_MERGE: u8 = 0x07;

/// Offsets and sizes of the fields, bytes.
pub mod field {
    use core::ops::Range;
    /// Version, flags, k - 1.
    pub const FLAGS: usize = 0;
    /// Tick of the first fragment, low 16 bits.
    pub const INDEX: Range<usize> = 1..3;
    /// Send time in 10 us, low 16 bits.
    pub const SENT: Range<usize> = 3..5;
    /// Delay notification: transit in 10 us (14 bits), index of the measured packet (10 bits).
    pub const NOTIFICATION: Range<usize> = 5..8;
    /// Length of the audio part (9 bits), first audio frame start (9), first video frame start (9), 13 zero bits.
    pub const MEDIA: Range<usize> = 8..13;
}

/// Header bytes on a channel that carries haptics alone.
pub const HEADER: usize = field::NOTIFICATION.end;
/// Header bytes where audio and video ride along.
pub const MEDIA_HEADER: usize = field::MEDIA.end;
/// Bytes that skipping schemes add to the header: packet number (2), mask of samples (1).
pub const SKIP_HEADER: usize = 3;
/// Headers below ours that count on the wire: Ethernet 26, IP 20, UDP 8.
pub const LOWER_HEADERS: u64 = 54;
/// Largest number of audio bytes, and of video bytes, in one packet.
pub const MAX_PART: usize = 8 * 58;
/// "No frame starts in this packet".
const NO_START: u16 = 0x1ff;
/// The 14 bits of a transit.
pub const TRANSIT_MASK: u16 = 0x3fff;
/// The 10 bits of a notified index.
pub const NOTIFIED_MASK: u16 = 0x3ff;

/// What a packet's sender last measured on the opposite channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Receive minus send time in 10 us on two unrelated clocks, modulo 2^14 (163.84 ms): only differences mean
    /// anything.
    pub transit: u16,
    /// Low 10 bits of the first index of the packet that was measured.
    pub index: u16,
}

impl Notification {
    /// "Nothing received yet": the other end believes the name 1023 only after it has seen another.
    pub const NONE: Notification = Notification { transit: 0, index: NOTIFIED_MASK };
}

/// Where audio ends and where frames begin in the media part of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MediaHeader {
    /// Bytes of the audio part; the rest is video.
    pub audio_len: u16,
    /// Offset of the first audio frame that starts in the audio part.
    pub audio_start: Option<u16>,
    /// Offset of the first video frame that starts in the video part.
    pub video_start: Option<u16>,
}

/// What skipping schemes add to the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkipHeader {
    /// Counts packets, low 16 bits.
    pub number: u16,
    /// Bit i: the packet has the sample of its fragment i.
    pub mask: u8,
}

/// The header of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Fragments in the packet, 1 to 8.
    pub k: u8,
    /// Tick of the oldest sample, low 16 bits.
    pub index: u16,
    /// Send time in units of 10 us, low 16 bits.
    pub sent: u16,
    /// Newest measurement of the opposite channel.
    pub notification: Notification,
    /// Present on channels that carry audio and video.
    pub media: Option<MediaHeader>,
    /// Present in schemes that skip samples.
    pub skip: Option<SkipHeader>,
}

/// A data packet taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its header.
    pub header: Header,
    /// k samples; of a skipping scheme as many as its mask has bits.
    pub samples: &'a [u8],
    /// Audio stream bytes.
    pub audio: &'a [u8],
    /// Video stream bytes.
    pub video: &'a [u8],
}

impl Header {
    /// Bytes that [`Header::emit`] writes.
    pub fn size(&self) -> usize {
        let base = if self.media.is_some() { MEDIA_HEADER } else { HEADER };
        base + if self.skip.is_some() { SKIP_HEADER } else { 0 }
    }

    /// Appends the header to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let mut flags = VERSION << 6 | (self.k - 1) & MASK_MERGE;
        if self.media.is_some() {
            flags |= FLAG_MEDIA;
        }
        if self.skip.is_some() {
            flags |= FLAG_SKIP;
        }
        let notification =
            u32::from(self.notification.transit) << 10 | u32::from(self.notification.index & NOTIFIED_MASK);
        out.push(flags);
        out.extend_from_slice(&self.index.to_be_bytes());
        out.extend_from_slice(&self.sent.to_be_bytes());
        out.extend_from_slice(&notification.to_be_bytes()[1..]);
        if let Some(m) = self.media {
            let start = |s: Option<u16>| u64::from(s.unwrap_or(NO_START));
            let bits = u64::from(m.audio_len) << 31 | start(m.audio_start) << 22 | start(m.video_start) << 13;
            out.extend_from_slice(&bits.to_be_bytes()[3..]);
        }
        if let Some(skip) = self.skip {
            out.extend_from_slice(&skip.number.to_be_bytes());
            out.push(skip.mask);
        }
    }

    /// Bit i: the packet has the sample of its fragment i.
    pub fn mask(&self) -> u8 {
        self.skip.map_or(u8::MAX >> (8 - self.k), |s| s.mask)
    }

    /// Reads a header; `None` if it is not a data packet of this version or is too short.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let flags = *bytes.first()?;
        if flags >> 6 != VERSION || flags & FLAG_CONTROL != 0 {
            return None;
        }
        let u16_at = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let n = bytes.get(field::NOTIFICATION)?;
        let n = u32::from_be_bytes([0, n[0], n[1], n[2]]);
        let mut media = None;
        let mut end = HEADER;
        if flags & FLAG_MEDIA != 0 {
            let m = bytes.get(field::MEDIA)?;
            let bits = u64::from_be_bytes([0, 0, 0, m[0], m[1], m[2], m[3], m[4]]);
            let nine = |shift: u32| (bits >> shift & 0x1ff) as u16;
            let start = |shift: u32| Some(nine(shift)).filter(|&s| s != NO_START);
            media = Some(MediaHeader { audio_len: nine(31), audio_start: start(22), video_start: start(13) });
            end = MEDIA_HEADER;
        }
        let skip = match flags & FLAG_SKIP {
            0 => None,
            _ => Some(SkipHeader { number: u16_at(end)?, mask: *bytes.get(end + 2)? }),
        };
        Some(Header {
            k: (flags & MASK_MERGE) + 1,
            index: u16_at(field::INDEX.start)?,
            sent: u16_at(field::SENT.start)?,
            notification: Notification { transit: (n >> 10) as u16 & TRANSIT_MASK, index: n as u16 & NOTIFIED_MASK },
            media,
            skip,
        })
    }
}

impl<'a> Packet<'a> {
    /// Takes a data packet apart, given the size of its samples and whether its channel carries audio and video.
    /// `None` if anything about it is impossible.
    pub fn parse(bytes: &'a [u8], sample_size: usize, with_media: bool) -> Option<Packet<'a>> {
        let header = Header::parse(bytes)?;
        if header.media.is_some() != with_media {
            return None;
        }
        let body = bytes.get(header.size()..)?;
        let count = header.mask().count_ones() as usize;
        let (samples, media) = body.split_at_checked(count * sample_size)?;
        let audio_len = usize::from(header.media.map_or(0, |m| m.audio_len));
        let (audio, video) = media.split_at_checked(audio_len)?;
        let inside = |start: Option<u16>, part: &[u8]| start.is_none_or(|s| usize::from(s) < part.len());
        let m = header.media.unwrap_or_default();
        let possible = header.mask() & !(u8::MAX >> (8 - header.k)) == 0
            && audio.len() <= MAX_PART
            && video.len() <= MAX_PART
            && (with_media || media.is_empty())
            && inside(m.audio_start, audio)
            && inside(m.video_start, video);
        possible.then_some(Packet { header, samples, audio, video })
    }
}

/// Bytes of a frame header in the audio and video streams.
pub const FRAME_HEADER: usize = 6;

/// The header in front of each frame in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes of payload, 1 to 32767.
    pub len: u16,
    /// Decodable without those before it.
    pub key: bool,
    /// Tick at which the multiplexer took the frame, low 11 bits.
    pub tick: u16,
    /// Age of the frame then, in units of 4 ms, 5 bits.
    pub age: u8,
    /// Counts frames, low 16 bits.
    pub number: u16,
}

impl FrameHeader {
    /// Bits of the tick.
    pub const TICK_BITS: u32 = 11;
    /// Unit of the age, ms.
    pub const AGE_MS: u64 = 4;
    /// Largest age that can be said.
    pub const MAX_AGE: u8 = 31;

    /// The six bytes.
    pub fn emit(&self) -> [u8; FRAME_HEADER] {
        let len = self.len << 1 | u16::from(self.key);
        let when = self.tick << 5 | u16::from(self.age & Self::MAX_AGE);
        let [a, b] = len.to_be_bytes();
        let [c, d] = when.to_be_bytes();
        let [e, f] = self.number.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// Reads the six bytes; `None` for an empty frame, which nobody sends.
    pub fn parse(b: [u8; FRAME_HEADER]) -> Option<FrameHeader> {
        let len = u16::from_be_bytes([b[0], b[1]]);
        let when = u16::from_be_bytes([b[2], b[3]]);
        let header = FrameHeader {
            len: len >> 1,
            key: len & 1 == 1,
            tick: when >> 5,
            age: (when & 0x1f) as u8,
            number: u16::from_be_bytes([b[4], b[5]]),
        };
        (header.len > 0).then_some(header)
    }
}

const _: () = assert!(MAX_MERGE as usize == MASK_MERGE as usize + 1);
const _: () = assert!(HEADER == 8 && MEDIA_HEADER == 13);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn start() -> impl Strategy<Value = Option<u16>> {
        proptest::option::of(0u16..0x1ff)
    }

    prop_compose! {
        fn header()(
            k in 1u8..=8, index: u16, sent: u16, transit in 0u16..=TRANSIT_MASK, named in 0u16..=NOTIFIED_MASK,
            media in proptest::option::of((0u16..0x1ff, start(), start())), skip in proptest::option::of((any::<u16>(), any::<u8>())),
        ) -> Header {
            let media = media.map(|(audio_len, audio_start, video_start)| MediaHeader { audio_len, audio_start, video_start });
            let skip = skip.map(|(number, mask)| SkipHeader { number, mask });
            Header { k, index, sent, notification: Notification { transit, index: named }, media, skip }
        }
    }

    proptest! {
        #[test]
        fn headers_round_trip(h in header()) {
            let mut out = Vec::new();
            h.emit(&mut out);
            prop_assert_eq!(out.len(), h.size());
            prop_assert_eq!(Header::parse(&out), Some(h));
            for n in 0..out.len() {
                prop_assert_eq!(Header::parse(&out[..n]), None);
            }
        }

        #[test]
        fn frame_headers_round_trip(len in 1u16..0x8000, key: bool, tick in 0u16..2048, age in 0u8..32, number: u16) {
            let h = FrameHeader { len, key, tick, age, number };
            prop_assert_eq!(FrameHeader::parse(h.emit()), Some(h));
        }

        #[test]
        fn any_bytes_parse_or_do_not_but_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..700)) {
            for (size, media) in [(12, true), (24, false), (12, false)] {
                if let Some(p) = Packet::parse(&bytes, size, media) {
                    prop_assert_eq!(p.header.size() + p.samples.len() + p.audio.len() + p.video.len(), bytes.len());
                }
            }
        }
    }

    #[test]
    fn sizes_are_those_of_the_paper() {
        let media = Some(MediaHeader::default());
        let h = Header { k: 1, index: 0, sent: 0, notification: Notification::NONE, media, skip: None };
        assert_eq!(LOWER_HEADERS as usize + h.size(), 67);
        assert_eq!(LOWER_HEADERS as usize + Header { media: None, ..h }.size(), 62);
    }
}
