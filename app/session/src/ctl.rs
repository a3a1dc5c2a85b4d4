//! Client of a station's control service: a local socket, one JSON request a line, one JSON answer a line.
//!
//! Requests are `"status"` and `{"command":...}` with a [`Command`]; answers `{"status":...}` with a
//! [`Snapshot`], `"done"`, or `{"error":"..."}`.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use media::Role;
use serde::{Deserialize, Serialize};

use crate::snapshot::{Command, Snapshot};

/// Longest request or answer, bytes.
pub(crate) const MAX_REQUEST: usize = 4_096;
/// How long to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// One line to the station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// How is it?
    Status,
    /// Do this.
    Command(Command),
}

/// One line from the station.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// To [`Request::Status`].
    Status(Box<Snapshot>),
    /// The command was passed on.
    Done,
    /// The request was not understood.
    Error(String),
}

/// Why the station could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    /// No socket, or nobody behind it. Start the station, or name its socket.
    #[error("no station runs here: nothing answers at {path} (start `telehaptic top` or `telehaptic op` first)", path = .0.display())]
    NoStation(PathBuf),
    /// Neither station's usual socket answers.
    #[error("no station runs here: nothing answers at {op} or {top} (start `telehaptic top` or `telehaptic op` first, or name its --socket)", op = .0.display(), top = .1.display())]
    NoneRuns(PathBuf, PathBuf),
    /// The socket belongs to someone else. Run as the user who started the station.
    #[error("{path} belongs to another user: run as the user who started the station", path = .0.display())]
    Forbidden(PathBuf),
    /// The connection broke.
    #[error("the station at {path} does not answer: {source}", path = .path.display())]
    Broken {
        /// Its socket.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The station says no, or something else listens there.
    #[error("the station at {path} answers: {answer}", path = .path.display())]
    Refused {
        /// Its socket.
        path: PathBuf,
        /// Its words.
        answer: String,
    },
}

/// A connection to a running station.
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the station whose socket is `path`.
    ///
    /// # Errors
    /// No station there, or not ours.
    pub fn connect(path: &Path) -> Result<Client, CtlError> {
        let stream = UnixStream::connect(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => CtlError::NoStation(path.to_owned()),
            io::ErrorKind::PermissionDenied => CtlError::Forbidden(path.to_owned()),
            _ => CtlError::Broken { path: path.to_owned(), source },
        })?;
        let client = Client { path: path.to_owned(), stream: BufReader::new(stream) };
        client.stream.get_ref().set_read_timeout(Some(PATIENCE)).map_err(|e| client.broken(e))?;
        client.stream.get_ref().set_write_timeout(Some(PATIENCE)).map_err(|e| client.broken(e))?;
        Ok(client)
    }

    /// Connects to the station of this role at its usual place.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_role(role: Role) -> Result<Client, CtlError> {
        Client::connect(&default_socket(role))
    }

    /// Connects to the operator at its usual place, or if none runs to the teleoperator.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_any() -> Result<Client, CtlError> {
        match (Client::connect_role(Role::Op), Client::connect_role(Role::Top)) {
            (Ok(client), _) | (Err(CtlError::NoStation(_)), Ok(client)) => Ok(client),
            (Err(CtlError::NoStation(op)), Err(CtlError::NoStation(top))) => Err(CtlError::NoneRuns(op, top)),
            (Err(CtlError::NoStation(_)), Err(error)) | (Err(error), _) => Err(error),
        }
    }

    /// The station as it is now.
    ///
    /// # Errors
    /// The connection broke or the answer is not a status.
    pub fn status(&mut self) -> Result<Snapshot, CtlError> {
        match self.ask(&Request::Status)? {
            Answer::Status(snapshot) => Ok(*snapshot),
            other => Err(self.refused(other)),
        }
    }

    /// Passes a wish on. It is done within a fraction of a second; `status` shows the effect.
    ///
    /// # Errors
    /// The connection broke or the station refuses.
    pub fn command(&mut self, command: Command) -> Result<(), CtlError> {
        match self.ask(&Request::Command(command))? {
            Answer::Done => Ok(()),
            other => Err(self.refused(other)),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, CtlError> {
        let mut line = serde_json::to_string(request).map_err(|e| self.broken(e.into()))?;
        line.push('\n');
        self.stream.get_mut().write_all(line.as_bytes()).map_err(|e| self.broken(e))?;
        let mut answer = String::new();
        let read = self.stream.read_line(&mut answer).map_err(|e| self.broken(e))?;
        if read == 0 {
            return Err(self.broken(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_str(&answer)
            .map_err(|e| CtlError::Refused { path: self.path.clone(), answer: format!("no valid answer ({e})") })
    }

    fn broken(&self, source: io::Error) -> CtlError {
        CtlError::Broken { path: self.path.clone(), source }
    }

    fn refused(&self, answer: Answer) -> CtlError {
        let answer = match answer {
            Answer::Error(why) => why,
            Answer::Status(_) => "a status that nobody asked for".into(),
            Answer::Done => "done, where a status was asked for".into(),
        };
        CtlError::Refused { path: self.path.clone(), answer }
    }
}

/// Where the station of `role` serves unless it is told otherwise.
pub fn default_socket(role: Role) -> PathBuf {
    let name = match role {
        Role::Op => "op.sock",
        Role::Top => "top.sock",
    };
    socket_directory().join(name)
}

fn socket_directory() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(dir) if !dir.is_empty() => PathBuf::from(dir).join("telehaptic"),
        // SAFETY: geteuid has no preconditions and cannot fail.
        _ => std::env::temp_dir().join(format!("telehaptic-{}", unsafe { libc::geteuid() })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Scheme;

    #[test]
    fn requests_look_as_documented() {
        let json = |r: &Request| serde_json::to_string(r).unwrap();
        assert_eq!(json(&Request::Status), r#""status""#);
        assert_eq!(json(&Request::Command(Command::Stop)), r#"{"command":"stop"}"#);
        assert_eq!(
            json(&Request::Command(Command::Scheme(Scheme::KMerge(3)))),
            r#"{"command":{"scheme":"k-merge:3"}}"#
        );
        assert_eq!(serde_json::from_str::<Request>(r#"{"status":null}"#).unwrap(), Request::Status);
    }

    #[test]
    fn a_missing_station_is_said_plainly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("op.sock");
        let error = Client::connect(&path).err().unwrap().to_string();
        assert!(error.starts_with("no station runs here: ") && error.contains("op.sock"), "{error}");
        // A socket that a killed station left behind.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(matches!(Client::connect(&path), Err(CtlError::NoStation(_))));
    }
}
