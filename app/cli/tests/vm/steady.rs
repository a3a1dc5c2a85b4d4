//! A minute of a device at its full rate: what it sent is what the station read, but for what is counted as missing.

use std::path::Path;

use crate::account::{self, Device};
use crate::table::Table;

/// Reports that have to come with a host at the other end.
const REPORTS: usize = 60_000;
/// From the arrival of a report to the servo that uses it, in the middle, us.
const AGE_US: u32 = 500;

/// Judges the session `steady` in `results`.
pub fn judge(results: &Path) {
    let rows = Table::read(&results.join("steady.csv"));
    let kinds = rows.column::<String>("kind");
    let heard = kinds.iter().position(|kind| kind == "out").expect("a force");
    let sent = kinds[heard..].iter().filter(|kind| *kind == "in").count();
    let device = Device::read(results, "steady");
    let health = account::status(results, "steady").haptic.health;
    println!("steady: {sent} of {device:?} with a host there; the station counts {health:?}");
    assert!(sent >= REPORTS, "only {sent} reports");

    // Those left out on purpose (a last one has no successor that would tell), and at most half a percent besides.
    let (skipped, allowed) = (device.skipped, sent as u64 / 200);
    let missing = health.missing;
    assert!((skipped.saturating_sub(1)..=skipped + allowed).contains(&missing), "{missing} missing of {skipped}");
    // Each number is read or missing, but for the first few, which may come before the first force.
    let (known, all) = (health.reports + missing, sent as u64 + skipped);
    assert!(known.abs_diff(all) <= 50, "{known} numbers known of {all}");
    // It was lost when its time was over.
    assert_eq!((health.garbage, health.losses), (0, 1));
    assert!(health.age_p50_us < AGE_US, "used {} us after they came", health.age_p50_us);
}
