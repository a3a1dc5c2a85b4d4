//! Counts heap allocations of the calling thread, so that tests can hold the fast threads to none.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes unchanged to the system's allocator; the counter is a plain thread-local without destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations that `body` makes on this thread.
pub(crate) fn during(body: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    body();
    COUNT.get() - before
}

#[test]
fn an_allocation_is_counted() {
    assert_eq!(during(|| drop(std::hint::black_box(Box::new(7u64)))), 1);
    assert_eq!(during(|| ()), 0);
}
