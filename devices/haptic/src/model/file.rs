//! A device model as its TOML file has it: keys, units and ranges. What parts must have in common is in `check`.

use serde::Deserialize;

use super::{JointMap, Limits, Model, ModelError, Motors, Profile, RateControl, UsbId};
use crate::kinematics::{DeltaConfig, Elbow, Kinematics, SerialArm, SerialConfig, StamperDelta};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelFile {
    name: String,
    source: String,
    profile: Profile,
    #[serde(default)]
    usb: Vec<UsbFile>,
    limits: LimitsFile,
    kinematics: Option<KinematicsFile>,
    joints: Option<JointsFile>,
    motors: Option<MotorsFile>,
    rate_control: Option<RateFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsbFile {
    vendor: String,
    product: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsFile {
    max_force_n: f64,
    continuous_force_n: f64,
    max_stiffness_n_per_m: f64,
    max_damping_ns_per_m: f64,
    workspace_radius_m: f64,
    #[serde(default)]
    dead_man_buttons: Vec<u8>,
}

/// `[min, max]`.
type Span = [f64; 2];

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum KinematicsFile {
    Serial {
        foot_m: f64,
        upper_arm_m: f64,
        forearm_m: f64,
        elbow: ElbowFile,
        turret_rad: Span,
        upper_arm_rad: Span,
        third_joint_rad: Span,
        inside_elbow_rad: Span,
        middle_m: [f64; 3],
    },
    Delta {
        a_m: f64,
        b_m: f64,
        c_m: f64,
        d_m: f64,
        e_m: f64,
        f_m: f64,
        r_m: f64,
        s_m: f64,
        legs_deg: [f64; 3],
        joints_rad: Span,
        depth_m: Span,
        middle_m: f64,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ElbowFile {
    Ground,
    UpperArm,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JointsFile {
    counts_per_rad: [f64; 3],
    sign: [i8; 3],
    zero_rad: [f64; 3],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MotorsFile {
    torque_per_amp: [f64; 3],
    sign: [i8; 3],
    max_current_a: [f64; 3],
    units_per_amp: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RateFile {
    full_speed_m_per_s: f64,
    full_scale_counts: i16,
    dead_zone_counts: i16,
    forget_s: f64,
    axes: [i8; 3],
}

impl ModelFile {
    /// Parses `text`, which came from `file`.
    pub(super) fn parse(file: &str, text: &str) -> Result<Self, ModelError> {
        toml::from_str(text).map_err(|e: toml::de::Error| {
            let at = e.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..at].iter().filter(|&&c| c == b'\n').count() + 1;
            let why: Vec<&str> = e.message().lines().map(str::trim).filter(|l| !l.is_empty()).collect();
            ModelError::Syntax { file: file.to_owned(), line, reason: why.join(", ") }
        })
    }

    /// The model, if every number is in its range.
    pub(super) fn into_model(self, id: &str, file: &str) -> Result<Model, ModelError> {
        let check = Checker { file };
        for (key, text) in [("name", &self.name), ("source", &self.source)] {
            if text.trim().is_empty() {
                return Err(check.conflict(key, "is empty: say what it is"));
            }
        }
        let usb = self.usb.iter().map(|usb| {
            Ok(UsbId {
                vendor: check.hex("usb.vendor", &usb.vendor)?,
                product: check.hex("usb.product", &usb.product)?,
            })
        });
        Ok(Model {
            id: id.to_owned(),
            name: self.name,
            source: self.source,
            usb: usb.collect::<Result<_, _>>()?,
            profile: self.profile,
            limits: self.limits.checked(&check)?,
            kinematics: self.kinematics.map(|k| k.checked(&check)).transpose()?,
            joints: self.joints.map(|j| j.checked(&check)).transpose()?,
            motors: self.motors.map(|m| m.checked(&check)).transpose()?,
            rate_control: self.rate_control.map(|r| r.checked(&check)).transpose()?,
        })
    }
}

/// Checks values and words the error.
struct Checker<'a> {
    file: &'a str,
}

impl Checker<'_> {
    fn conflict(&self, key: &str, reason: &str) -> ModelError {
        ModelError::Conflict { file: self.file.to_owned(), key: key.to_owned(), reason: reason.to_owned() }
    }

    fn range(&self, key: &str, value: f64, low: f64, high: f64) -> Result<f64, ModelError> {
        if (low..=high).contains(&value) {
            return Ok(value);
        }
        Err(ModelError::Range { file: self.file.to_owned(), key: key.to_owned(), value, low, high })
    }

    fn three(&self, key: &str, values: [f64; 3], low: f64, high: f64) -> Result<[f64; 3], ModelError> {
        for (i, value) in values.into_iter().enumerate() {
            self.range(&format!("{key}[{i}]"), value, low, high)?;
        }
        Ok(values)
    }

    fn span(&self, key: &str, [min, max]: Span, low: f64, high: f64) -> Result<(f64, f64), ModelError> {
        self.range(&format!("{key}[0]"), min, low, high)?;
        self.range(&format!("{key}[1]"), max, low, high)?;
        if min >= max {
            return Err(self.conflict(key, "has its limits the wrong way round: use [min, max]"));
        }
        Ok((min, max))
    }

    fn signs(&self, key: &str, signs: [i8; 3]) -> Result<[f64; 3], ModelError> {
        if signs.iter().any(|s| s.unsigned_abs() != 1) {
            return Err(self.conflict(key, "has another number than 1 and -1: use these"));
        }
        Ok(signs.map(f64::from))
    }

    fn hex(&self, key: &str, text: &str) -> Result<u16, ModelError> {
        let digits = text.len() == 4 && text.bytes().all(|c| c.is_ascii_hexdigit());
        u16::from_str_radix(text, 16)
            .ok()
            .filter(|_| digits)
            .ok_or_else(|| self.conflict(key, "is not a USB id: use four hexadecimal digits, such as \"1209\""))
    }
}

impl LimitsFile {
    fn checked(self, check: &Checker) -> Result<Limits, ModelError> {
        let max_force = check.range("limits.max_force_n", self.max_force_n, 0.0, 50.0)?;
        let mut dead_man = 0;
        for button in self.dead_man_buttons {
            check.range("limits.dead_man_buttons", f64::from(button), 0.0, 31.0)?;
            dead_man |= 1u32 << button;
        }
        Ok(Limits {
            max_force: max_force as f32,
            continuous_force: check.range("limits.continuous_force_n", self.continuous_force_n, 0.0, max_force)? as f32,
            max_stiffness: check.range("limits.max_stiffness_n_per_m", self.max_stiffness_n_per_m, 0.0, 20_000.0)?
                as f32,
            max_damping: check.range("limits.max_damping_ns_per_m", self.max_damping_ns_per_m, 0.0, 100.0)? as f32,
            workspace_radius: check.range("limits.workspace_radius_m", self.workspace_radius_m, 0.01, 1.0)? as f32,
            dead_man,
        })
    }
}

impl KinematicsFile {
    fn checked(self, check: &Checker) -> Result<Kinematics, ModelError> {
        use std::f64::consts::PI;
        match self {
            KinematicsFile::Serial {
                foot_m,
                upper_arm_m,
                forearm_m,
                elbow,
                turret_rad,
                upper_arm_rad,
                third_joint_rad,
                inside_elbow_rad,
                middle_m,
            } => Ok(Kinematics::Serial(SerialArm::new(SerialConfig {
                foot: check.range("kinematics.foot_m", foot_m, -1.0, 1.0)?,
                upper: check.range("kinematics.upper_arm_m", upper_arm_m, 0.02, 1.0)?,
                fore: check.range("kinematics.forearm_m", forearm_m, 0.02, 1.0)?,
                elbow: match elbow {
                    ElbowFile::Ground => Elbow::Ground,
                    ElbowFile::UpperArm => Elbow::UpperArm,
                },
                limits: [
                    check.span("kinematics.turret_rad", turret_rad, -PI, PI)?,
                    check.span("kinematics.upper_arm_rad", upper_arm_rad, -PI, PI)?,
                    check.span("kinematics.third_joint_rad", third_joint_rad, -PI, 2.0 * PI)?,
                ],
                inside_elbow: check.span("kinematics.inside_elbow_rad", inside_elbow_rad, 0.0, PI)?,
                middle: check.three("kinematics.middle_m", middle_m, -1.0, 1.0)?,
            }))),
            KinematicsFile::Delta {
                a_m,
                b_m,
                c_m,
                d_m,
                e_m,
                f_m,
                r_m,
                s_m,
                legs_deg,
                joints_rad,
                depth_m,
                middle_m,
            } => {
                let depth = check.span("kinematics.depth_m", depth_m, 0.0, 1.0)?;
                Ok(Kinematics::Delta(StamperDelta::new(DeltaConfig {
                    a: check.range("kinematics.a_m", a_m, 0.01, 1.0)?,
                    b: check.range("kinematics.b_m", b_m, 0.01, 1.0)?,
                    c: check.range("kinematics.c_m", c_m, -0.5, 0.5)?,
                    d: check.range("kinematics.d_m", d_m, 0.0, 0.5)?,
                    e: check.range("kinematics.e_m", e_m, 0.0, 0.5)?,
                    f: check.range("kinematics.f_m", f_m, -0.5, 0.5)?,
                    r: check.range("kinematics.r_m", r_m, -0.5, 0.5)?,
                    s: check.range("kinematics.s_m", s_m, -0.5, 0.5)?,
                    legs: check.three("kinematics.legs_deg", legs_deg, -360.0, 360.0)?.map(f64::to_radians),
                    limits: check.span("kinematics.joints_rad", joints_rad, -PI, PI)?,
                    depth,
                    middle: check.range("kinematics.middle_m", middle_m, depth.0, depth.1)?,
                })))
            }
        }
    }
}

impl JointsFile {
    fn checked(self, check: &Checker) -> Result<JointMap, ModelError> {
        Ok(JointMap {
            counts_per_rad: check.three("joints.counts_per_rad", self.counts_per_rad, 1.0, 1e7)?,
            sign: check.signs("joints.sign", self.sign)?,
            zero: check.three("joints.zero_rad", self.zero_rad, -7.0, 7.0)?,
        })
    }
}

impl MotorsFile {
    fn checked(self, check: &Checker) -> Result<Motors, ModelError> {
        let units_per_amp = check.range("motors.units_per_amp", self.units_per_amp, 1.0, 1e5)?;
        // What a report can carry in an i16.
        let most = (f64::from(i16::MAX) / units_per_amp).min(30.0);
        Ok(Motors {
            torque_per_amp: check.three("motors.torque_per_amp", self.torque_per_amp, 1e-3, 100.0)?,
            sign: check.signs("motors.sign", self.sign)?,
            max_current: check.three("motors.max_current_a", self.max_current_a, 0.01, most)?,
            units_per_amp,
        })
    }
}

impl RateFile {
    fn checked(self, check: &Checker) -> Result<RateControl, ModelError> {
        let full = f64::from(self.full_scale_counts);
        check.range("rate_control.full_scale_counts", full, 10.0, 32_767.0)?;
        check.range("rate_control.dead_zone_counts", f64::from(self.dead_zone_counts), 0.0, full / 2.0)?;
        let mut used = self.axes.map(i8::unsigned_abs);
        used.sort_unstable();
        if used != [1, 2, 3] {
            return Err(check.conflict("rate_control.axes", "does not name each of 1, 2, 3 once, with a sign: do so"));
        }
        Ok(RateControl {
            full_speed: check.range("rate_control.full_speed_m_per_s", self.full_speed_m_per_s, 0.001, 1.0)? as f32,
            full_scale: self.full_scale_counts,
            dead_zone: self.dead_zone_counts,
            forget: check.range("rate_control.forget_s", self.forget_s, 0.01, 1.0)? as f32,
            axes: self.axes,
        })
    }
}
