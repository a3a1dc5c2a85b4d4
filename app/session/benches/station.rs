//! What a whole station costs: an operator and a teleoperator over loopback with simulated devices and sound from a tone, for some
//! seconds; CPU of each kind of thread, as a share of one core, and of a station with the picture threads left out.
//!
//! `cargo bench -p telehaptic-session`

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use media::Role;
use telehaptic_session::{LinkState, Station, StationConfig};

const SECONDS: u64 = 8;
/// Threads that make or show pictures.
const PICTURE_THREADS: [&str; 2] = ["video-encode", "video-decode"];

/// CPU time of the threads of this process by name, s.
fn threads() -> BTreeMap<String, f64> {
    // SAFETY: sysconf has no preconditions.
    let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    let mut by_name = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").expect("proc").flatten() {
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let stat = read("stat");
        // Behind the name in parentheses: fields 14 and 15 are user and system time.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let time = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
        *by_name.entry(read("comm").trim().to_string()).or_insert(0.0) += (time(11) + time(12)) / ticks_per_s;
    }
    by_name
}

fn main() {
    let dir = std::env::temp_dir().join(format!("telehaptic-bench-{}", std::process::id()));
    let config = |role: Role, name: &str| StationConfig {
        listen: Some(([127, 0, 0, 1], 0).into()),
        control_socket: Some(dir.join(name)),
        ..StationConfig::new(role)
    };
    std::fs::create_dir_all(&dir).expect("temporary folder");
    let top = Station::start(config(Role::Top, "top.sock")).expect("teleoperator");
    let op = Station::start(StationConfig { ticket: top.ticket(), ..config(Role::Op, "op.sock") }).expect("operator");
    while op.snapshot().link != LinkState::Connected {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(1));
    let (before, begin) = (threads(), Instant::now());
    std::thread::sleep(Duration::from_secs(SECONDS));
    let (after, wall) = (threads(), begin.elapsed().as_secs_f64());
    let mut rest = 0.0;
    println!("CPU of two stations, share of one core:");
    for (name, spent) in &after {
        let share = 100.0 * (spent - before.get(name).unwrap_or(&0.0)) / wall;
        println!("  {name:16} {share:6.2} %");
        if !PICTURE_THREADS.contains(&name.as_str()) {
            rest += share;
        }
    }
    println!("one station, video aside: {:.2} % of one core", rest / 2.0);
    op.finish().expect("operator ends");
    top.finish().expect("teleoperator ends");
    std::fs::remove_dir_all(dir).expect("temporary folder");
}
