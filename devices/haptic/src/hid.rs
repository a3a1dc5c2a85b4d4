//! HID devices of this machine through hidapi (Linux: hidraw): what is there, whether it may be used, and opening it.
//! The only file that names hidapi.

use std::ffi::{CStr, CString};

use hidapi::{HidApi, HidError};
use media::Duration;

use crate::device::{DeviceError, HapticDevice};
use crate::hid_device::HidDevice;
use crate::hid_device::codec::Codec;
use crate::hid_device::link::{Bus, Gone, Link, Port};
use crate::hid_device::spacemouse::SpaceMouse;
use crate::model::Profile;
use crate::report::descriptor::{self, Direction};
use crate::report::{self, polhem};
use crate::spec::{self, DeviceClock, DeviceSpec};

/// A HID device of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDevice {
    /// How to ask for it: `hid:VID:PID[:SERIAL]`, with `@MODEL` to be completed where its ids do not tell the model.
    pub spec: String,
    /// What it calls itself.
    pub name: String,
    /// USB vendor.
    pub vendor: u16,
    /// USB product.
    pub product: u16,
    /// Serial number, empty if it has none.
    pub serial: String,
    /// Its node, such as /dev/hidraw0.
    pub node: String,
    /// It is a haptic device (or an input device that takes the place of one), not a keyboard.
    pub haptic: bool,
    /// Why it cannot be used, and the remedy; `None` if it can.
    pub problem: Option<String>,
}

/// All HID devices that the system knows, those that this user may not open included. An empty list if the system tells
/// nothing.
pub fn list() -> Vec<FoundDevice> {
    let Ok(api) = HidApi::new() else { return Vec::new() };
    let mut found: Vec<FoundDevice> = Vec::new();
    for device in api.device_list() {
        let node = device.path().to_string_lossy().into_owned();
        let usage = (device.usage_page(), device.usage());
        let ours = usage == (report::USAGE_PAGE, report::USAGE);
        let raw = usage == (report::USAGE_PAGE, report::USAGE_RAW);
        // A device with several collections is told once for each.
        if let Some(known) = found.iter_mut().find(|f| f.node == node) {
            known.haptic |= ours || raw;
            continue;
        }
        let serial = device.serial_number().unwrap_or_default().to_owned();
        let mut spec = DeviceSpec::Hid {
            vendor: device.vendor_id(),
            product: device.product_id(),
            serial: Some(serial.clone()).filter(|s| !s.is_empty()),
            model: None,
        };
        let model = spec::model(&spec).ok().flatten();
        let name = [device.manufacturer_string(), device.product_string()];
        let mut name = name.into_iter().flatten().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ");
        let mut problem = None;
        match &model {
            Some(model) if raw && model.profile != Profile::TelehapticRaw => problem = Some(NAME_ARM.to_owned()),
            Some(model) => name = format!("{name} [{}]", model.name),
            None if raw => problem = Some(NAME_ARM.to_owned()),
            None if ours => {
                if let DeviceSpec::Hid { model, .. } = &mut spec {
                    *model = Some("telehaptic".to_owned());
                }
            }
            None => problem = Some(DeviceError::OtherReport(spec.to_string()).to_string()),
        }
        found.push(FoundDevice {
            spec: spec.to_string(),
            name,
            vendor: device.vendor_id(),
            product: device.product_id(),
            serial,
            haptic: ours || raw || model.is_some(),
            problem,
            node,
        });
    }
    for device in found.iter_mut().filter(|device| device.haptic && device.problem.is_none()) {
        let problem = CString::new(device.node.as_str()).ok().and_then(|path| access_problem(&path, &device.spec));
        device.problem = problem.map(|e| e.to_string());
    }
    found.sort_by(|a, b| (!a.haptic, &a.node).cmp(&(!b.haptic, &b.node)));
    found
}

