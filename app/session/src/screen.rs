//! The operator's picture thread: decodes in order, shows each picture at its time, and after a loss waits for the next
//! key frame (the endpoint asks the peer for one).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use media::Instant;
use rtrb::{Consumer, Producer};
use triple_buffer::Input;
use udp::Clock;
use video::{Decoder, Picture};

use crate::dump::PictureDump;
use crate::shared::{AvSlot, PicturePacket, Shared};
use crate::snapshot::ViewPicture;

/// Pictures that may wait between network thread and decoder.
pub(crate) const PICTURES: usize = 32;
/// Decoding begins this long before a picture is shown.
const AHEAD: Duration = Duration::from_millis(8);
/// A picture is held back no longer than this, whatever its stamp says.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// Time between looks at the queue.
const NAP: Duration = Duration::from_millis(2);

/// The picture thread of an OP.
pub(crate) struct ScreenThread {
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub decoder: Decoder,
    pub pictures: Consumer<PicturePacket>,
    pub spare: Producer<Vec<u8>>,
    pub view: Input<ViewPicture>,
    pub slot: Input<AvSlot>,
    pub state: AvSlot,
    pub dump: Option<PictureDump>,
}

impl ScreenThread {
    /// Runs until the station stops.
    pub fn run(mut self) {
        let mut picture = Picture::default();
        let mut losses = self.shared.video_losses.load(Ordering::Acquire);
        let mut connection = self.shared.connection.load(Ordering::Acquire);
        // Nothing can be decoded before the first key frame.
        let mut need_key = true;
        while !self.shared.stopping() {
            let lost = self.shared.video_losses.load(Ordering::Acquire);
            let peer = self.shared.connection.load(Ordering::Acquire);
            if lost != losses || peer != connection {
                (losses, connection) = (lost, peer);
                need_key = true;
            }
            let Ok(packet) = self.pictures.pop() else {
                std::thread::sleep(NAP);
                continue;
            };
            let shown = if need_key && !packet.key { Ok(false) } else { self.decode(&packet, &mut picture) };
            match shown {
                Ok(true) => {
                    need_key = false;
                    self.show(packet.at, &picture);
                }
                Ok(false) => self.state.skipped += 1,
                Err(_) => {
                    // Damaged on the way: as good as lost.
                    need_key = true;
                    self.state.skipped += 1;
                    self.shared.key_missing.store(true, Ordering::Release);
                }
            }
            // As many buffers exist as the ring has room for.
            let _ = self.spare.push(packet.payload);
            self.slot.write(self.state.clone());
        }
    }

    fn decode(&mut self, packet: &PicturePacket, picture: &mut Picture) -> Result<bool, video::VideoError> {
        self.wait(packet.at - AHEAD);
        self.decoder.decode(&packet.payload, picture)
    }

    fn show(&mut self, at: Instant, picture: &Picture) {
        self.wait(at);
        self.state.frames += 1;
        if self.state.frames == 1 {
            self.state.device = format!("H.264 {}x{}", picture.width, picture.height);
        }
        let number = self.state.frames;
        if let Some(error) = self.dump.as_mut().and_then(|d| d.save(number, picture).err()) {
            tracing::warn!("picture {number} was not saved: {error}");
        }
        let view = self.view.input_buffer_mut();
        view.number = self.state.frames;
        (view.width, view.height) = (picture.width, picture.height);
        picture.to_rgb(&mut view.rgb);
        self.view.publish();
    }

    fn wait(&self, until: Instant) {
        let left = until.saturating_since(self.clock.now());
        if !left.is_zero() {
            std::thread::sleep(left.min(LONGEST_WAIT));
        }
    }
}
