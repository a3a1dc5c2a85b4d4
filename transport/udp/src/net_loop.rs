//! The body of the network thread: datagrams in, local inputs in, what comes of them out, then sleep until the next of these.
//!
//! In steady state it takes no lock, allocates nothing and logs nothing. Wake-ups come from the socket, from
//! [`Waker::wake`], and from the endpoint's own timeouts.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use media::{Duration, Instant};
use proto::stats::Stats;
use proto::{Endpoint, Event, Host, Input, Transmit, drain, drive};

use crate::clock::Clock;
use crate::error::UdpError;
use crate::socket::Socket;
use crate::wait::{Waker, wait};

/// Datagrams handled before local inputs get their turn: a flood must not starve the servo's samples.
const BATCH: usize = 64;

/// The station's side of the network thread.
pub trait NetHandler {
    /// Passes what the other threads have queued to `push`, each with the moment at which it reached the transport.
    fn feed(&mut self, now: Instant, push: &mut dyn FnMut(Instant, Input<'_>));
    /// Takes note of an event; its buffers go back to the endpoint afterwards.
    fn on_event(&mut self, now: Instant, event: &Event);
    /// Takes the statistics, every [`NetHandler::stats_every`].
    fn on_stats(&mut self, now: Instant, stats: Stats, kernel_drops: u64);
    /// Time between statistics.
    fn stats_every(&self) -> Duration {
        Duration::from_millis(30)
    }
}

/// An endpoint on a socket.
#[derive(Debug)]
pub struct NetLoop {
    socket: Socket,
    waker: Arc<Waker>,
    clock: Clock,
    endpoint: Endpoint,
}

struct Wire<'a, H> {
    socket: &'a mut Socket,
    handler: &'a mut H,
}

impl<H: NetHandler> Host for Wire<'_, H> {
    fn transmit(&mut self, _: Instant, transmit: Transmit, bytes: &[u8]) {
        self.socket.send(transmit.to, bytes);
    }

    fn event(&mut self, now: Instant, event: &Event) {
        self.handler.on_event(now, event);
    }
}

impl NetLoop {
    /// Puts `endpoint` on `socket`; whoever queues an input calls `waker`.
    pub fn new(socket: Socket, endpoint: Endpoint, waker: Arc<Waker>, clock: Clock) -> NetLoop {
        NetLoop { socket, waker, clock, endpoint }
    }

    /// Runs until `stop` is set and the waker called; what is queued then still leaves.
    ///
    /// # Errors
    /// If the socket cannot be used any more.
    pub fn run(&mut self, handler: &mut impl NetHandler, stop: &AtomicBool) -> Result<(), UdpError> {
        let mut packet = vec![0; 2_048];
        let mut buf = Vec::with_capacity(2_048);
        let mut stats_at = self.clock.now();
        loop {
            let stopping = stop.load(Ordering::Acquire);
            for _ in 0..BATCH {
                let Some(datagram) = self.socket.receive(&mut packet)? else { break };
                // One longer than the buffer is judged by its beginning: data of that length is garbage, and counted; of a
                // control message what is understood counts.
                let input = Input::Datagram { from: datagram.from, bytes: &packet[..datagram.len] };
                let mut wire = Wire { socket: &mut self.socket, handler };
                drive(&mut self.endpoint, datagram.at, input, &mut buf, &mut wire);
            }
            let endpoint = &mut self.endpoint;
            handler.feed(self.clock.now(), &mut |at, input| endpoint.handle(at, input));
            let now = self.clock.now();
            endpoint.handle(now, Input::Timeout);
            let timeout = drain(endpoint, now, &mut buf, &mut Wire { socket: &mut self.socket, handler });
            if now >= stats_at || stopping {
                handler.on_stats(now, self.endpoint.stats(now), self.socket.kernel_drops());
                stats_at = now + handler.stats_every();
            }
            if stopping {
                return Ok(());
            }
            let until = timeout.map_or(stats_at, |t| t.at.min(stats_at));
            wait(self.socket.as_raw_fd(), &self.waker, until.saturating_since(self.clock.now()))?;
        }
    }

    /// The socket, for its address and counters.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }
}
