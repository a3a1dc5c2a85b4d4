//! The media multiplexer: one telehaptic fragment a tick, the haptic sample always, audio strictly before
//! video, never more than p bytes, never padded; and the packet that waits for k of them.

use std::collections::VecDeque;

use media::{Instant, Medium};

use crate::api::FrameIn;
use crate::wire::{FRAME_HEADER, FrameHeader, MAX_PART, MediaHeader};

/// Audio bytes that may wait: half a second and more.
const AUDIO_ROOM: usize = FRAME_HEADER + crate::MAX_AUDIO_FRAME;
/// Video bytes that may wait.
const VIDEO_ROOM: usize = 64_000;
/// Packets that may wait to be sent: a servo that catches up can close several in one instant.
const PACKETS: usize = 80;

/// Packs samples and frames into packets.
#[derive(Debug)]
pub struct Mux {
    /// Bytes of audio and video that fit into a fragment beside its sample.
    room: usize,
    audio: Stream,
    video: Stream,
    /// Frames of both media leave in the order of `turns` (medium, bytes), instead of audio before video.
    first_come: bool,
    turns: VecDeque<(Medium, usize)>,
    /// Number of the next packet of a scheme that skips samples.
    next_number: u16,
    open: OutPacket,
    ready: VecDeque<OutPacket>,
    spare: Vec<OutPacket>,
}

/// A packet on its way out.
#[derive(Clone, Debug)]
pub struct OutPacket {
    /// Fragments so far.
    pub k: u8,
    /// Bit i: the sample of fragment i is in it.
    pub mask: u8,
    /// Number in a scheme that skips samples.
    pub number: Option<u16>,
    /// Tick of the first.
    pub first_index: u64,
    /// Their samples.
    pub samples: Vec<u8>,
    /// Audio stream bytes.
    pub audio: Vec<u8>,
    /// Video stream bytes.
    pub video: Vec<u8>,
    /// Where frames begin; `audio_len` is filled in on sending.
    pub media: MediaHeader,
}

impl OutPacket {
    fn new() -> Self {
        OutPacket {
            k: 0,
            mask: 0,
            number: None,
            first_index: 0,
            samples: Vec::with_capacity(8 * 24),
            audio: Vec::with_capacity(MAX_PART),
            video: Vec::with_capacity(MAX_PART),
            media: MediaHeader::default(),
        }
    }

    fn clear(&mut self) {
        self.k = 0;
        self.mask = 0;
        self.number = None;
        self.samples.clear();
        self.audio.clear();
        self.video.clear();
        self.media = MediaHeader::default();
    }
}

impl Mux {
    /// `fragment_size` is p; `sample_size` the bytes of a sample. A channel without audio and video has p =
    /// sample size.
    pub fn new(fragment_size: usize, sample_size: usize) -> Self {
        Mux {
            room: fragment_size.saturating_sub(sample_size).min(MAX_PART / 8),
            audio: Stream::new(AUDIO_ROOM),
            video: Stream::new(VIDEO_ROOM),
            first_come: false,
            turns: VecDeque::new(),
            next_number: 0,
            open: OutPacket::new(),
            ready: VecDeque::with_capacity(PACKETS),
            spare: (0..4).map(|_| OutPacket::new()).collect(),
        }
    }

    /// Takes an audio frame that tick `tick` may begin to carry; its number, or `None` if there is no room.
    pub fn push_audio(&mut self, now: Instant, tick: u64, frame: FrameIn<'_>) -> Option<u64> {
        self.push(Medium::Audio, now, tick, frame)
    }

    /// The same for a video frame.
    pub fn push_video(&mut self, now: Instant, tick: u64, frame: FrameIn<'_>) -> Option<u64> {
        self.push(Medium::Video, now, tick, frame)
    }

