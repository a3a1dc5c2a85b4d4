//! How each channel does: k and delay now, jitter, loss, rate, and for each medium a light with its word and the
//! point estimates beside.

use egui::{Align, Color32, Rect, Stroke, Ui, pos2, vec2};
use session::report::{MediumReport, Verdict};
use session::{ChannelSnapshot, Snapshot};

use crate::format::{number, with_unit};
use crate::theme::{self, GAP, Ink, Lines, columns, write};

/// Height of both channels' cards, points.
pub(super) const HEIGHT: f32 = 232.0;

/// Delay limit of the haptic medium, ms, while no report tells it.
pub(super) const HAPTIC_LIMIT_MS: f64 = 30.0;

/// The haptic delay limit that the channel's report applies, ms.
pub(super) fn limit_ms(channel: &ChannelSnapshot) -> f64 {
    channel.haptic.as_ref().map_or(HAPTIC_LIMIT_MS, |r| r.limits.delay_ms)
}

/// Both channels, side by side.
pub(super) fn channels(ui: &Ui, rect: Rect, snapshot: &Snapshot) {
    let (left, right) = rect.split_left_right_at_fraction(0.5);
    let backward = Channel {
        title: "Backward channel",
        route: "teleoperator to operator",
        color: theme::BACKWARD,
        carries_media: true,
        state: &snapshot.backward,
    };
    let forward = Channel {
        title: "Forward channel",
        route: "operator to teleoperator",
        color: theme::FORWARD,
        carries_media: false,
        state: &snapshot.forward,
    };
    backward.ui(ui, left.with_max_x(left.right() - GAP * 0.5));
    forward.ui(ui, right.with_min_x(right.left() + GAP * 0.5));
}

struct Channel<'a> {
    title: &'a str,
    route: &'a str,
    color: Color32,
    /// Audio and video go this way, too.
    carries_media: bool,
    state: &'a ChannelSnapshot,
}

