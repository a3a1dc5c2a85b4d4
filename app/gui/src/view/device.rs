//! The page of the haptic device: a live triad with the hand in its workspace, a check of axes and units against what the
//! person does, and how reading and writing go.

use egui::{Align, Button, Color32, Key, Pos2, Rect, RichText, Stroke, StrokeKind, Ui, Vec2, vec2};
use session::{HapticSnapshot, Snapshot};

use super::controls;
use crate::format::{count, norm, number};
use crate::theme::{self, Ink, Lines, columns, write};

/// The key that opens and closes the page.
const KEY: Key = Key::D;
/// A stroke of so much along one axis, m, tells which one it is.
const STROKE: f32 = 0.02;
/// The other axes may move by this share of it.
const STRAIGHT: f32 = 0.5;
/// A force of so much is drawn as long as the radius of the workspace, N.
const LONG_FORCE: f32 = 5.0;

/// What a person is asked to do, the axis that should grow by it.
const STROKES: [(&str, char); 3] = [("move it to the right", 'x'), ("move it up", 'y'), ("pull it toward you", 'z')];

/// The page's own state.
#[derive(Debug, Default)]
pub(super) struct DevicePage {
    open: bool,
    check: AxisCheck,
    mark: Option<[f32; 3]>,
}

impl DevicePage {
    /// Is it shown? Takes its keys out of the input.
    pub fn is_open(&mut self, ui: &Ui) -> bool {
        if controls::take(ui, KEY) {
            self.toggle();
        }
        if self.open && controls::take(ui, Key::Escape) {
            self.open = false;
        }
        self.open
    }

    /// Opens or closes it.
    pub fn toggle(&mut self) {
        self.open = !self.open;
        *self = DevicePage { open: self.open, ..DevicePage::default() };
    }

    /// Draws the page over `rect`.
    pub fn ui(&mut self, ui: &mut Ui, rect: Rect, snapshot: &Snapshot) {
        let h = &snapshot.haptic;
        let (room, beside) = theme::card(ui, rect, "Haptic device");
        let close =
            Rect::from_min_max(Pos2::new(beside.right() - 84.0, beside.top() - 2.0), beside.max + vec2(0.0, 2.0));
        if ui.put(close, Button::new(RichText::new("Close  (D)").font(Ink::NOTE.font()))).clicked() {
            self.open = false;
        }
        write(ui, beside.with_max_x(close.left() - 10.0), Align::Max, &h.device, Ink::NOTE);
        let room = room.with_min_y(room.top() + 8.0);
        let side = (room.width() * 0.5).min(room.height() * 0.6);
        let (upper, lower) = room.split_top_bottom_at_y(room.top() + side);
        let [drawing, values] = columns(upper, [side, 0.0]);
        triad(ui, drawing, h);
        self.hand(ui, values.with_min_x(values.left() + 14.0), h);
        let (left, right) = lower.with_min_y(lower.top() + 12.0).split_left_right_at_fraction(0.5);
        self.axes(ui, left.with_max_x(left.right() - 14.0), h);
        health(ui, right, h);
    }

    /// Where the hand is, and how far from a mark: what a ruler says must be the same.
    fn hand(&mut self, ui: &mut Ui, rect: Rect, h: &HapticSnapshot) {
        let mut lines = Lines::new(rect);
        write(ui, lines.take(22.0), Align::Min, "Hand", Ink::TITLE);
        for (i, axis) in ["x, right", "y, up", "z, toward you"].into_iter().enumerate() {
            let text = format!("{} mm", number(Some(f64::from(h.position[i]) * 1e3), 1));
            pair(ui, lines.take(20.0), axis, &text);
        }
        let speed = format!("{} mm/s", number(Some(f64::from(norm(h.velocity)) * 1e3), 0));
        pair(ui, lines.take(20.0), "speed", &speed);
        pair(ui, lines.take(20.0), "force", &format!("{} N", number(Some(norm(h.force).into()), 2)));
        let pressed: Vec<String> =
            (0..32).filter(|bit| h.buttons >> bit & 1 == 1).map(|b| (b + 1).to_string()).collect();
        let pressed = if pressed.is_empty() { "none".into() } else { pressed.join(", ") };
        pair(ui, lines.take(20.0), "buttons pressed", &pressed);
        lines.take(8.0);
        write(ui, lines.take(22.0), Align::Min, "Units", Ink::TITLE);
        let text = match self.mark {
            Some(mark) => {
                let way = norm([0, 1, 2].map(|i| h.position[i] - mark[i]));
                format!("{} mm", number(Some(f64::from(way) * 1e3), 1))
            }
            None => "set a mark, move along a ruler".into(),
        };
        pair(ui, lines.take(20.0), "from the mark", &text);
        lines.take(4.0);
        let place = lines.take(28.0);
        if ui.put(place.with_max_x(place.left() + 110.0), plain("Set mark here")).clicked() {
            self.mark = Some(h.position);
        }
    }

