//! What each coupling does between two devices with a delay between them: the slave comes to where the hand is, also over
//! a lossy way; the hand feels what the slave runs into; samples of another coupling are none; a change keeps the latch.

use std::collections::VecDeque;

use media::{Channel, Coupling, Duration, Force, HapticSample, Instant, Motion, Position, SampleKind, Wave};
use telehaptic_haptic::{
    ControlConfig, DeadMan, DeviceError, DeviceInfo, DeviceState, ForceOff, Gate, Hand, HandConfig, HapticDevice,
    Master, Received, SafetyConfig, SimConfig, SimDevice, Slave,
};

const TICK: Duration = Duration::from_millis(1);
const START: Instant = Instant::from_millis(9_000);
const ONE_WAY_MS: usize = 20;

/// How two devices stand after some time.
#[derive(Debug)]
struct End {
    master: Position,
    slave: Position,
    /// On the hand and by the scene on the slave, N.
    felt: Force,
    contact: Force,
}

/// A hand that goes to `goal` within two seconds and stays; a wall of 1 kN/m at z = -5 mm if `wall`; `lost` of a thousand
/// samples each way.
fn run(coupling: Coupling, goal: Position, wall: bool, lost: u32, seconds: u32) -> End {
    let target = move |t: Duration| Position(goal.0 * (t.as_secs_f32() / 2.0).min(1.0));
    let config = ControlConfig { coupling, force_scale: 1.0, ..ControlConfig::default() };
    let mut hand = SimDevice::held(SimConfig::default(), Hand::new(HandConfig::default(), target), START);
    let mut tool = SimDevice::new(SimConfig::default(), START);
    let mut master = Master::new(config, hand.info(), START);
    let mut slave = Slave::new(config, tool.info(), START);
    let (mut forward, mut backward) = (VecDeque::new(), VecDeque::new());
    let mut newest: [Option<Received<HapticSample>>; 2] = [None; 2];
    let gate = Gate { loop_delay: Some(TICK * 2 * ONE_WAY_MS as u32), ..Gate::OPEN };
    let mut random = 1u32;
    let mut end = None;
    for ms in 1..=seconds * 1000 {
        let now = START + TICK * ms;
        for (way, newest) in [&mut forward, &mut backward].into_iter().zip(&mut newest) {
            let arrived = (way.len() > ONE_WAY_MS).then(|| way.pop_front()).flatten();
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if let Some(value) = arrived
                && (random >> 8) % 1000 >= lost
            {
                *newest = Some(Received { value, at: now });
            }
        }
        let state = hand.read(now);
        let out = master.step(now, &state, newest[1], gate);
        assert_eq!(out.sample.kind(), coupling.sample(Channel::Forward));
        hand.write(now, out.force).expect("a force");
        forward.push_back(out.sample);

        let state = tool.read(now);
        let at = *state.as_ref().expect("a simulated device");
        let depth = if wall { -0.005 - at.position.0.0[2] } else { 0.0 };
        let push = if depth > 0.0 { (1_000.0 * depth - 2.0 * at.velocity.0.0[2]).max(0.0) } else { 0.0 };
        let contact = Force::new(0.0, 0.0, push);
        tool.touch(contact);
        let answer = slave.step(now, &state, newest[0], contact, gate);
        assert_eq!(answer.sample.kind(), coupling.sample(Channel::Backward));
        tool.write(now, answer.force).expect("a force");
        backward.push_back(answer.sample);
        end = Some(End { master: out.motion.position, slave: at.position, felt: out.force, contact });
    }
    end.expect("ticks")
}

#[test]
fn in_free_motion_the_slave_comes_to_where_the_hand_is() {
    for coupling in Coupling::ALL {
        for lost in [0, 100] {
            let end = run(coupling, Position::new(0.02, -0.01, 0.015), false, lost, 10);
            let apart = (end.master.0 - end.slave.0).norm();
            println!("{coupling}, {lost} of 1000 lost: {:.2} mm apart", apart * 1e3);
            assert!(apart < 1e-3, "{coupling}, {lost} of 1000 lost: {end:?}");
            assert!(end.felt.0.norm() < 0.05, "{coupling}: {end:?}");
            assert!((end.master.0 - Position::new(0.02, -0.01, 0.015).0).norm() < 2e-3, "{coupling}: {end:?}");
        }
    }
}

#[test]
fn at_a_wall_the_hand_feels_what_the_slave_feels() {
    for coupling in Coupling::ALL {
        let end = run(coupling, Position::new(0.0, 0.0, -0.02), true, 0, 8);
        let (felt, contact) = (end.felt.0.0[2], end.contact.0.0[2]);
        println!("{coupling}: {felt:.2} N at the hand, {contact:.2} N at the slave");
        assert!(felt > 0.5 && (felt - contact).abs() < 0.1 * contact, "{coupling}: {end:?}");
    }
}

