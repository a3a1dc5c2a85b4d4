//! What does not move: table, wheel, shadows, and for each pixel of the body where it is and how it is lit.
//! Traced once per picture size; the turning paint is looked up from it.

use std::f32::consts::{PI, TAU};

use media::{Position, Vector};

use super::camera::{Camera, unit};
use super::paint::{Rgb, mix, put, scale};
use crate::{Body, SceneConfig};

/// Radius of the wheel, m.
const WHEEL: f32 = 0.05;
const CLAY: Rgb = [196.0, 120.0, 84.0];
const GLAZE: Rgb = [238.0, 222.0, 196.0];
const MARK: Rgb = [58.0, 84.0, 120.0];
const TABLE: Rgb = [112.0, 110.0, 108.0];
const WHEEL_COLOUR: Rgb = [158.0, 156.0, 152.0];
const HAZE: Rgb = [46.0, 50.0, 58.0];
const STRIPES: f32 = 6.0;

/// One pixel that the body covers at least in part.
#[derive(Clone, Copy, Debug)]
struct BodyPixel {
    index: u32,
    /// Share of the pixel that the body covers.
    coverage: f32,
    /// Angle about the axis, in stripes, before the body turns; the stripes' slant is included.
    stripe: f32,
    /// Width of the pixel, in stripes.
    blur: f32,
    /// How strongly the stripes show: not on the rim.
    painted: f32,
    /// Brightness of the paint, and light added by gloss.
    light: f32,
    gloss: f32,
}

/// One pixel of the wheel's marked edge.
#[derive(Clone, Copy, Debug)]
struct WheelPixel {
    index: u32,
    /// Angle about the axis, in marks.
    mark: f32,
    blur: f32,
    /// How dark a mark is here, 0 to 1.
    strength: f32,
}

/// The unmoving part of all pictures of one size.
#[derive(Clone, Debug)]
pub(super) struct Backdrop {
    pub width: usize,
    pub height: usize,
    pub camera: Camera,
    /// Direction to the light.
    pub light: Vector,
    base: Vec<u8>,
    /// Depth along the view, m, of body, wheel or table.
    depth: Vec<f32>,
    body: Vec<BodyPixel>,
    wheel: Vec<WheelPixel>,
}

impl Backdrop {
    pub fn new(config: &SceneConfig, width: usize, height: usize) -> Self {
        let body = config.body;
        let middle = Vector::new(body.axis_x, 0.5 * (body.bottom + body.top), body.axis_z);
        let eye = middle + Vector::new(0.12, 0.105, 0.265);
        let target = middle + Vector::new(0.008, -0.002, 0.012);
        let mut backdrop = Backdrop {
            width,
            height,
            camera: Camera::new(eye, target, width, height),
            light: unit(Vector::new(-0.55, 0.9, 0.6)),
            base: vec![0; width * height * 3],
            depth: vec![f32::INFINITY; width * height],
            body: Vec::new(),
            wheel: Vec::new(),
        };
        backdrop.trace_ground(&body);
        backdrop.trace_body(&body);
        backdrop
    }

    /// Draws the unmoving part and the paint turned by `angle`.
    pub fn draw(&self, angle: f32, rgb: &mut [u8]) {
        rgb.copy_from_slice(&self.base);
        let turned = if angle.is_finite() { angle / TAU } else { 0.0 };
        for p in &self.wheel {
            let line = stripe(p.mark - turned * 24.0, 0.10, p.blur);
            put(rgb, p.index as usize, MARK, line * p.strength);
        }
        for p in &self.body {
            let at = p.stripe - turned * STRIPES;
            let glaze = stripe(at, 0.2, p.blur) * p.painted;
            // One stripe of the six is dark, so that a whole turn can be counted.
            let number = (at + 0.5).floor().rem_euclid(STRIPES);
            let colour = mix(CLAY, if number < 0.5 { MARK } else { GLAZE }, glaze);
            let lit = scale(colour, p.light).map(|c| c + p.gloss);
            put(rgb, p.index as usize, lit, p.coverage);
        }
    }

