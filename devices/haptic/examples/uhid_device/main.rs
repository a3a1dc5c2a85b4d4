//! A telehaptic HID device that exists in the kernel only (uhid), to test everything above it without hardware.
//!
//! It moves on a fixed path at 1 kHz, whatever force comes, and keeps what it sent and received. Needs Linux with the
//! module `uhid`, and the right to open /dev/uhid (root).
//!
//! `uhid_device [--seconds N] [--csv PATH] [--serial TEXT] [--garbage-every N] [--skip-every N]`: runs N seconds (default 10), then writes the CSV (default:
//! none) with the header `kind,time_ns,sequence,x,y,z,flags`. Times are CLOCK_MONOTONIC. `in` rows are the reports sent:
//! nm and status bits; `out` rows the reports received: mN and the command. A line `ready hid:VID:PID:SERIAL` on stdout
//! says that the device is there. Every N-th report can be spoilt (short, long, of another number, in turn) or left out;
//! the last line counts those.

mod kernel;

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};

use media::{Duration, Instant, Position};
use telehaptic_haptic::Ticker;
use telehaptic_haptic::report::{IN_SIZE, InRepr, OutRepr, TEST_PRODUCT, TEST_VENDOR, descriptor, status};

use crate::kernel::{Event, Identity, Uhid};

/// Without an OUT report for this long the device would put its motors off.
const WATCHDOG: Duration = Duration::from_millis(20);

struct Options {
    seconds: u64,
    csv: Option<String>,
    serial: String,
    /// Every so many reports one is spoilt; 0: none.
    garbage_every: u16,
    /// Every so many reports one is left out; 0: none.
    skip_every: u16,
}

/// A row of the CSV.
struct Row {
    kind: &'static str,
    at: Instant,
    sequence: u16,
    vector: [i32; 3],
    flags: u16,
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { seconds: 10, csv: None, serial: "TH-0001".into(), garbage_every: 0, skip_every: 0 };
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--seconds" => options.seconds = value.parse().map_err(|_| format!("--seconds {value}: a whole number"))?,
            "--garbage-every" => {
                options.garbage_every = value.parse().map_err(|_| format!("{name} {value}: 0 to 65535"))?
            }
            "--skip-every" => options.skip_every = value.parse().map_err(|_| format!("{name} {value}: 0 to 65535"))?,
            "--csv" => options.csv = Some(value),
            "--serial" if value.len() < 60 => options.serial = value,
            _ => {
                return Err(format!(
                    "{name} {value}: use --seconds N, --csv PATH, --serial TEXT, --garbage-every N, --skip-every N"
                ));
            }
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let identity = Identity {
        name: "telehaptic test device",
        serial: &options.serial,
        vendor: TEST_VENDOR,
        product: TEST_PRODUCT,
        descriptor: descriptor::CARTESIAN,
    };
    let created = Uhid::create(&identity);
    let uhid =
        Arc::new(created.map_err(|e| format!("/dev/uhid: {e}: run as root with the module uhid (modprobe uhid)"))?);

    let last_out = Arc::new(AtomicU64::new(0));
    let (started, start) = channel();
    let reader = {
        let (uhid, last_out) = (uhid.clone(), last_out.clone());
        std::thread::Builder::new().name("uhid-reader".into()).spawn(move || receive(&uhid, &started, &last_out))
    };
    let reader = reader.map_err(|e| format!("the reading thread does not start: {e}"))?;
    start.recv().map_err(|_| "the kernel took the device away before it started".to_owned())?;
    println!("ready hid:{TEST_VENDOR:04x}:{TEST_PRODUCT:04x}:{}", options.serial);

