//! What a station may be told: one plain structure with defaults, and the TOML file that may fill it.
//! Command line options are written over it by the caller; [`StationConfig::check`] runs at the start of a station.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use audio::{SinkSpec, SourceSpec};
use haptic::DeviceSpec;
use media::{Coupling, Role};
use proto::{RivalConfig, Scheme, TriggerConfig};
use serde::Deserialize;
use video::CameraSpec;

use crate::error::SessionError;
use crate::safety::SafetyOptions;
use crate::ticket::Ticket;

/// UDP port of a teleoperator unless it is told another.
pub const DEFAULT_PORT: u16 = 47_000;

/// Configuration of one station.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StationConfig {
    /// Operator (`"op"`) or teleoperator (`"top"`). Default `"top"`; the command says it.
    #[serde(deserialize_with = "role")]
    pub role: Role,
    /// Address and port to bind, `"ADDRESS:PORT"`. Default: TOP all IPv4 addresses, port 47000; OP any free port.
    /// `"[::]:47000"` serves IPv6 and IPv4. A port in use is an error.
    pub listen: Option<SocketAddr>,
    /// OP: the ticket that the teleoperator printed. Required for an OP unless `via` and a ticket come from the
    /// command line.
    pub ticket: Option<Ticket>,
    /// OP: send to this address instead of the ticket's, e.g. a network emulator in between. Default none.
    pub via: Option<SocketAddr>,
    /// TOP: keep the ticket's secret in this file (made with mode 0600 if missing), so that a restart keeps the
    /// ticket. Default none: a new ticket each time.
    pub ticket_file: Option<PathBuf>,
    /// How fragments become packets: `no-merge`, `k-merge:N`, `dpm`, `dpm-hold-up`. Default `dpm`. The OP's word
    /// holds for both channels once connected.
    pub scheme: Scheme,
    /// OP: how the two devices are coupled: `position-force`, `position-position` or `wave`. Default `position-force`. A TOP
    /// takes the OP's.
    #[serde(deserialize_with = "text")]
    pub coupling: Coupling,
    /// Constants of DPM; see there. Wrong ones lose packets or never leave k = 4.
    pub triggers: TriggerConfig,
    /// Constants of the schemes that DPM is compared with.
    pub rivals: RivalConfig,
    /// Largest fragment of the backward channel, bytes, 13 to 255. Default 70 (12 haptic + 8 audio + 50 video): its
    /// rate plus headers is the rate on the wire. Both stations must agree.
    pub fragment_size: usize,
    /// OP: the device in the hand, `sim`, `hid:VID:PID[:SERIAL]`, `replay:FILE`, `mouse`. Default `sim`: a simulated hand that touches the scene.
    #[serde(deserialize_with = "text")]
    pub master: DeviceSpec,
    /// TOP: the device that acts, same grammar. Default `sim`: a mass that touches the scene.
    #[serde(deserialize_with = "text")]
    pub slave: DeviceSpec,
    /// No force on the local device is longer, N, 0 to 50; the device's own limit holds too. Default 3.3. The peer's device has
    /// a limit of its own.
    pub force_limit: f32,
    /// Other limits and the stages of safety.
    pub safety: SafetyOptions,
    /// TOP: source of pictures, `scene`, `device:N`, `device:NAME`, `file:PATH`, `pattern`. Default `scene`.
    #[serde(deserialize_with = "text")]
    pub camera: CameraSpec,
    /// TOP: source of sound, `device[:NAME]`, `file:PATH`, `silence`. Default `silence`.
    #[serde(deserialize_with = "text")]
    pub mic: SourceSpec,
    /// OP: where sound goes, `device[:NAME]`, `file:PATH`, `none`. Default `none`.
    #[serde(deserialize_with = "text")]
    pub speaker: SinkSpec,
    /// Width of the picture, pixels, even, 32 to 1920. Default 320.
    pub width: usize,
    /// Height of the picture, pixels, even, 32 to 1080. Default 240.
    pub height: usize,
    /// Pictures a second, 1 to 60. Default 25.
    pub fps: u32,
    /// Rate of the video codec, kbit/s, 50 to 20000. Default 385: with frame headers below the 400 that `fragment_size`
    /// leaves; above, frames are skipped.
    pub video_kbps: u32,
    /// Largest key frame, bytes, 1000 to 32000. Default 8000: 160 ms on the wire at 50 bytes/ms.
    pub max_key_bytes: usize,
    /// Bytes of one 20 ms sound frame, 20 to 1275. Default 154: with its header 160, 8 bytes/ms.
    pub audio_bytes: usize,
    /// Seed of all randomness, for reports. Default 1.
    pub seed: u64,
    /// Name of the network scenario for the report. Default empty: unknown.
    pub scenario: String,
    /// Both stations run on this machine and the *report* may use its one clock. Default false. Control and
    /// packetization never use it. Wrong (two machines): absolute delays are nonsense.
    pub common_clock: bool,
    /// Write this station's half of the trace into this directory (made if missing). Default none.
    pub trace_dir: Option<PathBuf>,
    /// Save pictures in this directory (made if missing) as numbered PPM files: TOP those it encodes, OP those it
    /// shows. Costs disk and time. Default none.
    pub dump_pictures: Option<PathBuf>,
    /// Serve `telehaptic ctl`. Default true.
    pub control: bool,
    /// Socket of the control service. Default `$XDG_RUNTIME_DIR/telehaptic/op.sock` or `top.sock`, without that
    /// variable below `/tmp/telehaptic-UID`. At most 107 bytes.
    pub control_socket: Option<PathBuf>,
    /// OP: give up if nobody has answered for so long, s, 0 to 86400; 0 waits for ever. Default 5. After a first
    /// connection the station always waits.
    pub answer_timeout_s: f64,
    /// Nothing valid from the peer for this long counts as silence, ms, 60 to 10000. Default 250. The force is off
    /// long before, by its own watchdog.
    pub silence_ms: u64,
}

