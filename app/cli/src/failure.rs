//! Why a command failed, and the exit code that says so.

use session::SessionError;

/// A failed command: one or two lines for stderr.
#[derive(Debug)]
pub enum Failure {
    /// What the user wrote is wrong: exit code 2.
    Usage(String),
    /// Something that is needed is not there or broke: exit code 1.
    Failed(String),
    /// `--assert-qos` and a limit was broken: exit code 3.
    Qos(String),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Failed(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Qos(_) => 3,
        }
    }

    /// A failure while running.
    pub fn failed(error: impl std::fmt::Display) -> Failure {
        Failure::Failed(error.to_string())
    }

    /// A file that cannot be written.
    pub fn writing(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Failure {
        move |e| Failure::Failed(format!("cannot write {} ({e}); name a folder that may be written to", path.display()))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Failure::Usage(text) | Failure::Failed(text) | Failure::Qos(text)) = self;
        f.write_str(text)
    }
}

impl From<sim::SimError> for Failure {
    fn from(error: sim::SimError) -> Failure {
        if error.is_usage() { Failure::Usage(error.to_string()) } else { Failure::Failed(error.to_string()) }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        if error.is_usage() { Failure::Usage(error.to_string()) } else { Failure::Failed(error.to_string()) }
    }
}
