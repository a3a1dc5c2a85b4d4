//! Pictures: cameras, files, test patterns, and H.264 in both directions.
//!
//! [`open_source`] gives whatever takes pictures as a [`PictureSource`]; [`Encoder`] keeps the stream within the
//! multiplexer's room; [`Decoder`] survives anything. `camera/v4l` is the only file that names nokhwa.

mod camera;
mod decoder;
mod encoder;
mod error;
mod pattern;
mod picture;
mod source;
mod y4m;

pub use camera::{CameraName, FoundDevice, list};
pub use decoder::Decoder;
pub use encoder::{Encoded, Encoder, EncoderConfig};
pub use error::VideoError;
pub use pattern::Pattern;
pub use picture::{Picture, psnr};
pub use source::{CameraSpec, PictureSource, open_source};
pub use y4m::{Y4mFile, write_header, write_picture};