    /// Depth of the unmoving part at a pixel, m.
    pub fn depth(&self, index: usize) -> f32 {
        self.depth[index]
    }

    fn trace_ground(&mut self, body: &Body) {
        for index in 0..self.width * self.height {
            let (x, y) = ((index % self.width) as f32 + 0.5, (index / self.width) as f32 + 0.5);
            let ray = self.camera.ray(x, y);
            let fall = ray.0[1];
            let reach = (body.bottom - self.camera.eye.0[1]) / fall;
            let mut colour = HAZE;
            if fall < 0.0 {
                let p = self.camera.eye + ray * reach;
                let (dx, dz) = (p.0[0] - body.axis_x, p.0[2] - body.axis_z);
                let rho = dx.hypot(dz);
                // A pixel's size on the table across and along the view.
                let pixel = reach / self.camera.focal / (-fall).sqrt();
                let on_wheel = edge(WHEEL - rho, pixel);
                let rim = edge(WHEEL + 0.002 - rho, pixel) - on_wheel;
                let lit = 0.45 + 0.55 * self.shadow(body, p);
                let near_foot = 1.0 - 0.35 * (1.0 - (rho - body.radius(body.bottom)) / 0.012).clamp(0.0, 1.0);
                let table = mix(TABLE, HAZE, smooth(rho, 0.02, 0.24));
                colour = mix(scale(table, lit), scale(WHEEL_COLOUR, lit * near_foot), on_wheel);
                colour = mix(colour, scale(WHEEL_COLOUR, 0.5 * lit), rim);
                self.depth[index] = (p - self.camera.eye).dot(self.camera.forward);
                let strength = edge(WHEEL - 0.003 - rho, pixel) * edge(rho - (WHEEL - 0.010), pixel);
                if strength > 0.0 {
                    let mark = dx.atan2(dz) / TAU * 24.0;
                    let blur = pixel / rho * 24.0 / TAU;
                    self.wheel.push(WheelPixel { index: index as u32, mark, blur, strength: 0.75 * strength * lit });
                }
            }
            put(&mut self.base, index, colour, 1.0);
        }
    }

    /// How much of the light reaches `p`, 0 to 1. (I. Quilez, "soft shadows in raymarched SDFs".)
    fn shadow(&self, body: &Body, p: Vector) -> f32 {
        let (mut open, mut along) = (1.0f32, 0.002);
        for _ in 0..24 {
            if along > 0.2 {
                break;
            }
            let free = body.nearest(Position(p + self.light * along)).distance;
            open = open.min(7.0 * free / along);
            if open <= 0.0 {
                return 0.0;
            }
            along += free.clamp(0.002, 0.02) * 0.7;
        }
        open * open * (3.0 - 2.0 * open)
    }

    /// First point of the body on a ray through the picture point `(x, y)`.
    fn hit(&self, body: &Body, x: f32, y: f32) -> Option<Vector> {
        let ray = self.camera.ray(x, y);
        let middle = Vector::new(body.axis_x, 0.5 * (body.bottom + body.top), body.axis_z);
        let bound = 0.5 * (body.top - body.bottom) + body.mean + body.swing.abs();
        let to_middle = middle - self.camera.eye;
        let nearest = to_middle.dot(ray);
        let half = bound * bound - (to_middle.dot(to_middle) - nearest * nearest);
        if half <= 0.0 {
            return None;
        }
        let half = half.sqrt();
        let (mut along, end) = ((nearest - half).max(0.0), nearest + half);
        for _ in 0..80 {
            let p = self.camera.eye + ray * along;
            let free = body.nearest(Position(p)).distance;
            if free < 2e-5 {
                return Some(p);
            }
            // The distance changes by up to 1.4 m per metre within the bound.
            along += free * 0.7;
            if along > end {
                break;
            }
        }
        None
    }