impl Default for StationConfig {
    fn default() -> Self {
        StationConfig {
            role: Role::Top,
            listen: None,
            ticket: None,
            via: None,
            ticket_file: None,
            scheme: Scheme::default(),
            coupling: Coupling::default(),
            triggers: TriggerConfig::default(),
            rivals: RivalConfig::default(),
            fragment_size: 70,
            master: DeviceSpec::Sim,
            slave: DeviceSpec::Sim,
            force_limit: 3.3,
            safety: SafetyOptions::default(),
            camera: CameraSpec::Scene,
            mic: SourceSpec::Silence,
            speaker: SinkSpec::None,
            width: 320,
            height: 240,
            fps: 25,
            video_kbps: 385,
            max_key_bytes: 8_000,
            audio_bytes: 154,
            seed: 1,
            scenario: String::new(),
            common_clock: false,
            trace_dir: None,
            dump_pictures: None,
            control: true,
            control_socket: None,
            answer_timeout_s: 5.0,
            silence_ms: 250,
        }
    }
}

impl StationConfig {
    /// The defaults of `role`.
    pub fn new(role: Role) -> Self {
        StationConfig { role, ..StationConfig::default() }
    }

    /// Reads a TOML file; what it leaves out keeps its default.
    ///
    /// # Errors
    /// The file cannot be read, or is not what this structure says: one line with file, line and remedy.
    pub fn load(path: &Path) -> Result<Self, SessionError> {
        let text = fs::read_to_string(path).map_err(SessionError::file("read", path))?;
        Self::from_toml(&text, path)
    }

    /// Parses TOML that came from `path` (which only serves error lines).
    ///
    /// # Errors
    /// As [`StationConfig::load`].
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, SessionError> {
        toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..at].iter().filter(|&&c| c == b'\n').count() + 1;
            let why: Vec<&str> = e.message().lines().map(str::trim).filter(|l| !l.is_empty()).collect();
            SessionError::Config(format!(
                "{}, line {line}: {}; correct or delete this line",
                path.display(),
                why.join(", ")
            ))
        })
    }

    /// Are all values in their ranges?
    ///
    /// # Errors
    /// The first that is not, with its range.
    pub fn check(&self) -> Result<(), SessionError> {
        let range = |name: &str, value: f64, low: f64, high: f64| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(SessionError::Config(format!("{name} = {value} is out of range: use {low} to {high}")))
            }
        };
        range("fragment_size", self.fragment_size as f64, 13.0, 255.0)?;
        range("width", self.width as f64, 32.0, 1920.0)?;
        range("height", self.height as f64, 32.0, 1080.0)?;
        range("fps", f64::from(self.fps), 1.0, 60.0)?;
        range("video_kbps", f64::from(self.video_kbps), 50.0, 20_000.0)?;
        range("max_key_bytes", self.max_key_bytes as f64, 1_000.0, proto::MAX_FRAME as f64)?;
        range("audio_bytes", self.audio_bytes as f64, 20.0, MAX_AUDIO_BYTES as f64)?;
        range("answer_timeout_s", self.answer_timeout_s, 0.0, 86_400.0)?;
        range("force_limit", f64::from(self.force_limit), 0.0, 50.0)?;
        self.safety.check(range)?;
        range("silence_ms", self.silence_ms as f64, 60.0, 10_000.0)?;
        for (name, value, low, high) in self.rivals.ranges() {
            range(&format!("rivals.{name}"), value, low, high)?;
        }
        range("triggers.k_max", f64::from(self.triggers.k_max), 1.0, f64::from(proto::MAX_MERGE))?;
        range("triggers.ewma_weight", self.triggers.ewma_weight, 1e-6, 1.0)?;
        range("triggers.window", self.triggers.window as f64, 1.0, 4_096.0)?;
        range("triggers.rises", f64::from(self.triggers.rises), 1.0, 1_000.0)?;
        if !self.width.is_multiple_of(2) || !self.height.is_multiple_of(2) {
            return Err(SessionError::Config(format!(
                "picture of {}x{}: width and height must be even",
                self.width, self.height
            )));
        }
        if self.role == Role::Op && self.ticket.is_none() {
            return Err(SessionError::Config(
                "an operator needs a ticket: give the one that `telehaptic top` prints".into(),
            ));
        }
        Ok(())
    }

    /// Address to bind.
    pub fn listen_address(&self) -> SocketAddr {
        let port = if self.role == Role::Top { DEFAULT_PORT } else { 0 };
        self.listen.unwrap_or_else(|| {
            // An operator binds the family of the address that it calls.
            match self.called() {
                Some(peer) if peer.is_ipv6() => SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, port)),
                _ => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
            }
        })
    }

    /// OP: the address to call.
    pub fn called(&self) -> Option<SocketAddr> {
        self.via.or(self.ticket.map(|t| t.address))
    }

    /// Socket of the control service.
    pub fn socket_path(&self) -> PathBuf {
        self.control_socket.clone().unwrap_or_else(|| crate::ctl::default_socket(self.role))
    }

    /// The haptic device of this role.
    pub fn device(&self) -> &DeviceSpec {
        match self.role {
            Role::Op => &self.master,
            Role::Top => &self.slave,
        }
    }

    /// How long an OP waits for a first answer; `None`: for ever.
    pub(crate) fn answer_timeout(&self) -> Option<Duration> {
        (self.answer_timeout_s > 0.0).then(|| Duration::from_secs_f64(self.answer_timeout_s))
    }
}

