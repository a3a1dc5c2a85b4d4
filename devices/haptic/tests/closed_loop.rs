//! Master, delay, slave and a wall on one virtual clock: the loop must be stable, the slave must stand where the master
//! stands, and the operator must feel the wall.

use std::collections::VecDeque;

use media::{Duration, Force, Instant, Motion, Position, Vector, Velocity};
use telehaptic_haptic::{
    ControlConfig, FeedbackSource, Gate, Hand, HandConfig, HandScript, HapticDevice, Master, MasterOut, Received,
    SafetyConfig, SimConfig, SimDevice, Slave, SlaveOut,
};

const TICK: Duration = Duration::from_millis(1);

/// A wall that faces the user 10 mm behind the origin.
fn wall(stiffness: f32, position: Position, velocity: Velocity) -> Force {
    let depth = -0.01 - position.0.0[2];
    if depth <= 0.0 {
        return Force::ZERO;
    }
    Force::new(0.0, 0.0, (stiffness * depth - 2.0 * velocity.0.0[2]).max(0.0))
}

struct Setup {
    /// One-way delay, ms, each way.
    delay: usize,
    wall_stiffness: f32,
    config: ControlConfig,
    hand: HandConfig,
    script: HandScript,
    slave_starts: Position,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            delay: 30,
            wall_stiffness: 800.0,
            config: ControlConfig::default(),
            hand: HandConfig::default(),
            script: HandScript::default(),
            slave_starts: Position::ZERO,
        }
    }
}

struct Moment {
    ms: usize,
    wanted: Position,
    master: MasterOut,
    slave: SlaveOut,
    slave_position: Position,
    slave_velocity: Velocity,
    contact: Force,
}

/// Runs for `ms` milliseconds and shows each of them to `see`.
fn run(setup: Setup, ms: usize, mut see: impl FnMut(&Moment)) {
    let start = Instant::from_millis(123_456);
    let sim = SimConfig { rest: setup.slave_starts, ..SimConfig::default() };
    let mut master_device = SimDevice::held(SimConfig::default(), Hand::scripted(setup.hand, setup.script), start);
    let mut slave_device = SimDevice::new(sim, start);
    let mut master = Master::new(setup.config, master_device.info(), start);
    let mut slave = Slave::new(setup.config, slave_device.info(), start);
    let mut forward: VecDeque<Motion> = VecDeque::new();
    let mut backward: VecDeque<Force> = VecDeque::new();
    let mut contact = Force::ZERO;
    for i in 1..=ms {
        let now = start + TICK * i as u32;

        let newest = (backward.len() > setup.delay).then(|| backward.pop_front()).flatten();
        let newest = newest.map(|value| Received { value: value.into(), at: now });
        let out = master.step(now, &master_device.read(now), newest, Gate::OPEN);
        master_device.write(now, out.force).unwrap();
        forward.push_back(out.motion);

        let newest = (forward.len() > setup.delay).then(|| forward.pop_front()).flatten();
        let newest = newest.map(|value| Received { value: value.into(), at: now });
        let state = slave_device.read(now);
        let here = *state.as_ref().unwrap();
        let answer = slave.step(now, &state, newest, contact, Gate::OPEN);
        slave_device.write(now, answer.force).unwrap();
        contact = wall(setup.wall_stiffness, here.position, here.velocity);
        slave_device.touch(contact);
        backward.push_back(answer.feedback);

        see(&Moment {
            ms: i,
            wanted: master_device.wanted().unwrap(),
            master: out,
            slave: answer,
            slave_position: here.position,
            slave_velocity: here.velocity,
            contact,
        });
    }
}

/// A hand that approaches, pushes and then keeps pushing at one place.
fn steady_push() -> HandScript {
    HandScript { stroke: Vector::ZERO, phase: Duration::from_secs(2), ..HandScript::default() }
}

/// Largest swing of the master along z in the last second of a steady push: what is left of any oscillation. And the
/// mean force of the wall then.
fn residual(setup: Setup) -> (f32, f32) {
    let (mut low, mut high, mut push) = (f32::MAX, f32::MIN, 0.0);
    run(setup, 7_900, |m| {
        if m.ms > 6_900 {
            let z = m.master.motion.position.0.0[2];
            (low, high) = (low.min(z), high.max(z));
            push += m.contact.0.0[2] / 1000.0;
        }
    });
    (high - low, push)
}