    let mut ticker = Ticker::start(Duration::from_millis(1), now, 0);
    let begin = now();
    let mut rows = Vec::with_capacity(options.seconds as usize * 1000 + 1);
    let (mut sequence, mut skipped, mut spoilt_reports) = (0u16, 0, 0);
    loop {
        let tick = ticker.wait();
        let elapsed = tick.now.saturating_since(begin);
        if elapsed >= Duration::from_secs(options.seconds) {
            break;
        }
        let heard = Instant::from_nanos(last_out.load(Ordering::Relaxed));
        let silent = tick.now.saturating_since(heard) > WATCHDOG;
        let report = InRepr {
            axes: InRepr::nm(path(elapsed)),
            time_us: (elapsed.as_micros() & 0xffff_ffff) as u32,
            sequence,
            status: status::READY | if silent { status::WATCHDOG } else { 0 },
        };
        let mut bytes = [0; IN_SIZE];
        report.emit(&mut bytes);
        let every = |n: u16| n != 0 && sequence % n == n - 1;
        let send = |bytes: &[u8]| uhid.input(bytes).map_err(|e| format!("/dev/uhid refuses a report: {e}"));
        if every(options.skip_every) {
            skipped += 1;
            sequence = sequence.wrapping_add(1);
            continue;
        }
        send(&bytes)?;
        if every(options.garbage_every) {
            // Besides, not instead: what is garbage is told apart from what is missing.
            let mut spoilt = [bytes.as_slice(), &[0xff]].concat();
            match spoilt_reports % 3 {
                0 => spoilt.truncate(IN_SIZE - 5),
                1 => {}
                _ => spoilt[0] = 77,
            }
            send(&spoilt)?;
            spoilt_reports += 1;
        }
        let flags = report.status;
        rows.push(Row { kind: "in", at: tick.now, sequence, vector: report.axes, flags });
        sequence = sequence.wrapping_add(1);
    }
    let sent = rows.len();
    uhid.destroy().map_err(|e| format!("/dev/uhid: {e}"))?;
    rows.extend(reader.join().map_err(|_| "the reading thread failed".to_owned())?);
    let received = rows.len() - sent;
    let missed = ticker.lateness().missed();
    println!("sent {sent} received {received} missed {missed} skipped {skipped} spoilt {spoilt_reports}");
    match &options.csv {
        Some(path) => write_csv(path, &mut rows).map_err(|e| format!("{path}: {e}")),
        None => Ok(()),
    }
}

/// In and out of contact with a surface 10 to 15 mm behind the origin every 4 s, with a slow stroke to both sides.
fn path(elapsed: Duration) -> Position {
    let t = elapsed.as_secs_f64();
    let turn = core::f64::consts::TAU;
    let z = -0.009 * (1.0 - (turn * t / 4.0).cos());
    Position::new((0.008 * (turn * t / 6.0).sin()) as f32, (0.004 * (turn * t / 5.0).sin()) as f32, z as f32)
}

/// Reads what the kernel says until it takes the device away.
fn receive(uhid: &Uhid, started: &Sender<()>, last_out: &AtomicU64) -> Vec<Row> {
    let mut rows = Vec::new();
    loop {
        match uhid.receive() {
            Ok(Event::Start) => {
                // Nobody listens after the first start, which is all that matters.
                let _ = started.send(());
            }
            Ok(Event::Stop) | Err(_) => return rows,
            Ok(Event::Output(data)) => {
                let at = now();
                if let Some(report) = OutRepr::parse(&data) {
                    last_out.store(at.as_nanos(), Ordering::Relaxed);
                    let (vector, flags) = (report.units.map(i32::from), report.command as u16);
                    rows.push(Row { kind: "out", at, sequence: report.sequence, vector, flags });
                } else {
                    eprintln!("an OUT report of {} bytes that is not ours", data.len());
                }
            }
        }
    }
}

fn write_csv(path: &str, rows: &mut [Row]) -> std::io::Result<()> {
    rows.sort_by_key(|row| row.at);
    let mut file = std::io::BufWriter::new(File::create(path)?);
    writeln!(file, "kind,time_ns,sequence,x,y,z,flags")?;
    for row in rows {
        let [x, y, z] = row.vector;
        writeln!(file, "{},{},{},{x},{y},{z},{}", row.kind, row.at.as_nanos(), row.sequence, row.flags)?;
    }
    file.flush()
}

/// CLOCK_MONOTONIC, which all processes of a machine share.
fn now() -> Instant {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    Instant::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
