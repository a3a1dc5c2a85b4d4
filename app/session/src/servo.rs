//! The servo thread: once a millisecond it reads the device, takes one step of control, writes the force and passes the
//! sample on. In steady state it takes no lock, allocates nothing and logs nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use haptic::{
    Calibration, ControlConfig, DeadMan, DeviceError, ForceOff, Gate, HapticDevice, Lateness, Master, Received,
    SafetyStatus, Slave, Stage, StageState, Step,
};
use media::{Coupling, Duration, Force, HapticSample, Instant, Vector};
use rtrb::Producer;
use scene::{Pose, Scene};
use triple_buffer::{Input, Output};

use crate::shared::{Note, ServoSample, ServoSlot, Shared, count};
use crate::trace::ServoRecord;

/// A step this late after the last means that the machine slept or stood still: force starts anew.
const JUMP: Duration = Duration::from_secs(1);
/// So many readings in succession must fail before the peer is told; the local force is off at once.
const FAULT_AFTER: u32 = 50;
/// Lateness is worked out from its histogram every so many ticks.
const LATENESS_EVERY: u64 = 128;
/// The work of a stage of safety is told no more often than this.
const STAGE_REST: Duration = Duration::from_secs(10);
/// Time of a scene's step.
const TICK: Duration = Duration::from_millis(1);

/// The two kinds of control.
pub(crate) enum Side {
    /// The operator's hand.
    Master(Box<Master>),
    /// The slave and what it touches, handed to the drawing thread.
    Slave { control: Box<Slave>, scene: Box<Scene>, pose: Input<Pose> },
}

/// The state of the servo.
pub(crate) struct Servo {
    pub shared: Arc<Shared>,
    pub device: Box<dyn HapticDevice>,
    pub side: Side,
    /// The peer's newest sample.
    pub newest: Output<Option<Received<HapticSample>>>,
    pub samples: Producer<ServoSample>,
    pub slot: Input<ServoSlot>,
    pub notes: Producer<Note>,
    pub trace: Option<Producer<ServoRecord>>,
    pub(crate) state: ServoState,
}

/// What a servo remembers from tick to tick.
#[derive(Default)]
pub(crate) struct ServoState {
    /// The last step, and how long the machine had been suspended by then.
    last_at: Option<(Instant, Duration)>,
    connection: u32,
    calibrations: u32,
    calibration: Calibration,
    /// What each stage of safety did last, and when that was last told.
    stages: [(StageState, Option<Instant>); Stage::ALL.len()],
    failing: u32,
    /// What the peer was told of the device.
    fault: bool,
    write_error: Option<DeviceError>,
    force_off: Option<ForceOff>,
    late_us: [f64; 3],
}

impl Servo {
    /// Control of the operator's device.
    pub fn master(device: &dyn HapticDevice, config: ControlConfig, now: Instant) -> Side {
        Side::Master(Box::new(Master::new(config, device.info(), now)))
    }

    /// Control of the teleoperator's device in `scene`.
    pub fn slave(
        device: &dyn HapticDevice,
        config: ControlConfig,
        scene: Scene,
        pose: Input<Pose>,
        now: Instant,
    ) -> Side {
        let control = Box::new(Slave::new(config, device.info(), now));
        Side::Slave { control, scene: Box::new(scene), pose }
    }

    /// The longest force that the device will be given, N.
    pub fn max_force(side: &Side) -> f32 {
        match side {
            Side::Master(control) => control.max_force(),
            Side::Slave { control, .. } => control.max_force(),
        }
    }

    /// What has to be held for force to come on.
    pub fn dead_man(side: &Side) -> DeadMan {
        match side {
            Side::Master(control) => control.dead_man(),
            Side::Slave { control, .. } => control.dead_man(),
        }
    }

    /// One tick: `tick` counts from 0 and skips those that were missed; `suspended` is how long this machine has slept.
    pub fn step(&mut self, now: Instant, suspended: Duration, tick: u64, lateness: &Lateness) {
        let gate = self.gate(now, suspended);
        self.couple();
        self.calibrate();
        let newest = *self.newest.read();
        let device = self.device.as_mut();
        let step = match &mut self.side {
            Side::Master(control) => control.tick(now, device, newest, gate),
            Side::Slave { control, scene, pose } => control.tick(now, device, newest, gate, |motion| {
                let contact = scene.step(TICK, motion.position, motion.velocity).force;
                pose.write(scene.pose());
                contact
            }),
        };
        self.state.write_error = step.written.as_ref().err().cloned();
        self.watch_device(&step);
        self.watch_stages(now, &step.status.safety);

        if self.samples.push(ServoSample { tick, at: now, sample: step.sample }).is_err() {
            count(&self.shared.dropped.haptic);
        }
        self.publish(now, tick, newest, &step, lateness);
    }

    /// No force from here on: the station ends.
    pub fn finish(&mut self, now: Instant) {
        // A device that takes no force any more shows none.
        let _ = self.device.write(now, Force::ZERO);
    }

