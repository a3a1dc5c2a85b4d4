//! The teleoperator's picture thread: draws the scene or reads the camera at its rate, shows the picture to the local
//! window, encodes it and passes it to the network thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use media::Instant;
use rtrb::{Consumer, Producer};
use scene::{Image, Pose, Renderer};
use triple_buffer::{Input, Output};
use udp::Clock;
use video::{Encoder, Picture, PictureSource};

use crate::dump::PictureDump;
use crate::shared::{AvSlot, PicturePacket, Shared, count};
use crate::snapshot::ViewPicture;

/// Pictures that may wait between encoder and network thread.
pub(crate) const PICTURES: usize = 4;
/// The encoder skips while the multiplexer holds more frames than this.
const MOST_WAITING: usize = 1;
/// A camera that is lost is asked again after this.
const FAULT_NAP: Duration = Duration::from_millis(100);
/// Longest nap while there is no fault.
const NAP: Duration = Duration::from_millis(5);

/// Where pictures come from.
pub(crate) enum Eye {
    /// The scene, drawn here.
    Scene { renderer: Box<Renderer>, pose: Output<Pose>, image: Image, next: Instant, period: Duration },
    /// A camera, a file or a pattern.
    Camera(Box<dyn PictureSource>),
}

/// The picture thread of a TOP.
pub(crate) struct CameraThread {
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub eye: Eye,
    pub encoder: Encoder,
    pub pictures: Producer<PicturePacket>,
    pub spare: Consumer<Vec<u8>>,
    /// Buffers of frames that were skipped.
    pub unused: Vec<Vec<u8>>,
    pub wake: Box<dyn Fn() + Send>,
    pub view: Input<ViewPicture>,
    /// Pictures given to the local view.
    pub shown: u64,
    pub slot: Input<AvSlot>,
    pub state: AvSlot,
    pub dump: Option<PictureDump>,
}

impl CameraThread {
    /// Runs until the station stops.
    pub fn run(mut self) {
        let mut picture = Picture::default();
        while !self.shared.stopping() {
            let now = self.clock.now();
            match self.look(now, &mut picture) {
                Ok(true) => self.on_picture(&picture),
                Ok(false) => std::thread::sleep(self.nap(now)),
                Err(fault) => {
                    self.tell(fault);
                    std::thread::sleep(FAULT_NAP);
                }
            }
        }
    }

    /// Takes the next picture if it is time.
    fn look(&mut self, now: Instant, picture: &mut Picture) -> Result<bool, String> {
        match &mut self.eye {
            Eye::Camera(source) => source.poll(now, picture).map_err(|e| e.to_string()),
            Eye::Scene { renderer, pose, image, next, period } => {
                if now < *next {
                    return Ok(false);
                }
                // A late picture is not made up for.
                *next = (*next + *period).max(now);
                renderer.render(pose.read(), image);
                picture.set_rgb(image.width, image.height, &image.rgb);
                picture.captured_at = now;
                Ok(true)
            }
        }
    }

    /// Publishes a fault; the next picture ends it.
    fn tell(&mut self, fault: String) {
        if fault != self.state.fault {
            self.state.fault = fault;
            self.slot.write(self.state.clone());
        }
    }

    fn on_picture(&mut self, picture: &Picture) {
        if !std::mem::take(&mut self.state.fault).is_empty()
            && let Eye::Camera(source) = &self.eye
        {
            // Back, maybe with another format.
            self.state.device = source.describe();
        }
        self.shown += 1;
        let view = self.view.input_buffer_mut();
        view.number = self.shown;
        (view.width, view.height) = (picture.width, picture.height);
        picture.to_rgb(&mut view.rgb);
        self.view.publish();

        if self.shared.connected.load(Ordering::Acquire) {
            if self.shared.video_waiting.load(Ordering::Relaxed) > MOST_WAITING {
                self.state.skipped += 1;
            } else {
                self.encode(picture);
            }
        }
        self.slot.write(self.state.clone());
    }

    fn save(&mut self, picture: &Picture) {
        let number = self.state.frames;
        if let Some(error) = self.dump.as_mut().and_then(|d| d.save(number, picture).err()) {
            tracing::warn!("picture {number} was not saved: {error}");
        }
    }

    fn encode(&mut self, picture: &Picture) {
        let Some(mut payload) = self.spare.pop().ok().or_else(|| self.unused.pop()) else {
            self.state.skipped += 1;
            return;
        };
        let force_key = self.shared.key_wanted.swap(false, Ordering::AcqRel);
        match self.encoder.encode(picture, force_key, &mut payload) {
            Ok(done) if !done.skipped && !payload.is_empty() => {
                let packet = PicturePacket { at: picture.captured_at, key: done.key, payload };
                match self.pictures.push(packet) {
                    Ok(()) => {
                        self.state.frames += 1;
                        self.save(picture);
                        (self.wake)();
                        return;
                    }
                    Err(_) => count(&self.shared.dropped.video),
                }
            }
            Ok(_) => {
                self.state.skipped += 1;
                self.unused.push(payload);
            }
            Err(e) => {
                self.state.fault = e.to_string();
                self.unused.push(payload);
            }
        }
        if force_key {
            self.shared.key_wanted.store(true, Ordering::Release);
        }
    }

    fn nap(&self, now: Instant) -> Duration {
        match &self.eye {
            Eye::Scene { next, .. } => next.saturating_since(now).clamp(Duration::from_micros(200), NAP),
            Eye::Camera(_) => Duration::from_millis(2),
        }
    }
}
