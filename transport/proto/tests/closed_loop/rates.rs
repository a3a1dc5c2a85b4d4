//! The rate on the wire: R_k = D + overhead / k is never exceeded, over any window of whole packets, however much audio and
//! video waits.

use media::{Channel, Medium};

use crate::proto::Scheme;
use crate::world::{Packet, World};

/// Payload bytes a millisecond and bytes of headers a packet.
const CHANNELS: [(Channel, u64, u64); 2] = [(Channel::Backward, 70, 67), (Channel::Forward, 24, 62)];

/// Twice what fits, in uneven pieces.
fn too_much(medium: Medium, number: u64) -> (Vec<u8>, bool) {
    let len = if medium == Medium::Audio { 150 + number % 300 } else { 500 + number * 977 % 8_000 };
    (vec![number as u8; len as usize], false)
}

/// From the departure of any packet to that of any later one, the bytes sent are at most what `rate` (bits a
/// millisecond, times `den`) allows.
fn assert_never_above(packets: &[Packet], bits_per_ms: u64, den: u64, what: &str) {
    for (i, first) in packets.iter().enumerate() {
        let mut bits = 0;
        for p in packets[i..].windows(2).take(300) {
            bits += 8 * p[0].sent.wire_bytes;
            let ms = (p[1].sent.at - first.sent.at) / 1_000_000;
            assert!(bits * den <= bits_per_ms * ms, "{what}: {bits} bits in {ms} ms from {first:?}");
        }
    }
}

#[test]
fn fixed_k_never_exceeds_r_k() {
    for k in 1..=8u8 {
        let mut world = World::new("paper/r100", Scheme::KMerge(k));
        world.payload = too_much;
        world.run_to(5_000);
        for (channel, p, headers) in CHANNELS {
            let den = u64::from(k);
            let rate = 8 * (p * den + headers);
            let packets = world.packets(channel);
            assert!(packets.len() > 4_900 / usize::from(k));
            assert_never_above(&packets, rate, den, &format!("k = {k}, {channel:?}"));
        }
        let stats = world.stats(media::Role::Top).transmit;
        assert!(stats.refused > 0 && stats.video_backlog > 30_000, "k = {k}: not enough to do: {stats:?}");
    }
}

/// The paper's frames fill the fragments exactly: the rate *is* R_k, and nothing is left over.
#[test]
fn the_papers_frames_take_exactly_r_k() {
    for (k, kbps) in [(1u8, 1096.0), (2, 828.0), (3, 738.67), (4, 694.0)] {
        let mut world = World::new("paper/r0", Scheme::KMerge(k));
        world.run_to(12_000);
        let (sent, _) = world.logs(Channel::Backward);
        let bytes: u64 = sent.sent.iter().map(|s| s.wire_bytes).sum();
        assert!((bytes as f64 * 8.0 / 12_000.0 - kbps).abs() < 0.2, "k = {k}: {bytes} bytes");
        assert!(world.stats(media::Role::Top).transmit.video_backlog <= 2_000);
    }
}

/// Under DPM each packet costs one header and its fragments, leaves at the tick of its last sample, and holds at least
/// the k in force then: the rate stays below that of the k in force.
#[test]
fn dpm_never_exceeds_the_rate_of_the_k_in_force() {
    for scheme in [Scheme::Dpm, Scheme::DpmHoldUp] {
        let mut world = World::new("paper/r260-m0", scheme);
        world.payload = too_much;
        world.run_to(15_000);
        for (channel, p, headers) in CHANNELS {
            let changes = world.k_changes(channel, 0);
            let mut next = 0;
            for packet in world.packets(channel) {
                let s = &packet.sent;
                let last = s.first_index + u64::from(s.k) - 1;
                assert_eq!((s.first_index, s.at), (next, last * 1_000_000), "{channel:?}: {s:?}");
                next = last + 1;
                let in_force = changes.iter().rev().find(|c| c.0 <= last).map_or(1, |c| c.1);
                assert!((in_force..=4).contains(&s.k), "{channel:?}, k = {in_force}: {s:?}");
                assert!(s.wire_bytes <= headers + p * u64::from(s.k), "{channel:?}: {s:?}");
            }
        }
        assert!(world.k_changes(Channel::Backward, 1).len() > 20);
    }
}
