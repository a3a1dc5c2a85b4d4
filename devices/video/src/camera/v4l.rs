//! Cameras through V4L2: the only file that names nokhwa.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use nokhwa::pixel_format::RgbFormat;
use nokhwa::utils::{ApiBackend, CameraFormat, CameraIndex, FrameFormat, RequestedFormat, RequestedFormatType};
use nokhwa::{Buffer, Camera as Driver};

use super::format::{Coding, Offer, Wish, closest};
use super::name::Node;
use super::{Cameras, Frame, FrameError, OpenError, Stream};

/// The cameras of this machine.
pub(super) struct System;

impl System {
    /// Can this node be used as a camera now?
    pub fn probe(&mut self, node: &Node) -> Result<(), OpenError> {
        guarded(|| {
            let (mut driver, formats) = connect(node)?;
            let any = Wish { size: (640, 480), fps: 30 };
            best(&formats, any)?;
            // To set the format that is set changes nothing, and a driver refuses while another program takes pictures.
            let same = RequestedFormat::new::<RgbFormat>(RequestedFormatType::Exact(driver.camera_format()));
            match driver.set_camera_requset(same) {
                Err(error) if error.to_string().contains("busy") => Err(failed(&error)),
                _ => Ok(()),
            }
        })
    }
}

impl Cameras for System {
    fn nodes(&mut self) -> Vec<Node> {
        let found = nokhwa::query(ApiBackend::Video4Linux).unwrap_or_default();
        let node = |info: &nokhwa::utils::CameraInfo| {
            let index = info.index().as_index().ok()? as usize;
            // The link leads to the plug: ".../usb1/1-4/1-4:1.0".
            let link = format!("/sys/class/video4linux/video{index}/device");
            let place = std::fs::canonicalize(Path::new(&link)).ok();
            let bus = place.and_then(|p| Some(p.file_name()?.to_string_lossy().into_owned())).unwrap_or_default();
            Some(Node { index, name: info.human_name(), bus })
        };
        found.iter().filter_map(node).collect()
    }

    fn open(&mut self, node: &Node, wish: Wish) -> Result<Box<dyn Stream>, OpenError> {
        guarded(|| {
            let (mut driver, formats) = connect(node)?;
            // The library's own choice of the closest format fails where the very size is not offered.
            let best = best(&formats, wish)?;
            let request = RequestedFormat::new::<RgbFormat>(RequestedFormatType::Exact(best));
            if let Err(error) = driver.set_camera_requset(request) {
                tracing::warn!("{} refuses {best}: {error}; its first format is used", node.path());
            }
            driver.open_stream().map_err(|e| failed(&e))?;
            Ok(Box::new(driver) as Box<dyn Stream>)
        })
    }
}

fn best(formats: &[CameraFormat], wish: Wish) -> Result<CameraFormat, OpenError> {
    let offer = |format: &CameraFormat| Offer {
        size: (format.width(), format.height()),
        fps: format.frame_rate(),
        coding: match format.format() {
            FrameFormat::YUYV => Coding::Yuyv,
            FrameFormat::NV12 => Coding::Nv12,
            FrameFormat::RAWRGB => Coding::Rgb,
            FrameFormat::MJPEG => Coding::Mjpeg,
            FrameFormat::GRAY | FrameFormat::RAWBGR => Coding::Other,
        },
    };
    let offered: Vec<Offer> = formats.iter().map(offer).collect();
    closest(&offered, wish).map(|place| formats[place]).ok_or(OpenError::NoCamera)
}

fn failed(error: &nokhwa::NokhwaError) -> OpenError {
    OpenError::Failed(error.to_string())
}

/// The library below unwinds where a driver says what it does not expect: that would end the thread without a word.
fn guarded<T>(work: impl FnOnce() -> Result<T, OpenError>) -> Result<T, OpenError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|cause| Err(OpenError::Failed(words(cause.as_ref()))))
}

fn words(cause: &(dyn std::any::Any + Send)) -> String {
    let text = cause.downcast_ref::<String>().cloned();
    text.or_else(|| cause.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_else(|| "a damaged picture".into())
}

/// The driver and the formats that it offers, none for a node that gives no pictures.
fn connect(node: &Node) -> Result<(Driver, Vec<CameraFormat>), OpenError> {
    // The library's errors of opening hide the reason in more words than it has.
    if let Err(error) = std::fs::OpenOptions::new().read(true).write(true).open(node.path()) {
        return Err(OpenError::Failed(error.to_string()));
    }
    let any = RequestedFormat::new::<RgbFormat>(RequestedFormatType::None);
    let index = u32::try_from(node.index).map_err(|_| OpenError::NoCamera)?;
    // It may be opened: what is refused now are the questions that every camera answers.
    let mut driver = Driver::new(CameraIndex::Index(index), any).map_err(|_| OpenError::NoCamera)?;
    let formats = driver.compatible_camera_formats().map_err(|e| failed(&e))?;
    Ok((driver, formats))
}

impl Stream for Driver {
    fn describe(&self) -> String {
        let got = self.camera_format();
        format!("{}x{} {} at {}/s", got.width(), got.height(), got.format(), got.frame_rate())
    }

    fn frame(&mut self, rgb: &mut Vec<u8>) -> Result<Frame, FrameError> {
        let buffer = Driver::frame(self).map_err(|e| FrameError::Lost(e.to_string()))?;
        let (width, height) = decode(&buffer, rgb).map_err(FrameError::Damaged)?;
        // The driver's stamp, as the library gives it: on the wall clock, by the difference of the monotonic one.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let age = buffer.capture_timestamp().map_or(Duration::ZERO, |at| now.saturating_sub(at));
        Ok(Frame { width, height, age })
    }
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
        Err(cause) => Err(words(cause.as_ref())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nokhwa::utils::Resolution;

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
        assert_eq!(try_one(&[128; 64 * 48 * 3 / 2], FrameFormat::NV12), Ok((64, 48)));
    }
}
