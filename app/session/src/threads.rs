//! All threads of a station, started in this file and nowhere else.
//!
//! | name | priority | waits for | ends |
//! |---|---|---|---|
//! | servo | SCHED_FIFO where permitted | the next millisecond | at `stop`, within 1 ms; force zero |
//! | net | SCHED_FIFO below the servo's, where permitted | socket, waker, timeout | at `stop`, woken |
//! | video-encode (TOP) | ordinary | the next picture | at `stop`, within 100 ms |
//! | video-decode (OP) | ordinary | frames, their time | at `stop`, within 500 ms |
//! | audio | ordinary | 4 ms | at `stop` |
//! | recorder (with a trace) | ordinary | 20 ms | when servo and net have ended and all is written |
//! | control | ordinary | its clients | at `stop`, within 50 ms |
//! | watcher | ordinary | commands, 33 ms | at `stop` |
//!
//! Sound cards have threads of their own, as has a HID device (`hid-in`, `hid-out`). `stop` is a flag that the owner of the
//! station sets; a thread that breaks down ends the station.

use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};

use haptic::Ticker;
use media::Duration;
use udp::Clock;

use crate::camera::CameraThread;
use crate::control::{Service, SocketFile};
use crate::error::SessionError;
use crate::netthread::NetThread;
use crate::recorder::Recorder;
use crate::screen::ScreenThread;
use crate::servo::Servo;
use crate::shared::{NetSlot, ServoSlot, Shared};
use crate::sound::{MicThread, SpeakerThread};
use crate::suspend::suspended;
use crate::trace::TraceWriter;
use crate::watcher::Watcher;

/// Beat of the servo.
const PERIOD: Duration = Duration::from_millis(1);

/// What runs on the picture thread.
pub(crate) enum PictureThread {
    Camera(Box<CameraThread>),
    Screen(Box<ScreenThread>),
}

/// What runs on the sound thread.
pub(crate) enum SoundThread {
    Mic(Box<MicThread>),
    Speaker(Box<SpeakerThread>),
}

/// Everything that is to run.
pub(crate) struct Threads {
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub waker: Arc<udp::Waker>,
    pub priority: Arc<OnceLock<String>>,
    pub servo: Servo,
    pub net: NetThread,
    pub picture: PictureThread,
    pub sound: SoundThread,
    pub recorder: Option<Recorder>,
    pub control: Option<(Service, SocketFile)>,
    pub watcher: Watcher,
}

/// The threads of a running station.
pub(crate) struct Running {
    plain: Vec<(&'static str, JoinHandle<()>)>,
    recorder: Option<JoinHandle<Option<TraceWriter>>>,
    watcher: JoinHandle<(NetSlot, ServoSlot)>,
}

impl Running {
    /// Waits for all; the station has been told to stop.
    pub fn join(self) -> Result<(NetSlot, ServoSlot, Option<TraceWriter>), SessionError> {
        let mut broken = None;
        for (name, handle) in self.plain {
            if handle.join().is_err() {
                broken.get_or_insert(name);
            }
        }
        let trace = match self.recorder.map(JoinHandle::join) {
            None => None,
            Some(Ok(writer)) => writer,
            Some(Err(_)) => return Err(broke_down("recorder")),
        };
        let (net, servo) = self.watcher.join().map_err(|_| broke_down("watcher"))?;
        match broken {
            Some(name) => Err(broke_down(name)),
            None => Ok((net, servo, trace)),
        }
    }
}

fn broke_down(name: &'static str) -> SessionError {
    SessionError::Thread { name, why: "broke down: please report this with the lines above".into() }
}

/// Starts all threads. On an error those already started end as soon as `stop` is set.
pub(crate) fn spawn_all(threads: Threads) -> Result<Running, SessionError> {
    let Threads { shared, clock, waker, priority, servo, net, picture, sound, recorder, control, watcher } = threads;
    let mut plain = Vec::new();
    let mut start =
        |name, body: Box<dyn FnOnce() + Send>| spawn(name, &shared, body).map(|handle| plain.push((name, handle)));
    start("net", Box::new(move || net.run()))?;
    start("servo", Box::new(move || run_servo(servo, clock, &waker, &priority)))?;
    match picture {
        PictureThread::Camera(camera) => start("video-encode", Box::new(move || camera.run()))?,
        PictureThread::Screen(screen) => start("video-decode", Box::new(move || screen.run()))?,
    }
    match sound {
        SoundThread::Mic(mic) => start("audio", Box::new(move || mic.run()))?,
        SoundThread::Speaker(speaker) => start("audio", Box::new(move || speaker.run()))?,
    }
    if let Some((service, file)) = control {
        let body = move || {
            if let Err(e) = service.run(&file) {
                tracing::warn!("the control service does not run: {e}");
            }
        };
        start("control", Box::new(body))?;
    }
    let recorder = match recorder {
        Some(recorder) => {
            let flags = shared.clone();
            Some(spawn("recorder", &shared, move || recorder.run(&flags))?)
        }
        None => None,
    };
    let watcher = spawn("watcher", &shared, move || watcher.run())?;
    Ok(Running { plain, recorder, watcher })
}

fn run_servo(mut servo: Servo, clock: Clock, waker: &udp::Waker, priority: &OnceLock<String>) {
    let mut ticker = Ticker::start(PERIOD, || clock.now(), clock.epoch_ns());
    // Set once: the thread starts once.
    let _ = priority.set(ticker.realtime().to_owned());
    while !servo.shared.stopping() {
        let tick = ticker.wait();
        servo.step(tick.now, suspended(), tick.number - 1, ticker.lateness());
        if let Some(arrival) = servo.device.arrival() {
            ticker.follow(tick.now, arrival);
        }
        waker.wake();
    }
    servo.finish(clock.now());
}

fn spawn<T: Send + 'static>(
    name: &'static str,
    shared: &Arc<Shared>,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, SessionError> {
    let guard = Guard { name, shared: shared.clone() };
    Builder::new()
        .name(name.into())
        .spawn(move || {
            let _guard = guard;
            body()
        })
        .map_err(|e| SessionError::Thread { name, why: format!("cannot be started: {e}; close other programs") })
}

/// Ends the station if its thread panics.
struct Guard {
    name: &'static str,
    shared: Arc<Shared>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.end(Some(broke_down(self.name)));
        }
    }
}
