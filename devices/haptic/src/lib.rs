//! Haptic devices, their control at 1 kHz and their safety.
//!
//! A servo thread of the station turns two parts, once a millisecond: [`Ticker::wait`], then [`Master::tick`] or
//! [`Slave::tick`], which read the device, take a step of control and write the force. The steps are pure: they are told
//! the time, take no lock, allocate nothing and log nothing. Only [`Ticker`] touches the clock of the operating system. The only
//! threads that this crate starts are `hid-in` and `hid-out`, for each open HID device: the one reads, the other writes and
//! opens again.

#[cfg(test)]
mod contract;
mod control;
mod device;
mod faulty;
mod hand;
mod hid;
mod hid_device;
mod kinematics;
mod master;
mod model;
mod replay;
pub mod report;
mod safety;
mod sim;
mod slave;
mod spec;
mod step;
mod ticker;
mod velocity;
mod wave;

pub use control::{ControlConfig, ControlStatus, FeedbackSource, ForceOff, Gate, Received};
pub use device::{Calibration, DeviceError, DeviceHealth, DeviceInfo, DeviceState, Guide, HapticDevice};
pub use faulty::{FaultConfig, FaultyDevice};
pub use hand::{Hand, HandConfig, HandScript};
pub use hid::{FoundDevice, list};
pub use kinematics::{DeltaConfig, Elbow, Joints, Kinematics, PoseError, SerialArm, SerialConfig, StamperDelta};
pub use master::{Master, MasterOut};
pub use model::{JointMap, Limits, Model, ModelError, Motors, Profile, RateControl, UsbId};
pub use replay::ReplayDevice;
pub use safety::{DeadMan, SafetyConfig, SafetyStatus, Stage, StageState, StageStatus};
pub use sim::{SimConfig, SimDevice};
pub use slave::{Slave, SlaveOut};
pub use spec::{DeviceClock, DeviceSpec};
pub use step::Step;
pub use ticker::{Lateness, Tick, Ticker};
pub use velocity::VelocityEstimator;
