//! A HID haptic device that shows force: drains reports to the newest, turns them into the motion of the hand by its
//! [`Codec`], leaves forces for its [`Link`] to write, and refuses whatever cannot be trusted.

pub(crate) mod codec;
pub(crate) mod link;
#[cfg(test)]
pub(crate) mod played;
pub(crate) mod spacemouse;

use core::fmt::Write as _;

use media::{Duration, Force, Instant, Position};

use crate::control::shorten;
use crate::device::{Calibration, DeviceError, DeviceHealth, DeviceInfo, DeviceState, Guide, HapticDevice};
use crate::ticker::Lateness;
use crate::velocity::VelocityEstimator;
use codec::{Codec, Reading};
use link::{Gone, Link};

/// Silence of an open device beyond this is an error.
const SILENT: Duration = Duration::from_millis(50);
/// A sensor that stays as it is while the hand travels so far, m, is stuck: a hand does not move so straight.
const STUCK_TRAVEL: f32 = 0.05;
/// What a report can add to that, m: more is a jump of the reading, such as that of calibration, not of the hand.
const MAX_TRAVEL: f32 = 0.005;

/// The device as the servo sees it.
pub(crate) struct HidDevice {
    info: DeviceInfo,
    link: Link,
    codec: Codec,
    input: Input,
    tally: Tally,
}

/// What is known from the reports since the device was opened.
struct Input {
    velocity: VelocityEstimator,
    last: Option<(Reading, DeviceState)>,
    /// For each sensor, how far the hand has travelled since it last changed, m.
    unchanged: [f32; 3],
}

/// Counts of reports, for people.
pub(crate) struct Tally {
    /// Reports read.
    pub reports: u64,
    /// Reports that their numbers say are missing.
    pub missing: u64,
    /// Reports that cannot be read.
    pub garbage: u64,
    queue_age_us: u32,
    max_queue_age_us: u32,
    /// From arrival to the tick that used it.
    age: Lateness,
    age_p50_us: u32,
    since: Option<(Instant, u64)>,
    rate_hz: u32,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Tally {
            reports: 0,
            missing: 0,
            garbage: 0,
            queue_age_us: 0,
            max_queue_age_us: 0,
            age: Lateness::new(),
            age_p50_us: 0,
            since: None,
            rate_hz: 0,
        }
    }

    /// The newest report of a tick is used at `now`.
    fn used(&mut self, now: Instant, arrival: Instant, queue_age_us: u32) {
        self.age.record(now.saturating_since(arrival), 0);
        self.queue_age_us = queue_age_us;
        self.max_queue_age_us = self.max_queue_age_us.max(queue_age_us);
    }

    /// The end of a tick's reading. Once a second the rates are worked out.
    pub(crate) fn step(&mut self, now: Instant) {
        let (since, before) = *self.since.get_or_insert((now, self.reports));
        let passed = now.saturating_since(since);
        if passed >= Duration::from_secs(1) {
            self.rate_hz = ((self.reports - before) as f32 / passed.as_secs_f32()).round() as u32;
            self.age_p50_us = u32::try_from(self.age.quantile_us(0.5)).unwrap_or(u32::MAX);
            self.since = Some((now, self.reports));
        }
    }

    pub(crate) fn health(&self, link: &Link) -> DeviceHealth {
        let (losses, forces, written) = link.counts();
        DeviceHealth {
            reports: self.reports,
            missing: self.missing,
            garbage: self.garbage,
            losses,
            queue_age_us: self.queue_age_us,
            max_queue_age_us: self.max_queue_age_us,
            age_p50_us: self.age_p50_us,
            rate_hz: self.rate_hz,
            forces,
            written,
        }
    }

    pub(crate) fn describe(&self, link: &Link) -> String {
        let (losses, forces, written) = link.counts();
        let [p50, p99, max] = self.age.summary_us();
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{} reports, {} missing, {} garbage, used p50 {p50:.0} p99 {p99:.0} max {max:.0} us after they came, \
             queue at most {} us, {written} of {forces} forces written, lost {losses} times",
            self.reports, self.missing, self.garbage, self.max_queue_age_us
        );
        text
    }
}

impl HidDevice {
    /// The device at the other end of `link`.
    pub(crate) fn new(info: DeviceInfo, codec: Codec, link: Link) -> Self {
        HidDevice { info, link, codec, input: Input::new(), tally: Tally::new() }
    }