    fn axes(&mut self, ui: &mut Ui, rect: Rect, h: &HapticSnapshot) {
        if h.fault.is_empty() && h.calibration.is_none() {
            self.check.step(h.position);
        }
        let mut lines = Lines::new(rect);
        write(ui, lines.take(22.0), Align::Min, "Axes: make these strokes, one after the other", Ink::TITLE);
        let stage = self.check.results.len();
        for (i, (words, axis)) in STROKES.into_iter().enumerate() {
            let (text, color) = match self.check.results.get(i) {
                Some(Ok(())) => (format!("{axis} grows, as it should"), theme::PASS),
                Some(Err(found)) => (format!("{found} grows instead of {axis}"), theme::FAIL),
                None if i == stage => ("now, by 20 mm".into(), theme::WARN),
                None => (String::new(), theme::DIM),
            };
            let [what, result] = columns(lines.take(20.0), [150.0, 0.0]);
            write(ui, what, Align::Min, words, Ink::BODY);
            write(ui, result, Align::Min, text, Ink::BODY.colored(color));
        }
        let verdict = match (stage < STROKES.len(), self.check.results.iter().any(Result::is_err)) {
            (_, true) => "wrong model, sign or mounting: use no force with it",
            (true, false) => "",
            (false, false) => "axes and signs are right",
        };
        write(ui, lines.take(22.0), Align::Min, verdict, Ink::BODY.strong());
        let place = lines.take(28.0);
        if ui.put(place.with_max_x(place.left() + 110.0), plain("Check again")).clicked() {
            self.check = AxisCheck::default();
        }
    }
}

/// Which axis grows when the person moves the hand as asked.
#[derive(Debug, Default)]
struct AxisCheck {
    from: Option<[f32; 3]>,
    /// One for each stroke that was made: right, or what grew instead ("-y").
    results: Vec<Result<(), String>>,
    /// Axis and sense of the last one.
    last: Option<(usize, bool)>,
}

impl AxisCheck {
    fn step(&mut self, position: [f32; 3]) {
        if self.results.len() == STROKES.len() || position.iter().any(|c| !c.is_finite()) {
            return;
        }
        let from = *self.from.get_or_insert(position);
        let way = [0, 1, 2].map(|i| position[i] - from[i]);
        let main = (0..3).max_by(|a, b| way[*a].abs().total_cmp(&way[*b].abs())).unwrap_or(0);
        if way[main].abs() < STROKE {
            return;
        }
        self.from = Some(position);
        // A crooked stroke says nothing: begin anew from here.
        if (0..3).any(|i| i != main && way[i].abs() > STRAIGHT * way[main].abs()) {
            return;
        }
        let grows = way[main] > 0.0;
        // Back to where it came from is how a hand gets ready for the next stroke, once.
        if self.last.take() == Some((main, !grows)) {
            return;
        }
        self.last = Some((main, grows));
        let right = main == self.results.len() && grows;
        let found = format!("{}{}", if grows { "" } else { "-" }, STROKES[main].1);
        self.results.push(if right { Ok(()) } else { Err(found) });
    }
}

/// The three axes in parallel projection, the workspace, the hand with its shadow on the ground, the force on it.
fn triad(ui: &Ui, rect: Rect, h: &HapticSnapshot) {
    let painter = ui.painter().with_clip_rect(rect);
    painter.rect(rect, 4.0, theme::WELL, Stroke::new(1.0, theme::EDGE), StrokeKind::Inside);
    let radius = if h.workspace_radius > 0.0 { h.workspace_radius } else { 0.05 };
    let scale = rect.width() * 0.36 / radius;
    let center = rect.center() - vec2(rect.width() * 0.05, 0.0);
    let flat = |p: [f32; 3]| -> Pos2 {
        // z comes out of the screen, to the lower left.
        center + vec2(p[0] - 0.45 * p[2], -p[1] + 0.35 * p[2]) * scale
    };
    painter.circle_stroke(center, radius * scale, Stroke::new(1.0, theme::EDGE));
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let mut end = [0.0; 3];
        end[axis] = radius;
        painter.line_segment([flat([0.0; 3]), flat(end)], Stroke::new(2.0, COLORS[axis]));
        let out = (flat(end) - center).normalized() * 12.0;
        let place = Rect::from_center_size(flat(end) + out, Vec2::splat(18.0));
        write(ui, place, Align::Center, name, Ink::BODY.strong().colored(COLORS[axis]));
    }
    if h.position.iter().chain(&h.force).any(|c| !c.is_finite()) {
        return;
    }
    let hand = flat(h.position);
    let ground = flat([h.position[0], 0.0, h.position[2]]);
    painter.line_segment([ground, hand], Stroke::new(1.0, theme::DIM));
    painter.circle_stroke(ground, 3.0, Stroke::new(1.0, theme::DIM));
    let tip = flat([0, 1, 2].map(|i| h.position[i] + h.force[i] * radius / LONG_FORCE));
    if norm(h.force) > 0.01 {
        painter.arrow(hand, tip - hand, Stroke::new(2.5, theme::WARN));
    }
    painter.circle_filled(hand, 6.0, theme::TEXT);
}

