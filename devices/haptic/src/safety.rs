//! The last stages before a motor: whatever control wants, what comes out of here is finite, short enough, changes slowly
//! enough, and is zero when it must be. The same chain stands at both stations; each stage has its file, and says in
//! [`SafetyStatus`] what it does.
//!
//! A step asks [`ForceGuard::permit`] first (may there be force at all, and how much?), then passes what control wants
//! through [`ForceGuard::limit`].

mod buzz;
mod config;
mod deadman;
mod heat;
mod passivity;
mod schedule;
mod slew;
mod stage;
mod trip;

use media::{Duration, Force, Instant, Vector};

pub use self::config::{DeadMan, SafetyConfig};
pub use self::schedule::LoopGains;
pub use self::stage::{SafetyStatus, Stage, StageState, StageStatus};
use crate::control::{Condition, ForceOff, Gate, Reading, keep, shorten};
use crate::device::DeviceInfo;
use buzz::{Buzz, BuzzDetector};
use deadman::DeadManRamp;
use heat::Heat;
use passivity::{Correction, Passivity};
use schedule::Schedule;
use slew::Slew;
use trip::{Trip, VelocityTrip};

/// A step of our own that comes later than this is worth a word.
const LATE: Duration = Duration::from_millis(5);
/// What damps alone after a velocity trip, of what the device stably renders.
const BRAKE: f32 = 0.5;
/// A device that gives nothing for this long may be in nobody's hand any more.
const ABANDONED: Duration = Duration::from_secs(1);

/// What one step may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Permit {
    /// 0 to 1, from the engagement ramp.
    pub engagement: f32,
    /// 0 to 1, from the age of the last sample.
    pub freshness: f32,
    /// 0 to 1, from the dead-man's release ramp.
    pub held: f32,
    /// 0 to 1, the share of the peer's force that the gain schedule leaves.
    pub gain: f32,
    /// Why force is off or limited.
    pub reason: Option<ForceOff>,
    /// Force is exactly zero in this step.
    pub off: bool,
}

/// Force after all limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limited {
    /// To the device.
    pub force: Force,
    /// Share of it along the motion that passivity let through.
    pub passed: f32,
    /// The clamp or the heat budget cut it.
    pub clamped: bool,
    /// The slew limit cut its change.
    pub slewed: bool,
}

/// The chain.
#[derive(Clone, Debug)]
pub(crate) struct ForceGuard {
    config: SafetyConfig,
    max_force: f32,
    /// What the device stably renders, N s/m.
    max_damping: f32,
    dead_man: DeadMan,
    dead_man_buttons: u32,
    schedule: Option<Schedule>,
    passivity: Option<Passivity>,
    trip: VelocityTrip,
    buzz: BuzzDetector,
    heat: Heat,
    slew: Slew,
    grip: DeadManRamp,
    latch: Latch,
    engaged_at: Option<Instant>,
    last_at: Option<Instant>,
    elapsed: Duration,
    refused: u64,
    status: SafetyStatus,
}

/// Force stays off until a person says that it may come on.
#[derive(Clone, Debug, Default)]
struct Latch {
    closed: bool,
    /// The device was there once: before, there is nothing to lose.
    seen: bool,
    silent_since: Option<Instant>,
    engagements: Option<u32>,
}

impl Latch {
    /// One step: is it closed?
    fn step(&mut self, now: Instant, condition: Condition, engagements: u32, grip: bool) -> bool {
        let asked = self.engagements.replace(engagements).is_some_and(|before| before != engagements) || grip;
        match condition {
            Condition::Good => {
                self.seen = true;
                self.silent_since = None;
                // Asking while the device is not there says nothing about where it is when it returns.
                self.closed &= !asked;
            }
            Condition::Silent => {
                let since = *self.silent_since.get_or_insert(now);
                self.closed |= self.seen && now.saturating_since(since) >= ABANDONED;
            }
            Condition::Gone => self.closed |= self.seen,
        }
        self.closed
    }
}

