//! Which samples a scheme sends: all of them, or those that its deadband or its gap lets through.

use media::{Channel, HapticSample, SampleKind};

use crate::config::Scheme;
use crate::reconstruct::Reconstruction;
use crate::rivals::RivalConfig;
use crate::wire::{HEADER, LOWER_HEADERS, MEDIA_HEADER, SKIP_HEADER};

/// Weight of a new delay in the averages.
const WEIGHT: f64 = 0.05;
/// Units of a notification in a millisecond.
const UNITS: f64 = 100.0;
/// The least delay is sought over so many ms, and as many before.
const LEAST_OVER_MS: u64 = 5_000;
/// Largest credit of a constant bit rate: what so many ticks bring.
const CREDIT_TICKS: f64 = 4.0;

/// Decides tick by tick whether the sample is sent.
#[derive(Clone, Debug)]
pub struct Sampler {
    scheme: Scheme,
    config: RivalConfig,
    kind: SampleKind,
    /// What the receiver shows.
    shown: Reconstruction,
    /// Delay, or round trip, against its least value, 10 us.
    delay: Excess,
    /// `etp`: ticks from one sample to the next, and when that changed last.
    gap: u8,
    changed_at: u64,
    /// `visual-haptic`: bytes that the rate allows now, and what headers and a sample take of them.
    credit: f64,
    header_bytes: f64,
    sample_bytes: f64,
}

/// How far an average is above the least value of the last five to ten seconds: clocks drift, routes change.
#[derive(Clone, Copy, Debug, Default)]
struct Excess {
    average: Option<f64>,
    least: f64,
    /// The least value of the five seconds before those that began at this tick.
    before: f64,
    since: u64,
}

impl Excess {
    fn add(&mut self, tick: u64, value: i64) {
        let value = value as f64;
        let average = self.average.map_or(value, |a| a + WEIGHT * (value - a));
        if self.average.is_none() {
            (self.least, self.before, self.since) = (value, value, tick);
        } else if tick >= self.since + LEAST_OVER_MS {
            (self.least, self.before, self.since) = (value, self.least, tick);
        }
        self.least = self.least.min(value);
        self.average = Some(average);
    }

    fn ms(self) -> f64 {
        self.average.map_or(0.0, |a| (a - self.least.min(self.before)) / UNITS)
    }
}

impl Sampler {
    /// A sampler that has sent nothing yet.
    pub fn new(scheme: Scheme, config: RivalConfig, kind: SampleKind) -> Self {
        let header = if kind.channel() == Channel::Backward { MEDIA_HEADER } else { HEADER };
        Sampler {
            scheme,
            config,
            shown: Reconstruction::new(scheme == Scheme::WeberFirstOrder, config.max_gap_ms),
            delay: Excess::default(),
            gap: 1,
            changed_at: 0,
            credit: 0.0,
            header_bytes: (LOWER_HEADERS as usize + header + SKIP_HEADER) as f64,
            sample_bytes: kind.size() as f64,
            kind,
        }
    }

    /// Forgets what was measured: the peer or the route is another.
    pub fn reset(&mut self) {
        *self = Sampler::new(self.scheme, self.config, self.kind);
    }

    /// The peer measured `transit` for the packet that left at tick `sent_at`, and so the network's round trip (both 10 us, any constant offset
    /// in the former).
    pub fn on_notification(&mut self, sent_at: u64, transit: i64, round_trip: i64) {
        self.delay.add(sent_at, if self.scheme == Scheme::Etp { round_trip } else { transit });
    }

    /// Is the sample of `tick` to be sent? `waiting` bytes of audio and video would leave with it.
    pub fn keeps(&mut self, tick: u64, sample: HapticSample, waiting: usize) -> bool {
        if !self.scheme.skips() {
            return true;
        }
        // These schemes are made for touch: they say nothing about positions of a slave, and a wave left out is energy lost.
        if !matches!(self.kind, SampleKind::Motion | SampleKind::Force) {
            self.shown.push(tick, sample);
            return true;
        }
        let since = self.shown.newest().map(|newest| tick - newest);
        // A pause without any sample would look like a peer that is gone.
        let overdue = since.is_none_or(|n| n >= self.config.max_gap_ms);
        let keep = match self.scheme {
            Scheme::Etp => {
                self.adapt_gap(tick);
                since.is_none_or(|n| n >= u64::from(self.gap))
            }
            Scheme::VisualHaptic => {
                let rate = self.config.visual_haptic_kbps / 8.0;
                self.credit = (self.credit + rate).min(CREDIT_TICKS * rate);
                let cost = self.header_bytes + self.sample_bytes + waiting as f64;
                let keep = overdue || self.credit >= cost && self.differs(tick, sample, self.config.deadband);
                self.credit -= if keep { cost } else { 0.0 };
                keep
            }
            Scheme::Opportunistic => {
                let RivalConfig { deadband, deadband_max, congested_ms, .. } = self.config;
                let level = (self.delay.ms() / congested_ms).clamp(0.0, 1.0);
                self.differs(tick, sample, deadband + (deadband_max - deadband) * level)
            }
            _ => self.differs(tick, sample, self.config.deadband),
        };
        if keep || overdue {
            self.shown.push(tick, sample);
        }
        keep || overdue
    }

    /// A packet of media alone, of so many bytes, left without a sample.
    pub fn on_media_packet(&mut self, bytes: usize) {
        self.credit -= self.header_bytes + bytes as f64;
    }

