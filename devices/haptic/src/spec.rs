//! How a device is named on a command line and in a configuration: `sim`, `mouse`, `hid:VID:PID[:SERIAL][@MODEL]`,
//! `replay:FILE`.

use core::fmt;
use core::str::FromStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use media::Instant;

use crate::device::{DeviceError, HapticDevice};
use crate::model::Model;
use crate::replay::ReplayDevice;
use crate::sim::SimDevice;

/// Tells the time of the process: reports are stamped with it as they arrive.
pub type DeviceClock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Which device a station uses.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum DeviceSpec {
    /// The simulated device.
    #[default]
    Sim,
    /// The mouse over a window: motion without force.
    Mouse,
    /// A HID device of a model that `assets/devices` describes.
    Hid {
        /// USB vendor.
        vendor: u16,
        /// USB product.
        product: u16,
        /// Serial number, where several are plugged in.
        serial: Option<String>,
        /// The model, where its ids do not tell: the name of one that is built in, or a file NAME.toml.
        model: Option<String>,
    },
    /// A recording, see [`ReplayDevice`].
    Replay(PathBuf),
}

impl DeviceSpec {
    /// Opens the device; `simulated` makes the one for [`DeviceSpec::Sim`], since its hand or scene is the caller's.
    ///
    /// # Errors
    /// Any [`DeviceError`] of opening: not there, no permission, another report, a bad file; [`DeviceError::NeedsWindow`]
    /// for the mouse.
    pub fn open(
        &self,
        clock: &DeviceClock,
        simulated: impl FnOnce() -> SimDevice,
    ) -> Result<Box<dyn HapticDevice>, DeviceError> {
        Ok(match self {
            DeviceSpec::Sim => Box::new(simulated()),
            DeviceSpec::Mouse => return Err(DeviceError::NeedsWindow),
            DeviceSpec::Hid { .. } => crate::hid::open(self, clock)?,
            DeviceSpec::Replay(file) => Box::new(ReplayDevice::open(file, clock())?),
        })
    }
}

/// The model that is named, or that of these ids; `None` if the ids tell nothing.
///
/// # Errors
/// [`DeviceError::Model`] for a name that is unknown and a file that cannot be used.
pub(crate) fn model(spec: &DeviceSpec) -> Result<Option<Model>, DeviceError> {
    let DeviceSpec::Hid { vendor, product, model, .. } = spec else { return Ok(None) };
    let failed = |reason: String| DeviceError::Model { device: spec.to_string(), reason };
    match model {
        None => Ok(Model::for_usb(*vendor, *product).cloned()),
        Some(file) if file.ends_with(".toml") => {
            Model::load(Path::new(file)).map(Some).map_err(|e| failed(e.to_string()))
        }
        Some(name) => Model::find(name).cloned().map(Some).ok_or_else(|| {
            let known: Vec<&str> = Model::builtin().iter().map(|m| m.id.as_str()).collect();
            failed(format!("no model '{name}': use a file NAME.toml, or one of {}", known.join(", ")))
        }),
    }
}

impl FromStr for DeviceSpec {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Spec(text.to_owned());
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (text, None),
        };
        match (kind, rest) {
            ("sim", None) => Ok(DeviceSpec::Sim),
            ("mouse", None) => Ok(DeviceSpec::Mouse),
            ("replay", Some(file)) if !file.is_empty() => Ok(DeviceSpec::Replay(file.into())),
            ("hid", Some(rest)) => {
                let (rest, model) = match rest.rsplit_once('@') {
                    Some((_, "")) => return Err(unknown()),
                    Some((rest, model)) => (rest, Some(model.to_owned())),
                    None => (rest, None),
                };
                let mut parts = rest.splitn(3, ':');
                let mut id = || {
                    let part = parts.next().filter(|p| (1..=4).contains(&p.len()) && !p.starts_with('+'));
                    part.and_then(|p| u16::from_str_radix(p, 16).ok()).ok_or_else(unknown)
                };
                let (vendor, product) = (id()?, id()?);
                let serial = parts.next().map(str::to_owned);
                if serial.as_deref() == Some("") {
                    return Err(unknown());
                }
                Ok(DeviceSpec::Hid { vendor, product, serial, model })
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceSpec::Sim => f.write_str("sim"),
            DeviceSpec::Mouse => f.write_str("mouse"),
            DeviceSpec::Hid { vendor, product, serial, model } => {
                write!(f, "hid:{vendor:04x}:{product:04x}")?;
                if let Some(serial) = serial {
                    write!(f, ":{serial}")?;
                }
                model.as_ref().map_or(Ok(()), |model| write!(f, "@{model}"))
            }
            DeviceSpec::Replay(file) => write!(f, "replay:{}", file.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_goes_both_ways() {
        for text in [
            "sim",
            "mouse",
            "hid:1209:7e57",
            "hid:1209:7e57:A-01:b",
            "hid:1209:7e57@falcon",
            "hid:1209:7e57:A@my/arm.toml",
            "replay:hand.csv",
            "replay:C:/x y.csv",
        ] {
            assert_eq!(text.parse::<DeviceSpec>().unwrap().to_string(), text);
        }
        assert_eq!("hid:46D:c".parse::<DeviceSpec>().unwrap().to_string(), "hid:046d:000c");
    }

    #[test]
    fn anything_else_is_refused_with_the_grammar() {
        for text in [
            "",
            "sims",
            "sim:",
            "hid",
            "hid:",
            "hid:1209",
            "hid:1209:",
            "hid:12091:1",
            "hid:xyzt:1",
            "hid:1:2:",
            "replay",
            "replay:",
            "hid:+12:1",
            "HID:1:2",
            "mouse:1",
            "hid:1:2@",
            "hid:1:2:@falcon",
        ] {
            let error = text.parse::<DeviceSpec>().unwrap_err();
            assert!(error.to_string().contains("hid:VID:PID"), "{text}: {error}");
        }
    }

    fn clock() -> DeviceClock {
        Arc::new(|| Instant::ZERO)
    }

    #[test]
    fn models_come_by_their_name_or_the_ids() {
        let model = |text: &str| model(&text.parse().unwrap());
        assert_eq!(model("hid:1209:7e57").unwrap().unwrap().id, "telehaptic");
        assert_eq!(model("hid:1209:7e57@falcon").unwrap().unwrap().id, "falcon");
        assert_eq!(model("hid:ffff:0001").unwrap(), None);
        let error = model("hid:1209:7e57@hawk").unwrap_err().to_string();
        assert!(error.contains("'hawk'") && error.contains("falcon, polhem-v1"), "{error}");
        let error = model("hid:1209:7e57@no/such.toml").unwrap_err().to_string();
        assert!(error.contains("no/such.toml") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn the_mouse_says_what_it_needs() {
        let error = DeviceSpec::Mouse.open(&clock(), || unreachable!()).err().unwrap();
        assert_eq!(error, DeviceError::NeedsWindow);
    }

    #[test]
    fn a_hid_device_that_is_not_there_is_an_error() {
        let spec: DeviceSpec = "hid:1209:7e57:no-such-serial".parse().unwrap();
        let error = spec.open(&clock(), || unreachable!()).err().unwrap();
        assert_eq!(error, DeviceError::NotFound("hid:1209:7e57:no-such-serial".into()));
    }
}
