//! Live statistics of an endpoint.

use crate::Address;
use crate::config::Scheme;
use crate::report::MediumReport;

/// What [`crate::Endpoint::stats`] returns: counters since the session began, and estimates of now.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// A peer with the right token is there.
    pub connected: bool,
    /// When the first one came.
    pub connected_at: Option<media::Instant>,
    /// Nothing valid from it for a while.
    pub silent: bool,
    /// Where it is.
    pub peer: Option<Address>,
    /// Scheme in use.
    pub scheme: Scheme,
    /// What the samples are.
    pub coupling: media::Coupling,
    /// The channel that this station sends.
    pub transmit: TransmitStats,
    /// The channel that this station receives.
    pub receive: ReceiveStats,
    /// Delays and clocks.
    pub clock: ClockStats,
}

/// The sending side.
#[derive(Clone, Debug, Default)]
pub struct TransmitStats {
    /// Merge factor now.
    pub k: u8,
    /// Ticks spent at each k; index 0 is k = 1.
    pub k_ticks: [u64; 8],
    /// Changes of k.
    pub k_changes: u64,
    /// Triggers raised.
    pub i_c: u64,
    /// Triggers raised.
    pub i_s: u64,
    /// Data packets sent.
    pub packets: u64,
    /// Their bytes, 54 a packet for headers included.
    pub wire_bytes: u64,
    /// Fragments (haptic samples) sent.
    pub haptic_sent: u64,
    /// Ticks that the servo missed: the last sample was sent again.
    pub repeated: u64,
    /// Samples refused: of a tick already past.
    pub stale: u64,
    /// Frames taken.
    pub audio_sent: u64,
    /// Frames taken.
    pub video_sent: u64,
    /// Frames refused: too large, empty or no room.
    pub refused: u64,
    /// Bytes waiting in the multiplexer.
    pub audio_backlog: usize,
    /// Bytes waiting in the multiplexer.
    pub video_backlog: usize,
    /// Video frames begun or waiting in the multiplexer.
    pub video_frames_waiting: usize,
    /// Control datagrams sent.
    pub control_packets: u64,
    /// Their bytes, 54 a datagram included.
    pub control_wire_bytes: u64,
    /// Haptic one-way delay now (network part of the newest notification plus packetization), ms.
    pub delay_ms: Option<f64>,
    /// Jitter of the last second by the peer's statistics, ms.
    pub jitter_ms: Option<f64>,
    /// As the peer's receiver statistics tell: haptic, audio, video.
    pub media: [Option<MediumReport>; 3],
}

/// The receiving side.
#[derive(Clone, Debug, Default)]
pub struct ReceiveStats {
    /// k of the newest packet, 0 before the first.
    pub k: u8,
    /// Distinct data packets received.
    pub packets: u64,
    /// Their bytes, 54 a packet for headers included.
    pub wire_bytes: u64,
    /// Datagrams from sources that have not shown the token.
    pub foreign: u64,
    /// Datagrams not parseable, or data that contradicts itself.
    pub garbage: u64,
    /// Data packets received again.
    pub duplicate: u64,
    /// Data packets that arrived after a newer one.
    pub reordered: u64,
    /// Haptic samples that the display skipped to shrink its buffer.
    pub display_skipped: u64,
    /// Haptic samples that came too late to be displayed in order.
    pub display_late: u64,
    /// Haptic samples waiting for display.
    pub playout_depth: usize,
    /// Haptic one-way delay now (mean of the last 100 ms), ms.
    pub delay_ms: Option<f64>,
    /// Jitter (sample) of the last second, ms.
    pub jitter_ms: Option<f64>,
    /// Since the session began: haptic, audio, video.
    pub media: [Option<MediumReport>; 3],
}

/// Delays and clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockStats {
    /// Newest round trip of the network (both one-way delays), ms. Exact.
    pub rtt_ms: Option<f64>,
    /// Absolute one-way delays are known to plus or minus this, ms (half the smallest round trip).
    pub bound_ms: Option<f64>,
    /// Estimated drift of the peer's clock against ours, parts per million.
    pub skew_ppm: Option<f64>,
    /// Peer's clock minus ours, ns, modulo the unknowns of `bound_ms`.
    pub offset_ns: Option<i64>,
    /// Steps of a clock or route noticed.
    pub steps: u64,
}
