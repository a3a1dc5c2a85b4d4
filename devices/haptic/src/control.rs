//! What master and slave control share: configuration, gate, status, and the memory of the newest valid sample.
//!
//! Position-force control, the default: the master's motion goes forward, the slave follows it by a proportional-derivative
//! law, and what the slave's law exerts comes back, negated, as the force on the operator. So the operator feels what the
//! slave runs into, and a slave needs no force sensor. Position-position: the slave's position comes back, and a spring
//! draws the hand to it. Wave variables: see [`crate::wave`].

use core::fmt;

use media::{Coupling, Duration, Force, HapticSample, Instant, Vector};

use crate::SafetyConfig;
use crate::device::{DeviceError, DeviceState};
use crate::safety::SafetyStatus;
use crate::wave;

/// Positions beyond this are not those of a desktop device, m.
const MAX_POSITION: f32 = 1.0;
/// Speeds beyond this are not those of a hand, m/s.
const MAX_SPEED: f32 = 20.0;
/// Forces beyond this are not those of a desktop device, N.
const MAX_FORCE: f32 = 100.0;
/// A reading of our own device older than this counts as none.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(50);
/// Damping needs a step and readings no older than this; beyond, the velocity says nothing about now.
pub(crate) const DAMPING_WINDOW: Duration = Duration::from_millis(5);

/// Gains and limits. Values that are not finite or out of range are replaced by the nearest that is (a not-a-number by
/// the default).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlConfig {
    /// How the two devices are coupled; both stations must have the same. Default: position-force.
    pub coupling: Coupling,
    /// Stiffness of the coupling, at the slave from desired to actual position, N/m, 0 to the device's limit. Default 200.
    /// Too low feels soft; too high rings against a stiff surface at long round trips.
    pub stiffness: f32,
    /// Slave: damping of the coupling, N s/m, 0 to the device's limit. Default 3, about half of critical for 40 g.
    pub damping: f32,
    /// Master: share of the coupling's force that is shown, 0 to 4; waves have none. Default 0.7, which leaves room for a
    /// round trip of 60 ms.
    pub force_scale: f32,
    /// Master: damping added at the hand, N s/m, 0 to the device's limit; waves bring their own. Default 2. It pays for the
    /// delay of the loop.
    pub master_damping: f32,
    /// Slave: the desired position moves no faster than this, m/s, 0.01 to 5. Default 1.
    pub max_speed: f32,
    /// Slave, position-force: what is sent back as force. Default: the coupling.
    pub feedback: FeedbackSource,
    /// Limits of force and its watchdogs.
    pub safety: SafetyConfig,
}

impl Default for ControlConfig {
    fn default() -> Self {
        ControlConfig {
            coupling: Coupling::default(),
            stiffness: 200.0,
            damping: 3.0,
            force_scale: 0.7,
            master_damping: 2.0,
            max_speed: 1.0,
            feedback: FeedbackSource::Coupling,
            safety: SafetyConfig::default(),
        }
    }
}

impl ControlConfig {
    /// The configuration with every value in its range, for a device that stably renders this stiffness (N/m) and
    /// damping (N s/m).
    pub(crate) fn in_range(self, max_stiffness: f32, max_damping: f32) -> Self {
        let default = ControlConfig::default();
        let stiffness = keep(max_stiffness, default.stiffness, 0.0, 1e4);
        let damping = keep(max_damping, default.damping, 0.0, 100.0);
        ControlConfig {
            coupling: self.coupling,
            stiffness: keep(self.stiffness, default.stiffness, 0.0, stiffness),
            damping: keep(self.damping, default.damping, 0.0, damping),
            force_scale: keep(self.force_scale, default.force_scale, 0.0, 4.0),
            master_damping: keep(self.master_damping, default.master_damping, 0.0, damping),
            max_speed: keep(self.max_speed, default.max_speed, 0.01, 5.0),
            feedback: self.feedback,
            safety: self.safety.in_range(),
        }
    }
}

/// `value` between `low` and `high`; the default, within them too, if it is not a number.
pub(crate) fn keep(value: f32, default: f32, low: f32, high: f32) -> f32 {
    (if value.is_nan() { default } else { value }).clamp(low, high)
}

