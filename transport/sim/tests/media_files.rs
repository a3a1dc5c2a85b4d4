//! Encoded files as sound and pictures of a simulation: what is in them, how they travel, and broken ones.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use media::{Duration, Medium};
use netem::Scenario;
use proptest::prelude::*;
use proto::{MAX_AUDIO_FRAME, MAX_FRAME, Scheme};
use telehaptic_sim::source::{FrameSource, MAX_FILE, Recording};
use telehaptic_sim::{Outcome, RunSpec, run};

const INTERVAL: Duration = Duration::from_millis(40);

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/media").join(name)
}

fn pattern() -> Recording {
    Recording::load_h264(&path("pattern.h264"), INTERVAL).unwrap()
}

fn voice() -> Recording {
    Recording::load_opus(&path("voice.opus")).unwrap()
}

fn spec(scenario: &str, scheme: Scheme, seconds: f64) -> RunSpec {
    RunSpec { seconds, traces: true, ..RunSpec::new(Scenario::load(scenario).unwrap(), scheme) }
}

fn frames(recording: &Recording) -> Vec<(Vec<u8>, bool)> {
    let frame = |n| recording.frame(n);
    (0..recording.count() as u64).map(|n| (frame(n).payload.to_vec(), frame(n).key)).collect()
}

#[test]
fn the_stream_is_cut_into_the_frames_that_the_encoder_wrote() {
    let pattern = pattern();
    let frames = frames(&pattern);
    assert_eq!((pattern.medium(), frames.len()), (Medium::Video, 60));
    let keys: Vec<usize> = (0..60).filter(|&i| frames[i].1).collect();
    assert_eq!(keys, [0, 30]);
    let joined: Vec<u8> = frames.iter().flat_map(|(payload, _)| payload.clone()).collect();
    assert!(joined == std::fs::read(path("pattern.h264")).unwrap());
    for (payload, key) in &frames {
        // Sequence and picture parameter sets come with their key frame (types 7, 8, 5), the others are one slice (1).
        let types: Vec<u8> = payload.windows(4).filter(|w| w[..3] == [0, 0, 1]).map(|w| w[3] & 0x1f).collect();
        assert_eq!(types, if *key { vec![7, 8, 5] } else { vec![1] });
        assert!(payload.starts_with(&[0, 0, 0, 1]) && payload.len() <= 6_000);
    }
    assert_eq!(pattern.frame(61), pattern.frame(1));
}

#[test]
fn the_sound_is_cut_into_the_packets_that_the_encoder_wrote() {
    let voice = voice();
    let frames = frames(&voice);
    assert_eq!((voice.medium(), frames.len()), (Medium::Audio, PACKETS));
    assert!((0..PACKETS as u64).all(|n| voice.frame(n).lasts == Duration::from_millis(20)));
    let sizes: Vec<usize> = frames.iter().map(|(payload, _)| payload.len()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), BYTES);
    assert!(sizes.iter().min() != sizes.iter().max(), "of variable rate");
    assert!(frames.iter().all(|(_, key)| !key));
}

/// What `write_opus` says of the file, less the bytes of pages and header packets.
const PACKETS: usize = 320;
const BYTES: usize = 20_030;

/// Every frame that arrives at the operator: medium, number, payload, key.
type Arrived = Vec<(Medium, u64, Vec<u8>, bool)>;

fn watched(mut spec: RunSpec) -> (Outcome, Arrived) {
    let arrived = Rc::new(RefCell::new(Arrived::new()));
    let seen = arrived.clone();
    spec.session.watch = Some(Box::new(move |f| {
        seen.borrow_mut().push((f.medium, f.number, f.payload.clone(), f.key));
    }));
    let outcome = run(spec).unwrap();
    (outcome, arrived.take())
}

/// The file is played more than once.
#[test]
fn every_frame_arrives_as_it_was_bit_by_bit() {
    let (pattern, voice) = (Arc::new(pattern()), Arc::new(voice()));
    for scheme in [Scheme::NoMerge, Scheme::KMerge(4), Scheme::Dpm] {
        let mut spec = spec("paper/r0", scheme, 10.0);
        spec.session.audio = Some(FrameSource::recorded(voice.clone()));
        spec.session.video = Some(FrameSource::recorded(pattern.clone()));
        let (outcome, arrived) = watched(spec);
        for (medium, recording, count) in [(Medium::Audio, &voice, 500), (Medium::Video, &pattern, 250)] {
            let arrived: Vec<_> = arrived.iter().filter(|f| f.0 == medium).collect();
            // What the last ticks hand in may still wait in the multiplexer when the run ends.
            assert!((count - 2..=count).contains(&arrived.len()), "{scheme} {medium:?}: {}", arrived.len());
            for (n, (_, number, payload, key)) in (0..).zip(&arrived) {
                let sent = recording.frame(n);
                assert_eq!((*number, *key), (n, sent.key));
                assert!(payload == sent.payload, "{scheme} {medium:?} {n}");
            }
            let report = outcome.report.channels.backward.medium(medium).unwrap();
            assert_eq!((report.lost, report.sent), (0, report.delivered));
            assert_eq!(outcome.details.backward.refused_frames, 0);
        }
    }
}

