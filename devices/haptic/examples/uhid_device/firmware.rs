//! What the device is and does: for each model its identity, its hand on a fixed path, its reports, and its faults.
//!
//! An arm stands in its reference pose until it is calibrated, then goes to the path within a second. The telehaptic
//! arms home when the host says so, an encoder after the other; the calibration button of a Polhem is pressed at a time
//! of its own.

use media::{Duration, Position};

use telehaptic_haptic::report::{self, IN_SIZE, InRepr, OutCommand, OutRepr, descriptor, polhem, status};
use telehaptic_haptic::{Joints, Model, Profile};

/// Without an OUT report for this long our own devices put their motors off.
const WATCHDOG: Duration = Duration::from_millis(20);
/// An encoder finds its index so long after the one before.
const HOMING: Duration = Duration::from_millis(300);
/// From the reference pose to the path.
const APPROACH: Duration = Duration::from_secs(1);
/// The calibration button of a Polhem is held in this time.
const PRESS: core::ops::Range<Duration> = Duration::from_secs(3)..Duration::from_millis(3_200);
/// From then on a hand holds the dead-man button, where there is one.
const GRIP: Duration = Duration::from_millis(5_500);
/// Nobody touches the cap of a SpaceMouse before.
const TOUCH: Duration = Duration::from_secs(2);
/// A SpaceMouse reports so rarely, ms.
const SPACEMOUSE_MS: u64 = 8;
/// As a SpaceMouse describes itself: report 1 of three i16.
#[rustfmt::skip]
const SPACEMOUSE: &[u8] = &[
    0x05, 0x01, 0x09, 0x08, 0xa1, 0x01, // Generic Desktop, Multi-axis Controller, Collection
    0x85, 0x01, 0x16, 0xa2, 0xfe, 0x26, 0x5e, 0x01, // Report ID 1, Logical Minimum -350, Maximum 350
    0x09, 0x30, 0x09, 0x31, 0x09, 0x32, // X, Y, Z
    0x75, 0x10, 0x95, 0x03, 0x81, 0x02, // three of 16 bits, Input
    0xc0,
];

/// What goes wrong.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    /// This sensor, from 0, stays as it is after the first three seconds.
    pub stuck: Option<usize>,
    /// A report only every so many ms; 0 and 1: each.
    pub every_ms: u64,
}

/// The device.
pub struct Firmware {
    model: Model,
    faults: Faults,
    sequence: u16,
    calibrated_at: Option<Duration>,
    stuck_at: Option<i32>,
    heard: Option<Duration>,
    /// Lock-step: an OUT report came, and no IN report went since.
    asked: bool,
}

/// What was sent, for the record.
pub struct Sent {
    pub bytes: Vec<u8>,
    pub sequence: u16,
    pub axes: [i32; 3],
    pub flags: u16,
}

/// What was received, for the record.
pub struct Heard {
    pub sequence: u16,
    pub units: [i16; 3],
    pub command: u16,
}

impl Firmware {
    pub fn new(model: Model, faults: Faults) -> Firmware {
        Firmware { model, faults, sequence: 0, calibrated_at: None, stuck_at: None, heard: None, asked: false }
    }

    /// Vendor and product: those of the model, or of the test device. The last of several: the oldest SpaceMouse has a
    /// driver of its own in the kernel, which wants a real cable.
    pub fn ids(&self) -> (u16, u16) {
        self.model.usb.last().map_or((report::TEST_VENDOR, report::TEST_PRODUCT), |id| (id.vendor, id.product))
    }

