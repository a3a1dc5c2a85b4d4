//! One step of the teleoperator's side: the slave follows the master, and what that takes goes back as force.
//!
//! Engagement starts from the measured pose: the desired position is then where the slave stands, and the offset between
//! the two devices fades over the engagement ramp (with waves, slower: see [`SlaveEnd::correct`]). From then on the slave stands where the master stands, in the same
//! coordinates, so that the operator pushes where the picture shows it.

use media::{Channel, Coupling, Duration, Force, HapticSample, Instant, Motion, Position, Vector, Velocity, Wave};

use crate::control::{
    ControlConfig, ControlStatus, DAMPING_WINDOW, FeedbackSource, Gate, Local, Newest, Reading, Received, shorten,
    valid_force, valid_sample,
};
use crate::device::{DeviceError, DeviceInfo, DeviceState};
use crate::safety::{DeadMan, ForceGuard, Permit};
use crate::wave::{self, SlaveEnd, Spring};

/// Told for the position of a slave that is not engaged.
const NOWHERE: Position = Position::new(f32::NAN, f32::NAN, f32::NAN);
/// A pause between steps moves the desired position no farther than this would.
const MAX_STEP: Duration = Duration::from_millis(20);

/// Control of the slave device.
#[derive(Clone, Debug)]
pub struct Slave {
    config: ControlConfig,
    workspace_radius: f32,
    guard: ForceGuard,
    local: Local,
    peer: Newest<HapticSample>,
    /// From master to slave at engagement, m (with waves, which need none, zero); `None` while not engaged.
    offset: Option<Vector>,
    desired: Position,
    line: SlaveEnd,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlaveOut {
    /// What the operator should feel, N. Finite, within the clamp of this station, zero while force is off.
    pub feedback: Force,
    /// To the peer: of the kind that the coupling wants.
    pub sample: HapticSample,
    /// To the device, N: finite, within clamp and slew, zero when it must be.
    pub force: Force,
    /// Where the slave should be, m. While force is off: where it is.
    pub desired: Position,
    /// How it went.
    pub status: ControlStatus,
}

impl Slave {
    /// Control of a device with these limits, not engaged.
    pub fn new(config: ControlConfig, info: &DeviceInfo, _now: Instant) -> Self {
        let config = config.in_range(info.max_stiffness, info.max_damping);
        let radius = info.workspace_radius;
        Slave {
            config,
            workspace_radius: if radius.is_finite() { radius.max(0.0) } else { 0.0 },
            guard: ForceGuard::new(config.safety, info),
            local: Local::new(),
            peer: Newest::new(),
            offset: None,
            desired: Position::ZERO,
            line: SlaveEnd::default(),
        }
    }

    /// Uses another coupling from the next step on. Samples of the old one are none any more; what safety has latched
    /// stays.
    pub fn set_coupling(&mut self, coupling: Coupling) {
        if coupling != self.config.coupling {
            self.config.coupling = coupling;
            self.peer.forget();
            self.rest();
        }
    }

    /// Not engaged: the desired position is where the device is.
    fn rest(&mut self) {
        self.offset = None;
        self.desired = self.local.last().map_or(self.desired, |s| s.position);
        self.line = SlaveEnd::default();
    }

    /// The longest force that the device will be given, N.
    pub fn max_force(&self) -> f32 {
        self.guard.max_force()
    }

    /// What has to be held for force to come on; never [`DeadMan::Auto`].
    pub fn dead_man(&self) -> DeadMan {
        self.guard.dead_man()
    }

