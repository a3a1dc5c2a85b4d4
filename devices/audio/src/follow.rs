//! A microphone and a speaker that outlive their devices. One that vanishes or stalls leaves silence, is told as a fault
//! and tried again once a second by name; where no name was given, the system's default is followed to wherever it moves.
//! Sound fades out and in. Nothing here runs on a device's own thread.

use media::{Duration, Instant};

use crate::capture::Cutter;
use crate::fade::Fade;
use crate::names::words;
use crate::pace::Pace;
use crate::playback::Feeder;
use crate::system::{Stream, System};
use crate::{AudioError, DeviceKind, FRAME, FRAME_TIME, PlaybackStats, RATE, Sink, Source};

/// Time between attempts to open, and between looks at the default.
const EVERY: Duration = Duration::from_secs(1);
/// Time to the first attempt after a loss: long enough that the fault is seen by those who tell it.
const AGAIN: Duration = Duration::from_millis(100);
/// A device that moves no sound for this long has stalled.
const STALL: Duration = Duration::from_secs(2);

/// Longer than a speaker's queue.
const LEAVE: Duration = Duration::from_millis(500);

/// What is to be done about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// Nothing.
    Keep,
    /// The stream is over: drop it.
    Lose,
    /// There is none, or the default has moved: open.
    Open,
}

/// Watches over one device.
struct Watch {
    kind: DeviceKind,
    wanted: Option<String>,
    system: Box<dyn System>,
    /// When to try or to look next.
    next: Instant,
    /// What the default was when it was opened.
    default: Option<String>,
    fault: Option<String>,
    /// How far the device had come, and when it was seen to move.
    progress: (u64, Option<Instant>),
}

impl Watch {
    fn new(kind: DeviceKind, wanted: Option<&str>, system: Box<dyn System>) -> Self {
        let (next, progress) = (Instant::ZERO, (0, None));
        Watch { kind, wanted: wanted.map(str::to_owned), system, next, default: None, fault: None, progress }
    }

    /// What to do about the stream that runs, if one does; `progress` changes as sound moves.
    fn look(&mut self, now: Instant, stream: Option<(&Stream, u64)>) -> Deed {
        let due = now >= self.next;
        let Some((stream, progress)) = stream else {
            if due {
                self.next = now + EVERY;
            }
            return if due { Deed::Open } else { Deed::Keep };
        };
        if self.progress.1.is_none() || self.progress.0 != progress {
            self.progress = (progress, Some(now));
        }
        let stalled = self.progress.1.is_some_and(|at| now.saturating_since(at) > STALL);
        let why = stream.health.fault().or_else(|| stalled.then(|| "no sound has moved for 2 s".to_owned()));
        if let Some(why) = why {
            let meanwhile = match self.kind {
                DeviceKind::Microphone => "the operator hears silence until it is back",
                DeviceKind::Speaker => "nothing is played until it is back",
            };
            self.fault = Some(format!("{}: {}; {meanwhile}", stream.name, why.trim_end_matches('.')));
            self.next = now + AGAIN;
            return Deed::Lose;
        }
        if self.wanted.is_some() || !due {
            return Deed::Keep;
        }
        self.next = now + EVERY;
        let moved = self.system.default_now(self.kind).is_some_and(|d| self.default.as_ref() != Some(&d));
        if moved { Deed::Open } else { Deed::Keep }
    }

    /// Opens by `open`; the fault, if there is one, stays as first told until this succeeds.
    fn open<T>(
        &mut self,
        open: impl FnOnce(&mut dyn System, Option<&str>) -> Result<T, AudioError>,
    ) -> Result<T, AudioError> {
        let default = if self.wanted.is_none() { self.system.default_now(self.kind) } else { None };
        let opened = open(self.system.as_mut(), self.wanted.as_deref())?;
        self.default = default;
        self.fault = None;
        self.progress = (0, None);
        Ok(opened)
    }

    /// For people, while nothing runs.
    fn gone(&self) -> String {
        format!("{} {}, gone", words(self.kind).0, self.wanted.as_deref().unwrap_or("default"))
    }
}

/// A microphone: frames at the station's pace, whatever becomes of the device.
pub(crate) struct Microphone {
    watch: Watch,
    live: Option<(Stream, Cutter)>,
    /// Silence while there is no device.
    silence: Pace,
    fade: Fade,
    last: Option<Instant>,
    /// Drops of the streams that are over.
    dropped: u64,
    /// Drops of the present one that have been faded over.
    faded: u64,
}

impl Microphone {
    /// Opens the one of this name, or the default one.
    pub fn open(system: Box<dyn System>, wanted: Option<&str>, now: Instant) -> Result<Self, AudioError> {
        let mut microphone = Microphone {
            watch: Watch::new(DeviceKind::Microphone, wanted, system),
            live: None,
            silence: Pace::new(now),
            fade: Fade::new(RATE),
            last: None,
            dropped: 0,
            faded: 0,
        };
        microphone.reopen()?;
        Ok(microphone)
    }

