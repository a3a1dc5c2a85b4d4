//! One tick of the servo allocates nothing, on the good path and on that of a device that fails.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use media::{Coupling, Duration, Force, HapticSample, Instant};
use telehaptic_haptic::{
    ControlConfig, FaultConfig, FaultyDevice, Gate, Hand, HandConfig, HandScript, HapticDevice, Master, Received,
    SimConfig, SimDevice, Slave,
};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system allocator unchanged; counting touches a constant-initialised cell of the thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|c| c.set(c.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_tick_allocates_nothing() {
    let start = Instant::from_millis(1);
    let hand = Hand::scripted(HandConfig::default(), HandScript::default());
    let faults =
        FaultConfig { not_finite: 0.1, lost: 0.01, lost_for: Duration::from_millis(60), ..FaultConfig::default() };
    let mut held = FaultyDevice::new(SimDevice::held(SimConfig::default(), hand, start), faults, 3);
    let mut free = SimDevice::new(SimConfig::default(), start);
    let mut master = Master::new(ControlConfig::default(), held.info(), start);
    let mut slave = Slave::new(ControlConfig::default(), free.info(), start);
    let mut back = HapticSample::Force(Force::ZERO);
    let before = COUNT.with(Cell::get);
    for ms in 1..15_000 {
        let coupling = Coupling::ALL[(ms / 5_000) as usize];
        master.set_coupling(coupling);
        slave.set_coupling(coupling);
        let now = start + Duration::from_millis(ms);
        let out = master.step(now, &held.read(now), Some(Received { value: back, at: now }), Gate::OPEN);
        // A failed write is part of what is counted.
        let _ = held.write(now, out.force);
        let newest = Some(Received { value: out.sample, at: now });
        let out = slave.step(now, &free.read(now), newest, Force::ZERO, Gate::OPEN);
        let _ = free.write(now, out.force);
        free.touch(Force::new(0.0, 0.1, 0.0));
        back = out.sample;
    }
    let counted = COUNT.with(Cell::get) - before;
    assert_eq!(counted, 0);
    let text = start.to_string();
    assert!(COUNT.with(Cell::get) > before, "the counter counts: {text}");
}
