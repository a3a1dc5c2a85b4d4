//! Opus and files: sizes, tones, losses, pacing, broken input.

use media::{Duration, Instant};
use telehaptic_audio::analysis::{level, sine, tone};
use telehaptic_audio::{Decoder, Encoder, FRAME, RATE, SinkSpec, Source, SourceSpec, open_sink, open_source};

fn frames(samples: &[f32]) -> impl Iterator<Item = [f32; FRAME]> + '_ {
    samples.chunks_exact(FRAME).map(|c| c.try_into().unwrap())
}

#[test]
fn every_packet_has_the_same_size_and_the_tone_survives() {
    for size in [40, 80, 154, 320] {
        let mut encoder = Encoder::new(size).unwrap();
        let mut decoder = Decoder::new().unwrap();
        let (mut packet, mut heard) = (Vec::new(), Vec::new());
        for frame in frames(&sine(440.0, 0.5, RATE, RATE as usize * 2)) {
            encoder.encode(&frame, &mut packet).unwrap();
            assert_eq!(packet.len(), size);
            let mut out = [0.0; FRAME];
            decoder.decode(Some(&packet), &mut out);
            heard.extend(out);
        }
        let found = tone(&heard[RATE as usize / 2..], RATE);
        assert!((found.frequency_hz - 440.0).abs() < 2.0 && found.above_rest_db > 20.0, "{size}: {found:?}");
    }
}

#[test]
fn silence_too_keeps_its_size() {
    let mut encoder = Encoder::new(154).unwrap();
    let mut packet = Vec::new();
    for _ in 0..100 {
        encoder.encode(&[0.0; FRAME], &mut packet).unwrap();
        assert_eq!(packet.len(), 154);
    }
}

#[test]
fn a_lost_frame_is_concealed_and_garbage_does_no_harm() {
    let mut encoder = Encoder::new(154).unwrap();
    let mut decoder = Decoder::new().unwrap();
    let mut packet = Vec::new();
    let mut out = [0.0; FRAME];
    let mut concealed = Vec::new();
    for (i, frame) in frames(&sine(440.0, 0.5, RATE, RATE as usize * 2)).enumerate() {
        encoder.encode(&frame, &mut packet).unwrap();
        if i % 10 == 9 {
            decoder.decode(None, &mut out);
            concealed.extend(out);
        } else {
            decoder.decode(Some(&packet), &mut out);
        }
    }
    assert!(level(&concealed) > 0.1, "the gap is filled: {}", level(&concealed));
    let mut state = 7u32;
    for len in 0..400usize {
        let garbage: Vec<u8> = (0..len)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        decoder.decode(Some(&garbage), &mut out);
        assert!(out.iter().all(|s| s.is_finite()));
    }
}

fn wav(rate: u32, channels: u16, samples: &[f32]) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".wav").tempfile().unwrap();
    let spec =
        hound::WavSpec { channels, sample_rate: rate, bits_per_sample: 16, sample_format: hound::SampleFormat::Int };
    let mut writer = hound::WavWriter::create(file.path(), spec).unwrap();
    for s in samples {
        for _ in 0..channels {
            writer.write_sample((s * 32_000.0) as i16).unwrap();
        }
    }
    writer.finalize().unwrap();
    file
}

fn play(source: &mut dyn Source, from_ms: u64, ms: u64) -> Vec<f32> {
    let mut heard = Vec::new();
    let mut frame = [0.0; FRAME];
    for t in from_ms..from_ms + ms {
        while source.poll(Instant::from_millis(t), &mut frame).is_some() {
            heard.extend(frame);
        }
    }
    heard
}

#[test]
fn files_of_any_rate_play_in_a_loop_at_the_pace_of_time() {
    for (rate, channels) in [(16_000, 1), (44_100, 2), (48_000, 1)] {
        let file = wav(rate, channels, &sine(440.0, 0.5, rate, rate as usize));
        let spec = SourceSpec::File(file.path().into());
        let mut source = open_source(&spec, Instant::from_millis(1_000)).unwrap();
        let heard = play(source.as_mut(), 1_000, 3_000);
        let frames = heard.len() / FRAME;
        assert!((148..=151).contains(&frames), "{rate}: {frames} frames in 3 s");
        let found = tone(&heard[..RATE as usize * 2], RATE);
        assert!((found.frequency_hz - 440.0).abs() < 2.0 && found.above_rest_db > 20.0, "{rate}: {found:?}");
    }
}

#[test]
fn a_file_sink_keeps_what_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.wav");
    let mut sink = open_sink(&SinkSpec::File(path.clone())).unwrap();
    let mut now = Instant::ZERO;
    for frame in frames(&sine(440.0, 0.5, RATE, RATE as usize)) {
        sink.push(now, &frame);
        now += Duration::from_millis(20);
    }
    drop(sink);
    let mut reader = hound::WavReader::open(path).unwrap();
    assert_eq!((reader.spec().sample_rate, reader.spec().channels), (RATE, 1));
    assert!(reader.duration() >= RATE - FRAME as u32);
    assert!(reader.samples::<i16>().all(|s| s.is_ok()));
}

#[test]
fn broken_files_say_what_is_wrong_and_where() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.wav");
    for bytes in [&b""[..], b"RIFF", b"no sound at all, just words that go on for a while"] {
        std::fs::write(&path, bytes).unwrap();
        let error = open_source(&SourceSpec::File(path.clone()), Instant::ZERO).err().unwrap().to_string();
        assert!(error.contains("broken.wav") && error.lines().count() == 1, "{error}");
    }
    let missing = SourceSpec::File(dir.path().join("none.wav"));
    assert!(open_source(&missing, Instant::ZERO).err().unwrap().to_string().contains("none.wav"));
    assert!(open_source(&SourceSpec::Device(Some("no such card".into())), Instant::ZERO).is_err());
}
