//! Running other programs.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The cargo that runs us.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    // What `cargo run` set for us alone must not look like a change to the builds that we start.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST") || text.starts_with("CARGO_BIN_") {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Runs to the end with our own input and output.
///
/// # Errors
/// It cannot be started or fails; the line says which command.
pub fn run(command: &mut Command) -> Result<(), String> {
    let line = show(command);
    println!("$ {line}");
    let status = command.status().map_err(|e| format!("`{line}` cannot be started: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}`: {status}")) }
}

/// Runs to the end, passing both outputs on as they come, and gives back all of both.
///
/// # Errors
/// It cannot be started.
pub fn tee(command: &mut Command) -> Result<(bool, String), String> {
    let line = show(command);
    println!("$ {line}");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("`{line}` cannot be started: {e}"))?;
    let out = child.stdout.take().map(|pipe| thread::spawn(move || pass_on(pipe)));
    let err = child.stderr.take().map(|pipe| thread::spawn(move || pass_on(pipe)));
    let mut text = String::new();
    for reader in [out, err].into_iter().flatten() {
        text += &reader.join().unwrap_or_default();
    }
    let status = child.wait().map_err(|e| format!("`{line}`: {e}"))?;
    Ok((status.success(), text))
}

fn pass_on(pipe: impl Read) -> String {
    let mut all = String::new();
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    while matches!(reader.read_until(b'\n', &mut line), Ok(n) if n > 0) {
        let text = String::from_utf8_lossy(&line);
        let mut out = std::io::stdout().lock();
        // A closed terminal is no reason to stop the check.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        all += &text;
        line.clear();
    }
    all
}

/// What a command that ended said.
pub struct Said {
    /// Exit code, `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Runs silently for at most `limit`.
///
/// # Errors
/// It cannot be started, or was still running at the limit and has been ended.
pub fn quiet(command: &mut Command, limit: Duration) -> Result<Said, String> {
    let line = show(command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("`{line}` cannot be started: {e}"))?;
    let out = collect(child.stdout.take());
    let err = collect(child.stderr.take());
    let code = wait(&mut child, limit).map_err(|e| format!("`{line}`: {e}"))?;
    Ok(Said { code, out: out.join().unwrap_or_default(), err: err.join().unwrap_or_default() })
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came before a broken pipe is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child, limit: Duration) -> Result<Option<i32>, String> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(status.code());
        }
        if Instant::now() >= end {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("still running after {} s: ended", limit.as_secs()));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// First word and the arguments of a command, for people.
pub fn show(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut line = program.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line += &arg.to_string_lossy();
    }
    line
}
