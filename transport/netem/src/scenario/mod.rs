//! Scenarios: networks by name. Those of the house are compiled in from `assets/scenarios`; any other comes from
//! a TOML file of the same shape (told in `assets/scenarios/README.md`).

mod paper;
mod shape;

use media::{Channel, Duration};

use crate::network::DirectionSpec;

/// Name, file and contents of the scenarios of these names.
macro_rules! built_in {
    ($($name:literal),*) => {
        &[$((
            $name,
            concat!("assets/scenarios/", $name, ".toml"),
            include_str!(concat!("../../../../assets/scenarios/", $name, ".toml")),
        )),*]
    };
}

/// The scenarios compiled in. The only list of them.
const BUILT_IN: &[(&str, &str, &str)] = built_in![
    "cellular",
    "lan",
    "rfc8867/5.1",
    "rfc8867/5.2",
    "rfc8867/5.3",
    "rfc8867/5.4",
    "rfc8867/5.5",
    "rfc8867/5.6",
    "rfc8867/5.7",
    "rfc8867/5.8",
    "tcp/long",
    "tcp/short",
    "wifi"
];

/// Members of the paper's family that are listed; all others can be had by name.
const LISTED: [&str; 5] = ["paper/r0", "paper/r100", "paper/r260", "paper/r300", "paper/r400"];

/// A network between two stations.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The name or path it was loaded by.
    pub name: String,
    /// One sentence for people.
    pub description: String,
    /// The first part of a run, which its figures leave out.
    pub warmup: Duration,
    /// The telehaptic sessions that share the network: a simulation runs them all, a live emulator carries one. At least one.
    pub sessions: Vec<SessionTiming>,
    /// TOP to OP.
    pub backward: DirectionSpec,
    /// OP to TOP.
    pub forward: DirectionSpec,
}

/// When a session is on, and how far its stations are from the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTiming {
    /// Its first tick, counted from the start of the network.
    pub start: Duration,
    /// It hands in nothing from here to there, counted likewise.
    pub pause: Option<(Duration, Duration)>,
    /// One-way delay between its stations and the network, in each direction on top of the network's own.
    pub access: Duration,
}

/// Why a scenario could not be loaded. Each is one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// There is none of this name.
    #[error("unknown scenario '{0}': use {names}, or the path of a .toml file", names = Scenario::grammar())]
    UnknownName(String),
    /// The file cannot be read.
    #[error("scenario file {path}: {reason}; check the path and its permissions")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The file is read, but says what cannot be.
    #[error(
        "scenario file {file}, line {line} '{text}': {what}; correct this line (assets/scenarios/README.md tells the format)"
    )]
    Invalid {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// How it begins.
        text: String,
        /// What is wrong with it.
        what: String,
    },
}

impl Scenario {
    /// The scenario of this name, or from the file at this path if it ends in `.toml`.
    ///
    /// # Errors
    /// If there is no such name, or the file cannot be read or says what cannot be.
    pub fn load(name_or_path: &str) -> Result<Scenario, ScenarioError> {
        if name_or_path.ends_with(".toml") {
            return shape::parse(&read(name_or_path)?, name_or_path, name_or_path);
        }
        if let Some(member) = paper::Member::parse(name_or_path) {
            return member.scenario(name_or_path);
        }
        match BUILT_IN.iter().find(|(name, ..)| *name == name_or_path) {
            Some((name, file, text)) => shape::parse(text, file, name),
            None => Err(ScenarioError::UnknownName(name_or_path.into())),
        }
    }

    /// Names that [`Scenario::load`] takes, of the paper's family a selection.
    pub fn names() -> Vec<String> {
        BUILT_IN.iter().map(|(name, ..)| *name).chain(LISTED).map(String::from).collect()
    }

    /// All names that [`Scenario::load`] takes, in words.
    pub fn grammar() -> String {
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, ..)| *name).collect();
        format!("{}, paper/rN[-fM][-m0|-m1][-ideal] (N and M from 0 to {})", names.join(", "), paper::MAX_KBPS)
    }

    /// The network of this channel.
    pub fn direction(&self, channel: Channel) -> &DirectionSpec {
        match channel {
            Channel::Backward => &self.backward,
            Channel::Forward => &self.forward,
        }
    }
}

/// The seed of this channel's network in a run of this seed.
pub fn direction_seed(seed: u64, channel: Channel) -> u64 {
    match channel {
        Channel::Backward => seed,
        Channel::Forward => seed.wrapping_add(1000),
    }
}

