//! Colours, type and the few drawing helpers that all views share.

use std::sync::Arc;

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align, Color32, Context, CornerRadius, FontData, FontFamily, FontId, Pos2, Rect, Stroke, StrokeKind, Ui, vec2,
};

pub(crate) const WINDOW: Color32 = Color32::from_rgb(0x12, 0x15, 0x1a);
pub(crate) const CARD: Color32 = Color32::from_rgb(0x1c, 0x20, 0x27);
pub(crate) const WELL: Color32 = Color32::from_rgb(0x12, 0x15, 0x1a);
pub(crate) const EDGE: Color32 = Color32::from_rgb(0x30, 0x37, 0x42);
pub(crate) const TEXT: Color32 = Color32::from_rgb(0xec, 0xef, 0xf4);
pub(crate) const DIM: Color32 = Color32::from_rgb(0xa3, 0xad, 0xbb);
/// What is there, and not in use.
pub(crate) const FAINT: Color32 = Color32::from_rgb(0x73, 0x7d, 0x8b);
pub(crate) const BACKWARD: Color32 = Color32::from_rgb(0xff, 0xb4, 0x54);
pub(crate) const FORWARD: Color32 = Color32::from_rgb(0x5c, 0xb6, 0xff);
pub(crate) const PASS: Color32 = Color32::from_rgb(0x4f, 0xcf, 0x8f);
pub(crate) const FAIL: Color32 = Color32::from_rgb(0xff, 0x6b, 0x6b);
pub(crate) const WARN: Color32 = Color32::from_rgb(0xff, 0xc1, 0x4d);
pub(crate) const STOP: Color32 = Color32::from_rgb(0xcf, 0x22, 0x22);
pub(crate) const STOP_BANNER: Color32 = Color32::from_rgb(0x8f, 0x14, 0x14);
/// A button that somebody is waited for to press.
pub(crate) const ENGAGE: Color32 = Color32::from_rgb(0x1f, 0x6b, 0x45);
pub(crate) const ENGAGE_HOVERED: Color32 = Color32::from_rgb(0x2a, 0x85, 0x57);
pub(crate) const NOTICE: Color32 = Color32::from_rgb(0x2d, 0x3b, 0x52);

/// Space between cards, points.
pub(crate) const GAP: f32 = 10.0;

const MEDIUM: &str = "medium";

/// Sets fonts and colours; once per context.
pub(crate) fn install(ctx: &Context) {
    let mut fonts = egui::FontDefinitions::default();
    let mut add = |name: &str, bytes: &'static [u8]| {
        fonts.font_data.insert(name.to_owned(), Arc::new(FontData::from_static(bytes)));
    };
    add("roboto", include_bytes!("../../../assets/fonts/Roboto-Regular.ttf"));
    add("roboto-medium", include_bytes!("../../../assets/fonts/Roboto-Medium.ttf"));
    let fallback = fonts.families.get(&FontFamily::Proportional).cloned().unwrap_or_default();
    let family = |first: &str| std::iter::once(first.to_owned()).chain(fallback.iter().cloned()).collect();
    fonts.families.insert(FontFamily::Proportional, family("roboto"));
    fonts.families.insert(FontFamily::Name(MEDIUM.into()), family("roboto-medium"));
    ctx.set_fonts(fonts);

    ctx.set_theme(egui::Theme::Dark);
    let mut visuals = egui::Visuals::dark();
    visuals.panel_fill = WINDOW;
    visuals.extreme_bg_color = WELL;
    visuals.window_fill = CARD;
    visuals.window_stroke = Stroke::new(1.0, EDGE);
    visuals.override_text_color = Some(TEXT);
    ctx.set_visuals(visuals);
}

/// Size, weight and colour of a text.
#[derive(Clone, Copy)]
pub(crate) struct Ink {
    size: f32,
    family: Weight,
    color: Color32,
}

#[derive(Clone, Copy)]
enum Weight {
    Regular,
    Medium,
    Mono,
}

