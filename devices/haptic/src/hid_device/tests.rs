//! The test plays the device: reports are put into a queue, forces come out of a channel. Where the thread `hid-io` is
//! involved the tests wait for an event, never for a time.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use crate::report::IN_SIZE;
use media::{Position, Velocity};

/// The device as the test holds it.
#[derive(Default)]
struct Wire {
    reports: Mutex<VecDeque<Vec<u8>>>,
    unplugged: AtomicBool,
    opened: AtomicU64,
}

struct FakePort {
    wire: Arc<Wire>,
    out: Sender<OutRepr>,
}

impl Port for FakePort {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Gone> {
        if self.wire.unplugged.load(Ordering::Acquire) {
            return Err(Gone);
        }
        let Some(report) = self.wire.reports.lock().unwrap().pop_front() else { return Ok(0) };
        let size = report.len().min(buf.len());
        buf[..size].copy_from_slice(&report[..size]);
        Ok(size)
    }

    fn write(&mut self, report: &[u8]) -> Result<(), Gone> {
        if self.wire.unplugged.load(Ordering::Acquire) {
            return Err(Gone);
        }
        self.out.send(OutRepr::parse(report).unwrap()).map_err(|_| Gone)
    }
}

struct FakeBus {
    wire: Arc<Wire>,
    out: Sender<OutRepr>,
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

fn device() -> (HidDevice<FakePort>, Arc<Wire>, Receiver<OutRepr>) {
    let wire = Arc::new(Wire::default());
    let (out, forces) = channel();
    let info = DeviceInfo { max_force: 3.0, workspace_radius: 0.1, ..DeviceInfo::desktop("fake") };
    (HidDevice::open(FakeBus { wire: wire.clone(), out }, info).unwrap(), wire, forces)
}

fn put(wire: &Wire, sequence: u16, x_nm: i32, status: u16) {
    let repr = InRepr { position_nm: [x_nm, 0, 0], time_us: u32::from(sequence) * 1000, sequence, status };
    let mut bytes = [0; IN_SIZE];
    repr.emit(&mut bytes);
    wire.reports.lock().unwrap().push_back(bytes.to_vec());
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(9_000 + ms)
}

/// The next force that is shown; reports that put the motors off are passed over, as they come by real time.
fn shown(forces: &Receiver<OutRepr>) -> OutRepr {
    loop {
        let report = forces.recv_timeout(Duration::from_secs(30)).expect("a report comes");
        if report.command == OutCommand::Show {
            return report;
        }
    }
}

#[test]
fn the_newest_report_wins_and_what_waited_or_is_missing_is_counted() {
    let (mut d, wire, _forces) = device();
    assert_eq!(d.read(at(0)), Err(DeviceError::Silent), "nothing has come yet");
    put(&wire, 10, 0, status::READY);
    assert_eq!(d.read(at(1)).unwrap().velocity, Velocity::ZERO);
    for i in 11..=14u16 {
        put(&wire, i, i32::from(i) * 100_000, status::READY | 0x0300);
    }
    put(&wire, 17, 1_700_000, status::READY | 0x0300);
    let state = d.read(at(6)).unwrap();
    assert!((state.position.0.0[0] - 1.7e-3).abs() < 1e-9);
    assert_eq!((state.sequence, state.at, state.buttons), (2, at(6), 3));
    let c = d.counters();
    assert_eq!((c.reports, c.missing, c.queue_age_us, c.max_queue_age_us), (6, 2, 6_000, 6_000));
    // 1.7 mm in 7 ms by the device's clock, through the filter.
    let expected = 1.7e-3 / 7e-3 * (7.0 / 12.0);
    assert!((state.velocity.0.0[0] - expected).abs() < 1e-4, "{state:?}");
    // Nothing new: the same state with its old stamp.
    assert_eq!(d.read(at(7)).unwrap(), state);
    assert_eq!(d.read(at(57)), Err(DeviceError::Silent));
}

#[test]
fn sequences_wrap_and_a_restart_is_no_loss() {
    let (mut d, wire, _forces) = device();
    for i in [65_534, 65_535, 0, 1, 0, 1, 2] {
        put(&wire, i, 0, status::READY);
    }
    d.read(at(1)).unwrap();
    assert_eq!(d.counters().missing, 0);
}

#[test]
fn garbage_is_counted_and_changes_nothing() {
    let (mut d, wire, _forces) = device();
    put(&wire, 1, 5_000_000, status::READY);
    {
        let mut reports = wire.reports.lock().unwrap();
        reports.push_back(vec![1; 5]);
        reports.push_back(vec![9; IN_SIZE]);
        reports.push_back(vec![255; 64]);
    }
    assert_eq!(d.read(at(1)).unwrap().position, Position::new(5e-3, 0.0, 0.0));
    assert_eq!(d.counters().garbage, 3);
}

#[test]
fn faults_of_the_device_are_errors() {
    let (mut d, wire, _forces) = device();
    put(&wire, 1, 0, 0);
    assert_eq!(d.read(at(1)), Err(DeviceError::NotCalibrated));
    put(&wire, 2, 0, status::READY | status::FAULT);
    assert_eq!(d.read(at(2)), Err(DeviceError::Fault));
    put(&wire, 3, 0, status::READY);
    assert!(d.read(at(3)).is_ok());
}

#[test]
fn forces_are_cut_counted_and_written_and_the_end_puts_the_motors_off() {
    let (mut d, _wire, forces) = device();
    d.write(at(1), Force::new(0.5, -0.25, 0.0)).unwrap();
    let expected = OutRepr { force_mn: [500, -250, 0], sequence: 1, command: OutCommand::Show };
    assert_eq!(shown(&forces), expected);
    d.write(at(2), Force::new(0.0, f32::MAX, 0.0)).unwrap();
    assert_eq!(shown(&forces).force_mn, [0, 3000, 0]);
    assert_eq!(d.write(at(3), Force::new(f32::NAN, 1.0, 1.0)), Err(DeviceError::BadForce));
    assert_eq!(shown(&forces).force_mn, [0; 3]);
    // The count follows the report.
    while d.counters().written < 3 {
        std::thread::yield_now();
    }
    assert_eq!((d.counters().forces, d.counters().written), (3, 3));
    assert!(d.describe().contains("3 of 3 forces written"), "{}", d.describe());
    drop(d);
    assert_eq!(forces.iter().last().unwrap().command, OutCommand::Off);
}

#[test]
fn a_servo_that_falls_silent_gets_the_motors_off() {
    let (mut d, _wire, forces) = device();
    d.write(at(1), Force::new(1.0, 0.0, 0.0)).unwrap();
    assert_eq!(shown(&forces).force_mn, [1000, 0, 0]);
    let off = forces.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!((off.command, off.force_mn), (OutCommand::Off, [0; 3]));
}

#[test]
fn a_lost_device_is_an_error_until_it_is_back() {
    let (mut d, wire, forces) = device();
    put(&wire, 1, 0, status::READY);
    assert!(d.read(at(1)).is_ok());
    wire.unplugged.store(true, Ordering::Release);
    assert_eq!(d.read(at(2)), Err(DeviceError::Lost));
    assert_eq!(d.write(at(2), Force::ZERO), Err(DeviceError::Lost));
    wire.reports.lock().unwrap().clear();
    wire.unplugged.store(false, Ordering::Release);
    put(&wire, 500, 7_000_000, status::READY);
    let mut back = d.read(at(3));
    for _ in 0..3_000 {
        if back.is_ok() {
            break;
        }
        assert!(matches!(back, Err(DeviceError::Lost)), "{back:?}");
        std::thread::sleep(Duration::from_millis(10));
        back = d.read(at(3));
    }
    let state = back.expect("opened again");
    assert_eq!((state.position, state.velocity), (Position::new(7e-3, 0.0, 0.0), Velocity::ZERO));
    assert_eq!((d.counters().losses, d.counters().missing), (1, 0));
    assert_eq!(wire.opened.load(Ordering::Acquire), 2);
    d.write(at(4), Force::new(0.0, 0.0, 0.1)).unwrap();
    assert_eq!(shown(&forces).force_mn, [0, 0, 100]);
}

#[test]
fn the_slot_keeps_force_and_sequence() {
    for (force, sequence) in [([1, -2, 3], 4), ([i16::MIN, i16::MAX, -1], u16::MAX), ([0; 3], 0)] {
        assert_eq!(unpack(pack(force, sequence)), (force, sequence));
    }
}
