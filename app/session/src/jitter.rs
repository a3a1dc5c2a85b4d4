//! Sound frames in order and in time: each waits for the moment that the endpoint gave it, one that is missing leaves a
//! gap of 20 ms for the decoder to bridge, one that comes after its turn is dropped.

use std::collections::VecDeque;

use audio::FRAME_TIME;
use media::Instant;

use crate::shared::SoundPacket;

/// Frames that may wait: more than a second.
const ROOM: usize = 64;
/// More missing frames than this in a row are a pause, not a loss to bridge.
const LONGEST_GAP: u64 = 10;

/// What is to be played next.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    /// This.
    Packet(Box<SoundPacket>),
    /// Something that is lost.
    Missing,
}

/// The frames that wait.
pub(crate) struct JitterBuffer {
    waiting: VecDeque<Box<SoundPacket>>,
    /// Number whose turn is next; `None` before the first frame.
    next: Option<u64>,
    late: u64,
}

impl JitterBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        JitterBuffer { waiting: VecDeque::with_capacity(ROOM), next: None, late: 0 }
    }

    /// A new peer counts anew.
    pub fn reset(&mut self) {
        self.waiting.clear();
        self.next = None;
    }

    /// Frames that came after their turn or found no room.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Takes a frame in.
    pub fn put(&mut self, packet: SoundPacket) {
        let past = self.next.is_some_and(|next| packet.number < next);
        let place = self.waiting.partition_point(|p| p.number < packet.number);
        let known = self.waiting.get(place).is_some_and(|p| p.number == packet.number);
        if past || known {
            self.late += 1;
            return;
        }
        if self.waiting.len() == ROOM {
            self.late += 1;
            self.waiting.pop_front();
            self.waiting.insert(place.saturating_sub(1), Box::new(packet));
        } else {
            self.waiting.insert(place, Box::new(packet));
        }
    }

    /// The next frame whose time has come at `now`.
    pub fn take(&mut self, now: Instant) -> Option<Due> {
        let first = self.waiting.front()?;
        let missing = self.next.map_or(0, |next| first.number - next);
        if missing > LONGEST_GAP {
            self.next = Some(first.number);
            return self.take(now);
        }
        // The turn of the oldest missing frame is as many frames before that of the first one here.
        let due = first.at - FRAME_TIME * u32::try_from(missing).unwrap_or(0);
        if now < due {
            return None;
        }
        if missing > 0 {
            self.next = self.next.map(|n| n + 1);
            return Some(Due::Missing);
        }
        let packet = self.waiting.pop_front()?;
        self.next = Some(packet.number + 1);
        Some(Due::Packet(packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u64) -> SoundPacket {
        SoundPacket::new(number, Instant::from_millis(1_000 + 20 * number), &[number as u8; 3]).unwrap()
    }

    /// Plays at 1 kHz from 1000 ms to `until_ms`; numbers as they come, -1 for a gap, with the moment.
    fn play(buffer: &mut JitterBuffer, from_ms: u64, until_ms: u64) -> Vec<(u64, i64)> {
        let mut played = Vec::new();
        for ms in from_ms..until_ms {
            while let Some(due) = buffer.take(Instant::from_millis(ms)) {
                played.push((
                    ms,
                    match due {
                        Due::Packet(p) => p.number as i64,
                        Due::Missing => -1,
                    },
                ));
            }
        }
        played
    }

    #[test]
    fn frames_are_played_in_order_at_their_time_and_gaps_take_their_place() {
        let mut buffer = JitterBuffer::new();
        for number in [1, 0, 4, 2] {
            buffer.put(packet(number));
        }
        assert_eq!(play(&mut buffer, 900, 1_100), [(1_000, 0), (1_020, 1), (1_040, 2), (1_060, -1), (1_080, 4)]);
        // Too late, and twice.
        buffer.put(packet(3));
        buffer.put(packet(5));
        buffer.put(packet(5));
        assert_eq!(buffer.late(), 2);
        assert_eq!(play(&mut buffer, 1_100, 1_200), [(1_100, 5)]);
    }

    #[test]
    fn a_long_pause_is_not_bridged_and_a_new_peer_counts_anew() {
        let mut buffer = JitterBuffer::new();
        buffer.put(packet(0));
        buffer.put(packet(100));
        assert_eq!(play(&mut buffer, 900, 3_100), [(1_000, 0), (3_000, 100)]);
        buffer.reset();
        buffer.put(packet(7));
        assert_eq!(play(&mut buffer, 3_100, 3_101), [(3_100, 7)]);
    }

    #[test]
    fn the_buffer_is_bounded() {
        let mut buffer = JitterBuffer::new();
        for number in 0..1_000 {
            buffer.put(packet(number));
        }
        assert_eq!(buffer.waiting.len(), ROOM);
        assert!(buffer.waiting.iter().zip(buffer.waiting.iter().skip(1)).all(|(a, b)| a.number < b.number));
    }
}
