//! The shape of an experiment file. Everything that can be wrong is found while it is read, so that the message names
//! the line.

use std::fmt::Display;

use netem::Scenario;
use proto::Scheme;
use serde::Deserialize;
use serde::de::Error as _;

use super::{Drawing, Experiment, ExperimentError, Kind, Quantity, Sharing};
use crate::source::Source;
use crate::spec::{DEFAULT_SECONDS, SECONDS, TRACED_SECONDS};

/// Highest R_cbr, kbit/s: that of the paper's family of scenarios.
const MAX_KBPS: i64 = 1_500;
/// Highest seed and longest time in a list, ms: what a TOML number holds.
const MAX_NUMBER: i64 = i64::MAX;
/// Most sessions at once.
const MAX_SESSIONS: i64 = 16;
/// Longest stretch kept moment by moment, s.
const MAX_WINDOW: f64 = 60.0;

/// Reads the experiment `name` from the contents of `file`.
pub(super) fn parse(text: &str, file: &str, name: &str) -> Result<Experiment, ExperimentError> {
    let shape: FileShape = toml::from_str(text).map_err(|e| {
        let before = e.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
        let what = e.message().trim().replace('\n', ", ");
        let line = before.matches('\n').count();
        let text = text.lines().nth(line).unwrap_or("").trim().chars().take(60).collect();
        ExperimentError::Invalid { file: file.into(), line: line + 1, text, what }
    })?;
    Ok(Experiment { name: name.into(), ..shape.0 })
}

struct FileShape(Experiment);

impl<'de> Deserialize<'de> for FileShape {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(from)?;
        raw.experiment().map(FileShape).map_err(D::Error::custom)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    title: String,
    description: String,
    kind: Kind,
    scenarios: Option<List<Network>>,
    cross_kbps: Option<Rates>,
    schemes: List<SchemeName>,
    seeds: Option<List<Number<0, MAX_NUMBER>>>,
    hand_starts_ms: Option<List<Number<0, 3_600_000>>>,
    seconds: Option<Seconds>,
    source: Option<SourceName>,
    window_s: Option<Window>,
    window_at_kbps: Option<List<Number<0, MAX_KBPS>>>,
    sharing: Option<RawSharing>,
    columns: List<Quantity>,
    plots: Option<List<RawDrawing>>,
}

impl Raw {
    /// What no single line can be blamed for is checked here.
    fn experiment(self) -> Result<Experiment, String> {
        let networks = match (self.scenarios, self.cross_kbps) {
            (Some(list), None) => list.0.into_iter().map(|n| (None, n.0)).collect(),
            (None, Some(rates)) => rates.networks()?,
            _ => return Err("an experiment has either scenarios = [...] or cross_kbps = { from, to, step }".into()),
        };
        let swept = networks.iter().all(|(rate, _): &(Option<u32>, Scenario)| rate.is_some());
        let drawings: Vec<Drawing> = self.plots.map_or_else(Vec::new, |l| l.0.into_iter().map(|d| d.0).collect());
        let source = self.source.map_or_else(|| "synthetic".into(), |s| s.0);
        let seconds = self.seconds.map_or(DEFAULT_SECONDS, |s| s.0);
        for drawing in &drawings {
            match (drawing, self.kind) {
                (Drawing::Curves(_), Kind::Sweep) if swept => {}
                (Drawing::Curves(_), _) => {
                    return Err(
                        "a plot of quantities needs kind = \"sweep\" and cross_kbps = { from, to, step }".into()
                    );
                }
                _ if self.window_s.is_none() => {
                    return Err("a plot over time needs window_s = [from, to]".into());
                }
                (Drawing::Force, _) if source == "synthetic" => {
                    return Err("a plot of forces needs a source other than \"synthetic\"".into());
                }
                _ => {}
            }
        }
        if self.window_s.is_some() && seconds > *TRACED_SECONDS.end() {
            return Err(format!("with window_s a run has at most {} seconds", TRACED_SECONDS.end()));
        }
        let hand_starts = self.hand_starts_ms.map_or_else(|| vec![0], List::numbers);
        if hand_starts.len() > 1 && source != "closed-loop" {
            return Err("several hand_starts_ms need source = \"closed-loop\"".into());
        }
        if self.sharing.is_some() && (source != "synthetic" || self.window_s.is_some()) {
            return Err("[sharing] goes with source = \"synthetic\" and without window_s".into());
        }
        let window_at_kbps = self.window_at_kbps.map_or_else(Vec::new, List::numbers);
        for &rate in &window_at_kbps {
            if !networks.iter().any(|(swept, _)| swept.map(u64::from) == Some(rate)) {
                return Err(format!("window_at_kbps: {rate} is none of the rates of cross_kbps"));
            }
        }
        let experiment = Experiment {
            name: String::new(),
            title: self.title,
            description: self.description,
            kind: self.kind,
            networks,
            schemes: self.schemes.0.into_iter().map(|s| s.0).collect(),
            seeds: self.seeds.map_or_else(|| vec![1], List::numbers),
            hand_starts_ms: hand_starts,
            seconds,
            source,
            window_ms: self.window_s.map(|w| w.0),
            window_at_kbps,
            sharing: self.sharing.map(RawSharing::sharing),
            columns: self.columns.0,
            drawings,
        };
        let runs = super::job::count(&experiment);
        if !Experiment::RUNS.contains(&runs) {
            return Err(format!("these are {runs} runs; give lists that make {} to {}", 1, Experiment::RUNS.end()));
        }
        Ok(experiment)
    }
}

