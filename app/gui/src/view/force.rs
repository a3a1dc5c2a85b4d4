//! The local device: is force on, how strong, how far let through, how the 1 kHz loop does.

use egui::{Align, Button, Rect, RichText, Ui, vec2};
use session::{HapticSnapshot, Snapshot};

use super::safety;
use crate::format::{count, norm, number, with_unit};
use crate::theme::{self, Ink, Lines, bar, columns, write};

/// Height of the panel with the buttons below it, points.
pub(super) const HEIGHT: f32 = 272.0;

/// Draws the panel; gives the room left below for what the window adds, and whether the device's page is asked for.
pub(super) fn panel(ui: &mut Ui, rect: Rect, snapshot: &Snapshot) -> (Rect, bool) {
    let h = &snapshot.haptic;
    let title = if snapshot.is_operator { "Master device and force" } else { "Slave device and force" };
    let (room, beside) = theme::card(ui, rect, title);
    let more = beside.with_min_x((beside.right() - 84.0).max(beside.left())).expand2(vec2(0.0, 2.0));
    let page = ui.put(more, Button::new(RichText::new("Device  (D)").font(Ink::NOTE.font())));
    let page = page.on_hover_text("reports, axes and units").clicked();
    write(ui, beside.with_max_x(more.left() - 10.0), Align::Max, &h.device, Ink::NOTE);
    let mut lines = Lines::new(room);
    let line = lines.take(26.0);
    let said = state(ui, line, h);
    let rest = line.with_min_x((said.right() + 12.0).min(line.right()));
    if h.force_off.is_empty() && !h.stopped_here && !h.stopped_there {
        write(ui, rest, Align::Max, &snapshot.coupling, Ink::NOTE);
    }

    let force = norm(h.force);
    let share = force / h.max_force.max(1e-6);
    let text = format!("{} of {} N", number(Some(force.into()), 2), number(Some(h.max_force.into()), 1));
    gauge(ui, lines.take(22.0), "Force", share, if share > 0.95 { theme::WARN } else { theme::FORWARD }, &text);
    let engaged = format!("{} %", number(Some(f64::from(h.engagement) * 100.0), 0));
    gauge(ui, lines.take(22.0), "Engagement", h.engagement, theme::PASS, &engaged);

    let line = lines.take(21.0);
    let (left, right) = line.split_left_right_at_fraction(0.58);
    let [x, y, z] = h.position.map(|c| number(Some(f64::from(c) * 1e3), 1));
    named(ui, left, "Position", &format!("x {x}   y {y}   z {z} mm"));
    let age = with_unit(h.sample_age_ms, 1, "ms");
    write(ui, right, Align::Max, format!("newest sample of the peer: {age} old"), Ink::NOTE);

    let missed = 100.0 * h.missed as f64 / (h.ticks.max(1)) as f64;
    let servo = format!("{} ticks, {} missed ({missed:.3} %)", count(h.ticks), count(h.missed));
    named(ui, lines.take(20.0), "1 kHz loop", &servo);
    let [p50, p99, max] = h.late_us.map(|v| number(Some(v), 1));
    let late = format!("p50 {p50}   p99 {p99}   max {max} µs");
    let line = lines.take(20.0);
    let place = named(ui, line, "Lateness", &late);
    write(ui, line.with_min_x((place.right() + 12.0).min(line.right())), Align::Max, &h.priority, Ink::NOTE);
    lines.take(2.0);
    safety::strip(ui, lines.take(safety::HEIGHT), &h.safety);
    lines.take(4.0);
    (lines.rest(), page)
}

/// In words: is force on, and if not, why. Gives their place.
fn state(ui: &Ui, rect: Rect, h: &HapticSnapshot) -> Rect {
    let (word, why, color) = if h.stopped_here {
        ("Force off", "emergency stop pressed here", theme::FAIL)
    } else if h.stopped_there {
        ("Force off", "emergency stop pressed at the peer", theme::FAIL)
    } else if !h.force_off.is_empty() {
        (if h.engagement > 0.0 { "Force limited" } else { "Force off" }, h.force_off.as_str(), theme::WARN)
    } else if !h.shows_force {
        ("No force", "an input device", theme::DIM)
    } else if h.engagement <= 0.0 {
        ("Force off", "not engaged yet", theme::WARN)
    } else if h.engagement >= 1.0 {
        ("Force on", "", theme::PASS)
    } else {
        ("Force rising", "engagement ramp", theme::WARN)
    };
    let center = rect.left_center() + vec2(6.0, 0.0);
    if word == "Force on" {
        ui.painter().circle_filled(center, 5.5, color);
    } else {
        ui.painter().rect_filled(Rect::from_center_size(center, vec2(11.0, 11.0)), 1.0, color);
    }
    let written = write(ui, rect.with_min_x(rect.left() + 20.0), Align::Min, word, Ink::VALUE.colored(color));
    if why.is_empty() {
        written
    } else {
        write(ui, rect.with_min_x(written.right() + 10.0), Align::Min, why, Ink::BODY)
    }
}

fn gauge(ui: &Ui, rect: Rect, name: &str, share: f32, color: egui::Color32, text: &str) {
    let [label, place, value] = columns(rect, [84.0, rect.width() - 84.0 - 104.0, 0.0]);
    write(ui, label, Align::Min, name, Ink::NOTE);
    bar(ui, Rect::from_center_size(place.center(), vec2(place.width(), 12.0)), share, color);
    write(ui, value, Align::Max, text, Ink::BODY.strong());
}

fn named(ui: &Ui, rect: Rect, name: &str, text: &str) -> Rect {
    let [label, value] = columns(rect, [84.0, 0.0]);
    write(ui, label, Align::Min, name, Ink::NOTE);
    write(ui, value, Align::Min, text, Ink::BODY)
}
