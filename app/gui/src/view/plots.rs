//! k and delay over the last 30 s: backward a full line, forward a dashed one.

use egui::{Align, Color32, Rangef, Rect, Ui, UiBuilder, vec2};
use egui_plot::{AxisHints, GridMark, HLine, Line, LineStyle, Plot};
use session::{HistoryPoint, Snapshot};

use super::network;
use crate::theme::{self, GAP, Ink, write};

/// Seconds shown.
const SPAN_S: f64 = 30.0;

/// Delay above, k below.
pub(super) fn plots(ui: &mut Ui, rect: Rect, snapshot: &Snapshot) {
    let (delay, k) =
        rect.split_top_bottom_at_y(rect.bottom() - (0.44 * rect.height()).max(108.0).min(0.52 * rect.height()));
    delay_plot(ui, delay.with_max_y(delay.bottom() - GAP * 0.5), snapshot);
    k_plot(ui, k.with_min_y(k.top() + GAP * 0.5), snapshot);
}

fn delay_plot(ui: &mut Ui, rect: Rect, snapshot: &Snapshot) {
    let (room, beside) = theme::card(ui, rect, "Haptic delay, one way");
    legend(ui, beside);
    let limit = network::limit_ms(&snapshot.backward).min(network::limit_ms(&snapshot.forward));
    let now = newest(snapshot);
    let series = |history: &[HistoryPoint]| {
        let points = history.iter().map(|p| (p.at_s - now, f64::from(p.delay_ms)));
        segments(points.filter(|p| p.0 >= -SPAN_S), |v| v.is_finite())
    };
    let (backward, forward) = (series(&snapshot.backward.history), series(&snapshot.forward.history));
    let peak = backward.iter().chain(&forward).flatten().map(|p| p[1]).fold(0.0, f64::max);
    // Whole steps, so that the axis stands still while the delay plays.
    let top = ((peak.max(limit * 1.4) + 5.0) / 15.0).ceil().min(1000.0) * 15.0;
    show(
        ui,
        room,
        "delay",
        (0.0, top),
        |mark| format!("{:.0} ms", mark.value),
        move |plot| {
            let line =
                HLine::new("limit", limit).color(theme::FAIL).width(1.5).style(LineStyle::Dotted { spacing: 5.0 });
            plot.hline(line);
            draw(plot, backward, forward);
            let at = egui_plot::PlotPoint::new(-SPAN_S + 0.3, limit);
            let text = egui::RichText::new(format!("limit {limit:.0} ms")).font(Ink::NOTE.font()).color(theme::FAIL);
            plot.text(egui_plot::Text::new("limit", at, text).color(theme::FAIL).anchor(egui::Align2::LEFT_BOTTOM));
        },
    );
}

fn k_plot(ui: &mut Ui, rect: Rect, snapshot: &Snapshot) {
    let (room, beside) = theme::card(ui, rect, "Merge factor k");
    legend(ui, beside);
    let now = newest(snapshot);
    let series = |history: &[HistoryPoint]| {
        let points = history.iter().map(|p| (p.at_s - now, f64::from(p.k))).filter(|p| p.0 >= -SPAN_S);
        stairs(segments(points, |k| k >= 1.0))
    };
    let (backward, forward) = (series(&snapshot.backward.history), series(&snapshot.forward.history));
    let peak = backward.iter().chain(&forward).flatten().map(|p| p[1]).fold(4.0, f64::max);
    show(
        ui,
        room,
        "k",
        (0.5, peak + 0.5),
        |mark| format!("k = {:.0}", mark.value),
        move |plot| {
            draw(plot, backward, forward);
        },
    );
}

/// The moment at the right edge, s.
fn newest(snapshot: &Snapshot) -> f64 {
    let last = |h: &[HistoryPoint]| h.last().map_or(0.0, |p| p.at_s);
    last(&snapshot.backward.history).max(last(&snapshot.forward.history))
}