/// Of a device that tells encoder counts, when nothing tells which arm they are of.
const NAME_ARM: &str = "it tells encoder counts: name its arm, as in hid:VID:PID@falcon (assets/devices/README.md)";

/// Opens the device that a [`DeviceSpec::Hid`] names.
pub(crate) fn open(spec: &DeviceSpec, clock: &DeviceClock) -> Result<Box<dyn HapticDevice>, DeviceError> {
    let DeviceSpec::Hid { vendor, product, serial, .. } = spec else {
        return Err(DeviceError::Spec(spec.to_string()));
    };
    // Ids that say nothing can be those of a maker that speaks our report: the descriptor decides.
    let fallback = || crate::Model::find("telehaptic").cloned();
    let Some(model) = spec::model(spec)?.or_else(fallback) else {
        return Err(DeviceError::OtherReport(spec.to_string()));
    };
    let bus = HidrawBus {
        spec: spec.to_string(),
        vendor: *vendor,
        product: *product,
        serial: serial.clone(),
        profile: model.profile,
    };
    let codec = Codec::new(&model);
    let link = Link::open(bus, clock.clone(), codec.as_ref().map(Codec::emit), &model.name)?;
    match (codec, model.rate_control) {
        (Some(codec), _) => Ok(Box::new(HidDevice::new(model.info(), codec, link))),
        (None, Some(rate)) => Ok(Box::new(SpaceMouse::new(model.info(), rate, link))),
        (None, None) => Err(DeviceError::OtherReport(spec.to_string())),
    }
}

/// Where the device with given ids is looked for, each time anew.
struct HidrawBus {
    spec: String,
    vendor: u16,
    product: u16,
    serial: Option<String>,
    profile: Profile,
}

impl Bus for HidrawBus {
    type Port = HidrawPort;

    fn open(&mut self) -> Result<(HidrawPort, HidrawPort), DeviceError> {
        let failed = |e: HidError| DeviceError::Open { device: self.spec.clone(), reason: e.to_string() };
        let api = HidApi::new().map_err(failed)?;
        let wanted = |d: &&hidapi::DeviceInfo| {
            (d.vendor_id(), d.product_id()) == (self.vendor, self.product)
                && self.serial.as_deref().is_none_or(|wanted| d.serial_number() == Some(wanted))
        };
        // Such as a SpaceMouse with a receiver can have several nodes: the one with the right usage, if any says so.
        let usage = |d: &&hidapi::DeviceInfo| self.profile != Profile::Spacemouse || is_spacemouse(d);
        let path: CString = api
            .device_list()
            .filter(wanted)
            .find(usage)
            .or_else(|| api.device_list().find(wanted))
            .map(|d| d.path().to_owned())
            .ok_or_else(|| DeviceError::NotFound(self.spec.clone()))?;
        if let Some(problem) = access_problem(&path, &self.spec) {
            return Err(problem);
        }
        let reader = api.open_path(&path).map_err(failed)?;
        let mut bytes = [0; 4096];
        let size = reader.get_report_descriptor(&mut bytes).map_err(failed)?;
        if !suits(self.profile, bytes.get(..size).unwrap_or_default()) {
            return Err(DeviceError::OtherReport(self.spec.clone()));
        }
        // Each opening has a queue of its own in the kernel; that of the writer fills up and is never read.
        let writer = api.open_path(&path).map_err(failed)?;
        Ok((HidrawPort(reader), HidrawPort(writer)))
    }
}

/// Generic desktop, multi-axis controller.
fn is_spacemouse(device: &hidapi::DeviceInfo) -> bool {
    (device.usage_page(), device.usage()) == (1, 8)
}