    fn adapt_gap(&mut self, tick: u64) {
        if tick < self.changed_at + self.config.etp_pause_ms {
            return;
        }
        let excess = self.delay.ms();
        let gap = if excess > self.config.etp_high_ms {
            (self.gap + 1).min(self.config.etp_max_gap)
        } else if excess < self.config.etp_low_ms {
            (self.gap - 1).max(1)
        } else {
            self.gap
        };
        if gap != self.gap {
            (self.gap, self.changed_at) = (gap, tick);
        }
    }

    fn differs(&self, tick: u64, sample: HapticSample, fraction: f64) -> bool {
        let Some(shown) = self.shown.at(tick) else { return true };
        let fraction = fraction as f32;
        match (shown, sample) {
            (HapticSample::Force(a), HapticSample::Force(b)) => {
                (b.0 - a.0).norm() > (fraction * a.0.norm()).max(self.config.floor_force)
            }
            (HapticSample::Motion(a), HapticSample::Motion(b)) => {
                let velocity = (b.velocity.0 - a.velocity.0).norm();
                velocity > (fraction * a.velocity.0.norm()).max(self.config.floor_velocity)
                    || (b.position.0 - a.position.0).norm() > self.config.floor_position
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::Force;

    fn force(x: f32) -> HapticSample {
        HapticSample::Force(Force::new(x, 0.0, 0.0))
    }

    fn kept(s: &mut Sampler, ticks: core::ops::Range<u64>, value: impl Fn(u64) -> f32) -> Vec<u64> {
        ticks.filter(|&t| s.keeps(t, force(value(t)), 0)).collect()
    }

    #[test]
    fn schemes_without_a_deadband_send_everything() {
        for scheme in Scheme::all().filter(|s| !s.skips()) {
            let mut s = Sampler::new(scheme, RivalConfig::default(), SampleKind::Force);
            assert_eq!(kept(&mut s, 0..50, |_| 1.0).len(), 50, "{scheme}");
        }
    }

    #[test]
    fn what_is_not_touch_is_sent_whole_by_every_scheme() {
        for scheme in Scheme::all() {
            for kind in [SampleKind::Position, SampleKind::MasterWave, SampleKind::SlaveWave] {
                let mut s = Sampler::new(scheme, RivalConfig::default(), kind);
                assert!((0..200).all(|tick| s.keeps(tick, HapticSample::zero(kind), 500)), "{scheme}, {kind:?}");
            }
        }
    }

    #[test]
    fn weber_sends_changes_of_a_tenth_and_a_sign_of_life() {
        let mut s = Sampler::new(Scheme::Weber, RivalConfig::default(), SampleKind::Force);
        assert_eq!(kept(&mut s, 0..15, |_| 1.0), [0, 6, 12]);
        assert_eq!(kept(&mut s, 15..18, |t| if t == 15 { 1.09 } else { 1.11 }), [16]);
        // Around zero the floor counts.
        let mut s = Sampler::new(Scheme::Weber, RivalConfig::default(), SampleKind::Force);
        assert_eq!(kept(&mut s, 0..4, |t| 0.009 * (t % 2) as f32), [0]);
    }

    #[test]
    fn first_order_sends_bends_not_slopes() {
        let slope = |t: u64| 1.0 + 0.05 * t as f32;
        let mut hold = Sampler::new(Scheme::Weber, RivalConfig::default(), SampleKind::Force);
        let mut line = Sampler::new(Scheme::WeberFirstOrder, RivalConfig::default(), SampleKind::Force);
        let (hold, line) = (kept(&mut hold, 0..60, slope).len(), kept(&mut line, 0..60, slope).len());
        assert!(hold > line, "{hold} {line}");
    }

    #[test]
    fn the_opportunistic_deadband_grows_with_the_delay() {
        let wiggle = |t: u64| 1.0 + 0.2 * (t % 2) as f32;
        let mut s = Sampler::new(Scheme::Opportunistic, RivalConfig::default(), SampleKind::Force);
        s.on_notification(0, 1_700, 0);
        assert_eq!(kept(&mut s, 0..10, wiggle).len(), 10);
        (0..200).for_each(|t| s.on_notification(t, 2_700, 0));
        assert!(kept(&mut s, 10..20, wiggle).len() <= 2);
        // What lasts for long is the route, not congestion.
        (0..12_000).for_each(|t| s.on_notification(t, 2_700, 0));
        assert_eq!(kept(&mut s, 20..30, wiggle).len(), 10);
    }

    #[test]
    fn etp_widens_its_gap_by_the_round_trip_and_comes_back() {
        let mut s = Sampler::new(Scheme::Etp, RivalConfig::default(), SampleKind::Force);
        s.on_notification(0, 0, 3_400);
        assert_eq!(kept(&mut s, 0..100, |_| 1.0).len(), 100);
        (0..200).for_each(|t| s.on_notification(t, 0, 5_000));
        kept(&mut s, 100..1_000, |_| 1.0);
        assert_eq!(kept(&mut s, 1_000..1_060, |_| 1.0).len(), 10);
        (0..200).for_each(|t| s.on_notification(t, 0, 3_400));
        kept(&mut s, 1_080..2_000, |_| 1.0);
        assert_eq!(kept(&mut s, 2_000..2_080, |_| 1.0).len(), 80);
    }

    #[test]
    fn visual_haptic_keeps_its_rate() {
        let config = RivalConfig { max_gap_ms: u64::MAX, visual_haptic_kbps: 400.0, ..RivalConfig::default() };
        let mut s = Sampler::new(Scheme::VisualHaptic, config, SampleKind::Force);
        let n = kept(&mut s, 0..10_000, |t| (t % 2) as f32).len() as f64;
        let kbps = n * 82.0 * 8.0 / 10_000.0;
        assert!((395.0..=401.0).contains(&kbps), "{kbps}");
    }
}
