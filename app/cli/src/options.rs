//! The command line.

mod simulation;

use std::net::SocketAddr;
use std::path::PathBuf;

use audio::{SinkSpec, SourceSpec};
use clap::{Args, Parser, Subcommand};
use haptic::DeviceSpec;
use media::{Coupling, Role};
use netem::Scenario;
use session::{Scheme, StationConfig, Ticket};
use video::CameraSpec;

use crate::failure::Failure;

pub use simulation::{FeasibleArgs, SimArgs, SimCommand};

/// Touch, see and hear a remote place through a shared network.
#[derive(Debug, Parser)]
#[command(
    name = "telehaptic",
    version,
    about = "Touch, see and hear a remote place through a shared network",
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Options {
    /// End when standard input does: how `demo` makes sure that nothing outlives it
    #[arg(long, global = true, hide = true)]
    pub end_with_stdin: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a teleoperator and an operator on this machine, with an emulated congested network between them
    Demo(Box<DemoArgs>),
    /// Run the teleoperator station; prints the ticket that an operator needs
    Top(Box<TopArgs>),
    /// Run the operator station
    Op(Box<OpArgs>),
    /// Emulate a network between an operator and a teleoperator
    Emulate(EmulateArgs),
    /// Run the same protocol in virtual time: exact, and a thousand times faster
    Sim(SimArgs),
    /// Talk to a station that runs on this machine
    Ctl(CtlArgs),
    /// List haptic devices, cameras, microphones and speakers, and how to ask for them
    Devices,
    /// Check what this machine needs for a session, and say how to mend it
    Doctor(DoctorArgs),
}

/// `telehaptic doctor`.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Only what this station needs: op or top; otherwise what either needs
    #[arg(long, value_name = "STATION", value_parser = station)]
    pub station: Option<Role>,
    /// Sessions here have no window: no display is needed
    #[arg(long)]
    pub headless: bool,
    /// Sessions here use simulated devices, drawn pictures and sound from files: no hardware is needed
    #[arg(long)]
    pub simulated: bool,
    /// Print the udev rules that give access to haptic devices, and check nothing
    #[arg(long)]
    pub udev_rules: bool,
}

/// What every run has.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// No window; a status line a second instead
    #[arg(long)]
    pub headless: bool,
    /// End after so many seconds
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Packetization: no-merge, k-merge:N, dpm or dpm-hold-up
    #[arg(long)]
    pub scheme: Option<Scheme>,
    /// Seed of all randomness
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the report as JSON; - for stdout
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write traces into this folder
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Read settings from a TOML file; options on the command line win
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Exit with code 3 if a medium breaks its limits
    #[arg(long)]
    pub assert_qos: bool,
}

/// What the stations are made of.
#[derive(Clone, Debug, Args)]
pub struct MediaArgs {
    #[arg(
        help = "Device in the operator's hand: sim, hid:VID:PID[:SERIAL][@MODEL], replay:FILE",
        long,
        value_name = "DEVICE"
    )]
    pub master: Option<DeviceSpec>,
    /// Device at the teleoperator: as --master
    #[arg(long, value_name = "DEVICE")]
    pub slave: Option<DeviceSpec>,
    /// How the two devices are coupled: position-force, position-position or wave; the operator chooses
    #[arg(long, value_name = "COUPLING")]
    pub coupling: Option<Coupling>,
    /// Pictures at the teleoperator: scene, device:N, device:NAME, file:PATH (Y4M) or pattern
    #[arg(long, value_name = "SOURCE")]
    pub camera: Option<CameraSpec>,
    #[arg(help = "Sound at the teleoperator: device[:NAME], file:PATH (WAV) or silence", long, value_name = "SOURCE")]
    pub mic: Option<SourceSpec>,
    #[arg(
        help = "Sound at the operator: device[:NAME] (a headset, or the other room hears its echo), file:PATH (WAV) or none",
        long,
        value_name = "SINK"
    )]
    pub speaker: Option<SinkSpec>,
    /// No force on a device is longer, N [default: 3.3]
    #[arg(long, value_name = "N")]
    pub force_limit: Option<f32>,
    /// Size of the picture
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub picture_size: Option<(usize, usize)>,
    /// Pictures a second
    #[arg(long, value_name = "N")]
    pub fps: Option<u32>,
}

