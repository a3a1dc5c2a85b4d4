//! From encoder counts to the hand and from a force to motor currents, nothing is allocated, whatever the counts say.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use media::{Force, Position};
use telehaptic_haptic::Model;

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
fn counts_to_position_and_force_to_currents_allocate_nothing() {
    for model in Model::builtin() {
        let (Some(arm), Some(joints), Some(motors)) = (&model.kinematics, &model.joints, &model.motors) else {
            continue;
        };
        let mut last = None;
        let (mut good, mut bad) = (0u32, 0u32);
        let middle = joints.counts(arm.rest().unwrap());
        let before = COUNT.with(Cell::get);
        for n in 0..2000i32 {
            let counts = [0, 1, 2].map(|i| middle[i] + (n * (i as i32 + 1) * 37) % 9000 - 200);
            let q = joints.joints(counts);
            let shown = arm.forward(q, last).and_then(|p| {
                last = Some(p);
                arm.torques(q, p, Force::new(0.5, -1.0, 2.0))
            });
            match shown.map(|torques| motors.units(torques)) {
                Ok(_) => good += 1,
                Err(_) => bad += 1,
            }
            arm.contains(Position::new(0.0, 0.0, n as f32 * 1e-4));
        }
        let counted = COUNT.with(Cell::get) - before;
        assert_eq!(counted, 0, "{}", model.id);
        assert!(good > 20 && bad > 20, "{}: {good} good, {bad} bad", model.id);
    }
    let before = COUNT.with(Cell::get);
    let text = before.to_string();
    assert!(COUNT.with(Cell::get) > before, "the counter counts: {text}");
}