/// Red, green and blue for x, y and z, as everywhere.
const COLORS: [Color32; 3] =
    [Color32::from_rgb(0xff, 0x6b, 0x6b), Color32::from_rgb(0x4f, 0xcf, 0x8f), Color32::from_rgb(0x5c, 0xb6, 0xff)];

/// How reading and writing go.
fn health(ui: &Ui, rect: Rect, h: &HapticSnapshot) {
    let mut lines = Lines::new(rect);
    write(ui, lines.take(22.0), Align::Min, "Reading and writing", Ink::TITLE);
    let n = &h.health;
    let ms = |us: u32| number(Some(f64::from(us) / 1e3), 2);
    if n.reports == 0 && n.garbage == 0 {
        write(ui, lines.take(20.0), Align::Min, "no reports: not a device at a cable", Ink::NOTE);
    } else {
        let reports = format!("{} a second, {} in all", count(n.rate_hz.into()), count(n.reports));
        pair(ui, lines.take(20.0), "reports", &reports);
        let lost = format!("{} missing, {} garbage", count(n.missing), count(n.garbage));
        pair(ui, lines.take(20.0), "lost", &lost);
        let queue = format!("{} ms now, {} at most", ms(n.queue_age_us), ms(n.max_queue_age_us));
        pair(ui, lines.take(20.0), "queue", &queue);
        pair(ui, lines.take(20.0), "used after", &format!("{} ms (p50)", ms(n.age_p50_us)));
        let written = format!("{} of {} written", count(n.written), count(n.forces));
        pair(ui, lines.take(20.0), "forces", if h.shows_force { &written } else { "none: an input device" });
        pair(ui, lines.take(20.0), "unplugged", &format!("{} times", count(n.losses)));
    }
    if !h.fault.is_empty() {
        write(ui, lines.take(20.0), Align::Min, &h.fault, Ink::BODY.colored(theme::WARN));
    }
}

fn pair(ui: &Ui, rect: Rect, name: &str, value: &str) {
    let [label, place] = columns(rect, [108.0, 0.0]);
    write(ui, label, Align::Min, name, Ink::NOTE);
    write(ui, place, Align::Min, value, Ink::BODY);
}

fn plain(caption: &str) -> Button<'_> {
    Button::new(RichText::new(caption).font(Ink::NOTE.font()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks to each of these points, mm, in steps of a millimetre.
    fn walk(points: &[[f32; 3]]) -> Vec<Result<(), String>> {
        let mut check = AxisCheck::default();
        let mut at = [0.0f32; 3];
        for point in points {
            for step in 1..=50 {
                let share = step as f32 / 50.0;
                check.step([0, 1, 2].map(|i| (at[i] + (point[i] - at[i]) * share) / 1e3));
            }
            at = *point;
        }
        check.results
    }

    #[test]
    fn three_strokes_tell_the_axes() {
        // Back in between, and with a little crookedness.
        let good = walk(&[[25.0, 4.0, -3.0], [0.0, 0.0, 0.0], [2.0, 26.0, 0.0], [0.0; 3], [0.0, 3.0, 25.0]]);
        assert_eq!(good, [Ok(()), Ok(()), Ok(())]);
        // Without going back.
        assert_eq!(walk(&[[25.0, 0.0, 0.0], [25.0, 25.0, 0.0], [25.0, 25.0, 25.0]]), [Ok(()), Ok(()), Ok(())]);
        let swapped = walk(&[[0.0, 25.0, 0.0], [0.0, 25.0, -25.0]]);
        assert_eq!(swapped, [Err("y".to_owned()), Err("-z".to_owned())]);
        let err = |found: &str| Err(found.to_owned());
        // x and y swapped, and x reversed, each with the way back in between.
        let swapped = walk(&[[0.0, 25.0, 0.0], [0.0; 3], [25.0, 0.0, 0.0], [0.0; 3], [0.0, 0.0, 25.0]]);
        assert_eq!(swapped, [err("y"), err("x"), Ok(())]);
        let reversed = walk(&[[-25.0, 0.0, 0.0], [0.0; 3], [0.0, 25.0, 0.0], [0.0; 3], [0.0, 0.0, 25.0]]);
        assert_eq!(reversed, [err("-x"), Ok(()), Ok(())]);
    }

    #[test]
    fn neither_rest_nor_a_crooked_stroke_nor_nonsense_says_anything() {
        assert_eq!(walk(&[[5.0, 5.0, 5.0], [0.0; 3]]), []);
        assert_eq!(walk(&[[30.0, 28.0, 0.0]]), []);
        let mut check = AxisCheck::default();
        check.step([f32::NAN; 3]);
        assert!(check.from.is_none() && check.results.is_empty());
    }
}
