//! Cameras by number or name: each has a thread of its own, since drivers block. The newest picture wins; a camera that
//! goes is looked for until it is there again.

mod format;
mod name;
#[cfg(test)]
mod tests;
mod v4l;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use media::Instant;

use crate::error::VideoError;
use crate::picture::Picture;
use crate::source::PictureSource;

use format::Wish;
pub use name::CameraName;
use name::{Known, Node};

/// How long a camera may take to open.
const OPEN_WITHIN: Duration = Duration::from_secs(10);
/// Damaged pictures in a row after which a camera counts as lost. One or two are common when a stream begins.
const MOST_DAMAGED: u32 = 25;
/// A camera without a picture for so long is told of: some go on sending nothing.
const SILENT: Duration = Duration::from_secs(3);
/// A camera that has gone is looked for this often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// No driver keeps a picture longer than this; a stamp that says so is of another clock.
const MOST_LATENCY: Duration = Duration::from_secs(1);

/// A camera of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDevice {
    /// The N of `device:N`.
    pub index: usize,
    /// Its name, for `device:NAME`.
    pub name: String,
    /// Where it is plugged in.
    pub detail: String,
    /// Why it cannot be used now, and the remedy.
    pub problem: Option<String>,
}

/// The cameras of this machine, those in use too.
pub fn list() -> Vec<FoundDevice> {
    let mut system = v4l::System;
    let mut found = Vec::new();
    for node in system.nodes() {
        let problem = match system.probe(&node) {
            Ok(()) => None,
            Err(OpenError::NoCamera) => continue,
            Err(OpenError::Failed(why)) => Some(remedy(&why)),
        };
        let detail = if node.bus.is_empty() { node.path() } else { format!("{} at {}", node.path(), node.bus) };
        found.push(FoundDevice { index: node.index, name: node.name, detail, problem });
    }
    found.sort_by_key(|camera| camera.index);
    found
}

/// What cameras are to the rest: the system's, or a test's.
trait Cameras: Send {
    /// What may be a camera.
    fn nodes(&mut self) -> Vec<Node>;
    /// Starts pictures as near to the wish as the camera has them.
    fn open(&mut self, node: &Node, wish: Wish) -> Result<Box<dyn Stream>, OpenError>;
}

/// A camera that gives pictures. It stays on its thread.
trait Stream {
    /// "640x480 MJPEG at 30/s".
    fn describe(&self) -> String;
    /// Waits for the next picture.
    fn frame(&mut self, rgb: &mut Vec<u8>) -> Result<Frame, FrameError>;
}

/// Size of a picture, and how long ago it was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Frame {
    width: usize,
    height: usize,
    age: Duration,
}

#[derive(Debug, PartialEq)]
enum FrameError {
    /// This picture is broken; the next may not be.
    Damaged(String),
    /// There will be none any more.
    Lost(String),
}

#[derive(Debug, PartialEq)]
enum OpenError {
    /// A node of another kind, or with no format that can be read.
    NoCamera,
    /// What the driver said.
    Failed(String),
}

/// What to do about what a driver says.
fn remedy(why: &str) -> String {
    let says = |parts: &[&str]| parts.iter().any(|part| why.to_lowercase().contains(part));
    let todo = if says(&["permission denied", "os error 13", "os error 1)"]) {
        "no permission: sudo usermod -aG video $USER, then log in again"
    } else if says(&["busy", "os error 16"]) {
        "another program uses it: close that"
    } else if says(&["no such device", "os error 19", "no such file", "os error 2)", "os error 6)"]) {
        "it has gone: plug it in again, it is used as soon as it returns"
    } else if says(&[
        "input/output error",
        "os error 5)",
        "protocol error",
        "os error 71",
        "no space left",
        "os error 28",
    ]) {
        "its USB connection fails: try another port, without a hub"
    } else {
        return why.to_owned();
    };
    format!("{todo} ({why})")
}

/// A camera in use.
pub(crate) struct Camera {
    name: CameraName,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    newest: Mutex<Newest>,
    stop: AtomicBool,
}

#[derive(Default)]
struct Newest {
    picture: Picture,
    /// When the picture was taken, while nobody has taken it from here.
    taken_at: Option<std::time::Instant>,
    /// When the last picture came, or the camera was opened.
    alive_at: Option<std::time::Instant>,
    described: String,
    fault: Option<String>,
}

impl Shared {
    fn newest(&self) -> std::sync::MutexGuard<'_, Newest> {
        // A picture that a panic left half done is followed by a whole one.
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

impl Camera {
    /// Opens a camera of this machine.
    ///
    /// # Errors
    /// If it is not there or cannot be opened now.
    pub fn open(name: &CameraName, size: (usize, usize), fps: u32) -> Result<Camera, VideoError> {
        Camera::of(v4l::System, name, Wish { size, fps })
    }

