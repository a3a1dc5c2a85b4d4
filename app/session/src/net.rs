//! What the network thread does besides the socket: feeds the endpoint from the queues of the other threads and
//! deals its events out. In steady state it takes no lock, allocates nothing and logs nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use haptic::Received;
use media::{Duration, HapticSample, Instant, Medium};
use proto::stats::Stats;
use proto::{Command, Event, FrameIn, FrameOut, Input as EndpointInput};
use rtrb::{Consumer, Producer};
use triple_buffer::Input;

use crate::shared::{NetSlot, Note, PicturePacket, ServoSample, Shared, SoundPacket, count};
use crate::trace::{Counters, LinkEvent, Record};

/// Time between looks at the endpoint's statistics.
pub(crate) const STATS_EVERY: Duration = Duration::from_millis(20);

/// The network thread's side of all queues.
pub(crate) struct Exchange {
    pub shared: Arc<Shared>,
    pub samples: Consumer<ServoSample>,
    pub commands: Consumer<Command>,
    /// TOP: encoded sound to send.
    pub sound_out: Option<Consumer<SoundPacket>>,
    /// TOP: encoded pictures to send, and their buffers on the way back.
    pub picture_out: Option<(Consumer<PicturePacket>, Producer<Vec<u8>>)>,
    /// OP: received sound.
    pub sound_in: Option<Producer<SoundPacket>>,
    /// OP: received pictures, and spare buffers.
    pub picture_in: Option<(Producer<PicturePacket>, Consumer<Vec<u8>>)>,
    pub newest: Input<Option<Received<HapticSample>>>,
    pub slot: Input<NetSlot>,
    pub notes: Producer<Note>,
    pub trace: Option<Producer<Record>>,
    /// What the peer was last told about force here.
    pub(crate) told_stop: bool,
    /// Goodbye has been said.
    pub(crate) left: bool,
}

impl Exchange {
    /// Passes everything that waits to the endpoint. Frames come before the sample of the same moment, which closes the
    /// fragment.
    pub fn pass_on(&mut self, now: Instant, push: &mut dyn FnMut(Instant, EndpointInput<'_>)) {
        while let Ok(command) = self.commands.pop() {
            push(now, EndpointInput::Command(command));
        }
        let stop = self.shared.stopped_here.load(Ordering::Acquire) || self.shared.device_fault.load(Ordering::Acquire);
        if stop != self.told_stop && self.shared.connected.load(Ordering::Acquire) {
            self.told_stop = stop;
            push(now, EndpointInput::Command(Command::EmergencyStop(stop)));
        }
        if self.shared.key_missing.swap(false, Ordering::AcqRel) {
            push(now, EndpointInput::Command(Command::RequestKeyFrame));
        }
        if let Some(sound) = &mut self.sound_out {
            while let Ok(packet) = sound.pop() {
                let frame = FrameIn { payload: packet.payload(), key: false, captured_at: packet.at };
                push(now, EndpointInput::Audio(frame));
            }
        }
        if let Some((pictures, spare)) = &mut self.picture_out {
            while let Ok(packet) = pictures.pop() {
                let frame = FrameIn { payload: &packet.payload, key: packet.key, captured_at: packet.at };
                push(now, EndpointInput::Video(frame));
                // As many buffers exist as the ring has room for.
                let _ = spare.push(packet.payload);
            }
        }
        while let Ok(s) = self.samples.pop() {
            push(s.at, EndpointInput::Haptic { tick: s.tick, sample: s.sample });
        }
        if !self.left && self.shared.goodbye.load(Ordering::Acquire) {
            self.left = true;
            push(now, EndpointInput::Command(Command::Goodbye));
        }
    }

    /// Deals out one event of the endpoint.
    pub fn deal_out(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Haptic { sample, .. } => {
                if !self.left {
                    self.newest.write(Some(Received { value: *sample, at: now }));
                }
            }
            Event::Frame(frame) => self.on_frame(frame),
            Event::VideoLost => {
                self.shared.video_losses.fetch_add(1, Ordering::Release);
            }
            Event::KeyFrameRequested => self.shared.key_wanted.store(true, Ordering::Release),
            Event::Connected { session, address, coupling } => {
                // Before the servo learns of the connection.
                self.shared.coupling.store(coupling.code(), Ordering::Release);
                self.shared.peer_session.store(*session, Ordering::Release);
                self.shared.stopped_there.store(false, Ordering::Release);
                self.shared.key_wanted.store(true, Ordering::Release);
                self.shared.connection.fetch_add(1, Ordering::Release);
                self.shared.connected.store(true, Ordering::Release);
                // A new peer knows of no stop yet.
                self.told_stop = false;
                self.link(now, LinkEvent::Connected, *session);
                self.note(Note::Connected(*address, *coupling));
            }
            Event::Moved(address) => self.note(Note::Moved(*address)),
            Event::Silent => {
                self.link(now, LinkEvent::Silent, 0);
                self.note(Note::Silent);
            }
            Event::Resumed => {
                self.link(now, LinkEvent::Resumed, 0);
                self.note(Note::Resumed);
            }
            Event::Goodbye => {
                self.shared.connected.store(false, Ordering::Release);
                self.link(now, LinkEvent::Goodbye, 0);
                self.note(Note::Goodbye);
            }
            Event::EmergencyStop(on) => {
                self.shared.stopped_there.store(*on, Ordering::Release);
                self.note(Note::StoppedThere(*on));
            }
            Event::SchemeChanged(scheme) => self.note(Note::Scheme(*scheme)),
            Event::Trace(fact) => self.record(Record::Event(*fact)),
        }
    }

