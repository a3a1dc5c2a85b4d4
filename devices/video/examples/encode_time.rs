//! Prints what one picture costs the encoder on this machine: `cargo run --release -p telehaptic-video --example encode_time`.
//!
//! openh264's assembly needs nasm when it is built; without it the build says nothing and the codec is slower. At
//! 320x240 a predicted frame takes about 0.3 ms with it on a server core; much more suggests a build without nasm.

use std::time::Instant as Clock;

use media::{Duration, Instant};
use telehaptic_video::{Encoder, EncoderConfig, Pattern, Picture, VideoError};

const PICTURES: u64 = 500;
const KEY_EVERY: u64 = 50;

fn main() -> Result<(), VideoError> {
    for (width, height) in [(320, 240), (640, 480), (1280, 720)] {
        let config = EncoderConfig { width, height, ..EncoderConfig::default() };
        let mut encoder = Encoder::new(config)?;
        let (mut picture, mut out) = (Picture::default(), Vec::new());
        let (mut predicted, mut keys) = (Vec::new(), Vec::new());
        for number in 0..PICTURES {
            Pattern::draw(number, width, height, &mut picture);
            picture.captured_at = Instant::ZERO + Duration::from_millis(40 * (number + 1));
            let start = Clock::now();
            let done = encoder.encode(&picture, number % KEY_EVERY == 0, &mut out)?;
            let spent = start.elapsed().as_secs_f64() * 1e3;
            match (done.key, done.skipped) {
                (true, _) => keys.push(spent),
                (false, false) => predicted.push(spent),
                (false, true) => {}
            }
        }
        for (what, times) in [("predicted", &mut predicted), ("key", &mut keys)] {
            times.sort_by(f64::total_cmp);
            let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
            println!(
                "{width}x{height} {what:9}: p50 {:.2} ms, p99 {:.2} ms, {} frames",
                at(0.5),
                at(0.99),
                times.len()
            );
        }
    }
    Ok(())
}
