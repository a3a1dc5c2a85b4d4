//! The recorder thread: moves facts from the rings of the fast threads to the files of the trace.

use std::sync::Arc;
use std::time::Duration;

use rtrb::Consumer;

use crate::error::SessionError;
use crate::shared::Shared;
use crate::trace::{Record, ServoRecord, TraceWriter};

/// Room for about five seconds of facts: a disk may stall for as long.
pub(crate) const RECORDS: usize = 32_768;
/// As above, for the servo.
pub(crate) const SERVO_RECORDS: usize = 8_192;
/// Time between visits.
const EVERY: Duration = Duration::from_millis(20);

/// What the recorder reads and writes.
pub(crate) struct Recorder {
    pub writer: TraceWriter,
    pub records: Consumer<Record>,
    pub servo: Consumer<ServoRecord>,
}

impl Recorder {
    /// Runs until the station stops, then gives the files back with everything in them that was recorded.
    pub fn run(mut self, shared: &Arc<Shared>) -> Option<TraceWriter> {
        loop {
            // Asked first: what the other threads wrote before they ended is then still drained.
            let last = shared.stopping() && self.records.is_abandoned() && self.servo.is_abandoned();
            if let Err(source) = self.drain() {
                shared.end(Some(SessionError::file("write", &self.writer.directory())(source)));
                return None;
            }
            if last {
                return Some(self.writer);
            }
            std::thread::sleep(EVERY);
        }
    }

    fn drain(&mut self) -> std::io::Result<()> {
        while let Ok(record) = self.records.pop() {
            self.writer.record(&record)?;
        }
        while let Ok(record) = self.servo.pop() {
            self.writer.servo(&record)?;
        }
        Ok(())
    }
}
