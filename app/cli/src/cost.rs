//! What this process has cost.

/// CPU time of this process and its ended children, s; largest resident set of one of them, MiB.
pub fn spent() -> (f64, f64) {
    let usage = |who| {
        // SAFETY: rusage is plain data; the call fills it.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &raw mut usage);
            usage
        }
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let all = [usage(libc::RUSAGE_SELF), usage(libc::RUSAGE_CHILDREN)];
    let cpu = all.iter().map(|u| seconds(u.ru_utime) + seconds(u.ru_stime)).sum();
    let peak = all.iter().map(|u| u.ru_maxrss).max().unwrap_or(0);
    (cpu, peak as f64 / 1024.0)
}
