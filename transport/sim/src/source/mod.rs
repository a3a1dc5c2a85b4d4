//! What goes into the endpoints of a simulation: haptic samples from a [`Servo`] (synthetic, recorded, generated, or a hand
//! and a scene that feel the delay between them), and sound and pictures from a [`FrameSource`] (by size and interval, or encoded files).
//!
//! The virtual clock starts at `Instant::ZERO` with tick 0; tick n is at n milliseconds.

mod choice;
mod closed_loop;
mod frame_source;
mod generator;
mod h264;
mod ogg;
mod recording;
mod synthetic;
mod trace_file;

use std::cell::RefCell;
use std::rc::Rc;

use media::{HapticSample, Instant};

pub use choice::{Source, SourceError};
pub use closed_loop::{ClosedLoopConfig, OpServo, TopServo};
pub use frame_source::{FrameSource, FrameSourceError, INTERVAL_MS, MIN_FRAME_BYTES, SourceFrame};
pub use generator::{Generator, GeneratorConfig, Phase};
pub use recording::{MAX_FILE, RecordedFrame, Recording, RecordingError};
pub use synthetic::{SyntheticServo, sample_of};
pub use trace_file::{AtEnd, Trace, TraceError, TraceRow, TraceServo};

/// What a station's servo does in the simulation.
pub trait Servo {
    /// A sample of the peer is due for display: it came out of playout at this moment of the virtual clock, and the peer
    /// took it at its tick `index`. It counts from the next [`Servo::tick`] on.
    fn display(&mut self, at: Instant, index: u64, sample: HapticSample);

    /// The sample of this tick, to be sent. Ticks rise; those left out were missed. What came due for display at the very
    /// moment of the tick is shown first.
    fn tick(&mut self, tick: u64) -> HapticSample;
}

impl<S: Servo + ?Sized> Servo for Box<S> {
    fn display(&mut self, at: Instant, index: u64, sample: HapticSample) {
        (**self).display(at, index, sample);
    }

    fn tick(&mut self, tick: u64) -> HapticSample {
        (**self).tick(tick)
    }
}

/// A servo that its owner can look at after the run.
impl<S: Servo> Servo for Rc<RefCell<S>> {
    fn display(&mut self, at: Instant, index: u64, sample: HapticSample) {
        self.borrow_mut().display(at, index, sample);
    }

    fn tick(&mut self, tick: u64) -> HapticSample {
        self.borrow_mut().tick(tick)
    }
}
