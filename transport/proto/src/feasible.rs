//! Can a network carry a session under DPM? The worst haptic, audio and video delay on one bottleneck, estimated
//! beforehand; an idea of the paper's Appendices B and C, in a derivation of our own. An estimate, not a bound: it takes
//! cross-traffic for a fluid of constant rate, plus one packet of each flow that is in the way.
//!
//! # Haptic delay
//! Symbols: capacity C and cross-traffic X in kbit/s; fragment of p bytes and header of o bytes, those below ours
//! included; R_k = 8 (p + o / k) the rate at level k, in kbit/s; g_k = 8 (k p + o) / C the transmission time of its packet
//! on each of h hops, in ms; tau the propagation, in ms; N the rises that raise I_C.
//!
//! Let j be the largest level with R_j + X > C. DPM steps down to j, the queue grows by rho = (R_j + X - C) / C ms each
//! ms, I_C puts k back to k_max, and so on. The growth lasts until the sender knows: the packets of N rises leave (j N),
//! the last of them arrives (tau + h g_j, and the queue that it finds, rho j N), and its notification waits for a packet
//! of the opposite channel (period k_f) and travels (D_f):
//!
//! T_d = j N + (tau + h g_j + rho j N) + k_f + D_f, and the queue is then Q = rho ceil(T_d).
//!
//! The worst sample is the oldest of the last packet at level j, or of the first at k_max. The latter leaves k_max ms
//! after the former, while the link drains what it has left over from X, and is larger by g_kmax - g_j:
//!
//! max( (j - 1) + tau + h g_j + Q; (k_max - 1) + tau + h g_kmax + max(0, Q + g_j - (k_max + g_kmax - g_j)(1 - X / C)) )
//!
//! and 8 L / C for a packet of L bytes of each cross flow. Against simulations with near-fluid cross-traffic it is right
//! within 1 ms (1.3 ms low at one load of twenty); with random cross-traffic 2 to 3 ms low, for detection then takes
//! longer.
//!
//! Two things come on top of that formula where there are packets of other flows to do it:
//! - No level overloaded: k should stay 1, but bursts raise I_C by chance, so k_max is counted as visited.
//! - Level j hardly overloaded: it is *mistaken* for steady if the delay rises within one window of I_S (W notifications,
//!   j W ms) by no more than the tolerance and the packets of the other flows. Then k goes on down to j - 1, which is
//!   overloaded far more, with that rise already in the queue. In the paper's network this is the weak zone of R_cbr from
//!   272 to about 300 kbit/s.
//!
//! # Audio and video delay
//! A fragment has s_m = p - s_h bytes beside its sample; audio fills them strictly before video. The last byte of a frame
//! that is there at tick i leaves in fragment i + n - 1, whose delay is at most the haptic one, since both ride in one
//! packet. So the worst delay is n - 1 ms more than the haptic one.
//! - Audio, s_a bytes each T_a ms: n_a = ceil(s_a / s_m), for nothing goes before it. Needs s_a <= s_m T_a.
//! - Video, s_v bytes each T_v ms, is a task of lower priority that audio interrupts. Its worst case is a frame that comes
//!   together with an audio frame (the critical instant of Liu and Layland, J. ACM 20(1), 1973). If q frames of video
//!   follow each other without a pause, the last one ends in the first fragment n with
//!   n s_m >= q s_v + ceil(n / T_a) s_a, and has taken n - (q - 1) T_v; n_v is the most of these over q = 1, 2, ... until
//!   n <= q T_v. Needs s_v / T_v + s_a / T_a <= s_m.
//!
//! With the paper's frames n_a = 3 and n_v = 40: audio is 2 ms and video 39 ms later than haptics.

use core::fmt;

use crate::TriggerConfig;
use crate::wire::{HEADER, LOWER_HEADERS, MEDIA_HEADER};
use media::Medium;

mod frames;

pub use frames::Frames;

/// One direction of a network whose one bottleneck DPM may overload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Capacity of the bottleneck, and of the other hops that take transmission time, kbit/s.
    pub capacity_kbps: f64,
    /// Mean rate of all cross-traffic at the bottleneck, bytes on the wire, kbit/s.
    pub cross_kbps: f64,
    /// One-way propagation of the whole path, ms.
    pub propagation_ms: f64,
    /// Hops that take transmission time, the bottleneck included.
    pub transmitting_hops: u32,
    /// Flows of cross-traffic. 0: a fluid, which has no packets to wait for.
    pub cross_flows: u32,
    /// Packet of a cross flow, bytes on the wire.
    pub cross_packet_bytes: u32,
}

/// What a channel carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// Telehaptic fragment p, sample included, bytes.
    pub fragment_bytes: u32,
    /// Haptic sample s_h, bytes.
    pub sample_bytes: u32,
    /// All headers of a packet, bytes.
    pub header_bytes: u32,
    /// Audio, if there is any.
    pub audio: Option<Frames>,
    /// Video, if there is any.
    pub video: Option<Frames>,
}

