//! Draws plots as SVG and as PNG of the same size. The font is ours, so that no font of the system is needed; the SVG
//! names it and whoever shows that takes what he has.

use std::error::Error;
use std::path::Path;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::element::{Circle, Cross, DynElement, IntoDynElement, PathElement, Text, TriangleMarker};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};
use sim::experiment::{Axis, Curve, Plot};

use crate::failure::Failure;

/// Width and height, pixels.
const SIZE: (u32, u32) = (1200, 700);
/// Width of the legend beside the plot, pixels.
const LEGEND: u32 = 250;
/// The colours of Okabe and Ito, which the colour-blind can tell apart, without yellow (too light for lines) and black.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(230, 159, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
];
const GREY: RGBColor = RGBColor(110, 110, 110);
/// A curve of more points is drawn with a thin line.
const DENSE: usize = 1_000;
const FONT: &str = "sans-serif";

/// Writes `stem`.svg and `stem`.png.
pub fn write(plot: &Plot, stem: &Path) -> Result<(), Failure> {
    static FONT_REGISTERED: Once = Once::new();
    FONT_REGISTERED.call_once(|| {
        let bytes = include_bytes!("../../../../assets/fonts/Roboto-Regular.ttf");
        // A font that is none shows when text is drawn.
        let _ = register_font(FONT, FontStyle::Normal, bytes);
    });
    let file = |ending: &str| {
        stem.with_file_name(format!("{}.{ending}", stem.file_name().unwrap_or_default().to_string_lossy()))
    };
    let cannot = |e: Box<dyn Error>| Failure::Failed(format!("the plot {} cannot be drawn: {e}", plot.name));
    let mut svg = String::new();
    draw(plot, SVGBackend::with_string(&mut svg, SIZE)).map_err(cannot)?;
    std::fs::write(file("svg"), svg).map_err(Failure::writing(&file("svg")))?;
    let mut pixels = vec![0; (SIZE.0 * SIZE.1 * 3) as usize];
    draw(plot, BitMapBackend::with_buffer(&mut pixels, SIZE)).map_err(cannot)?;
    std::fs::write(file("png"), png_of(&pixels).map_err(cannot)?).map_err(Failure::writing(&file("png")))
}

fn png_of(pixels: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

fn draw<B: DrawingBackend>(plot: &Plot, backend: B) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(SIZE.0 - LEGEND);
    let ([x_low, x_high], [y_low, y_high], limit) = ranges(plot);
    let mut chart = ChartBuilder::on(&left)
        .caption(&plot.title, (FONT, 26))
        .margin(14)
        .x_label_area_size(60)
        .y_label_area_size(80)
        .build_cartesian_2d(x_low..x_high, y_low..y_high)?;
    let steps = plot.curves.iter().all(|curve| curve.steps);
    let (y_labels, y_digits) = if steps { ((y_high - y_low) as usize + 1, 0) } else { (11, digits(y_high - y_low)) };
    let x_digits = digits(x_high - x_low);
    chart
        .configure_mesh()
        .x_desc(described(&plot.x))
        .y_desc(described(&plot.y))
        .axis_desc_style((FONT, 20))
        .label_style((FONT, 18))
        .x_labels(11)
        .y_labels(y_labels)
        .x_label_formatter(&|x| format!("{x:.x_digits$}"))
        .y_label_formatter(&|y| format!("{y:.y_digits$}"))
        .light_line_style(TRANSPARENT)
        .draw()?;
    if let Some(limit) = limit {
        let line = DashedLineSeries::new([(x_low, limit), (x_high, limit)], 8, 6, GREY.stroke_width(2));
        chart.draw_series(line)?;
    }
    for curve in &plot.curves {
        let style = colour(curve).stroke_width(if curve.points.len() > DENSE { 1 } else { 2 });
        let points = if curve.steps { stepped(&curve.points) } else { curve.points.clone() };
        if dashed(curve) {
            chart.draw_series(DashedLineSeries::new(points, 7, 5, style))?;
        } else {
            chart.draw_series(LineSeries::new(points, style))?;
        }
        if curve.marks {
            chart.draw_series(curve.points.iter().map(|&point| marker::<B, _>(curve, point)))?;
        }
    }
    legend(plot, limit.is_some(), &right)?;
    root.present()?;
    Ok(())
}

