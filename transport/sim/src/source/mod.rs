//! What goes into the endpoints of a simulation: haptic samples from a [`Servo`], synthetic sound and pictures.

mod synthetic;

use std::cell::RefCell;
use std::rc::Rc;

use media::{HapticSample, Instant};

pub use synthetic::{SyntheticMedia, SyntheticServo, sample_of};

/// What a station's servo does in the simulation.
pub trait Servo {
    /// Sample `index` (its tick at the peer) is displayed at `at` on the virtual clock.
    fn display(&mut self, at: Instant, index: u64, sample: HapticSample);

    /// The sample of tick `tick`, ticks from 0, one a millisecond. All that was displayed up to and including this
    /// instant has been told before.
    fn tick(&mut self, tick: u64) -> HapticSample;
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
