//! The network thread: the endpoint of this configuration on its socket, with the queues of [`Exchange`] behind it.

use std::sync::Arc;

use media::{Duration, Instant, Role};
use proto::stats::Stats;
use proto::{Command, Endpoint, Event, Input};
use udp::{Clock, NetHandler, NetLoop, Socket, Waker};

use crate::config::StationConfig;
use crate::error::SessionError;
use crate::net::{Exchange, STATS_EVERY};
use crate::ticket::Ticket;

/// Real-time priority of the network thread where permitted: below the servo's 50.
const PRIORITY: i32 = 40;

/// All that the network thread owns.
pub(crate) struct NetThread {
    net: NetLoop,
    exchange: Exchange,
}

impl NetThread {
    /// The endpoint of this configuration behind `socket`. An OP calls the ticket's address (or `via`) at once.
    pub fn new(
        config: &StationConfig,
        ticket: Option<Ticket>,
        clock: &Clock,
        socket: Socket,
        waker: &Arc<Waker>,
        exchange: Exchange,
    ) -> Result<NetThread, SessionError> {
        let now = clock.now();
        let mut endpoint = Endpoint::new(endpoint_config(config, ticket, clock), session_seed()?, now);
        if let Some(peer) = config.called().filter(|_| config.role == Role::Op) {
            endpoint.handle(now, Input::Command(Command::Connect(udp::to_address(peer))));
        }
        Ok(NetThread { net: NetLoop::new(socket, endpoint, waker.clone(), *clock), exchange })
    }

    /// Runs until the station stops.
    pub fn run(mut self) {
        // Ordinary priority costs punctuality, nothing else.
        if let Err(e) = udp::raise_priority(PRIORITY) {
            tracing::debug!("network thread at ordinary priority: {e}");
        }
        let shared = self.exchange.shared.clone();
        if let Err(e) = self.net.run(&mut self.exchange, &shared.stop) {
            shared.end(Some(SessionError::Network(e.to_string())));
        }
    }
}

impl NetHandler for Exchange {
    fn feed(&mut self, now: Instant, push: &mut dyn FnMut(Instant, Input<'_>)) {
        self.pass_on(now, push);
    }

    fn on_event(&mut self, now: Instant, event: &Event) {
        self.deal_out(now, event);
    }

    fn on_stats(&mut self, now: Instant, stats: Stats, kernel_drops: u64) {
        self.publish(now, stats, kernel_drops);
    }

    fn stats_every(&self) -> Duration {
        STATS_EVERY
    }
}

/// What the endpoint is told.
fn endpoint_config(config: &StationConfig, ticket: Option<Ticket>, clock: &Clock) -> proto::Config {
    let mut endpoint = proto::Config::new(config.role);
    if let Some(ticket) = ticket {
        endpoint.token = ticket.token;
    }
    endpoint.fragment_size = config.fragment_size;
    endpoint.scheme = config.scheme;
    endpoint.coupling = config.coupling;
    endpoint.triggers = config.triggers;
    endpoint.rivals = config.rivals;
    endpoint.common_clock_epoch = config.common_clock.then(|| clock.epoch_ns());
    endpoint.trace = config.trace_dir.is_some();
    endpoint.silence = Duration::from_millis(config.silence_ms);
    endpoint
}

/// Random even where the configured seed is not: the peer tells a new process by its session number.
fn session_seed() -> Result<u64, SessionError> {
    getrandom::u64().map_err(|e| SessionError::Network(format!("no random numbers from this system: {e}")))
}
