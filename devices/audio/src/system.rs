//! What a sound system must be able to do for [`crate::follow`]: cpal's does, and a fake one in the tests.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::playback::Feeder;
use crate::{AudioError, DeviceKind};

/// Opens devices.
pub(crate) trait System: Send {
    /// What the default device stands for now: any text that changes when it does. `None` if that is not known. Asked
    /// once a second.
    fn default_now(&mut self, kind: DeviceKind) -> Option<String>;

    /// Opens the microphone of this name, or the default one; its mono samples come out of the ring.
    ///
    /// # Errors
    /// It is not there or not usable.
    fn capture(&mut self, wanted: Option<&str>) -> Result<(Stream, rtrb::Consumer<f32>), AudioError>;

    /// Opens the speaker of this name, or the default one.
    ///
    /// # Errors
    /// It is not there or not usable.
    fn playback(&mut self, wanted: Option<&str>) -> Result<(Stream, Feeder), AudioError>;
}

/// A running stream; it ends when dropped.
pub(crate) struct Stream {
    /// For people.
    pub name: String,
    /// Samples a second.
    pub rate: u32,
    /// Of the device, not of the ring.
    pub channels: u16,
    pub health: Arc<Health>,
    /// Ends the device's thread when dropped.
    pub _keep: Box<dyn Send>,
}

impl Stream {
    /// One line for people.
    pub fn describe(&self) -> String {
        format!("{}, {} Hz, {} ch", self.name, self.rate, self.channels)
    }
}

/// What the device's own thread reports.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Set once, when the stream is over: no callback of sound takes this lock.
    fault: Mutex<Option<String>>,
    /// Samples at the device's rate that found no room.
    lost: AtomicU64,
}

impl Health {
    /// The stream is over.
    pub fn fail(&self, why: String) {
        if let Ok(mut fault) = self.fault.lock() {
            fault.get_or_insert(why);
        }
    }

    /// Why the stream is over, if it is.
    pub fn fault(&self) -> Option<String> {
        self.fault.lock().ok().and_then(|f| f.clone())
    }

    /// Samples found no room in the ring.
    pub fn lose(&self, samples: u64) {
        self.lost.fetch_add(samples, Ordering::Relaxed);
    }

    /// Samples lost so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
