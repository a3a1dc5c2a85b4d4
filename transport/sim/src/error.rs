//! What can go wrong around a simulation.

use std::path::{Path, PathBuf};

use crate::spec::SECONDS;

/// An error, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// A run of this length is not possible: choose another.
    #[error("a simulation of {seconds} s{with} is not possible: give {shortest} to {longest} seconds",
        with = if *traces { " with traces" } else { "" }, shortest = SECONDS.start())]
    Seconds {
        /// What was asked for, s.
        seconds: f64,
        /// The longest possible, s.
        longest: f64,
        /// Traces were asked for, too.
        traces: bool,
    },
    /// A trace cannot be written: a folder without permission, a full disk.
    #[error("cannot write {path} ({reason}); name a folder that may be written to")]
    Write {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
}

impl SimError {
    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> SimError {
        move |reason| SimError::Write { path: path.to_owned(), reason }
    }

    /// The caller asked for what cannot be, as opposed to something that broke.
    pub fn is_usage(&self) -> bool {
        matches!(self, SimError::Seconds { .. })
    }
}
