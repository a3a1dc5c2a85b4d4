//! Force of the rotating body on the probe: penalty spring and damper along the normal, Coulomb friction against
//! the moving surface. The spring has a potential, the damper never pulls, friction is capped by the normal force.

use std::f64::consts::TAU;

use media::{Duration, Force, Position, Vector, Velocity};

use crate::Body;

/// Beyond this distance from the origin (m) there is nothing to touch; device workspaces are far smaller.
const REACH: f32 = 1.0;
/// Speeds are taken to be at most this, m/s: a hand does not move faster.
const SPEED_LIMIT: f32 = 10.0;
/// The damper reaches full strength at this penetration, m: no step of force at first touch.
const DAMPER_DEPTH: f32 = 0.001;
/// Friction is smoothed below this sliding speed, m/s: no chatter around rest.
const CREEP: f32 = 0.01;

/// What the scene is made of. Values outside the stated ranges (and not-a-numbers) are moved into them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneConfig {
    /// Shape and place of the body.
    pub body: Body,
    /// Stiffness of the surface, N/m, 0 to 5000. Default 800: firm clay, well below what loses stability at 1 kHz.
    pub stiffness: f32,
    /// Damping along the normal, N s/m, 0 to 20. Default 2. Too much buzzes at first touch.
    pub damping: f32,
    /// Coulomb friction coefficient, 0 to 2. Default 0.3: wet clay.
    pub friction: f32,
    /// Rotation about +y, rad/s, -50 to 50. Default 2: stripes can be followed by eye at 25 pictures/s.
    pub turn_rate: f32,
    /// Radius of the probe's ball, m, 0.001 to 0.02. Default 0.005.
    pub probe_radius: f32,
    /// Normal force at most, N, 0 to 50. Default 12. Deeper penetration meets this force.
    pub max_force: f32,
}

impl Default for SceneConfig {
    fn default() -> Self {
        SceneConfig {
            body: Body::default(),
            stiffness: 800.0,
            damping: 2.0,
            friction: 0.3,
            turn_rate: 2.0,
            probe_radius: 0.005,
            max_force: 12.0,
        }
    }
}

impl SceneConfig {
    fn in_range(self) -> Self {
        let default = SceneConfig::default();
        let keep = |value: f32, default: f32, low: f32, high: f32| {
            if value.is_nan() { default } else { value.clamp(low, high) }
        };
        SceneConfig {
            body: self.body,
            stiffness: keep(self.stiffness, default.stiffness, 0.0, 5000.0),
            damping: keep(self.damping, default.damping, 0.0, 20.0),
            friction: keep(self.friction, default.friction, 0.0, 2.0),
            turn_rate: keep(self.turn_rate, default.turn_rate, -50.0, 50.0),
            probe_radius: keep(self.probe_radius, default.probe_radius, 0.001, 0.02),
            max_force: keep(self.max_force, default.max_force, 0.0, 50.0),
        }
    }
}

/// What the probe feels at one step.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Contact {
    /// Force of the body on the probe, N, base frame. Always finite.
    pub force: Force,
    /// How deep the probe's ball is in the body, m, never negative.
    pub penetration: f32,
    /// `penetration` is above zero.
    pub touching: bool,
}

/// All that the drawing thread needs of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Pose {
    /// How far the body has turned about +y, radians, 0 to 2 pi.
    pub angle: f32,
    /// Centre of the probe's ball, m.
    pub probe: Position,
    /// Its contact.
    pub contact: Contact,
}

/// The touchable scene.
#[derive(Clone, Debug)]
pub struct Scene {
    config: SceneConfig,
    /// Radians, 0 to 2 pi; double precision, since it grows by milliradians for hours.
    angle: f64,
    pose: Pose,
}

impl Scene {
    /// The scene at rest with the probe at the origin.
    pub fn new(config: SceneConfig) -> Self {
        Scene { config: config.in_range(), angle: 0.0, pose: Pose::default() }
    }

    /// The configuration in use.
    pub fn config(&self) -> &SceneConfig {
        &self.config
    }

    /// Turns the body by `dt` and gives the contact of a probe at `probe` that moves with `velocity`. Positions that
    /// are not finite touch nothing; velocities that are not finite count as rest.
    pub fn step(&mut self, dt: Duration, probe: Position, velocity: Velocity) -> Contact {
        self.angle = (self.angle + f64::from(self.config.turn_rate) * dt.as_secs_f64()).rem_euclid(TAU);
        let within = probe.0.0.iter().all(|c| c.abs() <= REACH);
        let contact = if within { self.contact(probe, velocity) } else { Contact::default() };
        // The last drawable place is kept for the picture.
        let probe = if within { probe } else { self.pose.probe };
        self.pose = Pose { angle: self.angle as f32, probe, contact };
        contact
    }

