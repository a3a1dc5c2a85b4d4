//! Writes pictures of the scene as PPM files and prints what one costs: `cargo run --example draw -- DIR`.

use std::io::Write;
use std::time::Instant;

use media::{Duration, Velocity};
use telehaptic_scene::{Image, Renderer, Scene, SceneConfig, hand_target};

fn main() -> std::io::Result<()> {
    let dir = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let config = SceneConfig::default();
    for (width, height) in [(320, 240), (640, 480)] {
        let mut scene = Scene::new(config);
        let mut renderer = Renderer::new(config);
        let mut image = Image::new(width, height);
        let first = Instant::now();
        renderer.render(&scene.pose(), &mut image);
        let first = first.elapsed();
        let mut drawing = std::time::Duration::ZERO;
        for ms in 1..=4000u64 {
            scene.step(Duration::from_millis(1), hand_target(&config, Duration::from_millis(ms)), Velocity::ZERO);
            if ms % 40 != 0 {
                continue;
            }
            let start = Instant::now();
            renderer.render(&scene.pose(), &mut image);
            drawing += start.elapsed();
            if ms % 800 == 0 {
                let mut file = std::fs::File::create(dir.join(format!("scene-{width}-{ms}.ppm")))?;
                writeln!(file, "P6 {width} {height} 255")?;
                file.write_all(&image.rgb)?;
            }
        }
        println!("{width}x{height}: first picture {first:?}, then {:?} each", drawing / 100);
    }
    Ok(())
}
