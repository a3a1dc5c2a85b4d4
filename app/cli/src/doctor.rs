//! `doctor`: what this machine needs for a session, and how to mend what is missing. Facts are gathered here; what they
//! mean is said in [`judge`].

mod judge;

use std::time::Duration;

use haptic::Ticker;
use udp::{Clock, Socket};

use crate::access;
use crate::failure::Failure;
use crate::options::DoctorArgs;
use crate::output::Voice;
use judge::{Beat, Facts, Finding, Nodes, Wanted};

/// For /etc/udev/rules.d; the same file as in the source tree, which a binary alone does not have.
const UDEV_RULES: &str = include_str!("../../../assets/devices/70-telehaptic.rules");

/// Prints the udev rules, or runs all checks and fails if one of them does.
pub fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let voice = Voice::stdout();
    if args.udev_rules {
        voice.line(UDEV_RULES.trim_end());
        return Ok(());
    }
    let wanted = Wanted { window: !args.headless, devices: !args.simulated, station: args.station };
    let findings = judge::findings(&facts(), wanted);
    for (item, finding) in &findings {
        let (word, text) = match finding {
            Finding::Ok(text) => ("ok  ", text),
            Finding::Warn(text) => ("warn", text),
            Finding::Fail(text) => ("FAIL", text),
        };
        voice.line(&format!("{word}  {item}: {text}"));
    }
    let failed = findings.iter().filter(|(_, f)| matches!(f, Finding::Fail(_))).count();
    if failed == 0 { Ok(()) } else { Err(Failure::Failed(format!("{failed} of {} checks failed", findings.len()))) }
}

fn facts() -> Facts {
    let local = |port| Socket::bind(std::net::SocketAddr::from(([127, 0, 0, 1], port)), Clock::start());
    let station = std::net::SocketAddr::from(([0, 0, 0, 0], session::DEFAULT_PORT));
    Facts {
        beat: std::thread::spawn(beat).join().map_err(|_| "the servo's thread broke down".into()),
        receive_buffer: local(0).map(|socket| socket.receive_buffer()).map_err(|e| e.to_string()),
        port: Socket::bind(station, Clock::start()).map(drop).map_err(|e| e.to_string()),
        haptic: haptic::list(),
        cameras: Nodes {
            found: video::list().into_iter().map(|c| (c.name, c.problem)).collect(),
            forbidden: access::CAMERAS.problem(),
        },
        sound: audio::list(),
        forbidden_sound: access::SOUND.problem(),
        muted: audio::muted(),
        display: gui::check_display().map_err(|e| e.to_string()),
    }
}

/// A second of the servo's beat.
fn beat() -> Beat {
    let clock = Clock::start();
    let mut ticker = Ticker::start(Duration::from_millis(1), move || clock.now(), clock.epoch_ns());
    let missed = (0..1_000).map(|_| ticker.wait().missed).sum();
    Beat { realtime: ticker.realtime().to_string(), missed, late_us: ticker.lateness().summary_us() }
}
