//! What can go wrong with sound, each with its remedy in the text.

use std::path::{Path, PathBuf};

/// Failure of a source, a sink or a codec. The text is one line that names the object and what to do.
#[derive(Debug, thiserror::Error)]
pub enum AudioError {
    /// A source or sink name that the grammar does not know. Remedy: one of the listed forms.
    #[error("\"{text}\" is no {what}: use {expected}")]
    Spec {
        /// What was given.
        text: String,
        /// "sound source" or "sound sink".
        what: &'static str,
        /// The grammar.
        expected: &'static str,
    },
    /// No device of that name or direction. Remedy: plug it in, or choose one that is there.
    #[error("{what} \"{name}\" not found: {there}; or use {instead}")]
    NotFound {
        /// "microphone" or "speaker".
        what: &'static str,
        /// Name or part of a name that was asked for.
        name: String,
        /// Those that are there, in words.
        there: String,
        /// What works without a device.
        instead: &'static str,
    },
    /// A part of a name that several devices have. Remedy: one of their full names.
    #[error("{what} \"{name}\" fits more than one: give one of {fits}")]
    Ambiguous {
        /// "microphone" or "speaker".
        what: &'static str,
        /// What was asked for.
        name: String,
        /// Names of those that it fits.
        fits: String,
    },
    /// A device was found but refuses.
    #[error("{what} \"{name}\": {detail}; {remedy}")]
    Device {
        /// "microphone" or "speaker".
        what: &'static str,
        /// Name of the device.
        name: String,
        /// The system's words.
        detail: String,
        /// What the user can do.
        remedy: &'static str,
    },
    /// A file cannot be read or written.
    #[error("{}: {detail}; {remedy}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
        /// What the user can do.
        remedy: &'static str,
    },
    /// Opus refused. Remedy: for a payload size, one from 20 to 1275 bytes; otherwise a defect to report.
    #[error("Opus {operation}: {detail}")]
    Codec {
        /// What was tried.
        operation: &'static str,
        /// The library's words.
        detail: String,
    },
}

impl AudioError {
    pub(crate) fn file(path: &Path, detail: impl ToString, remedy: &'static str) -> Self {
        AudioError::File { path: path.to_owned(), detail: detail.to_string(), remedy }
    }
}
