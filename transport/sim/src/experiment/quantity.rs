//! What can stand in a table or on an axis: one number of one session of a run.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use media::{Channel, Medium};
use proto::Scheme;
use proto::feasible::Stream;
use serde::Deserialize;

use super::result::{JobResult, SessionResult};
use crate::outcome::ChannelDetails;

/// A number of a run, of one channel. Its name is that of the measure, `forward-` before it for the forward channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Quantity {
    channel: Channel,
    measure: Measure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Delay(Medium, Statistic),
    Jitter(Medium),
    Loss(Medium),
    Over(Medium),
    MergeFactor,
    Changes,
    Rate,
    AnalyticRate,
    CrossLoss,
    CrossThroughput,
    Snr,
    Jain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statistic {
    Mean,
    P99,
    Max,
}

use Medium::{Audio, Haptic, Video};
use Statistic::{Max, Mean, P99};

/// Name, head of its column, unit, digits behind the point. The only list of them.
const MEASURES: [(Measure, &str, &str, &str, usize); 26] = [
    (Measure::Delay(Haptic, Mean), "haptic-mean", "mean haptic delay", "ms", 2),
    (Measure::Delay(Haptic, P99), "haptic-p99", "99th percentile of haptic delay", "ms", 2),
    (Measure::Delay(Haptic, Max), "haptic-max", "max haptic delay", "ms", 2),
    (Measure::Jitter(Haptic), "haptic-jitter", "haptic jitter", "ms", 3),
    (Measure::Loss(Haptic), "haptic-loss", "haptic samples lost", "%", 2),
    (Measure::Over(Haptic), "haptic-over", "haptic samples late", "%", 2),
    (Measure::Delay(Audio, Mean), "audio-mean", "mean audio delay", "ms", 2),
    (Measure::Delay(Audio, P99), "audio-p99", "99th percentile of audio delay", "ms", 2),
    (Measure::Delay(Audio, Max), "audio-max", "max audio delay", "ms", 2),
    (Measure::Jitter(Audio), "audio-jitter", "audio jitter", "ms", 3),
    (Measure::Loss(Audio), "audio-loss", "audio frames lost", "%", 2),
    (Measure::Over(Audio), "audio-over", "audio frames late", "%", 2),
    (Measure::Delay(Video, Mean), "video-mean", "mean video delay", "ms", 2),
    (Measure::Delay(Video, P99), "video-p99", "99th percentile of video delay", "ms", 2),
    (Measure::Delay(Video, Max), "video-max", "max video delay", "ms", 2),
    (Measure::Jitter(Video), "video-jitter", "video jitter", "ms", 3),
    (Measure::Loss(Video), "video-loss", "video frames lost", "%", 2),
    (Measure::Over(Video), "video-over", "video frames late", "%", 2),
    (Measure::MergeFactor, "k", "mean k", "", 2),
    (Measure::Changes, "k-changes", "changes of k", "", 0),
    (Measure::Rate, "rate", "rate on the wire", "kbit/s", 1),
    (Measure::AnalyticRate, "analytic-rate", "R_k", "kbit/s", 1),
    (Measure::CrossLoss, "cross-loss", "cross-traffic lost", "%", 2),
    (Measure::CrossThroughput, "cross-throughput", "cross-traffic throughput", "kbit/s", 1),
    (Measure::Snr, "snr", "SNR of the displayed force", "dB", 2),
    (Measure::Jain, "jain", "Jain's index of rates", "", 4),
];

impl Quantity {
    /// The names that are understood, in words.
    pub fn grammar() -> String {
        let names: Vec<&str> = MEASURES.iter().map(|m| m.1).collect();
        format!("{}, each also with forward- before it", names.join(", "))
    }

    /// Words for people, with the channel where it is the forward one.
    pub fn title(&self) -> String {
        let title = self.entry().2;
        match self.channel {
            Channel::Backward => title.into(),
            Channel::Forward => format!("{title} (forward)"),
        }
    }

