//! The software renderer: draws a [`Pose`] into an RGB picture. The unmoving part (camera, light, shape) is worked
//! out once for a picture size; each picture then costs the paint that turns, the probe and the arrow.

mod backdrop;
mod camera;
mod paint;

use crate::{Pose, SceneConfig};
use backdrop::Backdrop;

/// An RGB picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// `width * height * 3` bytes: red, green, blue, row by row from the top left.
    pub rgb: Vec<u8>,
}

impl Image {
    /// A black picture.
    pub fn new(width: usize, height: usize) -> Self {
        Image { width, height, rgb: vec![0; width * height * 3] }
    }

    /// The pixel at column `x` and row `y`; `None` outside.
    pub fn pixel(&self, x: usize, y: usize) -> Option<[u8; 3]> {
        let at = (x < self.width && y < self.height).then(|| (y * self.width + x) * 3)?;
        self.rgb.get(at..at + 3)?.try_into().ok()
    }
}

/// Draws the scene of one configuration.
#[derive(Clone, Debug)]
pub struct Renderer {
    config: SceneConfig,
    backdrop: Option<Backdrop>,
}

impl Renderer {
    /// A renderer for the scene that was built from `config`.
    pub fn new(config: SceneConfig) -> Self {
        Renderer { config, backdrop: None }
    }

    /// Draws `pose` over the whole of `image`, whose width and height (2 to 4096 pixels) are kept and whose buffer is
    /// made to fit; other sizes are left untouched. The first picture of a size takes a few tenths of a second, each other well below a millisecond at 320x240.
    pub fn render(&mut self, pose: &Pose, image: &mut Image) {
        let (width, height) = (image.width, image.height);
        if !(2..=4096).contains(&width) || !(2..=4096).contains(&height) {
            return;
        }
        image.rgb.resize(width * height * 3, 0);
        let backdrop = match &mut self.backdrop {
            Some(b) if (b.width, b.height) == (width, height) => b,
            slot => slot.insert(Backdrop::new(&self.config, width, height)),
        };
        backdrop.draw(pose.angle, &mut image.rgb);
        paint::probe(backdrop, &self.config, pose, &mut image.rgb);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contact, Scene};
    use media::{Duration, Force, Position, Velocity};

    const W: usize = 320;
    const H: usize = 240;

    fn draw(pose: &Pose) -> Image {
        let mut image = Image::new(W, H);
        Renderer::new(SceneConfig::default()).render(pose, &mut image);
        image
    }

    fn at(x: f32, y: f32, z: f32) -> Pose {
        Pose { probe: Position::new(x, y, z), ..Pose::default() }
    }

    /// Mean place and number of the pixels that differ by more than a shade.
    fn difference(a: &Image, b: &Image) -> (f32, f32, usize) {
        let (mut x_sum, mut y_sum, mut count) = (0.0, 0.0, 0);
        for y in 0..H {
            for x in 0..W {
                let (p, q) = (a.pixel(x, y).unwrap(), b.pixel(x, y).unwrap());
                if p.iter().zip(q).any(|(p, q)| p.abs_diff(q) > 40) {
                    x_sum += x as f32;
                    y_sum += y as f32;
                    count += 1;
                }
            }
        }
        (x_sum / count as f32, y_sum / count as f32, count)
    }

    /// Where the probe's ball is: pixels that are clearly blue, as nothing else in front of the table is.
    fn ball(image: &Image) -> (f32, f32, usize) {
        let (mut x_sum, mut y_sum, mut count) = (0.0, 0.0, 0);
        for y in 0..H {
            for x in 0..W {
                let [r, g, b] = image.pixel(x, y).unwrap();
                if b > 150 && i32::from(b) - i32::from(r) > 90 && b > g {
                    x_sum += x as f32;
                    y_sum += y as f32;
                    count += 1;
                }
            }
        }
        (x_sum / count as f32, y_sum / count as f32, count)
    }

    #[test]
    fn the_probe_moves_with_the_hand() {
        let home = ball(&draw(&at(0.0, 0.0, 0.0)));
        assert!(home.2 > 60, "{home:?}");
        let right = ball(&draw(&at(0.02, 0.0, 0.0)));
        assert!(right.0 > home.0 + 15.0 && (right.1 - home.1).abs() < 20.0, "{home:?} {right:?}");
        let up = ball(&draw(&at(0.0, 0.02, 0.0)));
        assert!(up.1 < home.1 - 15.0 && (up.0 - home.0).abs() < 5.0, "{home:?} {up:?}");
        let near = ball(&draw(&at(0.0, 0.0, 0.04)));
        assert!(near.2 > home.2 * 6 / 5, "nearer is larger: {home:?} {near:?}");
    }

    #[test]
    fn the_body_hides_the_probe_behind_it() {
        let config = SceneConfig::default();
        let behind = ball(&draw(&at(-0.02, 0.0, config.body.axis_z - 0.04)));
        assert_eq!(behind.2, 0);
    }

    #[test]
    fn the_paint_turns() {
        let still = draw(&at(0.0, 0.0, 0.0));
        assert_eq!(still, draw(&at(0.0, 0.0, 0.0)));
        let turned = draw(&Pose { angle: 0.3, ..at(0.0, 0.0, 0.0) });
        let (_, _, count) = difference(&still, &turned);
        assert!(count > 800, "{count} pixels differ");
    }

    #[test]
    fn the_arrow_grows_with_the_force() {
        let with = |newtons: f32| {
            let contact = Contact { force: Force::new(newtons, 0.0, 0.0), penetration: 0.001, touching: true };
            draw(&Pose { contact, ..at(0.0, 0.0, 0.0) })
        };
        let none = with(0.0);
        let small = difference(&none, &with(2.0));
        let large = difference(&none, &with(6.0));
        let left = difference(&none, &with(-6.0));
        assert!(small.2 > 20 && large.2 > small.2 + 30, "{small:?} {large:?}");
        assert!(large.0 > left.0 + 20.0);
    }

    #[test]
    fn sizes_and_places_at_the_edge_are_harmless() {
        let mut renderer = Renderer::new(SceneConfig::default());
        for (w, h) in [(0, 0), (1, 9), (2, 2), (37, 5), (64, 200), (640, 480)] {
            let mut image = Image { width: w, height: h, rgb: Vec::new() };
            for probe in [[0.0; 3], [1.0, 1.0, 1.0], [-1.0, -1.0, -1.0], [0.1, 0.08, 0.26], [f32::NAN; 3], [1e30; 3]] {
                let contact = Contact { force: Force::new(f32::MAX, f32::NAN, -1e30), ..Contact::default() };
                let pose = Pose { angle: f32::NAN, probe: Position::new(probe[0], probe[1], probe[2]), contact };
                renderer.render(&pose, &mut image);
            }
            assert!(image.rgb.is_empty() || image.rgb.len() == w * h * 3);
        }
    }

    #[test]
    fn a_scene_in_contact_is_drawn_in_another_colour() {
        let mut scene = Scene::new(SceneConfig::default());
        let tick = Duration::from_millis(1);
        scene.step(tick, scene.touch_point(0.0, 0.3, -0.004), Velocity::ZERO);
        let free = ball(&draw(&scene.pose()));
        scene.step(tick, scene.touch_point(0.0, 0.3, 0.001), Velocity::ZERO);
        let touching = ball(&draw(&scene.pose()));
        assert!(free.2 > 60 && touching.2 < free.2 / 4, "{free:?} {touching:?}");
    }
}