    /// This moment for the drawing thread.
    pub fn pose(&self) -> Pose {
        self.pose
    }

    /// The point of the surface at this height (m) and angle; see [`Body::surface_point`].
    pub fn surface_point(&self, y: f32, angle: f32) -> Position {
        self.config.body.surface_point(y, angle)
    }

    /// Where the probe's centre is when it presses `depth` (m) into the surface there; negative depth: free.
    pub fn touch_point(&self, y: f32, angle: f32, depth: f32) -> Position {
        self.config.body.offset_point(y, angle, self.config.probe_radius - depth)
    }

    fn contact(&self, probe: Position, velocity: Velocity) -> Contact {
        let c = &self.config;
        let nearest = c.body.nearest(probe);
        let penetration = c.probe_radius - nearest.distance;
        let steepness = nearest.gradient.norm();
        // A gradient of zero is the saddle of a degenerate body: no direction to push.
        if penetration <= 0.0 || steepness < 1e-6 {
            return Contact::default();
        }
        let normal = nearest.gradient * (1.0 / steepness);
        let velocity =
            Vector(velocity.0.0.map(|v| if v.is_finite() { v.clamp(-SPEED_LIMIT, SPEED_LIMIT) } else { 0.0 }));

        // Minus the gradient of the potential k p^2 / 2: hence the factor `steepness`.
        let spring = (c.stiffness * penetration).min(c.max_force) * steepness;
        let damper = -c.damping * (penetration / DAMPER_DEPTH).min(1.0) * velocity.dot(normal);
        let push = (spring + damper).clamp(0.0, c.max_force);

        let [x, _, z] = (probe.0 - normal * nearest.distance).0;
        // omega x r with omega along +y.
        let surface = Vector::new(c.turn_rate * (z - c.body.axis_z), 0.0, -c.turn_rate * (x - c.body.axis_x));
        let relative = velocity - surface;
        let sliding = relative - normal * relative.dot(normal);
        let drag = sliding * (-c.friction * push / (sliding.dot(sliding) + CREEP * CREEP).sqrt());

        Contact { force: Force(normal * push + drag), penetration, touching: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICK: Duration = Duration::from_millis(1);

    fn still(config: SceneConfig) -> Scene {
        Scene::new(SceneConfig { turn_rate: 0.0, ..config })
    }

    /// Work of the scene on a probe led slowly along a closed path of `points`, J.
    fn work_around(scene: &mut Scene, points: impl Iterator<Item = Position>) -> f64 {
        let mut last: Option<(Position, Force)> = None;
        let mut work = 0.0;
        for p in points {
            let force = scene.step(TICK, p, Velocity::ZERO).force;
            if let Some((before, force_before)) = last {
                work += f64::from((force.0 + force_before.0).dot(p.0 - before.0)) * 0.5;
            }
            last = Some((p, force));
        }
        work
    }

    #[test]
    fn friction_follows_the_surface_and_obeys_coulomb() {
        let mut scene = Scene::new(SceneConfig { damping: 0.0, ..SceneConfig::default() });
        // The front of the body moves to the right (omega along +y, r along +z): it drags the probe along.
        let contact = scene.step(TICK, scene.touch_point(0.0, 0.0, 0.002), Velocity::ZERO);
        assert!(contact.force.0.0[0] > 0.1, "{contact:?}");
        let normal = contact.force.0.0[1].hypot(contact.force.0.0[2]);
        assert!(contact.force.0.0[0] <= 0.3 * normal * 1.001);
        // A probe that moves with the surface feels next to none.
        let speed = 2.0 * scene.config().body.radius(0.0);
        let carried = scene.step(TICK, scene.touch_point(0.0, 0.0, 0.002), Velocity::new(speed, 0.0, 0.0));
        assert!(carried.force.0.0[0].abs() < 0.1 * normal, "{carried:?}");
        // And one that overtakes it is held back.
        let ahead = scene.step(TICK, scene.touch_point(0.0, 0.0, 0.002), Velocity::new(0.3, 0.0, 0.0));
        assert!(ahead.force.0.0[0] < -0.1, "{ahead:?}");
    }

    #[test]
    fn stiffness_is_what_the_configuration_says() {
        let mut scene = still(SceneConfig::default());
        let contact = scene.step(TICK, scene.touch_point(-0.01, 0.3, 0.005), Velocity::ZERO);
        assert!((contact.penetration - 0.005).abs() < 1e-5);
        assert!((contact.force.0.norm() - 4.0).abs() < 0.2, "{contact:?}");
    }

    #[test]
    fn the_body_turns_and_wraps() {
        let mut scene = Scene::new(SceneConfig::default());
        for _ in 0..10_000 {
            scene.step(TICK, Position::ZERO, Velocity::ZERO);
        }
        let expected = (20.0f64).rem_euclid(TAU) as f32;
        assert!((scene.pose().angle - expected).abs() < 1e-4);
        let mut fast = Scene::new(SceneConfig { turn_rate: f32::INFINITY, ..SceneConfig::default() });
        fast.step(Duration::MAX, Position::ZERO, Velocity::ZERO);
        assert!((0.0..=TAU as f32).contains(&fast.pose().angle));
    }

    #[test]
    fn the_same_steps_give_the_same_forces() {
        let run = || {
            let mut scene = Scene::new(SceneConfig::default());
            (0..500)
                .map(|i| {
                    let depth = 0.003 * (i as f32 * 0.05).sin();
                    scene.step(TICK, scene.touch_point(0.01, i as f32 * 0.01, depth), Velocity::new(0.1, 0.0, -0.1))
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(run(), run());
    }

    proptest! {
        #[test]
        fn no_force_outside(u in 0.0f32..1.0, angle in -4f32..4.0, gap in 1e-4f32..0.1,
                            v in proptest::array::uniform3(-5f32..5.0)) {
            let mut scene = Scene::new(SceneConfig::default());
            let body = scene.config().body;
            let probe = scene.touch_point(body.bottom + u * (body.top - body.bottom), angle, -gap);
            let contact = scene.step(TICK, probe, Velocity(Vector(v)));
            prop_assert_eq!(contact, Contact::default());
        }

        #[test]
        fn deeper_never_pushes_less(u in 0.2f32..0.8, angle in -4f32..4.0, depth in 0.0f32..0.012, more in 0.0f32..0.006) {
            let mut scene = still(SceneConfig::default());
            let body = scene.config().body;
            let y = body.bottom + u * (body.top - body.bottom);
            let shallow = scene.step(TICK, scene.touch_point(y, angle, depth), Velocity::ZERO);
            let deep = scene.step(TICK, scene.touch_point(y, angle, depth + more), Velocity::ZERO);
            prop_assert!(deep.penetration >= shallow.penetration - 1e-6);
            prop_assert!(deep.force.0.norm() >= shallow.force.0.norm() * 0.99 - 1e-4, "{shallow:?} {deep:?}");
        }

        #[test]
        fn pressing_and_releasing_creates_no_energy(u in 0.05f32..0.95, angle in -4f32..4.0, depth in 0.001f32..0.012) {
            for config in [SceneConfig::default(), SceneConfig { friction: 0.0, ..SceneConfig::default() }] {
                let mut scene = still(config);
                let body = scene.config().body;
                let y = body.bottom + u * (body.top - body.bottom);
                let from = scene.touch_point(y, angle, -0.002);
                let to = scene.touch_point(y, angle, depth);
                let path = (0..=800).map(|i| {
                    let share = 1.0 - (i as f32 / 400.0 - 1.0).abs();
                    Position(from.0 + (to.0 - from.0) * share)
                });
                let work = work_around(&mut scene, path);
                prop_assert!(work.abs() < 2e-6, "{work} J");
            }
        }

        #[test]
        fn no_closed_path_creates_energy(u in 0.2f32..0.8, angle in -4f32..4.0, depth in 0.002f32..0.006,
                                         tall in 0.001f32..0.01, wide in 0.01f32..0.3) {
            let mut scene = still(SceneConfig { friction: 0.0, ..SceneConfig::default() });
            let body = scene.config().body;
            let y = body.bottom + u * (body.top - body.bottom);
            let points: Vec<_> = (0..=4000).map(|i| {
                let (sin, cos) = (TAU as f32 * i as f32 / 4000.0).sin_cos();
                scene.touch_point(y + tall * sin, angle + wide * cos, depth * (1.0 + sin * cos))
            }).collect();
            let work = work_around(&mut scene, points.into_iter());
            // Millijoules are moved on the way; microjoules of rounding may remain.
            prop_assert!(work.abs() < 3e-5, "{work} J");
        }

        #[test]
        fn absurd_inputs_give_finite_bounded_forces(
            p in proptest::array::uniform3(any::<f32>()), near in proptest::array::uniform3(-0.1f32..0.1),
            v in proptest::array::uniform3(any::<f32>()), c in proptest::array::uniform6(any::<f32>()),
        ) {
            let mut scene = Scene::new(SceneConfig {
                body: Body::default(), stiffness: c[0], damping: c[1], friction: c[2], turn_rate: c[3],
                probe_radius: c[4], max_force: c[5],
            });
            for p in [p, near] {
                let contact = scene.step(TICK, Position(Vector(p)), Velocity(Vector(v)));
                prop_assert!(contact.force.0.is_finite() && contact.force.0.norm() <= 50.0 * 2.3);
                prop_assert!(contact.penetration.is_finite() && contact.penetration >= 0.0);
                prop_assert!(scene.pose().probe.0.is_finite());
            }
        }
    }
}
