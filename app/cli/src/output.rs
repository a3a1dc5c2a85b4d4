//! What runs print: status lines, the table at the end, the report.

use std::io::Write;
use std::path::Path;

use media::Medium;
use session::report::{ChannelReport, CrossReport, Report, Verdict};
use session::{ChannelSnapshot, LinkState, Snapshot};

use crate::failure::Failure;

/// Text for people: to stdout, unless that carries the report.
pub struct Voice {
    to_stderr: bool,
}

impl Voice {
    /// `report`: where the report goes.
    pub fn beside(report: Option<&Path>) -> Voice {
        Voice { to_stderr: report == Some(Path::new("-")) }
    }

    /// Data for stdout, whatever else goes there.
    pub fn stdout() -> Voice {
        Voice { to_stderr: false }
    }

    /// Prints a line.
    pub fn line(&self, text: &str) {
        // A closed pipe is the reader's business.
        let _ = if self.to_stderr {
            writeln!(std::io::stderr(), "{text}")
        } else {
            let mut out = std::io::stdout();
            writeln!(out, "{text}").and_then(|()| out.flush())
        };
    }
}

/// Can the report be written there? Asked before a run, since afterwards is too late.
pub fn check_writable(report: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = report.filter(|p| *p != Path::new("-")) else { return Ok(()) };
    let existed = path.exists();
    std::fs::OpenOptions::new().append(true).create(true).open(path).map_err(Failure::writing(path))?;
    // A run that fails leaves no empty report.
    if existed { Ok(()) } else { std::fs::remove_file(path).map_err(Failure::writing(path)) }
}

/// Writes JSON to the file, or to stdout for `-`.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    text.push('\n');
    if path == Path::new("-") {
        return std::io::stdout().write_all(text.as_bytes()).map_err(Failure::writing(path));
    }
    std::fs::write(path, text).map_err(Failure::writing(path))
}

/// One line about a running station.
pub fn status(s: &Snapshot) -> String {
    let link = match s.link {
        LinkState::Waiting => "waiting",
        LinkState::Connected => "connected",
        LinkState::Silent => "peer silent",
        LinkState::Left => "peer left",
    };
    let channel = |name: &str, c: &ChannelSnapshot| {
        let number = |v: Option<f64>| v.map_or_else(|| "-".into(), |v| format!("{v:.1}"));
        let k = c.k.map_or_else(|| "-".into(), |k| k.to_string());
        format!("{name} k {k} delay {} ms loss {} % {:.0} kbit/s", number(c.delay_ms), number(c.loss_percent), c.kbps)
    };
    let [x, y, z] = s.haptic.force;
    let force = (x * x + y * y + z * z).sqrt();
    let off = if s.haptic.force_off.is_empty() { String::new() } else { format!(" ({})", s.haptic.force_off) };
    format!(
        "{:6.1} s {link} | {} | {} | force {force:.2} N{off}",
        s.uptime_s,
        channel("backward", &s.backward),
        channel("forward", &s.forward)
    )
}

/// The table at the end of a run.
pub fn table(report: &Report) -> String {
    let mut out = format!(
        "scheme {}, scenario {}, {:.1} s, clock {}{}\n",
        report.scheme,
        if report.scenario.is_empty() { "unknown" } else { &report.scenario },
        report.seconds,
        serde_json::to_string(&report.clock).unwrap_or_default().trim_matches('"'),
        report.clock_bound_ms.map_or_else(String::new, |b| format!(" (+-{b:.2} ms)")),
    );
    out.push_str(
        "channel   medium     sent  delivered   lost  loss%  over%   mean    p50    p99    max  jitter  verdict\n",
    );
    for (name, channel) in [("backward", &report.channels.backward), ("forward", &report.channels.forward)] {
        for medium in Medium::ALL {
            out.push_str(&row(name, medium, channel));
        }
    }
    for (name, channel) in [("backward", &report.channels.backward), ("forward", &report.channels.forward)] {
        let k = &channel.k;
        let shares: Vec<String> = k.share_percent.iter().map(|(k, p)| format!("k={k} {p:.1}%")).collect();
        let (shares, wire) = (shares.join(" "), &channel.wire);
        out.push_str(&format!(
            "{name}: {shares}, {} changes, {:.1} kbit/s in {} packets\n",
            k.changes, wire.kbps, wire.packets
        ));
    }
    if let Some(cross) = &report.cross_traffic {
        for (name, c) in [("backward", &cross.backward), ("forward", &cross.forward)] {
            out.push_str(&cross_row(name, c));
        }
    }
    if let Some(s) = &report.system {
        out.push_str(&format!(
            "servo: {} ticks, {} missed, late p50 {:.0} p99 {:.0} max {:.0} us; CPU {:.1} s, {:.0} MiB\n",
            s.servo.ticks,
            s.servo.missed,
            s.servo.late_us.p50,
            s.servo.late_us.p99,
            s.servo.late_us.max,
            s.cpu_s,
            s.peak_rss_mib
        ));
    }
    out
}

fn row(name: &str, medium: Medium, channel: &ChannelReport) -> String {
    let Some(m) = channel.medium(medium) else { return String::new() };
    let ms = |v: Option<f64>| v.map_or_else(|| format!("{:>6}", "-"), |v| format!("{v:6.2}"));
    let d = m.delay_ms;
    let verdict = match m.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "FAIL",
        Verdict::Unknown => "unknown",
    };
    format!(
        "{name:9} {:6} {:8} {:10} {:6} {:6.2} {:6.2} {} {} {} {} {}  {verdict}\n",
        medium.name(),
        m.sent,
        m.delivered,
        m.lost,
        m.loss_percent,
        m.over_limit_percent,
        ms(d.map(|d| d.mean)),
        ms(d.map(|d| d.p50)),
        ms(d.map(|d| d.p99)),
        ms(d.map(|d| d.max)),
        m.jitter_ms.map_or_else(|| format!("{:>7}", "-"), |j| format!("{:7.3}", j.sample)),
    )
}

fn cross_row(name: &str, c: &CrossReport) -> String {
    // Elastic flows ask for no rate.
    let asked = |kbps: f64| if kbps > 0.0 { format!(" of {kbps:.1}") } else { String::new() };
    let flows: Vec<String> =
        c.flows.iter().map(|f| format!("{} {:.1}{} kbit/s", f.name, f.kbps, asked(f.nominal_kbps))).collect();
    format!(
        "cross-traffic {name}: {} packets, {} lost ({:.2} %): {}\n",
        c.sent,
        c.lost,
        c.lost_percent,
        flows.join(", ")
    )
}

/// With `--assert-qos`: an error that names every medium that is not compliant, or says that nothing was measured.
pub fn assert_qos(report: &Report) -> Result<(), Failure> {
    let channels = [&report.channels.backward, &report.channels.forward];
    if channels.iter().all(|c| c.haptic.delivered == 0) {
        return Err(Failure::failed(
            "--assert-qos: no haptic sample arrived on either channel, so nothing was measured; let the stations connect first",
        ));
    }
    let broken = broken_limits(report);
    if broken.is_empty() { Ok(()) } else { Err(Failure::Qos(format!("limits broken: {}", broken.join(", ")))) }
}

/// Every medium that is not compliant, with its channel.
pub fn broken_limits(report: &Report) -> Vec<String> {
    let mut broken = Vec::new();
    for (name, channel) in [("backward", &report.channels.backward), ("forward", &report.channels.forward)] {
        for medium in Medium::ALL {
            if channel.medium(medium).is_some_and(|m| !m.compliant) {
                broken.push(format!("{name} {}", medium.name()));
            }
        }
    }
    broken
}
