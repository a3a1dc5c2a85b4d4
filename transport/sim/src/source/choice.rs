//! The sources by name.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use media::Role;

use super::{
    AtEnd, ClosedLoopConfig, Generator, GeneratorConfig, OpServo, Servo, SyntheticServo, TopServo, Trace, TraceError,
    TraceServo,
};

/// Where the haptic samples of both stations come from.
#[derive(Clone, Debug, Default)]
pub enum Source {
    /// Numbers that tell their tick: for tests of delivery, without meaning to a hand.
    #[default]
    Synthetic,
    /// A hand, PD control and a scene that feel the delay between them.
    ClosedLoop(Box<ClosedLoopConfig>),
    /// Free motion, contact and texture by the seed; delay does not act back.
    Generator(GeneratorConfig),
    /// A recording, played in a loop.
    Trace(Arc<Trace>),
}

/// Why there is no such source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No source has this name.
    #[error("unknown source '{0}': use {names}", names = Source::GRAMMAR)]
    Unknown(String),
    /// The recording cannot be used.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl Source {
    /// The names that [`Source::parse`] takes, in words.
    pub const GRAMMAR: &str = "synthetic, closed-loop, generator or trace:FILE (CSV)";

    /// The source of this name; a recording is loaded.
    ///
    /// # Errors
    /// If no source has this name, or the recording cannot be used.
    pub fn parse(text: &str) -> Result<Source, SourceError> {
        match text {
            "synthetic" => Ok(Source::Synthetic),
            "closed-loop" => Ok(Source::ClosedLoop(Box::default())),
            "generator" => Ok(Source::Generator(GeneratorConfig::default())),
            _ => match text.strip_prefix("trace:") {
                Some(file) => Ok(Source::Trace(Arc::new(Trace::load(Path::new(file))?))),
                None => Err(SourceError::Unknown(text.into())),
            },
        }
    }

    /// The servos of the operator and of the teleoperator.
    pub fn servos(&self, seed: u64) -> [Box<dyn Servo>; 2] {
        match self {
            Source::Synthetic => {
                [Role::Op, Role::Top].map(|role| Box::new(SyntheticServo::new(role)) as Box<dyn Servo>)
            }
            Source::ClosedLoop(config) => [Box::new(OpServo::new(config)), Box::new(TopServo::new(config))],
            Source::Generator(config) => {
                [Role::Op, Role::Top].map(|role| Box::new(Generator::new(*config, role, seed)) as Box<dyn Servo>)
            }
            Source::Trace(trace) => [Role::Op, Role::Top]
                .map(|role| Box::new(TraceServo::new(trace.clone(), role, AtEnd::Loop)) as Box<dyn Servo>),
        }
    }

    /// Do the forces mean something, so that they can be compared with those over an ideal network?
    pub fn has_forces(&self) -> bool {
        !matches!(self, Source::Synthetic)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Synthetic => "synthetic",
            Source::ClosedLoop(_) => "closed-loop",
            Source::Generator(_) => "generator",
            Source::Trace(_) => "trace",
        })
    }
}
