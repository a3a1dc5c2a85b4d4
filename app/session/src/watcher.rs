//! The watcher thread: some 30 times a second it makes a [`Snapshot`] of what the other threads have published, turns
//! their notes into lines of the log, and passes commands on. It may allocate and log; they may not.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haptic::{Calibration, ForceOff, Stage, StageStatus};
use media::{Channel, Coupling, Instant, Role};
use proto::TriggerConfig;
use proto::stats::Stats;
use rtrb::{Consumer, Producer};
use triple_buffer::Output;
use udp::Clock;

use crate::carries::carries;
use crate::error::SessionError;
use crate::history::{ChannelMemory, Now};
use crate::shared::{AvSlot, NetSlot, Note, ServoSlot, Shared};
use crate::snapshot::{
    AvSnapshot, CalibrationSnapshot, ChannelSnapshot, Command, DropSnapshot, HapticSnapshot, HealthSnapshot, LinkState,
    Snapshot, SoundLevel, StageSnapshot, StageState,
};
use crate::station::SnapshotCell;

/// A haptic device that reports more rarely renders nothing stiff.
const SLOW_HZ: u32 = 500;
/// One that was just opened has counted too few yet.
const SLOW_FOR: media::Duration = media::Duration::from_secs(3);
/// Time between snapshots.
const EVERY: Duration = Duration::from_millis(33);
/// Time between points of the histories.
const POINT_EVERY: Duration = Duration::from_millis(50);
/// How long one word of the dead-man key counts. Windows repeat it some 30 times a second.
const DEAD_MAN_MS: u64 = 150;
/// Lines of the log kept.
const LINES: usize = 200;

/// What the watcher is told at the start.
pub(crate) struct Facts {
    pub role: Role,
    pub started: Instant,
    pub ticket: Option<String>,
    /// OP: whom it calls, for people.
    pub called: String,
    /// OP: when to give up.
    pub answer_timeout: Option<Duration>,
    pub device: String,
    pub shows_force: bool,
    pub workspace_radius: f32,
    /// The dead-man in use, in a word.
    pub dead_man: &'static str,
    /// What this station would use, as it was told.
    pub coupling: Coupling,
    pub max_force: f32,
    pub triggers: TriggerConfig,
    pub fragment_bytes: u32,
    /// Said by the servo thread once it runs.
    pub priority: Arc<OnceLock<String>>,
}

/// The watcher and all that it reads.
pub(crate) struct Watcher {
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub facts: Facts,
    pub servo: Output<ServoSlot>,
    pub net: Output<NetSlot>,
    pub sound: Output<AvSlot>,
    pub picture: Output<AvSlot>,
    pub notes: Vec<Consumer<Note>>,
    pub commands: Receiver<Command>,
    pub to_net: Producer<proto::Command>,
    pub wake: Box<dyn Fn() + Send>,
    pub cell: SnapshotCell,
    pub memory: Memory,
}

/// What the watcher remembers from snapshot to snapshot.
#[derive(Default)]
pub(crate) struct Memory {
    log: VecDeque<String>,
    transmit: ChannelMemory,
    receive: ChannelMemory,
    point_at: Option<Instant>,
    left: bool,
    /// Why the haptic device cannot be used; empty if it can.
    device_fault: String,
    /// Since when the haptic device reports too rarely; told once.
    slow: Option<(Instant, bool)>,
    sound_fault: String,
    sound_device: String,
    picture_fault: String,
}

