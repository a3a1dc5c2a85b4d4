//! The HID report of a telehaptic device, byte by byte: `assets/devices/telehaptic-hid.md` describes the same, and a test
//! holds the two together. Knows no device and no operating system.
//!
//! All numbers are little-endian. The first byte is the report number, as hidraw and uhid pass it.

use media::{Force, Position, Vector};

/// Vendor-defined usage page of the report ("H").
pub const USAGE_PAGE: u16 = 0xff48;
/// Usage of its application collection.
pub const USAGE: u16 = 0x0001;
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
    /// Position x, y, z: three i32, nm.
    pub const POSITION: Range<usize> = 1..13;
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
    /// Force x, y, z: three i16, mN.
    pub const FORCE: Range<usize> = 1..7;
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
    /// Buttons: the upper eight bits.
    pub const BUTTONS_SHIFT: u32 = 8;
}

/// The HID report descriptor of the device.
#[rustfmt::skip]
pub const DESCRIPTOR: &[u8] = &[
    0x06, 0x48, 0xff,                   // Usage Page (vendor 0xff48)
    0x09, 0x01,                         // Usage (haptic device)
    0xa1, 0x01,                         // Collection (Application)
    0x85, 0x01,                         //   Report ID (1)
    0x09, 0x10,                         //   Usage (position)
    0x17, 0x00, 0x00, 0x00, 0x80,       //   Logical Minimum (-2147483648)
    0x27, 0xff, 0xff, 0xff, 0x7f,       //   Logical Maximum (2147483647)
    0x65, 0x11,                         //   Unit (cm)
    0x55, 0x09,                         //   Unit Exponent (-7): nm
    0x75, 0x20,                         //   Report Size (32)
    0x95, 0x03,                         //   Report Count (3)
    0x81, 0x02,                         //   Input (Data, Variable, Absolute)
    0x09, 0x11,                         //   Usage (device time)
    0x15, 0x00,                         //   Logical Minimum (0)
    0x27, 0xff, 0xff, 0xff, 0xff,       //   Logical Maximum (4294967295)
    0x66, 0x01, 0x10,                   //   Unit (s)
    0x55, 0x0a,                         //   Unit Exponent (-6): us
    0x95, 0x01,                         //   Report Count (1)
    0x81, 0x02,                         //   Input (Data, Variable, Absolute)
    0x09, 0x12,                         //   Usage (sequence)
    0x27, 0xff, 0xff, 0x00, 0x00,       //   Logical Maximum (65535)
    0x65, 0x00,                         //   Unit (none)
    0x55, 0x00,                         //   Unit Exponent (0)
    0x75, 0x10,                         //   Report Size (16)
    0x81, 0x02,                         //   Input (Data, Variable, Absolute)
    0x09, 0x13,                         //   Usage (status bits)
    0x25, 0x01,                         //   Logical Maximum (1)
    0x75, 0x01,                         //   Report Size (1)
    0x95, 0x10,                         //   Report Count (16)
    0x81, 0x02,                         //   Input (Data, Variable, Absolute)
    0x85, 0x02,                         //   Report ID (2)
    0x09, 0x20,                         //   Usage (force)
    0x16, 0x00, 0x80,                   //   Logical Minimum (-32768)
    0x26, 0xff, 0x7f,                   //   Logical Maximum (32767)
    0x66, 0x11, 0xe1,                   //   Unit (g cm / s^2)
    0x55, 0x02,                         //   Unit Exponent (2): mN
    0x75, 0x10,                         //   Report Size (16)
    0x95, 0x03,                         //   Report Count (3)
    0x91, 0x02,                         //   Output (Data, Variable, Absolute)
    0x09, 0x21,                         //   Usage (sequence)
    0x15, 0x00,                         //   Logical Minimum (0)
    0x27, 0xff, 0xff, 0x00, 0x00,       //   Logical Maximum (65535)
    0x65, 0x00,                         //   Unit (none)
    0x55, 0x00,                         //   Unit Exponent (0)
    0x95, 0x01,                         //   Report Count (1)
    0x91, 0x02,                         //   Output (Data, Variable, Absolute)
    0x09, 0x22,                         //   Usage (command)
    0x25, 0x01,                         //   Logical Maximum (1)
    0x75, 0x08,                         //   Report Size (8)
    0x91, 0x02,                         //   Output (Data, Variable, Absolute)
    0xc0,                               // End Collection
];

/// Device to host: where the device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct InRepr {
    /// Position in the base frame, nm (reaches 2.1 m).
    pub position_nm: [i32; 3],
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
        let p = &bytes[in_field::POSITION];
        let axis = |i: usize| i32::from_le_bytes([p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]]);
        let t = &bytes[in_field::TIME];
        Some(InRepr {
            position_nm: [axis(0), axis(1), axis(2)],
            time_us: u32::from_le_bytes([t[0], t[1], t[2], t[3]]),
            sequence: get_u16(&bytes[in_field::SEQUENCE]),
            status: get_u16(&bytes[in_field::STATUS]),
        })
    }

    /// Writes the report.
    pub fn emit(&self, out: &mut [u8; IN_SIZE]) {
        out[in_field::ID] = IN_ID;
        for (bytes, axis) in out[in_field::POSITION].chunks_exact_mut(4).zip(self.position_nm) {
            bytes.copy_from_slice(&axis.to_le_bytes());
        }
        out[in_field::TIME].copy_from_slice(&self.time_us.to_le_bytes());
        out[in_field::SEQUENCE].copy_from_slice(&self.sequence.to_le_bytes());
        out[in_field::STATUS].copy_from_slice(&self.status.to_le_bytes());
    }

    /// Position, m.
    pub fn position(&self) -> Position {
        Position(Vector(self.position_nm.map(|nm| (f64::from(nm) * 1e-9) as f32)))
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
}

/// Host to device: the force to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutRepr {
    /// Force in the base frame, mN (reaches 32 N).
    pub force_mn: [i16; 3],
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
        let f = &bytes[out_field::FORCE];
        let axis = |i: usize| i16::from_le_bytes([f[2 * i], f[2 * i + 1]]);
        Some(OutRepr {
            force_mn: [axis(0), axis(1), axis(2)],
            sequence: get_u16(&bytes[out_field::SEQUENCE]),
            command: match bytes[out_field::COMMAND] {
                0 => OutCommand::Off,
                1 => OutCommand::Show,
                _ => return None,
            },
        })
    }

    /// Writes the report.
    pub fn emit(&self, out: &mut [u8; OUT_SIZE]) {
        out[out_field::ID] = OUT_ID;
        for (bytes, axis) in out[out_field::FORCE].chunks_exact_mut(2).zip(self.force_mn) {
            bytes.copy_from_slice(&axis.to_le_bytes());
        }
        out[out_field::SEQUENCE].copy_from_slice(&self.sequence.to_le_bytes());
        out[out_field::COMMAND] = self.command as u8;
    }

    /// Force, N.
    pub fn force(&self) -> Force {
        Force(Vector(self.force_mn.map(|mn| f32::from(mn) * 1e-3)))
    }

    /// `force` (N) in whole millinewtons, what does not fit cut to what does; not-a-number becomes 0.
    pub fn mn(force: Force) -> [i16; 3] {
        force.0.0.map(|n| (f64::from(n) * 1e3).round() as i16)
    }
}

fn get_u16(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[0], bytes[1]])
}