#[test]
fn contact_is_stable_up_to_a_round_trip_of_100_ms() {
    let weak = HandConfig { mass: 0.1, stiffness: 200.0, damping: 4.0, max_force: 10.0 };
    for delay in [0, 5, 15, 30, 50] {
        for wall_stiffness in [200.0, 800.0, 2000.0] {
            for feedback in [FeedbackSource::Coupling, FeedbackSource::Contact] {
                for hand in [HandConfig::default(), weak] {
                    let config = ControlConfig { feedback, ..ControlConfig::default() };
                    let name = format!("{delay} ms, {wall_stiffness} N/m, {feedback:?}, {hand:?}");
                    let setup =
                        Setup { delay, wall_stiffness, config, hand, script: steady_push(), ..Setup::default() };
                    let (swing, push) = residual(setup);
                    assert!(swing < 1e-4, "{name}: the master still swings {swing} m");
                    assert!((0.3..3.3).contains(&push), "{name}: the wall is pushed with {push} N");
                }
            }
        }
    }
}

#[test]
fn the_same_measure_sees_a_loop_that_is_not_stable() {
    let safety = SafetyConfig { passivity: false, ..SafetyConfig::default() };
    let gains = ControlConfig { force_scale: 4.0, master_damping: 0.0, stiffness: 700.0, ..ControlConfig::default() };
    let config = ControlConfig { safety, ..gains };
    let (swing, _) = residual(Setup { config, script: steady_push(), ..Setup::default() });
    assert!(swing > 1e-3, "{swing}");
}

#[test]
fn the_operator_feels_the_wall_and_only_the_wall() {
    let mut felt: f32 = 0.0;
    let mut free: f32 = 0.0;
    run(Setup { script: steady_push(), ..Setup::default() }, 7_900, |m| {
        if m.ms == 7_900 {
            let expected = m.slave.feedback.0.0[2] * 0.7;
            felt = m.master.force.0.0[2];
            assert!((felt - expected).abs() < 0.01, "felt {felt} N, {expected} expected");
            // At rest the coupling carries what the wall pushes back.
            assert!((m.slave.feedback.0.0[2] - m.contact.0.0[2]).abs() < 0.02);
            assert_eq!((m.master.status.reason, m.slave.status.reason), (None, None));
        }
        // Waiting in free space, then approaching at up to 15 mm/s.
        if m.ms < 3_900 {
            free = free.max(m.master.force.0.norm());
        }
    });
    assert!(felt > 0.5, "{felt}");
    assert!(free < 0.15, "free space drags with {free} N");
}

#[test]
fn the_slave_comes_to_stand_where_the_master_stands() {
    let starts = Position::new(0.03, -0.02, 0.04);
    let mut motions = Vec::new();
    let mut last = None;
    let mut fastest: f32 = 0.0;
    run(Setup { slave_starts: starts, ..Setup::default() }, 6_000, |m| {
        motions.push(m.master.motion.position);
        if let Some(last) = last.replace(m.slave.desired) {
            fastest = fastest.max((m.slave.desired.0 - last.0).norm());
        }
        if m.slave.status.engagement == 0.0 {
            assert_eq!(m.slave_position, starts, "nothing moves before the engagement");
            assert_eq!((m.slave.force, m.slave.feedback), (Force::ZERO, Force::ZERO));
        }
        // In free space after the ramp: 30 ms and the lag of the coupling behind.
        if m.ms > 1_600 && m.contact == Force::ZERO {
            let behind = motions[m.ms - 31];
            assert!((m.slave.desired.0 - behind.0).norm() < 1e-6, "at {} ms", m.ms);
            assert!((m.slave_position.0 - behind.0).norm() < 2e-3, "at {} ms {:?}", m.ms, m.slave_position);
        }
        // Nowhere does the hand lose its way.
        assert!((m.master.motion.position.0 - m.wanted.0).norm() < 0.02, "at {} ms", m.ms);
        assert!(m.slave_velocity.0.norm() < 0.5, "at {} ms {:?}", m.ms, m.slave_velocity);
    });
    assert!(fastest < 2e-4, "the desired position jumps by {fastest} m");
}

#[test]
fn a_released_master_drifts_off_the_wall_without_swinging_up() {
    // The hand has no more strength than its own mass and damping from the start: only the offset pushes.
    let hand = HandConfig { mass: 0.01, stiffness: 5.0, damping: 0.2, max_force: 0.3 };
    let mut late: f32 = 0.0;
    run(Setup { hand, script: steady_push(), ..Setup::default() }, 20_000, |m| {
        assert!(m.master.motion.position.0.norm() < 0.05, "at {} ms", m.ms);
        if m.ms > 6_000 {
            late = late.max(m.slave_velocity.0.norm());
        }
    });
    assert!(late < 0.5, "{late} m/s");
}

#[test]
fn the_same_run_twice_is_the_same() {
    let once = || {
        let mut all = Vec::new();
        run(Setup::default(), 3_000, |m| all.push((m.master, m.slave)));
        all
    };
    assert_eq!(once(), once());
}