    /// One tick: `state` as just read from the device, `newest` sample of the peer if there ever was one, `contact` the
    /// force of the scene on the slave (zero where it is not known).
    pub fn step(
        &mut self,
        now: Instant,
        state: &Result<DeviceState, DeviceError>,
        newest: Option<Received<HapticSample>>,
        contact: Force,
        gate: Gate,
    ) -> SlaveOut {
        let reading = self.local.step(now, state);
        // A sample of another coupling is none.
        if let Some(sample) = newest.filter(|n| n.value.kind() == self.config.coupling.sample(Channel::Forward)) {
            self.peer.offer(now, sample.at, sample.value, valid_sample(&sample.value));
        }
        if !gate.connected {
            self.peer.forget();
        }
        let sample = self.peer.get(now);
        let sample_age = sample.map(|(_, age)| age);
        let refused = self.peer.invalid + self.local.invalid();
        let permit = self.guard.permit(now, gate, &reading, sample_age, refused);

        let mut want = Force::ZERO;
        let mut there = Wave::ZERO;
        match (reading.state, sample) {
            (Some(here), Some((HapticSample::Motion(motion), age))) if !permit.off => {
                let desired_velocity = self.follow(&permit, &here, &motion, age, reading.dt);
                let mut coupling = (self.desired.0 - here.position.0) * self.config.stiffness;
                if reading.damping {
                    coupling = coupling + (desired_velocity.0 - here.velocity.0) * self.config.damping;
                }
                want = Force(coupling);
            }
            (Some(here), Some((HapticSample::MasterWave(wave, _), age))) if !permit.off => {
                if self.offset.replace(Vector::ZERO).is_none() {
                    self.desired = here.position;
                }
                there = wave::faded(wave, age);
                want = Force(SlaveEnd::force(there, &self.spring(&reading, &here)));
            }
            _ => self.rest(),
        }
        let limited = self.guard.limit(&permit, want, &reading);
        let feedback = self.feedback(&permit, limited.force, contact);
        let sample = match (self.config.coupling, reading.state, sample) {
            (Coupling::PositionForce, ..) => feedback.into(),
            (Coupling::PositionPosition, Some(here), _) if !permit.off => HapticSample::Position(here.position),
            (Coupling::PositionPosition, ..) => HapticSample::Position(NOWHERE),
            (Coupling::Wave, Some(here), Some((HapticSample::MasterWave(_, master), _))) if !permit.off => {
                HapticSample::SlaveWave(self.ride(there, limited.force, &reading, &here, master))
            }
            (Coupling::Wave, ..) => HapticSample::SlaveWave(Wave::ZERO),
        };

        SlaveOut {
            feedback,
            sample,
            force: limited.force,
            desired: self.desired,
            status: ControlStatus {
                engagement: permit.engagement,
                reason: permit.reason,
                sample_age,
                device_ok: reading.state.is_some(),
                safety: *self.guard.status(),
                passed: limited.passed,
                clamped: limited.clamped,
                slewed: limited.slewed,
                invalid_samples: self.peer.invalid,
                invalid_states: self.local.invalid(),
            },
        }
    }

    /// The coupling at the slave, for waves.
    fn spring(&self, reading: &Reading, here: &DeviceState) -> Spring {
        Spring {
            stiffness: self.config.stiffness,
            damping: if reading.damping { self.config.damping } else { 0.0 },
            stretch: self.desired.0 - here.position.0,
            velocity: here.velocity.0,
        }
    }

    /// Moves the desired position as the wave `there` says, with `force` shown, and gives the wave that goes back.
    fn ride(&mut self, there: Wave, force: Force, reading: &Reading, here: &DeviceState, master: Position) -> Wave {
        let spring = self.spring(reading, here);
        let dt = reading.dt.min(MAX_STEP).as_secs_f32();
        let (commanded, _) = shorten(SlaveEnd::commanded(there, force.0), self.config.max_speed);
        let (moved, outside) = shorten(self.desired.0 + commanded * dt, self.workspace_radius);
        let velocity = if outside && dt > 0.0 { (moved - self.desired.0) * (1.0 / dt) } else { commanded };
        let slip = velocity - here.velocity.0;
        let correction = self.line.correct(master.0 - moved, force.0, &spring, slip, dt);
        self.desired = Position(shorten(moved + correction, self.workspace_radius).0);
        SlaveEnd::answer(velocity, force.0)
    }

    /// Moves the desired position towards the master's and gives its velocity.
    fn follow(
        &mut self,
        permit: &Permit,
        here: &DeviceState,
        motion: &Motion,
        age: Duration,
        dt: Duration,
    ) -> Velocity {
        let offset = *self.offset.get_or_insert_with(|| {
            self.desired = here.position;
            here.position.0 - motion.position.0
        });
        let goal = motion.position.0 + offset * (1.0 - permit.engagement);
        let (goal, outside) = shorten(goal, self.workspace_radius);
        let reach = self.config.max_speed * dt.min(MAX_STEP).as_secs_f32();
        let (way, too_fast) = shorten(goal - self.desired.0, reach);
        self.desired = Position(self.desired.0 + way);
        // A target that a limit or the lack of samples holds back does not move with the master.
        if outside || too_fast || age > DAMPING_WINDOW {
            return Velocity::ZERO;
        }
        Velocity(shorten(motion.velocity.0, self.config.max_speed).0)
    }

    fn feedback(&self, permit: &Permit, force: Force, contact: Force) -> Force {
        match self.config.feedback {
            FeedbackSource::Coupling => Force(-force.0),
            FeedbackSource::Contact if permit.off || !valid_force(&contact) => Force::ZERO,
            FeedbackSource::Contact => {
                let shown = contact.0 * (permit.engagement * permit.freshness * permit.held);
                Force(shorten(shown, self.guard.max_force()).0)
            }
        }
    }
}
