//! What the bytes of a report mean for the hand, and what a force means for the motors, for each kind of report that
//! shows force. Pure: told the bytes and the time, allocates nothing.

use media::{Force, Position};

use super::link::{Arrival, Emit, REPORT};
use crate::device::Guide;
use crate::kinematics::{Joints, Kinematics};
use crate::model::{JointMap, Model, Motors, Profile};
use crate::report::{self, InRepr, OUT_SIZE, OutCommand, OutRepr, polhem, status};

/// A report as the rest of the device sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// The sensors as they came: what a stuck one does not change.
    pub axes: [i32; 3],
    /// Where the hand is; `None` where the arm cannot be by its model.
    pub hand: Option<Hand>,
    /// When, us: on the device's clock if it tells it, else when it arrived. Wraps.
    pub clock_us: u32,
    /// Its number, if it has one.
    pub sequence: Option<u16>,
    /// Calibrated: the position is valid.
    pub ready: bool,
    /// The device says that it is broken.
    pub fault: bool,
    /// Axes that are calibrated.
    pub homed: [bool; 3],
    /// One bit a button.
    pub buttons: u32,
}

/// Position of the hand, m, with the joints that hold it there (zero where only the device knows them).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hand {
    pub position: Position,
    joints: Joints,
}

/// An arm whose joints and motors are the host's business.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    kinematics: Kinematics,
    joints: JointMap,
    motors: Motors,
}

impl Arm {
    fn hand(&self, counts: [i32; 3], near: Option<Position>) -> Option<Hand> {
        let joints = self.joints.joints(counts);
        let position = self.kinematics.forward(joints, near).ok()?;
        Some(Hand { position, joints })
    }

    /// What the motors have to show for `force` (N); nothing in a pose where that is not known.
    fn units(&self, hand: &Hand, force: Force) -> [i16; 3] {
        match self.kinematics.torques(hand.joints, hand.position, force) {
            Ok(torques) => self.motors.units(torques).0,
            Err(_) => [0; 3],
        }
    }
}

/// A kind of report, with what has to be remembered from one to the next.
#[derive(Clone, Debug)]
pub(crate) enum Codec {
    /// Our own: position in, force out.
    Cartesian,
    /// Our own: encoder counts in, motor currents out.
    Raw(Arm),
    /// Polhem and WoodenHaptics.
    Polhem(Arm, Reference),
}

/// Where the encoders of a Polhem stood in the reference pose. Known to the host alone, until the device is lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reference {
    counts: Option<[i16; 3]>,
    last: Option<polhem::InRepr>,
    /// The calibration button is held, by the fourth encoder.
    held: bool,
    /// It is held, by that or by the last field.
    pressed: bool,
}

impl Codec {
    /// The codec of a model; `None` for one that shows no force.
    pub(crate) fn new(model: &Model) -> Option<Codec> {
        let arm = || Some(Arm { kinematics: model.kinematics.clone()?, joints: model.joints?, motors: model.motors? });
        match model.profile {
            Profile::TelehapticCartesian => Some(Codec::Cartesian),
            Profile::TelehapticRaw => Some(Codec::Raw(arm()?)),
            Profile::Polhem => Some(Codec::Polhem(arm()?, Reference::default())),
            Profile::Spacemouse => None,
        }
    }

    /// How reports to the device are written.
    pub(crate) fn emit(&self) -> Emit {
        match self {
            Codec::Cartesian | Codec::Raw(_) => emit_ours,
            Codec::Polhem(..) => emit_polhem,
        }
    }

    /// Does the device keep a beat of its own that the servo can follow? In lock-step it answers the servo.
    pub(crate) fn has_beat(&self) -> bool {
        !matches!(self, Codec::Polhem(..))
    }

    /// Reads a report, the hand searched near where it was last; `None` for another size or number.
    pub(crate) fn read(&mut self, arrival: &Arrival, near: Option<Position>) -> Option<Reading> {
        match self {
            Codec::Cartesian => {
                let report = InRepr::parse(arrival.bytes())?;
                Some(ours(&report, Some(Hand { position: report.position(), joints: Joints::default() })))
            }
            Codec::Raw(arm) => {
                let report = InRepr::parse(arrival.bytes())?;
                Some(ours(&report, arm.hand(report.axes, near)))
            }
            Codec::Polhem(arm, reference) => {
                let report = polhem::InRepr::parse(arrival.bytes())?;
                let counts = reference.take(report);
                Some(Reading {
                    axes: report.encoders_of_arm().map(i32::from),
                    hand: counts.and_then(|counts| arm.hand(counts, near)),
                    clock_us: (arrival.at.as_nanos() / 1_000) as u32,
                    sequence: None,
                    ready: counts.is_some(),
                    fault: false,
                    homed: [counts.is_some(); 3],
                    buttons: 0,
                })
            }
        }
    }

