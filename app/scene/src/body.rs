//! The shape: a solid of revolution about an upright axis. Gives a smooth signed distance with its exact
//! gradient, so that a force along the gradient has a potential and cannot create energy.

use std::f32::consts::TAU;

use media::{Position, Vector};

/// Edges of the rim and the foot are rounded over about this length, m.
const ROUNDING: f32 = 0.006;

/// A vase of revolution: radius `mean + swing * sin(2 pi (waves * u + phase))` at the height share `u`, 0 at the
/// bottom and 1 at the top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Where the axis stands: x, m.
    pub axis_x: f32,
    /// Where the axis stands: z, m.
    pub axis_z: f32,
    /// Height of the foot, which is the wheel's plane: y, m.
    pub bottom: f32,
    /// Height of the rim: y, m.
    pub top: f32,
    /// Mean radius, m.
    pub mean: f32,
    /// How far the radius departs from the mean, m.
    pub swing: f32,
    /// Waves of the profile over the whole height.
    pub waves: f32,
    /// Where in the wave the foot stands, share of a wave.
    pub phase: f32,
}

impl Default for Body {
    /// 80 mm high, radius 15 mm at the neck and 27 mm at the belly, its axis 40 mm behind the origin.
    fn default() -> Self {
        Body {
            axis_x: 0.0,
            axis_z: -0.04,
            bottom: -0.045,
            top: 0.035,
            mean: 0.021,
            swing: 0.006,
            waves: 0.95,
            phase: -0.05,
        }
    }
}

/// Where a point stands relative to the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Signed distance to the surface, m: negative inside. Within a few percent of the Euclidean distance near the
    /// side, smooth at the rim.
    pub distance: f32,
    /// Exact gradient of `distance`: outward, length close to 1.
    pub gradient: Vector,
}

impl Body {
    /// Radius, its slope (m/m) and its curvature (1/m) at the height `y`, m. Beyond foot and rim the values there hold.
    fn profile(&self, y: f32) -> (f32, f32, f32) {
        let length = self.top - self.bottom;
        let u = ((y - self.bottom) / length).clamp(0.0, 1.0);
        let (sin, cos) = (TAU * (self.waves * u + self.phase)).sin_cos();
        let rate = TAU * self.waves / length;
        let radius = self.mean + self.swing * sin;
        if u > 0.0 && u < 1.0 {
            (radius, self.swing * rate * cos, -self.swing * rate * rate * sin)
        } else {
            (radius, 0.0, 0.0)
        }
    }

    /// Radius at the height `y`, m.
    pub fn radius(&self, y: f32) -> f32 {
        self.profile(y).0
    }

    /// The point of the surface at the height `y` (m, kept between foot and rim) and `angle` (radians about the axis,
    /// fixed in space: 0 faces the user, a quarter turn faces right).
    pub fn surface_point(&self, y: f32, angle: f32) -> Position {
        self.offset_point(y, angle, 0.0)
    }

    /// The point at signed distance `distance` (m, positive outside) level with [`Body::surface_point`].
    pub fn offset_point(&self, y: f32, angle: f32, distance: f32) -> Position {
        let y = y.clamp(self.bottom, self.top);
        let (radius, slope, _) = self.profile(y);
        let rho = radius + distance * (1.0 + slope * slope).sqrt();
        Position::new(self.axis_x + rho * angle.sin(), y, self.axis_z + rho * angle.cos())
    }

    /// Signed distance and its gradient at `p` (finite, within metres of the origin).
    pub fn nearest(&self, p: Position) -> Nearest {
        let [x, y, z] = p.0.0;
        let (dx, dz) = (x - self.axis_x, z - self.axis_z);
        let rho = dx.hypot(dz);
        // On the axis every direction is as good: the user's side.
        let (out_x, out_z) = if rho > 1e-7 { (dx / rho, dz / rho) } else { (0.0, 1.0) };

        let (radius, slope, curvature) = self.profile(y);
        let stretch = (1.0 + slope * slope).sqrt();
        let side = (rho - radius) / stretch;
        let side_by_rho = 1.0 / stretch;
        let side_by_y = -slope / stretch - side * slope * curvature / (stretch * stretch);

        // Foot and rim: planes. The farther one never matters.
        let middle = 0.5 * (self.top + self.bottom);
        let (plane, plane_by_y) = if y >= middle { (y - self.top, 1.0) } else { (self.bottom - y, -1.0) };

        let (distance, side_share) = smooth_max(side, plane, ROUNDING);
        let by_rho = side_share * side_by_rho;
        let by_y = side_share * side_by_y + (1.0 - side_share) * plane_by_y;
        Nearest { distance, gradient: Vector::new(by_rho * out_x, by_y, by_rho * out_z) }
    }
}

/// The larger of `a` and `b`, rounded where they differ by less than `width`, and its derivative by `a` (that by
/// `b` is the rest to 1). I. Quilez, "smooth minimum", quadratic polynomial form.
fn smooth_max(a: f32, b: f32, width: f32) -> (f32, f32) {
    let h = (1.0 - (a - b).abs() / width).max(0.0);
    let value = a.max(b) + h * h * width * 0.25;
    (value, if a >= b { 1.0 - 0.5 * h } else { 0.5 * h })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_front_of_the_body_is_within_reach_and_the_origin_is_free() {
        let body = Body::default();
        assert!(body.nearest(Position::ZERO).distance > 0.01);
        for step in 0..=10 {
            let y = body.bottom + (body.top - body.bottom) * step as f32 / 10.0;
            assert!(body.surface_point(y, 0.0).0.norm() < 0.06);
        }
    }

    proptest! {
        #[test]
        fn the_gradient_is_the_slope_of_the_distance(
            x in -0.05f32..0.05, y in -0.06f32..0.05, z in -0.09f32..0.01,
        ) {
            let body = Body::default();
            prop_assume!((x - body.axis_x).hypot(z - body.axis_z) > 0.004);
            // The two planes meet far inside; the profile stops at foot and rim.
            prop_assume!((y - 0.5 * (body.top + body.bottom)).abs() > 0.001);
            prop_assume!((y - body.top).abs() > 0.001 && (y - body.bottom).abs() > 0.001);
            let here = body.nearest(Position::new(x, y, z));
            let step = 2e-4;
            for axis in 0..3 {
                let at = |sign: f32| {
                    let mut p = [x, y, z];
                    p[axis] += sign * step;
                    body.nearest(Position(Vector(p))).distance
                };
                let slope = (at(1.0) - at(-1.0)) / (2.0 * step);
                prop_assert!((slope - here.gradient.0[axis]).abs() < 0.03, "axis {axis}: {slope} {here:?}");
            }
        }

        #[test]
        fn an_offset_point_has_that_distance(u in 0.15f32..0.85, angle in -7f32..7.0, distance in -0.005f32..0.02) {
            let body = Body::default();
            let y = body.bottom + u * (body.top - body.bottom);
            let found = body.nearest(body.offset_point(y, angle, distance)).distance;
            prop_assert!((found - distance).abs() < 1e-5, "{found} instead of {distance}");
        }
    }
}
