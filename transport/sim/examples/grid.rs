//! Chooses the constants of DPM's rivals: runs each scheme over a grid of constants and prints what each point gives, the
//! best last: `cargo run --release -p telehaptic-sim --example grid [SCHEME]...`. `docs/evaluation.md` publishes the result, and
//! `proto::RivalConfig` has the best as its defaults.
//!
//! A point's score is what the scheme is to avoid: the share of haptic samples late or lost on the backward channel and
//! that of lost cross-traffic packets, percent, summed over the loads; of points within a tenth of a percent the one with
//! the better mean SNR wins.

use netem::Scenario;
use proto::{RivalConfig, Scheme, TriggerConfig};
use telehaptic_sim::source::Source;
use telehaptic_sim::{Reference, RunSpec, SimError, run_with_snr};

/// R_cbr of `paper/rN`, kbit/s.
const LOADS: [u32; 5] = [0, 100, 260, 300, 400];
const SECONDS: f64 = 60.0;
const SEED: u64 = 1;

/// A point of the grid.
struct Point {
    name: String,
    constants: RivalConfig,
}

fn point(name: String, change: impl FnOnce(&mut RivalConfig)) -> Point {
    let mut constants = RivalConfig::default();
    change(&mut constants);
    Point { name, constants }
}

fn triggers(change: impl Fn(f64, u32, usize, f64) -> Point) -> Vec<Point> {
    let mut points = Vec::new();
    for weight in [0.02, 0.05, 0.1] {
        for rises in [4, 6, 8] {
            for window in [64, 128] {
                for tolerance in [0.25, 0.4] {
                    points.push(change(weight, rises, window, tolerance));
                }
            }
        }
    }
    points
}

fn grid(scheme: Scheme) -> Vec<Point> {
    let waits = [1, 2, 4, 8];
    match scheme {
        Scheme::Nafcah => triggers(|ewma_weight, rises, window, tolerance_ms| {
            point(format!("weight {ewma_weight}, rises {rises}, window {window}, tolerance {tolerance_ms} ms"), |c| {
                c.nafcah = TriggerConfig { ewma_weight, rises, window, tolerance_ms, ..c.nafcah };
            })
        }),
        Scheme::RtpReport => {
            let mut points = Vec::new();
            for ewma_weight in [0.5, 1.0] {
                for rises in [1, 2] {
                    for window in [2, 3, 5, 8] {
                        for tolerance_ms in [0.5, 1.0, 2.0, 4.0] {
                            let name = format!(
                                "weight {ewma_weight}, rises {rises}, window {window}, tolerance {tolerance_ms} ms"
                            );
                            points.push(point(name, |c| {
                                c.rtp = TriggerConfig { ewma_weight, rises, window, tolerance_ms, ..c.rtp };
                            }));
                        }
                    }
                }
            }
            points
        }
        Scheme::Weber | Scheme::WeberFirstOrder => [0.05, 0.1, 0.15, 0.2]
            .into_iter()
            .flat_map(|deadband| {
                waits.map(|media_wait| {
                    point(format!("deadband {deadband}, media wait {media_wait} ms"), |c| {
                        (c.deadband, c.media_wait, c.even_media_wait) = (deadband, media_wait, media_wait);
                    })
                })
            })
            .collect(),
        Scheme::Opportunistic => [0.2, 0.3, 0.5]
            .into_iter()
            .flat_map(|most| [3.0, 6.0, 10.0].map(|ms| (most, ms)))
            .flat_map(|(deadband_max, congested_ms)| {
                waits.map(|media_wait| {
                    let name = format!("deadband to {deadband_max} at {congested_ms} ms, media wait {media_wait} ms");
                    point(name, |c| {
                        (c.deadband_max, c.congested_ms, c.media_wait) = (deadband_max, congested_ms, media_wait);
                    })
                })
            })
            .collect(),
        Scheme::Etp => [(2.0, 1.0), (4.0, 2.0), (8.0, 4.0)]
            .into_iter()
            .flat_map(|limits| [30, 60, 120].map(|pause| (limits, pause)))
            .flat_map(|(limits, pause)| {
                waits.map(|media_wait| {
                    let ((low, high), name) = (
                        (limits.1, limits.0),
                        format!("{} / {} ms, pause {pause} ms, media wait {media_wait} ms", limits.0, limits.1),
                    );
                    point(name, |c| {
                        (c.etp_high_ms, c.etp_low_ms, c.etp_pause_ms, c.even_media_wait) =
                            (high, low, pause, media_wait);
                    })
                })
            })
            .collect(),
        Scheme::LossMerge => [1, 2, 4]
            .into_iter()
            .flat_map(|bad| [5, 10, 20, 60].map(|good| (bad, good)))
            .map(|(bad, good)| {
                point(format!("{bad} bad reports up, {good} good ones down"), |c| {
                    (c.loss_reports, c.clear_reports) = (bad, good);
                })
            })
            .collect(),
        Scheme::VisualHaptic => [620.0, 660.0, 690.0, 720.0, 760.0]
            .into_iter()
            .flat_map(|kbps| [0.1, 0.2].map(|deadband| (kbps, deadband)))
            .flat_map(|(kbps, deadband)| {
                waits.map(|media_wait| {
                    point(format!("{kbps} kbit/s, deadband {deadband}, media wait {media_wait} ms"), |c| {
                        (c.visual_haptic_kbps, c.deadband, c.even_media_wait) = (kbps, deadband, media_wait);
                    })
                })
            })
            .collect(),
        _ => vec![point("no constants".into(), |_| {})],
    }
}