/// Does a device with this descriptor speak the reports of this profile? Ids are not unique: force for another device's
/// reports must not be.
fn suits(profile: Profile, bytes: &[u8]) -> bool {
    let bits = |bytes: usize| bytes as u32 * 8;
    match profile {
        Profile::TelehapticCartesian => bytes == descriptor::CARTESIAN,
        Profile::TelehapticRaw => bytes == descriptor::RAW,
        Profile::Polhem => {
            let both = [(Direction::In, 0, bits(polhem::SIZE)), (Direction::Out, 0, bits(polhem::SIZE))];
            descriptor::reports(bytes) == both
        }
        Profile::Spacemouse => {
            // Generic desktop page, multi-axis controller.
            bytes.starts_with(&[0x05, 0x01, 0x09, 0x08])
                && descriptor::reports(bytes).iter().any(|r| (r.0, r.1) == (Direction::In, 1) && r.2 >= bits(6))
        }
    }
}

/// An open hidraw node.
struct HidrawPort(hidapi::HidDevice);

impl Port for HidrawPort {
    fn read(&mut self, buf: &mut [u8], wait: Duration) -> Result<usize, Gone> {
        self.0.read_timeout(buf, i32::try_from(wait.as_millis()).unwrap_or(i32::MAX)).map_err(|_| Gone)
    }

    fn write(&mut self, report: &[u8]) -> Result<(), Gone> {
        match self.0.write(report) {
            // A report without a number may be told without the zero before it.
            Ok(size) if size + usize::from(report.first() == Some(&0)) >= report.len() => Ok(()),
            _ => Err(Gone),
        }
    }
}

/// Why the node at `path` cannot be opened for reading and writing.
fn access_problem(path: &CStr, spec: &str) -> Option<DeviceError> {
    // SAFETY: `path` is a valid string with a terminating zero and outlives the call.
    let refused = unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::R_OK | libc::W_OK, libc::AT_EACCESS) };
    if refused == 0 {
        return None;
    }
    let node = path.to_string_lossy().into_owned();
    let error = std::io::Error::last_os_error();
    Some(match error.kind() {
        std::io::ErrorKind::PermissionDenied => DeviceError::Permission { device: spec.to_owned(), node },
        _ => DeviceError::Open { device: spec.to_owned(), reason: format!("{node}: {error}") },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_takes_its_own_descriptor_only() {
        use Profile::{Polhem, Spacemouse, TelehapticCartesian, TelehapticRaw};
        let mouse: &[u8] = &[0x05, 1, 0x09, 2, 0xa1, 1, 0x75, 8, 0x95, 3, 0x81, 6, 0xc0];
        // As in spacemouse: report 1 of three i16.
        let cap: &[u8] = &[0x05, 1, 0x09, 8, 0xa1, 1, 0x85, 1, 0x75, 16, 0x95, 3, 0x81, 6, 0xc0];
        let all = [descriptor::CARTESIAN, descriptor::RAW, polhem::DESCRIPTOR, mouse, cap, &[], &[0x27]];
        let taken = |profile| all.map(|bytes| suits(profile, bytes));
        assert_eq!(taken(TelehapticCartesian), [true, false, false, false, false, false, false]);
        assert_eq!(taken(TelehapticRaw), [false, true, false, false, false, false, false]);
        assert_eq!(taken(Polhem), [false, false, true, false, false, false, false]);
        assert!(!taken(Spacemouse)[2] && !taken(Spacemouse)[3] && taken(Spacemouse)[4]);
    }

    #[test]
    fn a_node_that_is_missing_or_closed_is_told_with_its_remedy() {
        let missing = access_problem(c"/dev/no-such-hidraw", "hid:0001:0002").unwrap().to_string();
        assert!(missing.contains("hid:0001:0002") && missing.contains("/dev/no-such-hidraw"), "{missing}");
        assert_eq!(access_problem(c"/dev/null", "x"), None);
        let refused = DeviceError::Permission { device: "hid:0001:0002".into(), node: "/dev/hidraw3".into() };
        let text = refused.to_string();
        assert!(text.contains("/dev/hidraw3") && text.contains("70-telehaptic.rules"), "{text}");
    }
}
