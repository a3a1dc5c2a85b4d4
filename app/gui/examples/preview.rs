//! Shows either window on a made-up station: `cargo run --release -p telehaptic-gui --example preview --
//! operator|teleoperator [PICTURE.ppm] [STATE] [SHOT.png]`, where STATE is none,
//! stopped, waiting, silent, calibration, ended or closing.

use session::{Command, LinkState, ViewPicture};
use std::sync::Arc;
use telehaptic_gui::preview::PreviewStation;
use telehaptic_gui::{Options, StationHandle, run_operator, run_teleoperator};

fn main() {
    let mut args = std::env::args().skip(1);
    let role = args.next().unwrap_or_else(|| "operator".into());
    let picture =
        args.next().and_then(|path| std::fs::read(path).ok()).and_then(|bytes| ppm(&bytes)).unwrap_or_else(pattern);
    let station = PreviewStation::new(role == "operator", picture);
    let state = args.next();
    match state.as_deref() {
        Some("stopped") => station.command(Command::EmergencyStop),
        Some("waiting") => station.change(|s| {
            *s = session::Snapshot { is_operator: s.is_operator, ticket: s.ticket.take(), ..Default::default() };
        }),
        Some("silent") => station.change(|s| {
            s.link = LinkState::Silent;
            s.haptic.engagement = 0.0;
            s.haptic.force = [0.0; 3];
            s.haptic.force_off = "no valid sample from the peer for 50 ms".into();
            s.video.fault = "no key frame since the peer fell silent".into();
            s.backward.delay_ms = Some(104.2);
            if let Some(h) = &mut s.backward.haptic {
                h.verdict = session::report::Verdict::Fail;
                (h.over_limit_percent, h.loss_percent) = (88.4, 14.2);
            }
        }),
        Some("calibration") => station.change(|s| {
            s.haptic.engagement = 0.0;
            s.haptic.force = [0.0; 3];
            s.haptic.force_off = "the device is not calibrated".into();
            s.haptic.calibration = Some(session::CalibrationSnapshot {
                guide: "pull the handle out as far as it goes, then push it in, until all three axes are done".into(),
                homed: [true, false, false],
            });
        }),
        Some("ended" | "closing") => station.command(Command::Stop),
        _ => {}
    }
    let shot = args.next().map(|path| (path.into(), 1.5));
    let options = Options {
        position: None,
        close_when_ended: Arc::new((state.as_deref() == Some("closing")).into()),
        screenshot: shot,
    };
    let result = if role == "operator" { run_operator(&station, options) } else { run_teleoperator(&station, options) };
    if let Err(error) = result {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    println!("commands: {:?}", station.commands());
}

/// Reads a binary PPM file with a one-line header.
fn ppm(bytes: &[u8]) -> Option<ViewPicture> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    let mut words = std::str::from_utf8(&bytes[..end]).ok()?.split(' ').skip(1);
    let width = words.next()?.parse().ok()?;
    let height = words.next()?.parse().ok()?;
    Some(ViewPicture { number: 1, width, height, rgb: bytes[end + 1..].to_vec() })
}

fn pattern() -> ViewPicture {
    let (width, height) = (320, 240);
    let rgb = (0..width * height).flat_map(|i| [(i % width) as u8, (i / width) as u8, 128]).collect();
    ViewPicture { number: 1, width, height, rgb }
}
