//! The reports of Polhem and WoodenHaptics with the LPC1768 board: seven i16 each way, little-endian, without a report
//! number (a host writes a zero before them).
//!
//! Source: the board's public firmware (main.cpp) and host thread (fsusbhapticdevicethread.cpp). The device sends one IN
//! report, then waits for one OUT report: lock-step. After 0.5 s without one it puts its drives off. A press of the
//! calibration button adds 10000 to the fourth encoder; later boards set the last field instead.

/// Bytes of either report.
pub const SIZE: usize = 14;
/// What a press of the calibration button adds to the fourth encoder.
pub const PRESSED: i16 = 10_000;

/// Descriptor of a device with such reports, for tests; boards in use have their own, of which only the sizes matter.
#[rustfmt::skip]
pub const DESCRIPTOR: &[u8] = &[
    0x06, 0x00, 0xff, // Usage Page (vendor 0xff00)
    0x09, 0x01,       // Usage (vendor)
    0xa1, 0x01,       // Collection (Application)
    0x15, 0x00,       //   Logical Minimum (0)
    0x26, 0xff, 0x00, //   Logical Maximum (255)
    0x75, 0x08,       //   Report Size (8)
    0x95, 0x0e,       //   Report Count (14)
    0x09, 0x01,       //   Usage (vendor)
    0x81, 0x02,       //   Input (Data, Variable, Absolute)
    0x95, 0x0e,       //   Report Count (14)
    0x09, 0x01,       //   Usage (vendor)
    0x91, 0x02,       //   Output (Data, Variable, Absolute)
    0xc0,             // End Collection
];

/// Device to host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct InRepr {
    /// Counts of the six encoders a to f; the first three are those of the arm. They wrap.
    pub encoders: [i16; 6],
    /// 1: the calibration button is pressed.
    pub info: i16,
}

impl InRepr {
    /// Reads a report; `None` if it has another size.
    pub fn parse(bytes: &[u8]) -> Option<InRepr> {
        let bytes: &[u8; SIZE] = bytes.try_into().ok()?;
        let field = |i: usize| i16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
        Some(InRepr { encoders: [0, 1, 2, 3, 4, 5].map(field), info: field(6) })
    }

    /// The encoders of the arm, a to c.
    pub fn encoders_of_arm(&self) -> [i16; 3] {
        [self.encoders[0], self.encoders[1], self.encoders[2]]
    }

    /// Writes the report.
    pub fn emit(&self, out: &mut [u8; SIZE]) {
        let [a, b, c, d, e, f] = self.encoders;
        write([a, b, c, d, e, f, self.info], out);
    }
}

/// Host to device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OutRepr {
    /// Currents of the motors a to c, mA.
    pub currents_ma: [i16; 3],
    /// 0; 1 sets the counters instead of the currents, which this host never does: it keeps the reference itself.
    pub command: i16,
    /// Arguments of the command.
    pub attributes: [i16; 3],
}

impl OutRepr {
    /// Reads a report, the zero before it or not; `None` if it has another size.
    pub fn parse(bytes: &[u8]) -> Option<OutRepr> {
        let bytes = if bytes.len() == SIZE + 1 && bytes[0] == 0 { &bytes[1..] } else { bytes };
        let bytes: &[u8; SIZE] = bytes.try_into().ok()?;
        let field = |i: usize| i16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
        Some(OutRepr { currents_ma: [0, 1, 2].map(field), command: field(3), attributes: [4, 5, 6].map(field) })
    }

    /// Writes the report as a host does: a zero, then its bytes.
    pub fn emit(&self, out: &mut [u8; SIZE + 1]) {
        let ([a, b, c], [i, j, k]) = (self.currents_ma, self.attributes);
        out[0] = 0;
        if let Some(body) = out.last_chunk_mut() {
            write([a, b, c, self.command, i, j, k], body);
        }
    }
}

fn write(fields: [i16; 7], out: &mut [u8; SIZE]) {
    for (bytes, field) in out.chunks_exact_mut(2).zip(fields) {
        bytes.copy_from_slice(&field.to_le_bytes());
    }
}
