//! `sim`: stations and network in virtual time, one run for each scenario and scheme.

mod draw;
mod experiment;
mod feasible;
mod progress;
mod queue;
mod results;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use media::{Medium, Role};
use netem::{Scenario, ScenarioError};
use proto::report::{ChannelReport, MediumReport, Report, ServoReport, System, Verdict};
use serde::Serialize;
use session::{Scheme, StationConfig};
use sim::experiment::Experiment;
use sim::source::{FrameSource, Source};
use sim::{Details, Outcome, Reference, RunSpec, SessionSpec};

use crate::cost::spent;
use crate::failure::Failure;
use crate::options::{SimArgs, SimCommand, scenario};
use crate::output::{self, Voice};

/// A file of every run's traces, by which a folder is tried out.
const A_TRACE: &str = "packets_backward.csv";

/// Runs what was asked for, in the order of the command line.
pub fn run(args: &SimArgs) -> Result<(), Failure> {
    if args.list {
        return list();
    }
    if let Some(SimCommand::Feasible(args)) = &args.command {
        return feasible::run(args);
    }
    if let Some(name) = args.scenarios.iter().find(|name| Experiment::is_named_by(name)) {
        return experiment::run(name, args);
    }
    if args.plot.is_some() || args.markdown || args.threads.is_some() {
        return Err(Failure::Usage(
            "--plot, --markdown and --threads go with an experiment; `telehaptic sim --list` names them".into(),
        ));
    }
    let runs = runs(args)?;
    let force = Force::new(args, &runs)?;
    output::check_writable(args.report.as_deref())?;
    for dir in runs.iter().filter_map(|run| run.csv.as_ref()) {
        std::fs::create_dir_all(dir).map_err(Failure::writing(dir))?;
        output::check_writable(Some(&dir.join(A_TRACE)))?;
    }
    if args.report.is_none() {
        Voice::stdout().line(HEADER);
    }
    let mut reports = Vec::new();
    let mut broken = Vec::new();
    for run in runs {
        for reported in run.run(force.as_ref())? {
            let report = &reported.report;
            if args.report.is_none() {
                Voice::stdout().line(&row(report, reported.simulation.force_snr_db));
            }
            let limits = output::broken_limits(report);
            if !limits.is_empty() {
                broken.push(format!("{} {}: {}", report.scenario, report.scheme, limits.join(", ")));
            }
            reports.push(reported);
        }
    }
    match (&args.report, reports.as_slice()) {
        (None, _) => {}
        (Some(path), [one]) => output::write_json(path, one)?,
        (Some(path), several) => output::write_json(path, &several)?,
    }
    if args.assert_qos && !broken.is_empty() {
        return Err(Failure::Qos(format!("limits broken: {}", broken.join("; "))));
    }
    Ok(())
}

/// Forces with a meaning, and what they would be over an ideal network.
struct Force {
    source: Source,
    reference: Reference,
}

impl Force {
    /// `None` for synthetic samples.
    fn new(args: &SimArgs, runs: &[Run]) -> Result<Option<Force>, Failure> {
        let source =
            Source::parse(args.source.as_deref().unwrap_or("synthetic")).map_err(|e| Failure::Usage(e.to_string()))?;
        // All runs of a command have one seed and one length.
        let Some(spec) = runs.first().map(|run| &run.spec).filter(|_| source.has_forces()) else { return Ok(None) };
        if let Some(run) = runs.iter().find(|run| !run.others.is_empty()) {
            return Err(Failure::Usage(format!(
                "--source {source} wants a scenario with one session, and {} has {}: leave --source out",
                run.spec.scenario.name,
                run.others.len() + 1
            )));
        }
        if !sim::TRACED_SECONDS.contains(&spec.seconds) {
            return Err(Failure::Usage(format!(
                "--source {source} keeps every force: give --seconds of at most {}",
                sim::TRACED_SECONDS.end()
            )));
        }
        let reference = Reference::new(&source, spec.seed, spec.seconds)?;
        Ok(Some(Force { source, reference }))
    }
}

/// One run.
struct Run {
    spec: RunSpec,
    /// Sessions that share the network with that of `spec`.
    others: Vec<SessionSpec>,
    csv: Option<PathBuf>,
}