    fn of(cameras: impl Cameras + 'static, name: &CameraName, wish: Wish) -> Result<Camera, VideoError> {
        let wrong = |why: String| VideoError::Camera { name: name.to_string(), why };
        let shared = Arc::new(Shared::default());
        let (opened, answer) = channel();
        let mut life =
            Life { cameras: Box::new(cameras), name: name.clone(), known: None, wish, shared: shared.clone() };
        std::thread::Builder::new()
            .name("camera".into())
            .spawn(move || life.run(opened))
            .map_err(|e| wrong(e.to_string()))?;
        let camera = Camera { name: name.clone(), shared };
        // Dropping the camera ends its thread.
        match answer.recv_timeout(OPEN_WITHIN) {
            Ok(Ok(())) => Ok(camera),
            Ok(Err(why)) => Err(wrong(why)),
            Err(_) => Err(wrong(format!("it did not answer within {} s: plug it out and in", OPEN_WITHIN.as_secs()))),
        }
    }
}

impl PictureSource for Camera {
    fn describe(&self) -> String {
        self.shared.newest().described.clone()
    }

    fn poll(&mut self, now: Instant, out: &mut Picture) -> Result<bool, VideoError> {
        let mut newest = self.shared.newest();
        let wrong = |why: &str| Err(VideoError::Camera { name: self.name.to_string(), why: why.to_owned() });
        if let Some(why) = &newest.fault {
            return wrong(why);
        }
        if let Some(taken_at) = newest.taken_at.take() {
            std::mem::swap(out, &mut newest.picture);
            out.captured_at = now - taken_at.elapsed();
            return Ok(true);
        }
        if newest.alive_at.is_some_and(|at| at.elapsed() > SILENT) {
            return wrong("it gives no pictures: plug it out and in");
        }
        Ok(false)
    }
}

impl Drop for Camera {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
    }
}

/// The camera's thread.
struct Life {
    cameras: Box<dyn Cameras>,
    name: CameraName,
    /// The camera that was found first: another of the same number is not the same.
    known: Option<Known>,
    wish: Wish,
    shared: Arc<Shared>,
}

impl Life {
    /// Opens the camera, tells how that went, and takes pictures until told to stop; opens it again when it was lost.
    fn run(&mut self, opened: Sender<Result<(), String>>) {
        match self.find() {
            Ok(stream) => {
                // If opening took too long, nobody listens any more, and the stop flag is set.
                let _ = opened.send(Ok(()));
                self.watch(stream);
            }
            Err(why) => {
                let _ = opened.send(Err(why));
                return;
            }
        }
        while !self.shared.stopped() {
            std::thread::sleep(LOOK_EVERY);
            match self.find() {
                Ok(stream) => self.watch(stream),
                Err(why) => self.shared.newest().fault = Some(why),
            }
        }
    }

    /// The camera that is meant, opened.
    fn find(&mut self) -> Result<Box<dyn Stream>, String> {
        let nodes = self.cameras.nodes();
        let candidates = match &self.known {
            Some(known) => name::returned(&nodes, known)?,
            None => name::chosen(&nodes, &self.name)?,
        };
        for node in candidates {
            match self.cameras.open(node, self.wish) {
                Ok(stream) => {
                    let mut newest = self.shared.newest();
                    newest.described = format!("{} {}", node.name, stream.describe());
                    newest.alive_at = Some(std::time::Instant::now());
                    newest.fault = None;
                    // Twins are those of the first time.
                    let twins = self.known.take().map(|known| known.twins);
                    let known = Known::new(node, &nodes);
                    self.known = Some(Known { twins: twins.unwrap_or(known.twins), node: known.node });
                    return Ok(stream);
                }
                // A camera has nodes besides, for what is no picture.
                Err(OpenError::NoCamera) => {}
                Err(OpenError::Failed(why)) => return Err(remedy(&why)),
            }
        }
        Err("it has no picture format that can be read here: YUYV, NV12, MJPEG or RGB".into())
    }

    /// Takes pictures until the camera is lost, which is told, or the thread is to stop.
    fn watch(&self, mut stream: Box<dyn Stream>) {
        let (width, height) = self.wish.size;
        let mut rgb = Vec::new();
        let [mut full, mut part, mut scaled] = [(); 3].map(|()| Picture::default());
        let mut damaged = 0;
        while !self.shared.stopped() {
            let lost = match stream.frame(&mut rgb) {
                Ok(frame) => {
                    let now = std::time::Instant::now();
                    damaged = 0;
                    full.set_rgb(frame.width, frame.height, &rgb);
                    part.crop_from(&full, width, height);
                    scaled.scale_from(&part, width, height);
                    let mut newest = self.shared.newest();
                    std::mem::swap(&mut newest.picture, &mut scaled);
                    let age = if frame.age > MOST_LATENCY { Duration::ZERO } else { frame.age };
                    newest.taken_at = now.checked_sub(age);
                    newest.alive_at = Some(now);
                    continue;
                }
                Err(FrameError::Damaged(_)) if damaged < MOST_DAMAGED => {
                    damaged += 1;
                    continue;
                }
                Err(FrameError::Damaged(why) | FrameError::Lost(why)) => remedy(&why),
            };
            let mut newest = self.shared.newest();
            newest.fault = Some(lost);
            newest.taken_at = None;
            return;
        }
    }
}
