//! One TCP connection, the sender's side of it, in whole packets: the window of Reno (RFC 5681) with selective
//! acknowledgements, so that a round trip that loses many packets costs one halving and no silence.
//!
//! What a packet carries is of no interest here: packets are numbered in the order in which they are sent, and one that
//! is lost means one more to send. Every packet is acknowledged by itself; connections begin without a handshake.

use std::collections::VecDeque;

use media::{Duration, Instant};

/// Packets that a connection begins with (RFC 6928).
const INITIAL_WINDOW: u64 = 10;
/// A packet is lost when one sent so many places later has arrived: three duplicate acknowledgements (RFC 5681).
const REORDERING: u64 = 3;
/// Smallest window after a loss, packets (RFC 5681).
const MIN_THRESHOLD: u64 = 2;
/// Shortest retransmission timeout, ns: that of common systems (RFC 6298 asks for a second).
const MIN_TIMEOUT: u64 = 200_000_000;
/// The timeout before the first measurement (RFC 6298), ns.
const FIRST_TIMEOUT: u64 = 1_000_000_000;
/// Longest timeout (RFC 6298), ns.
const MAX_TIMEOUT: u64 = 60_000_000_000;

/// The sender. Memory is bounded by the largest window.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    max_window: u64,
    window: u64,
    /// Below it the window grows by one for each acknowledgement, above by one for each window of them.
    threshold: u64,
    /// Acknowledgements since the window last grew, above the threshold.
    credit: u64,
    /// Packets still to be sent, lost ones among them.
    unsent: u64,
    /// Packets on their way; the first is number `first`.
    flight: VecDeque<Sent>,
    first: u64,
    in_flight: u64,
    /// Losses of packets before this number belong to the last halving.
    recovery: u64,
    /// Smoothed round trip and its variation, ns.
    rtt: Option<(u64, u64)>,
    /// Timeouts in a row.
    backoff: u32,
    deadline: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    acked: bool,
}

impl Connection {
    /// A connection that has nothing to send. Its window never exceeds `max_window` packets.
    pub(super) fn new(max_window: u64) -> Self {
        let max_window = max_window.max(1);
        Connection {
            max_window,
            window: INITIAL_WINDOW.min(max_window),
            threshold: max_window,
            credit: 0,
            unsent: 0,
            flight: VecDeque::new(),
            first: 0,
            in_flight: 0,
            recovery: 0,
            rtt: None,
            backoff: 0,
            deadline: None,
        }
    }

    /// A new connection in the place of this one, with so many packets to send. Numbers go on: what is still on its way
    /// means nothing to it.
    pub(super) fn open(&mut self, packets: u64) {
        let first = self.next_number();
        let mut flight = std::mem::take(&mut self.flight);
        flight.clear();
        *self = Connection { unsent: packets, first, recovery: first, flight, ..Connection::new(self.max_window) };
    }

    /// Ends it: nothing more is sent.
    pub(super) fn close(&mut self) {
        self.open(0);
    }

