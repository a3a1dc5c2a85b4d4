//! The window's loop: takes snapshots and pictures, hands commands on, closes, saves a screenshot. State moves in
//! `logic`; `ui` only draws.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eframe::CreationContext;
use egui::{ColorImage, Context, TextureHandle, Ui, ViewportBuilder, ViewportCommand};
use session::{Command, Snapshot};

use crate::picture::PictureSlot;
use crate::{GuiError, Options, StationHandle, display, theme};

/// Pictures and values change at most this often.
const REFRESH: Duration = Duration::from_millis(33);

const ICON: &[u8] = include_bytes!("../../../assets/icons/telehaptic.png");

/// Opens a window titled `title` that `draw` fills, and runs it until it is closed. However that goes, the station is
/// told to stop: nobody watches it any more.
pub(crate) fn run<S: StationHandle>(
    title: &str,
    station: &S,
    options: Options,
    draw: impl FnMut(&mut Ui, &Snapshot, Option<&TextureHandle>) -> Vec<Command>,
) -> Result<(), GuiError> {
    let result = open(title, station, options, draw);
    station.command(Command::Stop);
    result
}

fn open<S: StationHandle>(
    title: &str,
    station: &S,
    options: Options,
    draw: impl FnMut(&mut Ui, &Snapshot, Option<&TextureHandle>) -> Vec<Command>,
) -> Result<(), GuiError> {
    let display = display::name()?;
    let mut viewport = ViewportBuilder::default()
        .with_title(title)
        .with_app_id("telehaptic")
        .with_inner_size([1280.0, 800.0])
        .with_min_inner_size([1100.0, 720.0]);
    if let Ok(icon) = eframe::icon_data::from_png_bytes(ICON) {
        viewport = viewport.with_icon(icon);
    }
    if let Some(position) = options.position {
        viewport = viewport.with_position(position);
    }
    let native = eframe::NativeOptions { viewport, ..Default::default() };
    let failure = Arc::new(Mutex::new(None));
    let app = App {
        station,
        snapshot: station.snapshot(),
        picture: PictureSlot::default(),
        draw,
        shot: options.screenshot.map(|(path, after_s)| Shot { path, after_s, taken: None }),
        close_when_ended: options.close_when_ended,
        failure: Arc::clone(&failure),
    };
    let create = move |created: &CreationContext<'_>| {
        theme::install(&created.egui_ctx);
        Ok(Box::new(app) as Box<dyn eframe::App + '_>)
    };
    eframe::run_native(title, native, Box::new(create))
        .map_err(|e| GuiError::Display { display, reason: reason(&e.to_string()) })?;
    let failure = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    failure.map_or(Ok(()), Err)
}

/// The window system's own words: its messages start with the place in its source.
fn reason(message: &str) -> String {
    match message.rsplit_once(": ") {
        Some((start, words)) if start.contains(".rs:") => words.to_owned(),
        _ => message.to_owned(),
    }
}

struct App<'a, S, D> {
    station: &'a S,
    snapshot: Arc<Snapshot>,
    picture: PictureSlot,
    draw: D,
    shot: Option<Shot>,
    close_when_ended: Arc<AtomicBool>,
    failure: Arc<Mutex<Option<GuiError>>>,
}

impl<S, D> eframe::App for App<'_, S, D>
where
    S: StationHandle,
    D: FnMut(&mut Ui, &Snapshot, Option<&TextureHandle>) -> Vec<Command>,
{
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.snapshot = self.station.snapshot();
        self.picture.refresh(ctx, self.station);
        if self.close_when_ended.load(Ordering::Acquire) && self.snapshot.ended.is_some() {
            ctx.send_viewport_cmd(ViewportCommand::Close);
        }
        if let Some(shot) = &mut self.shot
            && let Some(result) = shot.poll(ctx)
        {
            self.shot = None;
            if let Err(error) = result {
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        }
        ctx.request_repaint_after(REFRESH);
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        for command in (self.draw)(ui, &self.snapshot, self.picture.texture()) {
            self.station.command(command);
        }
    }
}

/// A screenshot that is due or under way.
struct Shot {
    path: std::path::PathBuf,
    after_s: f64,
    /// Set once asked for; filled by the window system after the next frame.
    taken: Option<Arc<Mutex<Option<Arc<ColorImage>>>>>,
}

impl Shot {
    /// Asks for the picture when it is due, writes it when it is there. `Some`: over.
    fn poll(&mut self, ctx: &Context) -> Option<Result<(), GuiError>> {
        let Some(taken) = &self.taken else {
            if ctx.input(|i| i.time) >= self.after_s {
                let slot = Arc::new(Mutex::new(None));
                self.taken = Some(Arc::clone(&slot));
                ctx.request_screenshot(move |image| {
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(image);
                });
            }
            return None;
        };
        let image = taken.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let written = write_png(&self.path, &image);
        Some(written.map_err(|e| GuiError::Screenshot { path: self.path.clone(), reason: e.to_string() }))
    }
}

fn write_png(path: &std::path::Path, image: &ColorImage) -> Result<(), Box<dyn std::error::Error>> {
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let [width, height] = image.size;
    let mut encoder = png::Encoder::new(file, u32::try_from(width)?, u32::try_from(height)?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let rgb: Vec<u8> = image.pixels.iter().flat_map(|p| [p.r(), p.g(), p.b()]).collect();
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    Ok(writer.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_window_system_lose_the_place_in_its_source() {
        assert_eq!(reason("os error at /a/b.rs:788: Failed to open X"), "Failed to open X");
        assert_eq!(reason("EGL: no config"), "EGL: no config");
    }

    #[test]
    fn a_screenshot_is_a_png_of_the_window_and_a_bad_path_is_named() {
        let dir = std::env::temp_dir().join(format!("telehaptic-gui-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary folder");
        let image = ColorImage::filled([3, 2], egui::Color32::from_rgb(10, 20, 30));
        let path = dir.join("shot.png");
        write_png(&path, &image).expect("written");
        let mut reader = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&path).expect("there")))
            .read_info()
            .expect("PNG");
        let mut bytes = vec![0; reader.output_buffer_size().expect("small")];
        reader.next_frame(&mut bytes).expect("pixels");
        assert_eq!((reader.info().width, reader.info().height), (3, 2));
        assert_eq!(&bytes[..6], &[10, 20, 30, 10, 20, 30]);
        std::fs::remove_dir_all(&dir).expect("removed");

        let mut shot = Shot { path, after_s: 0.0, taken: Some(Arc::new(Mutex::new(Some(Arc::new(image))))) };
        let error = shot.poll(&Context::default()).expect("over").expect_err("the folder is gone");
        assert!(error.to_string().contains("shot.png"));
    }
}