    pub fn descriptor(&self) -> &'static [u8] {
        match self.model.profile {
            Profile::TelehapticCartesian => descriptor::CARTESIAN,
            Profile::TelehapticRaw => descriptor::RAW,
            Profile::Polhem => polhem::DESCRIPTOR,
            Profile::Spacemouse => SPACEMOUSE,
        }
    }

    /// An OUT report came; `None` if it is none of ours.
    pub fn receive(&mut self, elapsed: Duration, bytes: &[u8]) -> Option<Heard> {
        let heard = match self.model.profile {
            Profile::TelehapticCartesian | Profile::TelehapticRaw => {
                let out = OutRepr::parse(bytes)?;
                if out.command == OutCommand::Calibrate {
                    self.calibrated_at = Some(elapsed);
                }
                Heard { sequence: out.sequence, units: out.units, command: out.command as u16 }
            }
            Profile::Polhem => {
                let out = polhem::OutRepr::parse(bytes)?;
                Heard { sequence: 0, units: out.currents_ma, command: out.command as u16 }
            }
            Profile::Spacemouse => return None,
        };
        self.heard = Some(elapsed);
        self.asked = true;
        Some(heard)
    }

    /// Has a host ever spoken?
    pub fn has_host(&self) -> bool {
        self.heard.is_some()
    }

    /// The number of the next report is left out.
    pub fn skip(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// The report of this millisecond, if there is one.
    pub fn report(&mut self, elapsed: Duration) -> Option<Sent> {
        let ms = elapsed.as_millis() as u64;
        if self.faults.every_ms > 1 && !ms.is_multiple_of(self.faults.every_ms) {
            return None;
        }
        match self.model.profile {
            Profile::TelehapticCartesian => Some(self.ours(elapsed, InRepr::nm(path(elapsed)), status::READY)),
            Profile::TelehapticRaw => {
                let homed = self.calibrated_at.map_or(Duration::ZERO, |at| elapsed.saturating_sub(at));
                let found = (homed.as_nanos() / HOMING.as_nanos()).min(3) as u32;
                let ready = if found == 3 { status::READY } else { 0 };
                let begun = self.calibrated_at.map(|at| at + HOMING * 3);
                let counts = self.counts(elapsed, begun);
                let buttons = if elapsed >= GRIP { self.model.limits.dead_man as u16 } else { 0 };
                let homed = ((1 << found) - 1) << status::HOMED_SHIFT;
                Some(self.ours(elapsed, counts, ready | homed | buttons << status::BUTTONS_SHIFT))
            }
            // Lock-step: an answer to an OUT report.
            Profile::Polhem if !core::mem::take(&mut self.asked) => None,
            Profile::Polhem => Some(self.polhem(elapsed)),
            Profile::Spacemouse if ms.is_multiple_of(SPACEMOUSE_MS) => Some(self.spacemouse(elapsed)),
            Profile::Spacemouse => None,
        }
    }

    fn ours(&mut self, elapsed: Duration, mut axes: [i32; 3], mut flags: u16) -> Sent {
        let silent = self.heard.is_none_or(|at| elapsed.saturating_sub(at) > WATCHDOG);
        if silent {
            flags |= status::WATCHDOG;
        }
        if let Some(axis) = self.faults.stuck.filter(|_| elapsed > Duration::from_secs(3)) {
            axes[axis] = *self.stuck_at.get_or_insert(axes[axis]);
        }
        let repr = InRepr {
            axes,
            time_us: (elapsed.as_micros() & 0xffff_ffff) as u32,
            sequence: self.sequence,
            status: flags,
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = [0; IN_SIZE];
        repr.emit(&mut bytes);
        Sent { bytes: bytes.to_vec(), sequence: repr.sequence, axes, flags }
    }

    fn polhem(&mut self, elapsed: Duration) -> Sent {
        // The counters stand near the ends of their range, which they leave.
        let axes = self.counts(elapsed, Some(PRESS.end));
        let [a, b, c] = [axes[0] + 32_700, axes[1] - 32_700, axes[2]].map(|count| count as i16);
        let pressed = PRESS.contains(&elapsed);
        let d = 40 + if pressed { polhem::PRESSED } else { 0 };
        let mut bytes = [0; polhem::SIZE];
        polhem::InRepr { encoders: [a, b, c, d, 5, 6], info: 0 }.emit(&mut bytes);
        Sent { bytes: bytes.to_vec(), sequence: 0, axes, flags: u16::from(elapsed >= PRESS.start) }
    }

    fn spacemouse(&mut self, elapsed: Duration) -> Sent {
        // A push to the right, then back.
        let push = (core::f64::consts::TAU * elapsed.saturating_sub(TOUCH).as_secs_f64() / 2.0).sin();
        let push = (300.0 * push) as i16;
        let mut bytes = vec![1];
        for axis in [push, 0, 0] {
            bytes.extend(axis.to_le_bytes());
        }
        Sent { bytes, sequence: 0, axes: [i32::from(push), 0, 0], flags: 0 }
    }

    /// Encoder counts since the reference pose, where the arm stands until `begun`.
    fn counts(&self, elapsed: Duration, begun: Option<Duration>) -> [i32; 3] {
        let (Some(arm), Some(map)) = (&self.model.kinematics, self.model.joints) else { return [0; 3] };
        let passed = begun.map_or(Duration::ZERO, |at| elapsed.saturating_sub(at));
        let share = (passed.as_secs_f32() / APPROACH.as_secs_f32()).min(1.0);
        let zero = map.zero.map(|z| z as f32);
        let there = arm.inverse(path(elapsed)).map_or(zero, |joints| joints.0);
        map.counts(Joints([0, 1, 2].map(|i| zero[i] + (there[i] - zero[i]) * share)))
    }
}

/// In and out of contact with a surface 10 to 15 mm behind the origin every 4 s, with a slow stroke to both sides.
fn path(elapsed: Duration) -> Position {
    let t = elapsed.as_secs_f64();
    let turn = core::f64::consts::TAU;
    let z = -0.009 * (1.0 - (turn * t / 4.0).cos());
    Position::new((0.008 * (turn * t / 6.0).sin()) as f32, (0.004 * (turn * t / 5.0).sin()) as f32, z as f32)
}
