//! The arithmetic of wave variables (Niemeyer and Slotine, 1991), without state but for the slave's tank.
//!
//! At each end a velocity v and a force F become waves u = (b v + F) / sqrt(2 b) and w = (b v - F) / sqrt(2 b), with b the
//! impedance; u goes from master to slave, w comes back. The power v F is u^2 / 2 - w^2 / 2: a line that delays the waves
//! by any constant time stores energy and makes none.

use media::{Duration, Vector, Wave};

use crate::control::shorten;

/// The impedance b of the line, N s/m: what the hand feels of it in free motion. Both ends must have the same.
pub(crate) const IMPEDANCE: f32 = 3.0;
/// sqrt(2 b).
const ROOT: f32 = 2.449_489_7;
/// Components beyond this are not those of a hand: sqrt(2 b) times the fastest that is believed.
const MAX_WAVE: f32 = 50.0;
/// A wave this old is whole; it is a packet of energy, and shown for longer it would be given twice.
const WHOLE: Duration = Duration::from_millis(2);
/// A wave this old is gone.
const GONE: Duration = Duration::from_millis(6);
/// The slave's desired position is brought to the master's within this time constant, s, far above any delay: the
/// correction goes around the loop, too.
const CORRECTION_S: f32 = 1.0;
/// And no faster than this, m/s.
const CORRECTION: f32 = 0.02;
/// What the correction may spend at most, J.
const TANK: f32 = 0.005;

/// Is this a wave that a hand makes?
pub(crate) fn valid(wave: &Wave) -> bool {
    // False for a not-a-number too.
    wave.0.0.iter().all(|c| c.abs() <= MAX_WAVE)
}

/// What is left of a wave of this age.
pub(crate) fn faded(wave: Wave, age: Duration) -> Wave {
    let left = GONE.saturating_sub(age).as_secs_f32() / (GONE - WHOLE).as_secs_f32();
    Wave(wave.0 * left.min(1.0))
}

/// The force on the hand, N, that moves at `velocity` with the wave `back` from the slave.
pub(crate) fn on_hand(velocity: Vector, back: Wave) -> Vector {
    back.0 * ROOT - velocity * IMPEDANCE
}

/// The wave that leaves the master when `shown` (N) was shown to the hand. Where that is less than [`on_hand`] wants, the
/// wave is cut to the energy that the hand really put in.
pub(crate) fn from_hand(velocity: Vector, shown: Vector, back: Wave) -> Wave {
    let wave = (velocity * IMPEDANCE - shown) * (1.0 / ROOT);
    let power = back.0.dot(back.0) - 2.0 * shown.dot(velocity);
    Wave(shorten(wave, power.max(0.0).sqrt()).0)
}

/// The slave's end of the line.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlaveEnd {
    /// Energy that the coupling's damping has burnt and the correction may spend, J.
    tank: f32,
}

/// The coupling at the slave in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spring {
    /// N/m.
    pub stiffness: f32,
    /// N s/m; 0 while the velocity is not known.
    pub damping: f32,
    /// From the slave to where it should be, m.
    pub stretch: Vector,
    /// Of the slave, m/s.
    pub velocity: Vector,
}

impl SlaveEnd {
    /// The force that the coupling asks for with the wave `there` from the master, N. Damping acts on the velocity that
    /// the wave commands less what that force takes of it: the two are solved together.
    pub(crate) fn force(there: Wave, spring: &Spring) -> Vector {
        let Spring { stiffness, damping, stretch, velocity } = *spring;
        let pull = stretch * stiffness;
        let commanded = (there.0 * ROOT - pull + velocity * damping) * (1.0 / (IMPEDANCE + damping));
        pull + (commanded - velocity) * damping
    }

    /// The velocity of the desired position, m/s, with `force` (N) shown on the slave.
    pub(crate) fn commanded(there: Wave, force: Vector) -> Vector {
        (there.0 * ROOT - force) * (1.0 / IMPEDANCE)
    }

    /// The wave that goes back when the desired position moved at `velocity` against `force`. What a limit took from the
    /// commanded velocity was not given to the slave, and goes back as well.
    pub(crate) fn answer(velocity: Vector, force: Vector) -> Wave {
        Wave((velocity * IMPEDANCE - force) * (1.0 / ROOT))
    }

