//! What the slave touches, and the picture of it: a rotating body of revolution, as on a potter's wheel.
//!
//! Pure and deterministic: no clock, no randomness, no input or output; the caller says how much time
//! has passed. Base frame of the slave: x right, y up, z toward the user, origin in free space about
//! 1 cm in front of the surface, so that a device that starts in its middle starts free of contact.

mod body;
mod contact;
mod hand;
mod picture;

pub use body::{Body, Nearest};
pub use contact::{Contact, Pose, Scene, SceneConfig};
pub use hand::hand_target;
pub use picture::{Image, Renderer};