    fn push(&mut self, medium: Medium, now: Instant, tick: u64, frame: FrameIn<'_>) -> Option<u64> {
        if self.room == 0 {
            return None;
        }
        let stream = if medium == Medium::Audio { &mut self.audio } else { &mut self.video };
        let number = stream.push(now, tick, frame)?;
        if self.first_come {
            self.turns.push_back((medium, FRAME_HEADER + frame.payload.len()));
        }
        Some(number)
    }

    /// Closes the fragment of `index` around `sample`; if now at least `k` fragments wait they all leave in one
    /// packet.
    pub fn fragment(&mut self, index: u64, sample: &[u8], k: u8) {
        self.add(index, Some(sample));
        if self.open.k >= k {
            self.flush();
        }
    }

    /// The same in a scheme that skips samples: what waits leaves with a sample, or after `wait` ticks without one. Bytes of
    /// media in the packet that leaves without one.
    pub fn fragment_skipping(&mut self, index: u64, sample: Option<&[u8]>, wait: u8) -> Option<usize> {
        if self.open.k == 0 && sample.is_none() && self.audio.bytes.is_empty() && self.video.bytes.is_empty() {
            return None;
        }
        self.add(index, sample);
        if sample.is_none() && self.open.k < wait {
            return None;
        }
        let alone = (self.open.mask == 0).then_some(self.open.audio.len() + self.open.video.len());
        self.open.number = Some(self.next_number);
        self.next_number = self.next_number.wrapping_add(1);
        self.flush();
        alone
    }

    fn add(&mut self, index: u64, sample: Option<&[u8]>) {
        if self.open.k == 0 {
            self.open.first_index = index;
        }
        if let Some(sample) = sample {
            self.open.mask |= 1 << self.open.k;
            self.open.samples.extend_from_slice(sample);
        }
        self.open.k += 1;
        if self.first_come {
            return self.add_first_come();
        }
        let media = &mut self.open.media;
        let left = self.room - self.audio.take(self.room, &mut self.open.audio, &mut media.audio_start);
        self.video.take(left, &mut self.open.video, &mut media.video_start);
    }

    /// Frames of both media in the order in which they were handed in.
    fn add_first_come(&mut self) {
        let media = &mut self.open.media;
        let mut left = self.room;
        while left > 0
            && let Some(turn) = self.turns.front_mut()
        {
            let room = left.min(turn.1);
            let taken = match turn.0 {
                Medium::Audio => self.audio.take(room, &mut self.open.audio, &mut media.audio_start),
                _ => self.video.take(room, &mut self.open.video, &mut media.video_start),
            };
            left -= taken;
            turn.1 -= taken;
            if turn.1 == 0 || taken == 0 {
                self.turns.pop_front();
            }
        }
    }

    /// From now on audio comes strictly before video, or frames of both first come, first served.
    pub fn set_first_come(&mut self, first_come: bool) {
        if self.first_come != first_come {
            self.first_come = first_come;
            // What waits already keeps audio first.
            self.turns.clear();
            self.turns.push_back((Medium::Audio, self.audio.bytes.len()));
            self.turns.push_back((Medium::Video, self.video.bytes.len()));
        }
    }

    /// The next fragment is of another scheme: lets those that wait leave.
    pub fn finish(&mut self) {
        let whole = self.open.k > 0 && self.open.mask.count_ones() == u32::from(self.open.k);
        if self.open.k > 0 && !whole {
            self.open.number = Some(self.next_number);
            self.next_number = self.next_number.wrapping_add(1);
        }
        self.flush();
    }

    /// Lets the fragments that wait leave: the next one will not follow them.
    pub fn flush(&mut self) {
        if self.open.k > 0 {
            let fresh = self.spare.pop().unwrap_or_else(OutPacket::new);
            self.ready.push_back(std::mem::replace(&mut self.open, fresh));
        }
    }

    /// The next packet to send; give it back by [`Mux::done`].
    pub fn pop(&mut self) -> Option<OutPacket> {
        self.ready.pop_front()
    }

    /// Takes a sent packet's buffers back.
    pub fn done(&mut self, mut packet: OutPacket) {
        if self.spare.len() < 8 {
            packet.clear();
            self.spare.push(packet);
        }
    }

