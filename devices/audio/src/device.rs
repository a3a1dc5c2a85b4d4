//! Sound devices through cpal. This file and those below `device/` are the only ones that name it.
//!
//! On Linux the devices are ALSA's. Names: an identifier such as `hw:Loopback,0` or
//! `hw:CARD=Loopback,DEV=0`, or any part of an identifier or a description that fits one device, in any case.

mod callbacks;
mod list;
pub(crate) mod mixer;

use std::sync::Arc;

use alsa::{Ctl, Output};
use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{BufferSize, ErrorKind, SampleFormat, StreamConfig, SupportedBufferSize};

pub use list::list;

use crate::names::{Named, not_found, pick, words};
use crate::playback::{Feeder, ring};
use crate::system::{Health, Stream, System};
use crate::{AudioError, DeviceKind, RATE};

/// The sound system of this machine.
#[derive(Default)]
pub(crate) struct Machine {
    /// The kernel's list of cards, and what the default was when it was read.
    seen: Option<(Vec<u8>, Option<String>)>,
}

impl System for Machine {
    /// The card behind ALSA's `default`. A sound server's default stays the same here: the server itself moves streams.
    fn default_now(&mut self, _kind: DeviceKind) -> Option<String> {
        // To ask ALSA costs a connection where a sound server runs: only when cards have come or gone.
        let cards = std::fs::read("/proc/asound/cards").unwrap_or_default();
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != cards) {
            self.seen = Some((cards, default_card().map(|card| format!("{} {}", card.id, card.name))));
        }
        self.seen.as_ref().and_then(|(_, default)| default.clone())
    }

    fn capture(&mut self, wanted: Option<&str>) -> Result<(Stream, rtrb::Consumer<f32>), AudioError> {
        open(DeviceKind::Microphone, wanted, |device, name| {
            let (format, health) = (choose(DeviceKind::Microphone, device)?, Arc::new(Health::default()));
            let start = |config: StreamConfig| {
                let (producer, consumer) = rtrb::RingBuffer::new(config.sample_rate as usize);
                let (lost, watch) = (health.clone(), health.clone());
                let on_data = callbacks::capture(format.samples, config.channels, producer, lost);
                let on_error = move |e| on_error(&watch, &e);
                let stream = device.build_input_stream_raw(config, format.samples, on_data, on_error, None)?;
                stream.play()?;
                Ok((stream, consumer))
            };
            let (stream, consumer) = format.start(start)?;
            Ok((format.stream(name, health, stream), consumer))
        })
    }

    fn playback(&mut self, wanted: Option<&str>) -> Result<(Stream, Feeder), AudioError> {
        open(DeviceKind::Speaker, wanted, |device, name| {
            let (format, health) = (choose(DeviceKind::Speaker, device)?, Arc::new(Health::default()));
            let start = |config: StreamConfig| {
                let (feeder, drain) = ring(config.sample_rate);
                let watch = health.clone();
                let on_data = callbacks::playback(format.samples, config.channels, drain);
                let on_error = move |e| on_error(&watch, &e);
                let stream = device.build_output_stream_raw(config, format.samples, on_data, on_error, None)?;
                stream.play()?;
                Ok((stream, feeder))
            };
            let (stream, feeder) = format.start(start)?;
            Ok((format.stream(name, health, stream), feeder))
        })
    }
}

/// The card behind ALSA's `default` control, or a sound server that stands in for it.
struct DefaultCard {
    /// Short name of the card, as in `hw:CARD=...`.
    id: String,
    name: String,
    /// Number of the card; below zero for a sound server.
    number: i32,
}

/// The default card; where that is not there, the first one.
fn default_card() -> Option<DefaultCard> {
    silence_alsa();
    let info = |control: &str| {
        let info = Ctl::new(control, true).and_then(|ctl| ctl.card_info()).ok()?;
        let (id, name) = (info.get_id().ok()?.to_owned(), info.get_name().ok()?.to_owned());
        Some(DefaultCard { id, name, number: info.get_card().get_index() })
    };
    let cards = alsa::card::Iter::new().filter_map(Result::ok).map(|card| format!("hw:{}", card.get_index()));
    std::iter::once("default".to_owned()).chain(cards).find_map(|control| info(&control))
}

/// What ALSA's library has to complain about on this thread stays out of stderr, since every failure is told in words of
/// our own.
fn silence_alsa() {
    // Without the handler all is as well, only less quiet.
    let _ = Output::local_error_handler();
}

fn quiet_host() -> cpal::Host {
    silence_alsa();
    cpal::default_host()
}

fn identifier(device: &cpal::Device) -> String {
    device.id().map(|id| id.id().to_owned()).unwrap_or_default()
}

fn description(device: &cpal::Device) -> String {
    device.description().map(|d| d.name().to_owned()).unwrap_or_default()
}

/// What the device is called in messages.
fn title(device: &cpal::Device) -> String {
    let (id, description) = (identifier(device), description(device));
    if description.is_empty() || description == id { id } else { format!("{description} ({id})") }
}

