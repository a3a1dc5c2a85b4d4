//! A HID haptic device on any bus: drains reports to the newest, writes forces without ever blocking the servo, comes
//! back after a loss. Knows no operating system: the bus is a trait, so that tests play the device.
//!
//! Two threads share it. The servo reads without blocking and leaves each force in a slot of 64 bits, where the newest
//! wins. The thread `hid-io` takes forces from the slot and writes them (a USB write blocks for up to an interval, and
//! for seconds when a device hangs), puts the device off when no force has come for 20 to 40 ms, and tries to open a lost
//! device again four times a second. Ports travel between the two through rings, so that the servo neither opens nor closes.

use core::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use media::{Duration, Force, Instant};

use crate::control::shorten;
use crate::device::{Calibration, DeviceError, DeviceHealth, DeviceInfo, DeviceState, Guide, HapticDevice};
use crate::report::{InRepr, OUT_SIZE, OutCommand, OutRepr, status};
use crate::velocity::VelocityEstimator;

/// The device or its node has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// An open device.
pub(crate) trait Port: Send {
    /// The oldest waiting report, without waiting; 0 if there is none.
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Gone>;
    /// Sends a report; may block.
    fn write(&mut self, report: &[u8]) -> Result<(), Gone>;
}

/// Where devices are opened.
pub(crate) trait Bus: Send + 'static {
    /// What opening gives.
    type Port: Port + 'static;
    /// Opens the device twice: for reading and for writing.
    fn open(&mut self) -> Result<(Self::Port, Self::Port), DeviceError>;
}

/// What happened on the way to and from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct HidCounters {
    /// Reports read.
    pub reports: u64,
    /// Reports that the sequence says are missing.
    pub missing: u64,
    /// Reports of another size or number.
    pub garbage: u64,
    /// Times that the device was lost.
    pub losses: u64,
    /// How long the oldest report of the last reading had waited behind the newest, us on the device's clock.
    pub queue_age_us: u32,
    /// The longest that one ever did.
    pub max_queue_age_us: u32,
    /// Forces given by the servo.
    pub forces: u64,
    /// Forces written to the device; the rest were overtaken by newer ones.
    pub written: u64,
}

/// Reports read in one tick at most: the kernel queues 64.
const DRAIN: usize = 128;
/// Silence of an open device beyond this is an error.
const SILENT: Duration = Duration::from_millis(50);
/// The writer looks this often whether the servo has fallen silent.
const WRITER_PATIENCE: Duration = Duration::from_millis(20);
/// Time between attempts to open a lost device.
const RETRY: Duration = Duration::from_millis(250);

/// State shared with the thread `hid-io`.
#[derive(Default)]
struct Shared {
    /// Three i16 of force in mN, then the u16 sequence: one load, never torn.
    slot: AtomicU64,
    /// The slot holds a force that is not written yet.
    fresh: AtomicBool,
    /// The device is not usable; ports are to be opened again.
    lost: AtomicBool,
    stop: AtomicBool,
    written: AtomicU64,
}

/// The device as the servo sees it.
pub(crate) struct HidDevice<P: Port + 'static> {
    info: DeviceInfo,
    shared: Arc<Shared>,
    reader: Option<P>,
    /// Readers of a device that has come back.
    opened: rtrb::Consumer<P>,
    /// Readers to be closed elsewhere.
    closed: rtrb::Producer<P>,
    worker: Option<JoinHandle<()>>,
    input: Input,
    counters: HidCounters,
    rate: Rate,
    sequence: u16,
}

/// Reports a second.
#[derive(Default)]
struct Rate {
    since: Option<(Instant, u64)>,
    hz: u32,
}

impl Rate {
    /// One reading, with the number of reports so far.
    fn step(&mut self, now: Instant, reports: u64) {
        let (since, before) = *self.since.get_or_insert((now, reports));
        let passed = now.saturating_since(since);
        if passed >= Duration::from_secs(1) {
            self.hz = ((reports - before) as f32 / passed.as_secs_f32()).round() as u32;
            self.since = Some((now, reports));
        }
    }
}

/// What is known from the reports since the device was opened.
struct Input {
    velocity: VelocityEstimator,
    last: Option<(InRepr, DeviceState)>,
}

