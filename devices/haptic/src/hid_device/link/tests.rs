//! The threads of the cable. The tests wait for an event, never for a time.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// The device as the test holds it.
#[derive(Default)]
struct Wire {
    reports: Mutex<VecDeque<Vec<u8>>>,
    unplugged: AtomicBool,
    opened: AtomicU64,
}

type Written = (OutCommand, [i16; 3]);

struct FakePort {
    wire: Arc<Wire>,
    out: Sender<Written>,
}

impl Port for FakePort {
    fn read(&mut self, buf: &mut [u8], _wait: Duration) -> Result<usize, Gone> {
        if self.wire.unplugged.load(Ordering::Acquire) {
            return Err(Gone);
        }
        let Some(report) = self.wire.reports.lock().unwrap().pop_front() else {
            std::thread::yield_now();
            return Ok(0);
        };
        buf[..report.len()].copy_from_slice(&report);
        Ok(report.len())
    }

    fn write(&mut self, report: &[u8]) -> Result<(), Gone> {
        if self.wire.unplugged.load(Ordering::Acquire) {
            return Err(Gone);
        }
        let command = [OutCommand::Off, OutCommand::Show, OutCommand::Calibrate][usize::from(report[0])];
        let unit = |i: usize| i16::from_le_bytes([report[1 + 2 * i], report[2 + 2 * i]]);
        self.out.send((command, [unit(0), unit(1), unit(2)])).map_err(|_| Gone)
    }
}

struct FakeBus {
    wire: Arc<Wire>,
    out: Sender<Written>,
}

impl Bus for FakeBus {
    type Port = FakePort;

    fn open(&mut self) -> Result<(FakePort, FakePort), DeviceError> {
        if self.wire.unplugged.load(Ordering::Acquire) {
            return Err(DeviceError::NotFound("fake".into()));
        }
        self.wire.opened.fetch_add(1, Ordering::AcqRel);
        let port = || FakePort { wire: self.wire.clone(), out: self.out.clone() };
        Ok((port(), port()))
    }
}

fn emit(units: [i16; 3], _sequence: u16, command: OutCommand, out: &mut [u8; REPORT]) -> usize {
    out[0] = command as u8;
    for (bytes, unit) in out[1..].chunks_exact_mut(2).zip(units) {
        bytes.copy_from_slice(&unit.to_le_bytes());
    }
    7
}

fn link() -> (Link, Arc<Wire>, Receiver<Written>) {
    let wire = Arc::new(Wire::default());
    let (out, written) = channel();
    let bus = FakeBus { wire: wire.clone(), out };
    let clock: DeviceClock = Arc::new(|| Instant::from_millis(77));
    (Link::open(bus, clock, Some(emit), "fake").unwrap(), wire, written)
}

/// Tries until something comes of it.
fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..3_000 {
        if let Some(result) = attempt() {
            return result;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing came for half a minute");
}

/// The next of this command; those that put the motors off are passed over, as they come by real time.
fn next(written: &Receiver<Written>, wanted: OutCommand) -> [i16; 3] {
    loop {
        let (command, units) = written.recv_timeout(Duration::from_secs(30)).expect("a report comes");
        if command == wanted {
            return units;
        }
    }
}

#[test]
fn reports_are_stamped_as_they_arrive() {
    let (mut link, wire, _written) = link();
    wire.reports.lock().unwrap().extend([vec![1, 2, 3], vec![4]]);
    assert_eq!(link.begin(), Ok(false));
    let first = until(|| link.next());
    assert_eq!((first.at, first.bytes()), (Instant::from_millis(77), &[1, 2, 3][..]));
    assert_eq!(until(|| link.next()).bytes(), [4]);
}

#[test]
fn forces_and_wishes_are_written_and_the_end_puts_the_motors_off() {
    let (mut link, _wire, written) = link();
    link.show([500, -250, 0]).unwrap();
    assert_eq!(next(&written, OutCommand::Show), [500, -250, 0]);
    link.calibrate();
    assert_eq!(next(&written, OutCommand::Calibrate), [0; 3]);
    link.show([1, 2, 3]).unwrap();
    assert_eq!(next(&written, OutCommand::Show), [1, 2, 3]);
    // The count follows the report.
    until(|| (link.counts() == (0, 2, 2)).then_some(()));
    drop(link);
    assert_eq!(written.iter().last().unwrap(), (OutCommand::Off, [0; 3]));
}

#[test]
fn a_servo_that_falls_silent_gets_the_motors_off() {
    let (mut link, _wire, written) = link();
    link.show([1_000, 0, 0]).unwrap();
    assert_eq!(next(&written, OutCommand::Show), [1_000, 0, 0]);
    let off = written.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(off, (OutCommand::Off, [0; 3]));
}

#[test]
fn a_lost_device_is_opened_again() {
    let (mut link, wire, written) = link();
    wire.unplugged.store(true, Ordering::Release);
    until(|| link.begin().is_err().then_some(()));
    assert_eq!(link.show([1, 1, 1]), Err(DeviceError::Lost));
    wire.unplugged.store(false, Ordering::Release);
    assert!(until(|| link.begin().ok()), "another opening");
    assert_eq!((link.begin(), link.counts().0), (Ok(false), 1));
    wire.reports.lock().unwrap().push_back(vec![9]);
    assert_eq!(until(|| link.next()).bytes(), [9]);
    assert_eq!(wire.opened.load(Ordering::Acquire), 2);
    link.show([0, 0, 100]).unwrap();
    assert_eq!(next(&written, OutCommand::Show), [0, 0, 100]);
}

#[test]
fn the_slot_keeps_force_and_sequence() {
    for (force, sequence) in [([1, -2, 3], 4), ([i16::MIN, i16::MAX, -1], u16::MAX), ([0; 3], 0)] {
        assert_eq!(unpack(pack(force, sequence)), (force, sequence));
    }
}
