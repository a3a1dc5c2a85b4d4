//! What can go wrong with pictures, and what to do about it.

use std::path::PathBuf;

/// An error of a camera, a file or a codec.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// The camera is not there, is in use, or was unplugged.
    #[error("camera {name}: {why}; `telehaptic devices` lists the cameras of this machine")]
    Camera {
        /// The camera as it was asked for.
        name: String,
        /// What the driver said.
        why: String,
    },
    /// The file cannot be read.
    #[error("picture file {path}: {why}; name a readable Y4M file")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The name of a picture source is not understood.
    #[error("unknown camera '{0}': use scene, device:N, device:NAME, file:PATH or pattern")]
    Spec(String),
    /// The scene is drawn by the station, not opened here.
    #[error("the scene is no camera of this machine: a teleoperator station draws it")]
    Scene,
    /// Width or height is odd, zero or too large.
    #[error("a picture of {width}x{height} cannot be coded: use even sizes from 16x16 to 1920x1080")]
    Size {
        /// Pixels.
        width: usize,
        /// Pixels.
        height: usize,
    },
    /// The codec failed.
    #[error("H.264: {0}; ask for a key frame")]
    Codec(String),
}