impl ForceGuard {
    /// A guard for this device. As it is for a slave: it neither schedules gains nor watches the energy of a hand.
    pub fn new(config: SafetyConfig, info: &DeviceInfo) -> Self {
        let config = config.in_range();
        let max_force = keep(info.max_force, 0.0, 0.0, config.max_force);
        let max_damping = keep(info.max_damping, 0.0, 0.0, 100.0);
        let dead_man = match config.dead_man {
            DeadMan::Auto if info.dead_man != 0 => DeadMan::Button,
            DeadMan::Auto => DeadMan::None,
            chosen => chosen,
        };
        ForceGuard {
            max_force,
            dead_man,
            dead_man_buttons: info.dead_man,
            max_damping,
            schedule: None,
            passivity: None,
            trip: VelocityTrip::new(config.trip_speed),
            buzz: BuzzDetector::default(),
            heat: Heat::new(max_force, info.continuous_force, config.heat_time),
            slew: Slew::new(config.slew, config.kick),
            grip: DeadManRamp::default(),
            latch: Latch::default(),
            engaged_at: None,
            last_at: None,
            elapsed: Duration::ZERO,
            refused: 0,
            status: SafetyStatus::default(),
            config,
        }
    }

    /// There is a hand at this device, and this loop behind it: its `gains`, `None` for one that bears any delay, and the
    /// damping that control commands already, N s/m.
    pub fn close_loop(&mut self, gains: Option<LoopGains>, damping_in_use: f32) {
        self.schedule = gains.filter(|_| self.config.schedule).map(Schedule::new);
        self.passivity = self.config.passivity.then(|| Passivity::new(self.max_damping, damping_in_use));
        if self.schedule.is_none() {
            self.status.set(Stage::Schedule, StageState::Unused, 1.0);
        }
    }

    /// The longest force that comes out, N.
    pub fn max_force(&self) -> f32 {
        self.max_force
    }

    /// What has to be held for force to come on; never [`DeadMan::Auto`].
    pub fn dead_man(&self) -> DeadMan {
        self.dead_man
    }

    /// What each stage did in the last step.
    pub fn status(&self) -> &SafetyStatus {
        &self.status
    }

    /// Decides what this step may do. Anything that puts force off also restarts the engagement ramp. `refused`: readings
    /// and samples with absurd numbers so far.
    pub fn permit(
        &mut self,
        now: Instant,
        gate: Gate,
        reading: &Reading,
        sample_age: Option<Duration>,
        refused: u64,
    ) -> Permit {
        self.elapsed = self.last_at.map_or(Duration::ZERO, |last| now.saturating_since(last));
        self.last_at = Some(now);
        let freshness = sample_age.map_or(0.0, |age| self.freshness(age));
        let (held, grip) = self.held(now, gate, reading);
        let latched = self.latch.step(now, reading.condition, gate.engagements, grip);
        let off = if gate.stopped_here {
            Some(ForceOff::StoppedHere)
        } else if gate.stopped_there {
            Some(ForceOff::StoppedThere)
        } else if reading.state.is_none() {
            Some(ForceOff::Device)
        } else if latched {
            Some(ForceOff::WaitsForUser)
        } else if self.elapsed > self.config.stall {
            Some(ForceOff::Stalled)
        } else if !gate.connected {
            Some(ForceOff::NotConnected)
        } else if sample_age.is_none() {
            Some(ForceOff::NoSample)
        } else if freshness <= 0.0 {
            Some(ForceOff::PeerSilent)
        } else if held <= 0.0 {
            Some(ForceOff::DeadMan)
        } else {
            None
        };
        let gain = self.schedule.as_mut().map_or(1.0, |schedule| schedule.step(gate.loop_delay, self.elapsed));
        let mut permit = Permit { engagement: 0.0, freshness, held, gain, reason: off, off: off.is_some() };
        if permit.off {
            self.engaged_at = None;
            self.grip.rest();
        } else {
            permit.engagement = self.engagement(now);
            permit.reason = if held < 1.0 {
                Some(ForceOff::DeadMan)
            } else if freshness < 1.0 {
                Some(ForceOff::Fading)
            } else if permit.engagement < 1.0 {
                Some(ForceOff::Engaging)
            } else {
                None
            };
        }
        self.tell_permit(&permit, refused);
        permit
    }

