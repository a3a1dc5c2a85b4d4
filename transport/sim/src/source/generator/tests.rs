//! What the generator makes, judged by its spectrum and its steps.

use super::*;

/// Share of the power of a signal, its mean aside, that lies below `hz`. Hann window; samples are 1 ms apart.
fn share_below(hz: f64, signal: &[f64]) -> f64 {
    let n = signal.len() as f64;
    let mean = signal.iter().sum::<f64>() / n;
    let windowed: Vec<f64> =
        signal.iter().enumerate().map(|(i, s)| (s - mean) * (0.5 - 0.5 * (TAU * i as f64 / n).cos())).collect();
    // Parseval: the sum over all bins is n times that over all samples; bins above 0 stand for two.
    let total = n * windowed.iter().map(|s| s * s).sum::<f64>();
    let bins = (hz * n / 1000.0) as u64;
    let below: f64 = (0..=bins)
        .map(|bin| {
            let (mut re, mut im) = (0.0, 0.0);
            for (i, s) in windowed.iter().enumerate() {
                let angle = TAU * bin as f64 * i as f64 / n;
                re += s * angle.cos();
                im += s * angle.sin();
            }
            (re * re + im * im) * if bin == 0 { 1.0 } else { 2.0 }
        })
        .sum();
    below / total
}

/// A tick of both stations.
struct Moment {
    phase: Phase,
    motion: Motion,
    force: Force,
}

fn story(config: GeneratorConfig, seed: u64, ticks: u64) -> Vec<Moment> {
    let mut op = Generator::new(config, Role::Op, seed);
    let mut top = Generator::new(config, Role::Top, seed);
    (0..ticks)
        .map(|tick| match (op.tick(tick), top.tick(tick)) {
            (HapticSample::Motion(motion), HapticSample::Force(force)) => {
                assert_eq!(op.phase(), top.phase());
                Moment { phase: op.phase(), motion, force }
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn the_measure_finds_known_shares() {
    let sines = |hz: f64, a: f64| move |i: usize| a * (TAU * hz * i as f64 * 1e-3).sin();
    let (low, high) = (sines(5.0, 2.0), sines(60.0, 1.0));
    let both: Vec<f64> = (0..4000).map(|i| 3.0 + low(i) + high(i)).collect();
    assert!((share_below(20.0, &both) - 0.8).abs() < 1e-3);
}

#[test]
fn free_motion_has_over_ninety_percent_of_its_power_below_twenty_hertz() {
    let free = GeneratorConfig { free_ms: (10_000, 10_000), ..GeneratorConfig::default() };
    for seed in 0..4 {
        let story = &story(free, seed, 8_000);
        assert!(story.iter().all(|m| m.phase == Phase::Free && m.force == Force::ZERO));
        for axis in 0..3 {
            let position: Vec<f64> = story.iter().map(|m| f64::from(m.motion.position.0.0[axis])).collect();
            let velocity: Vec<f64> = story.iter().map(|m| f64::from(m.motion.velocity.0.0[axis])).collect();
            for (what, signal) in [("position", position), ("velocity", velocity)] {
                let share = share_below(20.0, &signal);
                assert!(share > 0.9, "seed {seed}, axis {axis}, {what}: {share}");
            }
        }
    }
}

#[test]
fn the_force_steps_at_contact_and_at_release() {
    let story = story(GeneratorConfig::default(), 1, 60_000);
    let mut contacts = 0;
    for pair in story.windows(2) {
        let step = (pair[1].force.0 - pair[0].force.0).norm();
        match (pair[0].phase, pair[1].phase) {
            (Phase::Free, Phase::Contact) => {
                contacts += 1;
                assert!((1.0..=2.0).contains(&step), "{step} N");
            }
            (Phase::Texture, Phase::Free) => assert!(step > 0.5, "{step} N"),
            (Phase::Contact | Phase::Texture, _) => assert!(step < 0.7, "{step} N"),
            _ => assert_eq!(step, 0.0),
        }
    }
    assert!(contacts > 10);
}

#[test]
fn texture_vibrates_and_plain_contact_hardly_does() {
    let long = GeneratorConfig { contact_ms: (4_200, 4_200), texture_ms: (4_200, 4_200), ..GeneratorConfig::default() };
    for seed in 0..4 {
        let story = story(long, seed, 12_000);
        let normal = |phase| {
            let of_phase = story.iter().filter(|m| m.phase == phase).map(|m| f64::from(m.force.0.0[2]));
            // Without the tap.
            of_phase.skip(200).take(4_000).collect::<Vec<f64>>()
        };
        let contact = share_below(20.0, &normal(Phase::Contact));
        let texture = share_below(20.0, &normal(Phase::Texture));
        assert!(contact > 0.99 && texture < 0.8, "seed {seed}: contact {contact}, texture {texture}");
    }
}

#[test]
fn motion_is_continuous_within_reach_and_its_velocity_is_its_slope() {
    let story = story(GeneratorConfig::default(), 7, 60_000);
    for triple in story.windows(3) {
        let [a, b, c] = [&triple[0], &triple[1], &triple[2]].map(|m| m.motion);
        let slope = (c.position.0 - a.position.0) * 500.0;
        assert!((slope - b.velocity.0).norm() < 2e-3, "{slope:?} {b:?}");
        assert!(b.position.0.norm() < 0.04 && b.velocity.0.norm() < 0.5, "{b:?}");
        let above = triple[1].motion.position.0.0[2] > 0.0;
        // Wandering and tremor, 2 mm at most, move the crossing a little.
        assert!(above == (triple[1].phase == Phase::Free) || b.position.0.0[2].abs() < 0.0022);
    }
    assert!(story.iter().all(|m| m.force.0.is_finite() && m.force.0.norm() < 3.3));
}

#[test]
fn the_same_seed_is_the_same_story_and_another_seed_another() {
    let motions = |seed| story(GeneratorConfig::default(), seed, 5_000).iter().map(|m| m.motion).collect::<Vec<_>>();
    assert_eq!(motions(3), motions(3));
    assert_ne!(motions(3), motions(4));
    // Missed ticks change nothing of those that follow.
    let mut whole = Generator::new(GeneratorConfig::default(), Role::Top, 3);
    let mut gaps = whole.clone();
    let all: Vec<_> = (0..20_000).map(|tick| whole.tick(tick)).collect();
    for tick in (0..20_000).step_by(777) {
        assert_eq!(gaps.tick(tick), all[tick as usize]);
    }
}

#[test]
fn absurd_configurations_are_moved_into_range() {
    for config in [
        GeneratorConfig {
            free_ms: (0, 0),
            contact_ms: (u64::MAX, 0),
            texture_ms: (9, u64::MAX),
            contact_force: (f32::NAN, f32::INFINITY),
            vibration: f32::NAN,
            ridge: 0.0,
        },
        GeneratorConfig { contact_force: (9.0, -1.0), vibration: -1.0, ridge: f32::MAX, ..GeneratorConfig::default() },
    ] {
        let story = story(config, 1, 30_000);
        assert!(story.iter().all(|m| m.force.0.norm() < 20.0 && m.motion.position.0.is_finite()));
    }
}