impl<P: Port + 'static> HidDevice<P> {
    /// Opens the device and starts its thread.
    pub(crate) fn open<B: Bus<Port = P>>(mut bus: B, info: DeviceInfo) -> Result<Self, DeviceError> {
        let (reader, writer) = bus.open()?;
        let (to_servo, opened) = rtrb::RingBuffer::new(4);
        let (closed, to_close) = rtrb::RingBuffer::new(4);
        let shared = Arc::new(Shared::default());
        let worker = Worker { bus, shared: shared.clone(), writer: Some(writer), to_servo, to_close };
        let worker = std::thread::Builder::new().name("hid-io".into()).spawn(move || worker.run()).map_err(|e| {
            DeviceError::Open { device: info.name.clone(), reason: format!("its thread does not start: {e}") }
        })?;
        Ok(HidDevice {
            info,
            shared,
            reader: Some(reader),
            opened,
            closed,
            worker: Some(worker),
            input: Input { velocity: VelocityEstimator::new(VelocityEstimator::TIME_CONSTANT), last: None },
            counters: HidCounters::default(),
            rate: Rate::default(),
            sequence: 0,
        })
    }

    /// What happened so far.
    pub(crate) fn counters(&self) -> HidCounters {
        HidCounters { written: self.shared.written.load(Ordering::Relaxed), ..self.counters }
    }

    /// Takes over a reader of a device that has come back, and gives one of a lost device away.
    fn exchange(&mut self) {
        if let Ok(reader) = self.opened.pop() {
            self.retire();
            self.reader = Some(reader);
        } else if self.reader.is_some() && self.shared.lost.load(Ordering::Acquire) {
            self.retire();
        }
    }

    fn retire(&mut self) {
        self.input.velocity.reset();
        self.input.last = None;
        if let Some(reader) = self.reader.take() {
            self.counters.losses += 1;
            // A full ring cannot be: the thread empties it before each new reader. Then it is closed here.
            drop(self.closed.push(reader));
        }
    }

    /// Reads what waits; the newest report becomes the state.
    fn drain(&mut self, now: Instant) -> Result<(), Gone> {
        let Some(reader) = &mut self.reader else { return Err(Gone) };
        let mut buf = [0; 64];
        let mut oldest = None;
        let mut newest = None;
        for _ in 0..DRAIN {
            let size = reader.read(&mut buf)?;
            if size == 0 {
                break;
            }
            let Some(report) = InRepr::parse(&buf[..size.min(buf.len())]) else {
                self.counters.garbage += 1;
                continue;
            };
            self.counters.reports += 1;
            let before: Option<InRepr> = newest.or(self.input.last.map(|(report, _)| report));
            if let Some(before) = before {
                let step = report.sequence.wrapping_sub(before.sequence);
                // A step backwards is a device that started again.
                if (2..0x8000).contains(&step) {
                    self.counters.missing += u64::from(step) - 1;
                }
            }
            oldest.get_or_insert(report.time_us);
            newest = Some(report);
        }
        if let (Some(report), Some(oldest)) = (newest, oldest) {
            self.counters.queue_age_us = report.time_us.wrapping_sub(oldest);
            self.counters.max_queue_age_us = self.counters.max_queue_age_us.max(self.counters.queue_age_us);
            self.input.take(now, report);
        }
        Ok(())
    }
}

impl Input {
    fn take(&mut self, now: Instant, report: InRepr) {
        let interval = self.last.map_or(0, |(before, _)| report.time_us.wrapping_sub(before.time_us));
        let position = report.position();
        // The device's clock measures the interval: arrival times are those of the reading, not of the position.
        let velocity = self.velocity.update(Duration::from_micros(u64::from(interval)), position);
        let sequence = self.last.map_or(0, |(_, state)| state.sequence).wrapping_add(1);
        let buttons = u32::from(report.status) >> status::BUTTONS_SHIFT;
        self.last = Some((report, DeviceState { position, velocity, buttons, sequence, at: now }));
    }
}

