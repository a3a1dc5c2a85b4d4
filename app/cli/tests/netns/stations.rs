//! A teleoperator and an operator, each a process in its namespace, and the joined trace of their run.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use session::report::Report;
use session::trace::{MergeOptions, StationInfo, merge};

use crate::world::{TOP_ADDRESS, World};

/// After its time a station gets this long to write its files.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process that does not outlive the test.
struct Station {
    name: &'static str,
    child: Child,
    ticket: Option<String>,
}

impl Station {
    fn start(world: &World, namespace: &str, name: &'static str, args: &[&str]) -> Station {
        let mut command: Command = world.command(namespace, env!("CARGO_BIN_EXE_telehaptic"));
        command.arg(name).args(args).stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.spawn().expect("ip netns exec");
        Station { name, child, ticket: None }
    }

    /// Reads the ticket; what follows is read and thrown away, so that the station never waits for a full pipe.
    fn ticket(&mut self) -> String {
        let mut out = BufReader::new(self.child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while out.read_line(&mut line).is_ok_and(|n| n > 0) {
            if let Some(ticket) = line.strip_prefix("ticket: ") {
                self.ticket = Some(ticket.trim().to_owned());
                break;
            }
            line.clear();
        }
        drain(out);
        self.ticket.clone().expect("the teleoperator prints its ticket")
    }

    fn finish(mut self, within: Duration) {
        if let Some(out) = self.child.stdout.take() {
            drain(out);
        }
        let end = Instant::now() + within;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("a child") {
                assert!(status.success(), "telehaptic {} ended with {status}", self.name);
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("telehaptic {} does not end", self.name);
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // One that has ended already cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn drain(mut pipe: impl Read + Send + 'static) {
    std::thread::spawn(move || std::io::copy(&mut pipe, &mut std::io::sink()));
}

/// Runs both stations for `seconds` with `scheme` and joins their traces.
pub fn run(world: &World, scheme: &str, seconds: u64) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let listen = format!("{TOP_ADDRESS}:47000");
    let common = |role: &str, seconds: u64| {
        let words = ["--headless", "--common-clock", "--scheme", scheme, "--seconds"];
        let mut args: Vec<String> = words.map(String::from).to_vec();
        args.extend([seconds.to_string(), "--csv".into(), path(role)]);
        args.extend(["--control-socket".into(), path(&format!("{role}.sock"))]);
        args
    };
    let mut top_args = common("top", seconds + 2);
    top_args.extend(["--listen".into(), listen]);
    let mut top = Station::start(world, &world.top(), "top", &words(&top_args));
    let mut op_args = common("op", seconds);
    op_args.push(top.ticket());
    let op = Station::start(world, &world.op(), "op", &words(&op_args));
    let limit = Duration::from_secs(seconds) + PATIENCE;
    op.finish(limit);
    top.finish(PATIENCE);
    join(&folder.path().join("op"), &folder.path().join("top"))
}

fn words(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

fn join(op: &Path, top: &Path) -> Report {
    let merged = merge(op, top, &MergeOptions::default()).expect("both traces");
    for (name, folder) in [("operator", op), ("teleoperator", top)] {
        let text = std::fs::read_to_string(folder.join("station.json")).expect("station.json");
        let info: StationInfo = serde_json::from_str(&text).expect("station.json");
        println!("{name}: {:?}", info.counters);
    }
    assert_eq!(merged.dropped, 0, "the recorders could not keep up");
    merged.report
}
