//! The main job, judged from its report: a teleoperator and an operator as two processes, real UDP between them
//! through the live emulator at a congested bottleneck.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::board::Outcome;
use crate::json::Json;
use crate::shell;

/// Length of a run, s.
const SECONDS: u64 = 30;
/// Runs of one kind.
const RUNS: usize = 3;
/// Runs of one kind at most, while none was free of noise: this machine is shared, and its host stalls threads now and
/// then, for minutes in a row.
const MOST_RUNS: usize = 10;

/// What is run, and what its report must show.
pub struct Case {
    scenario: &'static str,
    scheme: &'static str,
}

/// A congested link at which DPM moves between 3 and 4.
pub const DPM_R400: Case = Case { scenario: "paper/r400", scheme: "dpm" };
/// A link at which DPM moves over its whole range.
pub const DPM_R260: Case = Case { scenario: "paper/r260", scheme: "dpm" };
/// The same congested link without DPM.
pub const NO_MERGE_R400: Case = Case { scenario: "paper/r400", scheme: "no-merge" };

/// What one report says against the limits.
#[derive(Debug, Default, PartialEq)]
struct Judgement {
    /// Broken in one run, the case has failed.
    broken: Vec<String>,
    /// One run of several must be free of these.
    noisy: Vec<String>,
}

impl Judgement {
    /// Notes `what` unless it holds. A figure that is missing does not hold.
    fn must(&mut self, holds: bool, what: impl Into<String>) {
        if !holds {
            self.broken.push(what.into());
        }
    }

    fn best_of(&mut self, holds: bool, what: impl Into<String>) {
        if !holds {
            self.noisy.push(what.into());
        }
    }
}

/// Runs a case three times, or until one run was free of noise, and prints every run. What does not depend on the machine
/// must hold in each, everything in the best.
pub fn run(case: &Case) -> Outcome {
    let (mut best, mut broken) = (None::<String>, Vec::new());
    for number in 1..=MOST_RUNS {
        match once(case, number) {
            Err(e) => broken.push(e),
            Ok((line, judgement)) => {
                println!("run {number}: {line}");
                for text in judgement.broken.iter().chain(&judgement.noisy) {
                    println!("run {number}: does not hold: {text}");
                }
                broken.extend(judgement.broken);
                if judgement.noisy.is_empty() {
                    best.get_or_insert(line);
                }
            }
        }
        if !broken.is_empty() || (number >= RUNS && best.is_some()) {
            break;
        }
    }
    match (broken.first(), best) {
        (Some(first), _) => Outcome::Failed(first.clone()),
        (None, Some(line)) => Outcome::Passed(line),
        (None, None) => Outcome::Failed(format!("in none of {MOST_RUNS} runs did everything hold")),
    }
}

fn once(case: &Case, number: usize) -> Result<(String, Judgement), String> {
    let seconds = SECONDS.to_string();
    let mut command = Command::new("target/release/telehaptic");
    command.args(["demo", "--headless", "--seconds", &seconds, "--scenario", case.scenario, "--scheme", case.scheme]);
    command.args(["--report", "-"]);
    let said = shell::quiet(&mut command, Duration::from_secs(SECONDS + 60))?;
    let name = format!("{}-{}-{number}", case.scenario.replace('/', "-"), case.scheme);
    keep(&format!("{name}.json"), &said.out);
    keep(&format!("{name}.log"), &said.err);
    if said.code != Some(0) {
        let lines: Vec<&str> = said.err.lines().collect();
        let tail = lines[lines.len().saturating_sub(10)..].join("\n");
        println!("{tail}");
        return Err(format!("the demo ended with {:?}: {}", said.code, lines.last().unwrap_or(&"")));
    }
    let report = Json::parse(&said.out)?;
    Ok((summary(&report), judge(&report, case.scheme, SECONDS as f64)))
}

/// Reports and logs stay for whoever wants to look.
fn keep(name: &str, text: &str) {
    let folder = std::path::Path::new("target/acceptance");
    if let Err(e) = fs::create_dir_all(folder).and_then(|()| fs::write(folder.join(name), text)) {
        println!("warning: target/acceptance/{name} cannot be written: {e}");
    }
}

fn figure(report: &Json, path: &str) -> f64 {
    report.at(path).number().unwrap_or(f64::NAN)
}

fn summary(report: &Json) -> String {
    let mut parts = Vec::new();
    for channel in ["backward", "forward"] {
        let f = |path: &str| figure(report, &format!("channels.{channel}.{path}"));
        parts.push(format!(
            "{channel} sent {} lost {} ({:.2} %), delay p50 {:.2} p99 {:.2} max {:.2} ms, late {:.2} %",
            f("haptic.sent"),
            f("haptic.lost"),
            f("haptic.loss_percent"),
            f("haptic.delay_ms.p50"),
            f("haptic.delay_ms.p99"),
            f("haptic.delay_ms.max"),
            f("haptic.over_limit_percent"),
        ));
    }
    let missed = figure(report, "system.servo.missed");
    let ticks = figure(report, "system.servo.ticks");
    format!("{}; ticks missed {missed} of {ticks}", parts.join("; "))
}

