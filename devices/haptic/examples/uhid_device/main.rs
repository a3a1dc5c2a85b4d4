//! A haptic HID device that exists in the kernel only (uhid), to test everything above it without hardware. Needs Linux
//! with the module `uhid`, and the right to open /dev/uhid (root).
//!
//! It moves on a fixed path at 1 kHz, whatever force comes, and keeps what it sent and received: with `--csv PATH` as
//! rows `kind,time_ns,sequence,x,y,z,flags`. Times are CLOCK_MONOTONIC. `in` rows are the reports sent: nm or counts, and
//! status bits; `out` rows the reports received: mN or mA, and the command. A line `ready hid:VID:PID:SERIAL` on stdout
//! says that the device is there. A report that the clock overtook is sent at once, as hardware would have sent it in
//! time. The last line counts reports sent, received, left out and spoilt.

mod firmware;
mod kernel;

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};

use clap::Parser;
use media::{Duration, Instant};
use telehaptic_haptic::{Model, Ticker};

use crate::firmware::{Faults, Firmware};
use crate::kernel::{Event, Identity, Uhid};

/// A haptic device in the kernel.
#[derive(Parser)]
struct Options {
    /// End after so many seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Write what was sent and received into this file.
    #[arg(long)]
    csv: Option<String>,
    /// Serial number, up to 59 characters.
    #[arg(long, default_value = "TH-0001")]
    serial: String,
    /// A built-in model: telehaptic, phantom-omni, falcon, polhem-v1, spacemouse ...
    #[arg(long, default_value = "telehaptic")]
    model: String,
    /// Besides every N-th report send a spoilt one: short, long, of another number, in turn.
    #[arg(long, value_name = "N", default_value_t = 0)]
    garbage_every: u64,
    /// Leave out every N-th report, once a host has spoken.
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_every: u64,
    /// This sensor (1 to 3) stays as it is after three seconds.
    #[arg(long, value_name = "AXIS", value_parser = clap::value_parser!(u8).range(1..=3))]
    stuck: Option<u8>,
    /// Send so many reports a second only.
    #[arg(long, value_name = "HZ", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1000))]
    rate: u64,
    /// Keep the reports of so many ms at the begin of every second back, and send them all then.
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..1000))]
    late: u64,
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
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let model = Model::find(&options.model).ok_or_else(|| format!("--model {}: no such model", options.model))?;
    let faults = Faults { stuck: options.stuck.map(|axis| usize::from(axis) - 1), every_ms: 1000 / options.rate };
    let firmware = Firmware::new(model.clone(), faults);
    let (vendor, product) = firmware.ids();
    let identity = Identity {
        name: "telehaptic test device",
        serial: &options.serial,
        vendor,
        product,
        descriptor: firmware.descriptor(),
    };
    let created = Uhid::create(&identity);
    let uhid =
        Arc::new(created.map_err(|e| format!("/dev/uhid: {e}: run as root with the module uhid (modprobe uhid)"))?);
    let firmware = Arc::new(Mutex::new(firmware));
    let begin = now();
    let (started, start) = channel();
    let reader = {
        let (uhid, firmware) = (uhid.clone(), firmware.clone());
        std::thread::Builder::new().name("uhid-reader".into()).spawn(move || receive(&uhid, &started, &firmware, begin))
    };
    let reader = reader.map_err(|e| format!("the reading thread does not start: {e}"))?;
    start.recv().map_err(|_| "the kernel took the device away before it started".to_owned())?;
    println!("ready hid:{vendor:04x}:{product:04x}:{}", options.serial);

    let mut rows = Vec::with_capacity(options.seconds as usize * 1000 + 1);
    let (skipped, spoilt) = send(options, &uhid, &firmware, begin, &mut rows)?;
    let sent = rows.len();
    uhid.destroy().map_err(|e| format!("/dev/uhid: {e}"))?;
    rows.extend(reader.join().map_err(|_| "the reading thread failed".to_owned())?);
    println!("sent {sent} received {} skipped {skipped} spoilt {spoilt}", rows.len() - sent);
    match &options.csv {
        Some(path) => write_csv(path, &mut rows).map_err(|e| format!("{path}: {e}")),
        None => Ok(()),
    }
}

/// Sends until the end and gives the counts of reports left out and spoilt.
fn send(
    options: &Options,
    uhid: &Uhid,
    firmware: &Mutex<Firmware>,
    begin: Instant,
    rows: &mut Vec<Row>,
) -> Result<(u64, u64), String> {
    let put = |bytes: &[u8]| uhid.input(bytes).map_err(|e| format!("/dev/uhid refuses a report: {e}"));
    let every = |n: u64, count: u64| n != 0 && count % n == n - 1;
    let mut ticker = Ticker::start(Duration::from_millis(1), now, 0);
    let (mut skipped, mut spoilt, mut next_ms) = (0, 0, 0);
    loop {
        let at = ticker.wait().now;
        let ms = at.saturating_since(begin).as_millis() as u64;
        if ms >= options.seconds * 1000 {
            return Ok((skipped, spoilt));
        }
        if ms % 1000 < options.late {
            continue;
        }
        for ms in next_ms..=ms {
            let mut firmware = lock(firmware);
            if every(options.skip_every, ms) && firmware.has_host() {
                skipped += 1;
                firmware.skip();
                continue;
            }
            let Some(sent) = firmware.report(Duration::from_millis(ms)) else { continue };
            drop(firmware);
            put(&sent.bytes)?;
            if every(options.garbage_every, ms) {
                // Besides, not instead: what is garbage is told apart from what is missing.
                put(&spoil(&sent.bytes, spoilt))?;
                spoilt += 1;
            }
            rows.push(Row { kind: "in", at, sequence: sent.sequence, vector: sent.axes, flags: sent.flags });
        }
        next_ms = ms + 1;
    }
}

/// Short, long, of another number, in turn.
fn spoil(report: &[u8], number: u64) -> Vec<u8> {
    let mut spoilt = [report, &[0xff]].concat();
    match number % 3 {
        0 => spoilt.truncate(report.len() - 5),
        1 => {}
        _ => spoilt[0] = 77,
    }
    spoilt
}

/// Reads what the kernel says until it takes the device away.
fn receive(uhid: &Uhid, started: &Sender<()>, firmware: &Mutex<Firmware>, begin: Instant) -> Vec<Row> {
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
                match lock(firmware).receive(at.saturating_since(begin), &data) {
                    Some(heard) => rows.push(Row {
                        kind: "out",
                        at,
                        sequence: heard.sequence,
                        vector: heard.units.map(i32::from),
                        flags: heard.command,
                    }),
                    None => eprintln!("an OUT report of {} bytes that is not ours", data.len()),
                }
            }
        }
    }
}

/// A thread that panicked has ended the program's use; what it left is good enough for the record.
fn lock(firmware: &Mutex<Firmware>) -> MutexGuard<'_, Firmware> {
    firmware.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
