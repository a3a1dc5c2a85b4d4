//! The cable of a HID device: reports come in with the time of their arrival, forces go out, and a device that was lost is
//! opened again. Knows no operating system: the bus is a trait, so that tests play the device.
//!
//! Two threads stand between the servo and the cable. `hid-in` waits for reports, stamps each as it arrives and puts it
//! into a ring. `hid-out` takes forces from a slot of 64 bits, where the newest wins, and writes them (a USB write
//! blocks for up to an interval, and for seconds when a device hangs), puts the device off when no force has come for 20
//! to 40 ms, and tries to open a lost device again four times a second. The servo neither opens, closes nor waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use media::{Duration, Instant};

use crate::device::DeviceError;
use crate::report::OutCommand;
use crate::spec::DeviceClock;
use crate::ticker;

/// The device or its node has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// An open device.
pub(crate) trait Port: Send + 'static {
    /// The oldest waiting report, waited for at most so long; 0 if none came.
    fn read(&mut self, buf: &mut [u8], wait: Duration) -> Result<usize, Gone>;
    /// Sends a report; may block.
    fn write(&mut self, report: &[u8]) -> Result<(), Gone>;
}

/// Where devices are opened.
pub(crate) trait Bus: Send + 'static {
    /// What opening gives.
    type Port: Port;
    /// Opens the device twice: for reading and for writing.
    fn open(&mut self) -> Result<(Self::Port, Self::Port), DeviceError>;
}

/// Room for the longest report.
pub(crate) const REPORT: usize = 64;

/// Writes what goes to the motors as a report of the device and gives its size.
pub(crate) type Emit = fn(units: [i16; 3], sequence: u16, command: OutCommand, out: &mut [u8; REPORT]) -> usize;

/// A report as it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// When.
    pub at: Instant,
    /// Number of the opening that it came from.
    opening: u32,
    size: u8,
    bytes: [u8; REPORT],
}

impl Arrival {
    pub(crate) fn new(at: Instant, opening: u32, report: &[u8]) -> Self {
        let size = report.len().min(REPORT);
        let mut bytes = [0; REPORT];
        bytes[..size].copy_from_slice(&report[..size]);
        Arrival { at, opening, size: size as u8, bytes }
    }

    /// The report, its number first where it has one.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.size)]
    }
}

/// Reports that wait for the servo at most: a quarter of a second of them.
const RING: usize = 256;
/// The threads look this often whether the device has been given up, or the servo has fallen silent.
const PATIENCE: Duration = Duration::from_millis(20);
/// Time between attempts to open a lost device.
const RETRY: Duration = Duration::from_millis(250);

/// State shared by the servo and both threads.
#[derive(Default)]
pub(crate) struct Shared {
    /// Three i16 for the motors, then the u16 sequence: one load, never torn.
    slot: AtomicU64,
    /// The slot holds a force that is not written yet.
    fresh: AtomicBool,
    /// Calibration is wished for.
    calibrate: AtomicBool,
    /// Which opening is in use, from 1; 0: the device is lost and has to be opened again.
    opening: AtomicU32,
    stop: AtomicBool,
    written: AtomicU64,
}

