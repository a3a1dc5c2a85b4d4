//! H.264 from the network: whatever comes, no panic; after a loss no picture until the next key frame.

use openh264::OpenH264API;
use openh264::decoder::DecoderConfig;
use openh264::formats::YUVSource;

use crate::error::VideoError;
use crate::picture::Picture;

/// A decoder.
pub struct Decoder {
    codec: openh264::decoder::Decoder,
    /// Frames that could not be decoded.
    pub errors: u64,
    /// Nothing can be decoded before the next key frame.
    waits_for_key: bool,
}

impl Decoder {
    /// A decoder that waits for a key frame.
    ///
    /// # Errors
    /// [`VideoError::Codec`] if the codec does not start.
    pub fn new() -> Result<Decoder, VideoError> {
        Ok(Decoder { codec: start()?, errors: 0, waits_for_key: true })
    }

    /// Decodes one frame into `out`. False: no picture (yet).
    ///
    /// # Errors
    /// If the frame cannot be decoded: ask for a key frame. Frames up to that one then give no picture.
    pub fn decode(&mut self, frame: &[u8], out: &mut Picture) -> Result<bool, VideoError> {
        if frame.is_empty() || self.waits_for_key && !holds_key(frame) {
            return Ok(false);
        }
        match self.codec.decode(frame) {
            Ok(Some(picture)) => {
                self.waits_for_key = false;
                let (size, strides) = (picture.dimensions(), picture.strides());
                let planes = [picture.y(), picture.u(), picture.v()];
                out.copy_planes(size, planes, [strides.0, strides.1, strides.2]);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => {
                self.errors += 1;
                self.waits_for_key = true;
                // What a damaged stream left behind in the codec must not touch what follows.
                self.codec = start()?;
                Err(VideoError::Codec(error.to_string()))
            }
        }
    }
}

/// Does a NAL unit of type 5 (IDR slice) begin in these bytes? (H.264, table 7-1.)
fn holds_key(frame: &[u8]) -> bool {
    frame.windows(4).any(|w| w[..3] == [0, 0, 1] && w[3] & 0x1f == 5)
}

fn start() -> Result<openh264::decoder::Decoder, VideoError> {
    openh264::decoder::Decoder::with_api_config(OpenH264API::from_source(), DecoderConfig::new())
        .map_err(|e| VideoError::Codec(e.to_string()))
}