    /// Its unit, empty for none.
    pub fn unit(&self) -> &'static str {
        self.entry().3
    }

    /// Digits behind the point that mean something.
    pub fn digits(&self) -> usize {
        self.entry().4
    }

    /// The limit of the field for it, in its unit, if there is one: 30 ms of haptic delay, say.
    pub fn limit(&self) -> Option<f64> {
        match self.measure {
            Measure::Delay(medium, _) => Some(medium.limits().delay_ms),
            Measure::Jitter(medium) => Some(medium.limits().jitter_ms),
            Measure::Loss(medium) => Some(medium.limits().loss_percent),
            _ => None,
        }
    }

    /// Its value for one session of a run; `None` where the session has no such thing.
    pub fn of(&self, session: &SessionResult, run: &JobResult) -> Option<f64> {
        let backward = self.channel == Channel::Backward;
        let channels = &session.report.channels;
        let channel = if backward { &channels.backward } else { &channels.forward };
        let details = if backward { &session.simulation.backward } else { &session.simulation.forward };
        let medium = |m: Medium| channel.medium(m);
        match self.measure {
            Measure::Delay(m, statistic) => medium(m)?.delay_ms.map(|d| match statistic {
                Mean => d.mean,
                P99 => d.p99,
                Max => d.max,
            }),
            // Haptic samples are judged by the measure per sample, frames by that from frame to frame.
            Measure::Jitter(Haptic) => channel.haptic.jitter_ms.map(|j| j.sample),
            Measure::Jitter(m) => medium(m)?.jitter_ms.map(|j| j.packet),
            Measure::Loss(m) => medium(m).map(|m| m.loss_percent),
            Measure::Over(m) => medium(m).map(|m| m.over_limit_percent),
            Measure::MergeFactor => {
                Some(channel.k.share_percent.iter().map(|(&k, share)| f64::from(k) * share / 100.0).sum())
            }
            Measure::Changes => Some(channel.k.changes as f64),
            Measure::Rate => Some(channel.wire.kbps),
            Measure::AnalyticRate => analytic_rate(session.scheme, self.channel),
            Measure::CrossLoss => cross_loss(details),
            Measure::CrossThroughput => {
                (!details.flows.is_empty()).then(|| details.flows.iter().map(|f| f.throughput_kbps).sum())
            }
            Measure::Snr => session.simulation.force_snr_db,
            Measure::Jain => jain(run, |s| if backward { s.backward_kbps() } else { s.forward_kbps() }),
        }
    }

    fn entry(&self) -> &'static (Measure, &'static str, &'static str, &'static str, usize) {
        MEASURES.iter().find(|m| m.0 == self.measure).unwrap_or(&MEASURES[0])
    }
}

/// R_k of a fixed merge factor, kbit/s.
fn analytic_rate(scheme: Scheme, channel: Channel) -> Option<f64> {
    let stream = match channel {
        Channel::Backward => Stream::BACKWARD,
        Channel::Forward => Stream::FORWARD,
    };
    match scheme {
        Scheme::NoMerge => Some(stream.rate_kbps(1)),
        Scheme::KMerge(k) => Some(stream.rate_kbps(k)),
        _ => None,
    }
}

fn cross_loss(details: &ChannelDetails) -> Option<f64> {
    let (sent, lost) = details.flows.iter().fold((0, 0), |(sent, lost), f| (sent + f.sent, lost + f.lost));
    (sent > 0).then(|| 100.0 * lost as f64 / sent as f64)
}

/// Jain's index of fairness, (sum x)^2 / (n sum x^2): 1 where all rates are equal, 1/n where one has all (Jain, Chiu,
/// Hawe, DEC-TR-301, 1984). `None` for a session alone.
fn jain(run: &JobResult, rate: impl Fn(&SessionResult) -> f64) -> Option<f64> {
    let rates: Vec<f64> = run.sessions.iter().map(rate).collect();
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    let sum: f64 = rates.iter().sum();
    (rates.len() > 1 && squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

impl FromStr for Quantity {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let (channel, measure) = match name.strip_prefix("forward-") {
            Some(rest) => (Channel::Forward, rest),
            None => (Channel::Backward, name),
        };
        let found = MEASURES.iter().find(|m| m.1 == measure);
        found
            .map(|m| Quantity { channel, measure: m.0 })
            .ok_or_else(|| format!("unknown quantity '{name}': use {}", Quantity::grammar()))
    }
}

impl TryFrom<String> for Quantity {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl Display for Quantity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.channel == Channel::Forward { "forward-" } else { "" })?;
        f.write_str(self.entry().1)
    }
}
