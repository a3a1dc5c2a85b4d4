//! The only source of randomness: splitmix64, so that a seed means the same run everywhere.

use media::Duration;

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator whose state is `seed`.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// A generator for part number `part` of something seeded with `seed`, unrelated to the other parts.
    pub fn for_part(seed: u64, part: u64) -> Self {
        let mut mix = SplitMix64(seed ^ part.wrapping_mul(0xd1b5_4a32_d192_ed03));
        SplitMix64(mix.next_u64())
    }

    /// The next output.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// True with this probability. Draws nothing if the probability is zero.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && ((self.next_u64() >> 11) as f64) * (1.0 / (1u64 << 53) as f64) < probability
    }

    /// Exponentially distributed with this mean, in whole nanoseconds rounded down. Only comparisons are made (von
    /// Neumann, "Various techniques used in connection with random digits", 1951), so that no mathematical library has a
    /// say in it.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        for whole in 0u128.. {
            let first = self.next_u64();
            let (mut last, mut length) = (first, 1u32);
            loop {
                let next = self.next_u64();
                if next >= last {
                    break;
                }
                (last, length) = (next, length + 1);
            }
            if length % 2 == 1 {
                let mean = mean.as_nanos().min(u128::from(u64::MAX));
                let ns = (whole * mean).saturating_add((mean * u128::from(first)) >> 64);
                return Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX));
            }
        }
        Duration::MAX
    }

    /// Uniform in 1..=max (the bias of the remainder is below 2^-32 for what is asked here).
    pub fn up_to(&mut self, max: u64) -> u64 {
        1 + self.next_u64() % max.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        let mut rng = SplitMix64::new(1_234_567);
        let got: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(got, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn exponential_times_have_their_mean_and_tail() {
        let mut rng = SplitMix64::new(5);
        let mean = Duration::from_secs(10);
        let times: Vec<f64> = (0..100_000).map(|_| rng.exponential(mean).as_secs_f64() / 10.0).collect();
        let average = times.iter().sum::<f64>() / times.len() as f64;
        assert!((0.99..1.01).contains(&average), "{average}");
        for beyond in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let share = times.iter().filter(|t| **t > beyond).count() as f64 / times.len() as f64;
            assert!((share - (-beyond).exp()).abs() < 0.006, "{beyond}: {share}");
        }
        assert_eq!(rng.exponential(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn chances_come_as_often_as_they_say() {
        let mut rng = SplitMix64::for_part(1, 2);
        let hits = (0..100_000).filter(|_| rng.chance(0.03)).count();
        assert!((2_700..3_300).contains(&hits), "{hits}");
        assert!(!rng.chance(0.0));
        assert!(rng.chance(1.0));
    }
}
