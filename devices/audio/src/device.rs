//! Sound devices through cpal. This file and those below `device/` are the only ones that name it.
//!
//! On Linux the devices are ALSA's. Names: an identifier such as `hw:Loopback,0` or
//! `hw:CARD=Loopback,DEV=0`, or any part of an identifier or a description, in any case.

mod capture;
mod output;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use alsa::Output;
use cpal::traits::{DeviceTrait, HostTrait};
use cpal::{BufferSize, ErrorKind, SampleFormat, StreamConfig, SupportedBufferSize};

pub(crate) use capture::Microphone;
pub(crate) use output::Speaker;

use crate::{AudioError, DeviceKind, FoundDevice, RATE};

/// The devices that can be given after `device:`. ALSA's many aliases of one card are left out, and so are its
/// `null` devices, which have no clock. Empty if there is no sound system.
pub fn list() -> Vec<FoundDevice> {
    let Ok(devices) = quiet_host().devices() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for device in devices {
        let name = identifier(&device);
        let is_card = name.starts_with("hw:");
        if !is_card && (name.contains(':') || name == "null") {
            continue;
        }
        let description = device.description().map(|d| d.name().to_owned()).unwrap_or_default();
        for kind in [DeviceKind::Microphone, DeviceKind::Speaker] {
            // Cards are not opened for the list: another program may hold them. Others exist as names only, so
            // they are tried.
            let usable = match kind {
                DeviceKind::Microphone => device.supports_input() && (is_card || device.default_input_config().is_ok()),
                DeviceKind::Speaker => device.supports_output() && (is_card || device.default_output_config().is_ok()),
            };
            let entry = FoundDevice { name: name.clone(), kind, detail: description.clone() };
            if usable && !found.contains(&entry) && !is_alias(&found, &entry) {
                found.push(entry);
            }
        }
    }
    found
}

/// `hw:CARD=0,DEV=0` is the same as `hw:CARD=Loopback,DEV=0` listed before it.
fn is_alias(found: &[FoundDevice], entry: &FoundDevice) -> bool {
    let numeric = entry.name.strip_prefix("hw:CARD=").is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
    numeric && found.iter().any(|f| f.kind == entry.kind && f.detail == entry.detail && f.name != entry.name)
}

/// The sound system; what ALSA's library has to complain about on this thread stays out of stderr, since every failure is
/// told in words of our own.
fn quiet_host() -> cpal::Host {
    // Without the handler all is as well, only less quiet.
    let _ = Output::local_error_handler();
    cpal::default_host()
}

fn identifier(device: &cpal::Device) -> String {
    device.id().map(|id| id.id().to_owned()).unwrap_or_default()
}

const fn words(kind: DeviceKind) -> (&'static str, &'static str) {
    match kind {
        DeviceKind::Microphone => ("microphone", "--mic silence or --mic file:PATH"),
        DeviceKind::Speaker => ("speaker", "--speaker none or --speaker file:PATH"),
    }
}

/// A device and its name for people.
fn find(kind: DeviceKind, wanted: Option<&str>) -> Result<(cpal::Device, String), AudioError> {
    let (what, instead) = words(kind);
    let not_found = || AudioError::NotFound { what, name: wanted.unwrap_or("default").to_owned(), instead };
    let host = quiet_host();
    let device = match wanted {
        None if kind == DeviceKind::Microphone => host.default_input_device(),
        None => host.default_output_device(),
        Some(name) => {
            let id = cpal::DeviceId::new(host.id(), name);
            host.device_by_id(&id).or_else(|| by_part(&host, kind, name))
        }
    };
    let device = device.ok_or_else(not_found)?;
    let id = identifier(&device);
    let name = match device.description() {
        Ok(description) if description.name() != id => format!("{} ({id})", description.name()),
        _ => id,
    };
    Ok((device, name))
}

fn by_part(host: &cpal::Host, kind: DeviceKind, part: &str) -> Option<cpal::Device> {
    let part = part.to_lowercase();
    let fits = |device: &cpal::Device| {
        let direction = match kind {
            DeviceKind::Microphone => device.supports_input(),
            DeviceKind::Speaker => device.supports_output(),
        };
        let description = device.description().map(|d| d.name().to_lowercase()).unwrap_or_default();
        direction && (description.contains(&part) || identifier(device).to_lowercase().contains(&part))
    };
    // The card itself before ALSA's converting aliases of it: conversion is done here.
    host.devices().ok()?.filter(fits).min_by_key(|d| u8::from(!identifier(d).starts_with("hw:")))
}

