//! Device models: what is known of a kind of device, read from a file `assets/devices/MODEL.toml`: its USB ids, the reports
//! it speaks, its limits, and where its reports carry encoder counts, its arm, joints and motors. `assets/devices/README.md`
//! describes the file and lists the models that are built in.
//!
//! Reading is strict: an unknown key, a number out of its range, or parts that do not fit each other make one error line
//! that names the file and the key. Nothing here is for the servo but the small conversions of [`JointMap`], [`Motors`]
//! and [`RateControl`], which allocate nothing.

mod check;
mod file;

use std::path::Path;
use std::sync::OnceLock;

use crate::device::DeviceInfo;
use crate::kinematics::{Joints, Kinematics};

/// A kind of device.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Name for machines: the stem of its file.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Where each figure is from.
    pub source: String,
    /// USB ids by which it is known; empty: it has to be named.
    pub usb: Vec<UsbId>,
    /// Which reports it speaks.
    pub profile: Profile,
    /// What it can do.
    pub limits: Limits,
    /// Its arm, where the reports carry encoder counts.
    pub kinematics: Option<Kinematics>,
    /// From counts to joint angles.
    pub joints: Option<JointMap>,
    /// From joint torques to currents.
    pub motors: Option<Motors>,
    /// From deflection to speed, for a device that moves the hand by rate.
    pub rate_control: Option<RateControl>,
}

/// A USB vendor and product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsbId {
    /// Vendor.
    pub vendor: u16,
    /// Product.
    pub product: u16,
}

/// The reports that a device speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Our own, position in and force out.
    TelehapticCartesian,
    /// Our own, encoder counts in and motor currents out.
    TelehapticRaw,
    /// Polhem and WoodenHaptics with the LPC1768 board: 14 bytes each way, in lock-step.
    Polhem,
    /// SpaceMouse: deflection in, no force.
    Spacemouse,
}

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest force, N.
    pub max_force: f32,
    /// Force that its motors bear for ever, N.
    pub continuous_force: f32,
    /// Largest stiffness that it renders stably on its own, N/m.
    pub max_stiffness: f32,
    /// Largest damping that it renders stably on its own, N s/m.
    pub max_damping: f32,
    /// Radius of the sphere around the middle of the workspace that is reachable as a whole, m.
    pub workspace_radius: f32,
    /// Buttons of which one held means that a hand is on the device, as bits.
    pub dead_man: u32,
}

/// From encoder counts to joint angles: `zero + sign * counts / counts_per_rad`. Counts are those since the reference pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointMap {
    /// Counts for each radian of the joint (not of the motor).
    pub counts_per_rad: [f64; 3],
    /// 1 or -1: which way the counter counts.
    pub sign: [f64; 3],
    /// Joint angles in the reference pose, where the counts are 0, rad.
    pub zero: [f64; 3],
}

impl JointMap {
    /// Joint angles of counts since the reference pose.
    pub fn joints(&self, counts: [i32; 3]) -> Joints {
        Joints([0, 1, 2].map(|i| (self.zero[i] + self.sign[i] * f64::from(counts[i]) / self.counts_per_rad[i]) as f32))
    }

    /// The counts nearest to joint angles; saturates, 0 for what is not a number.
    pub fn counts(&self, joints: Joints) -> [i32; 3] {
        [0, 1, 2].map(|i| {
            let turned = f64::from(joints.0[i]) - self.zero[i];
            (turned * self.sign[i] * self.counts_per_rad[i]).round() as i32
        })
    }
}

/// From joint torques to motor currents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motors {
    /// Torque at the joint (not at the motor) for each ampere, N m/A.
    pub torque_per_amp: [f64; 3],
    /// 1 or -1: does a positive current turn the joint to larger angles?
    pub sign: [f64; 3],
    /// Largest current of each motor, A.
    pub max_current: [f64; 3],
    /// Units of the report for each ampere: 1000 for mA.
    pub units_per_amp: f64,
}

impl Motors {
    /// Currents (A) that give these joint torques (N m). Where a motor would need more than it bears, all three become
    /// smaller by the same factor, so that the force keeps its direction; `true` tells so. None at all for torques that are
    /// not finite.
    pub fn currents(&self, torques: [f32; 3]) -> ([f32; 3], bool) {
        if !torques.iter().all(|t| t.is_finite()) {
            return ([0.0; 3], true);
        }
        let wanted = [0, 1, 2].map(|i| f64::from(torques[i]) * self.sign[i] / self.torque_per_amp[i]);
        let over = (0..3).map(|i| wanted[i].abs() / self.max_current[i]).fold(1.0, f64::max);
        (wanted.map(|current| (current / over) as f32), over > 1.0)
    }

    /// As [`Motors::currents`], in units of the report.
    pub fn units(&self, torques: [f32; 3]) -> ([i16; 3], bool) {
        let (currents, limited) = self.currents(torques);
        // A cast from f64 saturates; `check` keeps the largest current within i16.
        (currents.map(|current| (f64::from(current) * self.units_per_amp).round() as i16), limited)
    }
}