#[test]
fn a_sample_of_another_coupling_is_none() {
    let kinds = || Coupling::ALL.into_iter().flat_map(|c| Channel::ALL.map(|channel| c.sample(channel)));
    for coupling in Coupling::ALL {
        let config = ControlConfig { coupling, ..ControlConfig::default() };
        for kind in kinds() {
            let mut device = SimDevice::new(SimConfig::default(), START);
            let mut master = Master::new(config, device.info(), START);
            let mut slave = Slave::new(config, device.info(), START);
            let now = START + TICK;
            let state = device.read(now);
            let newest = Some(Received { value: HapticSample::zero(kind), at: now });
            let heard = master.step(now, &state, newest, Gate::OPEN).status.sample_age.is_some();
            assert_eq!(heard, kind == coupling.sample(Channel::Backward), "master, {coupling}, {kind:?}");
            let heard = slave.step(now, &state, newest, Force::ZERO, Gate::OPEN).status.sample_age.is_some();
            assert_eq!(heard, kind == coupling.sample(Channel::Forward), "slave, {coupling}, {kind:?}");
        }
    }
}

/// A state at rest there.
fn at(position: Position, now: Instant) -> DeviceState {
    DeviceState { position, at: now, ..DeviceState::default() }
}

#[test]
fn a_slave_that_answers_late_and_far_from_the_origin_is_not_pulled_at() {
    // Moved by hand, as the master is, while it does not answer.
    let place = |ms| if ms < 1_500 { Position::new(0.04, 0.03, -0.02) } else { Position::new(-0.03, 0.0, 0.04) };
    for coupling in Coupling::ALL {
        let config = ControlConfig { coupling, ..ControlConfig::default() };
        let info = DeviceInfo::desktop("slave");
        let mut slave = Slave::new(config, &info, START);
        for ms in 1..3_000 {
            let now = START + TICK * ms;
            let there = place(ms);
            let motion = Motion { position: there, ..Motion::default() };
            let value = match coupling.sample(Channel::Forward) {
                SampleKind::MasterWave => HapticSample::MasterWave(Wave::ZERO, there),
                _ => motion.into(),
            };
            // Not calibrated first, later silent for a moment.
            let state = match ms {
                ..500 => Err(DeviceError::NotCalibrated),
                1_500..1_900 => Err(DeviceError::Silent),
                _ => Ok(at(there, now)),
            };
            let out = slave.step(now, &state, Some(Received { value, at: now }), Force::ZERO, Gate::OPEN);
            assert!(out.force.0.norm() < 1e-3, "{coupling}, {ms} ms: {:?}", out.force);
        }
    }
}

#[test]
fn while_the_slave_shows_no_force_the_hand_is_drawn_nowhere() {
    let stopped = Gate { dead_man: Some(false), ..Gate::OPEN };
    let safety = SafetyConfig { dead_man: DeadMan::Key, ..SafetyConfig::default() };
    for coupling in Coupling::ALL {
        let config = ControlConfig { coupling, ..ControlConfig::default() };
        let info = DeviceInfo::desktop("either");
        let mut master = Master::new(config, &info, START);
        let mut slave = Slave::new(ControlConfig { safety, ..config }, &info, START);
        let mut newest = None;
        for ms in 1..3_000 {
            let now = START + TICK * ms;
            let hand = Ok(at(Position::new(0.05, 0.0, 0.0), now));
            let out = master.step(now, &hand, newest, Gate::OPEN);
            assert_eq!(out.force, Force::ZERO, "{coupling}, {ms} ms");
            let forward = Some(Received { value: out.sample, at: now });
            let answer = slave.step(now, &Ok(at(Position::ZERO, now)), forward, Force::ZERO, stopped);
            newest = Some(Received { value: answer.sample, at: now });
        }
    }
}

#[test]
fn a_change_of_coupling_forgets_the_peer_and_keeps_the_latch() {
    let mut device = SimDevice::new(SimConfig::default(), START);
    let mut master = Master::new(ControlConfig::default(), device.info(), START);
    let mut step = |ms: u32, lost: bool, engagements: u32, coupling: Coupling| {
        let now = START + TICK * ms;
        let state = device.read(now);
        let state = if lost { Err(DeviceError::Lost) } else { state };
        let value = HapticSample::zero(coupling.sample(Channel::Backward));
        master.set_coupling(coupling);
        let gate = Gate { engagements, ..Gate::OPEN };
        master.step(now, &state, Some(Received { value, at: now }), gate).status.reason
    };
    assert_eq!(step(1, false, 0, Coupling::PositionForce), Some(ForceOff::Engaging));
    assert_eq!(step(2, true, 0, Coupling::PositionForce), Some(ForceOff::Device));
    assert_eq!(step(3, false, 0, Coupling::Wave), Some(ForceOff::WaitsForUser));
    assert_eq!(step(4, false, 1, Coupling::Wave), Some(ForceOff::Engaging));
}
