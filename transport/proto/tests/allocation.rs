//! No heap allocation per fragment in steady state, statistics on, audio and video riding along.

use telehaptic_proto as proto;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use media::{Duration, Force, HapticSample, Instant, Motion, Role};
use proto::{Config, Endpoint, Event, FrameIn, Host, Input, Transmit, drive};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as our caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as our caller promised.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as our caller promised.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Holds the packets of one tick until they are handed over.
#[derive(Default)]
struct Wire {
    packets: [Vec<u8>; 4],
    count: usize,
    haptic: u64,
    frames: u64,
}

impl Host for Wire {
    fn transmit(&mut self, _: Instant, _: Transmit, bytes: &[u8]) {
        self.packets[self.count].clear();
        self.packets[self.count].extend_from_slice(bytes);
        self.count += 1;
    }

    fn event(&mut self, _: Instant, event: &Event) {
        match event {
            Event::Haptic { .. } => self.haptic += 1,
            Event::Frame(_) => self.frames += 1,
            _ => {}
        }
    }
}

#[test]
fn a_fragment_costs_no_allocation() {
    let config = |role| Config { control: false, ..Config::new(role) };
    let mut op = Endpoint::new(config(Role::Op), 1, Instant::ZERO);
    let mut top = Endpoint::new(config(Role::Top), 2, Instant::ZERO);
    let (mut at_op, mut at_top) = (Wire::default(), Wire::default());
    let mut buf = Vec::with_capacity(2_000);
    let mut counted = 0;
    for tick in 0..40_000u64 {
        if tick == 20_000 {
            counted = ALLOCATIONS.load(Ordering::Relaxed);
        }
        let now = Instant::from_millis(tick);
        let frame = |payload| FrameIn { payload, key: true, captured_at: now };
        if tick % 20 == 0 {
            drive(&mut top, now, Input::Audio(frame(&[3; 154])), &mut buf, &mut at_top);
        }
        if tick % 40 == 0 {
            drive(&mut top, now, Input::Video(frame(&[4; 1994])), &mut buf, &mut at_top);
        }
        let force = HapticSample::Force(Force::new(tick as f32, 0.0, 1.0));
        drive(&mut top, now, Input::Haptic { tick, sample: force }, &mut buf, &mut at_top);
        let motion = HapticSample::Motion(Motion::default());
        drive(&mut op, now, Input::Haptic { tick, sample: motion }, &mut buf, &mut at_op);
        let later = now + Duration::from_micros(500);
        for i in 0..std::mem::take(&mut at_top.count) {
            let bytes = &at_top.packets[i];
            drive(&mut op, later, Input::Datagram { from: Default::default(), bytes }, &mut buf, &mut at_op);
        }
        for i in 0..std::mem::take(&mut at_op.count) {
            let bytes = &at_op.packets[i];
            drive(&mut top, later, Input::Datagram { from: Default::default(), bytes }, &mut buf, &mut at_top);
        }
    }
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - counted;
    assert!(at_op.haptic >= 39_990 && at_top.haptic >= 39_990, "{} {}", at_op.haptic, at_top.haptic);
    assert!(at_op.frames >= 2_900);
    assert_eq!(allocations, 0, "allocations in 20000 ticks");
}
