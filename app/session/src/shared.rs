//! What the threads of a station share: flags, the newest values of each thread, and the items of the bounded queues
//! between them. Nothing here blocks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use haptic::{Calibration, DeviceError, DeviceHealth, ForceOff, SafetyStatus, Stage, StageState};
use media::{Coupling, Force, HapticSample, Instant, Position, Velocity};
use proto::{Address, Scheme};

use crate::config::MAX_AUDIO_BYTES;
use crate::error::SessionError;

/// Flags and counters.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// All threads end.
    pub stop: AtomicBool,
    /// The network thread says goodbye, once.
    pub goodbye: AtomicBool,
    /// A peer is there and has not said goodbye.
    pub connected: AtomicBool,
    /// Counts connections, so that every thread notices a new one.
    pub connection: AtomicU32,
    /// Session number of the last peer.
    pub peer_session: AtomicU32,
    /// Code of the coupling in force.
    pub coupling: AtomicU8,
    /// Emergency stop pressed here.
    pub stopped_here: AtomicBool,
    /// Emergency stop told by the peer.
    pub stopped_there: AtomicBool,
    /// The local haptic device fails; the peer is told to stop.
    pub device_fault: AtomicBool,
    /// Counts how often a person has said that force may come on.
    pub engagements: AtomicU32,
    /// Counts wishes to calibrate the device.
    pub calibrations: AtomicU32,
    /// The dead-man key: 0 not held, else the millisecond of the process's clock until which it counts as held.
    pub dead_man_until_ms: AtomicU64,
    /// Delay of the whole control loop, us; 0 while it is not known.
    pub loop_delay_us: AtomicU32,
    /// The peer, or a new connection, wants a key frame.
    pub key_wanted: AtomicBool,
    /// The decoder lost its reference: the peer is asked for a key frame.
    pub key_missing: AtomicBool,
    /// Counts lost pictures, so that the decoder waits for the next key frame.
    pub video_losses: AtomicU32,
    /// Frames that the multiplexer still holds.
    pub video_waiting: AtomicUsize,
    /// Items that found a queue full, by queue.
    pub dropped: Dropped,
    /// The first thing that went wrong for good.
    failure: Mutex<Option<SessionError>>,
    /// The station has been told to end, or `failure` is set.
    ended: AtomicBool,
}

/// Items dropped because a queue was full.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    /// Samples from servo to network.
    pub haptic: AtomicU64,
    /// Audio frames.
    pub audio: AtomicU64,
    /// Video frames.
    pub video: AtomicU64,
    /// Facts for the trace.
    pub trace: AtomicU64,
    /// Lines for the log.
    pub notes: AtomicU64,
}

impl Shared {
    /// Should threads end?
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Notes an end: the first error counts. Not for the servo and network threads' steady state.
    pub fn end(&self, failure: Option<SessionError>) {
        if let (Some(failure), Ok(mut slot)) = (failure, self.failure.lock()) {
            slot.get_or_insert(failure);
        }
        self.ended.store(true, Ordering::Release);
    }

    /// Is the station over?
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// The error that ended it, as text.
    pub fn failure_text(&self) -> Option<String> {
        self.failure.lock().ok()?.as_ref().map(ToString::to_string)
    }

    /// Takes the error that ended it.
    pub fn take_failure(&self) -> Option<SessionError> {
        self.failure.lock().ok()?.take()
    }
}

/// Adds one to a counter of drops.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A sample from servo to network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServoSample {
    pub tick: u64,
    pub at: Instant,
    pub sample: HapticSample,
}

/// An encoded sound frame, either way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SoundPacket {
    /// In: counts frames.
    pub number: u64,
    /// Out: when it was captured. In: when to play it.
    pub at: Instant,
    pub len: usize,
    pub bytes: [u8; MAX_AUDIO_BYTES],
}

impl SoundPacket {
    /// A packet with these bytes; `None` if they are too many.
    pub fn new(number: u64, at: Instant, payload: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_AUDIO_BYTES];
        bytes.get_mut(..payload.len())?.copy_from_slice(payload);
        Some(SoundPacket { number, at, len: payload.len(), bytes })
    }

    /// Its bytes.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// An encoded picture, either way. Its buffer goes back by a ring of its own.
#[derive(Debug)]
pub(crate) struct PicturePacket {
    /// Out: when it was captured. In: when to show it.
    pub at: Instant,
    pub key: bool,
    pub payload: Vec<u8>,
}

/// State of the servo at one tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServoSlot {
    pub position: Position,
    pub velocity: Velocity,
    pub buttons: u32,
    pub calibration: Calibration,
    pub health: DeviceHealth,
    pub safety: SafetyStatus,
    pub force: Force,
    pub desired: Position,
    pub contact: Force,
    pub engagement: f32,
    pub age_ns: Option<u64>,
    pub reason: Option<ForceOff>,
    pub ticks: u64,
    pub missed: u64,
    pub late_us: [f64; 3],
}

/// State of the network thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetSlot {
    pub at: Instant,
    pub stats: proto::stats::Stats,
    pub kernel_drops: u64,
}

/// State of a sound or picture thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct AvSlot {
    pub device: String,
    pub frames: u64,
    pub skipped: u64,
    pub fault: String,
    pub level: Option<audio::Level>,
}

/// Something that people should read; turned into a line of the log by the watcher.
#[derive(Clone, Debug)]
pub(crate) enum Note {
    Connected(Address, Coupling),
    Moved(Address),
    Silent,
    Resumed,
    Goodbye,
    StoppedThere(bool),
    Scheme(Scheme),
    /// The haptic device fails, or is back.
    Device(Option<DeviceError>),
    /// Force went off or came on.
    Force(Option<ForceOff>),
    /// A stage of safety began to act, or rests again.
    Stage(Stage, StageState, f32),
    /// The device wants to be calibrated, or is.
    Calibration(Calibration),
    /// The servo stood still for so many milliseconds.
    Jump(u64),
    /// From a thread that may allocate.
    Text(String),
}
