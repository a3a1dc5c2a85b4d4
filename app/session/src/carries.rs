//! Can the network that DPM is measuring carry a session? What k did lately tells how much room there is; the estimate
//! of `proto::feasible` does the rest.

use media::Channel;
use proto::feasible::{Feedback, Path, Stream, estimate};
use proto::{Scheme, TriggerConfig};
use serde::{Deserialize, Serialize};

use crate::snapshot::HistoryPoint;

/// Without a step down for so long at k = 1, that level is held, s.
const HELD_AFTER_S: f64 = 2.0;

/// What other traffic is taken to be, since it cannot be seen: two flows of small packets.
const CROSS_FLOWS: u32 = 2;
const CROSS_PACKET_BYTES: u32 = 200;

/// The answer for one channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carries {
    /// At least this rate is free for the channel, kbit/s.
    pub free_kbps: f64,
    /// Estimate of the worst haptic delay, ms. Some 3 ms of room are wanted below the limit.
    pub worst_delay_ms: f64,
    /// All media stay within their limits.
    pub feasible: bool,
}

/// What the recent past of a channel under DPM says, of a session with fragments of `fragment_bytes`; `None` while it says nothing yet, or another scheme is in force.
pub(crate) fn carries(
    channel: Channel,
    history: impl Iterator<Item = HistoryPoint>,
    scheme: Scheme,
    triggers: &TriggerConfig,
    fragment_bytes: u32,
) -> Option<Carries> {
    if !matches!(scheme, Scheme::Dpm | Scheme::DpmHoldUp) {
        return None;
    }
    let stream = match channel {
        Channel::Backward => Stream { fragment_bytes, ..Stream::BACKWARD },
        Channel::Forward => Stream::FORWARD,
    };
    let mut held: Option<u8> = None;
    let mut floor_ms = f64::INFINITY;
    let mut last: Option<(u8, f64)> = None;
    for point in history {
        // A step down says that delays were steady at the level before it.
        let (k, since) = match last {
            Some((k, since)) if k == point.k => (k, since),
            Some((k, _)) if point.k < k => {
                held = Some(held.map_or(k, |h| h.min(k)));
                (point.k, point.at_s)
            }
            _ => (point.k, point.at_s),
        };
        if k == 1 && point.at_s - since >= HELD_AFTER_S {
            held = Some(1);
        }
        last = Some((k, since));
        // The mean sample of a packet waits (k - 1) / 2 ms before it is sent.
        let network_ms = f64::from(point.delay_ms) - f64::from(point.k - 1) / 2.0;
        floor_ms = floor_ms.min(if network_ms.is_finite() { network_ms } else { f64::INFINITY });
    }
    let held = held?;
    let free_kbps = stream.rate_kbps(held);
    let transmission_ms = stream.rate_kbps(1) / free_kbps;
    let path = Path {
        capacity_kbps: free_kbps,
        cross_kbps: 0.0,
        propagation_ms: Some(floor_ms - transmission_ms).filter(|ms| ms.is_finite())?.max(0.0),
        transmitting_hops: 1,
        cross_flows: CROSS_FLOWS,
        cross_packet_bytes: CROSS_PACKET_BYTES,
    };
    // Notifications ride on the opposite channel, at worst merged as far as there.
    let feedback = Feedback { period_ms: f64::from(triggers.k_max), delay_ms: floor_ms.max(0.0) };
    let answer = estimate(&path, &stream, triggers, &feedback);
    let worst_delay_ms = answer.media.first()?.worst_delay_ms?;
    Some(Carries { free_kbps, worst_delay_ms, feasible: answer.media.iter().all(|m| m.compliant) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One point each 50 ms; k and delay by the millisecond.
    fn history(seconds: f64, k: impl Fn(f64) -> u8, delay_ms: f32) -> Vec<HistoryPoint> {
        let points = (seconds * 20.0) as u32;
        (0..points).map(|n| f64::from(n) / 20.0).map(|at_s| HistoryPoint { at_s, k: k(at_s), delay_ms }).collect()
    }

    fn answer(channel: Channel, history: Vec<HistoryPoint>) -> Option<Carries> {
        carries(channel, history.into_iter(), Scheme::Dpm, &TriggerConfig::default(), 70)
    }

    #[test]
    fn a_free_network_carries_a_session_and_a_slow_one_does_not() {
        let free = answer(Channel::Backward, history(5.0, |_| 1, 17.0)).unwrap();
        assert!(free.feasible && free.free_kbps > 1_090.0 && (17.0..26.0).contains(&free.worst_delay_ms), "{free:?}");
        let slow = answer(Channel::Backward, history(5.0, |_| 1, 60.0)).unwrap();
        assert!(!slow.feasible && slow.worst_delay_ms >= 60.0, "{slow:?}");
    }

    #[test]
    fn levels_held_tell_the_room() {
        // 4 to 3 and back: level 4 is held, level 3 is not.
        let narrow = answer(Channel::Backward, history(10.0, |s| if s % 1.0 < 0.8 { 4 } else { 3 }, 18.0)).unwrap();
        assert!((693.0..695.0).contains(&narrow.free_kbps) && narrow.feasible, "{narrow:?}");
        // Down to 1 and up again: level 2 is held.
        let cycle = |s: f64| match s % 1.0 {
            t if t < 0.4 => 4,
            t if t < 0.6 => 3,
            t if t < 0.9 => 2,
            _ => 1,
        };
        let middle = answer(Channel::Backward, history(10.0, cycle, 17.5)).unwrap();
        assert!((827.0..829.0).contains(&middle.free_kbps) && !middle.feasible, "{middle:?}");
    }

    #[test]
    fn what_says_nothing_gets_no_answer() {
        assert_eq!(answer(Channel::Forward, history(1.0, |_| 1, 17.0)), None);
        assert_eq!(answer(Channel::Forward, history(10.0, |_| 4, 17.0)), None);
        let fixed = history(10.0, |_| 1, 17.0);
        assert_eq!(carries(Channel::Forward, fixed.into_iter(), Scheme::NoMerge, &TriggerConfig::default(), 70), None);
        assert_eq!(answer(Channel::Forward, history(10.0, |_| 1, f32::NAN)), None);
    }
}