    /// Publishes the endpoint's statistics.
    pub fn publish(&mut self, now: Instant, stats: Stats, kernel_drops: u64) {
        self.shared.video_waiting.store(stats.transmit.video_frames_waiting, Ordering::Relaxed);
        self.shared.loop_delay_us.store(loop_delay_us(&stats), Ordering::Relaxed);
        let t = &stats.transmit;
        let counters = Counters { at: now, packets: t.packets, wire_bytes: t.wire_bytes, i_c: t.i_c, i_s: t.i_s };
        self.record(Record::Counters(counters));
        self.slot.write(NetSlot { at: now, stats, kernel_drops });
    }

    fn on_frame(&mut self, frame: &FrameOut) {
        match frame.medium {
            Medium::Audio => {
                let Some(ring) = &mut self.sound_in else { return };
                let packet = SoundPacket::new(frame.number, frame.display_at, &frame.payload);
                if packet.is_none_or(|p| ring.push(p).is_err()) {
                    count(&self.shared.dropped.audio);
                }
            }
            Medium::Video => {
                let Some((ring, spare)) = &mut self.picture_in else { return };
                let taken = spare.pop().is_ok_and(|mut payload| {
                    payload.clear();
                    payload.extend_from_slice(&frame.payload);
                    ring.push(PicturePacket { at: frame.display_at, key: frame.key, payload }).is_ok()
                });
                if !taken {
                    // The decoder's next frame lacks this one.
                    count(&self.shared.dropped.video);
                    self.shared.key_missing.store(true, Ordering::Release);
                    self.shared.video_losses.fetch_add(1, Ordering::Release);
                }
            }
            Medium::Haptic => {}
        }
    }

    fn link(&mut self, at: Instant, event: LinkEvent, session: u32) {
        self.record(Record::Link { at, event, session });
    }

    fn record(&mut self, record: Record) {
        if let Some(trace) = &mut self.trace
            && trace.push(record).is_err()
        {
            count(&self.shared.dropped.trace);
        }
    }

    fn note(&mut self, note: Note) {
        if self.notes.push(note).is_err() {
            count(&self.shared.dropped.notes);
        }
    }
}

