//! How far an experiment is, on stderr: a bar in a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// How often a bar moves at most.
pub const REFRESH: Duration = Duration::from_millis(200);
/// How often a line comes where there is no terminal.
const LINES: Duration = Duration::from_secs(5);
/// Characters of the bar.
const WIDTH: usize = 30;

/// The runs done, and the time they took.
pub struct Progress {
    name: String,
    done: usize,
    /// Done before this call.
    found: usize,
    all: usize,
    begin: Instant,
    shown: Option<Instant>,
    terminal: bool,
}

impl Progress {
    /// `found` of `all` runs were done before.
    pub fn new(name: &str, found: usize, all: usize) -> Progress {
        let terminal = stderr().is_terminal();
        let begin = Instant::now();
        // Lines start after a while: short experiments need none.
        let shown = (!terminal).then_some(begin);
        Progress { name: name.into(), done: found, found, all, begin, shown, terminal }
    }

    /// One more run is done.
    pub fn done(&mut self) {
        self.done += 1;
        self.show();
    }

    /// Shows where it is, if it is time.
    pub fn show(&mut self) {
        let period = if self.terminal { REFRESH } else { LINES };
        if self.shown.is_some_and(|at| at.elapsed() < period) {
            return;
        }
        self.shown = Some(Instant::now());
        let text = self.text();
        // Nobody reads stderr: no reason to stop.
        let _ = if self.terminal { write!(stderr(), "\r{text}\x1b[K") } else { writeln!(stderr(), "{text}") };
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if self.terminal {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }

    fn text(&self) -> String {
        let ran = self.done - self.found;
        let left = self.begin.elapsed().as_secs_f64() * (self.all - self.done) as f64 / ran as f64;
        let left = if ran == 0 { String::new() } else { format!(", {left:.0} s left") };
        let full = WIDTH * self.done / self.all.max(1);
        let bar =
            if self.terminal { format!(" [{}{}]", "#".repeat(full), " ".repeat(WIDTH - full)) } else { String::new() };
        format!("{}{bar} {} of {} runs{left}", self.name, self.done, self.all)
    }
}
