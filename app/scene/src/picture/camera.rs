//! A pinhole camera: rays from pixels, pixels from points.

use media::{Position, Vector};

/// Rows of the picture span this angle's tangent above the middle: a field of view of about 25 degrees.
const HALF_HEIGHT: f32 = 0.225;

/// Where the picture is taken from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Camera {
    pub eye: Vector,
    pub forward: Vector,
    pub right: Vector,
    pub up: Vector,
    /// Pixels per unit of tangent.
    pub focal: f32,
    center: (f32, f32),
}

impl Camera {
    /// A camera at `eye` that looks at `target`, for a picture of this size.
    pub fn new(eye: Vector, target: Vector, width: usize, height: usize) -> Self {
        let forward = unit(target - eye);
        let right = unit(cross(forward, Vector::new(0.0, 1.0, 0.0)));
        Camera {
            eye,
            forward,
            right,
            up: cross(right, forward),
            focal: height as f32 * 0.5 / HALF_HEIGHT,
            center: (width as f32 * 0.5, height as f32 * 0.5),
        }
    }

    /// Direction of length 1 through the picture point `(x, y)`, in pixels from the top left corner.
    pub fn ray(&self, x: f32, y: f32) -> Vector {
        unit(self.forward + (self.right * (x - self.center.0) + self.up * (self.center.1 - y)) * (1.0 / self.focal))
    }

    /// Picture point of `p` in pixels and its depth along the view, m; `None` if it is not in front of the camera.
    pub fn project(&self, p: Position) -> Option<(f32, f32, f32)> {
        let d = p.0 - self.eye;
        let depth = d.dot(self.forward);
        // Also refuses a depth that is not a number.
        if depth.is_nan() || depth < 0.01 {
            return None;
        }
        let scale = self.focal / depth;
        let (x, y) = (self.center.0 + d.dot(self.right) * scale, self.center.1 - d.dot(self.up) * scale);
        (x.is_finite() && y.is_finite()).then_some((x, y, depth))
    }
}

/// Vector product.
pub(super) fn cross(a: Vector, b: Vector) -> Vector {
    let [a, b] = [a.0, b.0];
    Vector::new(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
}

/// `v` at length 1; up if it has no length.
pub(super) fn unit(v: Vector) -> Vector {
    let norm = v.norm();
    if norm > 1e-12 { v * (1.0 / norm) } else { Vector::new(0.0, 1.0, 0.0) }
}
