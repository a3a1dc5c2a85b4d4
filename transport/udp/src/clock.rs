//! The clock: the only place that reads the time.

use media::Instant;

/// `CLOCK_MONOTONIC` with an epoch of this process's own.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch_ns: i64,
}

impl Clock {
    /// A clock whose epoch lies at random between one hour and some days in the past, so that nothing can come to
    /// depend on two stations' clocks being alike.
    pub fn start() -> Clock {
        let past = 3_600_000_000_000 + (random() >> 14) as i64;
        Clock { epoch_ns: monotonic_ns() - past }
    }

    /// Now.
    pub fn now(&self) -> Instant {
        self.instant(monotonic_ns())
    }

    /// `CLOCK_MONOTONIC` at [`Instant::ZERO`], ns; may be negative. Two stations of one machine can compare their clocks
    /// by it.
    pub fn epoch_ns(&self) -> i64 {
        self.epoch_ns
    }

    /// When something happened that the kernel stamped with the wall clock, given what both clocks say now. The wall
    /// clock may step between the stamp and now: what cannot be is replaced by now.
    pub fn from_wall(&self, stamp_ns: i64, wall_now_ns: i64, now: Instant) -> Instant {
        let age = wall_now_ns - stamp_ns;
        if (0..MAX_AGE_NS).contains(&age) { now.offset(-age) } else { now }
    }

    fn instant(&self, monotonic: i64) -> Instant {
        Instant::from_nanos((monotonic - self.epoch_ns).max(0) as u64)
    }
}

/// No datagram waits longer in the socket while its thread runs.
const MAX_AGE_NS: i64 = 1_000_000_000;

/// The wall clock, ns; only for the difference to stamps of the kernel.
pub(crate) fn wall_ns() -> i64 {
    read(libc::CLOCK_REALTIME)
}

fn monotonic_ns() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

fn read(id: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing and the clock ids exist on every Linux.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn random() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer is valid for its length; a short read leaves zeros, which is a poor but harmless epoch.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_differ_and_time_runs_forward() {
        let (a, b) = (Clock::start(), Clock::start());
        assert_ne!(a.epoch_ns(), b.epoch_ns());
        let first = a.now();
        assert!(a.now() >= first && first.as_nanos() > 3_000_000_000_000);
    }

    #[test]
    fn a_stepped_wall_clock_moves_no_stamp() {
        let clock = Clock::start();
        let now = clock.now();
        let wall = wall_ns();
        assert_eq!(clock.from_wall(wall - 250_000, wall, now), now.offset(-250_000));
        for step in [-3_600_000_000_000, 3_600_000_000_000] {
            assert_eq!(clock.from_wall(wall - 250_000, wall + step, now), now);
        }
    }
}