/// The limits of the main job against a report of a run of `seconds`.
fn judge(report: &Json, scheme: &str, seconds: f64) -> Judgement {
    let mut judgement = Judgement::default();
    // The warm-up is left out of the figures.
    let measured = seconds - 0.5;
    for channel in ["backward", "forward"] {
        let at = |path: &str| format!("channels.{channel}.{path}");
        let f = |path: &str| figure(report, &at(path));
        let sent = f("haptic.sent");
        judgement.must(sent >= 0.99 * 1000.0 * measured, format!("{channel}: {sent} samples sent in {measured} s"));
        if scheme == "no-merge" {
            continue;
        }
        let lost = f("haptic.lost");
        judgement.must(lost == 0.0, format!("{channel}: {lost} haptic samples lost"));
        let p50 = f("haptic.delay_ms.p50");
        judgement.must(p50 < 26.0, format!("{channel}: haptic p50 is {p50:.2} ms, not below 26"));
        let media: &[&str] = if channel == "backward" { &["haptic", "audio", "video"] } else { &["haptic"] };
        for medium in media {
            let compliant = *report.at(&at(&format!("{medium}.compliant"))) == Json::Bool(true);
            let (late, loss) = (f(&format!("{medium}.over_limit_percent")), f(&format!("{medium}.loss_percent")));
            let jitter = f(&format!("{medium}.jitter_ms.sample"));
            judgement.best_of(
                compliant,
                format!("{channel}: {medium} is not compliant: late {late} %, lost {loss} %, jitter {jitter} ms"),
            );
        }
    }
    for channel in ["backward", "forward"] {
        let flows = report.at(&format!("cross_traffic.{channel}.flows")).list();
        judgement.must(!flows.is_empty(), format!("{channel}: no cross-traffic in the report"));
        for flow in flows {
            let (kbps, nominal) = (figure(flow, "kbps"), figure(flow, "nominal_kbps"));
            let name = flow.at("name").text().unwrap_or_default();
            judgement.must(kbps >= 0.99 * nominal, format!("{channel}: flow {name} sent {kbps} of {nominal} kbit/s"));
        }
    }
    // The host stalls a thread for some milliseconds now and then: that is no property of the program.
    let share = figure(report, "system.servo.missed") / figure(report, "system.servo.ticks");
    judgement.best_of(share < 0.001, format!("{:.3} % of the ticks were missed", 100.0 * share));
    if scheme == "no-merge" {
        let loss = figure(report, "channels.backward.haptic.loss_percent");
        judgement.must((10.0..=22.0).contains(&loss), format!("backward: haptic loss {loss:.2} %, not 10 to 22"));
        let p50 = figure(report, "channels.backward.haptic.delay_ms.p50");
        judgement.must((90.0..=115.0).contains(&p50), format!("backward: haptic p50 {p50:.2} ms, not 90 to 115"));
    }
    judgement
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(lost: u32, p50: f64, compliant: bool, kbps: f64) -> Json {
        let medium = format!(
            r#"{{"sent":29500,"lost":{lost},"loss_percent":0.0,"over_limit_percent":0.1,
                "delay_ms":{{"p50":{p50},"p99":27,"max":30}},"jitter_ms":{{"sample":0.1}},"compliant":{compliant}}}"#
        );
        let flows = format!(r#"{{"flows":[{{"name":"cbr","kbps":{kbps},"nominal_kbps":400}}]}}"#);
        Json::parse(&format!(
            r#"{{"channels":{{"backward":{{"haptic":{medium},"audio":{medium},"video":{medium}}},
                              "forward":{{"haptic":{medium},"audio":null,"video":null}}}},
                "cross_traffic":{{"backward":{flows},"forward":{flows}}},
                "system":{{"servo":{{"ticks":30000,"missed":2}}}}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn a_good_report_passes_and_each_broken_limit_is_named() {
        assert_eq!(judge(&report(0, 23.2, true, 400.0), "dpm", 30.0), Judgement::default());
        assert_eq!(judge(&report(1, 23.2, true, 400.0), "dpm", 30.0).broken.len(), 2);
        assert_eq!(judge(&report(0, 26.5, true, 400.0), "dpm", 30.0).broken.len(), 2);
        assert_eq!(judge(&report(0, 23.2, false, 400.0), "dpm", 30.0).noisy.len(), 4);
        assert_eq!(judge(&report(0, 23.2, true, 395.9), "dpm", 30.0).broken.len(), 2);
        assert_eq!(judge(&report(0, 23.2, true, 400.0), "dpm", 30.4).broken.len(), 2);
    }

    #[test]
    fn no_merge_must_lose_and_queue() {
        assert_eq!(judge(&report(0, 99.8, true, 400.0), "no-merge", 30.0).broken.len(), 1);
        assert_eq!(judge(&report(0, 23.2, true, 400.0), "no-merge", 30.0).broken.len(), 2);
    }

    #[test]
    fn an_empty_report_holds_nothing() {
        let judgement = judge(&Json::Null, "dpm", 30.0);
        assert!(judgement.broken.len() >= 8 && judgement.noisy.len() >= 5, "{judgement:?}");
    }
}