impl Watcher {
    /// Runs until the station stops; gives back the last that servo and network thread said.
    pub fn run(mut self) -> (NetSlot, ServoSlot) {
        while !self.shared.stopping() {
            match self.commands.recv_timeout(EVERY) {
                Ok(command) => self.on_command(command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(EVERY),
            }
            while let Ok(command) = self.commands.try_recv() {
                self.on_command(command);
            }
            self.look();
        }
        self.look();
        (self.net.read().clone(), *self.servo.read())
    }

    fn look(&mut self) {
        let now = self.clock.now();
        for i in 0..self.notes.len() {
            while let Ok(note) = self.notes[i].pop() {
                self.on_note(now, note);
            }
        }
        self.note_faults(now);
        self.note_rate(now);
        self.check_answer(now);
        let snapshot = self.snapshot(now);
        self.cell.set(snapshot);
    }

    fn on_command(&mut self, command: Command) {
        let now = self.clock.now();
        match command {
            Command::Scheme(scheme) => {
                self.line(now, format!("scheme {scheme} chosen here"));
                if self.to_net.push(proto::Command::Scheme(scheme)).is_err() {
                    self.line(now, "too many commands at once: this one was dropped".into());
                }
            }
            Command::EmergencyStop => {
                if !self.shared.stopped_here.swap(true, Ordering::AcqRel) {
                    self.line(now, "emergency stop pressed here: force off at both stations".into());
                }
            }
            Command::ReleaseStop => {
                if self.shared.stopped_here.swap(false, Ordering::AcqRel) {
                    self.line(now, "emergency stop released here".into());
                }
            }
            Command::Engage => {
                self.shared.engagements.fetch_add(1, Ordering::AcqRel);
                self.line(now, "engaged here: force may come on".into());
            }
            Command::Calibrate => {
                self.shared.calibrations.fetch_add(1, Ordering::AcqRel);
                self.line(now, "calibration asked for".into());
            }
            // Many times a second: no line.
            Command::DeadMan(held) => {
                let until = if held { now.as_nanos() / 1_000_000 + DEAD_MAN_MS } else { 0 };
                self.shared.dead_man_until_ms.store(until, Ordering::Release);
            }
            Command::Stop => {
                self.line(now, "told to end".into());
                self.shared.end(None);
            }
        }
        (self.wake)();
    }

    fn on_note(&mut self, now: Instant, note: Note) {
        let peer = match self.facts.role {
            Role::Op => "teleoperator",
            Role::Top => "operator",
        };
        let text = match note {
            Note::Connected(address, coupling) => {
                self.memory.left = false;
                let wished = self.facts.coupling;
                let other = match self.facts.role {
                    Role::Op if coupling != wished => format!(", which does not know {wished}"),
                    _ => String::new(),
                };
                format!("{peer} connected from {}, coupling {coupling}{other}", udp::from_address(address))
            }
            Note::Moved(address) => format!("{peer} moved to {}", udp::from_address(address)),
            Note::Silent => format!("{peer} has fallen silent: waiting for it"),
            Note::Resumed => format!("{peer} is heard again"),
            Note::Goodbye => {
                self.memory.left = true;
                format!("{peer} said goodbye")
            }
            Note::StoppedThere(true) => format!("{peer} pressed its emergency stop, or its device failed: force off"),
            Note::StoppedThere(false) => format!("{peer} released its emergency stop"),
            Note::Scheme(scheme) => format!("{peer} chose scheme {scheme}"),
            Note::Device(Some(error)) => {
                self.memory.device_fault = error.to_string();
                format!("{error}; force off at both stations until it is back")
            }
            Note::Device(None) => {
                self.memory.device_fault.clear();
                "the haptic device is back".into()
            }
            Note::Force(Some(reason)) => format!("force off: {reason}"),
            Note::Force(None) => "force on: coming up from zero".into(),
            Note::Stage(stage, state, value) => stage_line(stage, state, value),
            Note::Calibration(Calibration::Ready) => "the haptic device is calibrated".into(),
            Note::Calibration(Calibration::Needed { guide, .. }) => {
                format!("the haptic device wants to be calibrated: {}", guide.text())
            }
            Note::Jump(ms) => format!("this machine stood still for {ms} ms: force starts again from zero"),
            Note::Text(text) => text,
        };
        self.line(now, text);
    }

    /// A camera, microphone or speaker that fails or comes back is worth a line.
    fn note_faults(&mut self, now: Instant) {
        let top = self.facts.role == Role::Top;
        let sound = std::mem::take(&mut self.memory.sound_fault);
        let picture = std::mem::take(&mut self.memory.picture_fault);
        self.memory.sound_fault = self.sound.read().fault.clone();
        self.memory.picture_fault = self.picture.read().fault.clone();
        let now_sound = self.memory.sound_fault.clone();
        let now_picture = self.memory.picture_fault.clone();
        let sound_name = if top { "microphone" } else { "speaker" };
        let device = &self.sound.read().device;
        if *device != self.memory.sound_device {
            let before = std::mem::replace(&mut self.memory.sound_device, device.clone());
            // The default has moved: what fails or comes back is told below.
            if !before.is_empty() && now_sound.is_empty() && sound.is_empty() {
                let text = format!("{sound_name} is now {}", self.memory.sound_device);
                self.line(now, text);
            }
        }
        for (name, before, fault) in [(sound_name, sound, now_sound), ("camera", picture, now_picture)] {
            if fault != before {
                let text = if fault.is_empty() { "is back".into() } else { format!("fails: {fault}; tried again") };
                self.line(now, format!("{name} {text}"));
            }
        }
    }

    /// A device that goes on reporting too rarely for touch is worth a line.
    fn note_rate(&mut self, now: Instant) {
        let rate_hz = self.servo.read().health.rate_hz;
        let slow = self.facts.shows_force && self.memory.device_fault.is_empty() && (1..SLOW_HZ).contains(&rate_hz);
        match self.memory.slow {
            _ if !slow => self.memory.slow = None,
            None => self.memory.slow = Some((now, false)),
            Some((since, false)) if now.saturating_since(since) >= SLOW_FOR => {
                self.memory.slow = Some((since, true));
                let text = format!(
                    "the haptic device reports only {rate_hz} times a second, 1000 are usual: hard things will feel \
                     soft; try a USB port without a hub"
                );
                self.line(now, text);
            }
            Some(_) => {}
        }
    }

    fn line(&mut self, now: Instant, text: String) {
        tracing::info!("{text}");
        if self.memory.log.len() == LINES {
            self.memory.log.pop_front();
        }
        let at = self.uptime(now);
        self.memory.log.push_back(format!("{at:.1} s {text}"));
    }

    fn uptime(&self, now: Instant) -> f64 {
        now.saturating_since(self.facts.started).as_secs_f64()
    }

    /// An OP whom nobody answers gives up.
    fn check_answer(&mut self, now: Instant) {
        let Some(timeout) = self.facts.answer_timeout else { return };
        if self.shared.connection.load(Ordering::Acquire) == 0
            && now.saturating_since(self.facts.started) > timeout
            && !self.shared.has_ended()
        {
            let peer = self.facts.called.clone();
            self.shared.end(Some(SessionError::NoAnswer { peer, seconds: timeout.as_secs_f64() }));
        }
    }

    fn snapshot(&mut self, now: Instant) -> Snapshot {
        let net = self.net.read().clone();
        let servo = *self.servo.read();
        let stats = &net.stats;
        let uptime_s = self.uptime(now);
        let point = self.memory.point_at.is_none_or(|at| now.saturating_since(at) >= POINT_EVERY);
        if point {
            self.memory.point_at = Some(now);
        }
        let [transmit, receive] = self.channels(stats, net.at, point.then_some(uptime_s));
        let (mut forward, mut backward) = match self.facts.role {
            Role::Op => (transmit, receive),
            Role::Top => (receive, transmit),
        };
        let Facts { triggers, fragment_bytes, .. } = &self.facts;
        for (channel, state) in [(Channel::Forward, &mut forward), (Channel::Backward, &mut backward)] {
            let history = state.history.iter().copied();
            state.carries = carries(channel, history, stats.scheme, triggers, *fragment_bytes);
        }
        Snapshot {
            is_operator: self.facts.role == Role::Op,
            uptime_s,
            link: self.link(stats),
            peer: stats.peer.map(|p| udp::from_address(p).to_string()).unwrap_or_default(),
            ticket: self.facts.ticket.clone(),
            scheme: Some(stats.scheme),
            coupling: stats.coupling.name().into(),
            backward,
            forward,
            rtt_ms: stats.clock.rtt_ms,
            clock_bound_ms: stats.clock.bound_ms,
            clock_skew_ppm: stats.clock.skew_ppm,
            haptic: self.haptic(&servo),
            audio: av(self.sound.read(), stats.transmit.audio_backlog),
            video: av(self.picture.read(), stats.transmit.video_backlog),
            dropped: DropSnapshot {
                foreign: stats.receive.foreign,
                garbage: stats.receive.garbage,
                duplicate: stats.receive.duplicate,
                kernel: net.kernel_drops,
            },
            log: self.memory.log.iter().cloned().collect(),
            ended: self.shared.has_ended().then(|| self.shared.failure_text().unwrap_or_else(|| "told to end".into())),
        }
    }

    fn link(&self, stats: &Stats) -> LinkState {
        match (stats.connected, stats.silent) {
            (true, false) => LinkState::Connected,
            (true, true) => LinkState::Silent,
            (false, _) if self.memory.left => LinkState::Left,
            (false, _) => LinkState::Waiting,
        }
    }

    /// The channel that this station sends and the one that it receives. `point`: the histories get one at this time.
    fn channels(&mut self, stats: &Stats, at: Instant, point: Option<f64>) -> [ChannelSnapshot; 2] {
        let (t, r) = (&stats.transmit, &stats.receive);
        // Before the first packet there is no merge factor to speak of.
        let transmit = self.memory.transmit.channel(Now {
            at,
            k: if t.packets > 0 { t.k } else { 0 },
            delay_ms: t.delay_ms,
            jitter_ms: t.jitter_ms,
            wire_bytes: t.wire_bytes,
            media: &t.media,
            point,
        });
        let receive = self.memory.receive.channel(Now {
            at,
            k: r.k,
            delay_ms: r.delay_ms,
            jitter_ms: r.jitter_ms,
            wire_bytes: r.wire_bytes,
            media: &r.media,
            point,
        });
        [transmit, receive]
    }

    fn haptic(&self, servo: &ServoSlot) -> HapticSnapshot {
        let top = self.facts.role == Role::Top;
        let health = servo.health;
        HapticSnapshot {
            device: self.facts.device.clone(),
            shows_force: self.facts.shows_force,
            fault: self.memory.device_fault.clone(),
            calibration: match servo.calibration {
                Calibration::Ready => None,
                Calibration::Needed { guide, homed } => Some(CalibrationSnapshot { guide: guide.text().into(), homed }),
            },
            health: HealthSnapshot {
                reports: health.reports,
                missing: health.missing,
                garbage: health.garbage,
                losses: health.losses,
                queue_age_us: health.queue_age_us,
                max_queue_age_us: health.max_queue_age_us,
                age_p50_us: health.age_p50_us,
                rate_hz: health.rate_hz,
                forces: health.forces,
                written: health.written,
            },
            workspace_radius: self.facts.workspace_radius,
            buttons: servo.buttons,
            velocity: servo.velocity.0.0,
            waits_for_user: servo.reason == Some(ForceOff::WaitsForUser),
            dead_man: self.facts.dead_man.into(),
            safety: servo.safety.iter().map(|(stage, status)| stage_snapshot(stage, &status)).collect(),
            position: servo.position.0.0,
            force: servo.force.0.0,
            max_force: self.facts.max_force,
            desired: top.then_some(servo.desired.0.0),
            contact: top.then_some(servo.contact.0.0),
            engagement: servo.engagement,
            sample_age_ms: servo.age_ns.map(|ns| ns as f64 / 1e6),
            force_off: servo.reason.map(|r| r.to_string()).unwrap_or_default(),
            stopped_here: self.shared.stopped_here.load(Ordering::Acquire),
            stopped_there: self.shared.stopped_there.load(Ordering::Acquire),
            ticks: servo.ticks,
            missed: servo.missed,
            late_us: servo.late_us,
            priority: self.facts.priority.get().cloned().unwrap_or_default(),
        }
    }
}

/// A stage of safety that began to act, for people.
fn stage_line(stage: Stage, state: haptic::StageState, value: f32) -> String {
    let (name, value) = (stage.name(), stage_value(stage, value));
    match state {
        haptic::StageState::Off => format!("safety: {name} puts force off ({value})"),
        _ => format!("safety: {name} limits force ({value})"),
    }
}

fn stage_value(stage: Stage, value: f32) -> String {
    format!("{value:.2} {}", stage.unit()).trim_end().to_owned()
}

fn stage_snapshot(stage: Stage, status: &StageStatus) -> StageSnapshot {
    StageSnapshot {
        name: stage.name().to_owned(),
        state: match status.state {
            haptic::StageState::Unused => StageState::Unused,
            haptic::StageState::Idle => StageState::Idle,
            haptic::StageState::Limiting => StageState::Limiting,
            haptic::StageState::Off => StageState::Off,
        },
        value: stage_value(stage, status.value),
        events: status.events,
    }
}

fn av(slot: &AvSlot, backlog: usize) -> AvSnapshot {
    AvSnapshot {
        device: slot.device.clone(),
        frames: slot.frames,
        skipped: slot.skipped,
        backlog_bytes: backlog as u64,
        fault: slot.fault.clone(),
        level: slot.level.map(|l| SoundLevel { rms_dbfs: l.rms_dbfs, peak_dbfs: l.peak_dbfs, clipped: l.clipped }),
    }
}
