//! Sound: capture, playback, files and Opus.
//!
//! Everything inside is 48 kHz mono `f32` in frames of 20 ms. Devices and files of other rates and
//! channel counts are converted at the edge. No clock is read here: callers pass `now`.

pub mod analysis;
mod capture;
mod codec;
mod device;
mod error;
mod fade;
mod follow;
mod meter;
mod names;
mod pace;
mod playback;
mod resample;
mod silence;
mod spec;
mod steer;
mod system;
mod wav;

use media::{Duration, Instant};

pub use codec::{DEFAULT_PAYLOAD_BYTES, Decoder, Encoder};
pub use device::list;
pub use device::mixer::muted;
pub use error::AudioError;
pub use meter::{FLOOR_DBFS, Level, Meter};
pub use playback::PlaybackStats;
pub use resample::Resampler;
pub use spec::{SinkSpec, SourceSpec};

/// Samples a second inside this crate and on its interfaces.
pub const RATE: u32 = 48_000;

/// Samples in a frame: 20 ms.
pub const FRAME: usize = 960;

/// Duration of a frame.
pub const FRAME_TIME: Duration = Duration::from_millis(20);

/// A microphone, a file or silence.
pub trait Source: Send {
    /// One line for people: what it is and how it runs.
    fn describe(&self) -> String;

    /// Fills `frame` if 20 ms of sound are there. Never blocks on sound; call it about every 5 ms, until it
    /// returns `None`. Files and silence are paced by `now`, and so is the silence of a device that has gone.
    ///
    /// Returns when the first sample of the frame was captured.
    fn poll(&mut self, now: Instant, frame: &mut [f32; FRAME]) -> Option<Instant>;

    /// Samples at 48 kHz dropped so far because nobody polled for too long or the device overran.
    fn dropped(&self) -> u64 {
        0
    }

    /// Why there is only silence, in one line; `None` while it runs. It comes back by itself.
    fn fault(&self) -> Option<&str> {
        None
    }
}

/// A speaker, a file or nothing.
pub trait Sink: Send {
    /// One line for people: what it is and how it runs.
    fn describe(&self) -> String;

    /// Queues samples, 48 kHz mono, any number at a time. Never blocks on a device.
    fn push(&mut self, now: Instant, samples: &[f32]);

    /// Looks after the device; call it about every 5 ms, whether there is sound or not.
    fn tick(&mut self, _now: Instant) {}

    /// Sound queued and not yet played.
    fn queued(&self) -> Duration;

    /// Counters of playback; all zero for sinks without a clock of their own.
    fn stats(&self) -> PlaybackStats {
        PlaybackStats::default()
    }

    /// Why nothing is played or written, in one line; `None` while it runs. It comes back by itself.
    fn fault(&self) -> Option<&str> {
        None
    }
}

/// For people who speak through a station: nothing here takes the echo out.
pub const HEADSET_HINT: &str =
    "use a headset: a loudspeaker that the other room's microphone hears comes back as an echo";

/// What a device can do here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// Capture.
    Microphone,
    /// Playback.
    Speaker,
}

/// One entry of [`list`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDevice {
    /// The text to give after `device:`.
    pub name: String,
    /// Direction.
    pub kind: DeviceKind,
    /// The system's description.
    pub detail: String,
    /// It is what `device` without a name means, or the card behind that.
    pub is_default: bool,
    /// Rates and channels in words: "8000 to 48000 Hz, 1 to 2 channels". Empty with a problem.
    pub ability: String,
    /// Why it cannot be used now, in words.
    pub problem: Option<String>,
}

/// A control of the default sound card that lets nothing through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Muted {
    /// Which direction is silent.
    pub kind: DeviceKind,
    /// Card, control and remedy in one line.
    pub text: String,
}

/// Opens a source; paced sources count from `now`.
///
/// # Errors
/// A device or file that is not there or not usable, with the remedy.
pub fn open_source(spec: &SourceSpec, now: Instant) -> Result<Box<dyn Source>, AudioError> {
    Ok(match spec {
        SourceSpec::Device(name) => Box::new(follow::Microphone::open(machine(), name.as_deref(), now)?),
        SourceSpec::File(path) => Box::new(wav::WavSource::open(path, now)?),
        SourceSpec::Silence => Box::new(silence::Silence::new(now)),
    })
}

/// Opens a sink.
///
/// # Errors
/// A device that is not there or a file that cannot be written, with the remedy.
pub fn open_sink(spec: &SinkSpec) -> Result<Box<dyn Sink>, AudioError> {
    Ok(match spec {
        SinkSpec::Device(name) => Box::new(follow::Speaker::open(machine(), name.as_deref())?),
        SinkSpec::File(path) => Box::new(wav::WavSink::create(path)?),
        SinkSpec::None => Box::new(silence::Nowhere),
    })
}

fn machine() -> Box<dyn system::System> {
    Box::new(device::Machine::default())
}
