//! The lines across the window: who and how long on top with the scheme selector, the banner, the log below.

use egui::{Align, Color32, CornerRadius, Rect, Sense, Stroke, Ui, UiBuilder, vec2};
use session::{Command, LinkState, Scheme, Snapshot};

use crate::format::{UNKNOWN, clock, count, with_unit};
use crate::theme::{self, Ink, Lines, columns, write};

/// State of the link in a word, and its colour.
pub(super) fn link_word(snapshot: &Snapshot) -> (&'static str, Color32) {
    match snapshot.link {
        _ if snapshot.ended.is_some() => ("ended", theme::DIM),
        LinkState::Waiting if snapshot.is_operator => ("calling the teleoperator", theme::WARN),
        LinkState::Waiting => ("waiting for an operator", theme::WARN),
        LinkState::Connected => ("connected", theme::PASS),
        LinkState::Silent => ("peer silent", theme::FAIL),
        LinkState::Left => ("peer left", theme::WARN),
    }
}

/// Name, link, times and the scheme selector.
pub(super) fn header(ui: &mut Ui, rect: Rect, snapshot: &Snapshot) -> Option<Command> {
    ui.painter().rect_filled(rect, 0.0, theme::CARD);
    ui.painter().hline(rect.x_range(), rect.bottom(), Stroke::new(1.0, theme::EDGE));
    let inner = rect.shrink2(vec2(16.0, 0.0));
    let [name, link, times, scheme] = columns(inner, [196.0, 290.0, inner.width() - 196.0 - 290.0 - 250.0, 250.0]);

    let role = if snapshot.is_operator { "operator" } else { "teleoperator" };
    let title = write(ui, name, Align::Min, "telehaptic", Ink::VALUE);
    write(ui, name.with_min_x(title.right() + 8.0), Align::Min, role, Ink::BODY.colored(theme::DIM));

    let (word, color) = link_word(snapshot);
    let dot = link.left_center() + vec2(5.0, 0.0);
    ui.painter().circle_filled(dot, 5.0, color);
    let word = write(ui, link.with_min_x(link.left() + 18.0), Align::Min, word, Ink::BODY.strong().colored(color));
    if !snapshot.peer.is_empty() {
        write(ui, link.with_min_x(word.right() + 8.0), Align::Min, &snapshot.peer, Ink::NOTE);
    }

    let bound = match with_unit(snapshot.clock_bound_ms, 2, "ms") {
        unknown if unknown == UNKNOWN => unknown,
        bound => format!("±{bound}"),
    };
    let skew = with_unit(snapshot.clock_skew_ppm, 1, "ppm");
    let facts = [
        ("running", clock(snapshot.uptime_s), 0.25),
        ("round trip", with_unit(snapshot.rtt_ms, 1, "ms"), 0.25),
        ("clock error", bound, 0.25),
        ("drift", skew, 0.25),
    ];
    let mut left = times.left();
    for (what, value, share) in facts {
        let place = Rect::from_min_size(egui::pos2(left, times.top() + 7.0), vec2(times.width() * share, 36.0));
        let mut lines = Lines::new(place);
        write(ui, lines.take(16.0), Align::Min, what, Ink::NOTE);
        write(ui, lines.take(20.0), Align::Min, value, Ink::BODY.strong());
        left += times.width() * share;
    }
    selector(ui, scheme, snapshot.scheme)
}

fn selector(ui: &mut Ui, rect: Rect, current: Option<Scheme>) -> Option<Command> {
    let [label, place] = columns(rect, [104.0, 0.0]);
    let mut lines = Lines::new(Rect::from_center_size(label.center(), vec2(label.width(), 34.0)));
    write(ui, lines.take(18.0), Align::Min, "Scheme", Ink::BODY);
    write(ui, lines.take(16.0), Align::Min, "both channels", Ink::NOTE);
    let place = Rect::from_center_size(place.center(), vec2(place.width(), 30.0));
    let mut chosen = None;
    ui.scope_builder(UiBuilder::new().max_rect(place), |ui| {
        ui.spacing_mut().interact_size.y = 30.0;
        let shown = current.map_or("unknown".to_owned(), |s| s.to_string());
        egui::ComboBox::from_id_salt("scheme").width(place.width()).height(360.0).selected_text(shown).show_ui(
            ui,
            |ui| {
                for scheme in schemes() {
                    if ui.selectable_label(current == Some(scheme), scheme.to_string()).clicked()
                        && current != Some(scheme)
                    {
                        chosen = Some(Command::Scheme(scheme));
                    }
                }
            },
        );
    });
    chosen
}

/// All schemes that can be chosen.
fn schemes() -> impl Iterator<Item = Scheme> {
    Scheme::all()
}

/// Is there something that must not be missed?
pub(super) fn has_banner(snapshot: &Snapshot) -> bool {
    snapshot.ended.is_some() || snapshot.haptic.stopped_here || snapshot.haptic.stopped_there
}

/// End of the station, or emergency stop.
pub(super) fn banner(ui: &Ui, rect: Rect, snapshot: &Snapshot) {
    let (text, fill) = if let Some(why) = &snapshot.ended {
        (format!("The station has ended: {why}"), theme::NOTICE)
    } else {
        let text = match (snapshot.haptic.stopped_here, snapshot.haptic.stopped_there) {
            (true, true) => {
                "EMERGENCY STOP pressed here and at the peer: force is off at both stations until both release"
            }
            (true, false) => "EMERGENCY STOP pressed here: force is off at both stations until you release it",
            _ => "EMERGENCY STOP pressed at the peer: force is off at both stations until the peer releases it",
        };
        (text.to_owned(), theme::STOP_BANNER)
    };
    ui.painter().rect_filled(rect, CornerRadius::same(6), fill);
    write(ui, rect.shrink2(vec2(14.0, 0.0)), Align::Center, text, Ink::BODY.strong());
}

/// The newest lines of the log, newest last, and what was thrown away.
pub(super) fn log(ui: &mut Ui, rect: Rect, snapshot: &Snapshot) {
    let (room, beside) = theme::card(ui, rect, "Log");
    let d = &snapshot.dropped;
    let dropped = format!(
        "datagrams thrown away:  foreign {}   garbage {}   duplicate {}   socket buffer full {}",
        count(d.foreign),
        count(d.garbage),
        count(d.duplicate),
        count(d.kernel)
    );
    write(ui, beside, Align::Max, dropped, Ink::NOTE);
    let rows = 3;
    let first = snapshot.log.len().saturating_sub(rows);
    let mut lines = Lines::new(room.with_min_y(room.top() + 2.0));
    for line in &snapshot.log[first..] {
        write(ui, lines.take(18.0), Align::Min, line, Ink::BODY);
    }
    if snapshot.log.is_empty() {
        write(ui, lines.take(18.0), Align::Min, "nothing has happened yet", Ink::NOTE);
    }
    // The older lines, for who points at it.
    let whole = ui.interact(rect, ui.scope_id().with("log"), Sense::hover());
    if first > 0 {
        whole.on_hover_ui(|ui| {
            for line in snapshot.log.iter().rev().take(24).rev() {
                ui.label(line);
            }
        });
    }
}
