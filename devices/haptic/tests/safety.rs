//! Whatever comes in, what goes to a motor is finite, within the clamp, changes no faster than allowed, and is zero when
//! it must be. The judge here keeps its own account of what must be, apart from the code under test.

use media::{Duration, Force, Instant, Motion, Position, Vector, Velocity};
use proptest::prelude::*;
use telehaptic_haptic::{
    ControlConfig, DeviceError, DeviceInfo, DeviceState, FeedbackSource, ForceOff, Gate, Master, Received,
    SafetyConfig, Slave,
};

/// What happens in one step.
#[derive(Clone, Debug)]
struct Step {
    /// Since the last step, us.
    dt_us: u32,
    state: State,
    sample: Sample,
    numbers: [f32; 6],
    contact: [f32; 3],
    gate: Gate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Good,
    Absurd,
    /// The last good one with its old stamp.
    Stale,
    Fails,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sample {
    Good,
    Absurd,
    /// The same as in the last step.
    Same,
    /// A good one with a stamp of the future.
    Early,
}

fn absurd() -> impl Strategy<Value = f32> {
    prop_oneof![
        Just(f32::NAN),
        Just(f32::INFINITY),
        Just(f32::NEG_INFINITY),
        Just(f32::MAX),
        Just(-3e38f32),
        Just(1e9f32),
        Just(-101f32),
        any::<f32>()
    ]
}

/// Runs of the same conditions: single bad steps alone would never let force come up.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let dt = prop_oneof![20 => Just(1000u32), 3 => 0u32..3000, 1 => 0u32..120_000];
    let state = prop_oneof![20 => Just(State::Good), 1 => Just(State::Absurd), 1 => Just(State::Stale), 1 => Just(State::Fails)];
    let sample = prop_oneof![20 => Just(Sample::Good), 1 => Just(Sample::Absurd), 2 => Just(Sample::Same), 1 => Just(Sample::Early)];
    let gate = prop_oneof![
        12 => Just(Gate::OPEN),
        1 => Just(Gate { stopped_here: true, ..Gate::OPEN }),
        1 => Just(Gate { stopped_there: true, ..Gate::OPEN }),
        1 => Just(Gate { connected: false, ..Gate::OPEN }),
    ];
    let numbers = proptest::array::uniform6(prop_oneof![4 => -0.2f32..0.2, 1 => -100f32..100.0, 1 => absurd()]);
    let contact = proptest::array::uniform3(prop_oneof![3 => -5f32..5.0, 1 => absurd()]);
    let run = (1usize..400, dt, state, sample, numbers, contact, gate).prop_map(
        |(n, dt_us, state, sample, numbers, contact, gate)| {
            vec![Step { dt_us, state, sample, numbers, contact, gate }; n]
        },
    );
    proptest::collection::vec(run, 1..30).prop_map(|runs| runs.concat())
}

fn info() -> DeviceInfo {
    DeviceInfo {
        max_force: 2.5,
        continuous_force: 2.5,
        max_stiffness: 700.0,
        max_damping: 5.0,
        workspace_radius: 0.1,
        ..DeviceInfo::desktop("test")
    }
}

/// The judge's account.
struct Judge {
    config: SafetyConfig,
    max_force: f32,
    last: Vector,
    /// When the last valid sample arrived, since the connection.
    valid_at: Option<Instant>,
    /// When force last had to be zero.
    zero_at: Instant,
}

impl Judge {
    fn new(config: SafetyConfig, max_force: f32, now: Instant) -> Self {
        Judge { config, max_force, last: Vector::ZERO, valid_at: None, zero_at: now }
    }

