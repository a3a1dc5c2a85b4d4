//! Recorded haptic traces: what master and slave sent, one row a millisecond, from a CSV file.
//!
//! | columns | what | unit | range |
//! |---|---|---|---|
//! | `x,y,z` | position of the master in its base frame (x right, y up, z toward the user) | m | -1 to 1 |
//! | `vx,vy,vz` | its velocity | m/s | -20 to 20 |
//! | `fx,fy,fz` | force on the operator, as the teleoperator sends it | N | -100 to 100 |
//!
//! The first row is the header, these nine names in this order. Empty lines and lines that start with `#` are skipped;
//! spaces around a field do not matter. The ranges are those beyond which control takes a sample for invalid.

use core::fmt::{self, Write};
use std::path::Path;
use std::sync::Arc;

use media::{Force, HapticSample, Instant, Motion, Position, Role, Vector, Velocity};

use super::Servo;

/// The header of a trace file.
const HEADER: &str = "x,y,z,vx,vy,vz,fx,fy,fz";

/// Name, unit and largest absolute value of each column.
const COLUMNS: [(&str, &str, f32); 9] = [
    ("x", "m", 1.0),
    ("y", "m", 1.0),
    ("z", "m", 1.0),
    ("vx", "m/s", 20.0),
    ("vy", "m/s", 20.0),
    ("vz", "m/s", 20.0),
    ("fx", "N", 100.0),
    ("fy", "N", 100.0),
    ("fz", "N", 100.0),
];

/// One millisecond of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct TraceRow {
    /// What the operator's station sends.
    pub motion: Motion,
    /// What the teleoperator's station sends.
    pub force: Force,
}

/// A recorded trace of at least one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    rows: Vec<TraceRow>,
}

/// Why a trace file cannot be used. Each is one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read, or is no text.
    #[error("trace file {file}: {reason}; check the path, its permissions and that it is a text file")]
    Unreadable {
        /// Path of the file.
        file: String,
        /// What the system said.
        reason: String,
    },
    /// The first row is not the header.
    #[error("trace file {file}, line {line}: the first row must be the header '{HEADER}', not '{found}'")]
    Header {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// How the row begins.
        found: String,
    },
    /// A row with too many or too few fields.
    #[error("trace file {file}, line {line}: {found} columns instead of the 9 of '{HEADER}'")]
    Columns {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// How many fields it has.
        found: usize,
    },
    /// A field that is no number, or one that no hand or device reaches.
    #[error(
        "trace file {file}, line {line}, column {column}: '{found}' is not a number from -{limit} to {limit} {unit}"
    )]
    Value {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Name of the column.
        column: &'static str,
        /// How the field begins.
        found: String,
        /// Largest absolute value allowed, in `unit`.
        limit: u32,
        /// Unit of the column.
        unit: &'static str,
    },
    /// No rows below the header, or nothing at all.
    #[error("trace file {file}: no samples in it: the header '{HEADER}' and one row for each millisecond are needed")]
    Empty {
        /// Path of the file.
        file: String,
    },
}

impl Trace {
    /// Reads the trace in `file`.
    ///
    /// # Errors
    /// A [`TraceError`] if the file cannot be read, is empty, or says what cannot be.
    pub fn load(file: &Path) -> Result<Trace, TraceError> {
        let name = file.display().to_string();
        match std::fs::read_to_string(file) {
            Ok(text) => Trace::parse(&text, &name),
            Err(e) => Err(TraceError::Unreadable { file: name, reason: e.to_string() }),
        }
    }

    /// Reads the contents of `file`.
    ///
    /// # Errors
    /// As [`Trace::load`], except for the reading of the file.
    pub fn parse(text: &str, file: &str) -> Result<Trace, TraceError> {
        // Spreadsheets put a byte order mark in front.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let empty = || TraceError::Empty { file: file.into() };
        let (line, header) = lines.next().ok_or_else(empty)?;
        if !header.split(',').map(str::trim).eq(COLUMNS.iter().map(|c| c.0)) {
            return Err(TraceError::Header { file: file.into(), line, found: beginning(header) });
        }
        let rows: Vec<TraceRow> = lines.map(|(line, text)| parse_row(file, line, text)).collect::<Result<_, _>>()?;
        Trace::from_rows(rows).ok_or_else(empty)
    }