#[test]
fn frames_by_size_arrive_with_their_numbers() {
    let mut spec = spec("paper/r0", Scheme::Dpm, 5.0);
    spec.session.audio = Some(FrameSource::sized(Medium::Audio, 60, 10.0).unwrap());
    spec.session.video = Some(FrameSource::sized(Medium::Video, 900, 33.333).unwrap());
    let (outcome, arrived) = watched(spec);
    for (medium, size, count) in [(Medium::Audio, 54, 500), (Medium::Video, 894, 151)] {
        let arrived: Vec<_> = arrived.iter().filter(|f| f.0 == medium).collect();
        assert!((count - 2..=count).contains(&arrived.len()), "{medium:?}: {}", arrived.len());
        for (n, (_, number, payload, _)) in (0u64..).zip(&arrived) {
            assert_eq!((*number, payload.len(), &payload[..8]), (n, size, &n.to_be_bytes()[..]));
        }
    }
    let captured: Vec<i64> = outcome.traces.unwrap().backward.video.unwrap().iter().map(|r| r.capture_ns).collect();
    assert_eq!(captured[..4], [0, 34_000_000, 67_000_000, 100_000_000]);
}

#[test]
fn a_medium_can_be_left_out() {
    let mut spec = spec("paper/r260", Scheme::Dpm, 3.0);
    spec.session.audio = None;
    let outcome = run(spec).unwrap();
    let (backward, traces) = (outcome.report.channels.backward, outcome.traces.unwrap().backward);
    assert!(backward.audio.is_none() && traces.audio.is_none());
    assert!(backward.video.is_some_and(|v| v.delivered > 50) && traces.video.is_some());
}

/// 800 kbit/s of video where 400 have room.
#[test]
fn frames_without_room_are_refused_and_counted() {
    let mut spec = spec("lan", Scheme::NoMerge, 20.0);
    spec.session.video = Some(FrameSource::sized(Medium::Video, 4_000, 40.0).unwrap());
    let (outcome, arrived) = watched(spec);
    let refused = outcome.details.backward.refused_frames;
    let sent = outcome.report.channels.backward.video.unwrap().sent;
    let video: Vec<u64> = arrived
        .iter()
        .filter(|f| f.0 == Medium::Video)
        .map(|f| u64::from_be_bytes(f.2[..8].try_into().unwrap()))
        .collect();
    assert!(video.is_sorted_by(|a, b| a < b));
    assert!(refused > 200 && sent >= 240, "{refused} refused, {sent} sent");
    // 64 kB may still wait at the end, and the first half second is not counted.
    assert!((470..=500).contains(&(refused + sent)), "{refused} refused, {sent} sent");
    assert_eq!(outcome.details.forward.refused_frames, 0);
}

#[test]
fn broken_files_are_one_line_that_names_the_place() {
    let h264 = |bytes: &[u8]| Recording::h264(bytes.to_vec(), "v.h264", INTERVAL).unwrap_err().to_string();
    let opus = |bytes: &[u8]| Recording::opus(bytes, "a.opus").unwrap_err().to_string();
    let (wav, stream, sound) = (path("voice.wav"), path("pattern.h264"), path("voice.opus"));
    let read = |path: &Path| std::fs::read(path).unwrap();
    let (wav, stream, sound) = (read(&wav), read(&stream), read(&sound));
    let large = [&[0, 0, 1, 0x65, 0x80][..], &vec![0xff; MAX_FRAME]].concat();
    for (line, wanted) in [
        (h264(&[]), "video file v.h264: no frames in it; an H.264 byte stream (annex B) is needed"),
        (h264(&wav), "video file v.h264, byte 0: no start code (00 00 01) at the beginning; an H.264 byte stream"),
        (h264(&stream[..4]), "v.h264, byte 4: the file ends after a start code"),
        (h264(&stream[..20]), "v.h264, byte 0: no slice from here to the end of the file"),
        (h264(&[&stream[..], &large].concat()), "v.h264, frame 60: 32005 bytes instead of 1 to 32000"),
        (opus(&[]), "audio file a.opus: no frames in it; Opus in Ogg is needed"),
        (opus(&wav), "audio file a.opus, byte 0: no Ogg page (OggS); Opus in Ogg is needed"),
        (opus(&sound[..10]), "a.opus, byte 0: the file ends within the page that begins here"),
        (opus(&sound[..sound.len() - 1]), "the file ends within the page that begins here"),
    ] {
        assert!(line.contains(wanted) && line.lines().count() == 1, "no '{wanted}' in: {line}");
    }
    for file in ["no/such", "."] {
        let errors = [Recording::load_h264(Path::new(file), INTERVAL), Recording::load_opus(Path::new(file))];
        for error in errors.map(|e| e.unwrap_err().to_string()) {
            assert!(error.contains(&format!(" file {file}: ")) && error.contains("check the path"), "{error}");
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let huge = dir.path().join("huge.opus");
    std::fs::File::create(&huge).unwrap().set_len(MAX_FILE + 1).unwrap();
    let error = Recording::load_opus(&huge).unwrap_err().to_string();
    assert!(error.contains("larger than 67108864 bytes"), "{error}");
}

proptest! {
    /// Whatever is taken from a damaged file can be sent.
    #[test]
    fn damaged_files_do_no_harm(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..8),
        cut: proptest::sample::Index,
        garbage in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        for name in ["pattern.h264", "voice.opus"] {
            let mut bytes = std::fs::read(path(name)).unwrap();
            for (at, value) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            bytes.truncate(cut.index(bytes.len()) + 1);
            for bytes in [&bytes[..], &garbage] {
                for recording in [Recording::h264(bytes.to_vec(), name, INTERVAL), Recording::opus(bytes, name)] {
                    let Ok(recording) = recording else { continue };
                    let limit = if recording.medium() == Medium::Video { MAX_FRAME } else { MAX_AUDIO_FRAME };
                    for n in 0..recording.count() as u64 {
                        let frame = recording.frame(n);
                        prop_assert!((1..=limit).contains(&frame.payload.len()) && !frame.lasts.is_zero());
                    }
                }
            }
        }
    }
}