impl<P: Port + 'static> HapticDevice for HidDevice<P> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn read(&mut self, now: Instant) -> Result<DeviceState, DeviceError> {
        self.exchange();
        let drained = self.drain(now);
        self.rate.step(now, self.counters.reports);
        if drained.is_err() {
            if self.reader.is_some() {
                self.shared.lost.store(true, Ordering::Release);
                self.retire();
                self.wake();
            }
            return Err(DeviceError::Lost);
        }
        let Some((report, state)) = self.input.last else { return Err(DeviceError::Silent) };
        if now.saturating_since(state.at) > SILENT {
            return Err(DeviceError::Silent);
        }
        if report.status & status::FAULT != 0 {
            return Err(DeviceError::Fault);
        }
        if report.status & status::READY == 0 {
            return Err(DeviceError::NotCalibrated);
        }
        Ok(state)
    }

    fn write(&mut self, _now: Instant, force: Force) -> Result<(), DeviceError> {
        if self.reader.is_none() || self.shared.lost.load(Ordering::Acquire) {
            return Err(DeviceError::Lost);
        }
        let finite = force.0.is_finite();
        let force = if finite {
            let cut = force.0.0.map(|c| c.clamp(-1e6, 1e6));
            Force(shorten(media::Vector(cut), self.info.max_force).0)
        } else {
            Force::ZERO
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.counters.forces += 1;
        self.shared.slot.store(pack(OutRepr::mn(force), self.sequence), Ordering::Relaxed);
        self.shared.fresh.store(true, Ordering::Release);
        self.wake();
        if finite { Ok(()) } else { Err(DeviceError::BadForce) }
    }

    fn health(&self) -> DeviceHealth {
        let c = self.counters();
        DeviceHealth {
            reports: c.reports,
            missing: c.missing,
            garbage: c.garbage,
            losses: c.losses,
            queue_age_us: c.queue_age_us,
            max_queue_age_us: c.max_queue_age_us,
            rate_hz: self.rate.hz,
            forces: c.forces,
            written: c.written,
        }
    }

    fn calibration(&self) -> Calibration {
        match self.input.last {
            Some((report, _)) if report.status & status::READY == 0 => {
                Calibration::Needed { guide: Guide::Firmware, homed: [false; 3] }
            }
            _ => Calibration::Ready,
        }
    }

    fn describe(&self) -> String {
        let c = self.counters();
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{} reports, {} missing, {} garbage, queue at most {} us, {} of {} forces written, lost {} times",
            c.reports, c.missing, c.garbage, c.max_queue_age_us, c.written, c.forces, c.losses
        );
        text
    }
}

impl<P: Port + 'static> HidDevice<P> {
    fn wake(&self) {
        if let Some(worker) = &self.worker {
            worker.thread().unpark();
        }
    }
}

impl<P: Port + 'static> Drop for HidDevice<P> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.wake();
        if let Some(worker) = self.worker.take() {
            // A panic there has been reported by its own thread.
            drop(worker.join());
        }
    }
}

/// The body of the thread `hid-io`.
struct Worker<B: Bus> {
    bus: B,
    shared: Arc<Shared>,
    writer: Option<B::Port>,
    to_servo: rtrb::Producer<B::Port>,
    to_close: rtrb::Consumer<B::Port>,
}

impl<B: Bus> Worker<B> {
    fn run(mut self) {
        let mut idle = 0;
        let mut sequence = 0;
        while !self.shared.stop.load(Ordering::Acquire) {
            while self.to_close.pop().is_ok() {}
            if self.shared.lost.load(Ordering::Acquire) {
                self.writer = None;
                self.reopen();
                idle = 0;
            } else if self.shared.fresh.swap(false, Ordering::AcqRel) {
                let (force_mn, number) = unpack(self.shared.slot.load(Ordering::Relaxed));
                // The servo may have left a newer force between the flag and the load; it is not sent twice.
                if number != sequence {
                    sequence = number;
                    self.send(OutRepr { force_mn, sequence, command: OutCommand::Show });
                }
                idle = 0;
            } else {
                std::thread::park_timeout(WRITER_PATIENCE);
                // Also woken early: only a whole patience without a force counts, and at the second the motors go off.
                idle = if self.shared.fresh.load(Ordering::Acquire) { 0 } else { idle + 1 };
                if idle == 2 {
                    self.send(OutRepr { force_mn: [0; 3], sequence, command: OutCommand::Off });
                }
            }
        }
        self.send(OutRepr { force_mn: [0; 3], sequence, command: OutCommand::Off });
    }

    fn send(&mut self, report: OutRepr) {
        let Some(writer) = &mut self.writer else { return };
        let mut bytes = [0; OUT_SIZE];
        report.emit(&mut bytes);
        if writer.write(&bytes).is_err() {
            self.shared.lost.store(true, Ordering::Release);
        } else if report.command == OutCommand::Show {
            self.shared.written.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One attempt to open, then a pause if it failed.
    fn reopen(&mut self) {
        if let Ok((reader, writer)) = self.bus.open()
            && self.to_servo.push(reader).is_ok()
        {
            self.writer = Some(writer);
            self.shared.fresh.store(false, Ordering::Release);
            self.shared.lost.store(false, Ordering::Release);
            return;
        }
        std::thread::park_timeout(RETRY);
    }
}

fn pack(force_mn: [i16; 3], sequence: u16) -> u64 {
    let [x, y, z] = force_mn.map(|c| u64::from(c as u16));
    x | y << 16 | z << 32 | u64::from(sequence) << 48
}

fn unpack(slot: u64) -> ([i16; 3], u16) {
    let part = |shift: u32| (slot >> shift) as u16;
    ([part(0) as i16, part(16) as i16, part(32) as i16], part(48))
}

#[cfg(test)]
mod tests;