impl Stream {
    /// TOP to OP: force, 160 bytes of audio each 20 ms, 2000 bytes of video each 40 ms.
    pub const BACKWARD: Stream = Stream {
        fragment_bytes: 70,
        sample_bytes: 12,
        header_bytes: MEDIA_HEADER as u32 + LOWER_HEADERS as u32,
        audio: Some(Frames { bytes: 160, period_ms: 20 }),
        video: Some(Frames { bytes: 2000, period_ms: 40 }),
    };

    /// OP to TOP: position and velocity alone.
    pub const FORWARD: Stream = Stream {
        fragment_bytes: 24,
        sample_bytes: 24,
        header_bytes: HEADER as u32 + LOWER_HEADERS as u32,
        audio: None,
        video: None,
    };

    /// The rate R_k on the wire at merge factor `k`, kbit/s.
    pub fn rate_kbps(&self, k: u8) -> f64 {
        8.0 * (f64::from(self.fragment_bytes) + f64::from(self.header_bytes) / f64::from(k.max(1)))
    }
}

/// How delay notifications come back on the opposite channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// From packet to packet, ms: the merge factor there.
    pub period_ms: f64,
    /// One-way delay of these packets, ms.
    pub delay_ms: f64,
}

impl Feedback {
    /// Feedback in `stream` over `path` at the smallest merge factor that the path carries; `None` if it carries none.
    pub fn over(path: &Path, stream: &Stream, triggers: &TriggerConfig) -> Option<Feedback> {
        let load = Load { path, stream, triggers };
        let k = (1..=load.k_max()).find(|k| load.fits(*k))?;
        Some(Feedback { period_ms: f64::from(k), delay_ms: load.travel_ms(k) + load.burst_ms() })
    }
}

/// What is to be expected of a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Feasibility {
    /// The level j that is overloaded and visited again and again. `None`: none is, or all are.
    pub oscillates_at: Option<u8>,
    /// Level j is so slightly overloaded that it is mistaken for steady now and then, and the level below is visited.
    pub mistaken: bool,
    /// The worst haptic delay, ms, if all of the cross-traffic sets in at once while k = 1. It happens at most once for
    /// each such onset, lasts some 50 ms, and is no part of the verdicts. `None` if k_max cannot hold.
    pub onset_delay_ms: Option<f64>,
    /// A verdict for each medium that the channel carries, in the order of [`Medium::ALL`].
    pub media: Vec<Verdict>,
}

/// What is to be expected of a medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Which one.
    pub medium: Medium,
    /// Estimate of the worst delay from capture to reception, ms. `None`: it grows until queues overflow.
    pub worst_delay_ms: Option<f64>,
    /// The field's limit, ms.
    pub limit_ms: f64,
    /// The worst delay is known and within the limit. Random cross-traffic wants some 3 ms of room below it.
    pub compliant: bool,
    /// Why it is not.
    pub reason: Option<Reason>,
}

/// Why a medium is not compliant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// The channel is overloaded even at k_max.
    Overloaded {
        /// Its rate there, kbit/s.
        needs_kbps: f64,
        /// What cross-traffic leaves of the capacity, kbit/s.
        left_kbps: f64,
    },
    /// The frames of this medium, with those that go before them, do not fit into the fragments.
    FramesTooLarge,
    /// The worst delay is above the limit.
    AboveLimit,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Overloaded { needs_kbps, left_kbps } => write!(
                f,
                "overloaded even at the largest merge factor: it sends {needs_kbps:.0} kbit/s, {left_kbps:.0} kbit/s are left"
            ),
            Reason::FramesTooLarge => f.write_str("its frames do not fit into the fragments: lower their size or rate"),
            Reason::AboveLimit => f.write_str("the worst delay is above the limit"),
        }
    }
}

/// The worst delays of `stream` over `path` under DPM; of `triggers` it uses `k_max`, `rises`, `window`, `tolerance_ms`.
pub fn estimate(path: &Path, stream: &Stream, triggers: &TriggerConfig, feedback: &Feedback) -> Feasibility {
    let load = Load { path, stream, triggers };
    let k_max = load.k_max();
    let overloaded = (1..=k_max).rev().find(|k| !load.fits(*k));
    let mistaken = overloaded.filter(|j| *j < k_max && load.mistaken(*j));
    let haptic = match overloaded {
        Some(j) if j == k_max => None,
        Some(j) => {
            let below = mistaken.map(|j| load.excursion_ms(j - 1, load.rise_in_window_ms(j), feedback));
            Some(load.excursion_ms(j, 0.0, feedback).max(below.unwrap_or(0.0)))
        }
        None => Some(load.calm_ms()),
    };
    let onset_delay_ms = haptic.map(|ms| if load.fits(1) { ms } else { load.excursion_ms(1, 0.0, feedback).max(ms) });
    let room = stream.fragment_bytes.saturating_sub(stream.sample_bytes).into();
    let audio = stream.audio.map(|audio| (Medium::Audio, audio.fragments(room)));
    let video = stream.video.map(|video| (Medium::Video, video.fragments_behind(stream.audio, room)));
    let media = [Some((Medium::Haptic, Some(1))), audio, video].into_iter().flatten();
    let media = media.map(|(medium, fragments)| load.verdict(medium, haptic, fragments)).collect();
    Feasibility {
        oscillates_at: overloaded.filter(|j| *j < k_max),
        mistaken: mistaken.is_some(),
        onset_delay_ms,
        media,
    }
}