    /// Passes `want` through passivity, velocity trip, buzz, clamp and heat, the ramps, and the slew limit. Zero, at once,
    /// if the permit is off or `want` is not finite.
    pub fn limit(&mut self, permit: &Permit, want: Force, reading: &Reading) -> Limited {
        let elapsed_ms = self.elapsed.as_secs_f32() * 1e3;
        let shown = self.slew.last;
        let max_force = self.heat.step(shown.norm(), self.elapsed.as_secs_f32());
        let velocity = reading.state.filter(|_| reading.damping).map(|s| s.velocity.0);
        let mut want = self.finite(want);
        let correction = self.passive(reading, shown, velocity);
        if let Some(velocity) = velocity {
            want = want.map(|want| correction.apply(want, velocity));
            want = self.swings(permit, want, velocity);
        }
        let Some(want) = want.filter(|_| !permit.off) else {
            self.slew.zero(elapsed_ms);
            self.tell_limits(max_force, 0.0, false, false);
            return Limited { force: Force::ZERO, passed: correction.share, clamped: false, slewed: false };
        };
        let (target, clamped) = shorten(want, max_force);
        let target = target * (permit.engagement * permit.freshness * permit.held);
        let (_, slewed) = self.slew.step(target, elapsed_ms);
        // Rounding may leave the last bit over.
        self.slew.last = shorten(self.slew.last, self.max_force).0;
        let pace = (self.slew.last - shown).norm() / elapsed_ms.max(1e-3);
        self.tell_limits(max_force, pace, clamped, slewed);
        Limited { force: Force(self.slew.last), passed: correction.share, clamped, slewed }
    }

    fn freshness(&self, age: Duration) -> f32 {
        let SafetyConfig { hold, zero, .. } = self.config;
        if age >= zero {
            0.0
        } else if age <= hold {
            1.0
        } else {
            (zero - age).as_secs_f32() / (zero - hold).as_secs_f32()
        }
    }

    fn engagement(&mut self, now: Instant) -> f32 {
        let since = now.saturating_since(*self.engaged_at.get_or_insert(now));
        if since >= self.config.engagement {
            return 1.0;
        }
        let t = since.as_secs_f32() / self.config.engagement.as_secs_f32();
        t * t * (3.0 - 2.0 * t)
    }

    /// Share that the dead-man leaves, and whether it was just gripped.
    fn held(&mut self, now: Instant, gate: Gate, reading: &Reading) -> (f32, bool) {
        let held = match self.dead_man {
            DeadMan::Auto | DeadMan::None => return (1.0, false),
            DeadMan::Button => reading.state.is_some_and(|s| s.buttons & self.dead_man_buttons != 0),
            DeadMan::Key => gate.dead_man == Some(true),
        };
        self.grip.step(now, held)
    }

    /// Sanity: components near f32::MAX overflow the norm; no force that large is meant.
    fn finite(&mut self, want: Force) -> Option<Vector> {
        if want.0.is_finite() {
            return Some(Vector(want.0.0.map(|c| c.clamp(-1e6, 1e6))));
        }
        self.refused += 1;
        let StageStatus { value, .. } = self.status.get(Stage::Sanity);
        self.status.set(Stage::Sanity, StageState::Off, value + 1.0);
        None
    }

