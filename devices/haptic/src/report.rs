//! The HID reports of haptic devices, byte by byte. Here our own: `assets/devices/telehaptic-hid.md` describes the same, and
//! tests hold the two together. Knows no device and no operating system.
//!
//! Two variants have the same bytes: a Cartesian device tells its position and takes a force, a raw one tells encoder
//! counts and takes motor currents. All numbers are little-endian. The first byte is the report number, as hidraw and
//! uhid pass it.

pub mod descriptor;
pub mod polhem;

use media::{Force, Position, Vector};

/// Vendor-defined usage page of the report ("H").
pub const USAGE_PAGE: u16 = 0xff48;
/// Usage of the application collection of a Cartesian device.
pub const USAGE: u16 = 0x0001;
/// Usage of that of a raw device.
pub const USAGE_RAW: u16 = 0x0002;
/// Vendor that the test device uses: pid.codes.
pub const TEST_VENDOR: u16 = 0x1209;
/// Product that the test device uses; not assigned to any product.
pub const TEST_PRODUCT: u16 = 0x7e57;

/// Report number of [`InRepr`].
pub const IN_ID: u8 = 1;
/// Report number of [`OutRepr`].
pub const OUT_ID: u8 = 2;
/// Bytes of an IN report, number included.
pub const IN_SIZE: usize = in_field::STATUS.end;
/// Bytes of an OUT report, number included.
pub const OUT_SIZE: usize = out_field::COMMAND + 1;

/// Offsets in the IN report.
pub mod in_field {
    use core::ops::Range;

    /// Report number, 1.
    pub const ID: usize = 0;
    /// Position x, y, z, nm; raw: counts of the three encoders. Three i32.
    pub const AXES: Range<usize> = 1..13;
    /// When the position was taken, on the device's clock: u32, us, wraps.
    pub const TIME: Range<usize> = 13..17;
    /// Counts reports: u16, wraps.
    pub const SEQUENCE: Range<usize> = 17..19;
    /// Status bits: u16.
    pub const STATUS: Range<usize> = 19..21;
}

/// Offsets in the OUT report.
pub mod out_field {
    use core::ops::Range;

    /// Report number, 2.
    pub const ID: usize = 0;
    /// Force x, y, z, mN; raw: currents of the three motors, mA. Three i16.
    pub const UNITS: Range<usize> = 1..7;
    /// Counts forces: u16, wraps.
    pub const SEQUENCE: Range<usize> = 7..9;
    /// Command: u8.
    pub const COMMAND: usize = 9;
}

/// Status bits of the IN report.
pub mod status {
    /// Calibrated: the position is valid.
    pub const READY: u16 = 1 << 0;
    /// Amplifier or sensor fault: the device shows no force.
    pub const FAULT: u16 = 1 << 1;
    /// The device cut the force to its own limits.
    pub const LIMITED: u16 = 1 << 2;
    /// The device's own watchdog put the force off.
    pub const WATCHDOG: u16 = 1 << 3;
    /// A raw device has found the index of each encoder: three bits from this one.
    pub const HOMED_SHIFT: u32 = 4;
    /// Buttons: the upper eight bits.
    pub const BUTTONS_SHIFT: u32 = 8;
}

/// Device to host: where the device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct InRepr {
    /// Position in the base frame, nm (reaches 2.1 m); raw: counts of the encoders since the reference pose.
    pub axes: [i32; 3],
    /// Device clock when the position was taken, us.
    pub time_us: u32,
    /// Counts reports.
    pub sequence: u16,
    /// Bits of [`status`].
    pub status: u16,
}

