//! Sound and picture of a station: the devices, the codecs, and their threads' ends of the queues.

use std::sync::Arc;

use audio::{Meter, SinkSpec, SourceSpec};
use media::{Duration, Instant, Role};
use rtrb::{Consumer, Producer, RingBuffer};
use scene::{Image, Pose, Renderer, SceneConfig};
use triple_buffer::{Output, triple_buffer};
use udp::Clock;
use video::CameraSpec;

use crate::camera::{self, CameraThread, Eye};
use crate::config::StationConfig;
use crate::dump::PictureDump;
use crate::error::SessionError;
use crate::screen::{self, ScreenThread};
use crate::shared::{AvSlot, PicturePacket, Shared, SoundPacket};
use crate::snapshot::ViewPicture;
use crate::sound::{self, MicThread, SpeakerThread};
use crate::threads::{PictureThread, SoundThread};

/// The sound thread and its ends of the queues.
pub(super) struct Sound {
    pub thread: SoundThread,
    pub out: Option<Consumer<SoundPacket>>,
    pub into: Option<Producer<SoundPacket>>,
    pub slot: Output<AvSlot>,
}

/// Opens microphone or speaker.
pub(super) fn sound(
    config: &StationConfig,
    clock: &Clock,
    now: Instant,
    shared: &Arc<Shared>,
    wake: &dyn Fn() -> Box<dyn Fn() + Send>,
) -> Result<Sound, SessionError> {
    let wrong = |what| move |e: audio::AudioError| SessionError::Device { what, why: e.to_string() };
    let (producer, consumer) = RingBuffer::new(sound::FRAMES);
    match config.role {
        Role::Top => {
            let source = audio::open_source(&config.mic, now).map_err(wrong("microphone"))?;
            let encoder = audio::Encoder::new(config.audio_bytes).map_err(wrong("sound encoder"))?;
            let state = AvSlot { device: source.describe(), ..AvSlot::default() };
            let (slot_in, slot) = triple_buffer(&state);
            let thread = MicThread {
                shared: shared.clone(),
                clock: *clock,
                source,
                meter: (config.mic != SourceSpec::Silence).then(Meter::new),
                encoder,
                frames: producer,
                wake: wake(),
                slot: slot_in,
                state,
            };
            Ok(Sound { thread: SoundThread::Mic(Box::new(thread)), out: Some(consumer), into: None, slot })
        }
        Role::Op => {
            let sink = audio::open_sink(&config.speaker).map_err(wrong("speaker"))?;
            let decoder = audio::Decoder::new().map_err(wrong("sound decoder"))?;
            let state = AvSlot { device: sink.describe(), ..AvSlot::default() };
            let (slot_in, slot) = triple_buffer(&state);
            let thread = SpeakerThread {
                shared: shared.clone(),
                clock: *clock,
                sink,
                meter: (config.speaker != SinkSpec::None).then(Meter::new),
                decoder,
                frames: consumer,
                slot: slot_in,
                state,
            };
            Ok(Sound { thread: SoundThread::Speaker(Box::new(thread)), out: None, into: Some(producer), slot })
        }
    }
}

/// The picture thread and its ends of the queues.
pub(super) struct Pictures {
    pub thread: PictureThread,
    pub out: Option<(Consumer<PicturePacket>, Producer<Vec<u8>>)>,
    pub into: Option<(Producer<PicturePacket>, Consumer<Vec<u8>>)>,
    pub slot: Output<AvSlot>,
    pub view: Output<ViewPicture>,
}

/// Opens camera or decoder.
pub(super) fn picture(
    config: &StationConfig,
    clock: &Clock,
    now: Instant,
    shared: &Arc<Shared>,
    wake: &dyn Fn() -> Box<dyn Fn() + Send>,
    pose: Output<Pose>,
) -> Result<Pictures, SessionError> {
    let wrong = |what| move |e: video::VideoError| SessionError::Device { what, why: e.to_string() };
    let (view_in, view) = triple_buffer(&ViewPicture::default());
    let dump = config.dump_pictures.as_deref().map(PictureDump::new).transpose()?;
    match config.role {
        Role::Top => {
            let (spare_in, spare_out) = buffers(camera::PICTURES, config.max_key_bytes);
            let (producer, consumer) = RingBuffer::new(camera::PICTURES);
            let eye = eye(config, now, pose).map_err(wrong("camera"))?;
            let encoder = video::Encoder::new(video::EncoderConfig {
                width: config.width,
                height: config.height,
                fps: config.fps,
                bitrate: media::Bitrate::from_kbps(u64::from(config.video_kbps)),
                max_key_bytes: config.max_key_bytes,
            })
            .map_err(wrong("picture encoder"))?;
            let device = match &eye {
                Eye::Scene { .. } => format!("scene {}x{}", config.width, config.height),
                Eye::Camera(source) => source.describe(),
            };
            let state = AvSlot { device, ..AvSlot::default() };
            let (slot_in, slot) = triple_buffer(&state);
            let thread = CameraThread {
                shared: shared.clone(),
                clock: *clock,
                eye,
                encoder,
                pictures: producer,
                spare: spare_out,
                unused: Vec::with_capacity(camera::PICTURES),
                wake: wake(),
                view: view_in,
                shown: 0,
                slot: slot_in,
                state,
                dump,
            };
            let thread = PictureThread::Camera(Box::new(thread));
            Ok(Pictures { thread, out: Some((consumer, spare_in)), into: None, slot, view })
        }
        Role::Op => {
            let (spare_in, spare_out) = buffers(screen::PICTURES, proto::MAX_FRAME);
            let (producer, consumer) = RingBuffer::new(screen::PICTURES);
            let state = AvSlot { device: "waiting for a picture".into(), ..AvSlot::default() };
            let (slot_in, slot) = triple_buffer(&state);
            let thread = ScreenThread {
                shared: shared.clone(),
                clock: *clock,
                decoder: video::Decoder::new().map_err(wrong("picture decoder"))?,
                pictures: consumer,
                spare: spare_in,
                view: view_in,
                slot: slot_in,
                state,
                dump,
            };
            let thread = PictureThread::Screen(Box::new(thread));
            Ok(Pictures { thread, out: None, into: Some((producer, spare_out)), slot, view })
        }
    }
}

fn eye(config: &StationConfig, now: Instant, pose: Output<Pose>) -> Result<Eye, video::VideoError> {
    let (width, height, fps) = (config.width, config.height, config.fps);
    if config.camera == CameraSpec::Scene {
        return Ok(Eye::Scene {
            renderer: Box::new(Renderer::new(SceneConfig::default())),
            pose,
            image: Image::new(width, height),
            next: now,
            period: Duration::from_nanos(1_000_000_000 / u64::from(fps)),
        });
    }
    video::open_source(&config.camera, width, height, fps, now).map(Eye::Camera)
}

/// A ring full of spare buffers.
fn buffers(count: usize, capacity: usize) -> (Producer<Vec<u8>>, Consumer<Vec<u8>>) {
    let (mut producer, consumer) = RingBuffer::new(count);
    for _ in 0..count {
        // The ring has exactly this much room.
        let _ = producer.push(Vec::with_capacity(capacity));
    }
    (producer, consumer)
}
