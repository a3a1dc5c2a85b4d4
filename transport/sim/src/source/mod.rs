//! Where the haptic samples of a simulated run come from: a recording, a generator, or a hand and a scene that feel the
//! delay between them.
//!
//! The virtual clock starts at `Instant::ZERO` with tick 0; tick n is at n milliseconds.

mod closed_loop;
mod generator;
mod trace_file;

pub use closed_loop::{ClosedLoopConfig, OpServo, TopServo};
pub use generator::{Generator, GeneratorConfig, Phase};
pub use trace_file::{AtEnd, Trace, TraceError, TraceRow, TraceServo};

/// What a station's servo does in the simulation.
pub trait Servo {
    /// A sample of the peer is due for display: it came out of playout at this moment of the virtual clock, and the peer
    /// took it at its tick `index`. It counts from the next [`Servo::tick`] on.
    fn display(&mut self, at: media::Instant, index: u64, sample: media::HapticSample);

    /// The sample of this tick, to be sent. Ticks rise; those left out were missed. What came due for display at the very
    /// moment of the tick is shown first.
    fn tick(&mut self, tick: u64) -> media::HapticSample;
}

impl<S: Servo + ?Sized> Servo for Box<S> {
    fn display(&mut self, at: media::Instant, index: u64, sample: media::HapticSample) {
        (**self).display(at, index, sample);
    }

    fn tick(&mut self, tick: u64) -> media::HapticSample {
        (**self).tick(tick)
    }
}
