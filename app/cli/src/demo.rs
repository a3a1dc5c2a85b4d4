//! `demo`: a teleoperator, an emulator and an operator as three processes on this machine, and one report of all.

mod children;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use session::ctl::Client;
use session::report::{Report, System};
use session::trace::{MergeOptions, merge};
use udp::EmulatorReport;

use crate::cost::spent;
use crate::demo::children::Child;
use crate::failure::Failure;
use crate::options::{DemoArgs, scenario};
use crate::{output, signal};

/// How long a station may take to say that it is ready.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// The recorded voice of the repository, where the program runs from a checkout.
const VOICE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/media/voice.wav");

/// Runs the demo.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    signal::watch();
    let warmup_s = scenario(&args.scenario)?.warmup.as_secs_f64();
    output::check_writable(args.run.report.as_deref())?;
    for dir in [&args.run.csv, &args.screenshots].into_iter().flatten() {
        std::fs::create_dir_all(dir).map_err(Failure::writing(dir))?;
    }
    let windowless = ["DISPLAY", "WAYLAND_DISPLAY"].iter().all(|v| std::env::var_os(v).is_none_or(|d| d.is_empty()));
    let headless = args.run.headless || windowless;
    let voice = output::Voice::beside(args.run.report.as_deref());
    if windowless && !args.run.headless {
        voice.line("no display: a status line a second instead of two windows");
    }
    let place = Place::new()?;
    // A build that ran before in this same process is no cost of the demo.
    let (before_s, _) = spent();
    let begin = Instant::now();
    let mut stations = Stations::start(args, &place, headless)?;
    voice.line(&format!("control: telehaptic ctl --socket {} status", stations.op_socket.display()));
    let watched = stations.watch(args, warmup_s, headless, &voice);
    let ended = stations.end();
    watched.and(ended)?;
    let mut report = joined(&place, warmup_s, args)?;
    if let Some(system) = &mut report.system {
        *system = System { wall_s: begin.elapsed().as_secs_f64(), cpu_s: spent().0 - before_s, ..system.clone() };
    }
    if headless {
        voice.line(output::table(&report).trim_end());
    }
    if let Some(path) = &args.run.report {
        output::write_json(path, &report)?;
    }
    if args.run.assert_qos { output::assert_qos(&report) } else { Ok(()) }
}

/// Where the processes leave what the report is made of; removed at the end.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Result<Place, Failure> {
        let folder = tempfile::Builder::new().prefix("telehaptic-demo-").tempdir();
        folder.map(Place).map_err(Failure::writing(&std::env::temp_dir()))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// The three processes.
struct Stations {
    top: Child,
    emulator: Child,
    op: Child,
    op_socket: PathBuf,
}

impl Stations {
    fn start(args: &DemoArgs, place: &Place, headless: bool) -> Result<Stations, Failure> {
        let mut top = Child::start("top", &station_args(args, place, "top", headless, &["--listen=127.0.0.1:0"]))?;
        let ticket = top.first_line("ticket: ", READY_WITHIN)?;
        let address = ticket.split('/').next().unwrap_or_default().to_string();
        let mut emulate = vec![
            "--listen=127.0.0.1:0".to_string(),
            format!("--to={address}"),
            format!("--scenario={}", args.scenario),
            format!("--report={}", place.file("emulator.json").display()),
        ];
        emulate.extend(args.run.seed.map(|s| format!("--seed={s}")));
        let mut emulator = Child::start("emulate", &emulate)?;
        let via = emulator.first_line("listening: ", READY_WITHIN)?;
        let op = Child::start("op", &station_args(args, place, "op", headless, &[&ticket, &format!("--via={via}")]))?;
        Ok(Stations { top, emulator, op, op_socket: place.file("op.sock") })
    }