    /// How far the desired position is moved beside the waves in `dt` seconds, m; `off` leads to where the master is, m. Waves carry velocity:
    /// what is lost of them, or was there before them, leaves the two devices apart. The work of this motion against
    /// `force` (N, on the slave) comes out of the tank, which the damping at the relative velocity `slip` (m/s) fills.
    pub(crate) fn correct(&mut self, off: Vector, force: Vector, spring: &Spring, slip: Vector, dt: f32) -> Vector {
        let burnt = spring.damping * slip.dot(slip) * dt;
        self.tank = (self.tank + burnt).clamp(0.0, TANK);
        let (way, _) = shorten(off * (dt / CORRECTION_S), CORRECTION * dt);
        let work = force.dot(way);
        let way = if work > self.tank { way * (self.tank / work) } else { way };
        self.tank = (self.tank - force.dot(way)).clamp(0.0, TANK);
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(x: f32) -> Vector {
        Vector::new(x, 0.0, 0.0)
    }

    #[test]
    fn power_is_the_difference_of_the_waves_at_both_ends() {
        assert!((ROOT * ROOT - 2.0 * IMPEDANCE).abs() < 1e-5);
        let back = Wave(along(0.7));
        let force = on_hand(along(0.2), back);
        let there = from_hand(along(0.2), force, back);
        // What the hand puts in: against the force on it.
        let put_in = -force.0[0] * 0.2;
        let carried = (there.0.dot(there.0) - back.0.dot(back.0)) / 2.0;
        assert!((put_in - carried).abs() < 1e-6, "{put_in} W in, {carried} W carried");

        let spring = Spring { stiffness: 200.0, damping: 3.0, stretch: along(0.004), velocity: along(0.05) };
        let force = SlaveEnd::force(there, &spring);
        let commanded = SlaveEnd::commanded(there, force);
        let back = SlaveEnd::answer(commanded, force);
        let given = force.dot(commanded);
        let carried = (there.0.dot(there.0) - back.0.dot(back.0)) / 2.0;
        assert!((given - carried).abs() < 1e-6, "{given} W out, {carried} W carried");
        // The force is that of the spring and of the damping at the commanded velocity.
        let law = 200.0 * 0.004 + 3.0 * (commanded.0[0] - 0.05);
        assert!((force.0[0] - law).abs() < 1e-5, "{} N, {law} N", force.0[0]);
    }

    #[test]
    fn nothing_comes_back_from_a_matched_end() {
        // A damper of the line's own impedance: the hand feels that and no echo.
        let force = on_hand(along(0.1), Wave::ZERO);
        let there = from_hand(along(0.1), force, Wave::ZERO);
        assert!((force.0[0] + 0.3).abs() < 1e-6);
        let spring = Spring { stiffness: 0.0, damping: 3.0, stretch: Vector::ZERO, velocity: Vector::ZERO };
        let force = SlaveEnd::force(there, &spring);
        let back = SlaveEnd::answer(SlaveEnd::commanded(there, force), force);
        assert!(back.0.norm() < 1e-6, "{back:?}");
    }

    #[test]
    fn the_master_sends_no_more_than_the_hand_put_in_whatever_is_shown_of_its_force() {
        for share in [0.0, 0.2, 0.7, 1.0, 1.5] {
            for step in -20..=20 {
                let (velocity, back) = (Vector::new(0.02 * step as f32, 0.1, -0.05), Wave(Vector::new(0.5, -0.2, 0.1)));
                let shown = on_hand(velocity, back) * share;
                let there = from_hand(velocity, shown, back);
                let put_in = -shown.dot(velocity);
                let carried = (there.0.dot(there.0) - back.0.dot(back.0)) / 2.0;
                assert!(
                    carried <= put_in.max(-back.0.dot(back.0) / 2.0) + 1e-5,
                    "{share}, {step}: {carried} of {put_in} W"
                );
            }
        }
    }

    #[test]
    fn the_slave_takes_no_less_than_the_line_brings_when_a_limit_cuts_its_velocity() {
        let (there, force) = (Wave(along(-0.4)), along(3.3));
        let commanded = SlaveEnd::commanded(there, force);
        assert!(commanded.0[0] < -1.2);
        let cut = along(-1.0);
        let back = SlaveEnd::answer(cut, force);
        let carried = (there.0.dot(there.0) - back.0.dot(back.0)) / 2.0;
        // The anchor gives 3.3 W to the line, no more may leave it at the other end.
        assert!(carried >= force.dot(cut) - 1e-5, "{carried} W, {} W", force.dot(cut));
    }

    #[test]
    fn old_waves_fade_and_absurd_ones_are_none() {
        let wave = Wave(along(1.0));
        let left = |us| faded(wave, Duration::from_micros(us)).0.0[0];
        assert_eq!((left(0), left(2_000), left(6_000), left(1_000_000)), (1.0, 1.0, 0.0, 0.0));
        assert!((left(4_000) - 0.5).abs() < 1e-6);
        assert!(valid(&wave) && !valid(&Wave(along(f32::NAN))) && !valid(&Wave(along(51.0))));
    }

    #[test]
    fn the_correction_spends_no_more_than_the_tank_holds() {
        let spring = Spring { stiffness: 200.0, damping: 3.0, stretch: Vector::ZERO, velocity: Vector::ZERO };
        let mut end = SlaveEnd::default();
        assert_eq!(end.correct(along(0.1), along(2.0), &spring, Vector::ZERO, 0.001), Vector::ZERO, "nothing saved");
        // Without a force it costs nothing.
        let way = end.correct(along(0.1), Vector::ZERO, &spring, Vector::ZERO, 0.001);
        assert!((way.0[0] - 0.02e-3).abs() < 1e-9);
        let mut spent = 0.0;
        for _ in 0..1_000 {
            end.correct(Vector::ZERO, Vector::ZERO, &spring, along(0.2), 0.001);
        }
        for _ in 0..10_000 {
            spent += end.correct(along(0.1), along(2.0), &spring, Vector::ZERO, 0.001).dot(along(2.0));
        }
        assert!((spent - TANK).abs() < 1e-5, "{spent} J");
    }
}
