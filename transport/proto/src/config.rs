//! What an endpoint may be told: every constant of the protocol, with its unit and default.

use media::{Coupling, Duration, Role, SampleKind};
use serde::{Deserialize, Serialize};

pub use crate::rivals::RivalConfig;
pub use crate::scheme::Scheme;

/// Largest number of fragments in one packet that the header can say.
pub const MAX_MERGE: u8 = 8;

/// Configuration of one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Which station this is: decides kinds of samples and which channel carries audio and video.
    pub role: Role,
    /// The secret of the ticket. The TOP hears only peers that show it; the OP shows it.
    pub token: Token,
    /// Largest telehaptic fragment p of the backward channel in bytes, haptic sample included.
    /// Default 70: 12 + 160 bytes / 20 ms + 2000 bytes / 40 ms, frame headers included.
    pub fragment_size: usize,
    /// What the samples of both channels are. The operator's rules; a teleoperator takes it over.
    pub coupling: Coupling,
    /// How fragments become packets, on both channels.
    pub scheme: Scheme,
    /// When the delay triggers fire.
    pub triggers: TriggerConfig,
    /// Constants of the schemes that DPM is compared with.
    pub rivals: RivalConfig,
    /// Control messages on the wire. False only in simulations of the paper, where both ends are
    /// connected from the start.
    pub control: bool,
    /// This process's `CLOCK_MONOTONIC` at `Instant` zero, ns, if both stations run on one machine and
    /// measurements may use that (`--common-clock`). Never used by the triggers.
    pub common_clock_epoch: Option<i64>,
    /// Emit [`crate::TraceEvent`]s. Costs some CPU per fragment.
    pub trace: bool,
    /// A haptic sample or frame not received this long after its tick counts as lost. Default 500 ms.
    pub loss_deadline: Duration,
    /// An incomplete packet sequence holds up audio and video frames behind it no longer than this. Default 60 ms.
    pub reassembly_deadline: Duration,
    /// Most haptic samples that wait for display; more are skipped, oldest first. Default 12.
    pub playout_capacity: usize,
    /// Nothing valid from the peer for this long: say hello again, report silence. Default 250 ms.
    pub silence: Duration,
}

impl Config {
    /// The defaults for `role`, with an all-zero token.
    pub fn new(role: Role) -> Self {
        Config {
            role,
            token: Token([0; 16]),
            fragment_size: 70,
            coupling: Coupling::default(),
            scheme: Scheme::default(),
            triggers: TriggerConfig::default(),
            rivals: RivalConfig::default(),
            control: true,
            common_clock_epoch: None,
            trace: false,
            loss_deadline: Duration::from_millis(500),
            reassembly_deadline: Duration::from_millis(60),
            playout_capacity: 12,
            silence: Duration::from_millis(250),
        }
    }

    /// Kind of the samples that this station sends.
    pub fn sends(&self) -> SampleKind {
        self.coupling.sample(self.role.transmits())
    }

    /// Kind of the samples that this station receives.
    pub fn receives(&self) -> SampleKind {
        self.coupling.sample(self.role.receives())
    }
}

/// The secret part of a ticket, 128 random bits.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Token(pub [u8; 16]);

impl core::fmt::Debug for Token {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Constants of DPM and its triggers: setting A of the reference runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TriggerConfig {
    /// Merge factor that I_C sets. Default 4: beyond, delay grows and overhead hardly falls.
    pub k_max: u8,
    /// Weight of a new notification in the average, 0 to 1. Default 0.05; from 0.2 on single packets of
    /// cross-traffic look like congestion.
    pub ewma_weight: f64,
    /// Strict rises of the average in succession that raise I_C. Default 6.
    pub rises: u32,
    /// Notifications that I_S looks back on. Default 64; windows of 8 to 16 take a full queue for a steady one.
    pub window: usize,
    /// Largest spread of delays in the window that counts as steady, ms. Default 0.4.
    pub tolerance_ms: f64,
    /// How long hold-up ignores I_S, ms. Default 500.
    pub hold_up_ms: u64,
    /// A delay that jumps by more than this between two notifications is a step of a clock or a new
    /// route: average and window start anew. ms, default 25, above 81 it never acts.
    pub step_ms: f64,
    /// After this long without a notification average and window start anew, ms. Default 300.
    pub stale_ms: u64,
}

impl Default for TriggerConfig {
    fn default() -> Self {
        TriggerConfig {
            k_max: 4,
            ewma_weight: 0.05,
            rises: 6,
            window: 64,
            tolerance_ms: 0.4,
            hold_up_ms: 500,
            step_ms: 25.0,
            stale_ms: 300,
        }
    }
}
