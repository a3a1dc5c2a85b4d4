//! One run of an experiment: what it depends on, and how it is run.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use media::{Bitrate, Duration, Role};
use netem::{DirectionSpec, Scenario};
use proto::{Config, Scheme};
use serde::{Deserialize, Serialize};

use super::result::{JobResult, Series, SessionResult};
use super::{Experiment, ExperimentError};
use crate::error::SimError;
use crate::fidelity::{Reference, run_with_forces};
use crate::source::Source;
use crate::spec::{RunSpec, SessionSpec};

/// Between the starts of two sessions: not a whole number of ticks, so that their ticks do not coincide.
const APART: Duration = Duration::from_micros(130_370);

/// One run.
#[derive(Clone, Debug)]
pub struct Job {
    /// All that the run depends on.
    pub key: Key,
    /// R_cbr, kbit/s, in a sweep.
    pub cross_kbps: Option<u32>,
    scenario: Scenario,
    schemes: Vec<Scheme>,
    source: Source,
}

/// All that a run depends on: two runs with equal keys have equal results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Version of the program.
    pub version: String,
    /// A digest of all constants: those of the endpoints, of the network and of the source.
    pub constants: String,
    /// Name of the network.
    pub scenario: String,
    /// Scheme of each session.
    pub schemes: Vec<Scheme>,
    /// What each link has for each of several sessions, kbit/s.
    pub share_kbps: Option<u64>,
    /// Seed of all randomness.
    pub seed: u64,
    /// Where in its round the hand is at the start, ms.
    pub hand_start_ms: u64,
    /// Length, s.
    pub seconds: f64,
    /// Name of the source of haptic samples.
    pub source: String,
    /// The stretch kept moment by moment, ms.
    pub window_ms: Option<(u64, u64)>,
}

/// How many runs an experiment has at most.
pub(super) fn count(e: &Experiment) -> usize {
    let sharing = e.sharing.as_ref().map_or(1, |s| s.sessions.len() * s.share_kbps.len() * s.others.len());
    [e.networks.len(), e.schemes.len(), e.seeds.len(), e.hand_starts_ms.len()]
        .into_iter()
        .fold(sharing, usize::saturating_mul)
}

/// The runs of an experiment in the order of its table.
pub(super) fn of(e: &Experiment) -> Result<Vec<Job>, ExperimentError> {
    let source = e.source()?;
    let mut jobs = Vec::new();
    for (cross_kbps, network) in &e.networks {
        for (share_kbps, schemes) in crews(e) {
            let scenario = match share_kbps {
                Some(share) => widened(network, share * schemes.len() as u64),
                None => network.clone(),
            };
            for &hand_start_ms in &e.hand_starts_ms {
                let mut source = source.clone();
                if let Source::ClosedLoop(config) = &mut source {
                    config.hand_starts = Duration::from_millis(hand_start_ms);
                }
                for &seed in &e.seeds {
                    let key = Key {
                        version: env!("CARGO_PKG_VERSION").into(),
                        constants: digest(&scenario, &source),
                        scenario: network.name.clone(),
                        schemes: schemes.clone(),
                        share_kbps,
                        seed,
                        hand_start_ms,
                        seconds: e.seconds,
                        source: e.source.clone(),
                        window_ms: e.window_ms.filter(|_| e.keeps_window(*cross_kbps)),
                    };
                    let (scenario, schemes, source) = (scenario.clone(), schemes.clone(), source.clone());
                    let job = Job { key, cross_kbps: *cross_kbps, scenario, schemes, source };
                    job.spec().check().map_err(run_error)?;
                    jobs.push(job);
                }
            }
        }
    }
    Ok(jobs)
}

/// Who runs together: the share of each session, kbit/s, and the schemes.
fn crews(e: &Experiment) -> Vec<(Option<u64>, Vec<Scheme>)> {
    let Some(sharing) = &e.sharing else { return e.schemes.iter().map(|&s| (None, vec![s])).collect() };
    let mut crews = Vec::new();
    for &sessions in &sharing.sessions {
        for &share in &sharing.share_kbps {
            for &first in &e.schemes {
                for others in &sharing.others {
                    let mut schemes = vec![others.unwrap_or(first); sessions];
                    schemes[0] = first;
                    // All of one scheme can be said in two ways.
                    if !crews.contains(&(Some(share), schemes.clone())) {
                        crews.push((Some(share), schemes));
                    }
                }
            }
        }
    }
    crews
}

