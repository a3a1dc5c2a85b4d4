//! A SpaceMouse: a cap that is pushed, not an arm that moves. Its deflection moves the hand by rate within a sphere. It
//! shows no force.

use media::{Duration, Force, Instant, Position, Vector, Velocity};

use super::Tally;
use super::link::Link;
use crate::control::shorten;
use crate::device::{Calibration, DeviceError, DeviceHealth, DeviceInfo, DeviceState, Guide, HapticDevice};
use crate::model::RateControl;

/// Report number of the translation: three i16 (some devices append the rotation).
const TRANSLATION: u8 = 1;
/// Report number of the rotation, which is not used.
const ROTATION: u8 = 2;
/// Report number of the buttons: one bit each.
const BUTTONS: u8 = 3;
/// Without deflection for this long the cap has been let go of.
const REST: Duration = Duration::from_millis(500);
/// The hand moves on for no longer than this in one reading: a servo that stood still is no reason to jump.
const LONGEST: Duration = Duration::from_millis(20);

/// The device as the servo sees it.
pub(crate) struct SpaceMouse {
    info: DeviceInfo,
    rate: RateControl,
    link: Link,
    tally: Tally,
    deflection: [i16; 3],
    /// When the last report of deflection came.
    heard: Option<Instant>,
    /// Since when there is no deflection.
    at_rest: Option<Instant>,
    /// It has been let go of since it was opened.
    released: bool,
    state: DeviceState,
    read: bool,
}

impl SpaceMouse {
    /// The device at the other end of `link`.
    pub(crate) fn new(info: DeviceInfo, rate: RateControl, link: Link) -> Self {
        SpaceMouse {
            info,
            rate,
            link,
            tally: Tally::new(),
            deflection: [0; 3],
            heard: None,
            at_rest: None,
            released: false,
            state: DeviceState::default(),
            read: false,
        }
    }

    fn take(&mut self, at: Instant, report: &[u8]) -> bool {
        match report {
            [TRANSLATION, a, b, c, d, e, f, ..] => {
                self.deflection = [[*a, *b], [*c, *d], [*e, *f]].map(i16::from_le_bytes);
                self.heard = Some(at);
            }
            [ROTATION, rest @ ..] if rest.len() >= 6 => {}
            [BUTTONS, bits @ ..] if !bits.is_empty() => {
                self.state.buttons = bits.iter().take(4).rev().fold(0, |n, b| n << 8 | u32::from(*b));
            }
            _ => return false,
        }
        true
    }

    /// Nothing is known of the cap any more.
    fn forget(&mut self) {
        (self.deflection, self.heard, self.at_rest, self.released) = ([0; 3], None, None, false);
        (self.state.velocity, self.state.buttons) = (Velocity::ZERO, 0);
    }

    fn drain(&mut self, now: Instant) -> Result<(), DeviceError> {
        let begun = self.link.begin();
        if begun != Ok(false) {
            self.forget();
        }
        begun.map_err(|_| DeviceError::Lost)?;
        while let Some(arrival) = self.link.next() {
            if self.take(arrival.at.min(now), arrival.bytes()) {
                self.tally.reports += 1;
            } else {
                self.tally.garbage += 1;
            }
        }
        Ok(())
    }
}

impl HapticDevice for SpaceMouse {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn read(&mut self, now: Instant) -> Result<DeviceState, DeviceError> {
        let drained = self.drain(now);
        self.tally.step(now);
        let passed = if self.read { now.saturating_since(self.state.at).min(LONGEST) } else { Duration::ZERO };
        self.read = true;
        self.state.at = now;
        drained?;
        // A cap at rest is silent: its last word is a deflection of zero, which may be lost.
        let forget = Duration::from_secs_f32(self.rate.forget);
        let fresh = self.heard.is_some_and(|heard| now.saturating_since(heard) <= forget);
        let speed = if fresh { self.rate.speed(self.deflection) } else { [0.0; 3] };
        if speed == [0.0; 3] {
            self.released |= now.saturating_since(*self.at_rest.get_or_insert(now)) >= REST;
        } else {
            self.at_rest = None;
        }
        if !self.released {
            return Err(DeviceError::NotCalibrated);
        }
        let before = self.state.position;
        let step = Vector(speed) * passed.as_secs_f32();
        let (position, _) = shorten(before.0 + step, self.info.workspace_radius);
        let moved = position - before.0;
        let velocity = if passed.is_zero() { Vector::ZERO } else { moved * (1.0 / passed.as_secs_f32()) };
        let sequence = self.state.sequence.wrapping_add(1);
        self.state = DeviceState { position: Position(position), velocity: Velocity(velocity), sequence, ..self.state };
        Ok(self.state)
    }

    /// There is nothing to show it with.
    fn write(&mut self, _now: Instant, force: Force) -> Result<(), DeviceError> {
        if force.0.is_finite() { Ok(()) } else { Err(DeviceError::BadForce) }
    }

    fn calibration(&self) -> Calibration {
        if self.released { Calibration::Ready } else { Calibration::Needed { guide: Guide::LetGo, homed: [false; 3] } }
    }

    fn calibrate(&mut self) {
        self.forget();
        self.state.position = Position::ZERO;
    }

    fn health(&self) -> DeviceHealth {
        self.tally.health(&self.link)
    }

    fn describe(&self) -> String {
        self.tally.describe(&self.link)
    }
}
