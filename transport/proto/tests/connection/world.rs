//! Two stations and a plain delay line in virtual time.

use std::collections::BTreeMap;

use media::{Duration, HapticSample, Instant, Role};

use crate::proto::{Address, Command, Config, Endpoint, Event, FrameIn, Host, Input, Token, Transmit, drive};

pub const OP_AT: Address = Address { ip: [1; 16], port: 1 };
pub const TOP_AT: Address = Address { ip: [2; 16], port: 2 };
pub const DELAY: Duration = Duration::from_millis(20);

/// One station and what it has seen.
pub struct Station {
    pub endpoint: Endpoint,
    pub address: Address,
    pub tick: u64,
    pub sent: Vec<(Address, Vec<u8>)>,
    pub events: Vec<(Instant, Event)>,
    /// Haptic samples given to the display.
    pub shown: u64,
    /// When the last of them was.
    pub shown_at: Instant,
    pub buf: Vec<u8>,
}

struct Noting<'a> {
    sent: &'a mut Vec<(Address, Vec<u8>)>,
    events: &'a mut Vec<(Instant, Event)>,
    shown: &'a mut u64,
    shown_at: &'a mut Instant,
}

impl Host for Noting<'_> {
    fn transmit(&mut self, _: Instant, transmit: Transmit, bytes: &[u8]) {
        self.sent.push((transmit.to, bytes.to_vec()));
    }

    fn event(&mut self, now: Instant, event: &Event) {
        if matches!(event, Event::Haptic { .. }) {
            *self.shown += 1;
            *self.shown_at = now;
        } else {
            self.events.push((now, event.clone()));
        }
    }
}

impl Station {
    pub fn new(role: Role, seed: u64, now: Instant) -> Station {
        Station::with(Config::new(role), seed, now)
    }

    pub fn with(config: Config, seed: u64, now: Instant) -> Station {
        let config = Config { token: Token([7; 16]), ..config };
        let role = config.role;
        let address = if role == Role::Op { OP_AT } else { TOP_AT };
        let endpoint = Endpoint::new(config, seed, now);
        Station {
            endpoint,
            address,
            tick: 0,
            sent: Vec::new(),
            events: Vec::new(),
            shown: 0,
            shown_at: Instant::ZERO,
            buf: Vec::new(),
        }
    }

    pub fn input(&mut self, now: Instant, input: Input<'_>) {
        let (shown, shown_at) = (&mut self.shown, &mut self.shown_at);
        let mut host = Noting { sent: &mut self.sent, events: &mut self.events, shown, shown_at };
        drive(&mut self.endpoint, now, input, &mut self.buf, &mut host);
    }

    pub fn tick(&mut self, now: Instant) {
        let sample = HapticSample::zero(self.endpoint.config().sends());
        self.input(now, Input::Haptic { tick: self.tick, sample });
        self.tick += 1;
    }

    pub fn saw(&self, wanted: impl Fn(&Event) -> bool) -> Option<Instant> {
        self.events.iter().find(|(_, e)| wanted(e)).map(|(at, _)| *at)
    }
}

/// Says of a packet to an address whether it is lost.
pub type Drop = Box<dyn FnMut(Instant, Address, &[u8]) -> bool>;

/// Both stations and the packets between them.
pub struct World {
    pub now: Instant,
    pub op: Option<Station>,
    pub top: Option<Station>,
    pub wire: BTreeMap<(Instant, u64), (Address, Address, Vec<u8>)>,
    pub count: u64,
    /// Video frames of this size every 40 ms.
    pub video: usize,
    /// Every fourth packet takes so much longer.
    pub stagger: Duration,
    /// `true`: drop this packet.
    pub drop: Drop,
}

impl World {
    pub fn new() -> World {
        let now = Instant::from_millis(1_000);
        let mut world = World {
            now,
            op: Some(Station::new(Role::Op, 1, now)),
            top: Some(Station::new(Role::Top, 2, now)),
            wire: BTreeMap::new(),
            count: 0,
            video: 0,
            stagger: Duration::ZERO,
            drop: Box::new(|_, _, _| false),
        };
        world.op().input(now, Input::Command(Command::Connect(TOP_AT)));
        world
    }

    pub fn op(&mut self) -> &mut Station {
        self.op.as_mut().expect("the operator runs")
    }

    pub fn top(&mut self) -> &mut Station {
        self.top.as_mut().expect("the teleoperator runs")
    }

    pub fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            let now = self.now;
            while let Some(entry) = self.wire.first_entry().filter(|e| e.key().0 <= now) {
                let (from, to, bytes) = entry.remove();
                let station = if to == OP_AT { &mut self.op } else { &mut self.top };
                if let Some(station) = station {
                    station.input(now, Input::Datagram { from, bytes: &bytes });
                }
            }
            for station in [&mut self.op, &mut self.top].into_iter().flatten() {
                let key = station.saw(|e| matches!(e, Event::KeyFrameRequested)).is_some();
                if self.video > 0 && station.address == TOP_AT && station.tick.is_multiple_of(40) {
                    let payload = vec![1; if key { self.video * 3 } else { self.video }];
                    station.events.retain(|(_, e)| !matches!(e, Event::KeyFrameRequested));
                    station.input(now, Input::Video(FrameIn { payload: &payload, key, captured_at: now }));
                }
                station.tick(now);
                for (to, bytes) in station.sent.drain(..) {
                    if !(self.drop)(now, to, &bytes) {
                        self.count += 1;
                        let delay = if self.count % 8 < 6 { DELAY } else { DELAY + self.stagger };
                        self.wire.insert((now + delay, self.count), (station.address, to, bytes));
                    }
                }
            }
        }
    }
}