/// The network with links that have so much for the sessions beside the cross-traffic's nominal rate.
fn widened(network: &Scenario, sessions_kbps: u64) -> Scenario {
    let widen = |direction: &DirectionSpec| {
        let mut wide = direction.clone();
        let cross: f64 = direction.cross.iter().map(|flow| flow.traffic.nominal().as_kbps()).sum();
        for hop in wide.hops.iter_mut().filter(|hop| hop.rate.is_some()) {
            hop.rate = Some(Bitrate::from_kbps(sessions_kbps + cross.ceil() as u64));
        }
        wide
    };
    Scenario { backward: widen(&network.backward), forward: widen(&network.forward), ..network.clone() }
}

/// FNV-1a, 64 bits, of everything whose change changes results but not names.
fn digest(scenario: &Scenario, source: &Source) -> String {
    struct Fnv(u64);
    impl Write for Fnv {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for byte in text.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
            Ok(())
        }
    }
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    // Writing to a number cannot fail.
    let _ = write!(hash, "{scenario:?} {:?} {:?} {source:?}", Config::new(Role::Op), Config::new(Role::Top));
    format!("{:016x}", hash.0)
}

impl Job {
    /// A few words for people.
    pub fn title(&self) -> String {
        let schemes: Vec<String> = self.schemes.iter().map(Scheme::to_string).collect();
        format!("{} {} seed {}", self.key.scenario, schemes.join("+"), self.key.seed)
    }

    /// Scheme of the first session.
    pub fn scheme(&self) -> Scheme {
        self.schemes[0]
    }

    /// Scheme of each session.
    pub fn schemes(&self) -> &[Scheme] {
        &self.schemes
    }

    /// Runs it to the end.
    ///
    /// # Errors
    /// [`ExperimentError::Run`] if the run is not possible.
    pub fn run(&self, references: &References) -> Result<JobResult, ExperimentError> {
        let spec = self.spec();
        if self.schemes.len() > 1 {
            let others = self.schemes.iter().enumerate().skip(1).map(|(i, &scheme)| SessionSpec {
                start: Duration::from_nanos(APART.as_nanos() as u64 * i as u64),
                ..SessionSpec::new(scheme)
            });
            let outcomes = crate::run_together(spec, others.collect()).map_err(run_error)?;
            let sessions =
                self.schemes.iter().zip(outcomes).map(|(&scheme, o)| SessionResult::new(scheme, o).0).collect();
            return Ok(JobResult { sessions, series: None });
        }
        let (outcome, forces) = if self.source.has_forces() {
            let reference = references.of(self)?;
            let (outcome, forces) = run_with_forces(spec, &self.source, &reference).map_err(run_error)?;
            (outcome, Some((forces, reference)))
        } else {
            (crate::run(spec).map_err(run_error)?, None)
        };
        let (session, traces) = SessionResult::new(self.scheme(), outcome);
        let signals = forces.as_ref().map(|(shown, ideal)| [shown.as_slice(), ideal.forces()]);
        let series = self.key.window_ms.zip(traces).map(|(window, traces)| Series::new(&traces, window, signals));
        Ok(JobResult { sessions: vec![session], series })
    }

    fn spec(&self) -> RunSpec {
        let mut spec = RunSpec::new(self.scenario.clone(), self.scheme());
        (spec.seed, spec.seconds, spec.traces) = (self.key.seed, self.key.seconds, self.key.window_ms.is_some());
        spec
    }
}

/// Forces over an ideal network, made once for all runs that need the same.
#[derive(Debug, Default)]
pub struct References {
    made: Mutex<BTreeMap<(u64, u64), Slot>>,
}

type Slot = Arc<OnceLock<Result<Arc<Reference>, ExperimentError>>>;

impl References {
    /// None yet. All runs that share it are of one experiment.
    pub fn new() -> Self {
        References::default()
    }

    fn of(&self, job: &Job) -> Result<Arc<Reference>, ExperimentError> {
        let slot = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            made.entry((job.key.seed, job.key.hand_start_ms)).or_default().clone()
        };
        let make = || Reference::new(&job.source, job.key.seed, job.key.seconds).map(Arc::new).map_err(run_error);
        slot.get_or_init(make).clone()
    }
}

fn run_error(error: SimError) -> ExperimentError {
    ExperimentError::Run(error.to_string())
}