    /// A trace of these rows; `None` without any.
    pub fn from_rows(rows: Vec<TraceRow>) -> Option<Trace> {
        (!rows.is_empty()).then_some(Trace { rows })
    }

    /// Its rows, one for each millisecond; never empty.
    pub fn rows(&self) -> &[TraceRow] {
        &self.rows
    }

    /// The row of a tick.
    pub fn row(&self, tick: u64, at_end: AtEnd) -> TraceRow {
        let last = self.rows.len() as u64 - 1;
        match at_end {
            AtEnd::Loop => self.rows[(tick % (last + 1)) as usize],
            AtEnd::Hold if tick <= last => self.rows[tick as usize],
            AtEnd::Hold => {
                let TraceRow { motion, force } = self.rows[last as usize];
                TraceRow { motion: Motion { velocity: Velocity::ZERO, ..motion }, force }
            }
        }
    }
}

impl fmt::Display for Trace {
    /// The trace as a file: micrometres, 10 um/s and 0.1 mN are kept.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        let mut row = String::new();
        for TraceRow { motion, force } in &self.rows {
            row.clear();
            for (vector, decimals) in [(motion.position.0, 6), (motion.velocity.0, 5), (force.0, 4)] {
                for component in vector.0 {
                    write!(row, "{component:.decimals$},")?;
                }
            }
            row.pop();
            writeln!(f, "{row}")?;
        }
        Ok(())
    }
}

fn parse_row(file: &str, line: usize, text: &str) -> Result<TraceRow, TraceError> {
    let found = text.split(',').count();
    if found != COLUMNS.len() {
        return Err(TraceError::Columns { file: file.into(), line, found });
    }
    let mut values = [0.0; 9];
    for ((value, field), (column, unit, limit)) in values.iter_mut().zip(text.split(',')).zip(COLUMNS) {
        let number = field.trim().parse::<f32>().ok().filter(|v| v.abs() <= limit);
        *value = number.ok_or_else(|| TraceError::Value {
            file: file.into(),
            line,
            column,
            found: beginning(field.trim()),
            limit: limit as u32,
            unit,
        })?;
    }
    let [x, y, z, vx, vy, vz, fx, fy, fz] = values;
    let motion = Motion { position: Position(Vector([x, y, z])), velocity: Velocity(Vector([vx, vy, vz])) };
    Ok(TraceRow { motion, force: Force(Vector([fx, fy, fz])) })
}

/// So much of a text as fits into a message of one line.
fn beginning(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// What comes after the last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AtEnd {
    /// The first again. A trace that does not end as it begins jumps there.
    #[default]
    Loop,
    /// The last position and force stay; velocity is zero.
    Hold,
}

/// Plays one station's part of a trace; what the peer sends changes nothing.
#[derive(Clone, Debug)]
pub struct TraceServo {
    trace: Arc<Trace>,
    role: Role,
    at_end: AtEnd,
}

impl TraceServo {
    /// The servo of `role`: motion at the operator, force at the teleoperator. The first row is tick 0.
    pub fn new(trace: Arc<Trace>, role: Role, at_end: AtEnd) -> Self {
        TraceServo { trace, role, at_end }
    }
}

impl Servo for TraceServo {
    fn display(&mut self, _at: Instant, _index: u64, _sample: HapticSample) {}

