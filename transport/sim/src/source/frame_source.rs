//! Sound and pictures for a simulated station: frames of one size at one interval, or an encoded file in a loop.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use media::{Duration, Medium};
use proto::{FRAME_HEADER, MAX_AUDIO_FRAME, MAX_FRAME};

use super::{Recording, RecordingError};

/// Possible intervals between frames, ms: at most one frame a tick.
pub const INTERVAL_MS: RangeInclusive<f64> = 1.0..=10_000.0;

/// The smallest frame by size, bytes on the wire: its header, and its number by which it can be told from others.
pub const MIN_FRAME_BYTES: usize = FRAME_HEADER + 8;

/// Interval of the pictures of a file unless another is given: 25 a second.
const PICTURE_INTERVAL: Duration = Duration::from_millis(40);

/// Of video frames by size a key frame is one of so many.
const KEY_EVERY: u64 = 50;

/// Length of a tick, ns.
const TICK_NS: u64 = 1_000_000;

/// Where the frames of one medium come from. A clone plays from where its original is.
#[derive(Clone, Debug)]
pub struct FrameSource {
    medium: Medium,
    kind: Kind,
    /// Number of the next frame.
    next: u64,
    /// When it is due, ns from tick 0.
    due_ns: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    Sized { payload: Vec<u8>, interval_ns: u64 },
    Recorded(Arc<Recording>),
}

/// A frame on its way to the multiplexer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceFrame<'a> {
    /// Codec bytes.
    pub payload: &'a [u8],
    /// Video: decodable without those before it.
    pub key: bool,
}

/// Why there is no such source. Each is one line that says what is possible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FrameSourceError {
    /// No source has this name.
    #[error("unknown {medium} source '{text}': use {grammar}", medium = medium.name(), grammar = FrameSource::grammar(*medium))]
    Unknown {
        /// Audio or video.
        medium: Medium,
        /// What was asked for.
        text: String,
    },
    /// Frames of this size cannot be.
    #[error("{medium} frames of {bytes} bytes are not possible: give {least} to {limit} bytes, the header of {FRAME_HEADER} included",
        medium = medium.name(), least = MIN_FRAME_BYTES, limit = largest(*medium))]
    Size {
        /// Audio or video.
        medium: Medium,
        /// What was asked for, bytes.
        bytes: String,
    },
    /// Frames at this interval cannot be.
    #[error("{medium} frames each '{interval}' ms are not possible: give an interval of {least} to {most} ms",
        medium = medium.name(), least = INTERVAL_MS.start(), most = INTERVAL_MS.end())]
    Interval {
        /// Audio or video.
        medium: Medium,
        /// What was asked for, ms.
        interval: String,
    },
    /// The file cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

impl FrameSource {
    /// Sound of the paper's rate: 160 bytes each 20 ms.
    pub fn paper_audio() -> Self {
        Self::of_size(Medium::Audio, 160, 20 * TICK_NS)
    }

    /// Pictures of the paper's rate: 2000 bytes each 40 ms, every fiftieth a key frame.
    pub fn paper_video() -> Self {
        Self::of_size(Medium::Video, 2_000, 40 * TICK_NS)
    }

    /// Frames of so many bytes on the wire, the frame header included, one each `interval_ms` ms from tick 0 on. Each begins with its
    /// number, 8 bytes, big-endian; of video every fiftieth is a key frame.
    ///
    /// # Errors
    /// If the size is not from [`MIN_FRAME_BYTES`] to what the multiplexer takes of the medium (audio 8000, video 32006),
    /// or the interval not in [`INTERVAL_MS`].
    pub fn sized(medium: Medium, bytes: usize, interval_ms: f64) -> Result<Self, FrameSourceError> {
        if !(MIN_FRAME_BYTES..=largest(medium)).contains(&bytes) {
            return Err(FrameSourceError::Size { medium, bytes: bytes.to_string() });
        }
        let interval = interval(interval_ms)
            .ok_or_else(|| FrameSourceError::Interval { medium, interval: interval_ms.to_string() })?;
        Ok(Self::of_size(medium, bytes, interval.as_nanos() as u64))
    }

    /// The frames of a file, the first at tick 0, over and over.
    pub fn recorded(recording: Arc<Recording>) -> Self {
        Self::new(recording.medium(), Kind::Recorded(recording))
    }

