//! The sound threads. TOP: microphone, Opus, network. OP: network, order and time, Opus, speaker. A device that vanishes
//! is the device's own business: here it is silence and a fault to tell.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use audio::{Decoder, Encoder, FRAME, Meter, Sink, Source};
use media::Instant;
use rtrb::{Consumer, Producer};
use triple_buffer::Input;
use udp::Clock;

use crate::jitter::{Due, JitterBuffer};
use crate::shared::{AvSlot, Shared, SoundPacket, count};

/// Frames that may wait between threads, either way.
pub(crate) const FRAMES: usize = 64;
/// Time between looks at device and queue.
const NAP: Duration = Duration::from_millis(4);
/// Without a frame for this long there is no level to show.
const LEVEL_LASTS: Duration = Duration::from_millis(200);

/// The sound thread of a TOP.
pub(crate) struct MicThread {
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub source: Box<dyn Source>,
    /// `None`: there is no sound to measure.
    pub meter: Option<Meter>,
    pub encoder: Encoder,
    pub frames: Producer<SoundPacket>,
    pub wake: Box<dyn Fn() + Send>,
    pub slot: Input<AvSlot>,
    pub state: AvSlot,
}

impl MicThread {
    /// Runs until the station stops.
    pub fn run(mut self) {
        let mut frame = [0.0; FRAME];
        let mut packet = Vec::with_capacity(self.encoder.payload_bytes());
        let mut codec_fault = String::new();
        while !self.shared.stopping() {
            let now = self.clock.now();
            let mut news = false;
            while let Some(captured_at) = self.source.poll(now, &mut frame) {
                news = true;
                self.state.level = self.meter.as_mut().map(|meter| meter.measure(&frame));
                if !self.shared.connected.load(Ordering::Acquire) {
                    continue;
                }
                match self.encoder.encode(&frame, &mut packet) {
                    Ok(()) => {
                        codec_fault.clear();
                        self.send(captured_at, &packet);
                    }
                    Err(e) => codec_fault = e.to_string(),
                }
            }
            let fault = self.source.fault().unwrap_or(&codec_fault);
            if !fault.is_empty() {
                self.state.level = None;
            }
            if news || fault != self.state.fault {
                publish(&mut self.state, fault, self.source.describe());
                self.slot.write(self.state.clone());
            }
            std::thread::sleep(NAP);
        }
    }

    fn send(&mut self, captured_at: Instant, packet: &[u8]) {
        self.state.frames += 1;
        match SoundPacket::new(self.state.frames, captured_at, packet) {
            Some(p) if self.frames.push(p).is_ok() => (self.wake)(),
            _ => {
                count(&self.shared.dropped.audio);
                self.state.skipped += 1;
            }
        }
    }
}

fn publish(state: &mut AvSlot, fault: &str, device: String) {
    state.device = device;
    state.fault.clear();
    state.fault.push_str(fault);
}

/// The sound thread of an OP.
pub(crate) struct SpeakerThread {
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub sink: Box<dyn Sink>,
    /// `None`: nothing is played that could be measured.
    pub meter: Option<Meter>,
    pub decoder: Decoder,
    pub frames: Consumer<SoundPacket>,
    pub slot: Input<AvSlot>,
    pub state: AvSlot,
}

impl SpeakerThread {
    /// Runs until the station stops.
    pub fn run(mut self) {
        let mut jitter = JitterBuffer::new();
        let mut connection = self.shared.connection.load(Ordering::Acquire);
        let mut played_at = Instant::ZERO;
        while !self.shared.stopping() {
            let now = self.clock.now();
            let peer = self.shared.connection.load(Ordering::Acquire);
            if peer != connection {
                connection = peer;
                jitter.reset();
            }
            while let Ok(packet) = self.frames.pop() {
                jitter.put(packet);
            }
            self.sink.tick(now);
            let mut news = self.play(now, &mut jitter);
            if news {
                played_at = now;
            }
            let fault = self.sink.fault().unwrap_or_default();
            let quiet = !fault.is_empty() || now.saturating_since(played_at) > LEVEL_LASTS;
            if quiet && self.state.level.take().is_some() {
                news = true;
            }
            if news || fault != self.state.fault {
                publish(&mut self.state, fault, self.sink.describe());
                self.slot.write(self.state.clone());
            }
            std::thread::sleep(NAP);
        }
    }

    /// Plays what is due; says whether anything was.
    fn play(&mut self, now: Instant, jitter: &mut JitterBuffer) -> bool {
        let mut samples = [0.0; FRAME];
        let mut any = false;
        while let Some(due) = jitter.take(now) {
            match &due {
                Due::Packet(packet) => {
                    self.decoder.decode(Some(packet.payload()), &mut samples);
                    self.state.frames += 1;
                }
                Due::Missing => self.decoder.decode(None, &mut samples),
            }
            any = true;
            self.state.level = self.meter.as_mut().map(|meter| meter.measure(&samples));
            self.sink.push(now, &samples);
        }
        if any {
            self.state.skipped = self.decoder.concealed() + jitter.late();
        }
        any
    }
}
