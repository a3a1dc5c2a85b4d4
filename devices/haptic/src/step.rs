//! One tick of a servo: read the device, let the scene push, take one step of control, write the force. The live servo
//! thread and the simulated stations turn the same two functions.

use media::{Force, HapticSample, Instant, Motion, Position};

use crate::control::{ControlStatus, Gate, Received};
use crate::device::{DeviceError, DeviceState, HapticDevice};
use crate::master::Master;
use crate::slave::Slave;

/// What came of one tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What reading the device gave.
    pub state: Result<DeviceState, DeviceError>,
    /// Where the device is, m, and how fast, m/s; zero if it cannot be read.
    pub motion: Motion,
    /// Force of the scene on the device, N; zero at the master.
    pub contact: Force,
    /// Where the slave should be, m; zero at the master.
    pub desired: Position,
    /// What the device was told to show, N: after all stages of safety.
    pub force: Force,
    /// To the peer.
    pub sample: HapticSample,
    /// How control went.
    pub status: ControlStatus,
    /// What writing the force gave.
    pub written: Result<(), DeviceError>,
}

impl Master {
    /// One tick at the operator's `device`; `newest` is the last sample of the peer, if there ever was one.
    pub fn tick(
        &mut self,
        now: Instant,
        device: &mut dyn HapticDevice,
        newest: Option<Received<HapticSample>>,
        gate: Gate,
    ) -> Step {
        let state = device.read(now);
        let out = self.step(now, &state, newest, gate);
        let written = device.write(now, out.force);
        Step {
            motion: motion(&state),
            state,
            contact: Force::ZERO,
            desired: Position::ZERO,
            force: out.force,
            sample: out.sample,
            status: out.status,
            written,
        }
    }
}

impl Slave {
    /// One tick at the teleoperator's `device`; `scene` gives its force on a device in this motion, N.
    pub fn tick(
        &mut self,
        now: Instant,
        device: &mut dyn HapticDevice,
        newest: Option<Received<HapticSample>>,
        gate: Gate,
        scene: impl FnOnce(&Motion) -> Force,
    ) -> Step {
        let state = device.read(now);
        let motion = motion(&state);
        // The scene is there whether or not force is let through.
        let contact = scene(&motion);
        device.touch(contact);
        let out = self.step(now, &state, newest, contact, gate);
        let written = device.write(now, out.force);
        Step {
            motion,
            state,
            contact,
            desired: out.desired,
            force: out.force,
            sample: out.sample,
            status: out.status,
            written,
        }
    }
}

fn motion(state: &Result<DeviceState, DeviceError>) -> Motion {
    state.as_ref().map_or(Motion::default(), |s| Motion { position: s.position, velocity: s.velocity })
}
