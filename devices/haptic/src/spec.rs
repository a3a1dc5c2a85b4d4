//! How a device is named on a command line and in a configuration: `sim`, `mouse`, `hid:VID:PID[:SERIAL]`, `replay:FILE`.

use core::fmt;
use core::str::FromStr;
use std::path::PathBuf;

use media::Instant;

use crate::device::{DeviceError, HapticDevice};
use crate::replay::ReplayDevice;
use crate::sim::SimDevice;

/// Which device a station uses.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum DeviceSpec {
    /// The simulated device.
    #[default]
    Sim,
    /// The mouse over a window: motion without force.
    Mouse,
    /// A HID device with the report of `assets/devices/telehaptic-hid.md`.
    Hid {
        /// USB vendor.
        vendor: u16,
        /// USB product.
        product: u16,
        /// Serial number, where several are plugged in.
        serial: Option<String>,
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
        now: Instant,
        simulated: impl FnOnce() -> SimDevice,
    ) -> Result<Box<dyn HapticDevice>, DeviceError> {
        Ok(match self {
            DeviceSpec::Sim => Box::new(simulated()),
            DeviceSpec::Mouse => return Err(DeviceError::NeedsWindow),
            DeviceSpec::Hid { vendor, product, serial } => {
                Box::new(crate::hid::open(*vendor, *product, serial.as_deref(), now)?)
            }
            DeviceSpec::Replay(file) => Box::new(ReplayDevice::open(file, now)?),
        })
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
                Ok(DeviceSpec::Hid { vendor, product, serial })
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
            DeviceSpec::Hid { vendor, product, serial: None } => write!(f, "hid:{vendor:04x}:{product:04x}"),
            DeviceSpec::Hid { vendor, product, serial: Some(serial) } => {
                write!(f, "hid:{vendor:04x}:{product:04x}:{serial}")
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
        for text in ["sim", "mouse", "hid:1209:7e57", "hid:1209:7e57:A-01:b", "replay:hand.csv", "replay:C:/x y.csv"] {
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
        ] {
            let error = text.parse::<DeviceSpec>().unwrap_err();
            assert!(error.to_string().contains("hid:VID:PID"), "{text}: {error}");
        }
    }

    #[test]
    fn the_mouse_says_what_it_needs() {
        let error = DeviceSpec::Mouse.open(Instant::ZERO, || unreachable!()).err().unwrap();
        assert_eq!(error, DeviceError::NeedsWindow);
    }

    #[test]
    fn a_hid_device_that_is_not_there_is_an_error() {
        let spec: DeviceSpec = "hid:1209:7e57:no-such-serial".parse().unwrap();
        let error = spec.open(Instant::ZERO, || unreachable!()).err().unwrap();
        assert_eq!(error, DeviceError::NotFound("hid:1209:7e57:no-such-serial".into()));
    }
}
