//! WAV files: a looped source of any rate, width and channel count, and a sink of 48 kHz mono, 16 bit.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use media::{Duration, Instant};

use crate::pace::Pace;
use crate::{AudioError, FRAME, RATE, Resampler, Sink, Source};

/// A file in memory, played in a loop at the pace of `now`.
pub(crate) struct WavSource {
    path: PathBuf,
    original: WavSpec,
    samples: Vec<f32>,
    pace: Pace,
}

/// Longest file that is taken into memory: ten minutes at 48 kHz, 115 MB.
const MAX_SAMPLES: usize = RATE as usize * 600;

const READ_REMEDY: &str = "give a WAV file (PCM or float), for example file:assets/media/voice.wav";

impl WavSource {
    pub(crate) fn open(path: &Path, now: Instant) -> Result<Self, AudioError> {
        let fail = |detail: &dyn ToString| AudioError::file(path, detail.to_string(), READ_REMEDY);
        let mut reader = WavReader::open(path).map_err(|e| match e {
            hound::Error::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                fail(&"the file ends too early")
            }
            hound::Error::IoError(e) => fail(&e),
            e => fail(&format!("not a WAV file that can be read ({e})")),
        })?;
        let original = reader.spec();
        let channels = usize::from(original.channels);
        if channels == 0 || !(1_000..=768_000).contains(&original.sample_rate) {
            let detail = format!("{channels} channels at {} Hz make no sense", original.sample_rate);
            return Err(fail(&detail));
        }
        let limit = MAX_SAMPLES.saturating_mul(channels);
        if reader.len() as usize > limit || reader.duration() as usize / original.sample_rate as usize > 600 {
            return Err(fail(&"longer than ten minutes"));
        }
        let cut = |e: hound::Error| fail(&format!("broken in the middle ({e})"));
        let interleaved: Vec<f32> = match original.sample_format {
            SampleFormat::Float => reader.samples::<f32>().collect::<Result<_, _>>().map_err(cut)?,
            SampleFormat::Int => {
                let scale = 1.0 / (1i64 << (original.bits_per_sample.clamp(1, 32) - 1)) as f32;
                reader.samples::<i32>().map(|s| s.map(|s| s as f32 * scale)).collect::<Result<_, _>>().map_err(cut)?
            }
        };
        let mono: Vec<f32> = interleaved
            .chunks_exact(channels)
            .map(|c| c.iter().map(|s| if s.is_finite() { *s } else { 0.0 }).sum::<f32>() / channels as f32)
            .collect();
        if mono.is_empty() {
            return Err(fail(&"holds no sound"));
        }
        let samples = resample_loop(&mono, original.sample_rate);
        Ok(WavSource { path: path.to_owned(), original, samples, pace: Pace::new(now) })
    }
}

impl Source for WavSource {
    fn describe(&self) -> String {
        let seconds = self.samples.len() as f64 / f64::from(RATE);
        let WavSpec { channels, sample_rate, .. } = self.original;
        format!("{} ({seconds:.1} s looped, {sample_rate} Hz, {channels} ch)", file_name(&self.path))
    }

    fn poll(&mut self, now: Instant, frame: &mut [f32; FRAME]) -> Option<Instant> {
        let (number, at) = self.pace.poll(now)?;
        let length = self.samples.len();
        let mut position = (number as usize).wrapping_mul(FRAME) % length;
        for sample in frame.iter_mut() {
            *sample = self.samples[position];
            position = (position + 1) % length;
        }
        Some(at)
    }

    fn dropped(&self) -> u64 {
        self.pace.dropped()
    }
}

/// Converts to 48 kHz as if the sound went on forever, so that the seam of the loop is as smooth as the file's.
fn resample_loop(mono: &[f32], rate: u32) -> Vec<f32> {
    if rate == RATE {
        return mono.to_vec();
    }
    let mut resampler = Resampler::new(rate, RATE);
    let wanted = ((mono.len() as u64 * u64::from(RATE) + u64::from(rate) / 2) / u64::from(rate)).max(1) as usize;
    let lead = resampler.longest_lag();
    let around = |i: usize| mono[i % mono.len()];
    // Start early by the kernel's reach, end late by as much.
    let start = mono.len() - lead % mono.len();
    let input: Vec<f32> = (0..mono.len() + 2 * lead + 2).map(|i| around(start + i)).collect();
    let mut out = Vec::with_capacity(wanted + 2 * lead);
    resampler.process(&input, &mut out);
    let skip = (lead as u64 * u64::from(RATE) / u64::from(rate)) as usize;
    out.drain(..skip.min(out.len()));
    out.resize(wanted, 0.0);
    out
}

/// Writes what it is given; the header is kept right every second, so a killed process leaves a file that plays.
pub(crate) struct WavSink {
    path: PathBuf,
    writer: WavWriter<BufWriter<File>>,
    unflushed: usize,
    fault: Option<String>,
}

const WRITE_REMEDY: &str = "choose a path that can be written, on a disk with room";

impl WavSink {
    pub(crate) fn create(path: &Path) -> Result<Self, AudioError> {
        let spec = WavSpec { channels: 1, sample_rate: RATE, bits_per_sample: 16, sample_format: SampleFormat::Int };
        let writer = WavWriter::create(path, spec).map_err(|e| AudioError::file(path, plain(e), WRITE_REMEDY))?;
        Ok(WavSink { path: path.to_owned(), writer, unflushed: 0, fault: None })
    }

    fn write(&mut self, samples: &[f32]) -> Result<(), hound::Error> {
        for sample in samples {
            let value = (sample.clamp(-1.0, 1.0) * 32767.0).round() as i16;
            self.writer.write_sample(value)?;
        }
        self.unflushed += samples.len();
        if self.unflushed >= RATE as usize {
            self.unflushed = 0;
            self.writer.flush()?;
            // What was written has reached the disk.
            self.fault = None;
        }
        Ok(())
    }
}

impl Sink for WavSink {
    fn describe(&self) -> String {
        format!("{} (48000 Hz, 1 ch)", file_name(&self.path))
    }

    fn push(&mut self, _now: Instant, samples: &[f32]) {
        if let Err(e) = self.write(samples)
            && self.fault.is_none()
        {
            self.fault = Some(AudioError::file(&self.path, plain(e), WRITE_REMEDY).to_string());
        }
    }

    fn queued(&self) -> Duration {
        Duration::ZERO
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}

/// hound's texts, without its prefix for errors of the system.
fn plain(e: hound::Error) -> String {
    match e {
        hound::Error::IoError(e) => e.to_string(),
        e => e.to_string(),
    }
}

/// What people call the file: the folder would not fit into a window.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
