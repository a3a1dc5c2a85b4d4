//! End to end through the kernel: two `telehaptic` processes in network namespaces of their own, with the kernel's
//! token bucket and droptail queue as the bottleneck between them. Nothing of ours emulates anything here.
//!
//! Needs root; without it the tests say that they were skipped, which `CI=true` makes a failure.

#[path = "netns/traffic.rs"]
mod traffic;
#[path = "netns/world.rs"]
mod world;

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use traffic::Flow;
use world::{OP_ADDRESS, QUEUE, RATE_KBPS, World};

/// One at a time, also where the runner uses threads.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// `true`, with a line for the runner, where this machine lets us build no namespaces.
fn skipped() -> bool {
    // SAFETY: geteuid has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        return false;
    }
    println!("skipped: network namespaces need root");
    assert!(std::env::var("CI").is_err(), "with CI set, nothing may be skipped");
    true
}

#[test]
fn the_bottleneck_has_the_rate_and_the_queue_that_it_says() {
    let _alone = alone();
    if skipped() {
        return;
    }
    let world = World::build().expect("namespaces");
    let flow = Flow::start(&world.top(), &world.op(), OP_ADDRESS, 2_000.0);
    std::thread::sleep(Duration::from_secs(3));
    let figures = flow.finish().expect("cross-traffic");
    println!("saturated: {figures:?}\n{}", world.backward_counters());
    assert!((figures.received.kbps / RATE_KBPS - 1.0).abs() < 0.005, "{} kbit/s", figures.received.kbps);
    // What came in and neither passed nor waited was dropped: 2000 into 1500 kbit/s, less one queue.
    let passed = figures.sent as f64 * RATE_KBPS / figures.sent_kbps;
    let expected = figures.sent as f64 - passed - QUEUE as f64;
    let lost = (figures.sent - figures.received.packets) as f64;
    assert!((lost - expected).abs() < 0.05 * expected, "{lost} packets lost, {expected:.0} expected");
}
