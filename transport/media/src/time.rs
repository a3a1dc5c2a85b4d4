//! Two clocks: [`Instant`] is ours, [`PeerTime`] is the other station's. No operation mixes them, so
//! a delay can only come from code that states how it relates the two.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

pub use core::time::Duration;

/// A moment on this station's monotonic clock: nanoseconds since an epoch that differs at random
/// between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Instant(u64);

impl Instant {
    /// The earliest representable moment.
    pub const ZERO: Instant = Instant(0);

    /// A moment `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// A moment `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Instant(millis * 1_000_000)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time from `earlier` to here, zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Nanoseconds from `other` to here, negative if `other` is later.
    pub const fn signed_since(self, other: Instant) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }

    /// This moment moved by `nanos`, which may be negative; stops at the epoch.
    pub const fn offset(self, nanos: i64) -> Instant {
        Instant(self.0.saturating_add_signed(nanos))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, rhs: Duration) -> Instant {
        Instant(self.0.saturating_add(nanos(rhs)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, rhs: Duration) -> Instant {
        Instant(self.0.saturating_sub(nanos(rhs)))
    }
}

fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A moment on the other station's clock, nanoseconds since an epoch known to that station alone.
///
/// ```compile_fail
/// # use telehaptic_media::{Instant, PeerTime};
/// let delay = Instant::from_nanos(5).signed_since(PeerTime::from_nanos(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct PeerTime(i64);

impl PeerTime {
    /// A moment `nanos` nanoseconds after the peer's epoch (negative: before).
    pub const fn from_nanos(nanos: i64) -> Self {
        PeerTime(nanos)
    }

    /// Nanoseconds since the peer's epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Nanoseconds from `other` to here, both on the peer's clock.
    pub const fn signed_since(self, other: PeerTime) -> i64 {
        self.0.wrapping_sub(other.0)
    }

    /// This moment moved by `nanos`.
    pub const fn offset(self, nanos: i64) -> PeerTime {
        PeerTime(self.0.saturating_add(nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_signs_and_never_wrap_into_the_past() {
        let a = Instant::from_millis(5);
        let b = a + Duration::from_millis(3);
        assert_eq!(b.signed_since(a), 3_000_000);
        assert_eq!(a.signed_since(b), -3_000_000);
        assert_eq!(a.saturating_since(b), Duration::ZERO);
        assert_eq!(a - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(Instant::ZERO.offset(-1), Instant::ZERO);
        assert_eq!(Instant::from_nanos(u64::MAX) + Duration::MAX, Instant::from_nanos(u64::MAX));
    }
}
