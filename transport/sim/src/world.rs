//! The event loop. At one instant: arrivals first (backward before forward), then what the endpoints asked to be woken
//! for, then the ticks, the teleoperator's before the operator's.
//!
//! Stations send at their ticks alone, so between two ticks the networks run ahead undisturbed, and what arrives is
//! handed over afterwards, each packet at its own instant.

use media::{Channel, Duration, Instant};
use netem::direction_seed;

use crate::outcome::{Flows, Outcome};
use crate::road::Road;
use crate::session::{Common, Roads, Session, Side};
use crate::spec::{RunSpec, SessionSpec};

/// Both directions of a network and all sessions over it.
pub(crate) struct World {
    common: Common,
    roads: Roads,
    sessions: Vec<Session>,
    /// When the figures of cross-traffic begin.
    from: Instant,
    /// One tick after the last.
    end: Instant,
    now: Instant,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// A packet from this side of a session.
    Arrival(Side),
    /// A station of this session.
    Wake(usize, Side),
}

impl World {
    /// The world of a run of so many ticks.
    pub fn new(spec: RunSpec, others: Vec<SessionSpec>, ticks: u64) -> Self {
        let RunSpec { scenario, seed, traces, session, .. } = spec;
        let end = Instant::from_millis(ticks);
        let sessions: Vec<SessionSpec> = std::iter::once(session).chain(others).collect();
        let access: Vec<Duration> = sessions.iter().map(|s| s.access).collect();
        let road = |channel| Road::new(scenario.direction(channel), direction_seed(seed, channel), access.clone());
        World {
            common: Common { scenario: scenario.name.clone(), seed, seconds: ticks as f64 / 1e3 },
            roads: Roads { backward: road(Channel::Backward), forward: road(Channel::Forward) },
            from: (Instant::ZERO + scenario.warmup).min(end),
            end,
            now: Instant::ZERO,
            sessions: sessions
                .into_iter()
                .enumerate()
                .map(|(number, session)| Session::new(number, session, &scenario, seed, traces, end))
                .collect(),
        }
    }

    /// Everything up to the last arrival after the last tick.
    pub fn run(mut self) -> Vec<Outcome> {
        let mut marks: Vec<Instant> = self.sessions.iter().map(Session::from).chain([self.from]).collect();
        marks.sort();
        marks.dedup();
        let mut flows_before = None;
        for mark in marks {
            self.tick_until(mark);
            if mark == self.from {
                flows_before = Some(self.cross(mark));
            }
            for session in self.sessions.iter_mut().filter(|s| s.from() == mark) {
                session.begin_figures(mark);
            }
        }
        self.tick_until(self.end);
        let flows_after = self.cross(self.end);
        self.drain();
        let flows_before = flows_before.unwrap_or_else(|| flows_after.clone());
        let [backward, forward] =
            [0, 1].map(|i| Flows { at_start: flows_before[i].clone(), at_end: flows_after[i].clone() }.details());
        let buffers = self.roads.backward.buffers() + self.roads.forward.buffers();
        let common = self.common;
        self.sessions.into_iter().map(|s| s.finish(&common, [&backward, &forward], buffers)).collect()
    }

    /// All ticks before `end`, and all that happens up to and including it.
    fn tick_until(&mut self, end: Instant) {
        while let Some(at) = self.sessions.iter().filter_map(Session::tick_at).min()
            && at < end
        {
            self.advance(at);
            for i in 0..self.sessions.len() {
                if self.sessions[i].tick_at() != Some(at) {
                    continue;
                }
                for side in Side::BOTH {
                    self.sessions[i].tick(at, side, &mut self.roads);
                    // A network without any delay delivers at once.
                    self.advance(at);
                }
                self.sessions[i].end_tick();
            }
        }
        self.advance(end);
    }

    /// Lets all packets arrive and all wake-ups come.
    fn drain(&mut self) {
        loop {
            let roads = [&self.roads.backward, &self.roads.forward].map(Road::poll_timeout);
            let Some(at) = roads.into_iter().chain([self.next_wake().map(|w| w.0)]).flatten().min() else { return };
            self.advance(at);
        }
    }

    /// Everything up to and including `to` but ticks.
    fn advance(&mut self, to: Instant) {
        for side in Side::BOTH {
            let sessions = &mut self.sessions;
            self.roads.from(side).advance(to, |owner| sessions[owner.session].on_gone(side, owner.sequence));
        }
        while let Some((at, what)) = self.next()
            && at <= to
        {
            // Time does not go back for a wake-up that was due before.
            self.now = self.now.max(at);
            let at = self.now;
            match what {
                Next::Arrival(sender) => self.arrive(at, sender),
                Next::Wake(session, side) => self.sessions[session].wake(at, side, &mut self.roads),
            }
        }
    }

    /// The next packet of `sender`'s road arrives.
    fn arrive(&mut self, at: Instant, sender: Side) {
        let road = self.roads.from(sender);
        let Some(id) = road.poll_arrival() else { return };
        let session = road.packet(id).0.session;
        self.sessions[session].arrive(at, sender.peer(), &mut self.roads, id);
    }

    /// What comes next, of what is known to come.
    fn next(&self) -> Option<(Instant, Next)> {
        let mut next = self.next_wake();
        for (sender, road) in [(Side::Op, &self.roads.forward), (Side::Top, &self.roads.backward)] {
            // At one instant arrivals come before wake-ups, and backward before forward.
            if let Some(at) = road.arrives_at()
                && next.is_none_or(|(first, _)| at <= first)
            {
                next = Some((at, Next::Arrival(sender)));
            }
        }
        next
    }

    /// The next wake-up: of those of one instant the first session's, its teleoperator's before its operator's.
    fn next_wake(&self) -> Option<(Instant, Next)> {
        let mut next: Option<(Instant, Next)> = None;
        for (i, session) in self.sessions.iter().enumerate() {
            for side in Side::BOTH {
                if let Some(at) = session.wake_at(side)
                    && next.is_none_or(|(first, _)| at < first)
                {
                    next = Some((at, Next::Wake(i, side)));
                }
            }
        }
        next
    }

    fn cross(&self, now: Instant) -> [Vec<netem::FlowStats>; 2] {
        [self.roads.backward.cross(now), self.roads.forward.cross(now)]
    }
}