    /// Reads what waits; the newest report becomes the state.
    fn drain(&mut self, now: Instant) -> Result<(), Gone> {
        let begun = self.link.begin();
        if begun != Ok(false) {
            self.input = Input::new();
            self.codec.forget();
        }
        begun?;
        let mut oldest = None;
        let mut newest: Option<(Reading, Instant)> = None;
        let near = self.input.last.map(|(_, state)| state.position);
        while let Some(arrival) = self.link.next() {
            let Some(reading) = self.codec.read(&arrival, near) else {
                self.tally.garbage += 1;
                continue;
            };
            self.tally.reports += 1;
            let before = newest.map(|(reading, _)| reading).or(self.input.last.map(|(reading, _)| reading));
            if let (Some(before), Some(number)) = (before.and_then(|b| b.sequence), reading.sequence) {
                let step = number.wrapping_sub(before);
                // A step backwards is a device that started again.
                if (2..0x8000).contains(&step) {
                    self.tally.missing += u64::from(step) - 1;
                }
            }
            oldest.get_or_insert(reading.clock_us);
            newest = Some((reading, arrival.at.min(now)));
        }
        if let (Some((reading, at)), Some(oldest)) = (newest, oldest) {
            self.tally.used(now, at, reading.clock_us.wrapping_sub(oldest));
            self.input.take(at, reading);
        }
        Ok(())
    }

    fn stuck(&self) -> [bool; 3] {
        self.input.unchanged.map(|travel| travel > STUCK_TRAVEL)
    }
}

impl Input {
    fn new() -> Self {
        Input { velocity: VelocityEstimator::new(VelocityEstimator::TIME_CONSTANT), last: None, unchanged: [0.0; 3] }
    }

    fn take(&mut self, at: Instant, reading: Reading) {
        let interval = self.last.map_or(0, |(before, _)| reading.clock_us.wrapping_sub(before.clock_us));
        let before = self.last.map(|(before, state)| (before.axes, state.position));
        let (position, velocity) = match reading.hand {
            // The device's clock measures the interval: arrival jitters.
            Some(hand) => {
                let velocity = self.velocity.update(Duration::from_micros(u64::from(interval)), hand.position);
                (hand.position, velocity)
            }
            None => {
                self.velocity.reset();
                (before.map_or(Position::ZERO, |(_, position)| position), media::Velocity::ZERO)
            }
        };
        if let Some((axes, last)) = before {
            let travel = (position.0 - last.0).norm().min(MAX_TRAVEL);
            for (axis, unchanged) in self.unchanged.iter_mut().enumerate() {
                *unchanged = if axes[axis] == reading.axes[axis] { *unchanged + travel } else { 0.0 };
            }
        }
        let sequence = self.last.map_or(0, |(_, state)| state.sequence).wrapping_add(1);
        let state = DeviceState { position, velocity, buttons: reading.buttons, sequence, at };
        self.last = Some((reading, state));
    }
}

impl HapticDevice for HidDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn read(&mut self, now: Instant) -> Result<DeviceState, DeviceError> {
        let drained = self.drain(now);
        self.tally.step(now);
        drained.map_err(|Gone| DeviceError::Lost)?;
        let Some((reading, state)) = self.input.last else { return Err(DeviceError::Silent) };
        if now.saturating_since(state.at) > SILENT {
            return Err(DeviceError::Silent);
        }
        if reading.fault {
            return Err(DeviceError::Fault);
        }
        if !reading.ready {
            return Err(DeviceError::NotCalibrated);
        }
        if reading.hand.is_none() {
            return Err(DeviceError::Pose);
        }
        match self.stuck().iter().position(|stuck| *stuck) {
            Some(axis) => Err(DeviceError::Stuck(axis as u8 + 1)),
            None => Ok(state),
        }
    }

    fn write(&mut self, _now: Instant, force: Force) -> Result<(), DeviceError> {
        let finite = force.0.is_finite();
        let hand = self.input.last.and_then(|(reading, _)| reading.hand);
        let units = if finite {
            let cut = force.0.0.map(|c| c.clamp(-1e6, 1e6));
            let (force, _) = shorten(media::Vector(cut), self.info.max_force);
            self.codec.units(hand.as_ref(), Force(force))
        } else {
            [0; 3]
        };
        self.link.show(units)?;
        if finite { Ok(()) } else { Err(DeviceError::BadForce) }
    }

    fn calibration(&self) -> Calibration {
        let stuck = self.stuck();
        match &self.input.last {
            Some((reading, _)) if !reading.ready => {
                Calibration::Needed { guide: self.codec.guide(), homed: reading.homed }
            }
            Some(_) if stuck.contains(&true) => {
                Calibration::Needed { guide: Guide::MoveEachAxis, homed: stuck.map(|stuck| !stuck) }
            }
            _ => Calibration::Ready,
        }
    }

    fn calibrate(&mut self) {
        if self.codec.calibrate() {
            self.link.calibrate();
        }
    }

    fn arrival(&self) -> Option<Instant> {
        let (_, state) = self.input.last?;
        self.codec.has_beat().then_some(state.at)
    }

    fn health(&self) -> DeviceHealth {
        self.tally.health(&self.link)
    }

    fn describe(&self) -> String {
        self.tally.describe(&self.link)
    }
}

#[cfg(test)]
mod tests;
