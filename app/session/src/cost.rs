//! What this process has cost so far.

use proto::report::{LateSummary, ServoReport, System};

use crate::shared::ServoSlot;

/// CPU time (s) and largest resident set (MiB) of this process.
fn usage() -> (f64, f64) {
    // SAFETY: rusage is plain data for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` outlives the call, which fills it or fails and leaves it zero.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss as f64 / 1024.0)
}

/// The system part of a report after `wall_s` seconds.
pub(crate) fn system(wall_s: f64, servo: &ServoSlot) -> System {
    let (cpu_s, peak_rss_mib) = usage();
    let [p50, p99, max] = servo.late_us;
    System {
        wall_s,
        cpu_s,
        peak_rss_mib,
        servo: ServoReport { ticks: servo.ticks, missed: servo.missed, late_us: LateSummary { p50, p99, max } },
    }
}