/// Every scenario with every scheme.
fn runs(args: &SimArgs) -> Result<Vec<Run>, Failure> {
    // Whatever is wrong with the file, it is the command line that names it.
    let usage = |e: session::SessionError| Failure::Usage(e.to_string());
    let config = match &args.config {
        Some(path) => StationConfig { role: Role::Top, ..StationConfig::load(path).map_err(usage)? },
        None => StationConfig::new(Role::Top),
    };
    config.check().map_err(usage)?;
    let frames = |medium, text| FrameSource::parse(medium, text).map_err(|e| Failure::Usage(e.to_string()));
    let (audio, video) = (frames(Medium::Audio, &args.audio)?, frames(Medium::Video, &args.video)?);
    let schemes = if args.schemes.is_empty() { &[config.scheme][..] } else { &args.schemes };
    let several = args.scenarios.len() * schemes.len() > 1;
    let mut taken = BTreeSet::new();
    let mut runs = Vec::new();
    for name in &args.scenarios {
        let scenario = network(name)?;
        for &scheme in schemes {
            let mut sessions: Vec<SessionSpec> = scenario
                .sessions
                .iter()
                .map(|timing| {
                    let mut session = SessionSpec::new(scheme).timed(*timing);
                    let (triggers, rivals, fragment_size) = (config.triggers, config.rivals, config.fragment_size);
                    session.configure = Box::new(move |config| {
                        (config.triggers, config.rivals, config.fragment_size) = (triggers, rivals, fragment_size);
                    });
                    SessionSpec { audio: audio.clone(), video: video.clone(), ..session }
                })
                .collect();
            let others = sessions.split_off(1);
            let mut spec = RunSpec::new(scenario.clone(), scheme);
            spec.seed = args.seed.unwrap_or(config.seed);
            spec.seconds = args.seconds.unwrap_or(spec.seconds);
            spec.traces = args.csv.is_some();
            spec.check()?;
            spec.session = sessions.remove(0);
            let mut own = || folder(name, scheme, &mut taken);
            let csv = args.csv.as_ref().map(|dir| if several { dir.join(own()) } else { dir.clone() });
            runs.push(Run { spec, others, csv });
        }
    }
    Ok(runs)
}

/// The network of this name; what is unknown might have been meant for an experiment.
fn network(name: &str) -> Result<Scenario, Failure> {
    Scenario::load(name).map_err(|e| match e {
        ScenarioError::UnknownName(_) => {
            Failure::Usage(format!("{e}; or an experiment: {}", Experiment::names().join(", ")))
        }
        _ => Failure::Usage(e.to_string()),
    })
}

/// A folder's name for a run, such as `paper-r260_k-merge-2`; no two are alike.
fn folder(scenario: &str, scheme: Scheme, taken: &mut BTreeSet<String>) -> String {
    let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let scenario = scenario.trim_end_matches(".toml");
    let name = format!("{}_{}", plain(scenario).trim_matches('-'), plain(&scheme.to_string()));
    let mut unique = name.clone();
    let mut n = 1;
    while !taken.insert(unique.clone()) {
        n += 1;
        unique = format!("{name}_{n}");
    }
    unique
}

/// A report with what only a simulation knows beside it.
#[derive(Serialize)]
struct Reported {
    #[serde(flatten)]
    report: Report,
    simulation: Details,
}

impl Run {
    /// A report for each session.
    fn run(self, force: Option<&Force>) -> Result<Vec<Reported>, Failure> {
        let (begin, (cpu_before, _)) = (Instant::now(), spent());
        let several = !self.others.is_empty();
        let outcomes = match force {
            Some(force) if !several => vec![sim::run_with_snr(self.spec, &force.source, &force.reference)?],
            _ => sim::run_together(self.spec, self.others)?,
        };
        let (cpu, peak_rss_mib) = spent();
        let wall_s = begin.elapsed().as_secs_f64();
        let mut reported = Vec::new();
        for (n, Outcome { mut report, details, traces, .. }) in (1..).zip(outcomes) {
            if several {
                report.scenario += &format!("#{n}");
            }
            if let Some((dir, traces)) = self.csv.as_ref().zip(traces) {
                traces.write_csv(&if several { dir.join(format!("session-{n}")) } else { dir.clone() })?;
            }
            // Two servos; in virtual time none is ever late.
            let servo = ServoReport { ticks: 2 * (report.seconds * 1e3).round() as u64, ..ServoReport::default() };
            report.system = Some(System { wall_s, cpu_s: cpu - cpu_before, peak_rss_mib, servo });
            reported.push(Reported { report, simulation: details });
        }
        Ok(reported)
    }
}