    fn passive(&mut self, reading: &Reading, shown: Vector, velocity: Option<Vector>) -> Correction {
        let Some(passivity) = &mut self.passivity else { return Correction::NONE };
        let correction = match (reading.state, velocity) {
            (Some(state), Some(velocity)) => {
                passivity.step(state.position, shown, velocity.norm(), self.elapsed.as_secs_f32())
            }
            _ => {
                passivity.pause();
                Correction::NONE
            }
        };
        let state = if correction == Correction::NONE { StageState::Idle } else { StageState::Limiting };
        self.status.set(Stage::Passivity, state, correction.damping);
        correction
    }

    /// Velocity trip and buzz: what is left of `want`.
    fn swings(&mut self, permit: &Permit, want: Option<Vector>, velocity: Vector) -> Option<Vector> {
        if permit.off {
            // What moves without force is a hand.
            self.trip = VelocityTrip::new(self.config.trip_speed);
            self.buzz = BuzzDetector::default();
            self.status.set(Stage::Trip, StageState::Idle, velocity.norm());
            self.status.set(Stage::Buzz, StageState::Idle, 1.0);
            return want;
        }
        let now = self.last_at?;
        let (trip, buzz) = (self.trip.step(now, velocity.norm()), self.buzz.step(now, velocity));
        self.latch.closed |= trip == Trip::Off || buzz == Buzz::Off;
        let (state, left) = match trip {
            Trip::No => (StageState::Idle, want),
            Trip::Damp => (StageState::Limiting, Some(velocity * (-BRAKE * self.max_damping))),
            Trip::Off => (StageState::Off, None),
        };
        self.status.set(Stage::Trip, state, velocity.norm());
        let (state, share) = match buzz {
            Buzz::No => (StageState::Idle, 1.0),
            Buzz::Half => (StageState::Limiting, 0.5),
            Buzz::Off => (StageState::Off, 0.0),
        };
        self.status.set(Stage::Buzz, state, share);
        left.filter(|_| buzz != Buzz::Off).map(|left| left * share)
    }

    fn tell_permit(&mut self, permit: &Permit, refused: u64) {
        let limits = |limits| if limits { StageState::Limiting } else { StageState::Idle };
        let total = refused.saturating_add(self.refused);
        let sanity = total as f32 > self.status.get(Stage::Sanity).value;
        self.status.set(Stage::Sanity, limits(sanity), total as f32);
        if self.schedule.is_some() {
            self.status.set(Stage::Schedule, limits(permit.gain < 0.99), permit.gain);
        }
        self.status.set(Stage::Ramp, limits(!permit.off && permit.engagement < 1.0), permit.engagement);
        let watchdog = match permit.reason {
            Some(ForceOff::Stalled | ForceOff::NoSample | ForceOff::PeerSilent | ForceOff::Device) => StageState::Off,
            _ => limits(permit.freshness < 1.0 || self.elapsed > LATE),
        };
        self.status.set(Stage::Watchdog, watchdog, permit.freshness);
        if !matches!(self.dead_man, DeadMan::None) {
            let off = permit.reason == Some(ForceOff::DeadMan) && permit.off;
            let state = if off { StageState::Off } else { limits(permit.held < 1.0) };
            self.status.set(Stage::DeadMan, state, permit.held);
        }
        let stopped = matches!(permit.reason, Some(ForceOff::StoppedHere | ForceOff::StoppedThere));
        let state = if stopped { StageState::Off } else { StageState::Idle };
        self.status.set(Stage::Stop, state, f32::from(u8::from(stopped)));
    }

    fn tell_limits(&mut self, max_force: f32, pace: f32, clamped: bool, slewed: bool) {
        let limits = |limits| if limits { StageState::Limiting } else { StageState::Idle };
        self.status.set(Stage::Clamp, limits(clamped), self.max_force);
        self.status.set(Stage::Heat, limits(max_force < self.max_force), max_force);
        self.status.set(Stage::Slew, limits(slewed), pace);
    }
}