    fn gate(&mut self, now: Instant, suspended: Duration) -> Gate {
        let shared = &self.shared;
        let connection = shared.connection.load(Ordering::Acquire);
        let mut connected = shared.connected.load(Ordering::Acquire);
        // One tick without a peer: a new one starts from zero.
        if connection != self.state.connection {
            self.state.connection = connection;
            connected = false;
        }
        if let Some((last, slept)) = self.state.last_at {
            let pause = now.saturating_since(last) + suspended.saturating_sub(slept);
            if pause > JUMP {
                connected = false;
                self.note(Note::Jump(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)));
            }
        }
        self.state.last_at = Some((now, suspended));
        Gate {
            stopped_here: self.shared.stopped_here.load(Ordering::Acquire),
            stopped_there: self.shared.stopped_there.load(Ordering::Acquire),
            connected,
            engagements: self.shared.engagements.load(Ordering::Acquire),
            dead_man: Some(now.as_nanos() / 1_000_000 < self.shared.dead_man_until_ms.load(Ordering::Acquire)),
            loop_delay: match self.shared.loop_delay_us.load(Ordering::Relaxed) {
                0 => None,
                us => Some(Duration::from_micros(u64::from(us))),
            },
        }
    }

    /// The operator's coupling holds at both stations.
    fn couple(&mut self) {
        let coupling = Coupling::from_code(self.shared.coupling.load(Ordering::Acquire));
        match &mut self.side {
            Side::Master(control) => control.set_coupling(coupling),
            Side::Slave { control, .. } => control.set_coupling(coupling),
        }
    }

    /// A wish to calibrate is passed on; what the device wants from people is told when it changes.
    fn calibrate(&mut self) {
        let wishes = self.shared.calibrations.load(Ordering::Acquire);
        if wishes != self.state.calibrations {
            self.state.calibrations = wishes;
            self.device.calibrate();
        }
        let calibration = self.device.calibration();
        if calibration != self.state.calibration {
            self.state.calibration = calibration;
            self.note(Note::Calibration(calibration));
        }
    }

    /// The beginning of a stage's work is worth a line, once in a while.
    fn watch_stages(&mut self, now: Instant, safety: &SafetyStatus) {
        let acts = |state| matches!(state, StageState::Limiting | StageState::Off);
        for (index, (stage, status)) in safety.iter().enumerate() {
            let (before, told_at) = &mut self.state.stages[index];
            let begins = acts(status.state) && !acts(*before);
            *before = status.state;
            // What holds the force at zero is told with its reason.
            let told_elsewhere = matches!(stage, Stage::Ramp | Stage::Stop | Stage::DeadMan);
            if begins && !told_elsewhere && told_at.is_none_or(|at| now.saturating_since(at) >= STAGE_REST) {
                *told_at = Some(now);
                self.note(Note::Stage(stage, status.state, status.value));
            }
        }
    }

    /// A device that fails for a while, or that waits for a person to engage, is an emergency stop for the peer.
    fn watch_device(&mut self, step: &Step) {
        let error = step.state.as_ref().err().or(self.state.write_error.as_ref());
        let failing = if error.is_some() { self.state.failing.saturating_add(1) } else { 0 };
        if failing == FAULT_AFTER {
            // Errors that arise at this rate hold no text: the clone allocates nothing.
            let error = error.cloned();
            self.note(Note::Device(error));
        } else if failing == 0 && self.state.failing >= FAULT_AFTER {
            self.note(Note::Device(None));
        }
        self.state.failing = failing;
        let fault = failing >= FAULT_AFTER || step.status.reason == Some(ForceOff::WaitsForUser);
        if fault != self.state.fault {
            self.state.fault = fault;
            self.shared.device_fault.store(fault, Ordering::Release);
        }
    }

    fn publish(
        &mut self,
        now: Instant,
        tick: u64,
        newest: Option<Received<HapticSample>>,
        step: &Step,
        lateness: &Lateness,
    ) {
        if tick.is_multiple_of(LATENESS_EVERY) {
            self.state.late_us = lateness.summary_us();
        }
        let age_ns = step.status.sample_age.map(|age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
        let off = step.status.reason.filter(|r| !matches!(r, ForceOff::Engaging | ForceOff::Fading));
        if off != self.state.force_off && !matches!(step.status.reason, Some(ForceOff::Fading)) {
            self.state.force_off = off;
            self.note(Note::Force(off));
        }
        self.slot.write(ServoSlot {
            position: step.motion.position,
            force: step.force,
            desired: step.desired,
            contact: step.contact,
            velocity: step.motion.velocity,
            buttons: step.state.as_ref().map_or(0, |s| s.buttons),
            calibration: self.state.calibration,
            health: self.device.health(),
            safety: step.status.safety,
            engagement: step.status.engagement,
            age_ns,
            reason: step.status.reason,
            ticks: lateness.ticks(),
            missed: lateness.missed(),
            late_us: self.state.late_us,
        });
        let Some(trace) = &mut self.trace else { return };
        let [incoming, incoming_velocity] = newest.map_or([Vector::ZERO; 2], |n| n.value.vectors());
        let record = ServoRecord {
            tick,
            at: now,
            state: step.motion,
            desired: step.desired,
            contact: step.contact,
            incoming_at: newest.map(|n| n.at),
            incoming,
            incoming_velocity,
            force: step.force,
            sent: step.sample.vectors()[0],
            engagement: step.status.engagement,
            gain: step.status.safety.get(Stage::Schedule).value,
            damping: step.status.safety.get(Stage::Passivity).value,
            passed: step.status.passed,
            limit: step.status.safety.get(Stage::Heat).value,
            age_ns: age_ns.map_or(-1, |ns| i64::try_from(ns).unwrap_or(i64::MAX)),
            held: off.is_some(),
            stopped: matches!(off, Some(ForceOff::StoppedHere | ForceOff::StoppedThere)),
        };
        if trace.push(record).is_err() {
            count(&self.shared.dropped.trace);
        }
    }

    fn note(&mut self, note: Note) {
        if self.notes.push(note).is_err() {
            count(&self.shared.dropped.notes);
        }
    }
}

#[cfg(test)]
mod tests;