/// Delays in ms. A row is one run; audio and video are those of the backward channel.
const HEADER: &str = "                                       backward: haptic delay, ms                        \
    forward: haptic delay, ms                  delay max  cross\n\
    scenario             scheme               k   mean    p99    max  jitter  over%  loss%     \
    k   mean    p99    max  over%  loss%   audio  video  loss%    snr  verdict";

fn row(report: &Report, snr_db: Option<f64>) -> String {
    let snr = snr_db.map_or_else(|| format!("{:>5}", "-"), |db| format!("{db:5.1}"));
    let (backward, forward) = (&report.channels.backward, &report.channels.forward);
    let max = |medium: &Option<MediumReport>| {
        let delay = medium.as_ref().and_then(|m| m.delay_ms);
        delay.map_or_else(|| format!("{:>6}", "-"), |d| format!("{:6.1}", d.max))
    };
    let jitter = backward.haptic.jitter_ms.map_or_else(|| format!("{:>6}", "-"), |j| format!("{:6.3}", j.sample));
    let cross = report.cross_traffic.as_ref().map_or(0.0, |c| c.backward.lost_percent.max(c.forward.lost_percent));
    format!(
        "{:20} {:17} {}  {jitter} {}  {} {}  {} {} {cross:6.2}  {snr}  {}",
        report.scenario,
        report.scheme,
        delays(backward),
        shares(&backward.haptic),
        delays(forward),
        shares(&forward.haptic),
        max(&backward.audio),
        max(&backward.video),
        verdict(report),
    )
}

/// Mean k, and mean, 99th percentile and maximum of the haptic delay.
fn delays(channel: &ChannelReport) -> String {
    let k: f64 = channel.k.share_percent.iter().map(|(&k, share)| f64::from(k) * share / 100.0).sum();
    let delay = channel.haptic.delay_ms.map_or_else(
        || format!("{:>6} {:>6} {:>6}", "-", "-", "-"),
        |d| format!("{:6.2} {:6.2} {:6.2}", d.mean, d.p99, d.max),
    );
    format!("{k:4.2} {delay}")
}

fn shares(medium: &MediumReport) -> String {
    format!("{:6.2} {:6.2}", medium.over_limit_percent, medium.loss_percent)
}

/// The worst of all media.
fn verdict(report: &Report) -> &'static str {
    let channels = [&report.channels.backward, &report.channels.forward];
    let media = channels.into_iter().flat_map(|c| Medium::ALL.map(|m| c.medium(m)));
    let verdicts: Vec<Verdict> = media.flatten().map(|m| m.verdict).collect();
    if verdicts.contains(&Verdict::Fail) {
        "FAIL"
    } else if verdicts.contains(&Verdict::Unknown) {
        "unknown"
    } else {
        "pass"
    }
}

fn list() -> Result<(), Failure> {
    let voice = Voice::stdout();
    for name in Scenario::names() {
        let description = scenario(&name)?.description;
        voice.line(&format!("{name:12} {description}"));
    }
    voice.line(&format!("scenarios: {}, or the path of a .toml file", Scenario::grammar()));
    for name in Experiment::names() {
        let experiment = Experiment::load(name).map_err(Failure::failed)?;
        voice.line(&format!("{name:12} experiment: {}", experiment.description));
    }
    voice.line("experiments: those above, or the path of a .toml file (assets/experiments/README.md)");
    voice.line(&format!("schemes: {}", Scheme::grammar()));
    voice.line(&format!("sources: {}", Source::GRAMMAR));
    voice.line(&format!("audio: {}", FrameSource::grammar(Medium::Audio)));
    voice.line(&format!("video: {}", FrameSource::grammar(Medium::Video)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_say_what_ran_and_no_two_are_alike() {
        let mut taken = BTreeSet::new();
        let mut folder = |scheme| folder("paper/r260-m0", scheme, &mut taken);
        assert_eq!(folder(Scheme::KMerge(2)), "paper-r260-m0_k-merge-2");
        assert_eq!(folder(Scheme::Dpm), "paper-r260-m0_dpm");
        assert_eq!(folder(Scheme::Dpm), "paper-r260-m0_dpm_2");
        assert_eq!(super::folder("/tmp/a b.toml", Scheme::Dpm, &mut taken), "tmp-a-b_dpm");
    }
}
