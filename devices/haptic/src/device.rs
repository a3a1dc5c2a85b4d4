//! What a haptic device is to the rest: it tells where it is and takes a force. One small trait, so that real, simulated,
//! replayed and deliberately faulty devices are interchangeable.

use media::{Force, Instant, Position, Velocity};

/// Nominal limits of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// For people: "simulated master", "HID 1209:7e57".
    pub name: String,
    /// Largest force that the device can show, N.
    pub max_force: f32,
    /// Force that its motors bear for ever, N: above it heat builds up.
    pub continuous_force: f32,
    /// Largest stiffness that it renders stably on its own, N/m.
    pub max_stiffness: f32,
    /// Largest damping that it renders stably on its own, N s/m.
    pub max_damping: f32,
    /// Radius of the reachable sphere around the origin of its base frame, m.
    pub workspace_radius: f32,
    /// False: an input device, which shows no force at all.
    pub shows_force: bool,
    /// Buttons of which one held means that a hand is on the device (bits of [`DeviceState::buttons`]); 0: it has none.
    pub dead_man: u32,
}

impl DeviceInfo {
    /// A small desktop device of which nothing more is known: 3.3 N (0.9 N for ever), 400 N/m, 4 N s/m, 75 mm.
    pub fn desktop(name: impl Into<String>) -> Self {
        DeviceInfo {
            name: name.into(),
            max_force: 3.3,
            continuous_force: 0.9,
            max_stiffness: 400.0,
            max_damping: 4.0,
            workspace_radius: 0.075,
            shows_force: true,
            dead_man: 0,
        }
    }
}

/// Is the position that a device tells that of its arm?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Calibration {
    /// It is.
    #[default]
    Ready,
    /// Not yet, and this is how it gets there. [`HapticDevice::read`] gives [`DeviceError::NotCalibrated`] meanwhile.
    Needed {
        /// What the person has to do.
        guide: Guide,
        /// Which axes (or joints) are done.
        homed: [bool; 3],
    },
}

/// What a person does to calibrate a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guide {
    /// The device's own firmware waits for it.
    Firmware,
    /// Move the grip out as far as it goes, then in.
    OutAndIn,
    /// Put the arm into its reference pose and press the calibration button (or say so in the window).
    ReferencePose,
    /// Move along every axis: one has not changed since the device was opened.
    MoveEachAxis,
    /// Let go of the cap: a deflection at the start would move the hand at once.
    LetGo,
}

impl Guide {
    /// One line for the person at the device.
    pub const fn text(self) -> &'static str {
        match self {
            Guide::Firmware => "put the stylus into its holder, or follow the maker's calibration",
            Guide::OutAndIn => "pull the grip out as far as it goes, then push it in, until all three axes are done",
            Guide::ReferencePose => "put the arm into its reference pose and press its calibration button",
            Guide::MoveEachAxis => "move the device along each axis: one has not moved since it was opened",
            Guide::LetGo => "let go of the cap for a second: pushed while it is opened, it would move at once",
        }
    }
}

/// How reading and writing went so far; zeros for devices that have no cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DeviceHealth {
    /// Reports read.
    pub reports: u64,
    /// Reports that the device's sequence numbers say are missing.
    pub missing: u64,
    /// Reports of another size or number, or with impossible contents.
    pub garbage: u64,
    /// Times that the device was lost.
    pub losses: u64,
    /// How long the oldest report of the last reading had waited behind the newest, us.
    pub queue_age_us: u32,
    /// The longest that one ever did, us.
    pub max_queue_age_us: u32,
    /// From the arrival of a report to the tick that used it, half of them sooner, us.
    pub age_p50_us: u32,
    /// Reports a second, over the last second.
    pub rate_hz: u32,
    /// Forces given by the servo.
    pub forces: u64,
    /// Forces written to the device; the rest were overtaken by newer ones.
    pub written: u64,
}

/// What a device says of itself at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct DeviceState {
    /// In the base frame (x right, y up, z toward the user), m.
    pub position: Position,
    /// Estimated with the measured time between readings, m/s.
    pub velocity: Velocity,
    /// One bit a button.
    pub buttons: u32,
    /// Counts readings of the device itself; unchanged means that nothing new came.
    pub sequence: u32,
    /// When this reading arrived.
    pub at: Instant,
}

/// A device at the end of an arm. Methods are called from the servo thread and never block.
pub trait HapticDevice: Send {
    /// Name and limits.
    fn info(&self) -> &DeviceInfo;

    /// The newest state. A device from which nothing new came gives the last state again, with its old `at`.
    ///
    /// # Errors
    /// A [`DeviceError`] while the device is not there or does not answer. Calling again is right: a device that returns
    /// is found again.
    fn read(&mut self, now: Instant) -> Result<DeviceState, DeviceError>;

    /// Shows `force` until the next call, N, base frame. Devices limit it to what they can show.
    ///
    /// # Errors
    /// A [`DeviceError`] while the device is not there; [`DeviceError::BadForce`] for a force that is not finite, in
    /// which case the device shows none.
    fn write(&mut self, now: Instant, force: Force) -> Result<(), DeviceError>;

