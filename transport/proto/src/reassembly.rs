//! Puts the audio and video streams of a channel back together: packets in order, with a deadline for gaps; frames
//! cut out by their headers; after a gap the next frame start is the one that a packet names.

use media::{Duration, Instant, Medium};

use crate::wire::{FRAME_HEADER, FrameHeader, MediaHeader, Packet};

/// Packets that may wait behind a gap: more and the gap is given up at once.
const PENDING: usize = 128;
/// Buffers kept for reuse.
const POOL: usize = 32;

/// Both streams of one channel.
#[derive(Debug)]
pub struct Reassembly {
    deadline: Duration,
    /// Number that the next packet in order begins with.
    next: Option<u64>,
    pending: Vec<Pending>,
    spare: Vec<Pending>,
    audio: Assembler,
    video: Assembler,
    pool: Vec<Vec<u8>>,
    video_damaged: bool,
}

/// A frame cut out of its stream.
#[derive(Debug)]
pub struct Assembled {
    /// Audio or video.
    pub medium: Medium,
    /// Its header.
    pub header: FrameHeader,
    /// Its full number.
    pub number: u64,
    /// Frames missing just before it.
    pub missing: u64,
    /// Codec bytes.
    pub payload: Vec<u8>,
    /// When its last byte arrived.
    pub received_at: Instant,
}

#[derive(Debug)]
struct Pending {
    first: u64,
    count: u64,
    at: Instant,
    media: MediaHeader,
    audio: Vec<u8>,
    video: Vec<u8>,
}

impl Reassembly {
    /// A gap holds up what follows for at most `deadline`.
    pub fn new(deadline: Duration) -> Self {
        Reassembly {
            deadline,
            next: None,
            pending: Vec::with_capacity(PENDING),
            spare: Vec::new(),
            audio: Assembler::new(Medium::Audio),
            video: Assembler::new(Medium::Video),
            pool: Vec::with_capacity(POOL),
            video_damaged: false,
        }
    }

    /// Forgets everything: the sender is another.
    pub fn reset(&mut self) {
        self.next = None;
        self.spare.append(&mut self.pending);
        self.spare.truncate(PENDING);
        self.audio = Assembler::new(Medium::Audio);
        self.video = Assembler::new(Medium::Video);
    }

    /// A new packet with the numbers `first..first + count`, none of them seen before.
    pub fn on_packet(
        &mut self,
        now: Instant,
        first: u64,
        count: u64,
        packet: &Packet<'_>,
        mut out: impl FnMut(Assembled),
    ) {
        let media = packet.header.media.unwrap_or_default();
        let next = *self.next.get_or_insert(first);
        if first < next {
            // Its gap was given up.
            return;
        }
        if first == next {
            self.feed(now, media, packet.audio, packet.video, &mut out);
            self.next = Some(first + count);
        } else {
            if self.pending.len() == PENDING {
                self.give_up_gap(&mut out);
            }
            let mut slot = self.spare.pop().unwrap_or_else(|| Pending {
                first: 0,
                count: 0,
                at: now,
                media,
                audio: Vec::new(),
                video: Vec::new(),
            });
            slot.audio.clear();
            slot.audio.extend_from_slice(packet.audio);
            slot.video.clear();
            slot.video.extend_from_slice(packet.video);
            (slot.first, slot.count, slot.at, slot.media) = (first, count, now, media);
            let place = self.pending.partition_point(|p| p.first < first);
            self.pending.insert(place, slot);
        }
        self.drain_in_order(&mut out);
    }

    /// Gives up gaps that are overdue at `now`.
    pub fn on_timeout(&mut self, now: Instant, mut out: impl FnMut(Assembled)) {
        while self.due().is_some_and(|at| at <= now) {
            self.give_up_gap(&mut out);
            self.drain_in_order(&mut out);
        }
    }

    /// When the oldest gap is given up.
    pub fn due(&self) -> Option<Instant> {
        self.pending.iter().map(|p| p.at).min().map(|at| at + self.deadline)
    }

    /// Was a video frame cut short since the last call?
    pub fn take_video_damage(&mut self) -> bool {
        std::mem::take(&mut self.video_damaged)
    }

    /// Takes a frame's buffer back.
    pub fn recycle(&mut self, mut payload: Vec<u8>) {
        if self.pool.len() < POOL {
            payload.clear();
            self.pool.push(payload);
        }
    }