    fn check(&mut self, now: Instant, step: &Step, new_valid: bool, force: Force) -> Result<(), TestCaseError> {
        if new_valid {
            self.valid_at = Some(now);
        }
        if !step.gate.connected {
            self.valid_at = None;
        }
        let f = force.0;
        prop_assert!(f.is_finite());
        prop_assert!(f.norm() <= self.max_force * 1.00001, "{} N", f.norm());
        let silent = self.valid_at.is_none_or(|at| now.saturating_since(at) >= Duration::from_millis(50));
        let stopped = step.gate.stopped_here || step.gate.stopped_there || !step.gate.connected;
        if silent || stopped || step.state == State::Fails {
            prop_assert_eq!(f, Vector::ZERO);
            self.zero_at = now;
        }
        let t = (now.saturating_since(self.zero_at).as_secs_f32() / self.config.engagement.as_secs_f32()).min(1.0);
        let ramp = t * t * (3.0 - 2.0 * t);
        prop_assert!(f.norm() <= self.max_force * ramp * 1.0001 + 1e-4, "{} N at {} of the ramp", f.norm(), t);
        if f != Vector::ZERO {
            // A stalled loop is allowed no more than 4 ms would be.
            let allowed = self.config.slew * (step.dt_us as f32 * 1e-3).min(4.0);
            prop_assert!((f - self.last).norm() <= allowed * 1.0001 + 1e-5, "{} N", (f - self.last).norm());
        }
        self.last = f;
        Ok(())
    }
}

/// Turns steps into what the control sees; the same for both stations.
struct World {
    now: Instant,
    sample_at: Instant,
    state: DeviceState,
}

impl World {
    fn new() -> Self {
        World { now: Instant::from_millis(10_000), sample_at: Instant::ZERO, state: DeviceState::default() }
    }

    fn advance(&mut self, step: &Step) -> Result<DeviceState, DeviceError> {
        self.now += Duration::from_micros(u64::from(step.dt_us));
        let n = step.numbers;
        match step.state {
            State::Fails => Err(DeviceError::Lost),
            State::Stale => Ok(self.state),
            State::Absurd => {
                let position = Position::new(n[3], n[4] * 1e3, n[5]);
                Ok(DeviceState { position, velocity: Velocity::new(n[0], n[1], n[2]), at: self.now, ..self.state })
            }
            State::Good => {
                let tame = |c: f32| if c.is_finite() { c.clamp(-0.2, 0.2) } else { 0.0 };
                self.state.position = Position::new(tame(n[2]), tame(n[1]), tame(n[0]));
                self.state.velocity = Velocity::new(tame(n[5]), tame(n[4]), tame(n[3]));
                self.state.at = self.now;
                Ok(self.state)
            }
        }
    }