    /// What goes to the motors for `force` (N) at this hand.
    pub(crate) fn units(&self, hand: Option<&Hand>, force: Force) -> [i16; 3] {
        match (self, hand) {
            (Codec::Cartesian, _) => OutRepr::mn(force),
            (Codec::Raw(arm) | Codec::Polhem(arm, _), Some(hand)) => arm.units(hand, force),
            (Codec::Raw(_) | Codec::Polhem(..), None) => [0; 3],
        }
    }

    /// What a person does to calibrate it.
    pub(crate) fn guide(&self) -> Guide {
        match self {
            Codec::Cartesian => Guide::Firmware,
            Codec::Raw(Arm { kinematics: Kinematics::Delta(_), .. }) => Guide::OutAndIn,
            Codec::Raw(_) | Codec::Polhem(..) => Guide::ReferencePose,
        }
    }

    /// The arm is in its reference pose now. `true`: the device has to be told, which then calibrates itself.
    pub(crate) fn calibrate(&mut self) -> bool {
        match self {
            Codec::Cartesian | Codec::Raw(_) => true,
            Codec::Polhem(_, reference) => {
                reference.set();
                false
            }
        }
    }

    /// The device was lost: it may have been without power.
    pub(crate) fn forget(&mut self) {
        if let Codec::Polhem(_, reference) = self {
            *reference = Reference::default();
        }
    }
}

impl Reference {
    /// Takes a report and gives the counts since the reference pose, once that is known. A press of the calibration
    /// button makes the pose of now the reference.
    fn take(&mut self, report: polhem::InRepr) -> Option<[i32; 3]> {
        if let Some(last) = self.last {
            // Half of what a press adds: no wrist turns so far within a report.
            let jump = report.encoders[3].wrapping_sub(last.encoders[3]);
            self.held = jump > polhem::PRESSED / 2 || (self.held && jump >= -polhem::PRESSED / 2);
        }
        let pressed = self.held || report.info == 1;
        let begins = pressed && !self.pressed;
        self.pressed = pressed;
        self.last = Some(report);
        if begins {
            self.set();
        }
        let reference = self.counts?;
        let counts = report.encoders_of_arm();
        Some([0, 1, 2].map(|i| i32::from(counts[i].wrapping_sub(reference[i]))))
    }

    fn set(&mut self) {
        self.counts = self.last.map(|report| report.encoders_of_arm());
    }
}

fn ours(report: &InRepr, hand: Option<Hand>) -> Reading {
    let bit = |bit: u16| report.status & bit != 0;
    Reading {
        axes: report.axes,
        hand,
        clock_us: report.time_us,
        sequence: Some(report.sequence),
        ready: bit(status::READY),
        fault: bit(status::FAULT),
        homed: [0, 1, 2].map(|i| bit(1 << (status::HOMED_SHIFT + i))),
        buttons: u32::from(report.status) >> status::BUTTONS_SHIFT,
    }
}

fn emit_ours(units: [i16; 3], sequence: u16, command: OutCommand, out: &mut [u8; REPORT]) -> usize {
    let mut bytes = [0; OUT_SIZE];
    OutRepr { units, sequence, command }.emit(&mut bytes);
    out[..OUT_SIZE].copy_from_slice(&bytes);
    OUT_SIZE
}

/// Without power to say otherwise, off is no current.
fn emit_polhem(units: [i16; 3], _sequence: u16, command: OutCommand, out: &mut [u8; REPORT]) -> usize {
    let currents_ma = if command == OutCommand::Show { units } else { [0; 3] };
    let mut bytes = [0; report::polhem::SIZE + 1];
    polhem::OutRepr { currents_ma, ..polhem::OutRepr::default() }.emit(&mut bytes);
    out[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
}
