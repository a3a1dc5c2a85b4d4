//! Cameras through V4L2: the only file that names nokhwa. Each camera has a thread of its own, since the driver blocks; the newest
//! picture wins.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use media::Instant;
use nokhwa::pixel_format::RgbFormat;
use nokhwa::utils::{ApiBackend, CameraFormat, CameraIndex, FrameFormat, RequestedFormat, RequestedFormatType};
use nokhwa::{Buffer, Camera as Driver};

use crate::error::VideoError;
use crate::picture::Picture;
use crate::source::PictureSource;

/// How long a camera may take to open.
const OPEN_WITHIN: Duration = Duration::from_secs(10);
/// Damaged pictures in a row after which a camera counts as lost. One or two are common when a stream begins.
const MOST_DAMAGED: u32 = 25;

/// A camera of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDevice {
    /// The N of `device:N`.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Driver and bus.
    pub detail: String,
}

/// The cameras of this machine.
///
/// # Errors
/// If the system cannot be asked.
pub fn list() -> Result<Vec<FoundDevice>, VideoError> {
    let found = nokhwa::query(ApiBackend::Video4Linux)
        .map_err(|e| VideoError::Camera { name: "list".into(), why: e.to_string() })?;
    let device = |info: &nokhwa::utils::CameraInfo| {
        let index = info.index().as_index().ok()? as usize;
        Some(FoundDevice { index, name: info.human_name(), detail: info.description().to_string() })
    };
    Ok(found.iter().filter_map(device).collect())
}

/// An open camera.
pub(crate) struct Camera {
    name: String,
    shared: Arc<Shared>,
}

struct Shared {
    newest: Mutex<Newest>,
    stop: AtomicBool,
}

#[derive(Default)]
struct Newest {
    picture: Picture,
    fresh: bool,
    fault: Option<String>,
}

impl Camera {
    pub fn open(index: usize, width: usize, height: usize, fps: u32) -> Result<Camera, VideoError> {
        let name = format!("device:{index}");
        let wrong = |why: String| VideoError::Camera { name: format!("device:{index}"), why };
        let shared = Arc::new(Shared { newest: Mutex::default(), stop: AtomicBool::new(false) });
        let (opened, answer) = channel();
        let theirs = shared.clone();
        std::thread::Builder::new()
            .name("camera".into())
            .spawn(move || capture(index, (width, height), fps, &theirs, &opened))
            .map_err(|e| wrong(e.to_string()))?;
        match answer.recv_timeout(OPEN_WITHIN) {
            Ok(Ok(what)) => Ok(Camera { name: format!("{name} {what}"), shared }),
            Ok(Err(why)) => Err(wrong(why)),
            Err(_) => {
                shared.stop.store(true, Ordering::Release);
                Err(wrong(format!("it did not answer within {} s", OPEN_WITHIN.as_secs())))
            }
        }
    }
}

impl PictureSource for Camera {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn poll(&mut self, now: Instant, out: &mut Picture) -> Result<bool, VideoError> {
        let Ok(mut newest) = self.shared.newest.lock() else { return Ok(false) };
        if let Some(why) = newest.fault.take() {
            return Err(VideoError::Camera { name: self.name.clone(), why });
        }
        if !std::mem::take(&mut newest.fresh) {
            return Ok(false);
        }
        std::mem::swap(out, &mut newest.picture);
        // Taken just now: the thread waits for nothing but the driver.
        out.captured_at = now;
        Ok(true)
    }
}

impl Drop for Camera {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
    }
}

/// The camera's thread: opens it, tells how that went, then takes pictures until told to stop.
fn capture(index: usize, size: (usize, usize), fps: u32, shared: &Shared, opened: &Sender<Result<String, String>>) {
    let mut driver = match open(index, size, fps) {
        Ok(driver) => driver,
        Err(why) => {
            // Nobody listens any more if opening took too long.
            let _ = opened.send(Err(why));
            return;
        }
    };
    let got = driver.camera_format();
    let what = format!("{} {}x{} at {}/s", driver.info().human_name(), got.width(), got.height(), got.frame_rate());
    if opened.send(Ok(what)).is_err() {
        return;
    }
    let mut rgb = Vec::new();
    let [mut full, mut part, mut scaled] = [(); 3].map(|()| Picture::default());
    let mut damaged = 0;
    while !shared.stop.load(Ordering::Acquire) {
        let decoded = match driver.frame() {
            Ok(buffer) => decode(&buffer, &mut rgb),
            Err(error) => {
                damaged = MOST_DAMAGED;
                Err(error.to_string())
            }
        };
        match decoded {
            Ok((width, height)) => {
                damaged = 0;
                full.set_rgb(width, height, &rgb);
                part.crop_from(&full, size.0, size.1);
                scaled.scale_from(&part, size.0, size.1);
                if let Ok(mut newest) = shared.newest.lock() {
                    std::mem::swap(&mut newest.picture, &mut scaled);
                    newest.fresh = true;
                }
            }
            Err(_) if damaged < MOST_DAMAGED => damaged += 1,
            Err(why) => {
                if let Ok(mut newest) = shared.newest.lock() {
                    newest.fault = Some(why);
                }
                return;
            }
        }
    }
}

