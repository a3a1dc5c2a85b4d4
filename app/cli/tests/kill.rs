//! Killing either process at any moment: the other's force is at zero within 50 ms after the last sample reached it, it says
//! why, and the session resumes when the peer returns.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use session::ctl::Client;
use session::{LinkState, Snapshot};

const ROUNDS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(30);
/// After the last sample reached the station the force must be zero within this.
const WATCHDOG_NS: i64 = 50_000_000;

/// A station as a process. Dropped, it is killed.
struct Station {
    process: Child,
    socket: PathBuf,
}

impl Station {
    fn start(dir: &Path, role: &str, args: &[&str]) -> (Station, Option<String>) {
        let socket = dir.join(format!("{role}.sock"));
        let mut process = Command::new(env!("CARGO_BIN_EXE_telehaptic"))
            .arg(role)
            .args(args)
            .args(["--headless", "--control-socket"])
            .arg(&socket)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reader = BufReader::new(process.stdout.take().unwrap());
        let mut ticket = None;
        if role == "top" {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            ticket = line.trim().strip_prefix("ticket: ").map(String::from);
        }
        std::thread::spawn(move || reader.lines().for_each(drop));
        (Station { process, socket }, ticket)
    }

    fn status(&self) -> Option<Snapshot> {
        Client::connect(&self.socket).ok()?.status().ok()
    }

    /// Waits until the station is as wanted.
    fn wait_for(&self, what: &str, wanted: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let begin = Instant::now();
        let mut last = None;
        while begin.elapsed() < PATIENCE {
            if let Some(snapshot) = self.status() {
                if wanted(&snapshot) {
                    return snapshot;
                }
                last = Some(snapshot);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{what}: not within {PATIENCE:?}: {last:?}");
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn end(mut self) {
        Client::connect(&self.socket).unwrap().command(session::Command::Stop).unwrap();
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Columns of a CSV file by name.
fn columns(path: &Path) -> HashMap<String, Vec<f64>> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut table: HashMap<String, Vec<f64>> = names.iter().map(|n| (n.to_string(), Vec::new())).collect();
    for line in lines {
        for (name, value) in names.iter().zip(line.split(',')) {
            table.get_mut(*name).unwrap().push(value.parse().unwrap_or(f64::NAN));
        }
    }
    table
}

fn pushes(s: &Snapshot) -> bool {
    s.link == LinkState::Connected && s.haptic.engagement >= 1.0 && s.haptic.force.iter().any(|c| c.abs() > 0.05)
}

/// Kills `victim` some times and judges from the survivor's trace.
fn survive(victim: &str) {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("ticket");
    let trace = dir.path().join("trace");
    let survivor = if victim == "op" { "top" } else { "op" };
    let traced = ["--csv", trace.to_str().unwrap()];
    let of = |role: &str| if role == survivor { traced.as_slice() } else { &[] };
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let top_args = [&["--listen", &port, "--ticket-file", secret.to_str().unwrap()], of("top")].concat();
    let (mut top, ticket) = Station::start(dir.path(), "top", &top_args);
    let ticket = ticket.unwrap();
    let op_args = [&[ticket.as_str()], of("op")].concat();
    let (mut op, _) = Station::start(dir.path(), "op", &op_args);
    for round in 0..ROUNDS {
        let alive = if victim == "op" { &top } else { &op };
        alive.wait_for("force", pushes);
        // At no special moment of the cycle.
        std::thread::sleep(Duration::from_millis(37 * round as u64));
        if victim == "op" {
            op.kill()
        } else {
            top.kill()
        }
        let alive = if victim == "op" { &top } else { &op };
        let silent = alive.wait_for("silence", |s| s.link == LinkState::Silent);
        assert!(silent.haptic.force.iter().all(|c| *c == 0.0), "{:?}", silent.haptic);
        assert!(!silent.haptic.force_off.is_empty(), "it must say why: {:?}", silent.haptic);
        assert!(silent.log.iter().any(|l| l.contains("silent") || l.contains("heard")), "{:?}", silent.log);
        std::thread::sleep(Duration::from_millis(700));
        if victim == "op" {
            op = Station::start(dir.path(), "op", &op_args).0;
        } else {
            let again;
            (top, again) = Station::start(dir.path(), "top", &top_args);
            assert_eq!(again.as_ref(), Some(&ticket), "the ticket file keeps the ticket");
        }
    }
    let alive = if victim == "op" { &top } else { &op };
    alive.wait_for("force after the last return", pushes);
    if survivor == "op" {
        op.end()
    } else {
        top.end()
    }
    judge(&trace, survivor);
}

fn judge(trace: &Path, survivor: &str) {
    let servo = columns(&trace.join(format!("servo_{survivor}.csv")));
    let force = |i: usize| ["force_x", "force_y", "force_z"].iter().map(|c| servo[*c][i].abs()).sum::<f64>();
    let at: Vec<i64> = servo["at_ns"].iter().map(|v| *v as i64).collect();
    let received: Vec<i64> = columns(&trace.join("packets_received.csv"))["at_ns"].iter().map(|v| *v as i64).collect();
    let gaps: Vec<(i64, i64)> =
        received.windows(2).map(|w| (w[0], w[1])).filter(|(a, b)| b - a > 500_000_000).collect();
    assert_eq!(gaps.len(), ROUNDS, "{gaps:?}");
    for (last, next) in gaps {
        let ticks = |from: i64, to: i64| at.partition_point(|t| *t < from)..at.partition_point(|t| *t < to);
        let before = ticks(last - 100_000_000, last).map(force).fold(0.0, f64::max);
        assert!(before > 0.0, "force before the kill");
        for i in ticks(last + WATCHDOG_NS, next) {
            assert!(force(i) == 0.0, "{} N {} ms after the last sample", force(i), (at[i] - last) / 1_000_000);
        }
        let first_zero = ticks(last, next).find(|i| force(*i) == 0.0).map(|i| (at[i] - last) as f64 / 1e6);
        println!("force zero {first_zero:?} ms after the last sample, silence of {} ms", (next - last) / 1_000_000);
    }
    let end = at.len() - 1;
    assert!((end - 500..=end).any(|i| force(i) > 0.0), "force is back at the end");
}

#[test]
fn a_killed_operator_leaves_the_slave_without_force() {
    survive("op");
}

#[test]
fn a_killed_teleoperator_leaves_the_hand_without_force() {
    survive("top");
}