/// Delay of the control loop, us, as far as it is known: both ways with packetization, and the display buffers (that of
/// the peer taken to be like ours); 0 if not. The offset of the two clocks cancels out.
fn loop_delay_us(stats: &Stats) -> u32 {
    let (Some(there), Some(back)) = (stats.transmit.delay_ms, stats.receive.delay_ms) else { return 0 };
    let ms = there + back + 2.0 * stats.receive.playout_depth as f64;
    // Saturates; a delay that is no number becomes 0.
    (ms * 1e3).max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::Motion;
    use proto::Address;
    use rtrb::RingBuffer;
    use triple_buffer::{Output, triple_buffer};

    struct Bench {
        exchange: Exchange,
        samples: Producer<ServoSample>,
        sound: Producer<SoundPacket>,
        picture: Producer<PicturePacket>,
        spare: Consumer<Vec<u8>>,
        newest: Output<Option<Received<HapticSample>>>,
    }

    fn bench() -> Bench {
        let (samples, samples_out) = RingBuffer::new(8);
        let (sound, sound_out) = RingBuffer::new(8);
        let (picture, picture_out) = RingBuffer::new(8);
        let (spare_in, spare) = RingBuffer::new(8);
        let (newest_in, newest) = triple_buffer(&None);
        let exchange = Exchange {
            shared: Arc::new(Shared::default()),
            samples: samples_out,
            commands: RingBuffer::new(4).1,
            sound_out: Some(sound_out),
            picture_out: Some((picture_out, spare_in)),
            sound_in: None,
            picture_in: None,
            newest: newest_in,
            slot: triple_buffer(&NetSlot::default()).0,
            notes: RingBuffer::new(8).0,
            trace: None,
            told_stop: false,
            left: false,
        };
        Bench { exchange, samples, sound, picture, spare, newest }
    }

    fn passed(bench: &mut Bench) -> Vec<String> {
        let mut seen = Vec::new();
        bench.exchange.pass_on(Instant::from_millis(9), &mut |at, input| {
            let word = match input {
                EndpointInput::Command(c) => format!("{c:?}"),
                EndpointInput::Audio(f) => format!("audio {}", f.payload.len()),
                EndpointInput::Video(f) => format!("video {} {}", f.payload.len(), f.key),
                EndpointInput::Haptic { tick, .. } => format!("haptic {tick} {}", at.as_nanos() / 1_000_000),
                other => format!("{other:?}"),
            };
            seen.push(word);
        });
        seen
    }

    fn connect(bench: &mut Bench) {
        let event = Event::Connected { session: 7, address: Address::default(), coupling: media::Coupling::default() };
        bench.exchange.deal_out(Instant::from_millis(1), &event);
    }

    #[test]
    fn frames_come_before_the_sample_that_closes_the_fragment_and_buffers_return() {
        let mut bench = bench();
        let sample = HapticSample::Motion(Motion::default());
        bench.samples.push(ServoSample { tick: 3, at: Instant::from_millis(8), sample }).unwrap();
        bench.sound.push(SoundPacket::new(1, Instant::ZERO, &[1; 20]).unwrap()).unwrap();
        bench.picture.push(PicturePacket { at: Instant::ZERO, key: true, payload: vec![0; 99] }).unwrap();
        assert_eq!(passed(&mut bench), ["audio 20", "video 99 true", "haptic 3 8"]);
        assert_eq!(bench.spare.pop().unwrap().len(), 99);
        assert!(passed(&mut bench).is_empty());
    }

    #[test]
    fn steady_state_allocates_nothing() {
        let mut bench = bench();
        let (picture_in, mut pictures) = RingBuffer::new(4);
        let (mut spare, spare_out) = RingBuffer::new(4);
        let (sound_in, mut sounds) = RingBuffer::new(4);
        bench.exchange.picture_in = Some((picture_in, spare_out));
        bench.exchange.sound_in = Some(sound_in);
        spare.push(Vec::with_capacity(4_000)).unwrap();
        connect(&mut bench);
        let sample = HapticSample::Motion(Motion::default());
        let frame = |medium| {
            Event::Frame(FrameOut {
                medium,
                number: 1,
                payload: vec![7; 100],
                key: false,
                captured_at: media::PeerTime::from_nanos(0),
                display_at: Instant::ZERO,
            })
        };
        let (sound, picture) = (frame(Medium::Audio), frame(Medium::Video));
        let stats = Stats::default();
        let allocations = crate::allocations::during(|| {
            for tick in 0..100 {
                let now = Instant::from_millis(tick);
                bench.samples.push(ServoSample { tick, at: now, sample }).unwrap();
                bench.exchange.pass_on(now, &mut |_, _| ());
                for event in [&sound, &picture, &Event::Haptic { index: tick, sample }] {
                    bench.exchange.deal_out(now, event);
                }
                bench.exchange.publish(now, stats.clone(), 0);
                assert_eq!(sounds.pop().unwrap().len, 100);
                spare.push(pictures.pop().unwrap().payload).unwrap();
            }
        });
        assert_eq!(allocations, 0);
    }

    #[test]
    fn a_stop_is_told_once_and_again_to_a_new_peer() {
        let mut bench = bench();
        bench.exchange.shared.stopped_here.store(true, Ordering::Release);
        assert!(passed(&mut bench).is_empty(), "nobody to tell");
        connect(&mut bench);
        assert_eq!(passed(&mut bench), ["EmergencyStop(true)"]);
        assert!(passed(&mut bench).is_empty());
        connect(&mut bench);
        assert_eq!(passed(&mut bench), ["EmergencyStop(true)"]);
        bench.exchange.shared.stopped_here.store(false, Ordering::Release);
        bench.exchange.shared.device_fault.store(true, Ordering::Release);
        assert!(passed(&mut bench).is_empty(), "still stopped, for another reason");
        bench.exchange.shared.device_fault.store(false, Ordering::Release);
        assert_eq!(passed(&mut bench), ["EmergencyStop(false)"]);
    }

    #[test]
    fn events_reach_the_flags() {
        let mut bench = bench();
        let now = Instant::from_millis(2);
        connect(&mut bench);
        let shared = bench.exchange.shared.clone();
        assert!(shared.connected.load(Ordering::Acquire) && shared.key_wanted.load(Ordering::Acquire));
        bench.exchange.deal_out(now, &Event::EmergencyStop(true));
        assert!(shared.stopped_there.load(Ordering::Acquire));
        let sample = HapticSample::Motion(Motion::default());
        bench.exchange.deal_out(now, &Event::Haptic { index: 1, sample });
        assert_eq!(bench.newest.read().unwrap().at, now);
        bench.exchange.deal_out(now, &Event::VideoLost);
        assert_eq!(shared.video_losses.load(Ordering::Acquire), 1);
        bench.exchange.deal_out(now, &Event::Goodbye);
        assert!(!shared.connected.load(Ordering::Acquire));
        connect(&mut bench);
        assert!(!shared.stopped_there.load(Ordering::Acquire), "a new peer has not stopped");
        assert_eq!(shared.connection.load(Ordering::Acquire), 2);
        shared.goodbye.store(true, Ordering::Release);
        assert_eq!(passed(&mut bench), ["Goodbye"]);
        assert!(passed(&mut bench).is_empty());
    }
}