/// What a single station has.
#[derive(Clone, Debug, Args)]
pub struct StationArgs {
    /// What every run has.
    #[command(flatten)]
    pub run: RunArgs,
    /// What the station is made of.
    #[command(flatten)]
    pub media: MediaArgs,
    /// Both stations run on this machine: the report may use its one clock
    #[arg(long)]
    pub common_clock: bool,
    /// Name of the network for the report
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
    /// Socket of the control service (see ctl)
    #[arg(long, value_name = "FILE")]
    pub control_socket: Option<PathBuf>,
    /// Save the window as a PNG file after some seconds
    #[arg(long, value_name = "FILE")]
    pub screenshot: Option<PathBuf>,
    /// Seconds before --screenshot
    #[arg(long, value_name = "N", default_value = "10", value_parser = seconds)]
    pub screenshot_after: f64,
    /// Left upper corner of the window, X,Y
    #[arg(long, value_name = "X,Y", value_parser = position, hide = true)]
    pub window_at: Option<[f32; 2]>,
    /// Save pictures in this folder: a teleoperator those it encodes, an operator those it shows
    #[arg(long, value_name = "DIR")]
    pub dump_pictures: Option<PathBuf>,
}

/// `telehaptic top`.
#[derive(Clone, Debug, Args)]
pub struct TopArgs {
    /// Address to listen on [default: 0.0.0.0:47000]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Keep the ticket's secret in this file, so that a restarted station keeps its ticket
    #[arg(long, value_name = "FILE")]
    pub ticket_file: Option<PathBuf>,
    /// The station.
    #[command(flatten)]
    pub station: StationArgs,
}

/// `telehaptic op`.
#[derive(Clone, Debug, Args)]
pub struct OpArgs {
    /// The ticket that the teleoperator printed
    pub ticket: Option<String>,
    /// Send to this address instead, for example to an emulator
    #[arg(long, value_name = "ADDR")]
    pub via: Option<SocketAddr>,
    /// The station.
    #[command(flatten)]
    pub station: StationArgs,
}

/// `telehaptic demo`.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// What every run has.
    #[command(flatten)]
    pub run: RunArgs,
    /// What the stations are made of.
    #[command(flatten)]
    pub media: MediaArgs,
    /// The network: paper/rN (N kbit/s of cross-traffic), tcp/long, tcp/short, rfc8867/5.1 to 5.8, lan, wifi, cellular, or a TOML file
    #[arg(long, value_name = "NAME", default_value = "paper/r400")]
    pub scenario: String,
    /// Save both windows as PNG files in this folder after --screenshot-after seconds
    #[arg(long, value_name = "DIR")]
    pub screenshots: Option<PathBuf>,
    /// Seconds before --screenshots
    #[arg(long, value_name = "N", default_value = "20", value_parser = seconds)]
    pub screenshot_after: f64,
}

/// `telehaptic emulate`.
#[derive(Clone, Debug, Args)]
pub struct EmulateArgs {
    /// Address that the operator sends to
    #[arg(long, value_name = "ADDR")]
    pub listen: SocketAddr,
    /// Address of the teleoperator
    #[arg(long, value_name = "ADDR")]
    pub to: SocketAddr,
    /// The network: paper/rN, tcp/long, tcp/short, rfc8867/5.1 to 5.8, lan, wifi, cellular, or a TOML file
    #[arg(long, value_name = "NAME")]
    pub scenario: String,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// End after so many seconds
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Write what happened as JSON; - for stdout
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// `telehaptic ctl`.
#[derive(Clone, Debug, Args)]
pub struct CtlArgs {
    /// The operator station [default: the one that runs]
    #[arg(long, conflicts_with_all = ["top", "socket"])]
    pub op: bool,
    /// The teleoperator station
    #[arg(long, conflicts_with = "socket")]
    pub top: bool,
    /// The station with this socket
    #[arg(long, value_name = "FILE")]
    pub socket: Option<PathBuf>,
    /// What to tell it.
    #[command(subcommand)]
    pub what: CtlCommand,
}

/// What `ctl` can say.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum CtlCommand {
    /// Print its state as JSON
    Status,
    /// End it
    Stop,
    /// Emergency stop: no force at either station until released
    Estop,
    /// Release this station's emergency stop; force ramps up
    Release,
    /// The device is in your hand (again): force may come up after a fault of the device or a trip
    Engage,
    /// Calibrate the haptic device anew, or say that its arm is in the reference pose
    Calibrate,
    /// Change the packetization on both channels
    Scheme {
        /// no-merge, k-merge:N, dpm or dpm-hold-up
        scheme: Scheme,
    },
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "give a number of seconds".to_string())?;
    if (0.0..=1e7).contains(&seconds) { Ok(seconds) } else { Err("give 0 to 10000000 seconds".into()) }
}

fn station(text: &str) -> Result<Role, String> {
    match text {
        "op" => Ok(Role::Op),
        "top" => Ok(Role::Top),
        _ => Err("give op or top".into()),
    }
}

fn position(text: &str) -> Result<[f32; 2], String> {
    let parts = text.split_once(',').and_then(|(x, y)| Some([x.parse().ok()?, y.parse().ok()?]));
    parts.ok_or_else(|| "give X,Y, such as 1280,0".into())
}

fn size(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    parts.ok_or_else(|| "give WIDTHxHEIGHT, such as 320x240".into())
}

