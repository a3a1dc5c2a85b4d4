//! What is there: for people, and to choose from.

use cpal::ErrorKind;
use cpal::traits::{DeviceTrait, HostTrait};

use super::{NO_FORMAT, configs, default_card, description, identifier, quiet_host};
use crate::names::Named;
use crate::{DeviceKind, FoundDevice};

/// The devices that can be given after `device:`. ALSA's many aliases of one card are left out, and so are its
/// `null` devices, which have no clock. Each is opened for a moment to learn what it can do. Empty if there is no sound
/// system.
pub fn list() -> Vec<FoundDevice> {
    let host = quiet_host();
    let default = default_card();
    let mut found = Vec::new();
    for kind in [DeviceKind::Microphone, DeviceKind::Speaker] {
        for (device, Named { id, description, .. }) in devices(&host, kind).into_iter().filter(|(_, d)| d.listed) {
            let is_card = id.starts_with("hw:");
            let (ability, problem) = match ability(kind, &device) {
                Ok(ability) => (ability, None),
                // Others than cards exist as names only, in every direction.
                Err(_) if !is_card => continue,
                Err(problem) => (String::new(), Some(problem)),
            };
            let behind = default.as_ref().filter(|card| card.number >= 0);
            let is_default = id == "default" || behind.is_some_and(|card| id == format!("hw:CARD={},DEV=0", card.id));
            found.push(FoundDevice { name: id, kind, detail: description, is_default, ability, problem });
        }
    }
    found
}

/// All devices of a direction, those to list marked.
pub(super) fn devices(host: &cpal::Host, kind: DeviceKind) -> Vec<(cpal::Device, Named)> {
    let mut found: Vec<(cpal::Device, Named)> = Vec::new();
    for device in host.devices().into_iter().flatten() {
        let usable = match kind {
            DeviceKind::Microphone => device.supports_input(),
            DeviceKind::Speaker => device.supports_output(),
        };
        if !usable {
            continue;
        }
        let (id, description) = (identifier(&device), description(&device));
        let is_card = id.starts_with("hw:");
        let alias = found.iter().any(|(_, f)| f.id == id || is_alias(f, &id, &description));
        let listed = (is_card || !id.contains(':')) && id != "null" && !alias;
        found.push((device, Named { id, description, listed }));
    }
    found
}

/// `hw:CARD=0,DEV=0` is the same as `hw:CARD=Loopback,DEV=0` listed before it.
fn is_alias(listed: &Named, id: &str, description: &str) -> bool {
    let numeric = id.strip_prefix("hw:CARD=").is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
    numeric && listed.listed && listed.id.starts_with("hw:") && listed.description == description
}

/// "8000 to 48000 Hz, 1 to 2 channels", or what stands in the way.
fn ability(kind: DeviceKind, device: &cpal::Device) -> Result<String, String> {
    let ranges: Vec<_> = configs(kind, device)
        .map_err(|e| match e.kind() {
            ErrorKind::DeviceBusy => "in use by another program".to_owned(),
            ErrorKind::PermissionDenied => "no permission: add the user to the group `audio`".to_owned(),
            _ => format!("cannot be opened: {e}"),
        })?
        .collect();
    let span = |low: Option<u32>, high: Option<u32>, unit: &str| match (low, high) {
        (Some(low), Some(high)) if low == high => format!("{low} {unit}"),
        (Some(low), Some(high)) => format!("{low} to {high} {unit}"),
        _ => String::new(),
    };
    if ranges.is_empty() {
        return Err(NO_FORMAT.to_owned());
    }
    let rates =
        span(ranges.iter().map(|r| r.min_sample_rate()).min(), ranges.iter().map(|r| r.max_sample_rate()).max(), "Hz");
    let channels = || ranges.iter().map(|r| u32::from(r.channels()));
    let unit = if channels().max() == Some(1) { "channel" } else { "channels" };
    Ok(format!("{rates}, {}", span(channels().min(), channels().max(), unit)))
}
