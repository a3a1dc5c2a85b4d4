//! The numbers of a scenario file, each read by a function of its name: whatever is no number of its range is told with
//! the key and the range, at the line where it stands.

use core::fmt;

use serde::Deserializer;
use serde::de::{Error, Visitor};

use super::{MAX_DELAY_US, MAX_KBPS, MAX_MOMENT_MS};
use crate::impair::Probability;

/// Longest queue, packets.
const MAX_QUEUE_PACKETS: u64 = 1_000_000;
/// The same in bytes.
const MAX_QUEUE_BYTES: u64 = 1_000_000_000;

/// What a key may be.
#[derive(Clone, Copy)]
struct Whole {
    key: &'static str,
    low: u64,
    high: u64,
}

impl Whole {
    fn within<E: Error>(self, value: impl fmt::Display, whole: Option<u64>) -> Result<u64, E> {
        let Whole { key, low, high } = self;
        let wrong = || E::custom(format!("{key} = {value} must be a whole number between {low} and {high}"));
        whole.filter(|n| (low..=high).contains(n)).ok_or_else(wrong)
    }
}

impl Visitor<'_> for Whole {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, a whole number between {} and {}", self.key, self.low, self.high)
    }

    fn visit_i64<E: Error>(self, n: i64) -> Result<u64, E> {
        self.within(n, u64::try_from(n).ok())
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<u64, E> {
        self.within(n, Some(n))
    }

    fn visit_f64<E: Error>(self, n: f64) -> Result<u64, E> {
        self.within(n, None)
    }
}

macro_rules! whole_numbers {
    ($($key:ident: $low:expr, $high:expr;)*) => {$(
        pub(super) fn $key<'de, D: Deserializer<'de>, T: From<u64>>(from: D) -> Result<T, D::Error> {
            from.deserialize_any(Whole { key: stringify!($key), low: $low, high: $high }).map(T::from)
        }
    )*};
}

whole_numbers! {
    warmup_ms: 0, MAX_MOMENT_MS;
    start_ms: 0, MAX_MOMENT_MS;
    at_ms: 0, MAX_MOMENT_MS;
    access_us: 0, MAX_DELAY_US;
    propagation_us: 0, MAX_DELAY_US;
    access_propagation_us: 0, MAX_DELAY_US;
    extra_us: 0, MAX_DELAY_US;
    rate_kbps: 1, MAX_KBPS;
    access_kbps: 1, MAX_KBPS;
    min_kbps: 1, MAX_KBPS;
    max_kbps: 1, MAX_KBPS;
    bottleneck: 0, 63;
    queue_packets: 0, MAX_QUEUE_PACKETS;
    queue_bytes: 0, MAX_QUEUE_BYTES;
    start_us: 0, super::cross::MAX_MOMENT_US;
    stop_us: 1, super::cross::MAX_MOMENT_US;
    repeat_us: super::cross::MIN_REPEAT_US, super::cross::MAX_MOMENT_US;
    packet_bytes: 1, super::cross::MAX_PACKET;
    interval_us: super::cross::MIN_GAP_US, MAX_DELAY_US;
    beyond_us: super::cross::MIN_BEYOND_US, MAX_DELAY_US;
    max_window_packets: 1, super::cross::MAX_WINDOW;
    min_bytes: 1, super::cross::MAX_TRANSFER;
    max_bytes: 1, super::cross::MAX_TRANSFER;
    mean_gap_ms: 1, super::cross::MAX_MEAN_MS;
    mean_pause_ms: 1, super::cross::MAX_MEAN_MS;
    sources: 1, super::cross::MAX_SOURCES;
}

/// What a key for a probability may be.
struct Chance(&'static str);

impl Visitor<'_> for Chance {
    type Value = Probability;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, a probability between 0.0 and 1.0", self.0)
    }

    fn visit_i64<E: Error>(self, n: i64) -> Result<Probability, E> {
        self.visit_f64(n as f64)
    }

    fn visit_f64<E: Error>(self, p: f64) -> Result<Probability, E> {
        let wrong = || E::custom(format!("{} = {p} must be a probability between 0.0 and 1.0", self.0));
        Probability::new(p).ok_or_else(wrong)
    }
}

macro_rules! probabilities {
    ($($key:ident),*) => {$(
        pub(super) fn $key<'de, D: Deserializer<'de>>(from: D) -> Result<Probability, D::Error> {
            from.deserialize_any(Chance(stringify!($key)))
        }
    )*};
}

probabilities!(probability, to_bad, to_good, loss_good, loss_bad, duplicate);