fn open(index: usize, size: (usize, usize), fps: u32) -> Result<Driver, String> {
    let any = RequestedFormat::new::<RgbFormat>(RequestedFormatType::None);
    let mut driver = Driver::new(CameraIndex::Index(index as u32), any).map_err(|e| e.to_string())?;
    // The library's own choice of the closest format fails where the very size is not offered.
    if let Ok(offered) = driver.compatible_camera_formats()
        && let Some(best) = closest(&offered, size, fps)
    {
        let request = RequestedFormat::new::<RgbFormat>(RequestedFormatType::Exact(best));
        if let Err(error) = driver.set_camera_requset(request) {
            tracing::warn!("camera {index} refuses {best}: {error}; its first format is used");
        }
    }
    driver.open_stream().map_err(|e| e.to_string())?;
    Ok(driver)
}

/// The offered format that comes nearest to the wish: size first (too small is worse than too large, another shape is
/// worse than some pixels), then rate, then how little work it makes.
fn closest(offered: &[CameraFormat], (width, height): (usize, usize), fps: u32) -> Option<CameraFormat> {
    let effort = |format: FrameFormat| match format {
        FrameFormat::YUYV => Some(0),
        FrameFormat::NV12 => Some(1),
        FrameFormat::RAWRGB => Some(2),
        FrameFormat::MJPEG => Some(3),
        FrameFormat::GRAY | FrameFormat::RAWBGR => None,
    };
    let misses = |got: u32, wanted: usize| {
        let (got, wanted) = (u64::from(got), wanted as u64);
        if got < wanted { 4 * (wanted - got) } else { got - wanted }
    };
    let cost = |f: &CameraFormat| {
        let shape = (u64::from(f.width()) * height as u64).abs_diff(u64::from(f.height()) * width as u64) * 50;
        let other_shape = if shape > u64::from(f.width()) * height as u64 { 500 } else { 0 };
        let size = misses(f.width(), width) + misses(f.height(), height) + other_shape;
        Some((size, misses(f.frame_rate(), fps as usize), effort(f.format())?))
    };
    offered.iter().filter_map(|f| Some((cost(f)?, *f))).min_by_key(|(cost, _)| *cost).map(|(_, f)| f)
}

/// Turns what the driver gave into RGB; tells its size.
fn decode(buffer: &Buffer, rgb: &mut Vec<u8>) -> Result<(usize, usize), String> {
    let resolution = buffer.resolution();
    let (width, height) = (resolution.width() as usize, resolution.height() as usize);
    rgb.resize(width * height * 3, 0);
    // The JPEG library below reports damage by unwinding: that would end the thread without a word. The buffer is
    // written anew as a whole, so nothing half done is seen.
    match catch_unwind(AssertUnwindSafe(|| buffer.decode_image_to_buffer::<RgbFormat>(rgb))) {
        Ok(Ok(())) => Ok((width, height)),
        Ok(Err(error)) => Err(error.to_string()),
        Err(cause) => Err(cause.downcast_ref::<String>().cloned().unwrap_or_else(|| "a damaged picture".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nokhwa::utils::Resolution;

    fn format(width: u32, height: u32, format: FrameFormat, fps: u32) -> CameraFormat {
        CameraFormat::new(Resolution::new(width, height), format, fps)
    }

    #[test]
    fn the_nearest_format_is_chosen_even_if_the_size_is_not_offered() {
        let offered = [
            format(1920, 1080, FrameFormat::MJPEG, 60),
            format(640, 360, FrameFormat::YUYV, 30),
            format(640, 360, FrameFormat::MJPEG, 30),
            format(320, 180, FrameFormat::YUYV, 25),
            format(320, 180, FrameFormat::YUYV, 50),
            format(320, 180, FrameFormat::GRAY, 10),
        ];
        assert_eq!(closest(&offered, (320, 240), 10), Some(offered[3]));
        assert_eq!(closest(&offered, (640, 360), 30), Some(offered[1]));
        let vga = format(640, 480, FrameFormat::YUYV, 30);
        assert_eq!(closest(&[offered[3], vga], (320, 240), 10), Some(vga));
        assert_eq!(closest(&offered, (1920, 1080), 25), Some(offered[0]));
        assert_eq!(closest(&offered[5..], (320, 240), 10), None);
        assert_eq!(closest(&[], (320, 240), 10), None);
    }

    #[test]
    fn damaged_pictures_are_errors_and_nothing_worse() {
        let mut rgb = Vec::new();
        let mut try_one = |bytes: &[u8], format| decode(&Buffer::new(Resolution::new(64, 48), bytes, format), &mut rgb);
        // A marker that no JPEG has: the library unwinds.
        let unknown_marker = [0xff, 0xd8, 0xff, 0xf8, 0, 2];
        assert!(try_one(&unknown_marker, FrameFormat::MJPEG).unwrap_err().contains("0xf8"));
        assert!(try_one(&[], FrameFormat::MJPEG).is_err());
        assert!(try_one(&[128; 100], FrameFormat::YUYV).is_err());
        assert_eq!(try_one(&[128; 64 * 48 * 2], FrameFormat::YUYV), Ok((64, 48)));
    }
}