impl Channel<'_> {
    fn ui(&self, ui: &Ui, rect: Rect) {
        let (room, beside) = theme::card(ui, rect, self.title);
        let stripe = Rect::from_min_size(rect.min + vec2(1.0, 12.0), vec2(3.0, 16.0));
        ui.painter().rect_filled(stripe, 0.0, self.color);
        write(ui, beside, Align::Max, self.route, Ink::NOTE);
        let mut lines = Lines::new(room);
        self.now(ui, lines.take(62.0));
        lines.take(4.0);
        self.small(ui, lines.take(38.0));
        lines.take(6.0);
        self.media(ui, lines.rest());
    }

    /// The two large values.
    fn now(&self, ui: &Ui, rect: Rect) {
        let [k, delay] = columns(rect, [92.0, 0.0]);
        let mut lines = Lines::new(k);
        write(ui, lines.take(20.0), Align::Min, "k now", Ink::NOTE);
        let text = self.state.k.map_or(crate::format::UNKNOWN.to_owned(), |k| k.to_string());
        write(ui, lines.take(38.0), Align::Min, text, Ink::LARGE.colored(self.color));

        let limit = limit_ms(self.state);
        let now = self.state.delay_ms.filter(|d| d.is_finite());
        let over = now.is_some_and(|d| d > limit);
        let mut lines = Lines::new(delay);
        let heads = lines.take(20.0);
        write(ui, heads, Align::Min, "haptic delay now", Ink::NOTE);
        if let Some(carries) = &self.state.carries {
            let worst = carries.worst_delay_ms;
            let text = if carries.feasible {
                format!("feasible, worst {worst:.0} ms")
            } else {
                format!("may reach {worst:.0} ms")
            };
            write(ui, heads, Align::Max, text, Ink::NOTE);
        }
        let value = lines.take(38.0);
        let color = if over { theme::FAIL } else { theme::TEXT };
        let written = write(ui, value, Align::Min, with_unit(now, 1, "ms"), Ink::LARGE.colored(color));
        let word = match now {
            None => "not known yet".to_owned(),
            Some(_) if over => format!("over {limit:.0} ms"),
            Some(_) => format!("within {limit:.0} ms"),
        };
        let ink = if over { Ink::BODY.strong().colored(theme::FAIL) } else { Ink::NOTE };
        let beside = value.with_min_x(written.right() + 8.0).translate(vec2(0.0, 5.0));
        write(ui, beside, Align::Min, word, ink);
    }

    fn small(&self, ui: &Ui, rect: Rect) {
        let s = self.state;
        let third = rect.width() / 3.0;
        let values = [
            ("jitter, last second", with_unit(s.jitter_ms, 2, "ms")),
            ("haptic loss", with_unit(s.loss_percent, 2, "%")),
            ("rate on the wire", with_unit(Some(s.kbps), 0, "kbit/s")),
        ];
        for (place, (what, value)) in columns(rect, [third, third, third]).into_iter().zip(values) {
            let mut lines = Lines::new(place);
            write(ui, lines.take(17.0), Align::Min, what, Ink::NOTE);
            write(ui, lines.take(20.0), Align::Min, value, Ink::VALUE);
        }
    }

    /// One row a medium: light, word, estimates over the session.
    fn media(&self, ui: &Ui, rect: Rect) {
        ui.painter().hline(rect.x_range(), rect.top(), Stroke::new(1.0, theme::EDGE));
        let mut lines = Lines::new(rect.with_min_y(rect.top() + 3.0));
        let heads = lines.take(18.0);
        write(ui, heads, Align::Min, "over the session", Ink::NOTE);
        for (place, what) in row(heads).into_iter().skip(2).zip(["p50 / p99 ms", "late %", "jitter", "loss %"]) {
            write(ui, place, Align::Max, what, Ink::NOTE);
        }
        let (audio, video) = (&self.state.audio, &self.state.video);
        self.medium(ui, lines.take(21.0), "haptic", &self.state.haptic, true);
        self.medium(ui, lines.take(21.0), "audio", audio, self.carries_media || audio.is_some());
        self.medium(ui, lines.take(21.0), "video", video, self.carries_media || video.is_some());
    }

    fn medium(&self, ui: &Ui, rect: Rect, name: &str, report: &Option<MediumReport>, carried: bool) {
        let [medium, verdict, delay, late, jitter, loss] = row(rect);
        write(ui, medium, Align::Min, name, Ink::BODY);
        light(ui, verdict, ChannelSnapshot::verdict(report));
        let Some(r) = report else {
            let text = if carried { "nothing measured yet" } else { "not carried on this channel" };
            write(ui, delay.with_max_x(rect.right()), Align::Max, text, Ink::NOTE);
            return;
        };
        let delays =
            r.delay_ms.map_or(crate::format::UNKNOWN.to_owned(), |d| format!("{} / {}", short(d.p50), short(d.p99)));
        write(ui, delay, Align::Max, delays, Ink::BODY);
        let mark = |bad: bool| if bad { Ink::BODY.strong().colored(theme::FAIL) } else { Ink::BODY };
        write(ui, late, Align::Max, percent(r.over_limit_percent), mark(r.over_limit_percent >= 1.0));
        let sample = r.jitter_ms.map(|j| j.sample);
        write(ui, jitter, Align::Max, number(sample, 2), mark(sample.is_some_and(|j| j > r.limits.jitter_ms)));
        write(ui, loss, Align::Max, percent(r.loss_percent), mark(r.loss_percent > r.limits.loss_percent));
    }
}

/// Milliseconds in at most four characters up to 9999.
fn short(ms: f64) -> String {
    number(Some(ms), if ms.abs() < 99.95 { 1 } else { 0 })
}

/// Percent in at most five characters.
fn percent(value: f64) -> String {
    number(Some(value), if value.abs() < 99.995 { 2 } else { 1 })
}

fn row(rect: Rect) -> [Rect; 6] {
    let spare = (rect.width() - 328.0).max(0.0);
    columns(rect, [48.0, 75.0, 77.0 + spare, 42.0, 42.0, 0.0])
}

/// A light that also differs in shape, and its word: full disc pass, crossed square fail, ring unknown.
fn light(ui: &Ui, rect: Rect, verdict: Verdict) {
    let center = rect.left_center() + vec2(6.0, 0.0);
    let painter = ui.painter();
    let (word, color) = match verdict {
        Verdict::Pass => {
            painter.circle_filled(center, 5.5, theme::PASS);
            ("pass", theme::PASS)
        }
        Verdict::Fail => {
            painter.rect_filled(Rect::from_center_size(center, vec2(11.0, 11.0)), 1.0, theme::FAIL);
            let cross = Stroke::new(1.5, theme::CARD);
            for side in [-1.0, 1.0] {
                let (a, b) = (pos2(center.x - 3.0, center.y - 3.0 * side), pos2(center.x + 3.0, center.y + 3.0 * side));
                painter.line_segment([a, b], cross);
            }
            ("fail", theme::FAIL)
        }
        Verdict::Unknown => {
            painter.circle_stroke(center, 4.5, Stroke::new(2.0, theme::DIM));
            ("unknown", theme::DIM)
        }
    };
    write(ui, rect.with_min_x(rect.left() + 18.0), Align::Min, word, Ink::BODY.strong().colored(color));
}
