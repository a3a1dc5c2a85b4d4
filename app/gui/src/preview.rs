//! A made-up station: lets the windows be tried and tested without devices, network or peer.

use std::sync::{Arc, Mutex, PoisonError};

use session::report::{DelaySummary, JitterSummary, Limits, MediumReport, Verdict};
use session::{
    AvSnapshot, Carries, ChannelSnapshot, Command, DropSnapshot, HapticSnapshot, HealthSnapshot, HistoryPoint,
    LinkState, Scheme, Snapshot, SoundLevel, StageSnapshot, StageState, ViewPicture,
};

use crate::StationHandle;

/// A station that shows plausible values, obeys stop and scheme commands, and remembers every command.
#[derive(Debug)]
pub struct PreviewStation {
    state: Mutex<(Snapshot, Vec<Command>)>,
    picture: ViewPicture,
}

impl PreviewStation {
    /// An operator's (or teleoperator's) station in mid-session that shows `picture`.
    pub fn new(is_operator: bool, picture: ViewPicture) -> Self {
        PreviewStation { state: Mutex::new((snapshot(is_operator), Vec::new())), picture }
    }

    /// Changes what the station shows.
    pub fn change(&self, change: impl FnOnce(&mut Snapshot)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).0);
    }

    /// All commands so far, oldest first.
    pub fn commands(&self) -> Vec<Command> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

impl StationHandle for PreviewStation {
    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(self.state.lock().unwrap_or_else(PoisonError::into_inner).0.clone())
    }

    fn picture(&self, picture: &mut ViewPicture) -> bool {
        let newer = picture.number != self.picture.number;
        if newer {
            picture.clone_from(&self.picture);
        }
        newer
    }

    fn command(&self, command: Command) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (snapshot, commands) = &mut *state;
        match &command {
            Command::Scheme(scheme) => snapshot.scheme = Some(*scheme),
            Command::EmergencyStop => {
                snapshot.haptic.stopped_here = true;
                snapshot.haptic.engagement = 0.0;
                snapshot.haptic.force = [0.0; 3];
            }
            Command::ReleaseStop => {
                snapshot.haptic.stopped_here = false;
                snapshot.haptic.engagement = 1.0;
            }
            Command::Engage => snapshot.haptic.waits_for_user = false,
            Command::Calibrate => snapshot.haptic.calibration = None,
            Command::DeadMan(_) => {}
            Command::Stop => snapshot.ended = Some("stopped at the window".into()),
        }
        commands.push(command);
    }
}

/// A plausible snapshot of a DPM session through a congested link.
pub fn snapshot(is_operator: bool) -> Snapshot {
    let uptime_s = 84.3;
    Snapshot {
        is_operator,
        uptime_s,
        link: LinkState::Connected,
        peer: "192.0.2.17:47000".into(),
        ticket: (!is_operator).then(|| "192.0.2.17:47000/3f9a41c06d2be8577a10c4f2b95d8e63".into()),
        scheme: Some(Scheme::Dpm),
        coupling: "position-force".into(),
        backward: ChannelSnapshot {
            k: Some(2),
            delay_ms: Some(22.4),
            jitter_ms: Some(0.34),
            loss_percent: Some(0.0),
            kbps: 812.0,
            haptic: Some(medium([30.0, 10.0, 10.0], 84_300, [19.1, 18.6, 24.9, 27.3], 0.41, Verdict::Pass)),
            audio: Some(medium([150.0, 30.0, 1.0], 4_215, [38.2, 37.8, 46.0, 49.1], 3.02, Verdict::Pass)),
            video: Some(medium([400.0, 30.0, 1.0], 2_107, [61.5, 58.0, 171.4, 203.9], 11.8, Verdict::Unknown)),
            carries: Some(Carries { free_kbps: 828.3, worst_delay_ms: 38.1, feasible: false }),
            history: history(uptime_s, 0.0, 18.0),
        },
        forward: ChannelSnapshot {
            k: Some(1),
            delay_ms: Some(16.9),
            jitter_ms: Some(0.08),
            loss_percent: Some(0.0),
            kbps: 688.0,
            haptic: Some(medium([30.0, 10.0, 10.0], 84_300, [17.0, 16.8, 19.2, 22.6], 0.09, Verdict::Pass)),
            audio: None,
            video: None,
            carries: Some(Carries { free_kbps: 688.0, worst_delay_ms: 18.2, feasible: true }),
            history: history(uptime_s, 1.7, 16.2),
        },
        rtt_ms: Some(39.3),
        clock_bound_ms: Some(0.62),
        clock_skew_ppm: Some(-11.8),
        haptic: HapticSnapshot {
            device: if is_operator { "simulated master" } else { "simulated slave" }.into(),
            position: [0.0042, -0.0113, -0.0151],
            force: [0.31, 0.74, 2.18],
            max_force: 8.0,
            desired: (!is_operator).then_some([0.0048, -0.0109, -0.0184]),
            contact: (!is_operator).then_some([0.28, 0.71, 2.05]),
            engagement: 1.0,
            sample_age_ms: Some(1.4),
            shows_force: true,
            workspace_radius: 0.08,
            velocity: [0.012, -0.034, 0.051],
            health: HealthSnapshot {
                reports: 84_296,
                missing: 4,
                garbage: 0,
                losses: 0,
                queue_age_us: 0,
                max_queue_age_us: 2_013,
                age_p50_us: 152,
                rate_hz: 1_000,
                forces: 84_300,
                written: 84_211,
            },
            dead_man: "none".into(),
            safety: stages(),
            force_off: String::new(),
            stopped_here: false,
            stopped_there: false,
            ticks: 84_300,
            missed: 3,
            late_us: [0.4, 1.3, 214.0],
            priority: "real-time priority".into(),
            ..HapticSnapshot::default()
        },
        audio: AvSnapshot {
            device: if is_operator { "Built-in Audio" } else { "voice.wav" }.into(),
            frames: 4_212,
            skipped: 0,
            backlog_bytes: 96,
            fault: String::new(),
            level: Some(SoundLevel { rms_dbfs: -21.4, peak_dbfs: -9.6, clipped: false }),
        },
        video: AvSnapshot {
            device: if is_operator { "H.264 320x240" } else { "scene 320x240, 25 pictures/s" }.into(),
            frames: 2_104,
            skipped: 3,
            backlog_bytes: 1_480,
            fault: String::new(),
            level: None,
        },
        dropped: DropSnapshot { foreign: 2, garbage: 0, duplicate: 1, kernel: 0 },
        log: [
            "0.0 s  station started, scheme dpm",
            "0.4 s  peer connected from 192.0.2.17:47000",
            "0.9 s  force engaged",
            "41.2 s  backward channel congested: k set to 4",
            "42.0 s  backward channel steady: k back at 1",
        ]
        .map(String::from)
        .into(),
        ended: None,
    }
}

