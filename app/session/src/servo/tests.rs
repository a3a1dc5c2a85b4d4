//! The servo in virtual time: faults of the peer, the device and the machine.

use super::*;
use haptic::{DeviceInfo, DeviceState, SimConfig, SimDevice, Ticker};
use media::{Motion, Position};
use rtrb::{Consumer, RingBuffer};
use scene::SceneConfig;
use std::sync::atomic::AtomicBool;
use triple_buffer::triple_buffer;

/// A simulated device whose cable a test can pull.
struct Cable {
    device: SimDevice,
    pulled: Arc<AtomicBool>,
}

impl HapticDevice for Cable {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }
    fn read(&mut self, now: Instant) -> Result<DeviceState, DeviceError> {
        let state = self.device.read(now);
        if self.pulled.load(Ordering::Relaxed) { Err(DeviceError::Lost) } else { state }
    }
    fn write(&mut self, now: Instant, force: Force) -> Result<(), DeviceError> {
        if self.pulled.load(Ordering::Relaxed) { Err(DeviceError::Lost) } else { self.device.write(now, force) }
    }
}

struct Bench {
    servo: Servo,
    shared: Arc<Shared>,
    newest: Input<Option<Received<HapticSample>>>,
    samples: Consumer<ServoSample>,
    slot: Output<ServoSlot>,
    notes: Consumer<Note>,
    pulled: Arc<AtomicBool>,
    lateness: Lateness,
    now: Instant,
    suspended: Duration,
    tick: u64,
}

impl Bench {
    fn slave() -> Bench {
        Bench::slave_with(DeadMan::Auto)
    }

    fn slave_with(dead_man: DeadMan) -> Bench {
        let safety = haptic::SafetyConfig { dead_man, ..haptic::SafetyConfig::default() };
        let start = Instant::from_millis(5_000);
        let shared = Arc::new(Shared::default());
        let pulled = Arc::new(AtomicBool::new(false));
        let device = Box::new(Cable { device: SimDevice::new(SimConfig::default(), start), pulled: pulled.clone() });
        let side = Servo::slave(
            device.as_ref(),
            ControlConfig { safety, ..ControlConfig::default() },
            Scene::new(SceneConfig::default()),
            triple_buffer(&Pose::default()).0,
            start,
        );
        let (newest, newest_out) = triple_buffer(&None);
        let (samples_in, samples) = RingBuffer::new(8);
        let (slot_in, slot) = triple_buffer(&ServoSlot::default());
        let (notes_in, notes) = RingBuffer::new(16);
        let servo = Servo {
            shared: shared.clone(),
            device,
            side,
            newest: newest_out,
            samples: samples_in,
            slot: slot_in,
            notes: notes_in,
            trace: None,
            state: ServoState::default(),
        };
        let lateness = Ticker::start(TICK, move || start, 0).lateness().clone();
        Bench {
            servo,
            shared,
            newest,
            samples,
            slot,
            notes,
            pulled,
            lateness,
            now: start,
            suspended: Duration::from_secs(9),
            tick: 0,
        }
    }

    fn connect(&self) {
        self.shared.connection.fetch_add(1, Ordering::Release);
        self.shared.connected.store(true, Ordering::Release);
    }

    /// One millisecond with a fresh sample from a master 20 mm to the right.
    fn tick(&mut self) -> ServoSlot {
        let position = Position::new(0.02, 0.0, 0.02);
        let motion = Motion { position, ..Motion::default() };
        self.newest.write(Some(Received { value: HapticSample::Motion(motion), at: self.now }));
        self.step()
    }

    fn step(&mut self) -> ServoSlot {
        self.servo.step(self.now, self.suspended, self.tick, &self.lateness);
        self.now += TICK;
        self.tick += 1;
        while self.samples.pop().is_ok() {}
        *self.slot.read()
    }

    fn notes(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.notes.pop().ok()).map(|n| format!("{n:?}")).collect()
    }
}

fn engaged(bench: &mut Bench) {
    bench.connect();
    for _ in 0..300 {
        bench.tick();
    }
    assert!(bench.tick().force.0.norm() > 0.0);
    bench.notes();
}

#[test]
fn no_peer_no_force_and_a_new_peer_starts_from_zero() {
    let mut bench = Bench::slave();
    for _ in 0..10 {
        assert_eq!(bench.tick().reason, Some(ForceOff::NotConnected));
    }
    engaged(&mut bench);
    bench.connect();
    let slot = bench.tick();
    assert_eq!((slot.force, slot.engagement), (Force::ZERO, 0.0));
    let slot = bench.tick();
    assert!(slot.engagement < 0.01 && slot.reason == Some(ForceOff::Engaging), "{slot:?}");
}

