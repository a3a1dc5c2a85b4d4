//! A haptic device that is pulled out in mid-session, comes back with spoilt and missing reports, and is pulled out again:
//! by what the station said of itself at each turn, and by its trace.

use std::path::Path;

use session::Snapshot;

use crate::account::{self, Device};
use crate::table::Table;

/// Judges the second session in `results`.
pub fn judge(results: &Path) {
    let [before, unplugged, replugged, engaged, ended] =
        ["before", "unplugged", "replugged", "engaged", "ended"].map(|name| account::status(results, name));

    assert!(before.haptic.fault.is_empty() && !before.haptic.waits_for_user, "{:?}", before.haptic);
    assert!(before.haptic.engagement > 0.5, "{:?}", before.haptic);
    assert!(before.haptic.health.rate_hz > 900, "{:?}", before.haptic.health);

    // It says so, shows nothing, and the rest goes on.
    let h = &unplugged.haptic;
    assert!(h.fault.contains("has gone") && h.force == [0.0; 3] && h.engagement == 0.0, "{h:?}");
    assert_eq!(h.health.losses, 1);
    assert!(unplugged.log.iter().any(|line| line.contains("haptic device has gone")), "{:?}", unplugged.log);
    assert!(unplugged.video.frames > before.video.frames + 3, "pictures stopped with the device");
    assert!(unplugged.audio.frames > before.audio.frames + 10, "sound stopped with the device");

    // Back two seconds after it was plugged in, but nobody has said that it is in a hand.
    let h = &replugged.haptic;
    assert!(h.fault.is_empty() && h.waits_for_user && h.force == [0.0; 3], "{h:?}");
    assert!(h.position != [0.0; 3], "its position is used again");
    assert!(h.force_off.contains("Engage"), "{}", h.force_off);
    let h = &engaged.haptic;
    assert!(!h.waits_for_user && h.engagement > 0.9, "{h:?}");

    trace(&Table::read(&results.join("op-unplug/servo_op.csv")));
    counts(&Device::read(results, "after"), &engaged, &ended);
}

/// In the very step in which the device cannot be read, force is zero; and it stays so while it must.
fn trace(op: &Table) {
    let (held, force) = (op.column::<u8>("held"), op.vectors("force"));
    let zero = |i: usize| force[i] == [0.0; 3];
    assert!((0..op.len()).all(|i| held[i] == 0 || zero(i)), "force while it must be zero");
    let cuts = (1..op.len()).filter(|&i| held[i - 1] == 0 && held[i] != 0 && !zero(i - 1)).count();
    let longest = held.split(|h| *h == 0).map(<[u8]>::len).max().unwrap_or(0);
    println!("unplug: force cut to zero {cuts} times, held at zero for {longest} ticks at most");
    assert!(cuts >= 1 && longest > 2_000, "{cuts} cuts, held for {longest} ticks");
}

/// Spoilt reports are counted and not used; missing ones by their numbers.
fn counts(device: &Device, engaged: &Snapshot, ended: &Snapshot) {
    let Device { sent, skipped, spoilt } = *device;
    let health = ended.haptic.health;
    println!("unplug: {device:?}; the station counts {health:?}");
    assert_eq!(health.losses, 2, "pulled out a second time");
    assert!(health.garbage >= engaged.haptic.health.garbage);
    // Short, long, of another number, in turn. The kernel cuts long ones to size and drops numbers that are not described.
    // The first few came before the station had opened the device.
    assert!((spoilt / 3 - 3..=spoilt).contains(&health.garbage), "{} garbage of {spoilt}", health.garbage);
    // What was left out (a last one has no successor that would tell), and at most half a percent besides.
    let missing = skipped - 1..=skipped + sent / 200;
    assert!(missing.contains(&health.missing), "{} missing, {skipped} left out of {sent}", health.missing);
}