/// From where to where both axes go, and the limit if it lies there.
fn ranges(plot: &Plot) -> ([f64; 2], [f64; 2], Option<f64>) {
    let points = || plot.curves.iter().flat_map(|c| &c.points);
    let bounds = |values: &mut dyn Iterator<Item = f64>| {
        values.filter(|v| v.is_finite()).fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(v), h.max(v)])
    };
    let x = bounds(&mut points().map(|p| p.0));
    let [low, high] = bounds(&mut points().map(|p| p.1));
    // A limit far above everything would press the curves to the ground.
    let limit = plot.limit.as_ref().map(|l| l.0).filter(|&l| l <= 2.5 * high);
    let x = if x[1] > x[0] { x } else { [x[0] - 1.0, x[0] + 1.0] };
    if plot.curves.iter().all(|curve| curve.steps) {
        return (x, [low.min(0.0), high.ceil() + 1.0], limit);
    }
    // Many points far from zero need the whole height.
    let dense = plot.curves.iter().any(|curve| curve.points.len() > DENSE) && low > 0.3 * high;
    let (low, high) = (if dense { low } else { low.min(0.0) }, high.max(limit.unwrap_or(high)));
    let room = if high > low { 0.05 * (high - low) } else { 1.0 };
    (x, [if low == 0.0 { low } else { low - room }, high + room], limit)
}

/// Digits behind the point of labels at most eleven apart: their distance is 1, 2 or 5 times a power of ten.
fn digits(span: f64) -> usize {
    let least = span / 11.0;
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&step| step >= least).unwrap_or(least);
    (-(step.log10() + 1e-9).floor()).clamp(0.0, 6.0) as usize
}

fn described(axis: &Axis) -> String {
    if axis.unit.is_empty() { axis.title.clone() } else { format!("{} [{}]", axis.title, axis.unit) }
}

fn colour(curve: &Curve) -> RGBAColor {
    let colour = curve.colour.map_or(BLACK, |n| COLOURS[n % COLOURS.len()]);
    if curve.second { colour.mix(0.6) } else { colour.mix(1.0) }
}

/// Curves of the same colour differ in this and in their marks.
fn dashed(curve: &Curve) -> bool {
    curve.second || curve.colour.is_some_and(|n| n / COLOURS.len() == 1)
}

/// A mark for each round through the colours.
fn marker<B: DrawingBackend, C: Clone + PartialOrd + 'static>(curve: &Curve, at: C) -> DynElement<'static, B, C> {
    let style = colour(curve);
    match curve.colour.unwrap_or(0) / COLOURS.len() {
        0 if curve.second => Circle::new(at, 3, style.stroke_width(1)).into_dyn(),
        0 => Circle::new(at, 4, style.filled()).into_dyn(),
        1 => TriangleMarker::new(at, 6, style.filled()).into_dyn(),
        _ => Cross::new(at, 5, style.stroke_width(2)).into_dyn(),
    }
}

fn stepped(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut steps = Vec::new();
    for pair in points.windows(2) {
        steps.extend([pair[0], (pair[1].0, pair[0].1)]);
    }
    steps.extend(points.last());
    steps
}

fn legend<B: DrawingBackend>(plot: &Plot, limit: bool, area: &DrawingArea<B, Shift>) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    let text = TextStyle::from((FONT, 18)).pos(Pos::new(HPos::Left, VPos::Center));
    let mut y = 70;
    for curve in plot.curves.iter().filter(|c| !c.points.is_empty()) {
        let style = colour(curve).stroke_width(3);
        if dashed(curve) {
            for x in [6, 20, 34] {
                area.draw(&PathElement::new([(x, y), (x + 9, y)], style))?;
            }
        } else {
            area.draw(&PathElement::new([(6, y), (43, y)], style))?;
        }
        if curve.marks {
            area.draw(&marker::<B, _>(curve, (25, y)))?;
        }
        area.draw(&Text::new(curve.name.clone(), (54, y), text.clone()))?;
        y += 28;
    }
    if let Some((_, name)) = plot.limit.as_ref().filter(|_| limit) {
        for x in [6, 20, 34] {
            area.draw(&PathElement::new([(x, y), (x + 8, y)], GREY.stroke_width(2)))?;
        }
        area.draw(&Text::new(name.clone(), (54, y), text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_digits_they_need() {
        for (span, wanted) in [(400.0, 0), (10.5, 0), (11.5, 0), (5.0, 1), (0.72, 1), (0.5, 2), (1e-9, 6)] {
            assert_eq!(digits(span), wanted, "{span}");
        }
    }

    #[test]
    fn a_plot_of_one_point_or_of_equal_points_can_be_drawn() {
        let axis = |title: &str| Axis { title: title.into(), unit: "" };
        for points in [vec![(0.0, 0.0)], vec![(1.0, -2.0), (2.0, -2.0)], vec![(0.0, f64::NAN), (1.0, 1.0)]] {
            for steps in [false, true] {
                let curve = Curve {
                    name: "a".into(),
                    colour: Some(40),
                    second: true,
                    points: points.clone(),
                    steps,
                    marks: true,
                };
                let (x, y) = (axis("x"), axis("y"));
                let plot = Plot {
                    name: "p".into(),
                    title: "P".into(),
                    x,
                    y,
                    curves: vec![curve],
                    limit: Some((3.0, "l".into())),
                };
                let dir = tempfile::tempdir().unwrap();
                write(&plot, &dir.path().join("a.b")).unwrap();
                assert!(dir.path().join("a.b.svg").exists() && dir.path().join("a.b.png").exists());
            }
        }
    }
}
