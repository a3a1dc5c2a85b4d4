//! Amounts of data and their rates.

use core::fmt;
use core::time::Duration;

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DataSize(u64);

impl DataSize {
    /// `bytes` bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        DataSize(bytes)
    }

    /// The amount in bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }
}

/// A rate of data in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Bitrate(u64);

impl Bitrate {
    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Bitrate(bps)
    }

    /// `kbps` kilobits (1000 bits) per second.
    pub const fn from_kbps(kbps: u64) -> Self {
        Bitrate(kbps * 1000)
    }

    /// The rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The rate in kilobits per second.
    pub fn as_kbps(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// How long `size` takes at this rate, rounded to the nearest nanosecond (halves up).
    ///
    /// `Duration::MAX` at rate zero.
    pub fn transmission_time(self, size: DataSize) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let bits_ns = u128::from(size.0) * 8 * 1_000_000_000;
        let rate = u128::from(self.0);
        let ns = (bits_ns + rate / 2) / rate;
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} kbit/s", self.as_kbps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_time_rounds_to_the_nearest_nanosecond() {
        let link = Bitrate::from_kbps(1500);
        assert_eq!(link.transmission_time(DataSize::from_bytes(137)), Duration::from_nanos(730_667));
        assert_eq!(link.transmission_time(DataSize::from_bytes(0)), Duration::ZERO);
        assert_eq!(Bitrate::from_bps(0).transmission_time(DataSize::from_bytes(1)), Duration::MAX);
    }
}
