//! What can keep a window from opening, each with its remedy.

use std::path::PathBuf;

/// A window failed.
#[derive(Debug, thiserror::Error)]
pub enum GuiError {
    /// Neither `WAYLAND_DISPLAY` nor `DISPLAY` is set. Remedy: a desktop session, `ssh -X`, or no window.
    #[error(
        "no display: neither WAYLAND_DISPLAY nor DISPLAY is set; start in a desktop session, set DISPLAY, or use \
         --headless"
    )]
    NoDisplay,
    /// The display refused. Remedy: check that it runs and offers OpenGL, or no window.
    #[error(
        "display '{display}' cannot show a window ({reason}); check that it runs and has OpenGL, or use --headless"
    )]
    Display {
        /// The display asked for.
        display: String,
        /// What the window system said.
        reason: String,
    },
    /// The screenshot was not written. Remedy: a folder that exists and may be written to.
    #[error("cannot write the screenshot '{}' ({reason}); name a file in a folder that may be written to", path.display())]
    Screenshot {
        /// The file asked for.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
}
