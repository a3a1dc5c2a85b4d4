//! What a simulation is made of.

use std::fmt;
use std::ops::RangeInclusive;

use media::{Duration, Role};
use netem::{Scenario, SessionTiming};
use proto::{Config, FrameOut, Scheme};

use crate::error::SimError;
use crate::source::{FrameSource, Servo, SyntheticServo};

/// Possible lengths of a run, s: from one tick to more than a day.
pub const SECONDS: RangeInclusive<f64> = 0.001..=100_000.0;

/// Possible lengths of a run that keeps its traces, s: some 100 bytes of memory a tick and channel.
pub const TRACED_SECONDS: RangeInclusive<f64> = 0.001..=5_000.0;

/// Length of a run unless another is asked for, s: that of the reference runs.
pub const DEFAULT_SECONDS: f64 = 500.0;

/// A run: a network, and one session over it.
#[derive(Debug)]
pub struct RunSpec {
    /// The network.
    pub scenario: Scenario,
    /// Seed of all randomness.
    pub seed: u64,
    /// Length, s, within [`SECONDS`] (with traces [`TRACED_SECONDS`]), rounded to milliseconds: ticks 0 to 1000 S - 1, after which the network drains.
    /// Default [`DEFAULT_SECONDS`].
    pub seconds: f64,
    /// Keep every packet, sample and frame: [`crate::Outcome::traces`]. Default false; costs some 100 bytes a tick.
    pub traces: bool,
    /// The session.
    pub session: SessionSpec,
}

impl RunSpec {
    /// A run of default length with seed 1, without traces, with synthetic sources.
    pub fn new(scenario: Scenario, scheme: Scheme) -> Self {
        RunSpec { scenario, seed: 1, seconds: DEFAULT_SECONDS, traces: false, session: SessionSpec::new(scheme) }
    }

    /// Is such a run possible?
    ///
    /// # Errors
    /// [`SimError::Seconds`] if its length is out of range.
    pub fn check(&self) -> Result<(), SimError> {
        self.ticks().map(|_| ())
    }

    /// Ticks of the run.
    pub(crate) fn ticks(&self) -> Result<u64, SimError> {
        let range = if self.traces { TRACED_SECONDS } else { SECONDS };
        // Not a number lies in no range.
        if range.contains(&self.seconds) {
            Ok((self.seconds * 1_000.0).round() as u64)
        } else {
            Err(SimError::Seconds { seconds: self.seconds, longest: *range.end(), traces: self.traces })
        }
    }
}

/// Is shown frames that arrived whole.
pub type FrameWatch = Box<dyn FnMut(&FrameOut)>;

/// One telehaptic session: two stations.
pub struct SessionSpec {
    /// How fragments become packets, on both channels.
    pub scheme: Scheme,
    /// When its first tick is, counted from the start of the network. Default zero.
    pub start: Duration,
    /// It hands in nothing from here to there, counted likewise. Default none.
    pub pause: Option<(Duration, Duration)>,
    /// One-way delay between its stations and the network, in each direction. Default zero.
    pub access: Duration,
    /// Changes the configuration of each station before it starts; `scheme`, `control` (false) and `trace` (true) are
    /// set afterwards. Default: nothing.
    pub configure: Box<dyn Fn(&mut Config)>,
    /// The servo of the operator. Default synthetic.
    pub op: Box<dyn Servo>,
    /// The servo of the teleoperator. Default synthetic.
    pub top: Box<dyn Servo>,
    /// The sound that the teleoperator sends; `None`: the channel has no audio. Default the paper's.
    pub audio: Option<FrameSource>,
    /// The pictures that the teleoperator sends; `None`: the channel has no video. Default the paper's.
    pub video: Option<FrameSource>,
    /// Is shown every frame that becomes whole at the operator. Default `None`.
    pub watch: Option<FrameWatch>,
}

impl SessionSpec {
    /// A session of default configuration with synthetic sources.
    pub fn new(scheme: Scheme) -> Self {
        SessionSpec {
            scheme,
            start: Duration::ZERO,
            pause: None,
            access: Duration::ZERO,
            configure: Box::new(|_| {}),
            op: Box::new(SyntheticServo::new(Role::Op)),
            top: Box::new(SyntheticServo::new(Role::Top)),
            audio: Some(FrameSource::paper_audio()),
            video: Some(FrameSource::paper_video()),
            watch: None,
        }
    }

    /// The same at another time and place.
    pub fn timed(self, timing: SessionTiming) -> Self {
        let SessionTiming { start, pause, access } = timing;
        SessionSpec { start, pause, access, ..self }
    }

    /// The configuration of the station with this role.
    pub(crate) fn config(&self, role: Role) -> Config {
        let mut config = Config::new(role);
        (self.configure)(&mut config);
        Config { role, scheme: self.scheme, control: false, trace: true, ..config }
    }
}

impl fmt::Debug for SessionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionSpec").field("scheme", &self.scheme).field("start", &self.start).finish_non_exhaustive()
    }
}
