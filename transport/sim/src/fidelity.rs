//! How true the force is that the operator is shown: SNR against the same session over an ideal network.

use std::cell::RefCell;
use std::rc::Rc;

use media::{Force, HapticSample, Instant};
use netem::{DirectionSpec, Scenario, SessionTiming};
use proto::Scheme;

use crate::error::SimError;
use crate::outcome::Outcome;
use crate::snr::{Alignment, DisplayRecorder, snr_db};
use crate::source::{Servo, Source};
use crate::spec::{RunSpec, SessionSpec};

/// A servo, and a record of the force that it is shown.
struct Watched {
    servo: Box<dyn Servo>,
    recorder: Rc<RefCell<DisplayRecorder>>,
}

impl Servo for Watched {
    fn display(&mut self, at: Instant, index: u64, sample: HapticSample) {
        if let HapticSample::Force(force) = sample {
            self.recorder.borrow_mut().on_display(at, force);
        }
        self.servo.display(at, index, sample);
    }

    fn tick(&mut self, tick: u64) -> HapticSample {
        self.servo.tick(tick)
    }
}

/// The forces displayed over an ideal network: every sample sent, at once where it is needed. N, one a millisecond.
#[derive(Clone, Debug)]
pub struct Reference(Vec<Force>);

impl Reference {
    /// That of `source` in a run of such a seed and length. One reference serves all networks and schemes.
    ///
    /// # Errors
    /// [`SimError::Seconds`] if the length is out of range.
    pub fn new(source: &Source, seed: u64, seconds: f64) -> Result<Reference, SimError> {
        let scenario = Scenario {
            name: "ideal".into(),
            description: String::new(),
            warmup: media::Duration::ZERO,
            sessions: vec![SessionTiming::default()],
            backward: DirectionSpec::default(),
            forward: DirectionSpec::default(),
        };
        let mut spec = RunSpec::new(scenario, Scheme::NoMerge);
        (spec.seed, spec.seconds) = (seed, seconds);
        watched(spec, source).map(|(_, forces)| Reference(forces))
    }

    /// The forces, N.
    pub fn forces(&self) -> &[Force] {
        &self.0
    }
}

/// Runs `spec` with the samples of `source` in the place of its own servos, and compares the displayed force with
/// `reference`: [`crate::Details::force_snr_db`]. The warm-up is left out.
///
/// # Errors
/// [`SimError::Seconds`] if the length is out of range.
pub fn run_with_snr(spec: RunSpec, source: &Source, reference: &Reference) -> Result<Outcome, SimError> {
    run_with_forces(spec, source, reference).map(|(outcome, _)| outcome)
}

/// As [`run_with_snr`], with the forces displayed to the operator, N, one a millisecond.
pub(crate) fn run_with_forces(
    spec: RunSpec,
    source: &Source,
    reference: &Reference,
) -> Result<(Outcome, Vec<Force>), SimError> {
    let warmup = spec.scenario.warmup.as_millis() as usize;
    let (mut outcome, forces) = watched(spec, source)?;
    fn tail(signal: &[Force], warmup: usize) -> &[Force] {
        signal.get(warmup..).unwrap_or_default()
    }
    outcome.details.force_snr_db =
        snr_db(tail(&reference.0, warmup), tail(&forces, warmup), Alignment::None).filter(|snr| snr.is_finite());
    Ok((outcome, forces))
}

fn watched(mut spec: RunSpec, source: &Source) -> Result<(Outcome, Vec<Force>), SimError> {
    let recorder = Rc::new(RefCell::new(DisplayRecorder::new()));
    let end = Instant::from_millis(spec.ticks()?);
    let [op, top] = source.servos(spec.seed);
    let op = Box::new(Watched { servo: op, recorder: recorder.clone() });
    spec.session = SessionSpec { op, top, ..spec.session };
    let outcome = crate::run(spec)?;
    let forces = recorder.take().finish(end);
    Ok((outcome, forces))
}
