//! A source that is always quiet and a sink that keeps nothing.

use media::{Duration, Instant};

use crate::pace::Pace;
use crate::{FRAME, Sink, Source};

/// Frames of zeros at the pace of `now`.
pub(crate) struct Silence(Pace);

impl Silence {
    pub(crate) fn new(now: Instant) -> Self {
        Silence(Pace::new(now))
    }
}

impl Source for Silence {
    fn describe(&self) -> String {
        "silence".to_owned()
    }

    fn poll(&mut self, now: Instant, frame: &mut [f32; FRAME]) -> Option<Instant> {
        let (_, at) = self.0.poll(now)?;
        frame.fill(0.0);
        Some(at)
    }

    fn dropped(&self) -> u64 {
        self.0.dropped()
    }
}

/// The sink `none`.
pub(crate) struct Nowhere;

impl Sink for Nowhere {
    fn describe(&self) -> String {
        "none".to_owned()
    }

    fn push(&mut self, _now: Instant, _samples: &[f32]) {}

    fn queued(&self) -> Duration {
        Duration::ZERO
    }
}