    fn give_up_gap(&mut self, out: &mut impl FnMut(Assembled)) {
        let Some(p) = self.pending.first() else { return };
        self.next = Some(p.first);
        self.video_damaged |= self.video.is_inside_frame();
        self.audio.lose_sync();
        self.video.lose_sync();
        self.drain_in_order(out);
    }

    fn drain_in_order(&mut self, out: &mut impl FnMut(Assembled)) {
        while let Some(p) = self.pending.first()
            && self.next.is_some_and(|next| p.first <= next)
        {
            let p = self.pending.remove(0);
            if self.next == Some(p.first) {
                self.feed(p.at, p.media, &p.audio, &p.video, out);
                self.next = Some(p.first + p.count);
            }
            self.spare.push(p);
        }
    }

    fn feed(&mut self, at: Instant, m: MediaHeader, audio: &[u8], video: &[u8], out: &mut impl FnMut(Assembled)) {
        self.audio.feed(at, audio, m.audio_start, &mut self.pool, out);
        self.video.feed(at, video, m.video_start, &mut self.pool, out);
    }
}

/// Cuts one stream into frames.
#[derive(Debug)]
struct Assembler {
    medium: Medium,
    state: State,
    header: [u8; FRAME_HEADER],
    header_len: usize,
    payload: Vec<u8>,
    /// Newest arrival among the bytes of this frame.
    newest: Instant,
    next_number: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Waits for a packet that names a frame start.
    Lost,
    /// Collects a header.
    Header,
    /// Collects the payload of this frame.
    Payload(FrameHeader),
}

impl Assembler {
    fn new(medium: Medium) -> Self {
        Assembler {
            medium,
            state: State::Lost,
            header: [0; FRAME_HEADER],
            header_len: 0,
            payload: Vec::new(),
            newest: Instant::ZERO,
            next_number: None,
        }
    }

    fn is_inside_frame(&self) -> bool {
        matches!(self.state, State::Payload(_)) || self.header_len > 0 && self.state == State::Header
    }

    fn lose_sync(&mut self) {
        self.state = State::Lost;
        self.payload.clear();
    }

    fn begin_frame(&mut self) {
        self.state = State::Header;
        self.header_len = 0;
        self.payload.clear();
        self.newest = Instant::ZERO;
    }

    fn feed(
        &mut self,
        at: Instant,
        bytes: &[u8],
        start: Option<u16>,
        pool: &mut Vec<Vec<u8>>,
        out: &mut impl FnMut(Assembled),
    ) {
        let start = start.map(usize::from);
        let mut pos = 0;
        if self.state == State::Lost || self.next_boundary(bytes) != start {
            // Nothing in hand, or it disagrees with the packet, which knows better.
            self.lose_sync();
            let Some(start) = start else { return };
            pos = start;
            self.begin_frame();
        }
        while pos < bytes.len() {
            self.newest = self.newest.max(at);
            match self.state {
                State::Lost => return,
                State::Header => {
                    let n = (FRAME_HEADER - self.header_len).min(bytes.len() - pos);
                    self.header[self.header_len..self.header_len + n].copy_from_slice(&bytes[pos..pos + n]);
                    self.header_len += n;
                    pos += n;
                    if self.header_len == FRAME_HEADER {
                        match FrameHeader::parse(self.header) {
                            Some(header) => self.state = State::Payload(header),
                            None => return self.lose_sync(),
                        }
                    }
                }
                State::Payload(header) => {
                    let n = (usize::from(header.len) - self.payload.len()).min(bytes.len() - pos);
                    self.payload.extend_from_slice(&bytes[pos..pos + n]);
                    pos += n;
                    if self.payload.len() == usize::from(header.len) {
                        self.finish(header, pool, out);
                    }
                }
            }
        }
    }

    /// Where the frame in hand says that the first frame start inside `bytes` is.
    fn next_boundary(&self, bytes: &[u8]) -> Option<usize> {
        let end = match self.state {
            State::Lost => return None,
            State::Header if self.header_len == 0 => 0,
            State::Header => {
                let rest = FRAME_HEADER - self.header_len;
                let mut header = self.header;
                header[self.header_len..].copy_from_slice(bytes.get(..rest)?);
                rest + usize::from(FrameHeader::parse(header)?.len)
            }
            State::Payload(header) => usize::from(header.len) - self.payload.len(),
        };
        (end < bytes.len()).then_some(end)
    }

