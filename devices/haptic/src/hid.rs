//! HID devices of this machine through hidapi (Linux: hidraw): what is there, whether it may be used, and opening it.
//! The only file that names hidapi.

use std::ffi::{CStr, CString};

use hidapi::{HidApi, HidError};
use media::Instant;

use crate::device::{DeviceError, DeviceInfo};
use crate::hid_device::{Bus, Gone, HidDevice, Port};
use crate::report;
use crate::spec::DeviceSpec;

/// A HID device of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDevice {
    /// How to ask for it: `hid:VID:PID[:SERIAL]`.
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
    /// It has our report: it can be a master or a slave.
    pub telehaptic: bool,
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
        let telehaptic = (device.usage_page(), device.usage()) == (report::USAGE_PAGE, report::USAGE);
        // A device with several collections is told once for each.
        if let Some(known) = found.iter_mut().find(|f| f.node == node) {
            known.telehaptic |= telehaptic;
            continue;
        }
        let serial = device.serial_number().unwrap_or_default().to_owned();
        let spec = DeviceSpec::Hid {
            vendor: device.vendor_id(),
            product: device.product_id(),
            serial: Some(serial.clone()).filter(|s| !s.is_empty()),
        };
        let name = [device.manufacturer_string(), device.product_string()];
        let name: Vec<_> = name.into_iter().flatten().filter(|s| !s.is_empty()).collect();
        found.push(FoundDevice {
            spec: spec.to_string(),
            name: name.join(" "),
            vendor: device.vendor_id(),
            product: device.product_id(),
            serial,
            telehaptic,
            problem: None,
            node,
        });
    }
    for device in &mut found {
        let problem = if device.telehaptic {
            CString::new(device.node.as_str()).ok().and_then(|path| access_problem(&path, &device.spec))
        } else {
            Some(DeviceError::OtherReport(device.spec.clone()))
        };
        device.problem = problem.map(|e| e.to_string());
    }
    found.sort_by(|a, b| (!a.telehaptic, &a.node).cmp(&(!b.telehaptic, &b.node)));
    found
}

/// Opens the device with these ids.
pub(crate) fn open(
    vendor: u16,
    product: u16,
    serial: Option<&str>,
    _now: Instant,
) -> Result<HidDevice<HidrawPort>, DeviceError> {
    // What the report leaves open is that of the smallest device in use (assets/devices/telehaptic-hid.md).
    let info = DeviceInfo::desktop(format!("HID {vendor:04x}:{product:04x}"));
    HidDevice::open(HidrawBus { vendor, product, serial: serial.map(str::to_owned) }, info)
}

/// Where the device with given ids is looked for, each time anew.
pub(crate) struct HidrawBus {
    vendor: u16,
    product: u16,
    serial: Option<String>,
}

impl Bus for HidrawBus {
    type Port = HidrawPort;

    fn open(&mut self) -> Result<(HidrawPort, HidrawPort), DeviceError> {
        let spec =
            DeviceSpec::Hid { vendor: self.vendor, product: self.product, serial: self.serial.clone() }.to_string();
        let failed = |e: HidError| DeviceError::Open { device: spec.clone(), reason: e.to_string() };
        let api = HidApi::new().map_err(failed)?;
        let path: CString = api
            .device_list()
            .find(|d| {
                (d.vendor_id(), d.product_id()) == (self.vendor, self.product)
                    && self.serial.as_deref().is_none_or(|wanted| d.serial_number() == Some(wanted))
            })
            .map(|d| d.path().to_owned())
            .ok_or_else(|| DeviceError::NotFound(spec.clone()))?;
        if let Some(problem) = access_problem(&path, &spec) {
            return Err(problem);
        }
        let reader = api.open_path(&path).map_err(failed)?;
        let mut descriptor = [0; 4096];
        let size = reader.get_report_descriptor(&mut descriptor).map_err(failed)?;
        if descriptor.get(..size) != Some(report::DESCRIPTOR) {
            return Err(DeviceError::OtherReport(spec));
        }
        // Each opening has a queue of its own in the kernel; that of the writer fills up and is never read.
        let writer = api.open_path(&path).map_err(failed)?;
        Ok((HidrawPort(reader), HidrawPort(writer)))
    }
}

/// An open hidraw node.
pub(crate) struct HidrawPort(hidapi::HidDevice);

impl Port for HidrawPort {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Gone> {
        self.0.read_timeout(buf, 0).map_err(|_| Gone)
    }

    fn write(&mut self, report: &[u8]) -> Result<(), Gone> {
        match self.0.write(report) {
            Ok(size) if size == report.len() => Ok(()),
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
    fn a_node_that_is_missing_or_closed_is_told_with_its_remedy() {
        let missing = access_problem(c"/dev/no-such-hidraw", "hid:0001:0002").unwrap().to_string();
        assert!(missing.contains("hid:0001:0002") && missing.contains("/dev/no-such-hidraw"), "{missing}");
        assert_eq!(access_problem(c"/dev/null", "x"), None);
        let refused = DeviceError::Permission { device: "hid:0001:0002".into(), node: "/dev/hidraw3".into() };
        let text = refused.to_string();
        assert!(text.contains("/dev/hidraw3") && text.contains("70-telehaptic.rules"), "{text}");
    }
}