/// What a point gives over all loads.
struct Result {
    name: String,
    score: f64,
    worst_ms: f64,
    snr_db: f64,
}

fn judge(
    scheme: Scheme,
    point: &Point,
    source: &Source,
    reference: &Reference,
) -> std::result::Result<Result, SimError> {
    let (mut score, mut worst_ms, mut snr) = (0.0, 0.0f64, 0.0);
    for load in LOADS {
        let Ok(scenario) = Scenario::load(&format!("paper/r{load}")) else { continue };
        let mut spec = RunSpec::new(scenario, scheme);
        (spec.seconds, spec.seed) = (SECONDS, SEED);
        let constants = point.constants;
        spec.session.configure = Box::new(move |c| c.rivals = constants);
        let outcome = run_with_snr(spec, source, reference)?;
        let haptic = &outcome.report.channels.backward.haptic;
        let cross = outcome.report.cross_traffic.map_or(0.0, |c| c.backward.lost_percent);
        score += haptic.over_limit_percent + haptic.loss_percent + cross;
        worst_ms = worst_ms.max(haptic.delay_ms.map_or(f64::INFINITY, |d| d.max));
        snr += outcome.details.force_snr_db.unwrap_or(f64::NAN);
    }
    let snr_db = snr / LOADS.len() as f64;
    Ok(Result { name: point.name.clone(), score, worst_ms, snr_db })
}

fn main() -> std::result::Result<(), SimError> {
    let source = Source::ClosedLoop(Box::default());
    let reference = Reference::new(&source, SEED, SECONDS)?;
    println!("loads R_cbr {LOADS:?} kbit/s, {SECONDS} s each, seed {SEED}, closed loop");
    let asked: Vec<String> = std::env::args().skip(1).collect();
    for scheme in Scheme::all().filter(|s| asked.is_empty() || asked.contains(&s.to_string())) {
        let mut results: Vec<Result> = Vec::new();
        for point in grid(scheme) {
            results.push(judge(scheme, &point, &source, &reference)?);
        }
        results.sort_by(|a, b| b.score.total_cmp(&a.score));
        println!("\n{scheme}\n  score  worst ms   SNR dB  constants");
        for r in &results {
            println!("{:7.2} {:9.2} {:8.2}  {}", r.score, r.worst_ms, r.snr_db, r.name);
        }
        let least = results.last().map_or(0.0, |r| r.score);
        let best = results.iter().filter(|r| r.score <= least + 0.1).max_by(|a, b| a.snr_db.total_cmp(&b.snr_db));
        if let Some(best) = best {
            println!("best: {}", best.name);
        }
    }
    Ok(())
}
