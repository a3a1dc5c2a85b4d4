//! The teleoperator's table: where the slave should be, where it is, what it touches.

use egui::{Align, Rect, Stroke, Ui};
use session::HapticSnapshot;

use crate::format::{UNKNOWN, norm, number};
use crate::theme::{self, Ink, Lines, columns, write};

/// Height of the table, points.
pub(super) const HEIGHT: f32 = 88.0;

/// Desired and actual position, contact force.
pub(super) fn table(ui: &Ui, rect: Rect, h: &HapticSnapshot) {
    ui.painter().hline(rect.x_range(), rect.top(), Stroke::new(1.0, theme::EDGE));
    let mut lines = Lines::new(rect.with_min_y(rect.top() + 4.0));
    let [_, x, y, z, length] = row(lines.take(18.0));
    for (place, what) in [(x, "x"), (y, "y"), (z, "z"), (length, "length")] {
        write(ui, place, Align::Max, what, Ink::NOTE);
    }
    let mm = |p: [f32; 3]| p.map(|c| c * 1e3);
    let off = h.desired.map(|d| norm([0, 1, 2].map(|i| (d[i] - h.position[i]) * 1e3)));
    vector(ui, lines.take(19.0), "Desired position, mm", h.desired.map(mm), None);
    let apart = off.map_or(UNKNOWN.to_owned(), |off| format!("{off:.1} mm apart"));
    vector(ui, lines.take(19.0), "Actual position, mm", Some(mm(h.position)), Some(apart));
    let newtons = h.contact.map(|c| format!("{} N", number(Some(norm(c).into()), 2)));
    vector(ui, lines.take(19.0), "Contact force, N", h.contact, Some(newtons.unwrap_or(UNKNOWN.into())));
}

fn vector(ui: &Ui, rect: Rect, name: &str, value: Option<[f32; 3]>, length: Option<String>) {
    let [label, x, y, z, last] = row(rect);
    write(ui, label, Align::Min, name, Ink::NOTE);
    for (i, place) in [x, y, z].into_iter().enumerate() {
        write(ui, place, Align::Max, number(value.map(|v| v[i].into()), 2), Ink::BODY);
    }
    if let Some(length) = length {
        write(ui, last, Align::Max, length, Ink::BODY.strong());
    }
}

fn row(rect: Rect) -> [Rect; 5] {
    let rest = rect.width() - 150.0;
    columns(rect, [150.0, rest * 0.23, rest * 0.23, rest * 0.23, 0.0])
}
