//! A recorded hand: positions over time from a CSV file. It shows no force.
//!
//! Rows are `time,x,y,z` in seconds and metres; the first row may be a header, empty lines and lines that start with `#`
//! are skipped. Times rise. Between rows the position is interpolated; after the last one it stays.

use std::path::Path;

use media::{Duration, Force, Instant, Position, Velocity};

use crate::device::{DeviceError, DeviceInfo, DeviceState, HapticDevice};

/// Positions farther from the origin than this are a mistake of units, m.
const REACH: f64 = 1.0;
/// Speed between two rows above this is a mistake of units, m/s.
const FASTEST: f64 = 20.0;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    at: f64,
    position: [f64; 3],
}

/// A device that moves as recorded.
#[derive(Clone, Debug)]
pub struct ReplayDevice {
    info: DeviceInfo,
    rows: Vec<Row>,
    /// Row before the present moment.
    index: usize,
    started: Instant,
    sequence: u32,
}

impl ReplayDevice {
    /// Loads `file` and starts at `now`.
    ///
    /// # Errors
    /// [`DeviceError::Replay`] if the file cannot be read or a row makes no sense; the text names the line.
    pub fn open(file: &Path, now: Instant) -> Result<Self, DeviceError> {
        let name = file.display().to_string();
        let fail = |reason: String| DeviceError::Replay { file: name.clone(), reason };
        let text = std::fs::read_to_string(file).map_err(|e| fail(format!("{e}: check the path")))?;
        let rows = parse(&text).map_err(fail)?;
        Ok(ReplayDevice::from_rows(name, rows, now))
    }

    fn from_rows(name: String, rows: Vec<Row>, now: Instant) -> Self {
        let info = DeviceInfo {
            max_stiffness: 700.0,
            max_damping: 5.0,
            workspace_radius: 0.1,
            shows_force: false,
            ..DeviceInfo::desktop(format!("replay of {name}"))
        };
        ReplayDevice { info, rows, index: 0, started: now, sequence: 0 }
    }
}

impl HapticDevice for ReplayDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn read(&mut self, now: Instant) -> Result<DeviceState, DeviceError> {
        let elapsed = self.rows[0].at + now.saturating_since(self.started).as_secs_f64();
        while self.rows.get(self.index + 1).is_some_and(|next| next.at <= elapsed) {
            self.index += 1;
        }
        let before = self.rows[self.index];
        let (position, velocity) = match self.rows.get(self.index + 1) {
            Some(after) => {
                let slope = |axis: usize| (after.position[axis] - before.position[axis]) / (after.at - before.at);
                let since = (elapsed - before.at).max(0.0);
                let position = [0, 1, 2].map(|axis| (before.position[axis] + slope(axis) * since) as f32);
                (position, [0, 1, 2].map(|axis| slope(axis) as f32))
            }
            None => (before.position.map(|c| c as f32), [0.0; 3]),
        };
        self.sequence = self.sequence.wrapping_add(1);
        Ok(DeviceState {
            position: Position(media::Vector(position)),
            velocity: Velocity(media::Vector(velocity)),
            buttons: 0,
            sequence: self.sequence,
            at: now,
        })
    }

    fn write(&mut self, _now: Instant, force: Force) -> Result<(), DeviceError> {
        if force.0.is_finite() { Ok(()) } else { Err(DeviceError::BadForce) }
    }

    fn describe(&self) -> String {
        let length = Duration::from_secs_f64(self.rows[self.rows.len() - 1].at - self.rows[0].at);
        format!("{} positions over {:.1} s", self.rows.len(), length.as_secs_f64())
    }
}

fn parse(text: &str) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = Vec::new();
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, l)| !l.is_empty() && !l.starts_with('#'));
    for (nth, (index, line)) in lines.enumerate() {
        let number = index + 1;
        let mut values = [0.0; 4];
        let mut fields = line.split(',');
        let mut readable = true;
        for value in &mut values {
            match fields.next().and_then(|f| f.trim().parse::<f64>().ok()) {
                Some(v) => *value = v,
                None => readable = false,
            }
        }
        if !readable || fields.next().is_some() {
            if nth == 0 && line.contains(|c: char| c.is_ascii_alphabetic()) {
                continue;
            }
            return Err(format!("line {number}: four numbers are needed, time,x,y,z in seconds and metres"));
        }
        let [at, x, y, z] = values;
        if !values.iter().all(|v| v.is_finite()) || [x, y, z].iter().any(|c| c.abs() > REACH) || at.abs() > 1e9 {
            return Err(format!("line {number}: positions are metres within 1 m, times seconds"));
        }
        if let Some(last) = rows.last() {
            if at <= last.at {
                return Err(format!("line {number}: times must rise"));
            }
            let [dx, dy, dz] = [x - last.position[0], y - last.position[1], z - last.position[2]];
            if (dx * dx + dy * dy + dz * dz).sqrt() / (at - last.at) > FASTEST {
                return Err(format!("line {number}: faster than 20 m/s: are the units seconds and metres?"));
            }
        }
        rows.push(Row { at, position: [x, y, z] });
    }
    if rows.is_empty() { Err("no positions in it: rows of time,x,y,z are needed".into()) } else { Ok(rows) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(5000 + ms)
    }

    fn device(text: &str) -> ReplayDevice {
        ReplayDevice::from_rows("test".into(), parse(text).unwrap(), at(0))
    }

    #[test]
    fn positions_are_interpolated_and_the_last_one_stays() {
        let mut d = device("time,x,y,z\n# comment\n10.0, 0, 0, 0\n10.1,0.01,0,-0.02\n10.2,0.01,0.01,-0.02\n");
        let s = d.read(at(50)).unwrap();
        assert!((s.position.0.0[0] - 0.005).abs() < 1e-6 && (s.position.0.0[2] + 0.01).abs() < 1e-6, "{s:?}");
        assert!((s.velocity.0.0[0] - 0.1).abs() < 1e-5);
        let s = d.read(at(5000)).unwrap();
        assert_eq!((s.position, s.velocity), (Position::new(0.01, 0.01, -0.02), Velocity::ZERO));
        assert!(d.write(at(1), Force::new(f32::NAN, 0.0, 0.0)).is_err());
        assert_eq!(d.describe(), "3 positions over 0.2 s");
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, expected) in [
            ("", "no positions"),
            ("time,x,y,z\n", "no positions"),
            ("0,0,0,0\n1,2\n", "line 2: four numbers"),
            ("0,0,0,0\nx,y,z,t\n", "line 2: four numbers"),
            ("0,0,0,0,0\n", "line 1: four numbers"),
            ("0,0,0,0\n0,0,0,0\n", "line 2: times must rise"),
            ("0,0,0,NaN\n", "line 1: positions"),
            ("0,0,0,55\n", "line 1: positions"),
            ("0,0,0,0\n0.001,0.9,0,0\n", "line 2: faster"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{text:?} gave {error:?}");
        }
        let missing = ReplayDevice::open(Path::new("no/such/file.csv"), at(0)).unwrap_err();
        assert!(missing.to_string().starts_with("replay file no/such/file.csv: No such file"), "{missing}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_leave_the_room(text in "[0-9eE.,\\-+\n# aN]{0,200}", ms in any::<u32>()) {
            if let Ok(rows) = parse(&text) {
                let s = ReplayDevice::from_rows("t".into(), rows, at(0)).read(at(u64::from(ms))).unwrap();
                prop_assert!(s.position.0.norm() <= 1.8 && s.velocity.0.norm() <= 20.1);
            }
        }
    }
}