/// Loads a scenario by name or file.
pub fn scenario(name: &str) -> Result<Scenario, Failure> {
    Scenario::load(name).map_err(|e| Failure::Usage(e.to_string()))
}

impl MediaArgs {
    fn apply(&self, config: &mut StationConfig) {
        fn set<T: Clone>(target: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                target.clone_from(value);
            }
        }
        set(&mut config.master, &self.master);
        set(&mut config.slave, &self.slave);
        set(&mut config.camera, &self.camera);
        set(&mut config.mic, &self.mic);
        set(&mut config.coupling, &self.coupling);
        set(&mut config.speaker, &self.speaker);
        set(&mut config.fps, &self.fps);
        set(&mut config.force_limit, &self.force_limit);
        if let Some((width, height)) = self.picture_size {
            (config.width, config.height) = (width, height);
        }
    }

    /// Options that mean nothing at a station of this role: wrong usage, since the user expects them to act.
    fn check(&self, role: Role) -> Result<(), Failure> {
        let op_only = [
            ("master", self.master.is_some()),
            ("coupling", self.coupling.is_some()),
            ("speaker", self.speaker.is_some()),
        ];
        let top_only = [
            ("slave", self.slave.is_some()),
            ("camera", self.camera.is_some()),
            ("mic", self.mic.is_some()),
            ("picture-size", self.picture_size.is_some()),
            ("fps", self.fps.is_some()),
        ];
        let (other, command): (&[_], _) = match role {
            Role::Op => (&top_only, "top"),
            Role::Top => (&op_only, "op"),
        };
        match other.iter().find(|(_, given)| *given) {
            Some((name, _)) => {
                Err(Failure::Usage(format!("--{name} belongs to the other station: give it to `telehaptic {command}`")))
            }
            None => Ok(()),
        }
    }

    /// The same options as text, for the station of this role as a child process.
    pub fn to_args(&self, role: Role) -> Vec<String> {
        let mut args = Vec::new();
        let mut add = |name: &str, value: Option<String>| args.extend(value.map(|v| format!("--{name}={v}")));
        match role {
            Role::Op => {
                add("master", self.master.as_ref().map(ToString::to_string));
                add("coupling", self.coupling.map(|c| c.to_string()));
                add("speaker", self.speaker.as_ref().map(ToString::to_string));
            }
            Role::Top => {
                add("slave", self.slave.as_ref().map(ToString::to_string));
                add("camera", self.camera.as_ref().map(ToString::to_string));
                add("mic", self.mic.as_ref().map(ToString::to_string));
                add("picture-size", self.picture_size.map(|(w, h)| format!("{w}x{h}")));
                add("fps", self.fps.map(|n| n.to_string()));
            }
        }
        add("force-limit", self.force_limit.map(|n| n.to_string()));
        args
    }
}

impl StationArgs {
    /// The configuration: file first, then the command line.
    pub fn config(&self, role: Role) -> Result<StationConfig, Failure> {
        let mut config = match &self.run.config {
            // A file that is not there is a wrong command line, too.
            Some(path) => {
                StationConfig { role, ..StationConfig::load(path).map_err(|e| Failure::Usage(e.to_string()))? }
            }
            None => StationConfig::new(role),
        };
        self.media.check(role)?;
        self.media.apply(&mut config);
        if let Some(scheme) = self.run.scheme {
            config.scheme = scheme;
        }
        if let Some(seed) = self.run.seed {
            config.seed = seed;
        }
        if let Some(scenario) = &self.scenario {
            config.scenario.clone_from(scenario);
        }
        config.common_clock |= self.common_clock;
        config.trace_dir = self.run.csv.clone().or(config.trace_dir);
        config.control_socket = self.control_socket.clone().or(config.control_socket);
        config.dump_pictures = self.dump_pictures.clone().or(config.dump_pictures);
        Ok(config)
    }
}

impl TopArgs {
    /// The configuration of the teleoperator.
    pub fn config(&self) -> Result<StationConfig, Failure> {
        let mut config = self.station.config(Role::Top)?;
        config.listen = self.listen.or(config.listen);
        config.ticket_file = self.ticket_file.clone().or(config.ticket_file);
        Ok(config)
    }
}

impl OpArgs {
    /// The configuration of the operator.
    pub fn config(&self) -> Result<StationConfig, Failure> {
        let mut config = self.station.config(Role::Op)?;
        if let Some(text) = &self.ticket {
            config.ticket = Some(text.parse::<Ticket>()?);
        }
        if config.ticket.is_none() {
            return Err(Failure::Usage(
                "no ticket: give the ADDRESS:PORT/TOKEN that `telehaptic top` prints, as in `telehaptic op TICKET`"
                    .into(),
            ));
        }
        config.via = self.via.or(config.via);
        Ok(config)
    }
}