impl Ink {
    /// Running text.
    pub const BODY: Ink = Ink { size: 13.5, family: Weight::Regular, color: TEXT };
    /// Names of things, units.
    pub const NOTE: Ink = Ink { size: 12.5, family: Weight::Regular, color: DIM };
    /// One of many.
    pub const SMALL: Ink = Ink { size: 11.5, family: Weight::Regular, color: DIM };
    /// Title of a card.
    pub const TITLE: Ink = Ink { size: 14.0, family: Weight::Medium, color: TEXT };
    /// Values that are read at a glance.
    pub const VALUE: Ink = Ink { size: 16.0, family: Weight::Medium, color: TEXT };
    /// The two values that matter most.
    pub const LARGE: Ink = Ink { size: 30.0, family: Weight::Medium, color: TEXT };
    /// Text to be copied letter by letter.
    pub const MONO: Ink = Ink { size: 13.0, family: Weight::Mono, color: TEXT };

    /// In another colour.
    pub const fn colored(self, color: Color32) -> Ink {
        Ink { color, ..self }
    }

    /// Heavier.
    pub const fn strong(self) -> Ink {
        Ink { family: Weight::Medium, ..self }
    }

    /// The font.
    pub fn font(self) -> FontId {
        let family = match self.family {
            Weight::Regular => FontFamily::Proportional,
            Weight::Medium => FontFamily::Name(MEDIUM.into()),
            Weight::Mono => FontFamily::Monospace,
        };
        FontId::new(self.size, family)
    }
}

/// Writes one line into `rect`, centred in height, shortened with an ellipsis if it is too long; gives its place.
pub(crate) fn write(ui: &Ui, rect: Rect, align: Align, text: impl Into<String>, ink: Ink) -> Rect {
    let mut job = LayoutJob::simple_singleline(text.into(), ink.font(), ink.color);
    job.wrap =
        TextWrapping { max_width: rect.width().max(0.0), max_rows: 1, break_anywhere: true, ..Default::default() };
    let galley = ui.painter().layout_job(job);
    let x = match align {
        Align::Min => rect.left(),
        Align::Center => rect.center().x - galley.size().x * 0.5,
        Align::Max => rect.right() - galley.size().x,
    };
    let at = Pos2::new(x, rect.center().y - galley.size().y * 0.5);
    let place = Rect::from_min_size(at, galley.size());
    ui.painter().galley(at, galley, ink.color);
    place
}

/// A card with a title; gives the room below the title, and the title's line right of it.
pub(crate) fn card(ui: &Ui, rect: Rect, title: &str) -> (Rect, Rect) {
    frame(ui, rect);
    let inner = rect.shrink2(vec2(12.0, 9.0));
    let (line, room) = inner.split_top_bottom_at_y(inner.top() + 20.0);
    let written = write(ui, line, Align::Min, title, Ink::TITLE);
    let rest = Rect::from_min_max(Pos2::new((written.right() + 12.0).min(line.right()), line.top()), line.max);
    (room, rest)
}

/// A card without a title.
pub(crate) fn frame(ui: &Ui, rect: Rect) {
    ui.painter().rect(rect, CornerRadius::same(6), CARD, Stroke::new(1.0, EDGE), StrokeKind::Inside);
}

/// A horizontal bar filled to `share` (0 to 1).
pub(crate) fn bar(ui: &Ui, rect: Rect, share: f32, color: Color32) {
    let radius = CornerRadius::same(3);
    ui.painter().rect(rect, radius, WELL, Stroke::new(1.0, EDGE), StrokeKind::Inside);
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    if share > 0.0 {
        let inner = rect.shrink(1.0);
        let filled = Rect::from_min_size(inner.min, vec2(inner.width() * share, inner.height()));
        ui.painter().rect_filled(filled, radius, color);
    }
}

/// Cuts a rectangle into lines from the top.
pub(crate) struct Lines {
    rest: Rect,
}

impl Lines {
    pub fn new(rect: Rect) -> Self {
        Lines { rest: rect }
    }

    /// The next `height` points.
    pub fn take(&mut self, height: f32) -> Rect {
        let (top, rest) = self.rest.split_top_bottom_at_y((self.rest.top() + height).min(self.rest.bottom()));
        self.rest = rest;
        top
    }

    /// What is left.
    pub fn rest(&self) -> Rect {
        self.rest
    }
}

/// Cuts a rectangle into columns of these widths, points; the last entry may be 0 for the rest.
pub(crate) fn columns<const N: usize>(rect: Rect, widths: [f32; N]) -> [Rect; N] {
    let mut left = rect.left();
    widths.map(|width| {
        let right = if width > 0.0 { (left + width).min(rect.right()) } else { rect.right() };
        let column = Rect::from_min_max(Pos2::new(left.min(right), rect.top()), Pos2::new(right, rect.bottom()));
        left = right;
        column
    })
}