    /// Stamp of the newest sample; `None` before the first.
    fn stamp(&mut self, sample: Sample) -> Option<Instant> {
        match sample {
            Sample::Same => {}
            Sample::Early => self.sample_at = self.now + Duration::from_secs(5),
            _ => self.sample_at = self.now,
        }
        (self.sample_at > Instant::ZERO).then_some(self.sample_at)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_master_never_shows_a_force_that_it_must_not(steps in steps(), scale in prop_oneof![0f32..4.0, absurd()]) {
        let config = ControlConfig { force_scale: scale, ..ControlConfig::default() };
        let mut world = World::new();
        let mut master = Master::new(config, &info(), world.now);
        let mut judge = Judge::new(config.safety, 2.5, world.now);
        let (mut last_stamp, mut value) = (None, Force::ZERO);
        for step in &steps {
            let state = world.advance(step);
            let stamp = world.stamp(step.sample);
            let fresh = stamp != last_stamp;
            last_stamp = stamp;
            if fresh {
                let n = step.numbers;
                value = match step.sample {
                    Sample::Absurd => Force::new(n[0], f32::NAN, n[2]),
                    _ => Force(Vector([n[0], n[1], n[2]].map(|c| if c.abs() <= 100.0 { c } else { 100.0 }))),
                };
            }
            let newest = stamp.map(|at| Received { value: value.into(), at });
            let out = master.step(world.now, &state, newest, step.gate);
            judge.check(world.now, step, fresh && step.sample != Sample::Absurd, out.force)?;
            prop_assert!(out.motion.position.0.is_finite() && out.motion.velocity.0.is_finite());
            prop_assert_eq!(out.force == Force::ZERO || out.status.device_ok, true);
        }
    }

    #[test]
    fn the_slave_never_shows_a_force_that_it_must_not(
        steps in steps(), measured in any::<bool>(), gains in proptest::array::uniform3(prop_oneof![0f32..1000.0, absurd()]),
    ) {
        let feedback = if measured { FeedbackSource::Contact } else { FeedbackSource::Coupling };
        let [stiffness, damping, max_speed] = gains;
        let config = ControlConfig { stiffness, damping, max_speed, feedback, ..ControlConfig::default() };
        let mut world = World::new();
        let mut slave = Slave::new(config, &info(), world.now);
        let mut judge = Judge::new(config.safety, 2.5, world.now);
        let (mut last_stamp, mut value) = (None, Motion::default());
        for step in &steps {
            let state = world.advance(step);
            let stamp = world.stamp(step.sample);
            let fresh = stamp != last_stamp;
            last_stamp = stamp;
            if fresh {
                let n = step.numbers;
                let tame = |c: f32| if c.abs() <= 1.0 { c } else { 1.0 };
                value = match step.sample {
                    Sample::Absurd => Motion { position: Position::new(n[0], n[1], 1.5), velocity: Velocity::ZERO },
                    _ => Motion {
                        position: Position::new(tame(n[0]), tame(n[1]), tame(n[2])),
                        velocity: Velocity::new(tame(n[3]), tame(n[4]), tame(n[5])),
                    },
                };
            }
            let newest = stamp.map(|at| Received { value: value.into(), at });
            let out = slave.step(world.now, &state, newest, Force(Vector(step.contact)), step.gate);
            judge.check(world.now, step, fresh && step.sample != Sample::Absurd, out.force)?;
            prop_assert!(out.feedback.0.is_finite() && out.feedback.0.norm() <= 2.5001);
            prop_assert!(out.desired.0.is_finite() && out.desired.0.norm() <= 1.8);
            if judge.zero_at == world.now {
                prop_assert_eq!(out.feedback, Force::ZERO);
            }
        }
    }
}

/// Steps a master at 1 kHz with a fresh force of `force` N each tick and tells the shown force.
fn settle(master: &mut Master, now: &mut Instant, ticks: u32, force: f32) -> Force {
    let mut shown = Force::ZERO;
    for _ in 0..ticks {
        *now += Duration::from_millis(1);
        let state = Ok(DeviceState { at: *now, ..DeviceState::default() });
        let newest = Some(Received { value: Force::new(0.0, 0.0, force).into(), at: *now });
        shown = master.step(*now, &state, newest, Gate::OPEN).force;
    }
    shown
}

#[test]
fn force_holds_then_fades_then_is_exactly_zero_and_comes_up_slowly_again() {
    let mut now = Instant::from_millis(77);
    let mut master = Master::new(ControlConfig::default(), &info(), now);
    let full = settle(&mut master, &mut now, 1500, 2.0);
    assert!((full.0.0[2] - 1.4).abs() < 1e-5, "2 N times 0.7: {full:?}");
    let last = Some(Received { value: Force::new(0.0, 0.0, 2.0).into(), at: now });
    let mut forces = Vec::new();
    for ms in 1..=60u64 {
        let t = now + Duration::from_millis(ms);
        let out = master.step(t, &Ok(DeviceState { at: t, ..DeviceState::default() }), last, Gate::OPEN);
        let reason = match ms {
            1..=4 => None,
            5..=33 => Some(ForceOff::Fading),
            _ => Some(ForceOff::PeerSilent),
        };
        assert_eq!(out.status.reason, reason, "at {ms} ms");
        forces.push(out.force.0.0[2]);
    }
    assert!(forces[..4].iter().all(|f| (f - 1.4).abs() < 1e-5));
    assert!(forces[3..34].windows(2).all(|w| w[1] < w[0]), "{forces:?}");
    assert!((forces[18] - 0.7).abs() < 1e-4, "half way at 19 ms: {}", forces[18]);
    assert!(forces[33..].iter().all(|f| *f == 0.0));
    now += Duration::from_millis(60);
    assert!(settle(&mut master, &mut now, 100, 2.0).0.0[2] < 0.05, "the ramp starts again");
    assert!(settle(&mut master, &mut now, 1000, 2.0).0.0[2] > 1.39);
}

#[test]
fn a_reversal_of_force_is_slewed_in_direction_too() {
    let mut now = Instant::from_millis(77);
    let mut master = Master::new(ControlConfig::default(), &info(), now);
    settle(&mut master, &mut now, 1500, 3.0);
    let mut last = Force::new(0.0, 0.0, 2.1);
    for _ in 0..14 {
        let next = settle(&mut master, &mut now, 1, -3.0);
        assert!((next.0 - last.0).norm() < 0.3001);
        last = next;
    }
    assert!((last.0.0[2] + 2.1).abs() < 1e-4, "{last:?}");
}

#[test]
fn each_reason_is_told_in_words_and_in_order() {
    let now = Instant::from_millis(5);
    let good = Ok(DeviceState { at: now, ..DeviceState::default() });
    let reason = |state: &Result<DeviceState, DeviceError>, gate| {
        Master::new(ControlConfig::default(), &info(), now).step(now, state, None, gate).status.reason
    };
    assert_eq!(reason(&good, Gate::OPEN), Some(ForceOff::NoSample));
    assert_eq!(reason(&Err(DeviceError::Lost), Gate::OPEN), Some(ForceOff::Device));
    let all = Gate { stopped_here: true, stopped_there: true, connected: false, ..Gate::OPEN };
    assert_eq!(reason(&Err(DeviceError::Lost), all), Some(ForceOff::StoppedHere));
    assert_eq!(reason(&good, Gate { stopped_here: false, ..all }), Some(ForceOff::StoppedThere));
    assert_eq!(reason(&good, Gate { connected: false, ..Gate::OPEN }), Some(ForceOff::NotConnected));
    assert_eq!(ForceOff::StoppedThere.to_string(), "emergency stop pressed at the other station");
}

#[test]
fn damping_is_dropped_when_the_loop_is_slow_or_the_reading_old() {
    let master = |step_ms: u64, age_ms: u64| {
        let mut master = Master::new(ControlConfig::default(), &info(), Instant::ZERO);
        let mut now = Instant::from_millis(1000);
        let mut shown = Force::ZERO;
        for _ in 0..2000 {
            now += Duration::from_millis(step_ms);
            let at = now - Duration::from_millis(age_ms);
            let state = Ok(DeviceState { velocity: Velocity::new(0.0, 0.5, 0.0), at, ..DeviceState::default() });
            let newest = Some(Received { value: Force::ZERO.into(), at: now });
            shown = master.step(now, &state, newest, Gate::OPEN).force;
        }
        shown.0.0[1]
    };
    assert!((master(1, 0) + 1.0).abs() < 1e-4, "0.5 m/s times 2 N s/m");
    assert_eq!(master(6, 0), 0.0);
    assert_eq!(master(1, 6), 0.0);
}

#[test]
fn the_desired_position_obeys_speed_and_workspace() {
    let mut now = Instant::from_millis(1000);
    let mut slave = Slave::new(ControlConfig::default(), &info(), now);
    let mut last = Position::ZERO;
    for i in 0..3000 {
        now += Duration::from_millis(1);
        let state = Ok(DeviceState { at: now, ..DeviceState::default() });
        // After the engagement the master jumps by half a metre.
        let x = if i < 1500 { 0.0 } else { 0.5 };
        let value = Motion { position: Position::new(x, 0.0, 0.0), velocity: Velocity::ZERO };
        let out = slave.step(now, &state, Some(Received { value: value.into(), at: now }), Force::ZERO, Gate::OPEN);
        assert!((out.desired.0 - last.0).norm() < 1.0001e-3, "faster than 1 m/s");
        last = out.desired;
    }
    assert!((last.0.0[0] - 0.1).abs() < 1e-5, "{last:?}");
}