    fn tick(&mut self, tick: u64) -> HapticSample {
        let row = self.trace.row(tick, self.at_end);
        match self.role {
            Role::Op => HapticSample::Motion(row.motion),
            Role::Top => HapticSample::Force(row.force),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROW: &str = "0.01,0,-0.02,0.1,0,0,0,0,1.5";

    fn trace(text: &str) -> Trace {
        Trace::parse(text, "t.csv").unwrap()
    }

    #[test]
    fn both_sides_play_their_part_in_a_loop_or_to_the_end() {
        let text = format!("\u{feff}# made by hand\r\n\r\n{HEADER}\r\n{ROW}\n # note\n 0, 0,0, 0,0,0, 0,0, -1 \n");
        let trace = Arc::new(trace(&text));
        assert_eq!(trace.rows().len(), 2);
        let mut top = TraceServo::new(trace.clone(), Role::Top, AtEnd::Loop);
        let forces: Vec<_> = (0..4).map(|tick| top.tick(tick)).collect();
        let force = |z| HapticSample::Force(Force::new(0.0, 0.0, z));
        assert_eq!(forces, [force(1.5), force(-1.0), force(1.5), force(-1.0)]);
        let one = Arc::new(Trace::from_rows(trace.rows()[..1].to_vec()).unwrap());
        let mut op = TraceServo::new(one, Role::Op, AtEnd::Hold);
        op.display(Instant::ZERO, 0, force(9.0));
        let motion = |v| {
            HapticSample::Motion(Motion {
                position: Position::new(0.01, 0.0, -0.02),
                velocity: Velocity::new(v, 0.0, 0.0),
            })
        };
        assert_eq!([op.tick(0), op.tick(1), op.tick(u64::MAX)], [motion(0.1), motion(0.0), motion(0.0)]);
    }

    #[test]
    fn mistakes_are_one_line_that_names_the_place() {
        let with = |row: &str| format!("{HEADER}\n{ROW}\n{row}\n");
        for (text, wanted) in [
            (String::new(), "trace file t.csv: no samples"),
            ("# only a comment\n\n".into(), "no samples"),
            (format!("{HEADER}\n"), "no samples"),
            (
                format!("# c\n{ROW}\n"),
                "line 2: the first row must be the header 'x,y,z,vx,vy,vz,fx,fy,fz', not '0.01,0",
            ),
            ("time,x,y,z\n".into(), "line 1: the first row must be the header"),
            (with("1,2"), "line 3: 2 columns instead of the 9"),
            (with(&format!("{ROW},0")), "line 3: 10 columns"),
            (with("0,0,NaN,0,0,0,0,0,0"), "t.csv, line 3, column z: 'NaN' is not a number from -1 to 1 m"),
            (with("0,0,0,0,inf,0,0,0,0"), "column vy: 'inf' is not a number from -20 to 20 m/s"),
            (with("0,0,0,0,0,0,1e40,0,0"), "column fx: '1e40' is not a number from -100 to 100 N"),
            (with("0,0,0,0,0,0,0,0,-100.1"), "column fz: '-100.1'"),
            (with("0,1.5,0,0,0,0,0,0,0"), "column y: '1.5'"),
            (with("0,0,0,0,0,0,0,0,"), "column fz: ''"),
            (with("0,0,0,0,0,0,0,0,one"), "column fz: 'one'"),
        ] {
            let error = Trace::parse(&text, "t.csv").unwrap_err().to_string();
            assert!(error.contains(wanted), "{text:?}: {error}");
            assert_eq!(error.lines().count(), 1);
        }
        let binary = std::env::current_exe().unwrap();
        for file in [Path::new("no/such/file.csv"), Path::new("."), &binary] {
            let error = Trace::load(file).unwrap_err().to_string();
            assert!(error.starts_with("trace file ") && error.contains("check the path"), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(values in proptest::collection::vec(proptest::array::uniform9(-1f32..1.0), 1..20)) {
            let rows = values.iter().map(|v| TraceRow {
                motion: Motion { position: Position::new(v[0], v[1], v[2]), velocity: Velocity::new(v[3], v[4], v[5]) },
                force: Force::new(v[6], v[7], v[8]),
            });
            let written = Trace::from_rows(rows.collect()).unwrap();
            let read = trace(&written.to_string());
            for (a, b) in written.rows().iter().zip(read.rows()) {
                prop_assert!((a.motion.position.0 - b.motion.position.0).norm() < 1e-6);
                prop_assert!((a.motion.velocity.0 - b.motion.velocity.0).norm() < 1e-5);
                prop_assert!((a.force.0 - b.force.0).norm() < 1e-4);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9eE.,\\-+\n# aNxyzvf]{0,300}") {
            for text in [text.clone(), format!("{HEADER}\n{text}")] {
                if let Ok(trace) = Trace::parse(&text, "t.csv") {
                    prop_assert!(trace.rows().iter().all(|r| r.force.0.norm() <= 174.0));
                }
            }
        }
    }
}