    /// What [`FrameSource::parse`] takes, in words.
    pub fn grammar(medium: Medium) -> &'static str {
        match medium {
            Medium::Video => "BYTES@MS (such as 2000@40), file:PATH.h264[@MS] (or .264) or none",
            _ => "BYTES@MS (such as 160@20), file:PATH.opus (or .ogg) or none",
        }
    }

    /// The source of this name; a file is loaded. `None` for `none`.
    ///
    /// # Errors
    /// If no source has this name, size or interval are out of range, or the file cannot be used.
    pub fn parse(medium: Medium, text: &str) -> Result<Option<Self>, FrameSourceError> {
        let unknown = || FrameSourceError::Unknown { medium, text: text.into() };
        if text == "none" {
            return Ok(None);
        }
        if let Some(file) = text.strip_prefix("file:") {
            let recording = match medium {
                Medium::Video => {
                    let (path, interval) = split_interval(file).ok_or_else(unknown)?;
                    Recording::load_h264(Path::new(path), interval_of(medium, interval)?)?
                }
                _ if has_ending(file, &["opus", "ogg"]) => Recording::load_opus(Path::new(file))?,
                _ => return Err(unknown()),
            };
            return Ok(Some(Self::recorded(Arc::new(recording))));
        }
        let (bytes, interval) = text.split_once('@').ok_or_else(unknown)?;
        let size = bytes.parse().map_err(|_| FrameSourceError::Size { medium, bytes: format!("'{bytes}'") })?;
        let interval_ms = interval_of(medium, Some(interval))?.as_secs_f64() * 1e3;
        Self::sized(medium, size, interval_ms).map(Some)
    }

    /// Audio or video.
    pub fn medium(&self) -> Medium {
        self.medium
    }

    /// The frame that is captured at `tick`, if one is. Ticks rise from 0 by one. A frame that is due between two ticks is
    /// captured at the later one.
    pub fn frame(&mut self, tick: u64) -> Option<SourceFrame<'_>> {
        if tick.saturating_mul(TICK_NS) < self.due_ns {
            return None;
        }
        let number = self.next;
        self.next += 1;
        match &mut self.kind {
            Kind::Sized { payload, interval_ns } => {
                self.due_ns += *interval_ns;
                payload[..8].copy_from_slice(&number.to_be_bytes());
                let key = self.medium == Medium::Video && number.is_multiple_of(KEY_EVERY);
                Some(SourceFrame { payload, key })
            }
            Kind::Recorded(recording) => {
                let frame = recording.frame(number);
                self.due_ns += frame.lasts.as_nanos() as u64;
                Some(SourceFrame { payload: frame.payload, key: frame.key })
            }
        }
    }

    fn of_size(medium: Medium, bytes: usize, interval_ns: u64) -> Self {
        let filling = if medium == Medium::Video { 0x5a } else { 0xa5 };
        Self::new(medium, Kind::Sized { payload: vec![filling; bytes - FRAME_HEADER], interval_ns })
    }

    fn new(medium: Medium, kind: Kind) -> Self {
        FrameSource { medium, kind, next: 0, due_ns: 0 }
    }
}

/// The largest frame of a medium, bytes on the wire.
fn largest(medium: Medium) -> usize {
    FRAME_HEADER + if medium == Medium::Video { MAX_FRAME } else { MAX_AUDIO_FRAME }
}

fn interval(ms: f64) -> Option<Duration> {
    // Not a number lies in no range.
    INTERVAL_MS.contains(&ms).then(|| Duration::from_nanos((ms * TICK_NS as f64).round() as u64))
}

fn interval_of(medium: Medium, text: Option<&str>) -> Result<Duration, FrameSourceError> {
    let Some(text) = text else { return Ok(PICTURE_INTERVAL) };
    let got = text.parse().ok().and_then(interval);
    got.ok_or_else(|| FrameSourceError::Interval { medium, interval: text.into() })
}

