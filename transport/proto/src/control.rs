//! Control messages on the wire: datagrams of their own, versioned, each with the token, a sequence
//! and an acknowledgement. The layout is told in `docs/protocol.md`.

use media::{Coupling, Role};

use crate::config::{Scheme, Token};
use crate::wire::{FLAG_CONTROL, VERSION};

/// Bytes before the body.
pub const CONTROL_HEADER: usize = 42;
/// Where token and session stand: what a peer shows to be heard.
pub const SHOWN: core::ops::Range<usize> = 10..30;
/// Where the token alone stands.
pub const TOKEN: core::ops::Range<usize> = 10..26;
/// Largest control datagram that is sent; longer ones are read as far as they are understood.
pub const MAX_CONTROL: usize = CONTROL_HEADER + 72;

/// What every control message carries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControlHeader {
    /// Counts the sender's control messages from 1.
    pub sequence: u32,
    /// The newest message of the peer that asks for acknowledgement, 0: none.
    pub ack: u32,
    /// The ticket's secret.
    pub token: Token,
    /// Random number of the sender's process.
    pub session: u32,
    /// The sender's full time, ns on its own clock.
    pub sent_at: u64,
    /// Ticks of the sender that left in no packet since it started (modulo 2^32): nobody listened, or its servo stood
    /// still. Their numbers are missing in the stream, but they are not lost.
    pub unsent: u32,
}

/// A control message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message {
    /// Who I am and what I send.
    Hello(Hello),
    /// Nothing but the acknowledgement.
    Ack,
    /// Make the next video frame a key frame.
    KeyFrame,
    /// Use this scheme from now on.
    Scheme(Scheme),
    /// What I received of your channel, once a second.
    Statistics([MediumStatistics; 3]),
    /// Force is off here (true), or may come back.
    EmergencyStop(bool),
    /// I leave.
    Goodbye,
    /// Of a later version: acknowledged and ignored.
    Unknown(u8),
}

/// Parameters of the sender's stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hello {
    /// The sender's role; the two ends must differ.
    pub role: Role,
    /// Scheme that the sender was started with; the operator's rules.
    pub scheme: Scheme,
    /// The sender's next tick, so that indexes unwrap to its own.
    pub next_tick: u64,
    /// Largest fragment p that the sender will send, bytes.
    pub fragment_size: u16,
    /// `CLOCK_MONOTONIC` at the sender's time zero, where stations of one machine compare clocks.
    pub common_clock_epoch: Option<i64>,
    /// What the samples are. Operator: what it wishes. Teleoperator: what it took over.
    pub coupling: Coupling,
}

/// Receiver statistics of one medium: counts since the session began, delays and jitter since the receiver started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MediumStatistics {
    /// Received.
    pub delivered: u32,
    /// Never received.
    pub lost: u32,
    /// Received after the limit.
    pub late: u32,
    /// Mean, median, 99th percentile and maximum of the delay in 10 us, 65535: more or unknown.
    pub delay: [u16; 4],
    /// Jitter, of packets and of samples, us, 65535: more or unknown.
    pub jitter: [u16; 2],
}

impl Message {
    fn kind(&self) -> u8 {
        match self {
            Message::Hello(_) => 1,
            Message::Ack => 2,
            Message::KeyFrame => 3,
            Message::Scheme(_) => 4,
            Message::Statistics(_) => 5,
            Message::EmergencyStop(_) => 6,
            Message::Goodbye => 7,
            Message::Unknown(kind) => *kind,
        }
    }

    /// Does the sender repeat it until it is acknowledged? Whoever says goodbye does not stay for the answer.
    pub fn asks_for_ack(&self) -> bool {
        !matches!(self, Message::Ack | Message::Hello(_) | Message::Statistics(_) | Message::Goodbye)
    }

    /// Appends the datagram to `out`.
    pub fn emit(&self, header: &ControlHeader, out: &mut Vec<u8>) {
        out.push(VERSION << 6 | FLAG_CONTROL);
        out.push(self.kind());
        out.extend_from_slice(&header.sequence.to_be_bytes());
        out.extend_from_slice(&header.ack.to_be_bytes());
        out.extend_from_slice(&header.token.0);
        out.extend_from_slice(&header.session.to_be_bytes());
        out.extend_from_slice(&header.sent_at.to_be_bytes());
        out.extend_from_slice(&header.unsent.to_be_bytes());
        match self {
            Message::Hello(h) => {
                out.push(match h.role {
                    Role::Op => 0,
                    Role::Top => 1,
                });
                out.extend_from_slice(&h.scheme.code());
                out.extend_from_slice(&h.next_tick.to_be_bytes());
                out.extend_from_slice(&h.fragment_size.to_be_bytes());
                out.push(u8::from(h.common_clock_epoch.is_some()));
                out.extend_from_slice(&h.common_clock_epoch.unwrap_or(0).to_be_bytes());
                out.push(h.coupling.code());
            }
            Message::Scheme(scheme) => out.extend_from_slice(&scheme.code()),
            Message::Statistics(media) => {
                for m in media {
                    for n in [m.delivered, m.lost, m.late] {
                        out.extend_from_slice(&n.to_be_bytes());
                    }
                    for n in m.delay.into_iter().chain(m.jitter) {
                        out.extend_from_slice(&n.to_be_bytes());
                    }
                }
            }
            Message::EmergencyStop(on) => out.push(u8::from(*on)),
            Message::Ack | Message::KeyFrame | Message::Goodbye | Message::Unknown(_) => {}
        }
    }