    /// Nothing to send and nothing on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.unsent == 0 && self.in_flight == 0
    }

    /// When [`Connection::on_timeout`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The number (modulo 2^32) of the next packet, if the window lets one go now.
    pub(super) fn poll_send(&mut self, now: Instant) -> Option<u32> {
        if self.unsent == 0 || self.in_flight >= self.window {
            return None;
        }
        let number = self.next_number();
        self.unsent -= 1;
        self.in_flight += 1;
        self.flight.push_back(Sent { at: now, acked: false });
        if self.deadline.is_none() {
            self.deadline = Some(now + self.timeout());
        }
        Some(number as u32)
    }

    /// The acknowledgement of this packet is here.
    pub(super) fn on_ack(&mut self, now: Instant, number: u32) {
        // One from before `first` is far behind the last.
        let index = number.wrapping_sub(self.first as u32);
        let Some(sent) = self.flight.get_mut(index as usize).filter(|sent| !sent.acked) else { return };
        let number = self.first + u64::from(index);
        sent.acked = true;
        let round_trip = now.saturating_since(sent.at);
        self.in_flight -= 1;
        self.backoff = 0;
        self.measure(round_trip);
        self.drop_from_flight(number);
        if number >= self.recovery {
            self.grow();
        }
        self.deadline = (self.in_flight > 0).then(|| now + self.timeout());
    }

    /// Nothing was heard for too long: all that is on its way counts as lost (RFC 5681, 5.).
    pub(super) fn on_timeout(&mut self) {
        if self.backoff == 0 {
            self.threshold = (self.window / 2).max(MIN_THRESHOLD).min(self.max_window);
        }
        self.backoff += 1;
        self.window = 1;
        self.credit = 0;
        self.unsent += self.in_flight;
        self.first = self.next_number();
        self.recovery = self.first;
        self.in_flight = 0;
        self.flight.clear();
        self.deadline = None;
    }

    /// The packets at the front that have arrived, or are lost by the arrival of number `arrived`.
    fn drop_from_flight(&mut self, arrived: u64) {
        while let Some(&sent) = self.flight.front() {
            if !sent.acked {
                if self.first + REORDERING > arrived {
                    return;
                }
                self.in_flight -= 1;
                self.unsent += 1;
                if self.first >= self.recovery {
                    self.halve();
                }
            }
            self.flight.pop_front();
            self.first += 1;
        }
    }

    fn halve(&mut self) {
        self.threshold = (self.window / 2).max(MIN_THRESHOLD).min(self.max_window);
        self.window = self.threshold;
        self.credit = 0;
        self.recovery = self.next_number();
    }

    fn grow(&mut self) {
        if self.window < self.threshold {
            self.window += 1;
        } else {
            self.credit += 1;
            if self.credit >= self.window {
                self.credit = 0;
                self.window = (self.window + 1).min(self.max_window);
            }
        }
    }

    /// RFC 6298, 2.3.
    fn measure(&mut self, round_trip: Duration) {
        let r = u64::try_from(round_trip.as_nanos()).unwrap_or(u64::MAX / 8).min(u64::MAX / 8);
        self.rtt = Some(match self.rtt {
            None => (r, r / 2),
            Some((smoothed, variation)) => ((7 * smoothed + r) / 8, (3 * variation + smoothed.abs_diff(r)) / 4),
        });
    }

    fn timeout(&self) -> Duration {
        let once = self.rtt.map_or(FIRST_TIMEOUT, |(smoothed, variation)| smoothed.saturating_add(4 * variation));
        let backed_off = once.max(MIN_TIMEOUT).saturating_mul(1 << self.backoff.min(16));
        Duration::from_nanos(backed_off.min(MAX_TIMEOUT))
    }

    fn next_number(&self) -> u64 {
        self.first + self.flight.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn send_all(c: &mut Connection, now: Instant) -> Vec<u32> {
        std::iter::from_fn(|| c.poll_send(now)).collect()
    }

    #[test]
    fn the_window_doubles_each_round_trip_up_to_the_threshold_and_then_grows_by_one() {
        let mut c = Connection::new(100);
        c.open(10_000);
        c.threshold = 40;
        let mut sizes = Vec::new();
        for round in 0..6 {
            let sent = send_all(&mut c, ms(100 * round));
            sizes.push(sent.len());
            sent.iter().for_each(|&n| c.on_ack(ms(100 * (round + 1)), n));
        }
        assert_eq!(sizes, [10, 20, 40, 41, 42, 43]);
    }

    #[test]
    fn many_losses_of_one_round_trip_halve_once_and_are_all_sent_again() {
        let mut c = Connection::new(100);
        c.open(20);
        assert_eq!(send_all(&mut c, ms(0)).len(), 10);
        for n in [0, 2, 4, 5] {
            c.on_ack(ms(100), n);
        }
        // Number 1 is lost by the arrival of 4; 3 not yet by that of 5.
        assert_eq!((c.window, c.recovery, c.first), (6, 10, 3));
        c.on_ack(ms(100), 6);
        assert_eq!((c.window, c.first), (6, 7));
        for n in 7..10 {
            c.on_ack(ms(101), n);
        }
        assert_eq!((c.window, c.in_flight, c.is_idle()), (6, 0, false));
        // Of 20 packets 10 were sent, two of them lost: 12 remain.
        let mut sent = 0;
        while !c.is_idle() {
            for n in send_all(&mut c, ms(200)) {
                sent += 1;
                c.on_ack(ms(300), n);
            }
        }
        assert_eq!((sent, c.deadline()), (12, None));
    }

    #[test]
    fn the_timeout_follows_the_round_trip_has_a_floor_and_doubles() {
        let mut c = Connection::new(100);
        c.open(1000);
        send_all(&mut c, ms(0));
        assert_eq!(c.deadline(), Some(ms(1000)));
        c.on_ack(ms(10), 0);
        assert_eq!(c.deadline(), Some(ms(210)));
        c.on_timeout();
        assert_eq!((c.window, c.threshold, c.unsent), (1, 5, 1000 - 1));
        assert_eq!(send_all(&mut c, ms(210)), [10]);
        assert_eq!(c.deadline(), Some(ms(610)));
        // Late news of what was given up.
        c.on_ack(ms(300), 5);
        assert_eq!((c.in_flight, c.deadline()), (1, Some(ms(610))));
        c.on_timeout();
        assert_eq!(send_all(&mut c, ms(610)), [11]);
        assert_eq!((c.deadline(), c.threshold), (Some(ms(1410)), 5));
        c.on_ack(ms(1310), 11);
        assert_eq!((c.window, c.backoff, send_all(&mut c, ms(1310)).len()), (2, 0, 2));
        // 10 ms, then 700: smoothed 96.25, variation 176.25.
        assert_eq!(c.deadline().unwrap().saturating_since(ms(1310)), Duration::from_micros(801_250));
    }

    #[test]
    fn a_connection_opened_again_knows_nothing_of_the_old_one() {
        let mut c = Connection::new(4);
        c.open(100);
        assert_eq!(send_all(&mut c, ms(0)), [0, 1, 2, 3]);
        c.close();
        assert!(c.is_idle() && c.deadline().is_none());
        c.open(1);
        assert_eq!(send_all(&mut c, ms(1)), [4]);
        c.on_ack(ms(2), 3);
        assert!(!c.is_idle());
        c.on_ack(ms(3), 4);
        assert!(c.is_idle());
    }
}