    fn reopen(&mut self) -> Result<(), AudioError> {
        let (stream, ring) = self.watch.open(|system, wanted| system.capture(wanted))?;
        let cutter = Cutter::new(ring, stream.rate);
        self.close();
        self.live = Some((stream, cutter));
        Ok(())
    }

    fn close(&mut self) {
        if self.live.is_some() {
            self.dropped += self.dropped_now();
            self.live = None;
        }
        self.faded = 0;
        self.fade.restart();
    }

    fn look(&mut self, now: Instant) {
        let live = self.live.as_ref();
        match self.watch.look(now, live.map(|(stream, cutter)| (stream, cutter.received()))) {
            Deed::Keep => {}
            Deed::Lose => {
                self.close();
                self.dropped += self.silence.dropped();
                self.silence = Pace::new(self.last.map_or(now, |last| last + FRAME_TIME));
            }
            Deed::Open => {
                // Why it fails again is no news.
                let _ = self.reopen().inspect_err(|e| tracing::debug!("{e}"));
            }
        }
    }

    fn dropped_now(&self) -> u64 {
        self.live.as_ref().map_or(0, |(stream, cutter)| {
            cutter.dropped() + stream.health.lost() * u64::from(RATE) / u64::from(stream.rate.max(1))
        })
    }
}

impl Source for Microphone {
    fn describe(&self) -> String {
        self.live.as_ref().map_or_else(|| self.watch.gone(), |(stream, _)| stream.describe())
    }

    fn poll(&mut self, now: Instant, frame: &mut [f32; FRAME]) -> Option<Instant> {
        self.look(now);
        let Some((_, cutter)) = &mut self.live else {
            let (_, at) = self.silence.poll(now)?;
            frame.iter_mut().for_each(|s| *s = self.fade.next(None));
            self.last = Some(at);
            return Some(at);
        };
        let at = cutter.poll(now, frame)?;
        if cutter.dropped() != self.faded {
            self.faded = cutter.dropped();
            self.fade.restart();
        }
        frame.iter_mut().for_each(|s| *s = self.fade.next(Some(*s)));
        self.last = Some(at);
        Some(at)
    }

    fn dropped(&self) -> u64 {
        self.dropped + self.dropped_now() + self.silence.dropped()
    }

    fn fault(&self) -> Option<&str> {
        self.watch.fault.as_deref()
    }
}

/// A speaker: takes sound at the station's pace, whatever becomes of the device.
pub(crate) struct Speaker {
    watch: Watch,
    live: Option<(Stream, Feeder)>,
    /// The device that was the default before: what it has queued fades out until then.
    leaving: Option<(Stream, Feeder, Instant)>,
    /// Counters of the streams that are over.
    past: PlaybackStats,
}

impl Speaker {
    /// Opens the one of this name, or the default one.
    pub fn open(system: Box<dyn System>, wanted: Option<&str>) -> Result<Self, AudioError> {
        let watch = Watch::new(DeviceKind::Speaker, wanted, system);
        let mut speaker = Speaker { watch, live: None, leaving: None, past: PlaybackStats::default() };
        speaker.reopen(Instant::ZERO)?;
        Ok(speaker)
    }

    fn reopen(&mut self, now: Instant) -> Result<(), AudioError> {
        let live = self.watch.open(|system, wanted| system.playback(wanted))?;
        self.past = self.stats();
        let old = self.live.replace(live);
        self.leaving = old.map(|(stream, feeder)| (stream, feeder, now + LEAVE));
        Ok(())
    }

    fn close(&mut self) {
        self.past = self.stats();
        self.live = None;
    }
}

impl Sink for Speaker {
    fn describe(&self) -> String {
        self.live.as_ref().map_or_else(|| self.watch.gone(), |(stream, _)| stream.describe())
    }

    fn push(&mut self, now: Instant, samples: &[f32]) {
        self.tick(now);
        if let Some((_, feeder)) = &mut self.live {
            feeder.push(samples);
        }
    }

    fn tick(&mut self, now: Instant) {
        self.leaving.take_if(|(_, _, until)| now >= *until);
        let live = self.live.as_ref();
        match self.watch.look(now, live.map(|(stream, feeder)| (stream, feeder.pulls()))) {
            Deed::Keep => {}
            Deed::Lose => self.close(),
            Deed::Open => {
                // Why it fails again is no news.
                let _ = self.reopen(now).inspect_err(|e| tracing::debug!("{e}"));
            }
        }
    }

    fn queued(&self) -> Duration {
        self.live.as_ref().map_or(Duration::ZERO, |(_, feeder)| feeder.queued())
    }

    fn stats(&self) -> PlaybackStats {
        let now = self.live.as_ref().map(|(_, feeder)| feeder.stats()).unwrap_or_default();
        PlaybackStats {
            underruns: self.past.underruns + now.underruns,
            dropped: self.past.dropped + now.dropped,
            stretch_ppm: now.stretch_ppm,
        }
    }

    fn fault(&self) -> Option<&str> {
        self.watch.fault.as_deref()
    }
}

#[cfg(test)]
#[path = "follow/tests.rs"]
mod tests;
