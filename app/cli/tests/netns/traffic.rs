//! Cross-traffic of constant rate, counted as the wire counts it, and its sink.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::world::{BURST, HEADERS, spawn_in};

/// Wire size of each packet, bytes.
const PACKET: u64 = 200;
const PORT: u16 = 9_000;
/// The bucket of a link that gets a third more than its rate is empty after four times its size.
const SETTLED: u64 = 4;

/// What arrived at the sink.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    /// Packets.
    pub packets: u64,
    /// Mean rate between the first and the last packet, the burst of the beginning left out, kbit/s on the wire.
    pub kbps: f64,
}

/// A flow from one namespace to another, until it is finished.
pub struct Flow {
    stop: Arc<AtomicBool>,
    sender: JoinHandle<io::Result<(u64, Duration)>>,
    sink: JoinHandle<io::Result<Received>>,
}

/// Figures of a finished flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowFigures {
    /// Packets sent.
    pub sent: u64,
    /// Rate sent, kbit/s on the wire.
    pub sent_kbps: f64,
    /// What arrived.
    pub received: Received,
}

impl FlowFigures {
    /// Share that did not arrive, percent.
    pub fn loss_percent(&self) -> f64 {
        100.0 * (self.sent - self.received.packets) as f64 / self.sent as f64
    }
}

impl Flow {
    /// Starts sending `kbps` from namespace `from` to `address` in namespace `to`.
    pub fn start(from: &str, to: &str, address: std::net::Ipv4Addr, kbps: f64) -> Flow {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, bound) = std::sync::mpsc::channel();
        let sink = spawn_in(to, {
            let stop = stop.clone();
            move || {
                let socket = UdpSocket::bind((address, PORT))?;
                let _ = ready.send(());
                receive(&socket, &stop)
            }
        });
        // A sink that failed tells when the flow is finished.
        let _ = bound.recv_timeout(Duration::from_secs(5));
        let sender = spawn_in(from, {
            let stop = stop.clone();
            move || send((address, PORT).into(), kbps, &stop)
        });
        Flow { stop, sender, sink }
    }

    /// Stops the sender, lets the queue run empty, and counts.
    pub fn finish(self) -> io::Result<FlowFigures> {
        self.stop.store(true, Ordering::Relaxed);
        let panicked = |_| io::Error::other("a thread of the cross-traffic panicked");
        let (sent, time) = self.sender.join().map_err(panicked)??;
        let received = self.sink.join().map_err(panicked)??;
        Ok(FlowFigures { sent, sent_kbps: kbps(sent, time), received })
    }
}

fn kbps(packets: u64, time: Duration) -> f64 {
    (packets * PACKET * 8) as f64 / time.as_secs_f64() / 1e3
}

fn send(to: SocketAddr, kbps: f64, stop: &AtomicBool) -> io::Result<(u64, Duration)> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    let payload = [0x55; (PACKET - HEADERS) as usize];
    let gap = PACKET as f64 * 8.0 / (kbps * 1e3);
    let start = Instant::now();
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        // Somewhere in its slot: in step with the millisecond, one flow would always find the queue's free place and
        // the other never. Absolute times: a late wake-up is made good, so that the rate holds.
        let due = start + Duration::from_secs_f64(gap * (sent as f64 + fraction(sent)));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        socket.send_to(&payload, to)?;
        sent += 1;
    }
    Ok((sent, start.elapsed()))
}

/// A number from 0 to 1 that looks random, the same in every run (splitmix64).
fn fraction(n: u64) -> f64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Receives until the sender has stopped and nothing has come for half a second.
fn receive(socket: &UdpSocket, stop: &AtomicBool) -> io::Result<Received> {
    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut buffer = [0; 2_000];
    let (mut packets, mut after_burst) = (0, 0);
    let mut window: Option<(Instant, Instant)> = None;
    loop {
        match socket.recv(&mut buffer) {
            Ok(_) => {
                packets += 1;
                let now = Instant::now();
                if packets * PACKET > SETTLED * BURST {
                    // The first of the window opens it and does not count.
                    after_burst += u64::from(window.is_some());
                    window = Some((window.map_or(now, |(first, _)| first), now));
                }
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            Err(e) => return Err(e),
        }
    }
    let rate = window.map_or(0.0, |(first, last)| kbps(after_burst, last - first));
    Ok(Received { packets, kbps: rate })
}