/// Chooses the format nearest to what is used inside: 48 kHz, mono or stereo, samples that are not exotic.
fn choose(
    kind: DeviceKind,
    device: &cpal::Device,
    name: &str,
) -> Result<(StreamConfig, SampleFormat, SupportedBufferSize), AudioError> {
    let ranges: Vec<_> = match kind {
        DeviceKind::Microphone => device.supported_input_configs().map(Iterator::collect),
        DeviceKind::Speaker => device.supported_output_configs().map(Iterator::collect),
    }
    .map_err(|e| refused(kind, name, &e))?;
    let best = ranges
        .iter()
        .filter_map(|range| {
            let format = FORMATS.iter().position(|f| *f == range.sample_format())?;
            let rate = RATE.clamp(range.min_sample_rate(), range.max_sample_rate());
            let channels = match range.channels() {
                1 => 0,
                2 => 1,
                n => n,
            };
            Some(((rate.abs_diff(RATE), channels, format), range.with_sample_rate(rate)))
        })
        .min_by_key(|(cost, _)| *cost)
        .map(|(_, config)| config);
    let Some(best) = best else {
        let (what, _) = words(kind);
        let detail = "offers no PCM format that is known here".to_owned();
        let remedy = "choose another device from `telehaptic devices`";
        return Err(AudioError::Device { what, name: name.to_owned(), detail, remedy });
    };
    Ok((best.config(), best.sample_format(), *best.buffer_size()))
}

const FORMATS: [SampleFormat; 7] = [
    SampleFormat::F32,
    SampleFormat::I16,
    SampleFormat::I32,
    SampleFormat::U16,
    SampleFormat::U8,
    SampleFormat::I8,
    SampleFormat::F64,
];

/// Blocks of 10 ms, or the nearest that the device can do.
fn block_size(rate: u32, supported: SupportedBufferSize) -> BufferSize {
    match supported {
        SupportedBufferSize::Range { min, max } if min <= max && max > 0 => {
            BufferSize::Fixed((rate / 100).clamp(min, max))
        }
        _ => BufferSize::Default,
    }
}

fn refused(kind: DeviceKind, name: &str, e: &cpal::Error) -> AudioError {
    let (what, instead) = words(kind);
    let remedy = match e.kind() {
        ErrorKind::DeviceBusy => "close the program that uses it, or choose another device",
        ErrorKind::PermissionDenied => "add the user to the group `audio`, or log in at the machine itself",
        ErrorKind::DeviceNotAvailable | ErrorKind::HostUnavailable => {
            return AudioError::NotFound { what, name: name.to_owned(), instead };
        }
        _ => "choose another device from `telehaptic devices`",
    };
    AudioError::Device { what, name: name.to_owned(), detail: e.to_string(), remedy }
}

/// What the device's own thread reports.
#[derive(Debug, Default)]
struct Health {
    /// Set once the stream is over.
    fault: Mutex<Option<String>>,
    /// Overruns or underruns that the system reported.
    glitches: AtomicU64,
}

impl Health {
    fn on_error(&self, e: &cpal::Error) {
        match e.kind() {
            ErrorKind::Xrun => {
                self.glitches.fetch_add(1, Ordering::Relaxed);
            }
            ErrorKind::RealtimeDenied | ErrorKind::DeviceChanged => tracing::debug!("sound: {e}"),
            _ => {
                if let Ok(mut fault) = self.fault.lock() {
                    fault.get_or_insert_with(|| e.to_string());
                }
            }
        }
    }

    /// The error that ended the stream, if one did.
    fn check(&self, kind: DeviceKind, name: &str) -> Result<(), AudioError> {
        let fault = self.fault.lock().ok().and_then(|f| f.clone());
        let Some(detail) = fault else {
            return Ok(());
        };
        let (what, _) = words(kind);
        let remedy = "plug it in again and restart the station, or choose another device";
        Err(AudioError::Device { what, name: name.to_owned(), detail, remedy })
    }
}