    /// Drops everything that waits (the peer is another, or nobody listens);
    /// how many samples. Frame numbers go on.
    pub fn clear(&mut self) -> u64 {
        let dropped = self.ready.iter().chain([&self.open]).map(|p| u64::from(p.mask.count_ones())).sum();
        self.open.clear();
        self.ready.clear();
        self.audio.clear();
        self.video.clear();
        self.turns.clear();
        dropped
    }

    /// Bytes of audio and video that would leave in a packet with the next fragment.
    pub fn waiting(&self) -> usize {
        let next = self.room.min(self.audio.bytes.len() + self.video.bytes.len());
        self.open.audio.len() + self.open.video.len() + next
    }

    /// Bytes of audio waiting.
    pub fn audio_backlog(&self) -> usize {
        self.audio.bytes.len()
    }

    /// Bytes of video waiting.
    pub fn video_backlog(&self) -> usize {
        self.video.bytes.len()
    }

    /// Video frames of which bytes wait.
    pub fn video_frames_waiting(&self) -> usize {
        self.video.ends.len()
    }
}

/// Frames, each behind its header, as one stream of bytes.
#[derive(Debug)]
struct Stream {
    bytes: VecDeque<u8>,
    /// Bytes that wait up to the end of each waiting frame, relative to `taken`.
    ends: VecDeque<u64>,
    taken: u64,
    pushed: u64,
    /// Where the last frame taken whole ended.
    last_end: u64,
    next_number: u64,
    room: usize,
}

impl Stream {
    fn new(room: usize) -> Self {
        Stream {
            bytes: VecDeque::with_capacity(room),
            ends: VecDeque::with_capacity(64),
            taken: 0,
            pushed: 0,
            last_end: 0,
            next_number: 0,
            room,
        }
    }

    fn push(&mut self, now: Instant, tick: u64, frame: FrameIn<'_>) -> Option<u64> {
        let len = frame.payload.len();
        if len == 0 || len > crate::MAX_FRAME || self.bytes.len() + FRAME_HEADER + len > self.room {
            return None;
        }
        let number = self.next_number;
        self.next_number += 1;
        let age_ms = now.saturating_since(frame.captured_at).as_millis() as u64;
        let header = FrameHeader {
            len: len as u16,
            key: frame.key,
            tick: (tick & ((1 << FrameHeader::TICK_BITS) - 1)) as u16,
            age: (age_ms / FrameHeader::AGE_MS).min(u64::from(FrameHeader::MAX_AGE)) as u8,
            number: number as u16,
        };
        self.bytes.extend(header.emit());
        self.bytes.extend(frame.payload);
        self.pushed += (FRAME_HEADER + len) as u64;
        self.ends.push_back(self.pushed);
        Some(number)
    }

    /// Moves up to `room` bytes to `out`, and notes the first frame start among them.
    fn take(&mut self, room: usize, out: &mut Vec<u8>, start: &mut Option<u16>) -> usize {
        let n = room.min(self.bytes.len());
        if n == 0 {
            return 0;
        }
        if start.is_none() {
            // A frame starts where the one before ended: at the very beginning, or at the first end inside.
            let first_end = self.ends.front().copied().unwrap_or(self.pushed);
            if self.taken == self.last_end {
                *start = Some(out.len() as u16);
            } else if first_end < self.taken + n as u64 {
                *start = Some((out.len() as u64 + first_end - self.taken) as u16);
            }
        }
        let (a, b) = self.bytes.as_slices();
        let from_a = n.min(a.len());
        out.extend_from_slice(&a[..from_a]);
        out.extend_from_slice(&b[..n - from_a]);
        self.bytes.drain(..n);
        self.taken += n as u64;
        while self.ends.front().is_some_and(|&end| end <= self.taken) {
            self.last_end = self.ends.pop_front().unwrap_or(self.taken);
        }
        n
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.taken = self.pushed;
        self.last_end = self.pushed;
    }
}

#[cfg(test)]
mod tests;
