//! The encoded files of `assets/media` as the simulation cuts them into frames: each frame alone is what a decoder needs.

use std::path::{Path, PathBuf};

use audio::FRAME;
use media::Duration;
use sim::source::Recording;
use video::{Pattern, Picture};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/media").join(name)
}

#[test]
fn each_video_frame_is_one_picture() {
    let stream = Recording::load_h264(&path("pattern.h264"), Duration::from_millis(40)).unwrap();
    // Two rounds: the decoder goes on where the loop begins anew.
    let mut decoder = video::Decoder::new().unwrap();
    let mut picture = Picture::default();
    for n in 0..2 * stream.count() as u64 {
        assert!(decoder.decode(stream.frame(n).payload, &mut picture).unwrap(), "frame {n}");
        assert_eq!(Pattern::number(&picture), n % stream.count() as u64);
    }
    // Key frames stand alone.
    for n in (0..stream.count() as u64).filter(|&n| stream.frame(n).key) {
        assert!(video::Decoder::new().unwrap().decode(stream.frame(n).payload, &mut picture).unwrap());
        assert_eq!(Pattern::number(&picture), n);
    }
}

#[test]
fn each_audio_frame_is_20_ms_of_the_voice() {
    let sound = Recording::load_opus(&path("voice.opus")).unwrap();
    let mut decoder = audio::Decoder::new().unwrap();
    let mut frame = [0.0; FRAME];
    let mut power = 0.0;
    for n in 0..sound.count() as u64 {
        decoder.decode(Some(sound.frame(n).payload), &mut frame);
        power += frame.iter().map(|s| f64::from(s * s)).sum::<f64>();
    }
    assert_eq!((decoder.concealed(), decoder.broken()), (0, 0));
    // The file that it was made from, at a third of the rate.
    let mut wav = hound::WavReader::open(path("voice.wav")).unwrap();
    let original: f64 = wav.samples::<i16>().map(|s| (f64::from(s.unwrap()) / 32_768.0).powi(2)).sum();
    assert!((0.9..1.1).contains(&(power / 3.0 / original)), "power {}", power / 3.0 / original);
}
