//! Encoded sound and pictures from a file, cut into the frames that travel: what the two parsers have in common.

use std::path::Path;

use media::{Duration, Medium};
use proto::{MAX_AUDIO_FRAME, MAX_FRAME};

use super::{h264, ogg};

/// Largest file that is taken into memory, bytes.
pub const MAX_FILE: u64 = 64 << 20;

/// Frames of one medium in their order, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    medium: Medium,
    /// The payloads, one behind the other.
    bytes: Vec<u8>,
    frames: Vec<Part>,
}

/// Where a frame lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    /// One after its last byte.
    pub end: usize,
    pub key: bool,
    pub lasts: Duration,
}

/// An encoded frame of a [`Recording`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedFrame<'a> {
    /// Codec bytes: an access unit, or an Opus packet.
    pub payload: &'a [u8],
    /// Video: decodable without those before it.
    pub key: bool,
    /// Time to the next frame.
    pub lasts: Duration,
}

/// Why a file of sound or pictures cannot be used. Each is one line that names the file, the place and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("{medium} file {file}: {reason}; check the path and its permissions")]
    Unreadable {
        /// Audio or video.
        medium: &'static str,
        /// Path of the file.
        file: String,
        /// What the system said.
        reason: String,
    },
    /// Too large to be held in memory.
    #[error("{medium} file {file}: larger than {limit} bytes; cut a shorter piece, it is played in a loop")]
    TooLarge {
        /// Audio or video.
        medium: &'static str,
        /// Path of the file.
        file: String,
        /// Largest size allowed, bytes.
        limit: u64,
    },
    /// Nothing to play in it.
    #[error("{medium} file {file}: no frames in it; {wanted} is needed")]
    Empty {
        /// Audio or video.
        medium: &'static str,
        /// Path of the file.
        file: String,
        /// What is read.
        wanted: &'static str,
    },
    /// The bytes are not what the name promises, or are damaged.
    #[error("{medium} file {file}, byte {offset}: {what}; {wanted} is needed")]
    Broken {
        /// Audio or video.
        medium: &'static str,
        /// Path of the file.
        file: String,
        /// Place in the file, from 0.
        offset: usize,
        /// What is wrong there.
        what: &'static str,
        /// What is read.
        wanted: &'static str,
    },
    /// A frame that the multiplexer never takes.
    #[error("{medium} file {file}, frame {frame}: {bytes} bytes instead of 1 to {limit}; encode it at a lower rate")]
    FrameSize {
        /// Audio or video.
        medium: &'static str,
        /// Path of the file.
        file: String,
        /// Which, from 0.
        frame: usize,
        /// Its size, bytes.
        bytes: usize,
        /// Largest size allowed, bytes.
        limit: usize,
    },
}

/// Where the bytes of a file are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub offset: usize,
    pub what: &'static str,
}

impl Recording {
    /// Reads an H.264 byte stream of which a frame comes each `interval`.
    ///
    /// # Errors
    /// A [`RecordingError`] if the file cannot be read or is no such stream, or a frame is larger than [`MAX_FRAME`].
    pub fn load_h264(file: &Path, interval: Duration) -> Result<Recording, RecordingError> {
        Self::h264(read(file, Medium::Video)?, &file.display().to_string(), interval)
    }

    /// Takes the contents of `file`, an H.264 byte stream (ITU-T H.264, annex B). Each access unit is a frame with all its
    /// bytes; a key frame is one with an IDR slice. Frames joined are the file.
    ///
    /// # Errors
    /// As [`Recording::load_h264`], except for the reading of the file.
    pub fn h264(bytes: Vec<u8>, file: &str, interval: Duration) -> Result<Recording, RecordingError> {
        let units = h264::access_units(&bytes);
        let frames = units.map(|units| {
            let part = |unit: h264::AccessUnit| Part { end: unit.end, key: unit.key, lasts: interval };
            (bytes, units.into_iter().map(part).collect())
        });
        Self::check(Medium::Video, file, frames)
    }

    /// Reads an Opus file.
    ///
    /// # Errors
    /// A [`RecordingError`] if the file cannot be read or is no such file, or a packet is larger than
    /// [`MAX_AUDIO_FRAME`].
    pub fn load_opus(file: &Path) -> Result<Recording, RecordingError> {
        Self::opus(&read(file, Medium::Audio)?, &file.display().to_string())
    }

    /// Takes the contents of `file`, Opus in Ogg (RFC 7845) with one logical stream. Each packet of sound is a frame and lasts as long
    /// as its first bytes say; the two header packets are left out.
    ///
    /// # Errors
    /// As [`Recording::load_opus`], except for the reading of the file.
    pub fn opus(bytes: &[u8], file: &str) -> Result<Recording, RecordingError> {
        Self::check(Medium::Audio, file, ogg::opus_packets(bytes))
    }

    /// Audio or video.
    pub fn medium(&self) -> Medium {
        self.medium
    }

    /// How many frames there are: at least one.
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// The frame of this number, from 0; after the last comes the first again.
    pub fn frame(&self, number: u64) -> RecordedFrame<'_> {
        let i = (number % self.frames.len() as u64) as usize;
        let Part { end, key, lasts } = self.frames[i];
        let start = if i == 0 { 0 } else { self.frames[i - 1].end };
        RecordedFrame { payload: &self.bytes[start..end], key, lasts }
    }

    fn check(
        medium: Medium,
        file: &str,
        frames: Result<(Vec<u8>, Vec<Part>), Flaw>,
    ) -> Result<Recording, RecordingError> {
        let (limit, wanted) = match medium {
            Medium::Video => (MAX_FRAME, "an H.264 byte stream (annex B)"),
            _ => (MAX_AUDIO_FRAME, "Opus in Ogg"),
        };
        let (name, file) = (medium.name(), file.to_string());
        let (bytes, frames) = match frames {
            Ok((bytes, frames)) => (bytes, frames),
            Err(Flaw { offset, what }) => {
                return Err(RecordingError::Broken { medium: name, file, offset, what, wanted });
            }
        };
        if frames.is_empty() {
            return Err(RecordingError::Empty { medium: name, file, wanted });
        }
        let mut start = 0;
        for (frame, part) in frames.iter().enumerate() {
            let bytes = part.end - start;
            if !(1..=limit).contains(&bytes) {
                return Err(RecordingError::FrameSize { medium: name, file, frame, bytes, limit });
            }
            start = part.end;
        }
        Ok(Recording { medium, bytes, frames })
    }
}

fn read(file: &Path, medium: Medium) -> Result<Vec<u8>, RecordingError> {
    use std::io::Read;
    let (medium, name) = (medium.name(), file.display().to_string());
    let mut bytes = Vec::new();
    // A device or pipe tells no size beforehand.
    let got = std::fs::File::open(file).and_then(|f| f.take(MAX_FILE + 1).read_to_end(&mut bytes));
    match got {
        Err(e) => Err(RecordingError::Unreadable { medium, file: name, reason: e.to_string() }),
        Ok(n) if n as u64 > MAX_FILE => Err(RecordingError::TooLarge { medium, file: name, limit: MAX_FILE }),
        Ok(_) => Ok(bytes),
    }
}
