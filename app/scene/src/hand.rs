//! Where a simulated hand wants to be so that it meets the body again and again: pure motion, no force.

use std::f32::consts::TAU;

use media::{Duration, Position};

use crate::SceneConfig;

/// One round of the hand, s.
const ROUND: f32 = 4.0;
/// Where the hand waits, m in front of the surface.
const WAIT: f32 = 0.008;
/// How deep it wants to press, m.
const PRESS: f32 = 0.005;

/// The probe position that the hand aims at `elapsed` after its start: free, approach, press while sliding up and
/// down and a little sideways, release; a round takes 4 s. Continuous, slower than 0.1 m/s.
pub fn hand_target(config: &SceneConfig, elapsed: Duration) -> Position {
    let round = (elapsed.as_secs_f64() / f64::from(ROUND)).fract() as f32;
    let pressed = ramp(round, 0.15, 0.30) - ramp(round, 0.80, 0.95);
    let depth = -WAIT + (WAIT + PRESS) * pressed;
    let slow = (elapsed.as_secs_f64() / f64::from(3.0 * ROUND)).fract() as f32 * TAU;
    let fast = round * 2.0 * TAU;
    let y = -0.005 + 0.012 * fast.sin();
    let angle = 0.4 * slow.sin();
    config.body.offset_point(y, angle, config.probe_radius - depth)
}

/// 0 before `from`, 1 after `to`, smooth in between.
fn ramp(x: f32, from: f32, to: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scene;
    use media::Velocity;

    #[test]
    fn the_hand_touches_and_lets_go_smoothly_and_stays_within_reach() {
        let config = SceneConfig::default();
        let mut scene = Scene::new(config);
        let tick = Duration::from_millis(1);
        let mut last = hand_target(&config, Duration::ZERO);
        let (mut touched, mut free, mut changes, mut was) = (0, 0, 0, false);
        for ms in 0..24_000u64 {
            let target = hand_target(&config, Duration::from_millis(ms));
            assert!((target.0 - last.0).norm() < 1.5e-4, "jump at {ms} ms");
            assert!(target.0.norm() < 0.06);
            last = target;
            let contact = scene.step(tick, target, Velocity::ZERO);
            if contact.touching {
                touched += 1;
            } else {
                free += 1;
            }
            changes += usize::from(contact.touching != was);
            was = contact.touching;
        }
        assert!(touched > 10_000 && free > 4_000, "{touched} {free}");
        assert_eq!(changes, 12, "six rounds: six touches and six releases");
    }
}