/// Path and interval in `PATH.h264[@MS]`; the path may have an @ of its own.
fn split_interval(text: &str) -> Option<(&str, Option<&str>)> {
    let is_stream = |path| has_ending(path, &["h264", "264"]);
    if is_stream(text) {
        return Some((text, None));
    }
    text.rsplit_once('@').filter(|(path, _)| is_stream(path)).map(|(path, interval)| (path, Some(interval)))
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    let ending = Path::new(path).extension().and_then(|e| e.to_str());
    ending.is_some_and(|e| endings.iter().any(|wanted| e.eq_ignore_ascii_case(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(source: &mut FrameSource, end: u64) -> Vec<u64> {
        (0..end).filter(|&tick| source.frame(tick).is_some()).collect()
    }

    fn error(medium: Medium, text: &str) -> String {
        FrameSource::parse(medium, text).unwrap_err().to_string()
    }

    #[test]
    fn the_papers_frames_are_those_of_their_size_and_interval() {
        for (mut paper, text, bytes, period) in
            [(FrameSource::paper_audio(), "160@20", 160, 20), (FrameSource::paper_video(), "2000@40", 2_000, 40)]
        {
            let mut named = FrameSource::parse(paper.medium(), text).unwrap().unwrap();
            for tick in 0..4_100 {
                let frame = paper.frame(tick);
                assert_eq!(frame, named.frame(tick));
                assert_eq!(frame.is_some(), tick % period == 0);
                let Some(SourceFrame { payload, key }) = frame else { continue };
                assert_eq!(payload.len() + FRAME_HEADER, bytes);
                assert_eq!(payload[..8], (tick / period).to_be_bytes());
                assert_eq!(key, bytes == 2_000 && tick % 2_000 == 0);
            }
        }
    }

    #[test]
    fn intervals_need_not_be_whole_milliseconds() {
        let mut source = FrameSource::sized(Medium::Audio, 14, 2.5).unwrap();
        assert_eq!(ticks(&mut source, 11), [0, 3, 5, 8, 10]);
        let mut source = FrameSource::parse(Medium::Video, "32006@33.333").unwrap().unwrap();
        assert_eq!(ticks(&mut source, 200), [0, 34, 67, 100, 134, 167, 200][..6]);
    }

    #[test]
    fn recorded_packets_last_as_long_as_they_say_and_come_again() {
        let stream = [0, 0, 1, 0x65, 0x80, 1, 0, 0, 1, 0x41, 0x80];
        let recording = Arc::new(Recording::h264(stream.to_vec(), "s.h264", Duration::from_millis(40)).unwrap());
        let mut source = FrameSource::recorded(recording);
        for round in 0..3 {
            let key = source.frame(80 * round).unwrap();
            assert_eq!(key, SourceFrame { payload: &stream[..6], key: true });
            assert!(source.frame(80 * round + 39).is_none());
            let other = source.frame(80 * round + 40).unwrap();
            assert_eq!(other, SourceFrame { payload: &stream[6..], key: false });
        }
    }

    #[test]
    fn wrong_names_are_one_line_that_says_what_is_possible() {
        let (audio, video) = (Medium::Audio, Medium::Video);
        for (medium, text, wanted) in [
            (audio, "", "unknown audio source '': use BYTES@MS (such as 160@20), file:PATH.opus"),
            (audio, "160", "unknown audio source"),
            (audio, "file:voice.wav", "file:PATH.opus (or .ogg) or none"),
            (
                video,
                "file:v.mp4@20",
                "unknown video source 'file:v.mp4@20': use BYTES@MS (such as 2000@40), file:PATH.h264",
            ),
            (audio, "13@20", "audio frames of 13 bytes are not possible: give 14 to 8000 bytes"),
            (audio, "8001@20", "give 14 to 8000 bytes"),
            (video, "32007@40", "give 14 to 32006 bytes, the header of 6 included"),
            (video, "-1@40", "'-1' bytes"),
            (video, "99999999999999999999@40", "give 14 to"),
            (video, "2000@0.5", "video frames each '0.5' ms are not possible: give an interval of 1 to 10000 ms"),
            (video, "2000@", "each '' ms"),
            (video, "2000@nan", "'nan' ms"),
            (video, "2000@40@40", "'40@40' ms"),
            (video, "file:v.h264@0", "an interval of 1 to 10000 ms"),
            (video, "file:no/such.h264@40", "video file no/such.h264: "),
            (video, "file:no/s@ch.264", "video file no/s@ch.264: "),
            (audio, "file:no/such.OPUS", "audio file no/such.OPUS: "),
        ] {
            let line = error(medium, text);
            assert!(line.contains(wanted) && line.lines().count() == 1, "{text}: {line}");
        }
        assert!(FrameSource::parse(audio, "none").unwrap().is_none());
    }
}
