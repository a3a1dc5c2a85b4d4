//! Does the loop ring? Every coupling over round trips of 0 to 200 ms, against a stiff wall (1 kN/m) and in free motion, in
//! a hand that damps little: with the gain schedule and the passivity stage nothing grows, without them position-force and
//! position-position do.

use std::collections::VecDeque;

use media::{Coupling, Duration, Force, HapticSample, Instant, Position, Vector};
use telehaptic_haptic::{
    ControlConfig, Gate, Hand, HandConfig, HapticDevice, Master, Received, SafetyConfig, SimConfig, SimDevice, Slave,
};

const TICK: Duration = Duration::from_millis(1);
const ROUND_TRIPS_MS: [usize; 9] = [0, 10, 20, 40, 60, 80, 100, 150, 200];
/// The hand has approached and the engagement is over.
const EARLY_MS: usize = 3_000;
const END_MS: usize = 12_000;
const WALL_N_PER_M: f32 = 1_000.0;
/// What the device may have given to the hand at most, at any time, beyond what the hand had put in, mJ; a spring of
/// 200 N/m at 1.4 N holds 4.9.
const GIVEN_MJ: f32 = 1.0;

/// How a run went.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    /// Swing of the master along z in the first second after the approach, and in the last, mm.
    early_mm: f32,
    late_mm: f32,
    /// Energy that the device gave to the hand since the start, what the hand put in taken off: the most at any time, mJ.
    given_mj: f32,
    /// Largest force at the master in the last second, N.
    force_n: f32,
}

impl Outcome {
    /// Something is left of the swing after nine seconds at rest, or the device feeds the hand.
    fn grows(&self) -> bool {
        self.late_mm > 1.0 || self.given_mj > GIVEN_MJ
    }
}

/// A light grip: two fingers, half of the damping that an arm has.
fn light() -> HandConfig {
    HandConfig { mass: 0.08, stiffness: 120.0, damping: 2.0, max_force: 5.0 }
}

fn run(coupling: Coupling, round_trip_ms: usize, wall: bool, safety: SafetyConfig) -> Outcome {
    let start = Instant::from_millis(50_000);
    // Into the wall and staying there, or to and fro in the free.
    let target = move |t: Duration| {
        let s = t.as_secs_f32();
        let z =
            if wall { -0.025 * (s / 2.0).min(1.0) } else { 0.02 * (std::f32::consts::TAU * 0.5 * s.min(4.0)).sin() };
        Position::new(0.0, 0.0, z)
    };
    let config = ControlConfig { coupling, safety, force_scale: 1.0, ..ControlConfig::default() };
    let mut hand = SimDevice::held(SimConfig::default(), Hand::new(light(), target), start);
    let mut tool = SimDevice::new(SimConfig::default(), start);
    let mut master = Master::new(config, hand.info(), start);
    let mut slave = Slave::new(config, tool.info(), start);
    let (mut forward, mut backward) = (VecDeque::<HapticSample>::new(), VecDeque::<HapticSample>::new());
    let (there, back) = (round_trip_ms / 2, round_trip_ms - round_trip_ms / 2);
    let gate = Gate { loop_delay: Some(TICK * round_trip_ms as u32), ..Gate::OPEN };
    let (mut early, mut late) = ([f32::MAX, f32::MIN], [f32::MAX, f32::MIN]);
    let (mut given, mut most, mut strongest) = (0.0_f32, 0.0_f32, 0.0_f32);
    let mut before: Option<(Vector, Vector)> = None;
    for ms in 1..=END_MS {
        let now = start + TICK * ms as u32;
        let newest = (backward.len() > back).then(|| backward.pop_front()).flatten();
        let state = hand.read(now);
        let here = state.as_ref().expect("a simulated device").position.0;
        let out = master.step(now, &state, newest.map(|value| Received { value, at: now }), gate);
        hand.write(now, out.force).expect("a finite force");
        forward.push_back(out.sample);

        let newest = (forward.len() > there).then(|| forward.pop_front()).flatten();
        let state = tool.read(now);
        let at = *state.as_ref().expect("a simulated device");
        let depth = -0.005 - at.position.0.0[2];
        let push = if wall && depth > 0.0 { (WALL_N_PER_M * depth - 2.0 * at.velocity.0.0[2]).max(0.0) } else { 0.0 };
        tool.touch(Force::new(0.0, 0.0, push));
        let answer = slave.step(now, &state, newest.map(|value| Received { value, at: now }), Force::ZERO, gate);
        tool.write(now, answer.force).expect("a finite force");
        backward.push_back(answer.sample);

        if let Some((force, position)) = before.replace((out.force.0, here)) {
            given += force.dot(here - position);
            most = given.max(most);
        }
        let z = here.0[2];
        let widen = |range: &mut [f32; 2]| *range = [range[0].min(z), range[1].max(z)];
        if (EARLY_MS..EARLY_MS + 1_000).contains(&ms) {
            widen(&mut early);
        } else if ms > END_MS - 1_000 {
            widen(&mut late);
            strongest = strongest.max(out.force.0.norm());
        }
    }
    let swing = |range: [f32; 2]| (range[1] - range[0]) * 1e3;
    Outcome { early_mm: swing(early), late_mm: swing(late), given_mj: most * 1e3, force_n: strongest }
}

fn table(coupling: Coupling, wall: bool, safety: SafetyConfig) -> Vec<(usize, Outcome)> {
    println!("{coupling}, {} {safety:?}", if wall { "wall" } else { "free" });
    println!("round trip ms | swing early mm | late mm | given to the hand mJ | force at the end N");
    let row = |ms| {
        let o = run(coupling, ms, wall, safety);
        println!("{ms:13} | {:14.2} | {:7.2} | {:20.2} | {:18.2}", o.early_mm, o.late_mm, o.given_mj, o.force_n);
        (ms, o)
    };
    ROUND_TRIPS_MS.into_iter().map(row).collect()
}

fn nothing_grows(safety: SafetyConfig) {
    for coupling in Coupling::ALL {
        for wall in [true, false] {
            for (ms, outcome) in table(coupling, wall, safety) {
                assert!(!outcome.grows(), "{coupling}, {ms} ms, wall {wall}: {outcome:?}");
                // Stable because nothing is shown would be easy.
                assert!(!wall || outcome.force_n > 0.2, "{coupling}, {ms} ms: {outcome:?}");
            }
        }
    }
}

#[test]
fn with_the_stages_nothing_grows_at_any_round_trip() {
    nothing_grows(SafetyConfig::default());
}

#[test]
fn with_passivity_alone_nothing_grows_at_any_round_trip() {
    nothing_grows(SafetyConfig { schedule: false, ..SafetyConfig::default() });
}

#[test]
fn without_them_the_loop_rings_but_for_waves() {
    let bare = SafetyConfig { schedule: false, passivity: false, ..SafetyConfig::default() };
    for coupling in Coupling::ALL {
        let outcomes = [true, false].map(|wall| table(coupling, wall, bare)).concat();
        let ringing: Vec<usize> = outcomes.iter().filter(|(_, o)| o.grows()).map(|(ms, _)| *ms).collect();
        println!("{coupling} rings at {ringing:?} ms");
        // The case that the stages are for; waves are passive by themselves.
        assert_eq!(ringing.is_empty(), coupling == Coupling::Wave, "{coupling}: {ringing:?}");
    }
}