    /// Is its position valid, and if not, what is to be done?
    fn calibration(&self) -> Calibration {
        Calibration::Ready
    }

    /// Starts calibration anew, or confirms that the arm is in its reference pose. Force is off meanwhile.
    fn calibrate(&mut self) {}

    /// When the report behind the last reading arrived, for devices with a beat of their own: see [`crate::Ticker::follow`].
    fn arrival(&self) -> Option<Instant> {
        None
    }

    /// How reading and writing went so far. Costs next to nothing: called at 1 kHz.
    fn health(&self) -> DeviceHealth {
        DeviceHealth::default()
    }

    /// Force of a simulated scene on the device, N. Real devices feel the real world and ignore it.
    fn touch(&mut self, _contact: Force) {}

    /// How reading and writing went so far, in a few words for people; empty if there is nothing to tell.
    fn describe(&self) -> String {
        String::new()
    }
}

impl<D: HapticDevice + ?Sized> HapticDevice for Box<D> {
    fn info(&self) -> &DeviceInfo {
        (**self).info()
    }
    fn read(&mut self, now: Instant) -> Result<DeviceState, DeviceError> {
        (**self).read(now)
    }
    fn write(&mut self, now: Instant, force: Force) -> Result<(), DeviceError> {
        (**self).write(now, force)
    }
    fn calibration(&self) -> Calibration {
        (**self).calibration()
    }
    fn calibrate(&mut self) {
        (**self).calibrate();
    }
    fn arrival(&self) -> Option<Instant> {
        (**self).arrival()
    }
    fn health(&self) -> DeviceHealth {
        (**self).health()
    }
    fn touch(&mut self, contact: Force) {
        (**self).touch(contact);
    }
    fn describe(&self) -> String {
        (**self).describe()
    }
}

/// What goes wrong with a device. Those that arise at 1 kHz hold no text, so that they cost no allocation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The specification cannot be read. Remedy: the grammar is in the text.
    #[error(
        "haptic device '{0}' is not known: use sim, mouse, hid:VID:PID[:SERIAL][@MODEL] (hexadecimal) \
         or replay:FILE"
    )]
    Spec(String),
    /// The mouse is read through a window, which this crate has not.
    #[error("haptic device 'mouse' needs a window: here use sim, hid:VID:PID or replay:FILE")]
    NeedsWindow,
    /// No such device is plugged in. Remedy: plug it in, or choose one of those listed.
    #[error("haptic device {0} is not there: plug it in, or see `telehaptic devices` for what is")]
    NotFound(String),
    /// The node exists but may not be opened.
    #[error(
        "haptic device {device}: no permission for {node}: `telehaptic doctor --udev-rules | sudo tee \
         /etc/udev/rules.d/70-telehaptic.rules`, then `sudo udevadm control --reload` and plug the device in again"
    )]
    Permission {
        /// The device as specified.
        device: String,
        /// Its node, such as /dev/hidraw0.
        node: String,
    },
    /// A HID device, but not with the reports of its model, or of none that is known.
    #[error(
        "haptic device {0} has other reports than its model: it is no haptic device, its firmware is of another \
         version, or it needs the name of its model, as in hid:VID:PID@falcon"
    )]
    OtherReport(String),
    /// The model that was named is unknown or cannot be used.
    #[error("haptic device {device}: {reason}")]
    Model {
        /// The device as specified.
        device: String,
        /// What is wrong with the model, and the remedy.
        reason: String,
    },
    /// Opening failed for another reason.
    #[error("haptic device {device} cannot be opened: {reason}: plug it out and in, and see `telehaptic doctor`")]
    Open {
        /// The device as specified.
        device: String,
        /// What the system said.
        reason: String,
    },
    /// A recording cannot be used.
    #[error("replay file {file}: {reason}")]
    Replay {
        /// Path of the file.
        file: String,
        /// What is wrong and where.
        reason: String,
    },
    /// It was there and has gone; it is looked for again four times a second.
    #[error("the haptic device has gone: check its cable; it is used again as soon as it returns")]
    Lost,
    /// It is open but has said nothing for longer than 50 ms.
    #[error("the haptic device is silent: check its power and firmware")]
    Silent,
    /// It reports a fault of its own.
    #[error("the haptic device reports a fault of its amplifiers: switch it off and on")]
    Fault,
    /// It has not been calibrated, so that its position means nothing.
    #[error("the haptic device is not calibrated: the window and `telehaptic ctl status` say how")]
    NotCalibrated,
    /// The arm is where its model says that it cannot be.
    #[error("the haptic device's arm is in a pose that its model does not have: calibrate it anew, or name its model")]
    Pose,
    /// A sensor stays as it is while the others travel, counted from 1.
    #[error(
        "axis {0} of the haptic device has not changed while the others moved: move it along each axis; if that does not \
         help, its sensor is broken"
    )]
    Stuck(u8),
    /// The force was not finite and was not shown.
    #[error("a force that is not a finite number was refused and the device shows none: please report this")]
    BadForce,
    /// Writing the force fails while reading works.
    #[error("the haptic device takes no force: check its power; it is tried again with each force")]
    Write,
}