impl InRepr {
    /// Reads a report; `None` if it is not an IN report of exactly this size.
    pub fn parse(bytes: &[u8]) -> Option<InRepr> {
        if bytes.len() != IN_SIZE || bytes[in_field::ID] != IN_ID {
            return None;
        }
        let p = &bytes[in_field::AXES];
        let axis = |i: usize| i32::from_le_bytes([p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]]);
        let t = &bytes[in_field::TIME];
        Some(InRepr {
            axes: [axis(0), axis(1), axis(2)],
            time_us: u32::from_le_bytes([t[0], t[1], t[2], t[3]]),
            sequence: get_u16(&bytes[in_field::SEQUENCE]),
            status: get_u16(&bytes[in_field::STATUS]),
        })
    }

    /// Writes the report.
    pub fn emit(&self, out: &mut [u8; IN_SIZE]) {
        out[in_field::ID] = IN_ID;
        for (bytes, axis) in out[in_field::AXES].chunks_exact_mut(4).zip(self.axes) {
            bytes.copy_from_slice(&axis.to_le_bytes());
        }
        out[in_field::TIME].copy_from_slice(&self.time_us.to_le_bytes());
        out[in_field::SEQUENCE].copy_from_slice(&self.sequence.to_le_bytes());
        out[in_field::STATUS].copy_from_slice(&self.status.to_le_bytes());
    }

    /// Position of a Cartesian device, m.
    pub fn position(&self) -> Position {
        Position(Vector(self.axes.map(|nm| (f64::from(nm) * 1e-9) as f32)))
    }

    /// `position` (m) in whole nanometres, what does not fit cut to what does; not-a-number becomes 0.
    pub fn nm(position: Position) -> [i32; 3] {
        position.0.0.map(|m| (f64::from(m) * 1e9).round() as i32)
    }
}

/// What the device does with the force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OutCommand {
    /// Amplifiers off; the force means nothing.
    Off = 0,
    /// Show the force.
    Show = 1,
    /// Amplifiers off, and calibrate: take the pose of now as the reference, or start homing.
    Calibrate = 2,
}

/// Host to device: the force to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutRepr {
    /// Force in the base frame, mN (reaches 32 N); raw: currents of the motors, in units of its model.
    pub units: [i16; 3],
    /// Counts forces of the servo: a gap means that newer ones overtook them.
    pub sequence: u16,
    /// What to do.
    pub command: OutCommand,
}

impl OutRepr {
    /// Reads a report; `None` if it is not an OUT report of exactly this size with a known command.
    pub fn parse(bytes: &[u8]) -> Option<OutRepr> {
        if bytes.len() != OUT_SIZE || bytes[out_field::ID] != OUT_ID {
            return None;
        }
        let f = &bytes[out_field::UNITS];
        let axis = |i: usize| i16::from_le_bytes([f[2 * i], f[2 * i + 1]]);
        Some(OutRepr {
            units: [axis(0), axis(1), axis(2)],
            sequence: get_u16(&bytes[out_field::SEQUENCE]),
            command: match bytes[out_field::COMMAND] {
                0 => OutCommand::Off,
                1 => OutCommand::Show,
                2 => OutCommand::Calibrate,
                _ => return None,
            },
        })
    }

    /// Writes the report.
    pub fn emit(&self, out: &mut [u8; OUT_SIZE]) {
        out[out_field::ID] = OUT_ID;
        for (bytes, axis) in out[out_field::UNITS].chunks_exact_mut(2).zip(self.units) {
            bytes.copy_from_slice(&axis.to_le_bytes());
        }
        out[out_field::SEQUENCE].copy_from_slice(&self.sequence.to_le_bytes());
        out[out_field::COMMAND] = self.command as u8;
    }

    /// Force on a Cartesian device, N.
    pub fn force(&self) -> Force {
        Force(Vector(self.units.map(|mn| f32::from(mn) * 1e-3)))
    }

    /// `force` (N) in whole millinewtons, what does not fit cut to what does; not-a-number becomes 0.
    pub fn mn(force: Force) -> [i16; 3] {
        force.0.0.map(|n| (f64::from(n) * 1e3).round() as i16)
    }
}

fn get_u16(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[0], bytes[1]])
}
