//! H.264 within the room that the multiplexer has: a bitrate, and key frames of bounded size.

use openh264::OpenH264API;
use openh264::encoder::{
    BitRate, Complexity, EncoderConfig as CodecConfig, FrameRate, FrameType, IntraFramePeriod, RateControlMode,
};
use openh264::formats::YUVSlices;

use media::{Bitrate, Duration, Instant};

use crate::error::VideoError;
use crate::picture::Picture;

/// What the encoder is to keep within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Pixels, even, 16 to 1920.
    pub width: usize,
    /// Pixels, even, 16 to 1080.
    pub height: usize,
    /// Pictures a second. A wrong value makes the bitrate wrong by the same factor.
    pub fps: u32,
    /// Rate of the stream, frame headers of the transport not included. Default 385 kbit/s: with 6 bytes a frame below the
    /// 400 kbit/s that the multiplexer has room for.
    pub bitrate: Bitrate,
    /// No key frame is larger, bytes. Default 8000: 160 ms at 50 bytes a millisecond.
    pub max_key_bytes: usize,
}

impl Default for EncoderConfig {
    fn default() -> Self {
        EncoderConfig { width: 320, height: 240, fps: 25, bitrate: Bitrate::from_kbps(385), max_key_bytes: 8_000 }
    }
}

/// What became of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// It can be decoded without those before it.
    pub key: bool,
    /// The rate control left it out: nothing was written.
    pub skipped: bool,
}

/// Detail of a key frame in 1/16 of its size: reduced until it is small enough. Full detail follows band by band, one more
/// with each frame.
const DETAIL: [usize; 9] = [16, 14, 12, 10, 8, 6, 4, 2, 1];
/// Lines of a band: one row of macroblocks.
const BAND: usize = 16;

/// An encoder: key frames at the start and on request alone.
pub struct Encoder {
    config: EncoderConfig,
    codec: openh264::encoder::Encoder,
    begun: bool,
    /// Bytes written beyond what the rate has paid for: the codec's own rate control begins anew with each key frame.
    debt: f64,
    last_at: Instant,
    /// Step of [`DETAIL`] of the last key frame: 0 is all of it.
    step: usize,
    /// Lines from the top that have full detail.
    sharp: usize,
    small: Picture,
    soft: Picture,
}

impl Encoder {
    /// An encoder whose first frame is a key frame.
    ///
    /// # Errors
    /// [`VideoError::Size`] if the size cannot be coded; [`VideoError::Codec`] if the codec does not start.
    pub fn new(config: EncoderConfig) -> Result<Encoder, VideoError> {
        check_size(config.width, config.height)?;
        let codec = start_codec(&config)?;
        let (small, soft) = (Picture::default(), Picture::default());
        Ok(Encoder { config, codec, begun: false, debt: 0.0, last_at: Instant::ZERO, step: 0, sharp: 0, small, soft })
    }

    /// Writes the coded picture to `out` (cleared first).
    ///
    /// # Errors
    /// If the picture has another size than the configuration, or the codec fails.
    pub fn encode(&mut self, picture: &Picture, force_key: bool, out: &mut Vec<u8>) -> Result<Encoded, VideoError> {
        out.clear();
        if (picture.width, picture.height) != (self.config.width, self.config.height) {
            return Err(VideoError::Size { width: picture.width, height: picture.height });
        }
        self.pay(picture.captured_at);
        if !force_key && self.debt > self.config.max_key_bytes as f64 / 2.0 {
            return Ok(Encoded { key: false, skipped: true });
        }
        let done = self.encode_within(picture, force_key, out)?;
        self.debt += out.len() as f64;
        Ok(done)
    }

    /// The time since the last picture pays for bytes; pictures without a sensible time count as one interval.
    fn pay(&mut self, at: Instant) {
        let interval = Duration::from_nanos(1_000_000_000 / u64::from(self.config.fps.max(1)));
        let passed = at.saturating_since(self.last_at);
        let passed = if passed.is_zero() || passed > Duration::from_secs(1) { interval } else { passed };
        self.last_at = at;
        let paid = self.config.bitrate.as_bps() as f64 / 8.0 * passed.as_secs_f64();
        self.debt = (self.debt - paid).max(0.0);
    }