/// The one place that touches files.
fn read(path: &str) -> Result<String, ScenarioError> {
    std::fs::read_to_string(path).map_err(|e| ScenarioError::Unreadable { path: path.into(), reason: e.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cross::Traffic;
    use media::Bitrate;

    #[test]
    fn every_listed_name_loads_under_its_name() {
        for name in Scenario::names() {
            let s = Scenario::load(&name).unwrap();
            assert_eq!(s.name, name);
            assert!(!s.description.is_empty() && !s.backward.hops.is_empty() && !s.forward.hops.is_empty(), "{name}");
        }
    }

    fn cbr_kbps(d: &DirectionSpec) -> Option<u64> {
        d.cross.iter().find(|c| c.name == "cbr").map(|c| match c.traffic {
            Traffic::Constant { rate, .. } => rate.as_bps() / 1000,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn suffixes_choose() {
        let s = Scenario::load("paper/r260-f100-m1-ideal").unwrap();
        assert_eq!((cbr_kbps(&s.backward), cbr_kbps(&s.forward)), (Some(260), Some(100)));
        let rates: Vec<_> = s.backward.hops.iter().map(|h| h.rate).collect();
        assert_eq!(rates, [None, Some(Bitrate::from_kbps(1500)), None]);
        assert!(s.backward.cross.iter().all(|c| c.access_rate.is_none()));
        let vbr =
            |name: &str| Scenario::load(name).unwrap().forward.cross.iter().find(|c| c.name == "vbr").unwrap().traffic;
        assert!(matches!(vbr("paper/r260-m1"), Traffic::VariableGap { .. }));
        assert!(matches!(vbr("paper/r260"), Traffic::VariableSize { .. }));
        assert!(matches!(vbr("paper/r260-m0"), Traffic::Constant { .. }));
        let s = Scenario::load("paper/r0").unwrap();
        assert_eq!((cbr_kbps(&s.backward), cbr_kbps(&s.forward), s.warmup), (None, None, Duration::from_millis(500)));
        assert!(s.backward.hops.iter().all(|h| h.rate == Some(Bitrate::from_kbps(1500))));
    }

    /// Capacity of a hop in kbit/s and when it begins in seconds.
    fn capacities(d: &DirectionSpec) -> Vec<(u64, u64)> {
        let hop = &d.hops[d.bottleneck];
        let first = (0, hop.rate.unwrap().as_bps() / 1000);
        let rest = hop.rate_steps.iter().map(|step| (step.at.as_secs(), step.rate.as_bps() / 1000));
        std::iter::once(first).chain(rest).collect()
    }

    #[test]
    fn capacities_of_the_test_cases_are_their_ratios() {
        // Case, reference in kbit/s, seconds and ratios of the backward channel.
        for (case, reference, ratios) in [
            (1, 1250u32, vec![(0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)]),
            (2, 2500, vec![(0, 2.0), (25, 1.0), (50, 1.75), (75, 0.5), (100, 1.0)]),
            (3, 1250, vec![(0, 2.0), (20, 1.0), (40, 0.5), (60, 2.0)]),
            (4, 4375, vec![(0, 1.0)]),
            (5, 5000, vec![(0, 1.0)]),
            (6, 2500, vec![(0, 1.0)]),
            (7, 2500, vec![(0, 1.0)]),
            (8, 4375, vec![(0, 1.0)]),
        ] {
            let s = Scenario::load(&format!("rfc8867/5.{case}")).unwrap();
            let scaled: Vec<_> = ratios.iter().map(|&(at, r)| (at, (f64::from(reference) * r) as u64)).collect();
            assert_eq!(capacities(&s.backward), scaled, "{case}");
            // 300 ms at the reference.
            let bytes = u64::from(reference) * 300 / 8;
            assert_eq!(s.backward.hops[0].queue, crate::link::QueueLimit::Bytes(bytes), "{case}");
            let ms = if case == 5 { 10 } else { 50 };
            assert!([&s.backward, &s.forward].iter().all(|d| d.hops[0].propagation == Duration::from_millis(ms)));
        }
        let s = Scenario::load("rfc8867/5.3").unwrap();
        assert_eq!(capacities(&s.forward), [(0, 2 * 785), (35, 785 * 8 / 10), (70, 2 * 785)]);
    }

    #[test]
    fn wrong_names_are_answered_with_the_right_ones() {
        for name in [
            "",
            "paper",
            "paper/",
            "paper/r",
            "paper/r1501",
            "paper/r-1",
            "paper/r1-m2",
            "paper/r1-m0-f2",
            "paper/r1-",
            "paper/r1-ideal-m0",
            "paper/r+1",
            "paper/r1-m0-m1",
            "LAN",
            "paper/r99999999999999999999",
        ] {
            let error = Scenario::load(name).unwrap_err().to_string();
            assert!(
                error.contains(&format!("'{name}'")) && error.contains("paper/rN[-fM]") && error.contains("wifi"),
                "{error}"
            );
            assert_eq!(error.lines().count(), 1);
        }
        let error = Scenario::load("no/such/file.toml").unwrap_err().to_string();
        assert!(error.contains("no/such/file.toml") && error.contains("check the path"), "{error}");
    }

    #[test]
    fn the_forward_direction_has_a_seed_of_its_own() {
        assert_eq!(direction_seed(3, Channel::Backward), 3);
        assert_eq!(direction_seed(3, Channel::Forward), 1003);
        assert_eq!(direction_seed(u64::MAX, Channel::Forward), 999);
    }
}