/// Opens the device that is wanted. Where that is the default and it is not there or no good, the first card that can be
/// opened takes its place; not where another program has it or it is forbidden, which people must know.
fn open<T>(
    kind: DeviceKind,
    wanted: Option<&str>,
    start: impl Fn(&cpal::Device, &str) -> Result<T, cpal::Error>,
) -> Result<T, AudioError> {
    let host = quiet_host();
    let there = list::devices(&host, kind);
    let names: Vec<Named> = there.iter().map(|(_, named)| named.clone()).collect();
    let default = || match kind {
        DeviceKind::Microphone => host.default_input_device(),
        DeviceKind::Speaker => host.default_output_device(),
    };
    let device = match wanted {
        Some(wanted) => there[pick(kind, wanted, &names)?].0.clone(),
        None => default().ok_or_else(|| not_found(kind, "default", &names))?,
    };
    let error = match start(&device, &title(&device)) {
        Ok(opened) => return Ok(opened),
        Err(error) => error,
    };
    if wanted.is_none() && !matches!(error.kind(), ErrorKind::DeviceBusy | ErrorKind::PermissionDenied) {
        let cards = there.iter().filter(|(_, named)| named.listed && named.id.starts_with("hw:"));
        if let Some(opened) = cards.filter_map(|(card, _)| start(card, &title(card)).ok()).next() {
            return Ok(opened);
        }
    }
    Err(match error.kind() {
        ErrorKind::DeviceNotAvailable | ErrorKind::HostUnavailable => {
            not_found(kind, wanted.unwrap_or("default"), &names)
        }
        _ => refused(kind, &title(&device), &error),
    })
}

/// How a device is opened.
#[derive(Clone, Copy)]
struct Format {
    config: StreamConfig,
    samples: SampleFormat,
    blocks: BufferSize,
}

impl Format {
    /// In blocks of 10 ms; if it does not like that, as it likes.
    fn start<T>(&self, start: impl Fn(StreamConfig) -> Result<T, cpal::Error>) -> Result<T, cpal::Error> {
        let mut config = self.config;
        config.buffer_size = self.blocks;
        start(config).or_else(|_| {
            config.buffer_size = BufferSize::Default;
            start(config)
        })
    }

    fn stream(&self, name: &str, health: Arc<Health>, stream: cpal::Stream) -> Stream {
        let StreamConfig { sample_rate: rate, channels, .. } = self.config;
        Stream { name: name.to_owned(), rate, channels, health, _keep: Box::new(stream) }
    }
}

fn configs(
    kind: DeviceKind,
    device: &cpal::Device,
) -> Result<impl Iterator<Item = cpal::SupportedStreamConfigRange>, cpal::Error> {
    let ranges: Vec<_> = match kind {
        DeviceKind::Microphone => device.supported_input_configs().map(Iterator::collect),
        DeviceKind::Speaker => device.supported_output_configs().map(Iterator::collect),
    }?;
    Ok(ranges.into_iter().filter(|range| FORMATS.contains(&range.sample_format())))
}

/// Chooses the format nearest to what is used inside: 48 kHz, mono or stereo, samples that are not exotic.
fn choose(kind: DeviceKind, device: &cpal::Device) -> Result<Format, cpal::Error> {
    let best = configs(kind, device)?
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
    let unknown = || cpal::Error::with_message(ErrorKind::UnsupportedConfig, NO_FORMAT);
    let best = best.ok_or_else(unknown)?;
    let blocks = block_size(best.sample_rate(), *best.buffer_size());
    Ok(Format { config: best.config(), samples: best.sample_format(), blocks })
}

/// Those that [`callbacks`] converts, best first.
const FORMATS: [SampleFormat; 10] = [
    SampleFormat::F32,
    SampleFormat::I16,
    SampleFormat::I32,
    SampleFormat::I24,
    SampleFormat::U16,
    SampleFormat::U32,
    SampleFormat::U24,
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

const NO_FORMAT: &str = "offers no PCM format that is known here";

fn refused(kind: DeviceKind, name: &str, e: &cpal::Error) -> AudioError {
    let (what, _) = words(kind);
    let remedy = match e.kind() {
        ErrorKind::DeviceBusy => "close the program that uses it, or choose another device",
        ErrorKind::PermissionDenied => "add the user to the group `audio`, or log in at the machine itself",
        _ => "choose another device from `telehaptic devices`",
    };
    let detail = e.to_string().trim_end_matches('.').to_owned();
    AudioError::Device { what, name: name.to_owned(), detail, remedy }
}

/// Called on the device's own thread. An overrun or underrun mends itself, and what it does to the sound is counted by
/// the rings.
fn on_error(health: &Health, e: &cpal::Error) {
    match e.kind() {
        ErrorKind::Xrun | ErrorKind::RealtimeDenied | ErrorKind::DeviceChanged => {}
        _ => health.fail(e.to_string()),
    }
}
