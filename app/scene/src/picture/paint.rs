//! What moves: the probe's ball with its shadow, and the arrow of the force.

use media::Position;

use super::backdrop::Backdrop;
use super::camera::unit;
use crate::{Pose, SceneConfig};

/// Red, green and blue, 0 to 255.
pub(super) type Rgb = [f32; 3];

const FREE: Rgb = [64.0, 132.0, 240.0];
const TOUCHING: Rgb = [250.0, 150.0, 30.0];
const ARROW: Rgb = [255.0, 232.0, 70.0];
const OUTLINE: Rgb = [40.0, 34.0, 20.0];

/// Length of the arrow, m per N, and at most, m.
const ARROW_SCALE: f32 = 0.010;
const ARROW_MAX: f32 = 0.06;

/// `a` where `share` is 0, `b` where it is 1.
pub(super) fn mix(a: Rgb, b: Rgb, share: f32) -> Rgb {
    [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * share)
}

/// `a` made brighter by `by`.
pub(super) fn scale(a: Rgb, by: f32) -> Rgb {
    a.map(|c| c * by)
}

/// Lays `colour` over the pixel `index`, `share` of it.
pub(super) fn put(rgb: &mut [u8], index: usize, colour: Rgb, share: f32) {
    for (old, new) in rgb[3 * index..3 * index + 3].iter_mut().zip(colour) {
        let below = f32::from(*old);
        // `as` saturates; nothing here exceeds the byte's range by mistake alone.
        *old = (below + (new - below) * share + 0.5) as u8;
    }
}

/// Draws the probe's shadow, the ball and the arrow of the force over the backdrop.
pub(super) fn probe(backdrop: &Backdrop, config: &SceneConfig, pose: &Pose, rgb: &mut [u8]) {
    if !pose.probe.0.is_finite() {
        return;
    }
    shadow(backdrop, config, pose.probe, rgb);
    ball(backdrop, config, pose, rgb);
    arrow(backdrop, pose, rgb);
}

/// Columns and rows within `radius` pixels of a picture point, kept within the picture.
fn around(backdrop: &Backdrop, x: f32, y: f32, radius: f32) -> impl Iterator<Item = (usize, f32, f32)> + use<> {
    let width = backdrop.width;
    let limit = |v: f32, size: usize| v.clamp(0.0, size as f32) as usize;
    let columns = limit(x - radius, width)..limit(x + radius + 1.0, width);
    let rows = limit(y - radius, backdrop.height)..limit(y + radius + 1.0, backdrop.height);
    rows.flat_map(move |row| {
        columns.clone().map(move |column| (row * width + column, column as f32 + 0.5 - x, row as f32 + 0.5 - y))
    })
}

/// A dark spot straight below the probe: it tells how far away the probe is.
fn shadow(backdrop: &Backdrop, config: &SceneConfig, probe: Position, rgb: &mut [u8]) {
    let [x, y, z] = probe.0.0;
    let ground = config.body.bottom;
    let above = (y - ground).max(0.0);
    let Some((px, py, depth)) = backdrop.camera.project(Position::new(x, ground, z)) else { return };
    let radius = (config.probe_radius + 0.08 * above) / depth * backdrop.camera.focal;
    let flat = (-backdrop.camera.forward.0[1]).max(0.1);
    for (index, dx, dy) in around(backdrop, px, py, radius * 1.5) {
        // Only on the table, not on the body in front of it.
        if backdrop.depth(index) < depth - 0.012 {
            continue;
        }
        let off = dx.hypot(dy / flat) / radius;
        let dark = 0.5 * (1.0 - off * 0.75).clamp(0.0, 1.0);
        put(rgb, index, [14.0, 15.0, 18.0], dark);
    }
}

fn ball(backdrop: &Backdrop, config: &SceneConfig, pose: &Pose, rgb: &mut [u8]) {
    let camera = &backdrop.camera;
    let Some((x, y, depth)) = camera.project(pose.probe) else { return };
    let radius = (config.probe_radius / depth * camera.focal).min(4096.0);
    let colour = if pose.contact.touching { TOUCHING } else { FREE };
    for (index, dx, dy) in around(backdrop, x, y, radius + 1.0) {
        let off = dx.hypot(dy);
        let coverage = (radius - off + 0.5).clamp(0.0, 1.0);
        let (nx, ny) = (dx / radius, -dy / radius);
        let nz = (1.0 - nx * nx - ny * ny).max(0.0).sqrt();
        if coverage <= 0.0 || depth - nz * config.probe_radius > backdrop.depth(index) {
            continue;
        }
        let normal = camera.right * nx + camera.up * ny - camera.forward * nz;
        let key = normal.dot(backdrop.light).max(0.0);
        let gloss = normal.dot(unit(backdrop.light - camera.forward)).max(0.0).powi(30) * 120.0;
        put(rgb, index, scale(colour, 0.5 + 0.55 * key).map(|c| c + gloss), coverage);
    }
}

/// Always on top: the force matters more than what hides it.
fn arrow(backdrop: &Backdrop, pose: &Pose, rgb: &mut [u8]) {
    let force = pose.contact.force.0;
    let newtons = force.norm();
    if !newtons.is_finite() || newtons < 0.05 {
        return;
    }
    let reach = force * ((newtons * ARROW_SCALE).min(ARROW_MAX) / newtons);
    let (Some(from), Some(to)) =
        (backdrop.camera.project(pose.probe), backdrop.camera.project(Position(pose.probe.0 + reach)))
    else {
        return;
    };
    let unit_px = backdrop.height as f32 / 240.0;
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    if length < unit_px {
        return;
    }
    let (dx, dy) = (dx / length, dy / length);
    let head = (7.0 * unit_px).min(length);
    let size = (length + 8.0 * unit_px).min(8192.0);
    for (index, ox, oy) in around(backdrop, from.0, from.1, size) {
        let (along, across) = (ox * dx + oy * dy, (oy * dx - ox * dy).abs());
        // Signed distance inside the shaft or the triangular head, in pixels.
        let shaft = (1.4 * unit_px - across).min(along).min(length - head - along);
        let triangle = (along - (length - head)).min((length - along) * 0.6 - across);
        let inside = shaft.max(triangle);
        let (line, outline) = ((inside + 0.5).clamp(0.0, 1.0), (inside + 0.5 + unit_px).clamp(0.0, 1.0));
        if outline > 0.0 {
            put(rgb, index, OUTLINE, outline * 0.8);
            put(rgb, index, ARROW, line);
        }
    }
}
