//! HID devices played by a test in virtual time: firmware of each kind at the other end of a cable without threads. It
//! moves on a fixed path, whatever force comes.

use media::{Duration, Force, Instant, Position};

use super::HidDevice;
use super::codec::Codec;
use super::link::{Arrival, Link, Slot};
use super::spacemouse::SpaceMouse;
use crate::device::{Calibration, DeviceError, DeviceHealth, DeviceInfo, DeviceState, HapticDevice};
use crate::kinematics::Joints;
use crate::model::{Model, Profile};
use crate::report::{self, InRepr, polhem, status};

/// A report is this old when the servo reads it.
const AGE: Duration = Duration::from_micros(150);
/// The calibration button of a Polhem is pressed for so long, from so many ms on.
const PRESS_MS: core::ops::Range<u64> = 100..200;

/// The device with the firmware at its other end.
pub(crate) struct Played {
    pub device: Box<dyn HapticDevice>,
    pub wire: rtrb::Producer<Arrival>,
    pub slot: Slot,
    pub opening: u32,
    firmware: Firmware,
    /// Of the first reading.
    started: Option<Instant>,
    plugged: bool,
}

/// What the device would do by itself.
pub(crate) struct Firmware {
    pub model: Model,
    pub sequence: u16,
    /// Sends nothing.
    pub silent: bool,
    /// This sensor stays at 7.
    pub stuck: Option<usize>,
    /// Status of our own reports.
    pub status: u16,
}

impl Played {
    /// The built-in model of this name.
    pub(crate) fn new(id: &str) -> Played {
        let model = Model::find(id).expect("a built-in model").clone();
        let (link, wire) = Link::wired();
        let slot = link.slot();
        let device: Box<dyn HapticDevice> = match (Codec::new(&model), model.rate_control) {
            (Some(codec), _) => Box::new(HidDevice::new(model.info(), codec, link)),
            (None, Some(rate)) => Box::new(SpaceMouse::new(model.info(), rate, link)),
            (None, None) => unreachable!("{id} has neither"),
        };
        // A finger on every button: some are dead-man switches.
        let held = status::READY | 0xff << status::BUTTONS_SHIFT;
        let firmware = Firmware { model, sequence: 0, silent: false, stuck: None, status: held };
        Played { device, wire, slot, opening: 1, firmware, started: None, plugged: true }
    }

    pub(crate) fn firmware(&mut self) -> &mut Firmware {
        &mut self.firmware
    }

    /// Out, or in again.
    pub(crate) fn plug(&mut self, there: bool) {
        self.plugged = there;
        self.opening += u32::from(there);
        self.slot.set_opening(if there { self.opening } else { 0 });
    }

    /// A report arrives.
    pub(crate) fn put(&mut self, at: Instant, bytes: &[u8]) {
        self.wire.push(Arrival::new(at, self.opening, bytes)).expect("room for a report");
    }
}

/// Where the hand is, m.
pub(crate) fn path(ms: u64) -> Position {
    let t = ms as f32 * 1e-3;
    Position::new(0.02 * (2.1 * t).sin(), 0.015 * (1.3 * t).sin(), 0.02 * (1.7 * t).sin())
}

impl Firmware {
    /// Joints on the path; during the first second on the way there from the reference pose.
    pub(crate) fn joints(&self, ms: u64) -> Joints {
        let (arm, map) = (self.model.kinematics.as_ref().expect("an arm"), self.model.joints.expect("its joints"));
        let there = arm.inverse(path(ms)).expect("the path is within reach");
        let share = (ms.saturating_sub(300) as f32 / 1_000.0).min(1.0);
        let zero = map.zero.map(|z| z as f32);
        Joints([0, 1, 2].map(|i| zero[i] + (there.0[i] - zero[i]) * share))
    }

    fn counts(&self, ms: u64) -> [i32; 3] {
        self.model.joints.expect("its joints").counts(self.joints(ms))
    }

    /// The report at this time after the start.
    fn report(&mut self, ms: u64) -> Vec<u8> {
        let mut axes = match self.model.profile {
            Profile::TelehapticCartesian => InRepr::nm(path(ms)),
            Profile::TelehapticRaw | Profile::Polhem => self.counts(ms),
            Profile::Spacemouse => return spacemouse(ms),
        };
        if let Some(axis) = self.stuck {
            axes[axis] = 7;
        }
        if self.model.profile == Profile::Polhem {
            // The counters stand anywhere, near the end of their range here.
            let [a, b, c] = [axes[0] + 32_700, axes[1] - 32_700, axes[2]].map(|count| count as i16);
            let button = if PRESS_MS.contains(&ms) { polhem::PRESSED } else { 0 };
            let mut bytes = [0; polhem::SIZE];
            polhem::InRepr { encoders: [a, b, c, 40 + button, 5, 6], info: 0 }.emit(&mut bytes);
            return bytes.to_vec();
        }
        self.sequence = self.sequence.wrapping_add(1);
        let report =
            InRepr { axes, time_us: (ms as u32).wrapping_mul(1_000), sequence: self.sequence, status: self.status };
        let mut bytes = [0; report::IN_SIZE];
        report.emit(&mut bytes);
        bytes.to_vec()
    }
}

/// Nothing while nobody touches the cap, then a push to and fro in turn; every 8 ms.
fn spacemouse(ms: u64) -> Vec<u8> {
    if ms < 800 || !ms.is_multiple_of(8) {
        return Vec::new();
    }
    let push = |rate: f32| ((300.0 * (ms as f32 * 1e-3 * rate).sin()) as i16).to_le_bytes();
    [&[1][..], &push(3.0), &push(4.0), &push(5.0)].concat()
}

impl HapticDevice for Played {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }
    fn read(&mut self, now: Instant) -> Result<DeviceState, DeviceError> {
        let started = *self.started.get_or_insert(now);
        let report = self.firmware.report(now.saturating_since(started).as_millis() as u64);
        if self.plugged && !self.firmware.silent && !report.is_empty() {
            self.put(now - AGE, &report);
        }
        self.device.read(now)
    }
    fn write(&mut self, now: Instant, force: Force) -> Result<(), DeviceError> {
        self.device.write(now, force)
    }
    fn calibration(&self) -> Calibration {
        self.device.calibration()
    }
    fn calibrate(&mut self) {
        self.device.calibrate();
    }
    fn arrival(&self) -> Option<Instant> {
        self.device.arrival()
    }
    fn health(&self) -> DeviceHealth {
        self.device.health()
    }
    fn describe(&self) -> String {
        self.device.describe()
    }
}
