//! What an experiment draws, as numbers: axes, curves, limits. Whoever has ink does the rest.

use super::job::Job;
use super::quantity::Quantity;
use super::result::{JobResult, Series};
use super::table::{groups, over_runs};
use super::{Drawing, Experiment};

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it shows.
    pub title: String,
    /// In which unit; empty for none.
    pub unit: &'static str,
}

/// A curve with its place in the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// In the legend.
    pub name: String,
    /// Which colour: curves of one scheme have one number. `None`: what they are all compared with.
    pub colour: Option<usize>,
    /// Drawn lighter, as the second of two quantities of a scheme.
    pub second: bool,
    /// x and y, x rising.
    pub points: Vec<(f64, f64)>,
    /// Holds a value until the next.
    pub steps: bool,
    /// Marks at the points.
    pub marks: bool,
}

/// One picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// For the name of its file: letters, digits and `-`.
    pub name: String,
    /// Above it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// Curves in the order of the legend.
    pub curves: Vec<Curve>,
    /// A limit on y, and its name.
    pub limit: Option<(f64, String)>,
}

/// All pictures of an experiment, of the runs that have a result. Those without a point are left out.
pub fn plots(experiment: &Experiment, jobs: &[Job], results: &[Option<JobResult>]) -> Vec<Plot> {
    let groups = groups(jobs, results);
    let mut plots = Vec::new();
    for drawing in &experiment.drawings {
        match drawing {
            Drawing::Curves(quantities) => plots.push(sweep(experiment, &groups, quantities)),
            _ => {
                for (_, network) in &experiment.networks {
                    let here = |group: &&Vec<(&Job, &JobResult)>| group[0].0.key.scenario == network.name;
                    let groups: Vec<_> = groups.iter().filter(here).collect();
                    plots.push(over_time(experiment, &network.name, &groups, drawing));
                }
            }
        }
    }
    plots.retain(|plot| plot.curves.iter().any(|curve| !curve.points.is_empty()));
    plots
}

fn sweep(experiment: &Experiment, groups: &[Vec<(&Job, &JobResult)>], quantities: &[Quantity]) -> Plot {
    let mut curves = Vec::new();
    for (colour, &scheme) in experiment.schemes.iter().enumerate() {
        for (i, &quantity) in quantities.iter().enumerate() {
            let point = |group: &Vec<(&Job, &JobResult)>| {
                let job = group[0].0;
                let y = over_runs(group, 0, quantity).filter(|_| job.scheme() == scheme)?.0;
                Some((f64::from(job.cross_kbps?), y))
            };
            let points: Vec<(f64, f64)> = groups.iter().filter_map(point).collect();
            let name = if quantities.len() > 1 { format!("{scheme}, {}", short(quantity)) } else { scheme.to_string() };
            curves.push(Curve { name, colour: Some(colour), second: i > 0, points, steps: false, marks: true });
        }
    }
    let names: Vec<String> = quantities.iter().map(Quantity::to_string).collect();
    let titles: Vec<String> = quantities.iter().map(Quantity::title).collect();
    let unit = quantities[0].unit();
    Plot {
        name: names.join("-"),
        title: experiment.title.clone(),
        x: Axis { title: "CBR cross-traffic R_cbr".into(), unit: "kbit/s" },
        y: Axis { title: titles.join(", "), unit },
        curves,
        limit: quantities[0].limit().map(|limit| (limit, format!("limit {limit} {unit}"))),
    }
}

/// The statistic alone: `max` of `haptic-max`.
fn short(quantity: Quantity) -> String {
    let name = quantity.to_string();
    name.rsplit('-').next().unwrap_or(&name).into()
}

fn over_time(experiment: &Experiment, network: &str, groups: &[&Vec<(&Job, &JobResult)>], drawing: &Drawing) -> Plot {
    let of_series: fn(&Series) -> Vec<(f64, f64)> = match drawing {
        Drawing::MergeFactor => |s| in_seconds(&s.k),
        Drawing::Force => |_| Vec::new(),
        _ => |s| in_seconds(&s.delay_ms),
    };
    let from = experiment.window_ms.map_or(0.0, |(from, _)| from as f64);
    let force = |values: &[f64]| -> Vec<(f64, f64)> {
        values.iter().enumerate().map(|(i, &force)| ((from + i as f64) / 1e3, force)).collect()
    };
    let steps = matches!(drawing, Drawing::MergeFactor);
    let curve = |name: String, colour, points| Curve { name, colour, second: false, points, steps, marks: false };
    let mut curves = Vec::new();
    // The first run of each scheme stands for all seeds.
    let series = |group: &&Vec<(&Job, &JobResult)>| Some((group[0].0.scheme(), group[0].1.series.clone()?));
    for (colour, (scheme, series)) in groups.iter().filter_map(series).enumerate() {
        let points = match drawing {
            Drawing::Force => {
                if colour == 0 {
                    curves.push(curve("ideal network".into(), None, force(&series.ideal_force_n)));
                }
                force(&series.force_n)
            }
            _ => of_series(&series),
        };
        curves.push(curve(scheme.to_string(), Some(colour), points));
    }
    let (name, title, unit, limit) = match drawing {
        Drawing::MergeFactor => ("k", "k, backward channel", "", None),
        Drawing::Force => ("force", "force displayed to the operator", "N", None),
        _ => ("delay", "haptic delay, backward channel", "ms", Some((30.0, "limit 30 ms".to_string()))),
    };
    let network_name: String =
        network.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect::<String>();
    Plot {
        name: format!("{name}-{}", network_name.trim_start_matches("paper-").trim_matches('-')),
        title: format!("{}: {network}", experiment.title),
        x: Axis { title: "time".into(), unit: "s" },
        y: Axis { title: title.into(), unit },
        curves,
        limit,
    }
}

fn in_seconds(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().map(|&(ms, y)| (ms / 1e3, y)).collect()
}
