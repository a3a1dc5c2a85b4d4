//! Everything that a window, `ctl status` or a status line shows of a running station: plain data,
//! complete in itself, taken about 30 times a second.

use proto::Scheme;
use proto::report::{MediumReport, Verdict};
use serde::{Deserialize, Serialize};

use crate::carries::Carries;

/// A station at one moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// `true`: operator, `false`: teleoperator.
    pub is_operator: bool,
    /// Seconds since the station started.
    pub uptime_s: f64,
    /// The link to the peer.
    pub link: LinkState,
    /// Peer address as text, empty without a peer.
    pub peer: String,
    /// TOP: the ticket that an operator needs.
    pub ticket: Option<String>,
    /// Scheme in use.
    pub scheme: Option<Scheme>,
    /// Coupling of the two devices: "position-force", "position-position" or "wave".
    #[serde(default)]
    pub coupling: String,
    /// TOP to OP.
    pub backward: ChannelSnapshot,
    /// OP to TOP.
    pub forward: ChannelSnapshot,
    /// Round trip of the network, ms.
    pub rtt_ms: Option<f64>,
    /// Absolute one-way delays are known to plus or minus this, ms.
    pub clock_bound_ms: Option<f64>,
    /// Relative drift of the two clocks, parts per million.
    pub clock_skew_ppm: Option<f64>,
    /// The local haptic device and its control.
    pub haptic: HapticSnapshot,
    /// Sound.
    pub audio: AvSnapshot,
    /// Picture.
    pub video: AvSnapshot,
    /// Datagrams not from the peer, not parseable, or dropped by the kernel.
    pub dropped: DropSnapshot,
    /// Newest last: things that happened, for people ("12.3 s operator connected").
    pub log: Vec<String>,
    /// The station is over, and why (an error line or a plain end).
    pub ended: Option<String>,
}

/// State of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
    /// OP: hello sent. TOP: waiting for an operator.
    #[default]
    Waiting,
    /// Data flows.
    Connected,
    /// The peer has fallen silent.
    Silent,
    /// The peer said goodbye.
    Left,
}

/// One direction as seen from this station.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ChannelSnapshot {
    /// Merge factor now: own on the transmit channel, that of the newest packet on the receive channel.
    pub k: Option<u8>,
    /// One-way haptic delay now (mean of the last 100 ms or so), ms: point estimate.
    pub delay_ms: Option<f64>,
    /// Jitter (sample) of the last second, ms.
    pub jitter_ms: Option<f64>,
    /// Loss of haptic samples over the session, percent.
    pub loss_percent: Option<f64>,
    /// Rate on the wire over the last second, 54 bytes of headers a packet included, kbit/s.
    pub kbps: f64,
    /// Over the session so far. `None` until something was sent.
    pub haptic: Option<MediumReport>,
    /// As above; `None` also where the channel has none.
    pub audio: Option<MediumReport>,
    /// As above.
    pub video: Option<MediumReport>,
    /// Can the network that is measured carry this channel? `None` while nothing is known.
    pub carries: Option<Carries>,
    /// The last 30 s, oldest first, at 20 points a second.
    pub history: Vec<HistoryPoint>,
}

impl ChannelSnapshot {
    /// Verdict of a medium, unknown where there is none yet.
    pub fn verdict(report: &Option<MediumReport>) -> Verdict {
        report.as_ref().map_or(Verdict::Unknown, |r| r.verdict)
    }
}

/// One point of a plot.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct HistoryPoint {
    /// Seconds since the station started.
    pub at_s: f64,
    /// Merge factor.
    pub k: u8,
    /// One-way haptic delay, ms; NaN where unknown (null in JSON, which knows no NaN).
    #[serde(with = "nan_as_null")]
    pub delay_ms: f32,
}

mod nan_as_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
        (!value.is_nan()).then_some(*value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f32::NAN))
    }
}

/// The local device and its control.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HapticSnapshot {
    /// "simulated master", "HID 1209:7e57 ...".
    pub device: String,
    /// False: an input device, which shows no force.
    #[serde(default)]
    pub shows_force: bool,
    /// Why it cannot be used now and what to do, in words; empty if it can.
    #[serde(default)]
    pub fault: String,
    /// What is to be done before its position means anything; `None` if it is calibrated.
    #[serde(default)]
    pub calibration: Option<CalibrationSnapshot>,
    /// How reading and writing go.
    #[serde(default)]
    pub health: HealthSnapshot,
    /// Radius of the sphere that it reaches, m.
    #[serde(default)]
    pub workspace_radius: f32,
    /// One bit a button.
    #[serde(default)]
    pub buttons: u32,
    /// Velocity in the base frame, m/s.
    #[serde(default)]
    pub velocity: [f32; 3],
    /// Force stays off until a person engages.
    #[serde(default)]
    pub waits_for_user: bool,
    /// The dead-man in use: "none", "button" or "key".
    #[serde(default)]
    pub dead_man: String,
    /// What the stages of safety do now, in order.
    #[serde(default)]
    pub safety: Vec<StageSnapshot>,
    /// Position in the base frame (x right, y up, z toward the user), m.
    pub position: [f32; 3],
    /// Force on the device after safety, N.
    pub force: [f32; 3],
    /// Force that the device may show at most, N.
    pub max_force: f32,
    /// TOP: the master's position that the slave follows, m.
    pub desired: Option<[f32; 3]>,
    /// TOP: force of the scene on the slave, N.
    pub contact: Option<[f32; 3]>,
    /// 0 to 1: how far force is let through.
    pub engagement: f32,
    /// Age of the last valid sample of the peer, ms.
    pub sample_age_ms: Option<f64>,
    /// Why force is off or limited now, in words; empty if it is not.
    pub force_off: String,
    /// Emergency stop pressed here.
    pub stopped_here: bool,
    /// Emergency stop pressed at the peer.
    pub stopped_there: bool,
    /// Ticks of the servo so far.
    pub ticks: u64,
    /// Of these missed.
    pub missed: u64,
    /// Lateness of wake-ups, us: p50, p99, max.
    pub late_us: [f64; 3],
    /// "real-time priority" or why not.
    pub priority: String,
}

