//! One station of the world: its clock, its endpoint, and everything that it sent and saw.

use media::{Force, HapticSample, Instant, Medium, Motion, Position, Role, Velocity};

use crate::proto::{Endpoint, Event, FrameOut, TraceEvent};

/// Where true time zero lies on an unshifted clock: room for negative offsets.
const ORIGIN_NS: i64 = 10_000_000_000;

/// A station's clock as seen from true time.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Ahead of true time by this.
    pub offset_ns: i64,
    /// Too fast by this.
    pub skew_ppm: f64,
    /// The servo ticks too fast by this. The same as `skew_ppm` in a real station, zero to see the clock's effect alone.
    pub servo_ppm: f64,
    /// (true time in ms, ns that the clock leaps forward then). The servo's pace does not leap.
    pub leaps: Vec<(u64, i64)>,
}

impl Clock {
    /// What the clock shows.
    pub fn at(&self, true_ns: u64) -> Instant {
        let leaps: i64 = self.leaps.iter().filter(|s| true_ns >= s.0 * 1_000_000).map(|s| s.1).sum();
        let skew = (true_ns as f64 * self.skew_ppm * 1e-6) as i64;
        Instant::from_nanos((ORIGIN_NS + true_ns as i64 + self.offset_ns + skew + leaps) as u64)
    }

    /// The true time, not before `now`, from which the clock shows `at` or later.
    pub fn when(&self, at: Instant, now: u64) -> u64 {
        let mut t = now;
        while self.at(t) < at {
            let rest = at.signed_since(self.at(t)) as f64 / (1.0 + self.skew_ppm.abs() * 1e-6);
            t += (rest as u64).max(1);
        }
        t
    }

    /// The true time of a tick of the servo.
    pub fn tick(&self, tick: u64) -> u64 {
        if self.servo_ppm == 0.0 {
            return tick * 1_000_000;
        }
        (tick as f64 * 1e6 / (1.0 + self.servo_ppm * 1e-6)) as u64
    }
}

/// A data packet as its sender knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub sequence: u64,
    pub at: u64,
    pub k: u8,
    pub first_index: u64,
    pub wire_bytes: u64,
}

/// A frame that came out, at this true time.
pub struct Got {
    pub at: u64,
    pub frame: FrameOut,
}

/// A frame that went in: true time, payload.
pub struct Given {
    pub at: u64,
    pub payload: Vec<u8>,
    pub key: bool,
}

/// One end.
pub struct Station {
    pub role: Role,
    pub clock: Clock,
    pub endpoint: Endpoint,
    pub next_tick: u64,
    pub log: Log,
}

/// What a station sent and saw.
#[derive(Default)]
pub struct Log {
    pub sent: Vec<Sent>,
    /// Data packets received for the first time: true time, first index, k.
    pub received: Vec<(u64, u64, u8)>,
    /// Tick from which k was so much, and k.
    pub k_changes: Vec<(u64, u8)>,
    /// Displayed samples: true time, index.
    pub displayed: Vec<(u64, u64)>,
    /// Frames given to the endpoint: audio, video.
    pub given: [Vec<Given>; 2],
    /// Frames that came out, whichever medium.
    pub got: Vec<Got>,
    /// How often video was said to be lost.
    pub video_lost: u64,
}

impl Station {
    /// When the next tick is due, and when the endpoint wants to be woken; true time, not before `now`.
    pub fn due(&self, now: u64) -> (u64, Option<u64>) {
        let timeout = self.endpoint.poll_timeout().map(|t| self.clock.when(t.at, now));
        (self.clock.tick(self.next_tick), timeout)
    }
}

impl Log {
    /// Notes an event at a station that hears `peer`.
    pub fn note(&mut self, true_ns: u64, peer: Role, event: &Event) {
        match event {
            Event::Haptic { index, sample } => self.display(true_ns, peer, *index, *sample),
            Event::Frame(frame) => self.got.push(Got { at: true_ns, frame: frame.clone() }),
            Event::VideoLost => self.video_lost += 1,
            Event::Trace(TraceEvent::MergeFactor { index, k, .. }) => self.k_changes.push((*index, *k)),
            Event::Trace(TraceEvent::PacketReceived { k, first_index, .. }) => {
                self.received.push((true_ns, *first_index, *k));
            }
            _ => {}
        }
    }

    /// Notes a displayed sample and holds it against what the peer took at that tick, bit by bit.
    fn display(&mut self, true_ns: u64, peer: Role, index: u64, sample: HapticSample) {
        let bits = |s: &HapticSample| {
            let mut bytes = [0; 24];
            s.emit(&mut bytes);
            bytes
        };
        let taken = sample_of(peer, index);
        assert_eq!((sample.kind(), bits(&sample)), (taken.kind(), bits(&taken)), "sample {index} at {true_ns}");
        if let Some(&(_, last)) = self.displayed.last() {
            assert!(last < index, "sample {index} displayed after {last}");
        }
        self.displayed.push((true_ns, index));
    }

    /// Frames of a medium that came out.
    pub fn got(&self, medium: Medium) -> impl Iterator<Item = &Got> {
        self.got.iter().filter(move |g| g.frame.medium == medium)
    }
}

/// The sample that a station takes at a tick: different bits at every tick, those of NaNs among them.
pub fn sample_of(role: Role, tick: u64) -> HapticSample {
    let bits = |salt: u32| f32::from_bits((tick as u32).wrapping_mul(2_654_435_761) ^ salt.wrapping_mul(0x9e37_79b9));
    match role {
        Role::Top => HapticSample::Force(Force::new(bits(1), bits(2), bits(3))),
        Role::Op => HapticSample::Motion(Motion {
            position: Position::new(bits(4), bits(5), bits(6)),
            velocity: Velocity::new(bits(7), bits(8), bits(9)),
        }),
    }
}