#[test]
fn a_pulled_cable_is_zero_force_at_once_a_stop_for_the_peer_and_a_person_engages_again() {
    let mut bench = Bench::slave();
    engaged(&mut bench);
    bench.pulled.store(true, Ordering::Relaxed);
    for i in 1..=FAULT_AFTER {
        let slot = bench.tick();
        assert_eq!((slot.force, slot.reason), (Force::ZERO, Some(ForceOff::Device)));
        assert_eq!(bench.shared.device_fault.load(Ordering::Acquire), i == FAULT_AFTER, "reading {i}");
    }
    let notes = bench.notes();
    assert!(notes.iter().any(|n| n.contains("Lost")), "{notes:?}");
    for _ in 0..100 {
        bench.tick();
    }
    assert!(bench.notes().is_empty(), "one line for one fault");
    // Asking while it is away says nothing about the hand that it comes back to.
    bench.shared.engagements.fetch_add(1, Ordering::AcqRel);
    bench.tick();
    bench.pulled.store(false, Ordering::Relaxed);
    for _ in 0..2_000 {
        let slot = bench.tick();
        assert_eq!((slot.force, slot.reason), (Force::ZERO, Some(ForceOff::WaitsForUser)));
    }
    assert!(bench.shared.device_fault.load(Ordering::Acquire), "the peer stays stopped until a person engages");
    assert!(bench.notes().iter().any(|n| n.contains("Device(None)")));
    bench.shared.engagements.fetch_add(1, Ordering::AcqRel);
    bench.tick();
    let slot = bench.tick();
    assert!(slot.engagement < 0.01 && slot.reason == Some(ForceOff::Engaging), "{slot:?}");
    for _ in 0..300 {
        bench.tick();
    }
    assert!(bench.tick().force.0.norm() > 0.0);
    assert!(!bench.shared.device_fault.load(Ordering::Acquire));
}

#[test]
fn the_dead_man_key_counts_for_a_moment_only() {
    let mut bench = Bench::slave_with(DeadMan::Key);
    bench.connect();
    let press = |bench: &Bench| {
        let until = bench.now.as_nanos() / 1_000_000 + 150;
        bench.shared.dead_man_until_ms.store(until, Ordering::Release);
    };
    bench.tick();
    assert_eq!(bench.tick().reason, Some(ForceOff::DeadMan));
    for _ in 0..400 {
        press(&bench);
        bench.tick();
    }
    assert!(bench.tick().force.0.norm() > 0.0);
    // A window that has died says nothing any more.
    let quiet: Vec<_> = (0..400).map(|_| bench.tick()).collect();
    let zero = quiet.iter().position(|slot| slot.force == Force::ZERO).unwrap();
    assert!((150 + 60..=150 + 100).contains(&zero), "{zero} ms");
    assert!(quiet[zero..].iter().all(|slot| slot.force == Force::ZERO && slot.reason == Some(ForceOff::DeadMan)));
}

#[test]
fn after_a_standstill_force_starts_from_zero() {
    let mut bench = Bench::slave();
    engaged(&mut bench);
    bench.now += Duration::from_secs(3);
    let slot = bench.tick();
    assert_eq!((slot.force, slot.engagement), (Force::ZERO, 0.0));
    assert!(bench.tick().engagement < 0.01);
    let notes = bench.notes();
    assert!(notes.iter().any(|n| n.contains("Jump(3001)")), "{notes:?}");
    // The monotonic clock does not see a suspended machine.
    engaged(&mut bench);
    bench.suspended += Duration::from_secs(60);
    assert_eq!(bench.tick().force, Force::ZERO);
    assert!(bench.notes().iter().any(|n| n.contains("Jump(60001)")));
}

#[test]
fn a_silent_peer_is_zero_force_within_fifty_milliseconds() {
    let mut bench = Bench::slave();
    engaged(&mut bench);
    let last = bench.now - TICK;
    let mut zero_at = None;
    for _ in 0..100 {
        let now = bench.now;
        if bench.step().force == Force::ZERO {
            zero_at.get_or_insert(now);
        }
    }
    assert!(zero_at.is_some_and(|at| at.saturating_since(last) <= Duration::from_millis(50)), "{zero_at:?}");
    assert!(bench.notes().iter().any(|n| n.contains("PeerSilent")));
}

#[test]
fn steady_state_allocates_nothing() {
    let mut bench = Bench::slave();
    let (trace, mut records) = RingBuffer::new(2_000);
    bench.servo.trace = Some(trace);
    engaged(&mut bench);
    let allocations = crate::allocations::during(|| {
        for _ in 0..1_000 {
            bench.tick();
        }
    });
    assert_eq!(allocations, 0);
    assert_eq!(std::iter::from_fn(|| records.pop().ok()).count(), 1_301);
}

#[test]
fn a_full_queue_drops_and_counts() {
    let mut bench = Bench::slave();
    for _ in 0..20 {
        bench.servo.step(bench.now, bench.suspended, bench.tick, &bench.lateness);
        bench.tick += 1;
        bench.now += TICK;
    }
    assert_eq!(bench.shared.dropped.haptic.load(Ordering::Relaxed), 12);
}
