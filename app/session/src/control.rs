//! The control service: a local socket for this user alone, one JSON request a line, one JSON answer a line. Runs on a
//! thread of its own, off the fast path; what it may do is to read the snapshot and pass commands on.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::LocalSet;

use crate::ctl::{Answer, MAX_REQUEST, Request};
use crate::error::SessionError;
use crate::shared::Shared;
use crate::snapshot::Command;
use crate::station::SnapshotCell;

/// Clients at the same time; more wait.
const CLIENTS: usize = 16;
/// A client that says nothing for this long is let go.
const IDLE: Duration = Duration::from_secs(60);
/// Time between looks for the end.
const LOOK: Duration = Duration::from_millis(50);

/// The socket file; removed when the station ends.
pub(crate) struct SocketFile {
    path: PathBuf,
    listener: StdListener,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = fs::remove_file(&self.path);
    }
}

/// Binds the socket at `path`: its directory is made with mode 0700 if missing, a file that a dead station left is
/// replaced, a living station is not disturbed.
pub(crate) fn bind(path: &Path) -> Result<SocketFile, SessionError> {
    if let Some(dir) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(SessionError::file("create", dir))?;
    }
    if StdStream::connect(path).is_ok() {
        return Err(SessionError::Network(format!(
            "another station is already served at {}: stop it (`telehaptic ctl stop`) or give this one a control_socket",
            path.display()
        )));
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if std::os::unix::fs::FileTypeExt::is_socket(&meta.file_type()) => {
            fs::remove_file(path).map_err(SessionError::file("replace", path))?;
        }
        Ok(_) => {
            return Err(SessionError::Config(format!(
                "{} exists and is no socket: name another control_socket",
                path.display()
            )));
        }
        Err(_) => {}
    }
    let listener = StdListener::bind(path).map_err(SessionError::file("bind", path))?;
    let file = SocketFile { path: path.to_owned(), listener };
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(SessionError::file("protect", path))?;
    file.listener.set_nonblocking(true).map_err(SessionError::file("bind", path))?;
    Ok(file)
}

/// What clients may reach.
#[derive(Clone)]
pub(crate) struct Service {
    pub shared: Arc<Shared>,
    pub snapshot: SnapshotCell,
    pub commands: Sender<Command>,
}

impl Service {
    /// Serves until the station stops.
    pub fn run(self, file: &SocketFile) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, async {
            let listener = UnixListener::from_std(file.listener.try_clone()?)?;
            let places = Arc::new(Semaphore::new(CLIENTS));
            while !self.shared.stopping() {
                let Ok(accepted) = tokio::time::timeout(LOOK, listener.accept()).await else { continue };
                let Ok((stream, _)) = accepted else {
                    // Out of file descriptors: wait for some to be free.
                    tokio::time::sleep(LOOK).await;
                    continue;
                };
                let Ok(place) = places.clone().try_acquire_owned() else { continue };
                let service = self.clone();
                tokio::task::spawn_local(async move {
                    let _place = place;
                    // A client that breaks off is its own affair.
                    let _ = service.serve(stream).await;
                });
            }
            Ok(())
        })
    }

    async fn serve(&self, stream: UnixStream) -> std::io::Result<()> {
        let (read, mut write) = stream.into_split();
        let mut read = BufReader::new(read);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut limited = (&mut read).take(MAX_REQUEST as u64);
            let Ok(got) = tokio::time::timeout(IDLE, limited.read_until(b'\n', &mut line)).await else {
                return Ok(());
            };
            if got? == 0 {
                return Ok(());
            }
            let too_long = line.last() != Some(&b'\n') && line.len() >= MAX_REQUEST;
            let answer = if too_long { Answer::Error("the request is too long".into()) } else { self.answer(&line) };
            let mut text = serde_json::to_vec(&answer)?;
            text.push(b'\n');
            write.write_all(&text).await?;
            if too_long {
                return Ok(());
            }
        }
    }

    fn answer(&self, line: &[u8]) -> Answer {
        match serde_json::from_slice::<Request>(line) {
            Ok(Request::Status) => Answer::Status(Box::new((*self.snapshot.get()).clone())),
            Ok(Request::Command(command)) => match self.commands.send(command) {
                Ok(()) => Answer::Done,
                Err(_) => Answer::Error("the station is ending".into()),
            },
            Err(e) => Answer::Error(format!("request not understood ({e}): say \"status\" or {{\"command\":...}}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_private_replaces_a_dead_one_and_spares_what_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("telehaptic/op.sock");
        let file = bind(&path).unwrap();
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600));
        assert!(bind(&path).err().unwrap().to_string().contains("already served"));
        drop(file);
        assert!(!path.exists());
        // As a killed station leaves it.
        drop(StdListener::bind(&path).unwrap());
        assert!(path.exists());
        drop(bind(&path).unwrap());
        fs::write(&path, "a letter").unwrap();
        assert!(bind(&path).err().unwrap().to_string().contains("no socket"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "a letter");
    }
}
