//! Where pictures come from.

use std::path::PathBuf;
use std::str::FromStr;

use media::Instant;

use crate::camera::{Camera, CameraName};
use crate::error::VideoError;
use crate::pattern::Pattern;
use crate::picture::Picture;
use crate::y4m::Y4mFile;

/// Anything that takes pictures, newest first: what was not asked for in time is gone.
pub trait PictureSource: Send {
    /// For people, as it is now: "Integrated Camera 640x480".
    fn describe(&self) -> String;

    /// Puts the newest picture into `out` if there is a new one; never blocks.
    ///
    /// # Errors
    /// While the source is lost. It looks for itself: polling again is right.
    fn poll(&mut self, now: Instant, out: &mut Picture) -> Result<bool, VideoError>;
}

/// A picture source by name: `scene`, `device:N`, `device:NAME`, `file:PATH`, `pattern`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum CameraSpec {
    /// What the slave touches, drawn by the station.
    #[default]
    Scene,
    /// A camera of this machine.
    Device(CameraName),
    /// A Y4M file, played in a loop.
    File(PathBuf),
    /// A moving test pattern.
    Pattern,
}

impl FromStr for CameraSpec {
    type Err = VideoError;

    fn from_str(text: &str) -> Result<Self, VideoError> {
        let wrong = || VideoError::Spec(text.into());
        match text.split_once(':') {
            None if text == "scene" => Ok(CameraSpec::Scene),
            None if text == "pattern" => Ok(CameraSpec::Pattern),
            Some(("device", name)) if !name.trim().is_empty() => Ok(CameraSpec::Device(match name.parse() {
                Ok(index) => CameraName::Index(index),
                Err(_) => CameraName::Name(name.trim().into()),
            })),
            Some(("file", path)) if !path.is_empty() => Ok(CameraSpec::File(path.into())),
            _ => Err(wrong()),
        }
    }
}

impl std::fmt::Display for CameraSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CameraSpec::Scene => f.write_str("scene"),
            CameraSpec::Device(name) => name.fmt(f),
            CameraSpec::File(path) => write!(f, "file:{}", path.display()),
            CameraSpec::Pattern => f.write_str("pattern"),
        }
    }
}

/// Opens a source of pictures of `width` x `height`, `fps` a second.
///
/// # Errors
/// If the camera or file is not there or cannot be used, the size cannot be coded, or the scene is asked for.
pub fn open_source(
    spec: &CameraSpec,
    width: usize,
    height: usize,
    fps: u32,
    now: Instant,
) -> Result<Box<dyn PictureSource>, VideoError> {
    crate::encoder::check_size(width, height)?;
    Ok(match spec {
        CameraSpec::Scene => return Err(VideoError::Scene),
        CameraSpec::Device(name) => Box::new(Camera::open(name, (width, height), fps)?),
        CameraSpec::File(path) => Box::new(Y4mFile::open(path, width, height, now)?),
        CameraSpec::Pattern => Box::new(Pattern::new(width, height, fps, now)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_wrong_ones_name_the_right_ones() {
        for name in ["scene", "device:3", "device:HD Webcam: front", "file:/a:b.y4m", "pattern"] {
            assert_eq!(name.parse::<CameraSpec>().unwrap().to_string(), name);
        }
        for name in ["", "device", "device:", "device: ", "file:", "webcam"] {
            assert!(name.parse::<CameraSpec>().unwrap_err().to_string().contains("device:N"), "{name}");
        }
    }
}