    fn encode_within(&mut self, picture: &Picture, force_key: bool, out: &mut Vec<u8>) -> Result<Encoded, VideoError> {
        if force_key || !self.begun {
            return self.encode_key(picture, out);
        }
        self.sharp = (self.sharp + BAND).min(picture.height);
        let whole = self.sharp == picture.height;
        if !whole {
            self.soften(picture, DETAIL[self.step]);
            self.soft.copy_lines(picture, self.sharp);
        }
        let source = if whole { picture } else { &self.soft };
        let kind = run(&mut self.codec, source, out)?;
        if out.is_empty() || kind == FrameType::Skip {
            out.clear();
            return Ok(Encoded { key: false, skipped: true });
        }
        if out.len() > self.config.max_key_bytes {
            // The decoder must not miss a frame of which the encoder knows: begin anew.
            return self.encode_key(picture, out);
        }
        Ok(Encoded { key: kind == FrameType::IDR, skipped: false })
    }

    /// A new codec for each attempt: its rate control has not paid for those that were too large.
    fn encode_key(&mut self, picture: &Picture, out: &mut Vec<u8>) -> Result<Encoded, VideoError> {
        let first = self.step.saturating_sub(1);
        for (step, detail) in DETAIL.into_iter().enumerate().skip(first) {
            let mut codec = start_codec(&self.config)?;
            if detail < DETAIL[0] {
                self.soften(picture, detail);
            }
            out.clear();
            run(&mut codec, if detail < DETAIL[0] { &self.soft } else { picture }, out)?;
            if !out.is_empty() && out.len() <= self.config.max_key_bytes {
                self.codec = codec;
                self.begun = true;
                self.step = step;
                self.sharp = if step == 0 { picture.height } else { 0 };
                return Ok(Encoded { key: true, skipped: false });
            }
        }
        out.clear();
        self.begun = false;
        self.step = 0;
        Ok(Encoded { key: false, skipped: true })
    }

    /// Puts the picture with this much of its detail into `soft`.
    fn soften(&mut self, picture: &Picture, sixteenths: usize) {
        let reduced = |n: usize| (n * sixteenths / 16).max(4);
        self.small.scale_from(picture, reduced(picture.width), reduced(picture.height));
        self.soft.scale_from(&self.small, picture.width, picture.height);
    }
}

/// Sizes that the codec and the stream can carry.
pub(crate) fn check_size(width: usize, height: usize) -> Result<(), VideoError> {
    let fits = |n: usize, most: usize| (16..=most).contains(&n) && n.is_multiple_of(2);
    if fits(width, 1920) && fits(height, 1080) { Ok(()) } else { Err(VideoError::Size { width, height }) }
}

fn start_codec(config: &EncoderConfig) -> Result<openh264::encoder::Encoder, VideoError> {
    let settings = CodecConfig::new()
        .bitrate(BitRate::from_bps(u32::try_from(config.bitrate.as_bps()).unwrap_or(u32::MAX)))
        .max_frame_rate(FrameRate::from_hz(config.fps as f32))
        .rate_control_mode(RateControlMode::Bitrate)
        .complexity(Complexity::Medium)
        .intra_frame_period(IntraFramePeriod::from_num_frames(0))
        .scene_change_detect(false)
        .num_threads(1)
        .skip_frames(true);
    openh264::encoder::Encoder::with_api_config(OpenH264API::from_source(), settings).map_err(codec_error)
}

fn run(codec: &mut openh264::encoder::Encoder, picture: &Picture, out: &mut Vec<u8>) -> Result<FrameType, VideoError> {
    let (w, h) = (picture.width, picture.height);
    let planes = YUVSlices::new((&picture.y, &picture.u, &picture.v), (w, h), (w, w / 2, w / 2));
    let coded = codec.encode(&planes).map_err(codec_error)?;
    coded.write_vec(out);
    Ok(coded.frame_type())
}

fn codec_error(error: openh264::Error) -> VideoError {
    VideoError::Codec(error.to_string())
}
