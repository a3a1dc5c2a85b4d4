//! The frames of one medium from the sender's multiplexer to the receiver's decoder.

use std::collections::VecDeque;

use media::{Instant, Medium};
use proto::table::MediumRow;

use crate::figures::Figures;

/// A frame counts as lost when so many later ones are under way: its number, 16 bits on the wire, would come again.
const MAX_UNDER_WAY: usize = 1 << 16;

/// Frames of one medium of one channel. One counts as sent when its last byte has left: what the multiplexer still
/// holds at the end of a run was never on its way.
#[derive(Debug)]
pub(crate) struct Frames {
    /// Bytes of the stream that the multiplexer took, and that have left.
    taken_bytes: u64,
    left_bytes: u64,
    /// Not yet left to the last byte; `end` counts bytes of the stream.
    waiting: VecDeque<Waiting>,
    under_way: VecDeque<UnderWay>,
    pub figures: Figures,
    /// Only with traces.
    pub rows: Option<Vec<MediumRow>>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    frame: UnderWay,
    end: u64,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    number: u64,
    captured: Instant,
}

impl Frames {
    /// Frames of which figures count those captured from `from` on.
    pub fn new(medium: Medium, from: Instant, traces: bool) -> Self {
        Frames {
            taken_bytes: 0,
            left_bytes: 0,
            waiting: VecDeque::new(),
            under_way: VecDeque::new(),
            figures: Figures::new(medium, from),
            rows: traces.then(Vec::new),
        }
    }

    /// The multiplexer took a frame of so many bytes, its header included.
    pub fn on_taken(&mut self, number: u64, captured: Instant, bytes: u64) {
        self.taken_bytes += bytes;
        self.waiting.push_back(Waiting { frame: UnderWay { number, captured }, end: self.taken_bytes });
    }

    /// So many bytes of the stream left.
    pub fn on_left(&mut self, bytes: usize) {
        self.left_bytes += bytes as u64;
        while let Some(waiting) = self.waiting.pop_front_if(|w| w.end <= self.left_bytes) {
            self.under_way.push_back(waiting.frame);
            if self.under_way.len() > MAX_UNDER_WAY {
                self.lose_first();
            }
        }
    }

    /// A frame is whole: those before it will not come any more. The receiver counts from where it first heard the
    /// sender, so that the number holds modulo 65536.
    pub fn on_received(&mut self, number: u64, at: Instant, display_at: Instant) {
        let Some(place) = self.under_way.iter().position(|f| f.number as u16 == number as u16) else { return };
        for _ in 0..place {
            self.lose_first();
        }
        if let Some(frame) = self.under_way.pop_front() {
            self.settle(frame, Some((at, display_at)));
        }
    }

    /// Nothing more will come.
    pub fn finish(&mut self) {
        while !self.under_way.is_empty() {
            self.lose_first();
        }
    }

    fn lose_first(&mut self) {
        if let Some(frame) = self.under_way.pop_front() {
            self.settle(frame, None);
        }
    }

    fn settle(&mut self, frame: UnderWay, received: Option<(Instant, Instant)>) {
        let received_at = received.map(|(at, _)| at);
        self.figures.settle(frame.captured, received_at, true);
        if let Some(at) = received_at {
            self.figures.on_packet(frame.captured, at);
        }
        if let Some(rows) = &mut self.rows {
            let ns = |at: Instant| at.as_nanos() as i64;
            rows.push(MediumRow {
                index: frame.number,
                capture_ns: ns(frame.captured),
                receive_ns: received_at.map(ns),
                display_ns: received.map(|(_, display_at)| ns(display_at)),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn sent_is_what_left_to_the_last_byte_and_settles_in_order() {
        let mut frames = Frames::new(Medium::Video, ms(0), true);
        for number in 0..4 {
            frames.on_taken(number, ms(40 * number), 100);
        }
        frames.on_left(399);
        frames.on_received(1, ms(90), ms(95));
        frames.on_received(0, ms(91), ms(95));
        frames.finish();
        let report = frames.figures.report();
        assert_eq!((report.sent, report.delivered, report.lost), (3, 1, 2));
        let received: Vec<_> = frames.rows.unwrap().iter().map(|r| (r.index, r.receive_ns)).collect();
        assert_eq!(received, [(0, None), (1, Some(90_000_000)), (2, None)]);
    }
}
