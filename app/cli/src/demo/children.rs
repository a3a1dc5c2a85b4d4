//! Child processes that never outlive the demo.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// How long a process may take to end in order.
const PATIENCE: Duration = Duration::from_secs(10);

/// One command of this program as a process of its own. Dropped, it is killed; if the demo dies in whatever way, the
/// pipe to its standard input closes and it ends by itself.
pub struct Child {
    name: &'static str,
    process: std::process::Child,
    lines: Receiver<String>,
}

impl Child {
    /// Starts `telehaptic NAME ARGS`.
    pub fn start(name: &'static str, args: &[String]) -> Result<Child, Failure> {
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let mut command = Command::new(program);
        command.arg(name).args(args).arg("--end-with-stdin").stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C at the terminal is for the demo alone, which then ends the three in the right order.
        command.process_group(0);
        let mut process =
            command.spawn().map_err(|e| Failure::Failed(format!("cannot start telehaptic {name}: {e}")))?;
        let (sender, lines) = channel();
        if let Some(out) = process.stdout.take() {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(out);
                let mut line = String::new();
                // Everything is read, so that the child never waits for a full pipe; the first lines are kept.
                while reader.by_ref().take(4_096).read_line(&mut line).is_ok_and(|n| n > 0) {
                    if sender.send(std::mem::take(&mut line)).is_err() {
                        line.clear();
                    }
                }
            });
        }
        Ok(Child { name, process, lines })
    }

    /// Waits for the line that begins with `prefix`; the rest of it.
    pub fn first_line(&mut self, prefix: &str, patience: Duration) -> Result<String, Failure> {
        let begin = Instant::now();
        loop {
            match self.lines.recv_timeout(patience.saturating_sub(begin.elapsed())) {
                Ok(line) => {
                    if let Some(rest) = line.strip_prefix(prefix) {
                        return Ok(rest.trim().to_string());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Failure::Failed(format!("telehaptic {} is not ready after {patience:?}", self.name)));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.process.wait().map_err(Failure::failed)?;
                    return Err(self.failure(status));
                }
            }
        }
    }

    /// Has it ended?
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Failure> {
        // Status lines are not shown twice.
        while self.lines.try_recv().is_ok() {}
        self.process.try_wait().map_err(Failure::failed)
    }

    /// The failure that its end means; it has said why itself.
    pub fn failure(&self, status: ExitStatus) -> Failure {
        let text = format!("telehaptic {} ended with {status}", self.name);
        match status.code() {
            Some(2) => Failure::Usage(text),
            Some(3) => Failure::Qos(text),
            _ => Failure::Failed(text),
        }
    }

    /// Asks it to end and waits; kills it if it does not.
    pub fn end(&mut self) -> Result<(), Failure> {
        if let Some(status) = self.ended()? {
            return if status.success() { Ok(()) } else { Err(self.failure(status)) };
        }
        let pid = libc::pid_t::try_from(self.process.id()).map_err(Failure::failed)?;
        // SAFETY: the process is our child and not yet waited for, so the id is its own.
        unsafe { libc::kill(pid, libc::SIGTERM) };
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Some(status) = self.ended()? {
                return if status.success() { Ok(()) } else { Err(self.failure(status)) };
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(Failure::Failed(format!("telehaptic {} did not end within {PATIENCE:?}", self.name)))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Already ended: both fail, and nothing is left to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
