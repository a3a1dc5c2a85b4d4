//! The guide to a device whose position means nothing yet: what to do with it, and which axes are done.

use egui::{Align, Button, Rect, RichText, Stroke, StrokeKind, Ui, vec2};
use session::{CalibrationSnapshot, Command};

use crate::theme::{self, Ink, Lines, columns, write};

/// Height of the card with the gap above it, points.
pub(super) const HEIGHT: f32 = 92.0;

/// Draws the card; gives the wish of a person who presses its button.
pub(super) fn card(ui: &mut Ui, rect: Rect, calibration: &CalibrationSnapshot) -> Option<Command> {
    let rect = rect.with_min_y(rect.top() + theme::GAP);
    let (room, beside) = theme::card(ui, rect, "Calibration");
    ui.painter().rect_stroke(rect, 6.0, Stroke::new(1.5, theme::WARN), StrokeKind::Inside);
    axes(ui, beside, calibration.homed);
    let mut lines = Lines::new(room.with_min_y(room.top() + 4.0));
    let [words, button] = columns(lines.take(34.0), [room.width() - 130.0, 0.0]);
    // A sentence or two.
    let galley = ui.painter().layout(calibration.guide.clone(), Ink::BODY.font(), theme::TEXT, words.width() - 8.0);
    ui.painter().galley(words.min, galley, theme::TEXT);
    let caption = RichText::new("Calibrate  (C)").font(Ink::BODY.strong().font());
    let place = Rect::from_center_size(button.center(), vec2(button.width(), 30.0));
    let told = "the device is where it has to be: begin, or take this pose as the reference";
    ui.put(place, Button::new(caption)).on_hover_text(told).clicked().then_some(Command::Calibrate)
}

/// Filled once done.
fn axes(ui: &Ui, rect: Rect, homed: [bool; 3]) {
    let mut right = rect.right();
    for (axis, done) in homed.into_iter().enumerate().rev() {
        let place = rect.with_max_x(right);
        let text = format!("axis {} {}", axis + 1, if done { "done" } else { "open" });
        let color = if done { theme::PASS } else { theme::DIM };
        right = write(ui, place, Align::Max, text, Ink::NOTE.colored(color)).left() - 12.0;
    }
}
