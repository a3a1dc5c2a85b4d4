//! What a wire does to packets that have left its queue: loss, reordering, duplication.

use media::Duration;

use crate::rng::SplitMix64;

/// A probability, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Probability = Probability(0.0);

    /// The probability `p`; `None` outside 0 to 1.
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Probability(p))
    }

    /// As a number, 0 to 1.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// How a wire loses packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LossSpec {
    /// It does not.
    #[default]
    None,
    /// Each packet for itself.
    Bernoulli(Probability),
    /// Bursts: a good and a bad state, each with its loss. The state may change before each packet.
    GilbertElliott {
        /// Probability of good to bad.
        to_bad: Probability,
        /// Probability of bad to good; its inverse is the mean length of a burst in packets.
        to_good: Probability,
        /// Loss in the good state.
        loss_good: Probability,
        /// Loss in the bad state.
        loss_bad: Probability,
    },
}

/// Holds some packets back, so that later ones overtake them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderSpec {
    /// How often.
    pub probability: Probability,
    /// By up to this much more than the propagation, uniformly distributed.
    pub extra: Duration,
}

/// The wire's state.
#[derive(Clone, Debug)]
pub(crate) struct Impairments {
    loss: LossSpec,
    reorder: Option<ReorderSpec>,
    duplicate: Probability,
    bad: bool,
    rng: SplitMix64,
}

/// What becomes of a packet on the wire: when its copies arrive beyond the propagation. Both `None`: lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fate {
    pub(crate) first: Option<Duration>,
    pub(crate) second: Option<Duration>,
}

impl Impairments {
    pub(crate) fn new(loss: LossSpec, reorder: Option<ReorderSpec>, duplicate: Probability, rng: SplitMix64) -> Self {
        Impairments { loss, reorder, duplicate, bad: false, rng }
    }

    /// Draws the fate of the next packet.
    pub(crate) fn next(&mut self) -> Fate {
        if self.loses() {
            return Fate { first: None, second: None };
        }
        let first = Some(self.held_back());
        let second = self.rng.chance(self.duplicate.value()).then(|| self.held_back());
        Fate { first, second }
    }

    fn loses(&mut self) -> bool {
        match self.loss {
            LossSpec::None => false,
            LossSpec::Bernoulli(p) => self.rng.chance(p.value()),
            LossSpec::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let change = if self.bad { to_good } else { to_bad };
                if self.rng.chance(change.value()) {
                    self.bad = !self.bad;
                }
                let loss = if self.bad { loss_bad } else { loss_good };
                self.rng.chance(loss.value())
            }
        }
    }

    fn held_back(&mut self) -> Duration {
        match self.reorder {
            Some(r) if self.rng.chance(r.probability.value()) => {
                Duration::from_nanos(self.rng.up_to(u64::try_from(r.extra.as_nanos()).unwrap_or(u64::MAX)))
            }
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    fn fates(loss: LossSpec, n: usize) -> Vec<bool> {
        let mut wire = Impairments::new(loss, None, Probability::ZERO, SplitMix64::new(7));
        (0..n).map(|_| wire.next().first.is_none()).collect()
    }

    #[test]
    fn bernoulli_loses_its_share() {
        let lost = fates(LossSpec::Bernoulli(p(0.1)), 100_000).into_iter().filter(|&l| l).count();
        assert!((9_500..10_500).contains(&lost), "{lost}");
    }

    #[test]
    fn gilbert_elliott_has_its_share_and_its_burst_length() {
        // In the bad state 1/11 of the time, for 10 packets at a time.
        let spec = LossSpec::GilbertElliott { to_bad: p(0.01), to_good: p(0.1), loss_good: p(0.0), loss_bad: p(1.0) };
        let fates = fates(spec, 200_000);
        let lost = fates.iter().filter(|&&l| l).count();
        let bursts = fates.windows(2).filter(|w| !w[0] && w[1]).count();
        assert!((16_500..20_000).contains(&lost), "{lost}");
        let mean = lost as f64 / bursts as f64;
        assert!((9.0..11.0).contains(&mean), "{mean}");
    }

    #[test]
    fn copies_and_held_back_packets_come_as_often_as_asked_and_within_the_limit() {
        let extra = Duration::from_millis(3);
        let reorder = Some(ReorderSpec { probability: p(0.2), extra });
        let mut wire = Impairments::new(LossSpec::None, reorder, p(0.05), SplitMix64::new(3));
        let (mut held, mut copies) = (0, 0);
        for _ in 0..100_000 {
            let fate = wire.next();
            let first = fate.first.unwrap();
            assert!(first <= extra && fate.second.is_none_or(|s| s <= extra));
            held += u32::from(first > Duration::ZERO);
            copies += u32::from(fate.second.is_some());
        }
        assert!((19_000..21_000).contains(&held), "{held}");
        assert!((4_600..5_400).contains(&copies), "{copies}");
    }

    #[test]
    fn probabilities_outside_their_range_are_refused() {
        assert!(
            Probability::new(-0.1).is_none() && Probability::new(1.1).is_none() && Probability::new(f64::NAN).is_none()
        );
    }
}
