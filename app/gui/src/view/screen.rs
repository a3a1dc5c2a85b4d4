//! The picture, as large as it fits, with what is known of picture and sound.

use egui::{Align, Color32, CornerRadius, Rect, TextureHandle, Ui, Vec2, pos2};
use session::{AvSnapshot, Snapshot};

use crate::format::count;
use crate::theme::{self, Ink, columns, write};

/// Draws the picture with a line on each stream.
pub(super) fn screen(ui: &Ui, rect: Rect, snapshot: &Snapshot, picture: Option<&TextureHandle>, title: &str) {
    let (room, beside) = theme::card(ui, rect, title);
    write(ui, beside, Align::Max, &snapshot.video.device, Ink::NOTE);
    let (view, below) = room.split_top_bottom_at_y(room.bottom() - 40.0);
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
    let (first, second) = below.split_top_bottom_at_fraction(0.5);
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
