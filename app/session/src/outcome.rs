//! What a station knows when it ends: its own report, from its endpoint's statistics and the peer's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use media::{Instant, Medium, Role};
use proto::meter::MediumMeter;
use proto::report::{ChannelReport, Channels, Clock, MediumReport, MergeReport, Report, SCHEMA, WireReport};
use proto::stats::{ReceiveStats, Stats, TransmitStats};

use crate::config::StationConfig;
use crate::cost;
use crate::shared::{NetSlot, ServoSlot, Shared};
use crate::snapshot::Snapshot;

/// The end of a station.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its report: what it received by its own measure, what it sent by the peer's receiver statistics.
    pub report: Report,
    /// The last snapshot.
    pub snapshot: Arc<Snapshot>,
    /// Where the half trace is, if one was recorded.
    pub trace_dir: Option<PathBuf>,
}

/// The report of a lone station that ran for `seconds` until `end`.
pub(crate) fn report(config: &StationConfig, net: &NetSlot, servo: &ServoSlot, end: Instant, seconds: f64) -> Report {
    let stats = &net.stats;
    // Waiting for the first peer is no part of any rate.
    let connected_s = stats.connected_at.map_or(0.0, |at| end.saturating_since(at).as_secs_f64());
    let sent = transmitted(config.role, &stats.transmit, connected_s);
    let received = received(config.role, &stats.receive, connected_s);
    let channels = match config.role {
        Role::Op => Channels { backward: received, forward: sent },
        Role::Top => Channels { backward: sent, forward: received },
    };
    Report {
        schema: SCHEMA,
        scheme: stats.scheme.to_string(),
        scenario: config.scenario.clone(),
        seed: config.seed,
        seconds,
        clock: if config.common_clock { Clock::Common } else { Clock::Estimated },
        clock_bound_ms: stats.clock.bound_ms,
        channels,
        cross_traffic: None,
        system: Some(cost::system(seconds, servo)),
    }
}

/// Counters by name, for `station.json`.
pub(crate) fn counters(stats: &Stats, shared: &Shared, kernel_drops: u64) -> BTreeMap<String, u64> {
    use std::sync::atomic::Ordering::Relaxed;
    let (t, r, d) = (&stats.transmit, &stats.receive, &shared.dropped);
    [
        ("sent_packets", t.packets),
        ("sent_wire_bytes", t.wire_bytes),
        ("sent_haptic", t.haptic_sent),
        ("sent_audio", t.audio_sent),
        ("sent_video", t.video_sent),
        ("sent_control_packets", t.control_packets),
        ("sent_control_wire_bytes", t.control_wire_bytes),
        ("repeated_samples", t.repeated),
        ("stale_samples", t.stale),
        ("refused_frames", t.refused),
        ("triggers_i_c", t.i_c),
        ("triggers_i_s", t.i_s),
        ("received_packets", r.packets),
        ("received_wire_bytes", r.wire_bytes),
        ("received_foreign", r.foreign),
        ("received_garbage", r.garbage),
        ("received_duplicate", r.duplicate),
        ("received_reordered", r.reordered),
        ("display_skipped", r.display_skipped),
        ("display_late", r.display_late),
        ("kernel_drops", kernel_drops),
        ("queue_drops_haptic", d.haptic.load(Relaxed)),
        ("queue_drops_audio", d.audio.load(Relaxed)),
        ("queue_drops_video", d.video.load(Relaxed)),
        ("queue_drops_log", d.notes.load(Relaxed)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn transmitted(role: Role, t: &TransmitStats, seconds: f64) -> ChannelReport {
    let ticks: u64 = t.k_ticks.iter().sum();
    let share = |n: u64| 100.0 * n as f64 / ticks as f64;
    let k = MergeReport {
        share_percent: (1u8..).zip(t.k_ticks).filter(|(_, n)| *n > 0).map(|(k, n)| (k, share(n))).collect(),
        changes: t.k_changes,
        i_c: t.i_c,
        i_s: t.i_s,
    };
    let sent = [t.haptic_sent, t.audio_sent, t.video_sent];
    channel(role == Role::Top, k, wire(t.packets, t.wire_bytes, seconds), &t.media, sent)
}

fn received(role: Role, r: &ReceiveStats, seconds: f64) -> ChannelReport {
    let wire = wire(r.packets, r.wire_bytes, seconds);
    channel(role == Role::Op, MergeReport::default(), wire, &r.media, [0; 3])
}

fn channel(
    carries_media: bool,
    k: MergeReport,
    wire: WireReport,
    media: &[Option<MediumReport>; 3],
    sent: [u64; 3],
) -> ChannelReport {
    let [haptic, audio, video] = media;
    let frames = |medium, report: &Option<MediumReport>, sent| {
        (carries_media && (report.is_some() || sent > 0)).then(|| medium_report(medium, report, sent))
    };
    ChannelReport {
        k,
        wire,
        haptic: medium_report(Medium::Haptic, haptic, sent[0]),
        audio: frames(Medium::Audio, audio, sent[1]),
        video: frames(Medium::Video, video, sent[2]),
    }
}

/// What was measured, or nothing but what was sent.
fn medium_report(medium: Medium, measured: &Option<MediumReport>, sent: u64) -> MediumReport {
    measured.clone().unwrap_or_else(|| MediumReport { sent, ..MediumMeter::new(medium.limits()).report(None) })
}

fn wire(packets: u64, bytes: u64, seconds: f64) -> WireReport {
    let kbps = if seconds > 0.0 { bytes as f64 * 8.0 / 1e3 / seconds } else { 0.0 };
    WireReport { packets, bytes, kbps, lost: None }
}
