//! Opus: 48 kHz mono, 20 ms a frame, hard constant bit rate, so that every packet has the same size.

use crate::{AudioError, FRAME, RATE};

/// Bytes of a packet by default: 160 on the wire less the 6 of the frame header that `proto` adds.
pub const DEFAULT_PAYLOAD_BYTES: usize = 154;

/// Turns frames into packets of exactly one size.
pub struct Encoder {
    inner: opus::Encoder,
    payload_bytes: usize,
}

impl Encoder {
    /// An encoder whose packets all have `payload_bytes` bytes, 20 to 1275 (154: 61.6 kbit/s).
    ///
    /// # Errors
    /// A size outside of that range.
    pub fn new(payload_bytes: usize) -> Result<Self, AudioError> {
        if !(20..=1275).contains(&payload_bytes) {
            let detail = format!("{payload_bytes} bytes a packet are not possible: use 20 to 1275");
            return Err(AudioError::Codec { operation: "set-up", detail });
        }
        // Restricted low delay: 2.5 ms of lookahead instead of 6.5, and music and tones pass as well as speech.
        let mut inner = opus::Encoder::new(RATE, opus::Channels::Mono, opus::Application::LowDelay)
            .map_err(|e| codec_error("set-up", &e))?;
        let frames_per_second = (RATE as usize / FRAME) as i32;
        let bits = payload_bytes as i32 * 8 * frames_per_second;
        inner
            .set_vbr(false)
            .and_then(|()| inner.set_bitrate(opus::Bitrate::Bits(bits)))
            .and_then(|()| inner.set_complexity(10))
            .map_err(|e| codec_error("set-up", &e))?;
        Ok(Encoder { inner, payload_bytes })
    }

    /// Replaces `packet` by the encoded frame: exactly the configured number of bytes. Samples outside
    /// of -1..1 are clipped; those that are not numbers count as zero.
    ///
    /// # Errors
    /// Only for a defect in the library or here.
    pub fn encode(&mut self, frame: &[f32; FRAME], packet: &mut Vec<u8>) -> Result<(), AudioError> {
        let mut clean = *frame;
        for sample in &mut clean {
            *sample = if sample.is_nan() { 0.0 } else { sample.clamp(-1.0, 1.0) };
        }
        packet.clear();
        packet.resize(self.payload_bytes, 0);
        let length = self.inner.encode_float(&clean, packet).map_err(|e| codec_error("encoding", &e))?;
        if length < self.payload_bytes {
            opus::packet::pad(packet, length).map_err(|e| codec_error("padding", &e))?;
        }
        Ok(())
    }

    /// Bytes of every packet.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }
}

/// Turns packets into frames and bridges lost ones.
pub struct Decoder {
    inner: opus::Decoder,
    concealed: u64,
    broken: u64,
}

impl Decoder {
    /// A decoder at rest.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new() -> Result<Self, AudioError> {
        let inner = opus::Decoder::new(RATE, opus::Channels::Mono).map_err(|e| codec_error("set-up", &e))?;
        Ok(Decoder { inner, concealed: 0, broken: 0 })
    }

    /// Fills `frame` from a packet, or from what came before if the packet is lost (`None`). A packet that is
    /// no Opus frame of 20 ms counts as lost: the network cannot make this fail.
    pub fn decode(&mut self, packet: Option<&[u8]>, frame: &mut [f32; FRAME]) {
        if let Some(packet) = packet {
            let right_length = opus::packet::get_nb_samples(packet, RATE).is_ok_and(|n| n == FRAME);
            if right_length && matches!(self.inner.decode_float(packet, frame, false), Ok(FRAME)) {
                return;
            }
            self.broken += 1;
        }
        self.concealed += 1;
        if !matches!(self.inner.decode_float(&[], frame, false), Ok(FRAME)) {
            frame.fill(0.0);
        }
    }

    /// Frames made up because there was no usable packet.
    pub fn concealed(&self) -> u64 {
        self.concealed
    }

    /// Packets that were not Opus frames of 20 ms.
    pub fn broken(&self) -> u64 {
        self.broken
    }
}

fn codec_error(operation: &'static str, e: &opus::Error) -> AudioError {
    AudioError::Codec { operation, detail: e.to_string() }
}
