//! The two windows, operator's and teleoperator's: they draw a [`Snapshot`] and return [`Command`]s.
//!
//! No device, socket or protocol in sight; everything shown comes from a [`StationHandle`]. Windows must be opened
//! from the main thread.

mod app;
mod display;
mod error;
mod format;
mod picture;
pub mod preview;
mod station;
mod theme;
mod view;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use session::{Command, Snapshot, ViewPicture};

pub use error::GuiError;
pub use view::{OperatorView, TeleoperatorView};

/// A running station as a window sees it.
pub trait StationHandle {
    /// The station now.
    fn snapshot(&self) -> Arc<Snapshot>;
    /// Puts the newest picture into `picture` and says true if it is newer than the one there.
    fn picture(&self, picture: &mut ViewPicture) -> bool;
    /// Passes a wish of the person at the window on.
    fn command(&self, command: Command);
}

/// How a window behaves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Left upper corner of the window on the screen, points; otherwise the window system's choice. A window that another hides
    /// is not drawn.
    pub position: Option<[f32; 2]>,
    /// Saves the window as a PNG file once it has been open for so many seconds.
    pub screenshot: Option<(PathBuf, f64)>,
    /// While true, the window closes as soon as the station has ended; otherwise it stays and says why. Set it for runs
    /// of a set length, or when the program was asked to end.
    pub close_when_ended: Arc<AtomicBool>,
}

/// Says whether there is a display to open a window on, and somebody behind it, so that a program can tell before it
/// starts a station. Whether it has what a window needs shows only when the window opens.
///
/// # Errors
/// [`GuiError::NoDisplay`], and [`GuiError::Display`] where nobody answers.
pub fn check_display() -> Result<(), GuiError> {
    display::answers(&display::name()?)
}

/// Opens the operator's window and returns when it is closed; the station has then been told to stop.
///
/// # Errors
/// No display, a display that does not let a window be opened, a screenshot that cannot be written.
pub fn run_operator(station: &impl StationHandle, options: Options) -> Result<(), GuiError> {
    let mut view = OperatorView::default();
    app::run("telehaptic: operator", station, options, move |ui, snapshot, picture| view.ui(ui, snapshot, picture))
}

/// Opens the teleoperator's window and returns when it is closed; the station has then been told to stop.
///
/// # Errors
/// As [`run_operator`].
pub fn run_teleoperator(station: &impl StationHandle, options: Options) -> Result<(), GuiError> {
    let mut view = TeleoperatorView::default();
    app::run("telehaptic: teleoperator", station, options, move |ui, snapshot, picture| view.ui(ui, snapshot, picture))
}
