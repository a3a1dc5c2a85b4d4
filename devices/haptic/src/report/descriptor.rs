//! Report descriptors: our two, and as much of a reader (HID 1.11, section 6.2.2) as tells how long the reports are.

/// Descriptor of a Cartesian device.
#[rustfmt::skip]
pub const CARTESIAN: &[u8] = &[
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
    0x25, 0x02,                         //   Logical Maximum (2)
    0x75, 0x08,                         //   Report Size (8)
    0x91, 0x02,                         //   Output (Data, Variable, Absolute)
    0xc0,                               // End Collection
];

/// Descriptor of a raw device: the same bytes in a report, other units.
#[rustfmt::skip]
pub const RAW: &[u8] = &[
    0x06, 0x48, 0xff,                   // Usage Page (vendor 0xff48)
    0x09, 0x02,                         // Usage (haptic device, raw)
    0xa1, 0x01,                         // Collection (Application)
    0x85, 0x01,                         //   Report ID (1)
    0x09, 0x14,                         //   Usage (encoder counts)
    0x17, 0x00, 0x00, 0x00, 0x80,       //   Logical Minimum (-2147483648)
    0x27, 0xff, 0xff, 0xff, 0x7f,       //   Logical Maximum (2147483647)
    0x65, 0x00,                         //   Unit (none)
    0x55, 0x00,                         //   Unit Exponent (0)
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
    0x09, 0x24,                         //   Usage (motor current)
    0x16, 0x00, 0x80,                   //   Logical Minimum (-32768)
    0x26, 0xff, 0x7f,                   //   Logical Maximum (32767)
    0x67, 0x01, 0x00, 0x10, 0x00,       //   Unit (A)
    0x55, 0x0d,                         //   Unit Exponent (-3): mA
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
    0x25, 0x02,                         //   Logical Maximum (2)
    0x75, 0x08,                         //   Report Size (8)
    0x91, 0x02,                         //   Output (Data, Variable, Absolute)
    0xc0,                               // End Collection
];

/// Which way a report goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Device to host.
    In,
    /// Host to device.
    Out,
}

/// Bits of each report without its number: direction, number (0: reports have none), bits; in the order in which they
/// appear. What cannot be read ends the list.
pub fn reports(descriptor: &[u8]) -> Vec<(Direction, u32, u32)> {
    let (mut size, mut count, mut id) = (0u32, 0u32, 0u32);
    let mut found: Vec<(Direction, u32, u32)> = Vec::new();
    let mut rest = descriptor;
    while let [prefix, tail @ ..] = rest {
        let length = [0, 1, 2, 4][usize::from(prefix & 3)];
        let Some((data, tail)) = tail.split_at_checked(length) else { break };
        let data = data.iter().rev().fold(0u32, |n, b| n << 8 | u32::from(*b));
        let direction = match prefix & 0xfc {
            0x80 => Some(Direction::In),
            0x90 => Some(Direction::Out),
            _ => None,
        };
        match (direction, prefix & 0xfc) {
            (Some(direction), _) => {
                let bits = size.saturating_mul(count);
                match found.iter_mut().find(|f| (f.0, f.1) == (direction, id)) {
                    Some(f) => f.2 = f.2.saturating_add(bits),
                    None => found.push((direction, id, bits)),
                }
            }
            (None, 0x74) => size = data,
            (None, 0x94) => count = data,
            (None, 0x84) => id = data,
            _ => {}
        }
        rest = tail;
    }
    found
}