    fn finish(&mut self, header: FrameHeader, pool: &mut Vec<Vec<u8>>, out: &mut impl FnMut(Assembled)) {
        let number = match self.next_number {
            None => u64::from(header.number),
            Some(next) => next.saturating_add_signed(i64::from(header.number.wrapping_sub(next as u16) as i16)),
        };
        let missing = self.next_number.map_or(0, |next| number.saturating_sub(next));
        self.next_number = Some(number + 1);
        let payload = std::mem::replace(&mut self.payload, pool.pop().unwrap_or_default());
        let received_at = self.newest;
        self.begin_frame();
        out(Assembled { medium: self.medium, header, number, missing, payload, received_at });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::FrameIn;
    use crate::mux::{Mux, OutPacket};
    use crate::wire::{Header, Notification};
    use proptest::prelude::*;

    fn packet(p: &OutPacket) -> Packet<'_> {
        let media = Some(MediaHeader { audio_len: p.audio.len() as u16, ..p.media });
        let header = Header { k: p.k, index: 0, sent: 0, notification: Notification::NONE, media, skip: None };
        Packet { header, samples: &p.samples, audio: &p.audio, video: &p.video }
    }

    /// Frames of these sizes go into a multiplexer, one audio and one video frame every few ticks; the packets come out.
    fn packets(sizes: &[(usize, usize)], k: u8) -> Vec<OutPacket> {
        let mut mux = Mux::new(70, 12);
        let mut out = Vec::new();
        let mut tick = 0;
        for (i, &(audio, video)) in sizes.iter().enumerate() {
            let fill = |len| vec![i as u8; len];
            mux.push_audio(
                Instant::ZERO,
                tick,
                FrameIn { payload: &fill(audio), key: false, captured_at: Instant::ZERO },
            );
            mux.push_video(
                Instant::ZERO,
                tick,
                FrameIn { payload: &fill(video), key: i == 0, captured_at: Instant::ZERO },
            );
            while mux.video_backlog() > 100 {
                mux.fragment(tick, &[0; 12], k);
                tick += 1;
            }
        }
        for _ in 0..20 {
            mux.fragment(tick, &[0; 12], k);
            tick += 1;
        }
        while let Some(p) = mux.pop() {
            out.push(p);
        }
        out
    }

    proptest! {
        /// Whatever is lost, repeated (filtered before) or reordered within the deadline: every frame that
        /// comes out is whole and right, all of them do without loss, and later ones come after any loss.
        #[test]
        fn frames_are_whole_or_absent(
            sizes in proptest::collection::vec((1usize..200, 1usize..900), 1..30),
            k in 1u8..=8,
            fates in proptest::collection::vec((0u8..10, 0u64..40), 200),
            lossy: bool,
        ) {
            let packets = packets(&sizes, k);
            let mut order: Vec<(u64, usize)> = Vec::new();
            for (i, p) in packets.iter().enumerate() {
                let (fate, delay) = fates[i % fates.len()];
                // The last packets arrive, so that every gap before them ends.
                if !lossy || fate > 1 || i + 3 >= packets.len() {
                    order.push((p.first_index + if fate < 4 { delay } else { 0 }, i));
                }
            }
            order.sort();
            let mut reassembly = Reassembly::new(Duration::from_millis(60));
            reassembly.next = Some(0);
            let mut got: Vec<Assembled> = Vec::new();
            for (at, i) in order {
                let now = Instant::from_millis(at);
                reassembly.on_timeout(now, |a| got.push(a));
                let p = &packets[i];
                reassembly.on_packet(now, p.first_index, u64::from(p.k), &packet(p), |a| got.push(a));
            }
            reassembly.on_timeout(Instant::from_millis(1_000_000), |a| got.push(a));
            for medium in [Medium::Audio, Medium::Video] {
                let mut last = None;
                let mut count = 0;
                for a in got.iter().filter(|a| a.medium == medium) {
                    let i = usize::from(a.header.number);
                    let len = if medium == Medium::Audio { sizes[i].0 } else { sizes[i].1 };
                    prop_assert!(a.payload.len() == len && a.payload.iter().all(|&b| b == i as u8));
                    prop_assert!(last < Some(a.number));
                    last = Some(a.number);
                    count += 1;
                }
                if !lossy {
                    prop_assert_eq!(count, sizes.len());
                }
            }
        }
    }
}