/// 1 to 100 things.
struct List<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let list = Vec::deserialize(from)?;
        match list.len() {
            1..=100 => Ok(List(list)),
            n => Err(D::Error::custom(format!("a list here has 1 to 100 entries, not {n}"))),
        }
    }
}

impl<const LOW: i64, const HIGH: i64> List<Number<LOW, HIGH>> {
    fn numbers(self) -> Vec<u64> {
        self.0.into_iter().map(|n| n.0).collect()
    }
}

/// A whole number from LOW (0 or more) to HIGH.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "i64")]
struct Number<const LOW: i64, const HIGH: i64>(u64);

impl<const LOW: i64, const HIGH: i64> TryFrom<i64> for Number<LOW, HIGH> {
    type Error = String;
    fn try_from(number: i64) -> Result<Self, String> {
        let inside = (LOW..=HIGH).contains(&number);
        let number = u64::try_from(number).ok().filter(|_| inside);
        number.map(Number).ok_or_else(|| format!("give a whole number from {LOW} to {HIGH}"))
    }
}

/// The R_cbr of a sweep over the paper's family of scenarios.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rates {
    from: Number<0, MAX_KBPS>,
    to: Number<0, MAX_KBPS>,
    step: Number<1, MAX_KBPS>,
    #[serde(default)]
    suffix: String,
}

impl Rates {
    fn networks(&self) -> Result<Vec<(Option<u32>, Scenario)>, String> {
        let (from, to) = (self.from.0 as u32, self.to.0 as u32);
        if from > to {
            return Err(format!("cross_kbps goes from {from} up to {to}: give a to of {from} to {MAX_KBPS}"));
        }
        let network = |rate: u32| {
            let name = format!("paper/r{rate}{}", self.suffix);
            Ok((Some(rate), Scenario::load(&name).map_err(|e| e.to_string())?))
        };
        (from..=to).step_by(self.step.0 as usize).map(network).collect()
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Network(Scenario);

impl TryFrom<String> for Network {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        Scenario::load(&name).map(Network).map_err(text)
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct SchemeName(Scheme);

impl TryFrom<String> for SchemeName {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        name.parse().map(SchemeName)
    }
}

#[derive(Deserialize)]
#[serde(try_from = "f64")]
struct Seconds(f64);

impl TryFrom<f64> for Seconds {
    type Error = String;
    fn try_from(seconds: f64) -> Result<Self, String> {
        let (low, high) = (SECONDS.start(), SECONDS.end());
        if SECONDS.contains(&seconds) { Ok(Seconds(seconds)) } else { Err(format!("give {low} to {high} seconds")) }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct SourceName(String);

impl TryFrom<String> for SourceName {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        Source::parse(&name).map_err(text)?;
        Ok(SourceName(name))
    }
}

/// From and to, ms.
#[derive(Deserialize)]
#[serde(try_from = "[f64; 2]")]
struct Window((u64, u64));

impl TryFrom<[f64; 2]> for Window {
    type Error = String;
    fn try_from([from, to]: [f64; 2]) -> Result<Self, String> {
        if from >= 0.0 && to - from >= 0.01 && to - from <= MAX_WINDOW && to <= *TRACED_SECONDS.end() {
            return Ok(Window(((from * 1e3).round() as u64, (to * 1e3).round() as u64)));
        }
        Err(format!(
            "window_s is [from, to] with 0 <= from < to, 0.01 to {MAX_WINDOW} s apart, to at most {} s",
            TRACED_SECONDS.end()
        ))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSharing {
    sessions: List<Number<2, MAX_SESSIONS>>,
    share_kbps: List<Number<1, 1_000_000>>,
    others: List<Others>,
}

impl RawSharing {
    fn sharing(self) -> Sharing {
        Sharing {
            sessions: self.sessions.numbers().into_iter().map(|n| n as usize).collect(),
            share_kbps: self.share_kbps.numbers(),
            others: self.others.0.into_iter().map(|o| o.0).collect(),
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Others(Option<Scheme>);

impl TryFrom<String> for Others {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "same" => Ok(Others(None)),
            _ => name.parse().map(|scheme| Others(Some(scheme))).map_err(|e: String| format!("{e}, or same")),
        }
    }
}

/// `"delay"`, `"k"`, `"force"`, or quantities that share an axis: `"haptic-max, haptic-mean"`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct RawDrawing(Drawing);

impl TryFrom<String> for RawDrawing {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        Ok(RawDrawing(match name.as_str() {
            "delay" => Drawing::Delay,
            "k" => Drawing::MergeFactor,
            "force" => Drawing::Force,
            _ => {
                let quantities: Vec<Quantity> = name
                    .split(',')
                    .map(|q| q.trim().parse())
                    .collect::<Result<_, String>>()
                    .map_err(|e| format!("{e}; over time: delay, k, force"))?;
                if quantities.iter().any(|q| q.unit() != quantities[0].unit()) || quantities.len() > 2 {
                    return Err("a plot shows one or two quantities of one unit".into());
                }
                Drawing::Curves(quantities)
            }
        }))
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}
