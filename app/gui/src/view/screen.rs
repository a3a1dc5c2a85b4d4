//! The picture, as large as it fits, with what is known of picture and sound.

use egui::{Align, Color32, CornerRadius, Rect, TextureHandle, Ui, Vec2, pos2};
use session::{AvSnapshot, Snapshot};

use crate::format::count;
use crate::theme::{self, Ink, Lines, columns, write};

/// What the meter spans below full scale, dB.
const METER_DB: f32 = 60.0;

/// Draws the picture with a line on each stream.
pub(super) fn screen(ui: &Ui, rect: Rect, snapshot: &Snapshot, picture: Option<&TextureHandle>, title: &str) {
    let (room, beside) = theme::card(ui, rect, title);
    write(ui, beside, Align::Max, &snapshot.video.device, Ink::NOTE);
    let (view, below) = room.split_top_bottom_at_y(room.bottom() - 60.0);
    let view = view.with_min_y(view.top() + 4.0).with_max_y(view.bottom() - 4.0);
    ui.painter().rect_filled(view, CornerRadius::same(4), Color32::BLACK);
    match picture {
        Some(texture) => {
            let place = fit(view, texture.size_vec2());
            let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
            ui.painter().image(texture.id(), place, whole, Color32::WHITE);
        }
        None => {
            write(ui, view, Align::Center, "no picture yet", Ink::BODY.colored(theme::DIM));
        }
    }
    let mut lines = Lines::new(below);
    let [first, second, third] = [20.0; 3].map(|height| lines.take(height));
    let done = if snapshot.is_operator { "shown" } else { "sent" };
    stream(ui, first, "Picture", &snapshot.video, done, snapshot.is_operator);
    stream(
        ui,
        second,
        "Sound",
        &snapshot.audio,
        if snapshot.is_operator { "played" } else { "sent" },
        snapshot.is_operator,
    );
    level(ui, third, snapshot);
}

/// How loud it is, and what keeps an echo away.
fn level(ui: &Ui, rect: Rect, snapshot: &Snapshot) {
    let [label, meter, text] = columns(rect, [60.0, rect.width() * 0.3, 0.0]);
    write(ui, label, Align::Min, "Level", Ink::NOTE);
    let text = text.with_min_x(text.left() + 10.0);
    let meter = Rect::from_center_size(meter.center(), egui::vec2(meter.width(), 10.0));
    let Some(level) = snapshot.audio.level else {
        theme::bar(ui, meter, 0.0, theme::PASS);
        write(ui, text, Align::Min, "no sound", Ink::NOTE);
        return;
    };
    let share = |dbfs: f32| 1.0 + dbfs / METER_DB;
    let color = if level.clipped { theme::FAIL } else { theme::PASS };
    theme::bar(ui, meter, share(level.rms_dbfs), color);
    if level.peak_dbfs > -METER_DB {
        let x = egui::lerp(meter.x_range(), share(level.peak_dbfs).clamp(0.0, 1.0));
        ui.painter().vline(x, meter.y_range(), egui::Stroke::new(2.0, theme::TEXT));
    }
    let (words, ink) = if level.clipped {
        ("too loud: it is cut off".to_owned(), Ink::BODY.colored(theme::FAIL))
    } else {
        (format!("{} dBFS", crate::format::number(Some(level.rms_dbfs.into()), 0)), Ink::BODY)
    };
    let written = write(ui, text, Align::Min, words, ink);
    if snapshot.is_operator {
        let rest = text.with_min_x((written.right() + 12.0).min(text.right()));
        write(ui, rest, Align::Max, "use a headset: no echo", Ink::NOTE);
    }
}

/// The largest place within `room` of the proportions of `size`.
fn fit(room: Rect, size: Vec2) -> Rect {
    let scale = (room.width() / size.x.max(1.0)).min(room.height() / size.y.max(1.0));
    Rect::from_center_size(room.center(), size * scale)
}

fn stream(ui: &Ui, rect: Rect, name: &str, stream: &AvSnapshot, done: &str, is_operator: bool) {
    let [label, text] = columns(rect, [60.0, 0.0]);
    write(ui, label, Align::Min, name, Ink::NOTE);
    if stream.fault.is_empty() {
        let mut facts = format!("{} frames {done}, {} skipped", count(stream.frames), count(stream.skipped));
        if !is_operator {
            facts += &format!(", {} bytes waiting", count(stream.backlog_bytes));
        }
        let written = write(ui, text, Align::Min, facts, Ink::BODY);
        if name == "Sound" {
            let rest = text.with_min_x((written.right() + 12.0).min(text.right()));
            write(ui, rest, Align::Max, &stream.device, Ink::NOTE);
        }
    } else {
        write(ui, text, Align::Min, format!("fault: {}", stream.fault), Ink::BODY.colored(theme::WARN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::vec2;

    #[test]
    fn pictures_keep_their_proportions() {
        let room = Rect::from_min_size(pos2(10.0, 10.0), vec2(400.0, 200.0));
        let tall = fit(room, vec2(320.0, 240.0));
        assert!((tall.height() - 200.0).abs() < 1e-3 && (tall.width() / tall.height() - 4.0 / 3.0).abs() < 1e-4);
        assert!(room.expand(0.01).contains_rect(fit(room, vec2(1000.0, 10.0))));
        assert!(fit(room, Vec2::ZERO).is_finite());
    }
}
