//! Writes the moving test pattern as an H.264 byte stream, 320x240, 25 pictures a second, 2.4 s:
//! `cargo run --release -p telehaptic-video --example write_pattern -- assets/media/pattern.h264`.

use std::path::PathBuf;

use media::{Bitrate, Duration, Instant};
use telehaptic_video::{Encoder, EncoderConfig, Pattern, Picture};

const PICTURES: u64 = 60;
/// The file is played in a loop: its first frame is a key frame in any case.
const KEY_EVERY: u64 = 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name the file to write")?;
    let config = EncoderConfig { bitrate: Bitrate::from_kbps(200), max_key_bytes: 6_000, ..EncoderConfig::default() };
    let mut encoder = Encoder::new(config)?;
    let (mut picture, mut frame, mut stream) = (Picture::default(), Vec::new(), Vec::new());
    let (mut frames, mut keys) = (0, 0);
    for number in 0..PICTURES {
        Pattern::draw(number, config.width, config.height, &mut picture);
        picture.captured_at = Instant::ZERO + Duration::from_millis(40 * (number + 1));
        let done = encoder.encode(&picture, number % KEY_EVERY == 0, &mut frame)?;
        stream.extend_from_slice(&frame);
        frames += u64::from(!done.skipped);
        keys += u64::from(done.key);
    }
    std::fs::write(&path, &stream)?;
    println!("{}: {frames} frames, {keys} key frames, {} bytes", path.display(), stream.len());
    Ok(())
}
