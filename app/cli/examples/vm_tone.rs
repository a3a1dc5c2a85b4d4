//! The far ends of a sound card that is a loop: what a person speaks into the microphone, and what comes out of the
//! speaker. The test in the virtual machine uses it; it goes straight to cpal, so that it shares no code with what it
//! checks.
//!
//! `vm_tone play DEVICE HERTZ SECONDS` plays a sine of half the full scale. `vm_tone record DEVICE FILE SECONDS` writes
//! what it hears, mono, 48000 samples a second, as little-endian 32-bit floats.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{BufferSize, Device, DeviceId, StreamConfig};

const RATE: u32 = 48_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["play", device, hertz, seconds] => numbers(hertz, seconds).and_then(|(hz, s)| play(device, hz, s)),
        ["record", device, file, seconds] => numbers("0", seconds).and_then(|(_, s)| record(device, file, s)),
        _ => Err("usage: vm_tone play DEVICE HERTZ SECONDS | vm_tone record DEVICE FILE SECONDS".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("vm_tone: {e}");
            ExitCode::FAILURE
        }
    }
}

fn numbers(hertz: &str, seconds: &str) -> Result<(f32, Duration), String> {
    let number = |text: &str| text.parse::<f32>().map_err(|_| format!("{text} is no number"));
    let seconds = Duration::try_from_secs_f32(number(seconds)?).map_err(|e| format!("{seconds}: {e}"))?;
    Ok((number(hertz)?, seconds))
}

fn open(name: &str) -> Result<Device, String> {
    let host = cpal::default_host();
    host.device_by_id(&DeviceId::new(host.id(), name)).ok_or_else(|| format!("no sound device {name}"))
}

fn config(channels: u16) -> StreamConfig {
    StreamConfig { channels, sample_rate: RATE, buffer_size: BufferSize::Fixed(RATE / 10) }
}

fn play(device: &str, hertz: f32, time: Duration) -> Result<(), String> {
    let device = open(device)?;
    let mut n = 0u32;
    let tone = move |block: &mut [f32], _: &cpal::OutputCallbackInfo| {
        for pair in block.chunks_exact_mut(2) {
            // The phase stays small: a 32-bit float loses a large one.
            let phase = (f64::from(n) * f64::from(hertz) / f64::from(RATE)).fract();
            pair.fill(0.5 * (phase * std::f64::consts::TAU).sin() as f32);
            n = (n + 1) % (RATE * 1_000);
        }
    };
    let stream = device
        .build_output_stream(config(2), tone, |e| eprintln!("vm_tone: {e}"), None)
        .map_err(|e| format!("cannot play: {e}"))?;
    stream.play().map_err(|e| format!("cannot play: {e}"))?;
    std::thread::sleep(time);
    Ok(())
}

fn record(device: &str, file: &str, time: Duration) -> Result<(), String> {
    let device = open(device)?;
    let (heard, blocks) = mpsc::channel();
    let listen = move |block: &[f32], _: &cpal::InputCallbackInfo| {
        // The receiver is gone only at the end.
        let _ = heard.send(block.iter().step_by(2).copied().collect::<Vec<f32>>());
    };
    let stream = device
        .build_input_stream(config(2), listen, |e| eprintln!("vm_tone: {e}"), None)
        .map_err(|e| format!("cannot record: {e}"))?;
    stream.play().map_err(|e| format!("cannot record: {e}"))?;
    let mut out = BufWriter::new(File::create(file).map_err(|e| format!("{file}: {e}"))?);
    let end = Instant::now() + time;
    while let Ok(block) = blocks.recv_timeout(end.saturating_duration_since(Instant::now())) {
        for sample in block {
            out.write_all(&sample.to_le_bytes()).map_err(|e| format!("{file}: {e}"))?;
        }
    }
    out.flush().map_err(|e| format!("{file}: {e}"))
}