impl Shared {
    /// Gives an opening up, unless another one has taken its place.
    fn lose(&self, opening: u32) {
        // Failure means that somebody else has noticed.
        let _ = self.opening.compare_exchange(opening, 0, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// The servo's end of the cable.
pub(crate) struct Link {
    shared: Arc<Shared>,
    arrivals: rtrb::Consumer<Arrival>,
    /// As the servo last saw it.
    opening: u32,
    threads: Vec<JoinHandle<()>>,
    sequence: u16,
    losses: u64,
    forces: u64,
}

impl Link {
    /// Opens the device and starts its threads. Without `emit` nothing is ever written.
    pub(crate) fn open<B: Bus>(
        mut bus: B,
        clock: DeviceClock,
        emit: Option<Emit>,
        name: &str,
    ) -> Result<Self, DeviceError> {
        let (reader, writer) = bus.open()?;
        let (mut link, to_servo) = Link::wired();
        let (to_reader, ports) = mpsc::channel();
        // The other end is a few lines below.
        let _ = to_reader.send((reader, 1));
        let input = In { shared: link.shared.clone(), ports, to_servo, clock };
        let output = Out { bus, shared: link.shared.clone(), writer: Some(writer), to_reader, emit, openings: 1 };
        let failed = |e: std::io::Error| DeviceError::Open {
            device: name.to_owned(),
            reason: format!("its thread does not start: {e}"),
        };
        let start = |name: &str| std::thread::Builder::new().name(name.into());
        let out = start("hid-out").spawn(move || output.run()).map_err(failed)?;
        let waker = out.thread().clone();
        link.threads.push(out);
        link.threads.push(start("hid-in").spawn(move || input.run(&waker)).map_err(failed)?);
        Ok(link)
    }

    /// A cable without threads: the other end is the caller's.
    pub(crate) fn wired() -> (Link, rtrb::Producer<Arrival>) {
        let (to_servo, arrivals) = rtrb::RingBuffer::new(RING);
        let shared = Arc::new(Shared::default());
        shared.opening.store(1, Ordering::Release);
        (Link { shared, arrivals, opening: 1, threads: Vec::new(), sequence: 0, losses: 0, forces: 0 }, to_servo)
    }

    /// Before the reports of a tick are taken. `true`: it is another opening than before, and what was known is void.
    pub(crate) fn begin(&mut self) -> Result<bool, Gone> {
        let opening = self.shared.opening.load(Ordering::Acquire);
        let changed = opening != self.opening;
        self.losses += u64::from(changed && self.opening != 0);
        self.opening = opening;
        if opening == 0 { Err(Gone) } else { Ok(changed) }
    }

    /// The oldest report that waits.
    pub(crate) fn next(&mut self) -> Option<Arrival> {
        loop {
            let arrival = self.arrivals.pop().ok()?;
            // What a former opening left is of another life of the device.
            if arrival.opening == self.opening {
                return Some(arrival);
            }
        }
    }

    /// Leaves what goes to the motors to be written.
    pub(crate) fn show(&mut self, units: [i16; 3]) -> Result<(), DeviceError> {
        if self.opening == 0 || self.shared.opening.load(Ordering::Acquire) == 0 {
            return Err(DeviceError::Lost);
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.forces += 1;
        self.shared.slot.store(pack(units, self.sequence), Ordering::Relaxed);
        self.shared.fresh.store(true, Ordering::Release);
        self.wake();
        Ok(())
    }

    /// Leaves the wish to calibrate to be written.
    pub(crate) fn calibrate(&self) {
        self.shared.calibrate.store(true, Ordering::Release);
        self.wake();
    }

    /// Times that the device was lost, forces given, forces written.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        (self.losses, self.forces, self.shared.written.load(Ordering::Relaxed))
    }

    /// What was last left to be written, for tests that play the device.
    #[cfg(test)]
    pub(crate) fn slot(&self) -> Slot {
        Slot(self.shared.clone())
    }

    fn wake(&self) {
        if let Some(out) = self.threads.first() {
            out.thread().unpark();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.wake();
        for thread in self.threads.drain(..) {
            // A panic there has been reported by its own thread.
            drop(thread.join());
        }
    }
}

/// A view of the other end of [`Link::wired`].
#[cfg(test)]
pub(crate) struct Slot(Arc<Shared>);

#[cfg(test)]
impl Slot {
    /// What the motors would show now.
    pub(crate) fn units(&self) -> [i16; 3] {
        unpack(self.0.slot.load(Ordering::Acquire)).0
    }

    /// Was calibration asked for? Asks once.
    pub(crate) fn calibrate(&self) -> bool {
        self.0.calibrate.swap(false, Ordering::AcqRel)
    }

    /// Pulls the plug, or puts it in as this opening.
    pub(crate) fn set_opening(&self, opening: u32) {
        self.0.opening.store(opening, Ordering::Release);
    }
}

/// The body of the thread `hid-in`.
struct In<P> {
    shared: Arc<Shared>,
    ports: mpsc::Receiver<(P, u32)>,
    to_servo: rtrb::Producer<Arrival>,
    clock: DeviceClock,
}

impl<P: Port> In<P> {
    fn run(mut self, out: &std::thread::Thread) {
        // Above the servo, which may be spinning towards its beat: a stamp that waits for it is no arrival time.
        ticker::raise_priority(ticker::PRIORITY + 1);
        while let Ok((mut port, opening)) = self.ports.recv() {
            let mut buf = [0; REPORT];
            while self.shared.opening.load(Ordering::Acquire) == opening && !self.shared.stop.load(Ordering::Acquire) {
                match port.read(&mut buf, PATIENCE) {
                    Ok(0) => {}
                    Ok(size) => {
                        let arrival = Arrival::new((self.clock)(), opening, &buf[..size.min(REPORT)]);
                        // A servo that does not take them for so long finds the gap by their numbers.
                        let _ = self.to_servo.push(arrival);
                    }
                    Err(Gone) => {
                        self.shared.lose(opening);
                        out.unpark();
                    }
                }
            }
        }
    }
}

/// The body of the thread `hid-out`.
struct Out<B: Bus> {
    bus: B,
    shared: Arc<Shared>,
    writer: Option<B::Port>,
    to_reader: mpsc::Sender<(B::Port, u32)>,
    emit: Option<Emit>,
    openings: u32,
}

impl<B: Bus> Out<B> {
    fn run(mut self) {
        let mut idle = 0;
        let mut sequence = 0;
        while !self.shared.stop.load(Ordering::Acquire) {
            if self.shared.opening.load(Ordering::Acquire) == 0 {
                self.writer = None;
                self.reopen();
                idle = 0;
            } else if self.shared.calibrate.swap(false, Ordering::AcqRel) {
                self.send([0; 3], sequence, OutCommand::Calibrate);
            } else if self.shared.fresh.swap(false, Ordering::AcqRel) {
                let (units, number) = unpack(self.shared.slot.load(Ordering::Relaxed));
                // The servo may have left a newer force between the flag and the load; it is not sent twice.
                if number != sequence {
                    sequence = number;
                    self.send(units, sequence, OutCommand::Show);
                }
                idle = 0;
            } else {
                std::thread::park_timeout(PATIENCE);
                // Also woken early: only a whole patience without a force counts, and at the second the motors go off.
                idle = if self.shared.fresh.load(Ordering::Acquire) { 0 } else { idle + 1 };
                if idle == 2 {
                    self.send([0; 3], sequence, OutCommand::Off);
                }
            }
        }
        self.send([0; 3], sequence, OutCommand::Off);
    }

    fn send(&mut self, units: [i16; 3], sequence: u16, command: OutCommand) {
        let (Some(writer), Some(emit)) = (&mut self.writer, self.emit) else { return };
        let mut bytes = [0; REPORT];
        let size = emit(units, sequence, command, &mut bytes);
        if writer.write(&bytes[..size]).is_err() {
            self.shared.lose(self.openings);
        } else if command == OutCommand::Show {
            self.shared.written.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One attempt to open, then a pause if it failed.
    fn reopen(&mut self) {
        if let Ok((reader, writer)) = self.bus.open() {
            self.openings += 1;
            self.writer = Some(writer);
            self.shared.fresh.store(false, Ordering::Release);
            // Before the reader has it: it gives up what is not the opening in use.
            self.shared.opening.store(self.openings, Ordering::Release);
            // It ends only with us.
            let _ = self.to_reader.send((reader, self.openings));
            return;
        }
        std::thread::park_timeout(RETRY);
    }
}

fn pack(units: [i16; 3], sequence: u16) -> u64 {
    let [x, y, z] = units.map(|c| u64::from(c as u16));
    x | y << 16 | z << 32 | u64::from(sequence) << 48
}

fn unpack(slot: u64) -> ([i16; 3], u16) {
    let part = |shift: u32| (slot >> shift) as u16;
    ([part(0) as i16, part(16) as i16, part(32) as i16], part(48))
}

#[cfg(test)]
mod tests;