/// Runs of points with known values.
fn segments(points: impl Iterator<Item = (f64, f64)>, known: impl Fn(f64) -> bool) -> Vec<Vec<[f64; 2]>> {
    let mut runs = vec![Vec::new()];
    for (x, y) in points {
        if !known(y) {
            runs.push(Vec::new());
        } else if let Some(run) = runs.last_mut() {
            run.push([x, y]);
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// A value holds until the next point.
fn stairs(runs: Vec<Vec<[f64; 2]>>) -> Vec<Vec<[f64; 2]>> {
    let step = |run: Vec<[f64; 2]>| {
        let mut out: Vec<[f64; 2]> = Vec::with_capacity(run.len() * 2);
        for point in run {
            match out.last().copied() {
                Some(last) if last[1] != point[1] => out.extend([[point[0], last[1]], point]),
                _ => out.push(point),
            }
        }
        out
    };
    runs.into_iter().map(step).collect()
}

fn draw(plot: &mut egui_plot::PlotUi<'_>, backward: Vec<Vec<[f64; 2]>>, forward: Vec<Vec<[f64; 2]>>) {
    for run in backward {
        plot.line(Line::new("backward", run).color(theme::BACKWARD).width(1.8));
    }
    for run in forward {
        let dashes = LineStyle::Dashed { length: 7.0 };
        plot.line(Line::new("forward", run).color(theme::FORWARD).width(1.8).style(dashes));
    }
}

fn show<'a>(
    ui: &mut Ui,
    rect: Rect,
    name: &'static str,
    (low, high): (f64, f64),
    label: impl Fn(GridMark) -> String + 'a,
    add: impl FnOnce(&mut egui_plot::PlotUi<'a>) + 'a,
) {
    // Room for the half of "now" that stands right of its mark.
    let rect = rect.with_min_y(rect.top() + 3.0).with_max_x(rect.right() - 10.0);
    ui.scope_builder(UiBuilder::new().max_rect(rect).id_salt(name), |ui| {
        ui.style_mut().text_styles.insert(egui::TextStyle::Body, Ink::NOTE.font());
        ui.visuals_mut().override_text_color = Some(theme::DIM);
        let height = high - low;
        // Labels need 15.5 points each; the time axis takes 20.
        let least = 15.5 * height / f64::from(rect.height() - 20.0).max(1.0);
        let steps: &[i32] = if height < 10.0 { &[1, 2, 4] } else { &[15, 30, 60, 150, 300, 1500] };
        let step = steps.iter().copied().find(|s| f64::from(*s) >= least).unwrap_or(6000);
        let values = AxisHints::new_y().min_thickness(48.0).label_spacing(Rangef::new(8.0, 15.0));
        // The upper half of a label at the very top would be cut off.
        let highest = high - 0.05 * height;
        let values = values.formatter(move |mark, range| {
            if range.contains(&mark.value) && mark.value <= highest { label(mark) } else { String::new() }
        });
        Plot::new(name)
            .width(rect.width())
            .height(rect.height())
            .allow_drag(false)
            .allow_zoom(false)
            .allow_scroll(false)
            .allow_boxed_zoom(false)
            .allow_double_click_reset(false)
            .allow_axis_zoom_drag(false)
            .show_crosshair(false)
            .grid_color(theme::EDGE)
            .label_formatter(|_| None)
            .set_margin_fraction(vec2(0.0, 0.0))
            .default_x_bounds(-SPAN_S, 0.0)
            .default_y_bounds(low, high)
            .x_grid_spacer(|_| marks(-30, 0, 5))
            .y_grid_spacer(move |_| if height < 10.0 { marks(step, 8, step) } else { marks(0, 15_000, step) })
            .x_axis_formatter(|mark, _| match mark.value {
                // The label of the left edge would run into that of the value axis.
                v if v <= -SPAN_S => String::new(),
                0.0 => "now".into(),
                v => format!("{v:.0} s"),
            })
            .custom_y_axes(vec![values])
            .show(ui, move |plot| {
                plot.set_plot_bounds_x(-SPAN_S..=0.0);
                plot.set_plot_bounds_y(low..=high);
                add(plot);
            });
    });
}

fn marks(from: i32, to: i32, step: i32) -> Vec<GridMark> {
    let step_by = usize::try_from(step).unwrap_or(1).max(1);
    (from..=to).step_by(step_by).map(|v| GridMark { value: f64::from(v), step_size: f64::from(step) }).collect()
}

fn legend(ui: &Ui, rect: Rect) {
    let mut right = rect.right();
    for (name, color, dashed) in
        [("forward, dashed", theme::FORWARD, true), ("backward, full line", theme::BACKWARD, false)]
    {
        let place = write(ui, rect.with_max_x(right), Align::Max, name, Ink::NOTE);
        let from = place.left() - 30.0;
        sample(ui, from, rect.center().y, color, dashed);
        right = from - 14.0;
    }
}

fn sample(ui: &Ui, x: f32, y: f32, color: Color32, dashed: bool) {
    let parts: &[(f32, f32)] = if dashed { &[(0.0, 10.0), (14.0, 24.0)] } else { &[(0.0, 24.0)] };
    for (from, to) in parts {
        ui.painter().hline(x + from..=x + to, y, egui::Stroke::new(2.0, color));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_split_lines_and_values_hold_until_the_next() {
        let points = [(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0), (3.0, 4.0)];
        let runs = segments(points.into_iter(), |v| v.is_finite());
        assert_eq!(runs, vec![vec![[0.0, 1.0]], vec![[2.0, 3.0], [3.0, 4.0]]]);
        assert_eq!(stairs(runs)[1], vec![[2.0, 3.0], [3.0, 3.0], [3.0, 4.0]]);
    }
}
