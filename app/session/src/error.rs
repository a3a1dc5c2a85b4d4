//! What can go wrong with a station, each in one line that names the object and the remedy.

use std::path::{Path, PathBuf};

/// Why a station did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The configuration file or a value in it. Mend the file; exit code 2.
    #[error("{0}")]
    Config(String),
    /// A ticket that is not one. Copy the line that the teleoperator prints; exit code 2.
    #[error("ticket '{text}' is not valid ({why}): copy the whole ADDRESS:PORT/TOKEN that `telehaptic top` prints")]
    Ticket {
        /// The ticket without its secret.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A haptic device, camera, microphone or speaker that is not there or does not work. See `telehaptic devices`.
    #[error("{what}: {why}")]
    Device {
        /// Which one.
        what: &'static str,
        /// Error of its driver, with the remedy.
        why: String,
    },
    /// A file or directory that cannot be read or written.
    #[error("cannot {verb} {path}: {source}", path = .path.display())]
    File {
        /// "read", "write", "create".
        verb: &'static str,
        /// Which one.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The network socket: the port is in use, or the address is not one of this machine's.
    #[error("{0}")]
    Network(String),
    /// Nobody answers. Wrong ticket, wrong address, or no station there.
    #[error(
        "no answer from {peer} within {seconds} s: no teleoperator runs there, or the ticket is not the one it prints"
    )]
    NoAnswer {
        /// Address that was called.
        peer: String,
        /// How long we waited.
        seconds: f64,
    },
    /// A thread could not be started, or broke down.
    #[error("thread '{name}': {why}")]
    Thread {
        /// Its name.
        name: &'static str,
        /// Reason.
        why: String,
    },
    /// A trace that cannot be used.
    #[error("trace {path}: {why}", path = .path.display())]
    Trace {
        /// File or directory.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl SessionError {
    /// True if what the user wrote (command line, configuration, ticket) is wrong: exit code 2, otherwise 1.
    pub fn is_usage(&self) -> bool {
        matches!(self, SessionError::Config(_) | SessionError::Ticket { .. })
    }

    /// Wraps a file error.
    pub(crate) fn file(verb: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> SessionError {
        let path = path.to_owned();
        move |source| SessionError::File { verb, path, source }
    }
}