/// The chain of a session in contact over a long round trip.
fn stages() -> Vec<StageSnapshot> {
    use StageState::{Idle, Limiting, Unused};
    [
        ("sanity", Idle, "0.00 refused", 0),
        ("gain schedule", Limiting, "0.62 of 1", 1),
        ("passivity", Idle, "0.00 N s/m", 3),
        ("velocity trip", Idle, "0.06 m/s", 0),
        ("buzz detector", Idle, "0.00 of 1", 0),
        ("force clamp", Idle, "3.30 N", 2),
        ("heat budget", Idle, "3.30 N", 0),
        ("slew and kick", Idle, "0.30 N/ms", 5),
        ("engagement ramp", Idle, "1.00 of 1", 1),
        ("watchdogs", Idle, "1.00 of 1", 0),
        ("dead-man", Unused, "1.00 of 1", 0),
        ("emergency stop", Idle, "0.00", 0),
    ]
    .map(|(name, state, value, events)| StageSnapshot { name: name.into(), state, value: value.into(), events })
    .into()
}

fn medium(limits: [f64; 3], sent: u64, delay: [f64; 4], jitter: f64, verdict: Verdict) -> MediumReport {
    let [mean, p50, p99, max] = delay;
    MediumReport {
        sent,
        delivered: sent,
        lost: 0,
        late: 0,
        loss_percent: 0.0,
        over_limit_percent: 0.0,
        delay_ms: Some(DelaySummary { mean, p50, p99, max }),
        jitter_ms: Some(JitterSummary { packet: jitter * 1.6, sample: jitter }),
        limits: Limits { delay_ms: limits[0], jitter_ms: limits[1], loss_percent: limits[2] },
        compliant: true,
        verdict,
    }
}

/// 30 s of DPM's saw-tooth: k jumps to 4 when the queue has grown, then falls step by step.
fn history(until_s: f64, shift_s: f64, base_ms: f64) -> Vec<HistoryPoint> {
    (0..600)
        .map(|i| {
            let at_s = until_s - (600 - i) as f64 / 20.0;
            let phase = ((at_s + shift_s) / 5.0).fract();
            let k = 4 - (phase * 4.0) as u8;
            let queue = if k == 1 { (phase - 0.75) * 40.0 } else { (0.25 - phase).max(0.0) * 24.0 };
            let ripple = 0.6 * (at_s * 9.0).sin();
            HistoryPoint { at_s, k, delay_ms: (base_ms + queue + f64::from(k - 1) * 0.7 + ripple) as f32 }
        })
        .collect()
}
