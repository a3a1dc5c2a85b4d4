//! The sound threads. TOP: microphone, Opus, network. OP: network, order and time, Opus, speaker.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use audio::{Decoder, Encoder, FRAME, Sink, Source};
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

/// Opens a device again.
pub(crate) type Reopen<D> = Box<dyn FnMut(Instant) -> Result<D, String> + Send>;

/// The sound thread of a TOP.
pub(crate) struct MicThread {
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub source: Box<dyn Source>,
    pub reopen: Reopen<Box<dyn Source>>,
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
        let mut retry_at = Instant::ZERO;
        while !self.shared.stopping() {
            let now = self.clock.now();
            let failed = if self.state.fault.is_empty() {
                self.drain(now, &mut frame, &mut packet).err()
            } else if now >= retry_at {
                (self.reopen)(now).map(|source| self.source = source).err().or(Some(String::new()))
            } else {
                None
            };
            if let Some(fault) = failed {
                retry_at = now + crate::RETRY_EVERY;
                self.state.fault = fault;
                self.state.device = self.source.describe();
                self.slot.write(self.state.clone());
            }
            std::thread::sleep(NAP);
        }
    }

    fn drain(&mut self, now: Instant, frame: &mut [f32; FRAME], packet: &mut Vec<u8>) -> Result<(), String> {
        while let Some(captured_at) = self.source.poll(now, frame).map_err(|e| e.to_string())? {
            if !self.shared.connected.load(Ordering::Acquire) {
                continue;
            }
            self.encoder.encode(frame, packet).map_err(|e| e.to_string())?;
            self.state.frames += 1;
            match SoundPacket::new(self.state.frames, captured_at, packet) {
                Some(p) if self.frames.push(p).is_ok() => (self.wake)(),
                _ => {
                    count(&self.shared.dropped.audio);
                    self.state.skipped += 1;
                }
            }
            self.slot.write(self.state.clone());
        }
        Ok(())
    }
}

/// The sound thread of an OP.
pub(crate) struct SpeakerThread {
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub sink: Box<dyn Sink>,
    pub reopen: Reopen<Box<dyn Sink>>,
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
        let mut retry_at = Instant::ZERO;
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
            if let Err(fault) = self.play(now, &mut jitter)
                && self.state.fault.is_empty()
            {
                self.state.fault = fault;
                retry_at = now + crate::RETRY_EVERY;
                self.slot.write(self.state.clone());
            }
            if !self.state.fault.is_empty() && now >= retry_at {
                retry_at = now + crate::RETRY_EVERY;
                match (self.reopen)(now) {
                    Ok(sink) => {
                        self.sink = sink;
                        self.state.fault.clear();
                        self.state.device = self.sink.describe();
                    }
                    Err(fault) => self.state.fault = fault,
                }
                self.slot.write(self.state.clone());
            }
            std::thread::sleep(NAP);
        }
    }

    fn play(&mut self, now: Instant, jitter: &mut JitterBuffer) -> Result<(), String> {
        let mut samples = [0.0; FRAME];
        let mut played = Ok(());
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
            if self.state.fault.is_empty() && played.is_ok() {
                played = self.sink.push(now, &samples).map_err(|e| e.to_string());
            }
        }
        if any {
            self.state.skipped = self.decoder.concealed() + jitter.late();
            self.slot.write(self.state.clone());
        }
        played
    }
}
