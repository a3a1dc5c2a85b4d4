//! The shape of a scenario file. Everything that can be wrong is found while it is read, so that the message
//! names the line.

use media::{Bitrate, DataSize, Duration};
use serde::Deserialize;

use super::{Scenario, ScenarioError};
use crate::cross::{CrossSpec, RateRange, Traffic};
use crate::impair::{LossSpec, Probability, ReorderSpec};
use crate::link::QueueLimit;
use crate::network::{DirectionSpec, HopSpec};

/// Longest propagation and extra delay, us: one minute.
const MAX_DELAY_US: u64 = 60_000_000;
/// Highest rate, kbit/s: a terabit.
const MAX_KBPS: u64 = 1_000_000_000;
/// Largest packet, bytes.
const MAX_PACKET: u64 = 65_535;
/// Shortest time between two packets of a flow, us: a run must come to its end.
const MIN_GAP_US: u64 = 10;

/// Reads the scenario `name` from the contents of `file`.
pub(super) fn parse(text: &str, file: &str, name: &str) -> Result<Scenario, ScenarioError> {
    let shape: FileShape = toml::from_str(text).map_err(|e| {
        let before = e.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
        let what = e.message().trim().replace('\n', ", ");
        let line = before.matches('\n').count();
        let text = text.lines().nth(line).unwrap_or("").trim().chars().take(60).collect();
        ScenarioError::Invalid { file: file.into(), line: line + 1, text, what }
    })?;
    let Directions { backward, forward } = shape.directions;
    Ok(Scenario {
        name: name.into(),
        description: shape.description,
        warmup: Duration::from_millis(shape.warmup_ms),
        backward,
        forward,
    })
}

struct FileShape {
    description: String,
    warmup_ms: u64,
    directions: Directions,
}

struct Directions {
    backward: DirectionSpec,
    forward: DirectionSpec,
}

