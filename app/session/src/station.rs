//! A running station: start it, look at it, tell it what to do, end it.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use media::{Instant, Role};
use triple_buffer::Output;
use udp::Clock;

use crate::assemble::{Parts, assemble};
use crate::config::StationConfig;
use crate::cost;
use crate::error::SessionError;
use crate::outcome::{self, Outcome};
use crate::shared::{NetSlot, ServoSlot, Shared};
use crate::snapshot::{Command, Snapshot, ViewPicture};
use crate::threads::{Running, spawn_all};
use crate::ticket::Ticket;
use crate::trace::{StationInfo, TraceWriter};

/// How long a goodbye may take to leave.
const GOODBYE: Duration = Duration::from_millis(40);

/// The newest snapshot. The lock is held for the length of a pointer's copy, by threads off the fast path.
#[derive(Clone, Debug, Default)]
pub(crate) struct SnapshotCell(Arc<Mutex<Arc<Snapshot>>>);

impl SnapshotCell {
    /// The newest.
    pub fn get(&self) -> Arc<Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces it.
    pub fn set(&self, snapshot: Snapshot) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }
}

/// Why a station is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Somebody told it to stop.
    Stopped,
    /// Something went wrong for good: an error line. [`Station::finish`] gives the error itself.
    Failed(String),
}

/// One running OP or TOP. Dropping it stops it without a word to the peer, as a crash would;
/// [`Station::finish`] says goodbye.
pub struct Station {
    config: StationConfig,
    clock: Clock,
    started: Instant,
    ticket: Option<Ticket>,
    shared: Arc<Shared>,
    snapshot: SnapshotCell,
    view: Mutex<Output<ViewPicture>>,
    commands: Sender<Command>,
    wake: Arc<udp::Waker>,
    running: Option<Running>,
}

impl Station {
    /// Opens the devices, binds the socket and starts the threads.
    ///
    /// # Errors
    /// A wrong configuration or ticket; a device, file, port or directory that is not there or not free.
    pub fn start(config: StationConfig) -> Result<Station, SessionError> {
        config.check()?;
        let Parts { threads, station } = assemble(&config)?;
        let shared = station.shared.clone();
        let running = match spawn_all(threads) {
            Ok(running) => running,
            Err(error) => {
                // Those that did start end by themselves.
                shared.stop.store(true, std::sync::atomic::Ordering::Release);
                return Err(error);
            }
        };
        Ok(Station {
            config,
            clock: station.clock,
            started: station.started,
            ticket: station.ticket,
            shared,
            snapshot: station.snapshot,
            view: Mutex::new(station.view),
            commands: station.commands,
            wake: station.wake,
            running: Some(running),
        })
    }

    /// Which station this is.
    pub fn role(&self) -> Role {
        self.config.role
    }

    /// TOP: the ticket for the operator.
    pub fn ticket(&self) -> Option<Ticket> {
        self.ticket
    }

    /// The station as it was within the last 40 ms.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.get()
    }

    /// Copies the newest picture into `picture` if it is not that one already; true if it did.
    pub fn picture(&self, picture: &mut ViewPicture) -> bool {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = view.read();
        if newest.number == 0 || newest.number == picture.number {
            return false;
        }
        picture.clone_from(newest);
        true
    }

    /// Passes a wish on; it is done within 40 ms.
    pub fn command(&self, command: Command) {
        // An ended station has no more wishes to fulfil.
        let _ = self.commands.send(command);
    }

    /// Is the station over, and why? It still has to be finished.
    pub fn ended(&self) -> Option<Ended> {
        self.shared.has_ended().then(|| self.shared.failure_text().map_or(Ended::Stopped, Ended::Failed))
    }

    /// Says goodbye, ends the threads (force is zero then) and reports.
    ///
    /// # Errors
    /// The error that ended the station, or a trace that could not be written.
    pub fn finish(mut self) -> Result<Outcome, SessionError> {
        use std::sync::atomic::Ordering::Release;
        self.shared.goodbye.store(true, Release);
        self.wake.wake();
        // Nothing is sent after the goodbye: the run ends here.
        let end = self.clock.now();
        std::thread::sleep(GOODBYE);
        let (net, servo, trace) = self.stop()?;
        if let Some(error) = self.shared.take_failure() {
            return Err(error);
        }
        let seconds = end.saturating_since(self.started).as_secs_f64();
        if let Some(writer) = trace {
            writer.finish(&self.info(&net, &servo, end, seconds))?;
        }
        Ok(Outcome {
            report: outcome::report(&self.config, &net, &servo, end, seconds),
            snapshot: self.snapshot.get(),
            trace_dir: self.config.trace_dir.clone(),
        })
    }

    fn stop(&mut self) -> Result<(NetSlot, ServoSlot, Option<TraceWriter>), SessionError> {
        self.shared.stop.store(true, std::sync::atomic::Ordering::Release);
        self.wake.wake();
        match self.running.take() {
            Some(running) => running.join(),
            None => Ok(Default::default()),
        }
    }

    fn info(&self, net: &NetSlot, servo: &ServoSlot, end: Instant, seconds: f64) -> StationInfo {
        use std::sync::atomic::Ordering::Relaxed;
        let role = match self.config.role {
            Role::Op => "op",
            Role::Top => "top",
        };
        StationInfo {
            role: role.into(),
            epoch_ns: self.clock.epoch_ns(),
            scheme: net.stats.scheme,
            scenario: self.config.scenario.clone(),
            seed: self.config.seed,
            peer_session: self.shared.peer_session.load(Relaxed),
            start_ns: self.started.as_nanos(),
            end_ns: end.as_nanos(),
            dropped: self.shared.dropped.trace.load(Relaxed),
            counters: outcome::counters(&net.stats, &self.shared, net.kernel_drops),
            system: cost::system(seconds, servo),
        }
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // Threads that broke down have been reported by then, or nobody asks any more.
        let _ = self.stop();
    }
}