/// Which force the slave's station sends back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FeedbackSource {
    /// Minus what the coupling exerts on the slave: works for every slave.
    #[default]
    Coupling,
    /// The measured or simulated force of the scene on the slave.
    Contact,
}

/// The newest sample from the peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received<T> {
    /// The sample.
    pub value: T,
    /// When playout released it here. Each sample has its own moment: a repeated `at` means the same sample.
    pub at: Instant,
}

/// What must hold for any force at all, and what is known of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Emergency stop pressed at this station.
    pub stopped_here: bool,
    /// Emergency stop pressed at the peer.
    pub stopped_there: bool,
    /// The peer is there.
    pub connected: bool,
    /// Counts how often a person has said that force may come on again. A new number ends [`ForceOff::WaitsForUser`].
    pub engagements: u32,
    /// The key that stands for a hand on the device is held; `None` where the window has none.
    pub dead_man: Option<bool>,
    /// Delay of the whole loop, network, packetization and playout both ways; `None` while it is not known.
    pub loop_delay: Option<Duration>,
}

impl Gate {
    /// Connected and not stopped.
    pub const OPEN: Gate = Gate {
        stopped_here: false,
        stopped_there: false,
        connected: true,
        engagements: 0,
        dead_man: None,
        loop_delay: None,
    };
}

/// Why force is off or limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForceOff {
    /// Emergency stop at this station.
    StoppedHere,
    /// Emergency stop at the peer.
    StoppedThere,
    /// The local device fails or its readings make no sense.
    Device,
    /// The device was lost, or a stage of safety tripped: a person has to say that force may come on.
    WaitsForUser,
    /// The servo stood still for longer than its watchdog allows.
    Stalled,
    /// No hand on the button or key.
    DeadMan,
    /// No peer.
    NotConnected,
    /// A peer, but no valid sample from it yet.
    NoSample,
    /// The last valid sample is too old: force is zero.
    PeerSilent,
    /// The last valid sample is old: force fades.
    Fading,
    /// Force comes up after an engagement.
    Engaging,
}

impl fmt::Display for ForceOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ForceOff::StoppedHere => "emergency stop pressed here",
            ForceOff::StoppedThere => "emergency stop pressed at the other station",
            ForceOff::Device => "the haptic device does not answer",
            ForceOff::WaitsForUser => "press Engage when the device is in your hand (or `telehaptic ctl engage`)",
            ForceOff::Stalled => "this machine stood still",
            ForceOff::DeadMan => "the dead-man button or key is not held",
            ForceOff::NotConnected => "the other station is not connected",
            ForceOff::NoSample => "the other station gives no motion or force yet",
            ForceOff::PeerSilent => "haptic samples have stopped coming",
            ForceOff::Fading => "haptic samples are late: force fades",
            ForceOff::Engaging => "force is coming up",
        })
    }
}

/// State of control after a step.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct ControlStatus {
    /// 0 to 1: share of force that the engagement ramp lets through.
    pub engagement: f32,
    /// Why force is off or limited; `None` if it is not.
    pub reason: Option<ForceOff>,
    /// Age of the last valid sample of the peer.
    pub sample_age: Option<Duration>,
    /// The local device gave a valid reading no more than 50 ms ago.
    pub device_ok: bool,
    /// What each stage of safety did in this step.
    pub safety: SafetyStatus,
    /// Share of the force along the motion that passivity let through, 0 to 1.
    pub passed: f32,
    /// The clamp or the heat budget cut the force in this step.
    pub clamped: bool,
    /// The slew limit cut the change of force in this step.
    pub slewed: bool,
    /// Samples of the peer with absurd numbers, since the start.
    pub invalid_samples: u64,
    /// Readings of the device with absurd numbers, since the start.
    pub invalid_states: u64,
}

/// The newest valid value of a source, and when it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Newest<T> {
    value: Option<T>,
    at: Instant,
    seen: Option<Instant>,
    pub(crate) invalid: u64,
}

impl<T: Copy> Newest<T> {
    pub(crate) fn new() -> Self {
        Newest { value: None, at: Instant::ZERO, seen: None, invalid: 0 }
    }

