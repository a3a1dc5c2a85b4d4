//! How long this machine has been suspended: the monotonic clock stands still meanwhile, so that nothing else shows it.

use media::Duration;

/// Time that the machine has spent suspended since it was started. A few system calls without a switch to the kernel.
pub(crate) fn suspended() -> Duration {
    // The order makes the difference too small rather than too large by the time between the two readings.
    let with = read(libc::CLOCK_BOOTTIME);
    with.saturating_sub(read(libc::CLOCK_MONOTONIC))
}

fn read(id: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; both clocks exist on every Linux since 2.6.39.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_awake_does_not_count() {
        let before = suspended();
        let after = suspended();
        assert!(after.abs_diff(before) < Duration::from_millis(500), "{before:?} {after:?}");
    }
}
