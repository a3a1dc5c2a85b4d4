//! However a demo ends, its three processes end too, each in order: the stations say goodbye and write what they recorded.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use session::ctl::Client;
use session::report::Report;

const PATIENCE: Duration = Duration::from_secs(30);

/// A demo whose temporary folder is `dir`. Dropped, it is killed.
struct Demo {
    process: Child,
    dir: PathBuf,
}

impl Demo {
    fn start(dir: &Path, report: &Path) -> Demo {
        use std::os::unix::process::CommandExt;
        let process = Command::new(env!("CARGO_BIN_EXE_telehaptic"))
            .args(["demo", "--headless", "--scenario", "lan", "--report"])
            .arg(report)
            .env("TMPDIR", dir)
            .process_group(0)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let demo = Demo { process, dir: dir.to_owned() };
        demo.wait("full force at both stations", || ["op", "top"].iter().all(|role| demo.pushes(role)));
        assert_eq!(demo.processes().len(), 3, "{:?}", demo.processes());
        demo
    }

    /// The folder that the demo made.
    fn place(&self) -> Option<PathBuf> {
        Some(std::fs::read_dir(&self.dir).ok()?.flatten().next()?.path())
    }

    fn pushes(&self, role: &str) -> bool {
        let Some(place) = self.place() else { return false };
        let status = Client::connect(&place.join(format!("{role}.sock"))).and_then(|mut c| c.status());
        // In full: the ramp lasts a second, so that what the report leaves out at the beginning is over.
        status.is_ok_and(|s| s.haptic.engagement >= 1.0 && s.haptic.force.iter().any(|c| *c != 0.0))
    }

    /// Command lines of all processes that are to write into the folder, the living ones only.
    fn processes(&self) -> Vec<String> {
        let folder = self.dir.to_str().unwrap();
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = all.filter_map(|p| std::fs::read(p.path().join("cmdline")).ok());
        lines.map(|l| String::from_utf8_lossy(&l).replace('\0', " ")).filter(|l| l.contains(folder)).collect()
    }

    fn signal(&self, args: &[&str], whole_group: bool) {
        let pid = self.process.id();
        let target = if whole_group { format!("-{pid}") } else { pid.to_string() };
        assert!(Command::new("kill").args(args).args(["--", &target]).status().unwrap().success());
    }

    fn wait(&self, what: &str, done: impl Fn() -> bool) {
        let begin = Instant::now();
        while !done() {
            assert!(begin.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}: {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_killed_demo_leaves_no_process_and_all_three_end_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let reports = tempfile::tempdir().unwrap();
    let mut demo = Demo::start(dir.path(), &reports.path().join("report.json"));
    let place = demo.place().unwrap();
    demo.signal(&["-KILL"], false);
    demo.process.wait().unwrap();
    demo.wait("the end of all three", || demo.processes().is_empty());
    for file in ["op/station.json", "top/station.json", "emulator.json"] {
        assert!(place.join(file).exists(), "{file}: its process was killed, not ended");
    }
    assert!(!place.join("op.sock").exists() && !place.join("top.sock").exists(), "sockets are removed");
}

#[test]
fn a_demo_that_is_interrupted_at_its_terminal_reports_and_cleans_up() {
    for signal in ["-INT", "-HUP"] {
        let dir = tempfile::tempdir().unwrap();
        let reports = tempfile::tempdir().unwrap();
        let report = reports.path().join("report.json");
        let mut demo = Demo::start(dir.path(), &report);
        demo.signal(&[signal], true);
        let status = demo.process.wait().unwrap();
        assert!(status.success(), "{signal}: {status}");
        assert!(demo.processes().is_empty(), "{signal}: {:?}", demo.processes());
        assert_eq!(demo.place(), None, "{signal}: its folder is removed");
        let report: Report = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
        assert!(report.channels.backward.haptic.delivered > 0, "{signal}: {report:?}");
    }
}