impl<'de> Deserialize<'de> for FileShape {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Raw {
            description: String,
            #[serde(default)]
            warmup_ms: u64,
            both: Option<DirectionSpec>,
            backward: Option<DirectionSpec>,
            forward: Option<DirectionSpec>,
        }
        let raw = Raw::deserialize(from)?;
        let directions = match (raw.both, raw.backward, raw.forward) {
            (Some(both), None, None) => Directions { backward: both.clone(), forward: both },
            (None, Some(backward), Some(forward)) => Directions { backward, forward },
            _ => {
                let what = "a scenario has either [both], or [backward] and [forward]";
                return Err(serde::de::Error::custom(what));
            }
        };
        Ok(FileShape { description: raw.description, warmup_ms: raw.warmup_ms, directions })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDirection {
    hops: Vec<HopSpec>,
    #[serde(default)]
    bottleneck: usize,
    #[serde(default)]
    cross: Vec<CrossSpec>,
}

impl TryFrom<RawDirection> for DirectionSpec {
    type Error = String;
    fn try_from(raw: RawDirection) -> Result<Self, String> {
        let hops = raw.hops.len();
        if hops == 0 || hops > 64 {
            return Err(format!("a direction has 1 to 64 hops, not {hops}"));
        }
        if raw.bottleneck >= hops {
            let last = hops - 1;
            return Err(format!("bottleneck = {} names no hop: the first is 0, the last {last}", raw.bottleneck));
        }
        Ok(DirectionSpec { hops: raw.hops, bottleneck: raw.bottleneck, cross: raw.cross })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHop {
    rate_kbps: Option<Kbps>,
    propagation_us: Micros,
    queue_packets: Option<usize>,
    queue_bytes: Option<u64>,
    #[serde(default)]
    loss: LossSpec,
    reorder: Option<ReorderSpec>,
    #[serde(default)]
    duplicate: Probability,
}

impl TryFrom<RawHop> for HopSpec {
    type Error = String;
    fn try_from(raw: RawHop) -> Result<Self, String> {
        let queue = match (raw.queue_packets, raw.queue_bytes) {
            (None, None) => QueueLimit::default(),
            (Some(packets), None) => QueueLimit::Packets(packets),
            (None, Some(bytes)) => QueueLimit::Bytes(bytes),
            (Some(_), Some(_)) => return Err("a queue is limited by queue_packets or queue_bytes, not by both".into()),
        };
        Ok(HopSpec {
            rate: raw.rate_kbps.map(|r| r.0),
            propagation: raw.propagation_us.0,
            queue,
            loss: raw.loss,
            reorder: raw.reorder,
            duplicate: raw.duplicate,
        })
    }
}

impl TryFrom<f64> for Probability {
    type Error = String;
    fn try_from(p: f64) -> Result<Self, String> {
        Probability::new(p).ok_or_else(|| format!("a probability lies between 0.0 and 1.0, {p} does not"))
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum RawLoss {
    Bernoulli { probability: Probability },
    GilbertElliott { to_bad: Probability, to_good: Probability, loss_good: Probability, loss_bad: Probability },
}

impl From<RawLoss> for LossSpec {
    fn from(raw: RawLoss) -> Self {
        match raw {
            RawLoss::Bernoulli { probability } => LossSpec::Bernoulli(probability),
            RawLoss::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                LossSpec::GilbertElliott { to_bad, to_good, loss_good, loss_bad }
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReorder {
    probability: Probability,
    extra_us: Micros,
}

impl From<RawReorder> for ReorderSpec {
    fn from(raw: RawReorder) -> Self {
        ReorderSpec { probability: raw.probability, extra: raw.extra_us.0 }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCross {
    name: String,
    start_us: u64,
    traffic: Traffic,
    access_kbps: Option<Kbps>,
    #[serde(default)]
    access_propagation_us: Micros,
}

impl From<RawCross> for CrossSpec {
    fn from(raw: RawCross) -> Self {
        CrossSpec {
            name: raw.name,
            start: Duration::from_micros(raw.start_us),
            traffic: raw.traffic,
            access_rate: raw.access_kbps.map(|r| r.0),
            access_propagation: raw.access_propagation_us.0,
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum RawTraffic {
    Constant { rate_kbps: u64, packet_bytes: u64 },
    VariableGap { min_kbps: u64, max_kbps: u64, packet_bytes: u64 },
    VariableSize { min_kbps: u64, max_kbps: u64, interval_us: u64 },
}

impl TryFrom<RawTraffic> for Traffic {
    type Error = String;
    fn try_from(raw: RawTraffic) -> Result<Self, String> {
        match raw {
            RawTraffic::Constant { rate_kbps, packet_bytes } => {
                Ok(Traffic::Constant { rate: rate(rate_kbps)?, packet: packet(packet_bytes, rate_kbps)? })
            }
            RawTraffic::VariableGap { min_kbps, max_kbps, packet_bytes } => {
                let rates = range(min_kbps, max_kbps)?;
                Ok(Traffic::VariableGap { rates, packet: packet(packet_bytes, max_kbps)? })
            }
            RawTraffic::VariableSize { min_kbps, max_kbps, interval_us } => {
                let rates = range(min_kbps, max_kbps)?;
                let largest = max_kbps.saturating_mul(interval_us) / 8_000;
                if !(MIN_GAP_US..=MAX_DELAY_US).contains(&interval_us) || largest > MAX_PACKET {
                    return Err(format!(
                        "interval_us = {interval_us} must lie between {MIN_GAP_US} and {MAX_DELAY_US} and make packets of at most {MAX_PACKET} bytes, not {largest}"
                    ));
                }
                Ok(Traffic::VariableSize { rates, interval: Duration::from_micros(interval_us) })
            }
        }
    }
}

/// A rate in the file, kbit/s.
struct Kbps(Bitrate);

impl TryFrom<u64> for Kbps {
    type Error = String;
    fn try_from(kbps: u64) -> Result<Self, String> {
        rate(kbps).map(Kbps)
    }
}

fn rate(kbps: u64) -> Result<Bitrate, String> {
    if (1..=MAX_KBPS).contains(&kbps) {
        Ok(Bitrate::from_kbps(kbps))
    } else {
        Err(format!(
            "a rate lies between 1 and {MAX_KBPS} kbit/s, {kbps} does not (leave it out for a link without one)"
        ))
    }
}

/// A time in the file, us.
#[derive(Default)]
struct Micros(Duration);

impl TryFrom<u64> for Micros {
    type Error = String;
    fn try_from(us: u64) -> Result<Self, String> {
        if us > MAX_DELAY_US {
            return Err(format!("{us} us is more than a minute ({MAX_DELAY_US})"));
        }
        Ok(Micros(Duration::from_micros(us)))
    }
}

fn range(min_kbps: u64, max_kbps: u64) -> Result<RateRange, String> {
    rate(min_kbps)?;
    rate(max_kbps)?;
    if max_kbps < min_kbps || max_kbps - min_kbps > 1_000_000 {
        return Err(format!(
            "max_kbps = {max_kbps} must be at least min_kbps = {min_kbps}, and at most a million more"
        ));
    }
    Ok(RateRange { min_kbps, max_kbps })
}

fn packet(bytes: u64, kbps: u64) -> Result<DataSize, String> {
    if !(1..=MAX_PACKET).contains(&bytes) {
        return Err(format!("packet_bytes = {bytes} must lie between 1 and {MAX_PACKET}"));
    }
    if bytes * 8_000 / kbps.max(1) < MIN_GAP_US {
        return Err(format!(
            "packets of {bytes} bytes at {kbps} kbit/s come less than {MIN_GAP_US} us apart: make them larger"
        ));
    }
    Ok(DataSize::from_bytes(bytes))
}

/// Makes a type readable by way of its raw shape.
macro_rules! read_as {
    ($($spec:ty: $raw:ty),*) => {$(
        impl<'de> Deserialize<'de> for $spec {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                <$raw>::deserialize(from)?.try_into().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

read_as!(
    DirectionSpec: RawDirection,
    HopSpec: RawHop,
    Probability: f64,
    Kbps: u64,
    Micros: u64,
    LossSpec: RawLoss,
    ReorderSpec: RawReorder,
    CrossSpec: RawCross,
    Traffic: RawTraffic
);

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"description = "Two hops."
warmup_ms = 20

[backward]
bottleneck = 1
hops = [
  { propagation_us = 5 },
  { rate_kbps = 1000, propagation_us = 1_000, queue_bytes = 3000, loss = { kind = "bernoulli", probability = 0.1 }, reorder = { probability = 0.2, extra_us = 300 }, duplicate = 0.3 },
]
[[backward.cross]]
name = "c"
start_us = 7
traffic = { kind = "constant", rate_kbps = 8, packet_bytes = 1 }

[forward]
hops = [{ propagation_us = 1 }]
"#;

    #[test]
    fn every_field_means_what_it_says() {
        let s = parse(GOOD, "f", "n").unwrap();
        assert_eq!((s.name.as_str(), s.warmup, s.forward.hops.len()), ("n", Duration::from_millis(20), 1));
        let p = |p| Probability::new(p).unwrap();
        assert_eq!(
            s.backward.hops[1],
            HopSpec {
                rate: Some(Bitrate::from_kbps(1000)),
                propagation: Duration::from_millis(1),
                queue: QueueLimit::Bytes(3000),
                loss: LossSpec::Bernoulli(p(0.1)),
                reorder: Some(ReorderSpec { probability: p(0.2), extra: Duration::from_micros(300) }),
                duplicate: p(0.3),
            }
        );
        let cross = &s.backward.cross[0];
        assert_eq!((cross.start, s.backward.bottleneck), (Duration::from_micros(7), 1));
        assert_eq!(cross.traffic, Traffic::Constant { rate: Bitrate::from_kbps(8), packet: DataSize::from_bytes(1) });
    }

    #[test]
    fn what_is_wrong_is_told_in_one_line_with_its_place() {
        for (old, new, line, word) in [
            ("warmup_ms = 20", "warmup_ms = twenty", 2, "'warmup_ms = twenty'"),
            ("warmup_ms = 20", "warmup = 20", 2, "unknown field `warmup`"),
            ("bottleneck = 1", "bottleneck = 2", 4, "names no hop"),
            ("0.1", "1.1", 8, "between 0.0 and 1.0"),
            ("rate_kbps = 1000", "rate_kbps = 0", 8, "a rate lies between"),
            ("queue_bytes = 3000", "queue_bytes = 3000, queue_packets = 1", 6, "not by both"),
            ("bernoulli", "sometimes", 8, "unknown variant `sometimes`"),
            ("start_us = 7", "start_us = -7", 12, "invalid value"),
            ("rate_kbps = 8,", "rate_kbps = 8000,", 13, "make them larger"),
            ("[forward]", "[foreward]", 15, "unknown field `foreward`"),
            ("hops = [{ propagation_us = 1 }]", "hops = []", 15, "1 to 64 hops"),
            ("hops = [{ propagation_us = 1 }]", "hops = [{ propagation_us = 999_000_000 }]", 16, "more than a minute"),
            ("description = \"Two hops.\"", "", 1, "missing field `description`"),
        ] {
            let text = GOOD.replacen(old, new, 1);
            assert_ne!(text, GOOD, "{old}");
            let error = parse(&text, "dir/f.toml", "n").unwrap_err().to_string();
            assert!(error.starts_with(&format!("scenario file dir/f.toml, line {line} ")), "{new}: {error}");
            assert!(error.contains(word), "{new}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