/// Largest sound frame, bytes: that of Opus.
pub const MAX_AUDIO_BYTES: usize = 1_275;

/// A value that is written as the text of the command line.
fn text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

fn role<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "op" => Ok(Role::Op),
        "top" => Ok(Role::Top),
        other => Err(serde::de::Error::custom(format!("unknown role '{other}': use \"op\" or \"top\""))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<StationConfig, SessionError> {
        StationConfig::from_toml(text, Path::new("station.toml"))
    }

    #[test]
    fn a_file_fills_what_it_names() {
        let config = parse(
            "role = \"op\"\nticket = \"10.0.0.2:47000/00112233445566778899aabbccddeeff\"\nscheme = \"k-merge:3\"\n\
             via = \"127.0.0.1:5000\"\nspeaker = \"none\"\n[triggers]\nwindow = 96\n",
        )
        .unwrap();
        assert_eq!(config.role, Role::Op);
        assert_eq!(config.called(), Some("127.0.0.1:5000".parse().unwrap()));
        assert_eq!((config.scheme, config.triggers.window, config.width), (Scheme::KMerge(3), 96, 320));
        assert_eq!(config.listen_address(), "0.0.0.0:0".parse().unwrap());
        config.check().unwrap();
    }

    #[test]
    fn broken_files_give_one_line_with_file_line_and_remedy() {
        for (text, word) in [
            ("fps = 25\nwidht = 320\n", "widht"),
            ("fps = 25\nscheme = \"fast\"\n", "dpm-hold-up"),
            ("fps = 25\ncoupling = \"spring\"\n", "position-position"),
            ("fps = 25\nticket = \"10.0.0.2:47000/0\"\n", "32 hexadecimal"),
            ("fps = 25\nrole = \"robot\"\n", "\"top\""),
            ("fps = 25\ncamera = \"telescope\"\n", "telescope"),
            ("fps = 25\nwidth = [\n", "station.toml"),
            ("fps = 25\nmaster = \"glove\"\n", "glove"),
        ] {
            let error = parse(text).unwrap_err();
            let line = error.to_string();
            assert!(error.is_usage() && !line.contains('\n'), "{line}");
            assert!(line.starts_with("station.toml, line ") && line.contains(word), "{line}");
            if !text.contains('[') {
                assert!(line.contains("line 2:"), "{line}");
            }
        }
    }

    #[test]
    fn values_out_of_range_name_the_range() {
        for (text, word) in [
            ("fps = 0", "1 to 60"),
            ("width = 321", "even"),
            ("fragment_size = 12", "13 to 255"),
            ("answer_timeout_s = nan", "0 to 86400"),
            ("role = \"op\"", "ticket"),
            ("triggers = { k_max = 9 }", "1 to 8"),
        ] {
            let line = parse(text).unwrap().check().unwrap_err().to_string();
            assert!(line.contains(word), "{line}");
        }
    }
}
