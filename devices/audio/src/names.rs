//! Which device a name means: the identifier as listed, or any part of identifier or description that fits one only.

use crate::{AudioError, DeviceKind};

/// A device by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Identifier, such as `hw:CARD=Loopback,DEV=0`.
    pub id: String,
    /// For people.
    pub description: String,
    /// Stands in the list; others are ALSA's aliases, which only their full name means.
    pub listed: bool,
}

/// What messages call a device of this kind, and what works without one.
pub(crate) const fn words(kind: DeviceKind) -> (&'static str, &'static str) {
    match kind {
        DeviceKind::Microphone => ("microphone", "--mic silence or --mic file:PATH"),
        DeviceKind::Speaker => ("speaker", "--speaker none or --speaker file:PATH"),
    }
}

/// The place in `there` of the device that `wanted` means.
///
/// # Errors
/// One line that lists what is there, if it means none or several.
pub(crate) fn pick(kind: DeviceKind, wanted: &str, there: &[Named]) -> Result<usize, AudioError> {
    let full = canonical(wanted);
    if let Some(exact) = there.iter().position(|d| d.id == full) {
        return Ok(exact);
    }
    let low = wanted.to_lowercase();
    let listed = || there.iter().enumerate().filter(|(_, d)| d.listed);
    let texts = |d: &Named| [d.id.to_lowercase(), d.description.to_lowercase()];
    let whole: Vec<_> = listed().filter(|(_, d)| texts(d).contains(&low)).collect();
    let part: Vec<_> = listed().filter(|(_, d)| texts(d).iter().any(|t| t.contains(&low))).collect();
    for fits in [whole, part] {
        match fits[..] {
            [] => {}
            [(place, _)] => return Ok(place),
            _ => {
                let (what, _) = words(kind);
                let names = ids(fits.iter().map(|(_, d)| *d));
                return Err(AudioError::Ambiguous { what, name: wanted.to_owned(), fits: names });
            }
        }
    }
    Err(not_found(kind, wanted, there))
}

/// The error for a device that is not there, with those that are.
pub(crate) fn not_found(kind: DeviceKind, wanted: &str, there: &[Named]) -> AudioError {
    let (what, instead) = words(kind);
    let names = ids(there.iter().filter(|d| d.listed));
    let there = if names.is_empty() { format!("this machine has no {what}") } else { format!("there are {names}") };
    AudioError::NotFound { what, name: wanted.to_owned(), there, instead }
}

fn ids<'a>(devices: impl Iterator<Item = &'a Named>) -> String {
    devices.map(|d| d.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// `hw:Loopback,1` and `hw:Loopback` in full: `hw:CARD=Loopback,DEV=1`.
fn canonical(id: &str) -> String {
    let Some((prefix @ ("hw" | "plughw"), rest)) = id.split_once(':') else {
        return id.to_owned();
    };
    let (card, device) = rest.split_once(',').unwrap_or((rest, "0"));
    let (card, device) = (card.trim(), device.trim());
    format!("{prefix}:CARD={},DEV={}", card.trim_start_matches("CARD="), device.trim_start_matches("DEV="))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Vec<Named> {
        let named =
            |id: &str, description: &str, listed| Named { id: id.into(), description: description.into(), listed };
        vec![
            named("default", "Default Audio Device", true),
            named("hw:CARD=Loopback,DEV=0", "Loopback, Loopback PCM", true),
            named("hw:CARD=Loopback,DEV=1", "Loopback, Loopback PCM", true),
            named("plughw:CARD=Headset,DEV=0", "USB Headset, USB Audio", false),
            named("hw:CARD=Headset,DEV=0", "USB Headset, USB Audio", true),
            named("hw:CARD=Pro,DEV=0", "USB Headset Pro, USB Audio", true),
        ]
    }

    #[test]
    fn a_full_name_or_a_part_that_fits_one_device_finds_it() {
        for (wanted, id) in [
            ("default", "default"),
            ("hw:Loopback,1", "hw:CARD=Loopback,DEV=1"),
            ("hw:Loopback", "hw:CARD=Loopback,DEV=0"),
            ("hw:CARD=Loopback,DEV=1", "hw:CARD=Loopback,DEV=1"),
            ("plughw:Headset,0", "plughw:CARD=Headset,DEV=0"),
            ("headset,dev", "hw:CARD=Headset,DEV=0"),
            ("usb headset, usb audio", "hw:CARD=Headset,DEV=0"),
            ("headset pro", "hw:CARD=Pro,DEV=0"),
        ] {
            let there = machine();
            assert_eq!(there[pick(DeviceKind::Speaker, wanted, &there).unwrap()].id, id, "{wanted}");
        }
    }

    #[test]
    fn a_name_that_fits_none_or_several_gets_one_line_with_those_there() {
        let there = machine();
        let line = |wanted, there: &[Named]| pick(DeviceKind::Microphone, wanted, there).unwrap_err().to_string();
        let several = line("loopback", &there);
        assert!(several.contains("hw:CARD=Loopback,DEV=0, hw:CARD=Loopback,DEV=1") && !several.contains("Headset"));
        let none = line("webcam", &there);
        assert!(
            none.contains("\"webcam\"") && none.contains("hw:CARD=Pro,DEV=0") && !none.contains("plughw"),
            "{none}"
        );
        let empty = line("webcam", &[]);
        assert!(empty.contains("this machine has no microphone") && empty.contains("--mic silence"), "{empty}");
        for text in [several, none, empty] {
            assert_eq!(text.lines().count(), 1, "{text}");
        }
    }
}
