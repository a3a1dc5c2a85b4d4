//! The grammar of sources and sinks on the command line and in configuration files.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::AudioError;

/// Where sound comes from: `device[:NAME]`, `file:PATH` or `silence`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum SourceSpec {
    /// A microphone: the default one, or the first whose name or identifier holds this text.
    Device(Option<String>),
    /// A WAV file, looped.
    File(PathBuf),
    /// Frames of zeros.
    #[default]
    Silence,
}

/// Where sound goes: `device[:NAME]`, `file:PATH` or `none`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum SinkSpec {
    /// A speaker: the default one, or the first whose name or identifier holds this text.
    Device(Option<String>),
    /// A WAV file, overwritten.
    File(PathBuf),
    /// Nowhere.
    #[default]
    None,
}

const SOURCES: &str = "device, device:NAME, file:PATH or silence";
const SINKS: &str = "device, device:NAME, file:PATH or none";

enum Parsed {
    Device(Option<String>),
    File(PathBuf),
    Word,
}

fn parse(text: &str, word: &str) -> Option<Parsed> {
    match text.split_once(':') {
        None if text == "device" => Some(Parsed::Device(None)),
        None if text == word => Some(Parsed::Word),
        Some(("device", name)) if !name.is_empty() => Some(Parsed::Device(Some(name.to_owned()))),
        Some(("file", path)) if !path.is_empty() => Some(Parsed::File(path.into())),
        _ => None,
    }
}

impl FromStr for SourceSpec {
    type Err = AudioError;

    fn from_str(text: &str) -> Result<Self, AudioError> {
        match parse(text, "silence") {
            Some(Parsed::Device(name)) => Ok(SourceSpec::Device(name)),
            Some(Parsed::File(path)) => Ok(SourceSpec::File(path)),
            Some(Parsed::Word) => Ok(SourceSpec::Silence),
            None => Err(AudioError::Spec { text: text.to_owned(), what: "sound source", expected: SOURCES }),
        }
    }
}

impl FromStr for SinkSpec {
    type Err = AudioError;

    fn from_str(text: &str) -> Result<Self, AudioError> {
        match parse(text, "none") {
            Some(Parsed::Device(name)) => Ok(SinkSpec::Device(name)),
            Some(Parsed::File(path)) => Ok(SinkSpec::File(path)),
            Some(Parsed::Word) => Ok(SinkSpec::None),
            None => Err(AudioError::Spec { text: text.to_owned(), what: "sound sink", expected: SINKS }),
        }
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceSpec::Device(None) => f.write_str("device"),
            SourceSpec::Device(Some(name)) => write!(f, "device:{name}"),
            SourceSpec::File(path) => write!(f, "file:{}", path.display()),
            SourceSpec::Silence => f.write_str("silence"),
        }
    }
}

impl fmt::Display for SinkSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SinkSpec::Device(None) => f.write_str("device"),
            SinkSpec::Device(Some(name)) => write!(f, "device:{name}"),
            SinkSpec::File(path) => write!(f, "file:{}", path.display()),
            SinkSpec::None => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_round_trip_and_bad_ones_say_what_is_possible() {
        for text in ["device", "device:hw:Loopback,0", "file:/a/b.wav", "silence"] {
            assert_eq!(text.parse::<SourceSpec>().unwrap().to_string(), text);
        }
        for text in ["device", "device:USB", "file:out.wav", "none"] {
            assert_eq!(text.parse::<SinkSpec>().unwrap().to_string(), text);
        }
        for text in ["", "none", "file:", "device:", "mic", "silence:1"] {
            let line = text.parse::<SourceSpec>().unwrap_err().to_string();
            assert!(line.contains(SOURCES) && !line.contains('\n'), "{line}");
        }
        assert!("silence".parse::<SinkSpec>().unwrap_err().to_string().contains(SINKS));
    }
}