    /// Takes a value if it is new and valid. An invalid one leaves the last valid one to age. A value from the future
    /// arrives now, so that no stamp can keep it young.
    pub(crate) fn offer(&mut self, now: Instant, at: Instant, value: T, valid: bool) {
        if self.seen == Some(at) {
            return;
        }
        self.seen = Some(at);
        if !valid {
            self.invalid += 1;
            return;
        }
        let at = at.min(now);
        if self.value.is_none() || at >= self.at {
            self.value = Some(value);
            self.at = at;
        }
    }

    /// Forgets the value; the same sample is not taken a second time.
    pub(crate) fn forget(&mut self) {
        self.value = None;
    }

    /// The value and its age.
    pub(crate) fn get(&self, now: Instant) -> Option<(T, Duration)> {
        self.value.map(|v| (v, now.saturating_since(self.at)))
    }
}

/// What a station knows of its own device.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    newest: Newest<DeviceState>,
    last_step: Option<Instant>,
}

/// How a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// It gives valid readings.
    Good,
    /// It gives none, for the moment.
    Silent,
    /// It is lost, has a fault or has lost its calibration: where the hand is now, nobody knows.
    Gone,
}

/// One step's view of it.
pub(crate) struct Reading {
    /// The last valid state, if it is young enough.
    pub state: Option<DeviceState>,
    /// How the device is.
    pub condition: Condition,
    /// Time since the last step.
    pub dt: Duration,
    /// Velocities may be used for damping.
    pub damping: bool,
}

impl Local {
    pub(crate) fn new() -> Self {
        Local { newest: Newest::new(), last_step: None }
    }

    pub(crate) fn step(&mut self, now: Instant, state: &Result<DeviceState, DeviceError>) -> Reading {
        let dt = self.last_step.map_or(Duration::ZERO, |last| now.saturating_since(last));
        self.last_step = Some(now);
        let failed = match state {
            Ok(s) => {
                let valid = within(s.position.0, MAX_POSITION) && within(s.velocity.0, MAX_SPEED);
                self.newest.offer(now, s.at, *s, valid);
                None
            }
            Err(DeviceError::Lost | DeviceError::Fault | DeviceError::NotCalibrated) => Some(Condition::Gone),
            Err(_) => Some(Condition::Silent),
        };
        let young = self.newest.get(now).filter(|(_, age)| failed.is_none() && *age <= LOCAL_TIMEOUT);
        let condition = match (failed, young) {
            (Some(condition), _) => condition,
            (None, Some(_)) => Condition::Good,
            (None, None) => Condition::Silent,
        };
        Reading {
            state: young.map(|(s, _)| s),
            condition,
            dt,
            damping: dt <= DAMPING_WINDOW && young.is_some_and(|(_, age)| age <= DAMPING_WINDOW),
        }
    }

    /// The last valid state, however old.
    pub(crate) fn last(&self) -> Option<DeviceState> {
        self.newest.value
    }

    pub(crate) fn invalid(&self) -> u64 {
        self.newest.invalid
    }
}

pub(crate) fn valid_force(force: &Force) -> bool {
    within(force.0, MAX_FORCE)
}

/// Is this what a device of a hand's size says?
pub(crate) fn valid_sample(sample: &HapticSample) -> bool {
    match sample {
        HapticSample::Motion(m) => within(m.position.0, MAX_POSITION) && within(m.velocity.0, MAX_SPEED),
        HapticSample::Force(force) => valid_force(force),
        HapticSample::Position(position) => within(position.0, MAX_POSITION),
        HapticSample::MasterWave(wave, position) => wave::valid(wave) && within(position.0, MAX_POSITION),
        HapticSample::SlaveWave(wave) => wave::valid(wave),
    }
}

fn within(v: Vector, limit: f32) -> bool {
    // False for a not-a-number too.
    v.0.iter().all(|c| c.abs() <= limit)
}

/// `v` shortened to at most `limit`, and whether it was longer.
pub(crate) fn shorten(v: Vector, limit: f32) -> (Vector, bool) {
    let norm = v.norm();
    if norm <= limit { (v, false) } else { (v * (limit / norm), true) }
}
