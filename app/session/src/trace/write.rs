//! Writes one station's half of a trace. Lives on the recorder thread.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use media::{Role, Vector};
use proto::TraceEvent;

use super::half::StationInfo;
use super::record::{Record, ServoRecord};
use super::{
    COUNTERS, FRAMES_RECEIVED, FRAMES_SENT, HAPTIC_SENT, HAPTIC_SHOWN, LINK_EVENTS, MERGE_FACTORS, PACKETS_RECEIVED,
    PACKETS_SENT, SERVO_HEADER, Table,
};
use crate::error::SessionError;

/// Name of the servo's file.
pub(super) fn servo_file(role: Role) -> &'static str {
    match role {
        Role::Op => "servo_op.csv",
        Role::Top => "servo_top.csv",
    }
}

/// Name of the summary.
pub(super) const STATION_FILE: &str = "station.json";

/// The open files of a half trace.
pub struct TraceWriter {
    dir: PathBuf,
    haptic_sent: BufWriter<File>,
    haptic_shown: BufWriter<File>,
    frames_sent: BufWriter<File>,
    frames_received: BufWriter<File>,
    packets_sent: BufWriter<File>,
    packets_received: BufWriter<File>,
    merge_factors: BufWriter<File>,
    link: BufWriter<File>,
    counters: BufWriter<File>,
    servo: BufWriter<File>,
}

impl TraceWriter {
    /// Makes the files, over those of an earlier run.
    ///
    /// # Errors
    /// The directory or a file cannot be made.
    pub fn create(dir: &Path, role: Role) -> Result<Self, SessionError> {
        fs::create_dir_all(dir).map_err(SessionError::file("create", dir))?;
        // A summary of an earlier run must not stand beside half of this one.
        match fs::remove_file(dir.join(STATION_FILE)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(SessionError::file("replace", &dir.join(STATION_FILE))(e));
            }
            _ => {}
        }
        let open = |table: Table| create(&dir.join(table.name), table.header);
        Ok(TraceWriter {
            haptic_sent: open(HAPTIC_SENT)?,
            haptic_shown: open(HAPTIC_SHOWN)?,
            frames_sent: open(FRAMES_SENT)?,
            frames_received: open(FRAMES_RECEIVED)?,
            packets_sent: open(PACKETS_SENT)?,
            packets_received: open(PACKETS_RECEIVED)?,
            merge_factors: open(MERGE_FACTORS)?,
            link: open(LINK_EVENTS)?,
            counters: open(COUNTERS)?,
            servo: create(&dir.join(servo_file(role)), SERVO_HEADER)?,
            dir: dir.to_owned(),
        })
    }

    /// Where the files are.
    pub fn directory(&self) -> PathBuf {
        self.dir.clone()
    }

    /// Writes one fact.
    ///
    /// # Errors
    /// The disk is full or gone.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        match *record {
            Record::Event(event) => self.event(event),
            Record::Link { at, event, session } => {
                writeln!(self.link, "{},{},{session}", at.as_nanos(), event.name())
            }
            Record::Counters(c) => {
                writeln!(self.counters, "{},{},{},{},{}", c.at.as_nanos(), c.packets, c.wire_bytes, c.i_c, c.i_s)
            }
        }
    }

    /// Writes one tick of the servo.
    ///
    /// # Errors
    /// As [`TraceWriter::record`].
    pub fn servo(&mut self, r: &ServoRecord) -> io::Result<()> {
        let out = &mut self.servo;
        write!(out, "{},{}", r.tick, r.at.as_nanos())?;
        for v in [r.state.position.0, r.state.velocity.0, r.desired.0, r.contact.0] {
            vector(out, v)?;
        }
        write!(out, ",{}", r.incoming_at.map_or(-1, |at| at.as_nanos() as i64))?;
        for v in [r.incoming, r.incoming_velocity, r.force.0, r.sent] {
            vector(out, v)?;
        }
        write!(out, ",{},{},{},{},{}", r.engagement, r.gain, r.damping, r.passed, r.limit)?;
        writeln!(out, ",{},{},{}", r.age_ns, u8::from(r.held), u8::from(r.stopped))
    }

    /// Writes what is buffered and the summary.
    ///
    /// # Errors
    /// As [`TraceWriter::record`].
    pub fn finish(mut self, info: &StationInfo) -> Result<(), SessionError> {
        let path = self.dir.join(STATION_FILE);
        self.flush().map_err(SessionError::file("write", &self.dir))?;
        let text = serde_json::to_string_pretty(info).map_err(|e| SessionError::file("write", &path)(e.into()))?;
        fs::write(&path, text).map_err(SessionError::file("write", &path))
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// As [`TraceWriter::record`].
    pub fn flush(&mut self) -> io::Result<()> {
        for file in [
            &mut self.haptic_sent,
            &mut self.haptic_shown,
            &mut self.frames_sent,
            &mut self.frames_received,
            &mut self.packets_sent,
            &mut self.packets_received,
            &mut self.merge_factors,
            &mut self.link,
            &mut self.counters,
            &mut self.servo,
        ] {
            file.flush()?;
        }
        Ok(())
    }

    fn event(&mut self, event: TraceEvent) -> io::Result<()> {
        match event {
            TraceEvent::HapticTaken { index, at } => writeln!(self.haptic_sent, "{index},{}", at.as_nanos()),
            TraceEvent::FrameTaken { medium, number, at, bytes } => {
                writeln!(self.frames_sent, "{},{number},{},{bytes}", medium.name(), at.as_nanos())
            }
            TraceEvent::MergeFactor { index, k, cause } => {
                writeln!(self.merge_factors, "{index},{k},{}", cause.name())
            }
            TraceEvent::PacketSent { sequence, at, k, first_index, .. } => {
                writeln!(self.packets_sent, "{sequence},{},{k},{first_index}", at.as_nanos())
            }
            TraceEvent::PacketReceived { at, k, first_index, .. } => {
                writeln!(self.packets_received, "{},{k},{first_index}", at.as_nanos())
            }
            TraceEvent::HapticDisplayed { index, at } => writeln!(self.haptic_shown, "{index},{}", at.as_nanos()),
            TraceEvent::FrameReceived { medium, number, at, display_at } => {
                let (at, display_at) = (at.as_nanos(), display_at.as_nanos());
                writeln!(self.frames_received, "{},{number},{at},{display_at}", medium.name())
            }
        }
    }
}

fn create(path: &Path, header: &str) -> Result<BufWriter<File>, SessionError> {
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path).map_err(SessionError::file("create", path))?);
    writeln!(file, "{header}").map_err(SessionError::file("write", path))?;
    Ok(file)
}

fn vector(out: &mut impl Write, v: Vector) -> io::Result<()> {
    write!(out, ",{},{},{}", v.0[0], v.0[1], v.0[2])
}
