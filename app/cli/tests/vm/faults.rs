//! Devices with something wrong: the station notices, says which, and holds force at zero while it must.

use std::path::Path;

use crate::account;
use crate::table::Table;

/// Judges the sessions with a stuck, a slow and a late device in `results`.
pub fn judge(results: &Path) {
    let [stuck, slow, late] = ["stuck", "slow", "late"].map(|name| {
        let early = account::status(results, &format!("{name}-early")).haptic;
        println!("{name}: {:?}", early.health);
        never_while_held(results, name);
        account::status(results, name)
    });
    let early = account::status(results, "stuck-early").haptic;
    assert!(early.fault.is_empty() && early.engagement > 0.5, "{early:?}");
    let h = &stuck.haptic;
    assert!(h.fault.contains("axis 2") && h.force == [0.0; 3] && h.engagement == 0.0, "{h:?}");

    let h = &slow.haptic;
    assert!(h.fault.is_empty() && (90..=110).contains(&h.health.rate_hz), "{h:?}");
    assert!(slow.log.iter().any(|line| line.contains("reports only")), "{:?}", slow.log);

    // Eighty milliseconds of silence each second: off within fifty, then from zero again, so that it never comes up.
    let h = &late.haptic;
    let offs = late.log.iter().filter(|line| line.contains("does not answer")).count();
    assert!(offs >= 5 && h.engagement < 1.0, "{:?}", late.log);
    assert!(h.health.max_queue_age_us >= 75_000, "{:?}", h.health);
    let op = Table::read(&results.join("op-late/servo_op.csv"));
    let full = op.column::<f32>("engagement").iter().filter(|e| **e >= 1.0).count();
    assert_eq!(full, 0, "ticks with full force");
}

fn never_while_held(results: &Path, name: &str) {
    let op = Table::read(&results.join(format!("op-{name}/servo_op.csv")));
    let (held, force) = (op.column::<u8>("held"), op.vectors("force"));
    assert!((0..op.len()).all(|i| held[i] == 0 || force[i] == [0.0; 3]), "{name}: force while it must be zero");
}