/// How a device is calibrated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibrationSnapshot {
    /// What the person at the device has to do.
    pub guide: String,
    /// Which axes (or joints) are done.
    pub homed: [bool; 3],
}

/// How reading and writing a device goes; zeros for devices without a cable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HealthSnapshot {
    /// Reports read.
    pub reports: u64,
    /// Reports that the device's sequence numbers say are missing.
    pub missing: u64,
    /// Reports of another size or number, or with impossible contents.
    pub garbage: u64,
    /// Times that the device was lost.
    pub losses: u64,
    /// How long the oldest report of the last reading had waited, us.
    pub queue_age_us: u32,
    /// The longest that one ever did, us.
    pub max_queue_age_us: u32,
    /// Age of a report when the servo used it, from its arrival: median over the session, us.
    #[serde(default)]
    pub age_p50_us: u32,
    /// Reports a second, over the last second.
    pub rate_hz: u32,
    /// Forces given by the servo.
    pub forces: u64,
    /// Forces written to the device; the rest were overtaken by newer ones.
    pub written: u64,
}

/// A stage of safety.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageSnapshot {
    /// "force clamp", "watchdogs" ...
    pub name: String,
    /// What it does now.
    pub state: StageState,
    /// Its figure with unit ("3.3 N").
    pub value: String,
    /// Times that it began to limit or to hold force off.
    pub events: u32,
}

/// What a stage of safety does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StageState {
    /// Not in use at this station or by configuration.
    #[default]
    Unused,
    /// In use; it lets everything through.
    Idle,
    /// It makes the force smaller or slower.
    Limiting,
    /// It holds the force at zero.
    Off,
}

/// A picture or sound stream at this station.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AvSnapshot {
    /// What is captured or shown, in words ("scene 320x240", "Built-in Audio").
    pub device: String,
    /// Frames captured and sent (TOP) or decoded and shown (OP).
    pub frames: u64,
    /// Frames skipped by the encoder, dropped late or lost.
    pub skipped: u64,
    /// TOP: bytes waiting in the multiplexer.
    pub backlog_bytes: u64,
    /// Why it does not run, in words; empty if it does.
    pub fault: String,
    /// Sound that is captured (TOP) or played (OP); `None` for pictures, and where there is no sound now.
    #[serde(default)]
    pub level: Option<SoundLevel>,
}

/// Level of the last 100 ms of sound. 0 dBFS is full scale, a sine of full scale has an RMS of -3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SoundLevel {
    /// Root mean square, dBFS, -120 at the lowest.
    pub rms_dbfs: f32,
    /// Largest sample, dBFS, -120 at the lowest.
    pub peak_dbfs: f32,
    /// A sample of the last second reached full scale.
    pub clipped: bool,
}

/// What was thrown away on receipt.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct DropSnapshot {
    /// From sources without the ticket.
    pub foreign: u64,
    /// Not parseable.
    pub garbage: u64,
    /// Received twice.
    pub duplicate: u64,
    /// Dropped by this machine's socket buffer.
    pub kernel: u64,
}

/// A wish of the person at the window or of `ctl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Use this scheme on both channels.
    Scheme(Scheme),
    /// Force off, at both stations, until released.
    EmergencyStop,
    /// Release this station's emergency stop: force ramps up again.
    ReleaseStop,
    /// The device is in a hand again: force may come up after a fault of the device or a trip.
    Engage,
    /// Calibrate the device anew, or say that the arm is in its reference pose.
    Calibrate,
    /// The dead-man key is held (or not). Held lasts 150 ms: a window repeats it while the key is down.
    DeadMan(bool),
    /// End the station.
    Stop,
}

/// The picture for the window: the newest decoded frame (OP) or the local scene or camera (TOP).
#[derive(Clone, Debug, Default)]
pub struct ViewPicture {
    /// Counts pictures; unchanged means nothing new.
    pub number: u64,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// `width * height * 3` bytes, RGB.
    pub rgb: Vec<u8>,
}
