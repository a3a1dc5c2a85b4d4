//! The figures of a joined channel, by the meter that every report uses.

use std::collections::BTreeMap;

use media::Medium;
use proto::meter::MediumMeter;
use proto::report::{ChannelReport, MediumReport, MergeReport, WireReport};

use super::half::Half;
use super::join::{Joined, MediumRow, Span};

/// Figures of `joined` over samples, frames and packets from `from` (ns on the machine's clock) on.
pub(super) fn channel(joined: &Joined, sender: &Half, span: Span, from: i64) -> ChannelReport {
    ChannelReport {
        k: merge_factors(joined, sender, span, from),
        wire: wire(joined, sender, span, from),
        haptic: haptic(joined, from),
        audio: joined.audio.as_ref().map(|rows| frames(Medium::Audio, rows, from)),
        video: joined.video.as_ref().map(|rows| frames(Medium::Video, rows, from)),
    }
}

fn haptic(joined: &Joined, from: i64) -> MediumReport {
    let mut meter = meter_of(Medium::Haptic, &joined.haptic, from);
    for p in joined.packets.iter().filter(|p| p.send >= from) {
        if let Some(receive) = p.receive {
            meter.on_packet(receive - p.send);
        }
    }
    meter.report(Some(0.0))
}

fn frames(medium: Medium, rows: &[MediumRow], from: i64) -> MediumReport {
    let mut meter = meter_of(medium, rows, from);
    for row in rows.iter().filter(|r| r.capture >= from) {
        if let Some(receive) = row.receive {
            meter.on_packet(receive - row.capture);
        }
    }
    meter.report(Some(0.0))
}

fn meter_of(medium: Medium, rows: &[MediumRow], from: i64) -> MediumMeter {
    let mut meter = MediumMeter::new(medium.limits());
    for row in rows.iter().filter(|r| r.capture >= from) {
        meter.on_sent();
        match row.receive {
            Some(receive) => meter.on_delivered(Some(receive - row.capture), row.packet_start),
            None => meter.on_lost(1),
        }
    }
    meter
}

fn merge_factors(joined: &Joined, sender: &Half, span: Span, from: i64) -> MergeReport {
    let first = joined.haptic.partition_point(|s| s.capture < from);
    let ticks: Vec<u64> = joined.haptic[first..].iter().map(|s| s.index).collect();
    let mut at_k: BTreeMap<u8, u64> = BTreeMap::new();
    let mut changes = 0;
    let mut next = 0;
    let mut k = None;
    for &tick in &ticks {
        while let Some(&(index, new, _)) = joined.merge_factors.get(next)
            && index <= tick
        {
            if Some(index) > ticks.first().copied() && k.is_some_and(|k| k != new) {
                changes += 1;
            }
            k = Some(new);
            next += 1;
        }
        if let Some(k) = k {
            *at_k.entry(k).or_default() += 1;
        }
    }
    let total = ticks.len().max(1) as f64;
    let [_, _, _, i_c, i_s] = counted(sender, span, from);
    MergeReport {
        share_percent: at_k.into_iter().map(|(k, n)| (k, 100.0 * n as f64 / total)).collect(),
        changes,
        i_c,
        i_s,
    }
}

fn wire(joined: &Joined, sender: &Half, span: Span, from: i64) -> WireReport {
    let (mut packets, mut lost) = (0u64, 0u64);
    for p in joined.packets.iter().filter(|p| p.send >= from) {
        packets += 1;
        lost += u64::from(p.receive.is_none());
    }
    // The trace of packets holds no sizes; the counters give their mean.
    let [_, counted_packets, counted_bytes, ..] = counted(sender, span, from);
    let mean = if counted_packets == 0 { 0.0 } else { counted_bytes as f64 / counted_packets as f64 };
    let bytes = (mean * packets as f64).round();
    let seconds = (span.end - from).max(1) as f64 / 1e9;
    WireReport { packets, bytes: bytes as u64, kbps: bytes * 8.0 / 1e3 / seconds, lost: Some(lost) }
}

/// Growth of the sender's counters between `from` and the end.
fn counted(sender: &Half, span: Span, from: i64) -> [u64; 5] {
    let rows = &sender.counters;
    let last_before = |at: i64| rows[..rows.partition_point(|c| c[0] <= at)].last().copied().unwrap_or([0; 5]);
    let (a, b) = (last_before(from), last_before(span.end));
    std::array::from_fn(|i| u64::try_from(b[i].saturating_sub(a[i])).unwrap_or(0))
}
