//! Both windows on a virtual display, around a real demo: they open, show pictures, and end with the run. What stands in them is
//! tested where they are drawn.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SIZE: (u32, u32) = (1280, 800);

/// A virtual display. Dropped, it ends.
struct Display {
    server: Child,
    name: String,
}

impl Display {
    /// `None` if this machine has no Xvfb.
    fn start() -> Option<Display> {
        // The server chooses a free number and writes it to its standard output.
        // Room for both windows side by side: a window that another hides is not drawn.
        let screen = format!("{}x{}x24", 2 * SIZE.0, SIZE.1);
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", &screen, "-nolisten", "tcp"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut number = String::new();
        let mut out = std::io::BufReader::new(server.stdout.take()?);
        std::io::BufRead::read_line(&mut out, &mut number).ok()?;
        Some(Display { server, name: format!(":{}", number.trim()) })
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Size and number of different colours of a PNG file, by ImageMagick.
fn look(path: &Path) -> (u32, u32, u32) {
    let output = Command::new("identify").args(["-format", "%w %h %k"]).arg(path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers =
        text.split(' ').map(|n| n.trim().parse().unwrap_or_else(|_| panic!("{}: {text}", path.display())));
    (numbers.next().unwrap(), numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
fn windows_of_both_stations_show_a_running_demo() {
    let Some(display) = Display::start() else {
        println!("skipped: no Xvfb");
        assert!(std::env::var("CI").is_err(), "with CI set, nothing may be skipped: no Xvfb");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report.json");
    let begin = Instant::now();
    let output = Command::new("timeout")
        .args(["120", env!("CARGO_BIN_EXE_telehaptic"), "demo", "--seconds", "9", "--screenshot-after", "6"])
        .arg("--screenshots")
        .arg(dir.path())
        .arg("--report")
        .arg(&report)
        .env("DISPLAY", &display.name)
        .env("LIBGL_ALWAYS_SOFTWARE", "1")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(begin.elapsed() < Duration::from_secs(100), "the windows end with the run");
    for name in ["operator.png", "teleoperator.png"] {
        let (width, height, colours) = look(&dir.path().join(name));
        println!("{name}: {width}x{height}, {colours} colours");
        assert_eq!((width, height), SIZE, "{name}");
        // A blank or half-drawn window has a handful; the shaded scene alone has thousands.
        assert!(colours > 2_000, "{name}: {colours} colours");
    }
    assert!(report.exists());
}