    fn trace_body(&mut self, body: &Body) {
        let (width, height) = (self.width, self.height);
        let hits: Vec<Option<Vector>> =
            (0..width * height).map(|i| self.hit(body, (i % width) as f32 + 0.5, (i / width) as f32 + 0.5)).collect();
        let is_hit = |x: usize, y: usize| hits[y * width + x].is_some();
        for (index, &center) in hits.iter().enumerate() {
            let (x, y) = (index % width, index / width);
            let inner = center.is_some();
            let at_edge = (x > 0 && is_hit(x - 1, y) != inner)
                || (x + 1 < width && is_hit(x + 1, y) != inner)
                || (y > 0 && is_hit(x, y - 1) != inner)
                || (y + 1 < height && is_hit(x, y + 1) != inner);
            let (mut sample, mut coverage) = (center, 1.0);
            if at_edge {
                let mut count = 0;
                for part in 0..16 {
                    let dx = (part % 4) as f32 * 0.25 + 0.125;
                    let dy = (part / 4) as f32 * 0.25 + 0.125;
                    if let Some(p) = self.hit(body, x as f32 + dx, y as f32 + dy) {
                        count += 1;
                        sample = sample.or(Some(p));
                    }
                }
                coverage = count as f32 / 16.0;
            }
            if let Some(p) = sample
                && coverage > 0.0
            {
                if inner {
                    self.depth[index] = (p - self.camera.eye).dot(self.camera.forward);
                }
                let pixel = self.shade(body, p, index as u32, coverage);
                self.body.push(pixel);
            }
        }
    }

    fn shade(&self, body: &Body, p: Vector, index: u32, coverage: f32) -> BodyPixel {
        let normal = unit(body.nearest(Position(p)).gradient);
        let to_eye = self.camera.eye - p;
        let distance = to_eye.norm();
        let to_eye = to_eye * (1.0 / distance);
        let facing = normal.dot(to_eye).max(0.05);
        let (dx, dz) = (p.0[0] - body.axis_x, p.0[2] - body.axis_z);
        let rho = dx.hypot(dz).max(1e-4);
        let u = (p.0[1] - body.bottom) / (body.top - body.bottom);
        let rim = ((normal.0[1] - 0.35) / 0.25).clamp(0.0, 1.0);

        let key = normal.dot(self.light).max(0.0);
        let fill = normal.dot(unit(Vector::new(0.8, 0.25, 0.5))).max(0.0);
        let half_way = unit(self.light + to_eye);
        // Faint rings, as fingers leave them on the wheel.
        let rings = 1.0 + 0.035 * (1.0 - rim) * (u * 26.0 * TAU).sin();
        let foot = 1.0 - 0.4 * (1.0 - u / 0.12).clamp(0.0, 1.0);
        BodyPixel {
            index,
            coverage,
            stripe: dx.atan2(dz) / TAU * STRIPES + 0.9 * u,
            blur: distance / self.camera.focal / facing / rho * STRIPES / TAU,
            painted: (1.0 - rim) * smooth(u, 0.08, 0.11) * (1.0 - smooth(u, 0.86, 0.89)),
            light: (0.34 + 0.62 * key + 0.22 * fill) * rings * foot,
            gloss: 60.0 * normal.dot(half_way).max(0.0).powf(40.0),
        }
    }
}

/// Coverage of a line of half-width `half` around every whole number, seen through a pixel of width `blur`.
fn stripe(at: f32, half: f32, blur: f32) -> f32 {
    let off = (at - at.round()).abs();
    if blur > 0.5 { 2.0 * half } else { edge(half - off, blur) }
}

/// Share of a pixel of width `pixel` that lies inside an edge that is `inside` away from its centre.
fn edge(inside: f32, pixel: f32) -> f32 {
    (inside / pixel.max(1e-9) + 0.5).clamp(0.0, 1.0)
}

/// 0 below `from`, 1 above `to`, a cosine between.
fn smooth(x: f32, from: f32, to: f32) -> f32 {
    0.5 - 0.5 * (PI * ((x - from) / (to - from)).clamp(0.0, 1.0)).cos()
}
