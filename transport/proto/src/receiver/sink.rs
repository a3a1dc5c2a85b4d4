//! What becomes of a frame that reassembly has made whole: measured, dated, and passed on.

use media::{Instant, Medium};

use super::{Newest, TICK_NS};
use crate::api::{Event, FrameOut, TraceEvent};
use crate::endpoint::Events;
use crate::meter::MediumMeter;
use crate::playout::AvSync;
use crate::reassembly::Assembled;
use crate::wire::FrameHeader;

/// Where frames go that come out of reassembly.
pub(super) struct FrameSink<'a> {
    pub now: Instant,
    pub offset: Option<i64>,
    pub newest: Option<Newest>,
    pub trace: bool,
    pub meters: &'a mut [MediumMeter; 3],
    pub sync: &'a mut AvSync,
    pub wants_key: &'a mut bool,
    pub events: &'a mut Events,
}

impl FrameSink<'_> {
    /// Takes a frame, with how many of its medium were lost before it.
    pub fn take(&mut self, frame: Assembled) {
        let Some(newest) = self.newest else { return };
        let Assembled { medium, header, number, missing, payload, received_at } = frame;
        // The frame was taken at some tick before the newest, on the peer's clock as many milliseconds ago.
        let ticks_ago = (newest.tick as u16).wrapping_sub(header.tick) & ((1 << FrameHeader::TICK_BITS) - 1);
        let taken_at = newest.sent_at.offset(-i64::from(ticks_ago) * TICK_NS);
        let captured_at = taken_at.offset(-i64::from(header.age) * FrameHeader::AGE_MS as i64 * TICK_NS);
        let raw = (received_at.as_nanos() as i64).wrapping_sub(taken_at.as_nanos());
        let meter = &mut self.meters[medium as usize];
        meter.on_lost(missing);
        meter.on_packet(raw);
        meter.on_delivered(self.offset.map(|o| raw.saturating_add(o)), true);
        if medium == Medium::Video {
            if header.key {
                *self.wants_key = false;
            } else if missing > 0 && !*self.wants_key {
                *self.wants_key = true;
                self.events.push_back(Event::VideoLost);
            }
        }
        let display_at = self.sync.display_at(self.now, captured_at);
        if self.trace {
            let event = TraceEvent::FrameReceived { medium, number, at: received_at, display_at };
            self.events.push_back(Event::Trace(event));
        }
        let key = header.key;
        self.events.push_back(Event::Frame(FrameOut { medium, number, payload, key, captured_at, display_at }));
    }
}
