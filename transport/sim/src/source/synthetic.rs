//! Sources that need nothing: samples whose bits tell their tick, frames of the paper's sizes.

use media::{Force, HapticSample, Instant, Medium, Motion, Position, Role, Velocity};
use proto::FRAME_HEADER;

use super::Servo;

/// Bytes of an audio frame on the wire, its header included.
const AUDIO_BYTES: usize = 160;
/// Bytes of a video frame on the wire, its header included.
const VIDEO_BYTES: usize = 2_000;
/// A key frame is one of so many video frames.
const KEY_EVERY: u64 = 50;

/// A servo without a device: a sample for every tick, and nothing is felt.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticServo {
    role: Role,
}

impl SyntheticServo {
    /// The servo of the station with this role.
    pub fn new(role: Role) -> Self {
        SyntheticServo { role }
    }
}

impl Servo for SyntheticServo {
    fn display(&mut self, _: Instant, _: u64, _: HapticSample) {}

    fn tick(&mut self, tick: u64) -> HapticSample {
        sample_of(self.role, tick)
    }
}

/// The sample that a [`SyntheticServo`] takes at a tick: other bits at every tick, those of NaNs among them, so
/// that a mixed-up sample is found out.
pub fn sample_of(role: Role, tick: u64) -> HapticSample {
    let bits = |salt: u32| f32::from_bits((tick as u32).wrapping_mul(2_654_435_761) ^ salt.wrapping_mul(0x9e37_79b9));
    match role {
        Role::Top => HapticSample::Force(Force::new(bits(1), bits(2), bits(3))),
        Role::Op => HapticSample::Motion(Motion {
            position: Position::new(bits(4), bits(5), bits(6)),
            velocity: Velocity::new(bits(7), bits(8), bits(9)),
        }),
    }
}

/// Sound and pictures of the paper's rates: 160 bytes each 20 ms and 2000 bytes each 40 ms, frame headers included.
#[derive(Clone, Debug)]
pub struct SyntheticMedia {
    medium: Medium,
    period: u64,
    payload: Vec<u8>,
}

/// A frame of [`SyntheticMedia`].
#[derive(Clone, Copy, Debug)]
pub struct SyntheticFrame<'a> {
    /// Codec bytes.
    pub payload: &'a [u8],
    /// Video: decodable without those before it.
    pub key: bool,
}

impl SyntheticMedia {
    /// Sound: one frame each 20 ms.
    pub fn audio() -> Self {
        SyntheticMedia { medium: Medium::Audio, period: 20, payload: vec![0xa5; AUDIO_BYTES - FRAME_HEADER] }
    }

    /// Pictures: one frame each 40 ms, every fiftieth a key frame.
    pub fn video() -> Self {
        SyntheticMedia { medium: Medium::Video, period: 40, payload: vec![0x5a; VIDEO_BYTES - FRAME_HEADER] }
    }

    /// Audio or video.
    pub fn medium(&self) -> Medium {
        self.medium
    }

    /// The frame that is captured at tick `tick`, if one is. It begins with its number, big-endian.
    pub fn frame(&mut self, tick: u64) -> Option<SyntheticFrame<'_>> {
        if !tick.is_multiple_of(self.period) {
            return None;
        }
        let number = tick / self.period;
        self.payload[..8].copy_from_slice(&number.to_be_bytes());
        let key = self.medium == Medium::Video && number.is_multiple_of(KEY_EVERY);
        Some(SyntheticFrame { payload: &self.payload, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_papers_sizes_and_periods() {
        for (mut media, bytes, period) in [(SyntheticMedia::audio(), 160, 20), (SyntheticMedia::video(), 2_000, 40)] {
            let ticks: Vec<u64> = (0..200).filter(|&t| media.frame(t).is_some()).collect();
            assert_eq!(ticks, (0..200).step_by(period).collect::<Vec<u64>>());
            assert_eq!(media.frame(0).unwrap().payload.len() + FRAME_HEADER, bytes);
        }
    }

    #[test]
    fn samples_differ_from_tick_to_tick() {
        for role in [Role::Op, Role::Top] {
            let mut servo = SyntheticServo::new(role);
            let bits = |sample: HapticSample| {
                let mut bytes = [0; 24];
                sample.emit(&mut bytes);
                bytes
            };
            assert_ne!(bits(servo.tick(1)), bits(servo.tick(2)));
        }
    }
}
