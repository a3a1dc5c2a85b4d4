//! The shape of a scenario file. Everything that can be wrong is found while it is read, so that the message
//! names the line.

use media::{Bitrate, Duration};
use serde::Deserialize;

use super::{Scenario, ScenarioError, SessionTiming};
use crate::cross::CrossSpec;
use crate::impair::{LossSpec, Probability, ReorderSpec};
use crate::link::{QueueLimit, RateStep};
use crate::network::{DirectionSpec, HopSpec};

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

mod cross;
mod number;

/// Longest propagation and extra delay, us: one minute.
const MAX_DELAY_US: u64 = 60_000_000;
/// Highest rate, kbit/s: a terabit.
const MAX_KBPS: u64 = 1_000_000_000;
/// Last moment that a file may name, ms: a day.
const MAX_MOMENT_MS: u64 = 86_400_000;
/// Most changes of one rate.
const MAX_STEPS: usize = 1000;

/// Most sessions of one network.
const MAX_SESSIONS: usize = 16;

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
        sessions: shape.sessions,
        backward,
        forward,
    })
}

struct FileShape {
    description: String,
    warmup_ms: u64,
    sessions: Vec<SessionTiming>,
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
            #[serde(default, deserialize_with = "number::warmup_ms")]
            warmup_ms: u64,
            #[serde(default)]
            sessions: Vec<SessionTiming>,
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
        if raw.sessions.len() > MAX_SESSIONS {
            let what = format!("a scenario has 1 to {MAX_SESSIONS} sessions, not {}", raw.sessions.len());
            return Err(serde::de::Error::custom(what));
        }
        let sessions = if raw.sessions.is_empty() { vec![SessionTiming::default()] } else { raw.sessions };
        Ok(FileShape { description: raw.description, warmup_ms: raw.warmup_ms, sessions, directions })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSession {
    #[serde(default, deserialize_with = "number::start_ms")]
    start_ms: u64,
    pause_ms: Option<[i64; 2]>,
    #[serde(default, deserialize_with = "number::access_us")]
    access_us: u64,
}

impl TryFrom<RawSession> for SessionTiming {
    type Error = String;
    fn try_from(raw: RawSession) -> Result<Self, String> {
        let moment = |ms: i64| match u64::try_from(ms) {
            Ok(ms @ 0..=MAX_MOMENT_MS) => Ok(Duration::from_millis(ms)),
            _ => Err(format!("pause_ms = {ms} must be a whole number between 0 and {MAX_MOMENT_MS}")),
        };
        let pause = match raw.pause_ms {
            Some([from, to]) if from >= to => {
                return Err(format!("pause_ms = [{from}, {to}] must end after it begins"));
            }
            Some([from, to]) => Some((moment(from)?, moment(to)?)),
            None => None,
        };
        Ok(SessionTiming {
            start: Duration::from_millis(raw.start_ms),
            pause,
            access: Duration::from_micros(raw.access_us),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDirection {
    hops: Vec<HopSpec>,
    #[serde(default, deserialize_with = "number::bottleneck")]
    bottleneck: u64,
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
        let bottleneck = raw.bottleneck as usize;
        if bottleneck >= hops {
            let last = hops - 1;
            return Err(format!("bottleneck = {bottleneck} names no hop: the first is 0, the last {last}"));
        }
        Ok(DirectionSpec { hops: raw.hops, bottleneck, cross: raw.cross })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHop {
    #[serde(default, deserialize_with = "number::rate_kbps")]
    rate_kbps: Option<u64>,
    #[serde(default)]
    rate_steps: Vec<RateStep>,
    #[serde(deserialize_with = "number::propagation_us")]
    propagation_us: u64,
    #[serde(default, deserialize_with = "number::queue_packets")]
    queue_packets: Option<u64>,
    #[serde(default, deserialize_with = "number::queue_bytes")]
    queue_bytes: Option<u64>,
    #[serde(default)]
    loss: LossSpec,
    reorder: Option<ReorderSpec>,
    #[serde(default, deserialize_with = "number::duplicate")]
    duplicate: Probability,
}

impl TryFrom<RawHop> for HopSpec {
    type Error = String;
    fn try_from(raw: RawHop) -> Result<Self, String> {
        let queue = match (raw.queue_packets, raw.queue_bytes) {
            (None, None) => QueueLimit::default(),
            (Some(packets), None) => QueueLimit::Packets(packets as usize),
            (None, Some(bytes)) => QueueLimit::Bytes(bytes),
            (Some(_), Some(_)) => return Err("a queue is limited by queue_packets or queue_bytes, not by both".into()),
        };
        let steps = raw.rate_steps;
        if raw.rate_kbps.is_none() && !steps.is_empty() {
            return Err("rate_steps change the rate_kbps of a hop: this one has none to begin with".into());
        }
        if steps.len() > MAX_STEPS {
            return Err(format!("rate_steps may be 0 to {MAX_STEPS}, not {}", steps.len()));
        }
        if let Some(pair) = steps.windows(2).find(|pair| pair[1].at <= pair[0].at) {
            let [a, b] = [pair[0].at.as_millis(), pair[1].at.as_millis()];
            return Err(format!("rate_steps go forward in time: at_ms = {b} comes after at_ms = {a}"));
        }
        Ok(HopSpec {
            rate: raw.rate_kbps.map(Bitrate::from_kbps),
            rate_steps: steps,
            propagation: Duration::from_micros(raw.propagation_us),
            queue,
            loss: raw.loss,
            reorder: raw.reorder,
            duplicate: raw.duplicate,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRateStep {
    #[serde(deserialize_with = "number::at_ms")]
    at_ms: u64,
    #[serde(deserialize_with = "number::rate_kbps")]
    rate_kbps: u64,
}

impl From<RawRateStep> for RateStep {
    fn from(raw: RawRateStep) -> Self {
        RateStep { at: Duration::from_millis(raw.at_ms), rate: Bitrate::from_kbps(raw.rate_kbps) }
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum RawLoss {
    Bernoulli {
        #[serde(deserialize_with = "number::probability")]
        probability: Probability,
    },
    GilbertElliott {
        #[serde(deserialize_with = "number::to_bad")]
        to_bad: Probability,
        #[serde(deserialize_with = "number::to_good")]
        to_good: Probability,
        #[serde(deserialize_with = "number::loss_good")]
        loss_good: Probability,
        #[serde(deserialize_with = "number::loss_bad")]
        loss_bad: Probability,
    },
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
    #[serde(deserialize_with = "number::probability")]
    probability: Probability,
    #[serde(deserialize_with = "number::extra_us")]
    extra_us: u64,
}

impl From<RawReorder> for ReorderSpec {
    fn from(raw: RawReorder) -> Self {
        ReorderSpec { probability: raw.probability, extra: Duration::from_micros(raw.extra_us) }
    }
}

read_as!(
    DirectionSpec: RawDirection,
    HopSpec: RawHop,
    LossSpec: RawLoss,
    ReorderSpec: RawReorder,
    RateStep: RawRateStep,
    SessionTiming: RawSession
);

#[cfg(test)]
mod tests {
    use media::DataSize;

    use super::*;
    use crate::cross::Traffic;

    const GOOD: &str = r#"description = "Two hops."
warmup_ms = 20
sessions = [{}, { start_ms = 30, pause_ms = [40, 50], access_us = 60 }]
[backward]
bottleneck = 1
hops = [
  { propagation_us = 5 },
  { rate_kbps = 1000, rate_steps = [{ at_ms = 40, rate_kbps = 500 }, { at_ms = 50, rate_kbps = 2000 }], propagation_us = 1_000, queue_bytes = 3000, loss = { kind = "bernoulli", probability = 0.1 }, reorder = { probability = 0.2, extra_us = 300 }, duplicate = 0.3 },
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
        let ms = Duration::from_millis;
        let second = SessionTiming { start: ms(30), pause: Some((ms(40), ms(50))), access: Duration::from_micros(60) };
        assert_eq!(s.sessions, [SessionTiming::default(), second]);
        let p = |p| Probability::new(p).unwrap();
        let step = |ms, kbps| RateStep { at: Duration::from_millis(ms), rate: Bitrate::from_kbps(kbps) };
        assert_eq!(
            s.backward.hops[1],
            HopSpec {
                rate: Some(Bitrate::from_kbps(1000)),
                rate_steps: vec![step(40, 500), step(50, 2000)],
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
            ("pause_ms = [40, 50]", "pause_ms = [50, 50]", 3, "must end after it begins"),
            (
                "start_ms = 30",
                "start_ms = 86_400_001",
                3,
                "start_ms = 86400001 must be a whole number between 0 and 86400000",
            ),
            (
                "pause_ms = [40, 50]",
                "pause_ms = [-40, 50]",
                3,
                "pause_ms = -40 must be a whole number between 0 and 86400000",
            ),
            ("warmup_ms = 20", "warmup_ms = -20", 2, "warmup_ms = -20 must be a whole number between 0 and 86400000"),
            ("warmup_ms = 20", "warmup_ms = 99_999_999_999", 2, "between 0 and 86400000"),
            (
                "access_us = 60",
                "access_us = 60_000_001",
                3,
                "access_us = 60000001 must be a whole number between 0 and 60000000",
            ),
            ("access_us = 60", "acess_us = 60", 3, "unknown field `acess_us`"),
            ("bottleneck = 1", "bottleneck = 2", 4, "names no hop"),
            ("0.1", "1.1", 8, "probability = 1.1 must be a probability between 0.0 and 1.0"),
            ("rate_kbps = 1000", "rate_kbps = 0", 8, "rate_kbps = 0 must be a whole number between 1 and 1000000000"),
            (
                "queue_bytes = 3000",
                "queue_bytes = -3",
                8,
                "queue_bytes = -3 must be a whole number between 0 and 1000000000",
            ),
            (
                "queue_bytes = 3000",
                "queue_packets = 99_999_999",
                8,
                "queue_packets = 99999999 must be a whole number between 0 and 1000000",
            ),
            ("queue_bytes = 3000", "queue_bytes = 3000, queue_packets = 1", 6, "not by both"),
            ("bernoulli", "sometimes", 8, "unknown variant `sometimes`"),
            ("rate_kbps = 1000, ", "", 6, "this one has none"),
            ("at_ms = 50", "at_ms = 40", 6, "go forward in time: at_ms = 40 comes after at_ms = 40"),
            ("at_ms = 50", "at_ms = 86_400_001", 8, "between 0 and 86400000"),
            ("at_ms = 50", "at_ms = -1", 8, "at_ms = -1 must be a whole number between 0 and 86400000"),
            ("at_ms = 50", "at_us = 50", 8, "unknown field `at_us`"),
            ("rate_kbps = 2000", "rate_kbps = 0", 8, "rate_kbps = 0 must be a whole number between 1 and 1000000000"),
            ("start_us = 7", "start_us = -7", 12, "start_us = -7 must be a whole number between 0 and 86400000000"),
            ("rate_kbps = 8,", "rate_kbps = 8000,", 13, "make them larger"),
            ("[forward]", "[foreward]", 15, "unknown field `foreward`"),
            ("hops = [{ propagation_us = 1 }]", "hops = []", 15, "1 to 64 hops"),
            (
                "hops = [{ propagation_us = 1 }]",
                "hops = [{ propagation_us = 999_000_000 }]",
                16,
                "propagation_us = 999000000 must be a whole number between 0 and 60000000",
            ),
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