/// A stream on a path.
struct Load<'a> {
    path: &'a Path,
    stream: &'a Stream,
    triggers: &'a TriggerConfig,
}

impl Load<'_> {
    fn k_max(&self) -> u8 {
        self.triggers.k_max.clamp(1, crate::MAX_MERGE)
    }

    /// Not overloaded at this level. False if the path makes no sense.
    fn fits(&self, k: u8) -> bool {
        self.path.capacity_kbps > 0.0 && self.stream.rate_kbps(k) + self.path.cross_kbps <= self.path.capacity_kbps
    }

    /// rho: growth of the queue at this level, ms each ms.
    fn growth(&self, k: u8) -> f64 {
        (self.stream.rate_kbps(k) + self.path.cross_kbps) / self.path.capacity_kbps - 1.0
    }

    /// g_k, ms.
    fn transmission_ms(&self, k: u8) -> f64 {
        // Bytes each millisecond, times k milliseconds.
        self.stream.rate_kbps(k) * f64::from(k) / self.path.capacity_kbps
    }

    /// From departure to reception over empty queues, ms.
    fn travel_ms(&self, k: u8) -> f64 {
        self.path.propagation_ms + f64::from(self.path.transmitting_hops) * self.transmission_ms(k)
    }

    /// A packet of each cross flow, ms.
    fn burst_ms(&self) -> f64 {
        8.0 * f64::from(self.path.cross_packet_bytes) * f64::from(self.path.cross_flows) / self.path.capacity_kbps
    }

    /// Worst delay while no level is overloaded, ms.
    fn calm_ms(&self) -> f64 {
        let at = |k: u8| f64::from(k - 1) + self.travel_ms(k);
        let by_chance = if self.path.cross_flows > 0 { at(self.k_max()) } else { 0.0 };
        at(1).max(by_chance) + self.burst_ms()
    }

    /// Worst delay of a visit to the overloaded level `j` that finds the queue `queued_ms` full, ms.
    fn excursion_ms(&self, j: u8, queued_ms: f64, feedback: &Feedback) -> f64 {
        let k_max = self.k_max();
        let (g_j, g_max) = (self.transmission_ms(j), self.transmission_ms(k_max));
        let rises_ms = f64::from(j) * f64::from(self.triggers.rises);
        let rho = self.growth(j);
        let arrival_ms = self.travel_ms(j) + rho * rises_ms;
        let detection_ms = rises_ms + arrival_ms + feedback.period_ms + feedback.delay_ms;
        let queue_ms = queued_ms + rho * detection_ms.ceil();
        let left_over = 1.0 - self.path.cross_kbps / self.path.capacity_kbps;
        let drained_ms = (f64::from(k_max) + g_max - g_j) * left_over;
        let last_at_j = f64::from(j - 1) + self.travel_ms(j) + queue_ms;
        let first_at_max = f64::from(k_max - 1) + self.travel_ms(k_max) + (queue_ms + g_j - drained_ms).max(0.0);
        last_at_j.max(first_at_max) + self.burst_ms()
    }

    /// How much the delay rises within one window of I_S at this level, ms.
    fn rise_in_window_ms(&self, j: u8) -> f64 {
        self.growth(j) * f64::from(j) * self.triggers.window as f64
    }

    fn mistaken(&self, j: u8) -> bool {
        j > 1 && self.rise_in_window_ms(j) <= self.triggers.tolerance_ms + self.burst_ms()
    }

    /// `fragments`: over how many a frame is spread, `None` if frames pile up.
    fn verdict(&self, medium: Medium, haptic_ms: Option<f64>, fragments: Option<u64>) -> Verdict {
        let limit_ms = medium.limits().delay_ms;
        let worst_delay_ms = haptic_ms.zip(fragments).map(|(ms, n)| ms + (n - 1) as f64);
        let reason = match (haptic_ms, worst_delay_ms) {
            (None, _) => Some(Reason::Overloaded {
                needs_kbps: self.stream.rate_kbps(self.k_max()),
                left_kbps: (self.path.capacity_kbps - self.path.cross_kbps).max(0.0),
            }),
            (Some(_), None) => Some(Reason::FramesTooLarge),
            (Some(_), Some(ms)) => (ms.is_nan() || ms > limit_ms).then_some(Reason::AboveLimit),
        };
        Verdict { medium, worst_delay_ms, limit_ms, compliant: reason.is_none(), reason }
    }
}

#[cfg(test)]
mod tests;