/// From deflection to speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateControl {
    /// Speed at full deflection, m/s.
    pub full_speed: f32,
    /// Counts of full deflection.
    pub full_scale: i16,
    /// Counts of deflection that are still rest.
    pub dead_zone: i16,
    /// Without a report for this long the deflection counts as none, s.
    pub forget: f32,
    /// For x, y and z of the base frame: the axis of the report, counted from 1, negative where it points the other way.
    pub axes: [i8; 3],
}

impl RateControl {
    /// Speed (m/s, base frame) of a deflection in counts, as reported. Grows from zero at the border of the dead zone, so
    /// that nothing jumps there; each axis by itself.
    pub fn speed(&self, deflection: [i16; 3]) -> [f32; 3] {
        let dead = f32::from(self.dead_zone);
        self.axes.map(|axis| {
            let index = usize::from(axis.unsigned_abs()).wrapping_sub(1);
            let counts = f32::from(deflection.get(index).copied().unwrap_or(0)) * f32::from(axis.signum());
            let beyond = (counts.abs() - dead).max(0.0) / (f32::from(self.full_scale) - dead);
            beyond.min(1.0) * self.full_speed * counts.signum()
        })
    }
}

/// The files that are built in, by id.
const BUILTIN: [(&str, &str); 7] = [
    ("telehaptic", include_str!("../../../assets/devices/telehaptic.toml")),
    ("phantom-omni", include_str!("../../../assets/devices/phantom-omni.toml")),
    ("phantom-touch", include_str!("../../../assets/devices/phantom-touch.toml")),
    ("falcon", include_str!("../../../assets/devices/falcon.toml")),
    ("polhem-v1", include_str!("../../../assets/devices/polhem-v1.toml")),
    ("woodenhaptics-2015", include_str!("../../../assets/devices/woodenhaptics-2015.toml")),
    ("spacemouse", include_str!("../../../assets/devices/spacemouse.toml")),
];

impl Model {
    /// All models that are built in. Parses them at the first call: not for the servo.
    pub fn builtin() -> &'static [Model] {
        static MODELS: OnceLock<Vec<Model>> = OnceLock::new();
        // A test parses every one, so none is left out in a build that passed its tests.
        MODELS.get_or_init(|| BUILTIN.iter().filter_map(|(id, text)| Model::from_toml(id, text).ok()).collect())
    }

    /// The built-in model of this id.
    pub fn find(id: &str) -> Option<&'static Model> {
        Self::builtin().iter().find(|model| model.id == id)
    }

    /// The built-in model of a USB device. Two kinds share 1234:0006: the first, Polhem v1, is taken; the other has to be
    /// named.
    pub fn for_usb(vendor: u16, product: u16) -> Option<&'static Model> {
        Self::builtin().iter().find(|model| model.usb.contains(&UsbId { vendor, product }))
    }

    /// Reads a model from a file.
    ///
    /// # Errors
    /// A [`ModelError`]: one line that names the file and what is wrong.
    pub fn load(path: &Path) -> Result<Model, ModelError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|e| ModelError::Read { file: file.clone(), reason: e.to_string() })?;
        let id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Self::parse(&id, &file, &text)
    }

    /// Parses the text of a model whose file has the stem `id`.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn from_toml(id: &str, text: &str) -> Result<Model, ModelError> {
        Self::parse(id, &format!("{id}.toml"), text)
    }

    fn parse(id: &str, file: &str, text: &str) -> Result<Model, ModelError> {
        let parsed = file::ModelFile::parse(file, text)?;
        let model = parsed.into_model(id, file)?;
        check::consistent(&model, file)?;
        Ok(model)
    }

    /// Name and limits as a device tells them.
    pub fn info(&self) -> DeviceInfo {
        DeviceInfo {
            name: self.name.clone(),
            max_force: self.limits.max_force,
            continuous_force: self.limits.continuous_force,
            max_stiffness: self.limits.max_stiffness,
            max_damping: self.limits.max_damping,
            workspace_radius: self.limits.workspace_radius,
            shows_force: self.shows_force(),
            dead_man: self.limits.dead_man,
        }
    }

    /// False for an input device.
    pub fn shows_force(&self) -> bool {
        self.profile != Profile::Spacemouse
    }
}

/// Why a model cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The file cannot be read.
    #[error("device model {file}: {reason}: check its path and permissions")]
    Read {
        /// Path of the file.
        file: String,
        /// What the system said.
        reason: String,
    },
    /// It is not TOML, or has a key that is unknown, missing or of another type.
    #[error("device model {file}, line {line}: {reason}: see assets/devices/README.md")]
    Syntax {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A number is out of its range.
    #[error("device model {file}: {key} = {value} is out of range: use {low} to {high}")]
    Range {
        /// The file.
        file: String,
        /// The key with its table.
        key: String,
        /// Its value.
        value: f64,
        /// Least value.
        low: f64,
        /// Greatest value.
        high: f64,
    },
    /// Parts do not fit each other.
    #[error("device model {file}: {key} {reason}")]
    Conflict {
        /// The file.
        file: String,
        /// The key with its table.
        key: String,
        /// What does not fit, and the remedy.
        reason: String,
    },
}