    /// Until the time is over (what the figures leave out at the beginning comes on top), somebody wants to end, or a process ends by itself (a window was closed).
    fn watch(&mut self, args: &DemoArgs, warmup_s: f64, headless: bool, voice: &output::Voice) -> Result<(), Failure> {
        let mut client: Option<Client> = None;
        let mut connected: Option<Instant> = None;
        let begin = Instant::now();
        let mut next_line = begin + Duration::from_secs(1);
        loop {
            std::thread::sleep(Duration::from_millis(50));
            for child in [&mut self.top, &mut self.emulator, &mut self.op] {
                if let Some(status) = child.ended()? {
                    return if status.success() { Ok(()) } else { Err(child.failure(status)) };
                }
            }
            if signal::ending() {
                return Ok(());
            }
            if client.is_none() {
                client = Client::connect(&self.op_socket).ok();
            }
            let look = connected.is_none() || Instant::now() >= next_line;
            if let Some(snapshot) = client.as_mut().filter(|_| look).and_then(|c| c.status().ok()) {
                if connected.is_none() && snapshot.link == session::LinkState::Connected {
                    connected = Some(Instant::now());
                }
                if headless && Instant::now() >= next_line {
                    voice.line(&output::status(&snapshot));
                }
            }
            if Instant::now() >= next_line {
                next_line += Duration::from_secs(1);
            }
            let asked = args.run.seconds.map(|s| Duration::from_secs_f64(s + warmup_s));
            if asked.zip(connected).is_some_and(|(s, from)| from.elapsed() >= s) {
                return Ok(());
            }
            if connected.is_none() && begin.elapsed() > READY_WITHIN {
                return Err(Failure::failed("the stations did not connect within 20 s: see the messages above"));
            }
        }
    }

    /// Ends them in the order in which each can still say what it has to say.
    fn end(&mut self) -> Result<(), Failure> {
        [&mut self.op, &mut self.top, &mut self.emulator].into_iter().try_for_each(Child::end)
    }
}

fn station_args(args: &DemoArgs, place: &Place, role: &str, headless: bool, own: &[&str]) -> Vec<String> {
    let mut list: Vec<String> = own.iter().map(ToString::to_string).collect();
    list.push("--common-clock".into());
    list.push(format!("--scenario={}", args.scenario));
    list.push(format!("--csv={}", place.file(role).display()));
    list.push(format!("--control-socket={}", place.file(&format!("{role}.sock")).display()));
    let mut devices = args.media.clone();
    if devices.mic.is_none() && Path::new(VOICE).exists() {
        devices.mic = Some(audio::SourceSpec::File(VOICE.into()));
    }
    if devices.speaker.is_none() && !headless && audio::list().iter().any(|d| d.kind == audio::DeviceKind::Speaker) {
        devices.speaker = Some(audio::SinkSpec::Device(None));
    }
    list.extend(devices.to_args(if role == "op" { media::Role::Op } else { media::Role::Top }));
    list.extend(args.run.scheme.map(|s| format!("--scheme={s}")));
    list.extend(args.run.seed.map(|s| format!("--seed={s}")));
    list.extend(args.run.config.as_ref().map(|c| format!("--config={}", c.display())));
    if headless {
        list.push("--headless".into());
    }
    if let Some(dir) = args.screenshots.as_ref().filter(|_| !headless) {
        let name = if role == "op" { "operator.png" } else { "teleoperator.png" };
        list.push(format!("--screenshot={}", dir.join(name).display()));
        list.push(format!("--screenshot-after={}", args.screenshot_after));
        // Side by side: a window that the other hides is not drawn.
        list.push(format!("--window-at={}", if role == "op" { "0,0" } else { "1280,0" }));
    }
    list
}

/// The report of all three.
fn joined(place: &Place, warmup_s: f64, args: &DemoArgs) -> Result<Report, Failure> {
    let path = place.file("emulator.json");
    let text = std::fs::read_to_string(&path).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))?;
    let emulator: EmulatorReport = serde_json::from_str(&text).map_err(Failure::failed)?;
    let options = MergeOptions { emulator: Some(emulator.cross_traffic), warmup_s };
    let merged = merge(&place.file("op"), &place.file("top"), &options)?;
    if merged.dropped > 0 {
        eprintln!(
            "telehaptic: {} facts did not fit into the recorders' queues: the figures are too bad",
            merged.dropped
        );
    }
    if let Some(dir) = &args.run.csv {
        merged.write_csv(dir)?;
    }
    Ok(merged.report)
}