    /// Reads a control datagram; `None` if it is of another version, too short, or says what cannot be. Bytes
    /// after what is understood are of a later version and ignored.
    pub fn parse(bytes: &[u8]) -> Option<(ControlHeader, Message)> {
        let mut r = Reader(bytes);
        if r.u8()? != VERSION << 6 | FLAG_CONTROL {
            return None;
        }
        let kind = r.u8()?;
        let header = ControlHeader {
            sequence: u32::from_be_bytes(r.take()?),
            ack: u32::from_be_bytes(r.take()?),
            token: Token(r.take()?),
            session: u32::from_be_bytes(r.take()?),
            sent_at: u64::from_be_bytes(r.take()?),
            unsent: u32::from_be_bytes(r.take()?),
        };
        let message = match kind {
            1 => Message::Hello(Hello {
                role: match r.u8()? {
                    0 => Role::Op,
                    1 => Role::Top,
                    _ => return None,
                },
                scheme: Scheme::from_code(r.take()?)?,
                next_tick: u64::from_be_bytes(r.take()?),
                fragment_size: u16::from_be_bytes(r.take()?),
                common_clock_epoch: {
                    let known = r.u8()? == 1;
                    let epoch = i64::from_be_bytes(r.take()?);
                    known.then_some(epoch)
                },
                // A peer of before knows one coupling.
                coupling: r.u8().map_or(Coupling::default(), Coupling::from_code),
            }),
            2 => Message::Ack,
            3 => Message::KeyFrame,
            4 => Message::Scheme(Scheme::from_code(r.take()?)?),
            5 => {
                let mut media = [MediumStatistics::default(); 3];
                for m in &mut media {
                    let mut long = || Some(u32::from_be_bytes(r.take()?));
                    (m.delivered, m.lost, m.late) = (long()?, long()?, long()?);
                    let mut short = || Some(u16::from_be_bytes(r.take()?));
                    m.delay = [short()?, short()?, short()?, short()?];
                    m.jitter = [short()?, short()?];
                }
                Message::Statistics(media)
            }
            6 => Message::EmergencyStop(r.u8()? != 0),
            7 => Message::Goodbye,
            other => Message::Unknown(other),
        };
        Some((header, message))
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[b]| b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> ControlHeader {
        ControlHeader {
            sequence: 7,
            ack: 9,
            token: Token([3; 16]),
            session: 0xdead_beef,
            sent_at: u64::MAX - 5,
            unsent: 0xfeed_0001,
        }
    }

    #[test]
    fn every_message_round_trips_and_may_grow() {
        let hello = Hello {
            role: Role::Top,
            scheme: Scheme::KMerge(5),
            next_tick: 1 << 40,
            fragment_size: 70,
            common_clock_epoch: Some(-4),
            coupling: Coupling::Wave,
        };
        let statistics = MediumStatistics { delivered: 1, lost: 2, late: 3, delay: [4, 5, 6, 8], jitter: [7, 9] };
        for message in [
            Message::Hello(hello),
            Message::Hello(Hello { role: Role::Op, common_clock_epoch: None, ..hello }),
            Message::Ack,
            Message::KeyFrame,
            Message::Scheme(Scheme::DpmHoldUp),
            Message::Statistics([statistics; 3]),
            Message::EmergencyStop(true),
            Message::EmergencyStop(false),
            Message::Goodbye,
            Message::Unknown(200),
        ] {
            let mut bytes = Vec::new();
            message.emit(&header(), &mut bytes);
            assert!(bytes.len() <= MAX_CONTROL);
            assert_eq!(Message::parse(&bytes), Some((header(), message)));
            bytes.extend([1, 2, 3]);
            assert_eq!(Message::parse(&bytes), Some((header(), message)));
            assert_eq!(Message::parse(&bytes[..CONTROL_HEADER - 1]), None);
        }
        // A peer of before says nothing of the coupling.
        let mut bytes = Vec::new();
        Message::Hello(hello).emit(&header(), &mut bytes);
        bytes.pop();
        let told = Message::parse(&bytes).map(|(_, message)| message);
        assert_eq!(told, Some(Message::Hello(Hello { coupling: Coupling::PositionForce, ..hello })));
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_do_not_but_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Message::parse(&bytes);
            if let Some(first) = bytes.first_mut() {
                *first = VERSION << 6 | FLAG_CONTROL;
            }
            let _ = Message::parse(&bytes);
        }
    }
}
