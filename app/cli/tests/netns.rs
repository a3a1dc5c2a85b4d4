//! End to end through the kernel: two `telehaptic` processes in network namespaces of their own, with the kernel's
//! token bucket and droptail queue as the bottleneck between them. Nothing of ours emulates anything here.
//!
//! Needs root; without it the tests say that they were skipped, which `CI=true` makes a failure.

#[path = "netns/stations.rs"]
mod stations;
#[path = "netns/traffic.rs"]
mod traffic;
#[path = "netns/world.rs"]
mod world;

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use session::report::Report;
use traffic::{Flow, FlowFigures};
use world::{OP_ADDRESS, QUEUE, RATE_KBPS, TOP_ADDRESS, World};

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
fn the_kernel_bottleneck_has_the_rate_and_the_queue_that_it_says() {
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

/// Cross-traffic each way, kbit/s on the wire: the highly congested case of the paper.
const CROSS_KBPS: f64 = 800.0;
/// Length of a run, s.
const SECONDS: u64 = 12;

/// Two stations and cross-traffic both ways through the bottlenecks. The report, and the backward cross-traffic.
fn session(scheme: &str) -> (Report, FlowFigures) {
    let world = World::build().expect("namespaces");
    let backward = Flow::start(&world.top(), &world.op(), OP_ADDRESS, CROSS_KBPS);
    let forward = Flow::start(&world.op(), &world.top(), TOP_ADDRESS, CROSS_KBPS);
    let report = stations::run(&world, scheme, SECONDS);
    let (backward, forward) = (backward.finish().expect("cross-traffic"), forward.finish().expect("cross-traffic"));
    for (name, channel, cross) in
        [("backward", &report.channels.backward, backward), ("forward", &report.channels.forward, forward)]
    {
        let h = &channel.haptic;
        println!(
            "{scheme}, {name}: {} samples sent, {} lost ({:.2} %), delay {:?}, k {:?}, cross-traffic {:.1} kbit/s, \
             {:.2} % lost",
            h.sent,
            h.lost,
            h.loss_percent,
            h.delay_ms,
            channel.k.share_percent,
            cross.sent_kbps,
            cross.loss_percent()
        );
        assert!((cross.sent_kbps / CROSS_KBPS - 1.0).abs() < 0.01, "{name}: {} kbit/s sent", cross.sent_kbps);
        assert!(h.sent as f64 > 0.95 * 1000.0 * (report.seconds - 0.5), "{name}: {} samples sent", h.sent);
        assert!(report.seconds > 0.7 * SECONDS as f64, "connected for {} s only", report.seconds);
    }
    (report, backward)
}

#[test]
fn dpm_loses_nothing_through_the_kernel_bottleneck() {
    let _alone = alone();
    if skipped() {
        return;
    }
    let (report, cross) = session("dpm");
    for (name, channel) in [("backward", &report.channels.backward), ("forward", &report.channels.forward)] {
        assert_eq!(channel.haptic.lost, 0, "{name}: haptic samples lost");
        assert_eq!(channel.wire.lost, Some(0), "{name}: packets lost");
    }
    let backward = &report.channels.backward;
    let delay = backward.haptic.delay_ms.expect("delays");
    assert!(delay.p50 < 26.0, "p50 {} ms", delay.p50);
    // 700 kbit/s are left: room for k = 4 only.
    let share = |k: u8| backward.k.share_percent.get(&k).copied().unwrap_or(0.0);
    assert!(share(4) + share(3) > 50.0, "{:?}", backward.k.share_percent);
    assert!(backward.k.i_c > 0, "no congestion was noticed");
    assert!(cross.loss_percent() < 0.1, "cross-traffic lost {} %", cross.loss_percent());
}

#[test]
fn no_merge_loses_and_queues_through_the_kernel_bottleneck() {
    let _alone = alone();
    if skipped() {
        return;
    }
    let (report, cross) = session("no-merge");
    let haptic = &report.channels.backward.haptic;
    let delay = haptic.delay_ms.expect("delays");
    // 1096 + 800 into 1500 kbit/s: a fifth of all is too much, and the queue is full.
    assert!((10.0..=30.0).contains(&haptic.loss_percent), "{} % lost", haptic.loss_percent);
    assert!(delay.p50 > 60.0 && delay.p50 < 115.0, "p50 {} ms", delay.p50);
    assert!(cross.loss_percent() > 5.0, "cross-traffic lost {} % only", cross.loss_percent());
    assert!(!haptic.compliant, "a full queue breaks the limits");
}
