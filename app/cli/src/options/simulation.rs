//! The options of `telehaptic sim`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use session::Scheme;

/// `telehaptic sim`.
#[derive(Clone, Debug, Args)]
#[command(subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
pub struct SimArgs {
    /// Questions that need no run.
    #[command(subcommand)]
    pub command: Option<SimCommand>,
    /// Networks: paper/rN (N kbit/s of cross-traffic), lan, wifi, cellular, or TOML files; or one experiment, see --list
    #[arg(value_name = "SCENARIO", required_unless_present = "list")]
    pub scenarios: Vec<String>,
    /// Packetization, see --list; again for more runs [default: dpm]
    #[arg(long = "scheme", value_name = "SCHEME")]
    pub schemes: Vec<Scheme>,
    /// Length of each run in virtual seconds [default: 500]
    #[arg(long, value_name = "N", value_parser = seconds, allow_hyphen_values = true)]
    pub seconds: Option<f64>,
    /// Seed of all randomness [default: 1]
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Haptic samples: synthetic (default), closed-loop, generator or trace:FILE; all but synthetic give an SNR of the displayed force
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,
    /// Sound of the teleoperator: BYTES@MS (header included), file:PATH.opus (looped) or none
    #[arg(long, value_name = "SOURCE", default_value = "160@20", allow_hyphen_values = true)]
    pub audio: String,
    #[arg(
        help = "Pictures of the teleoperator: BYTES@MS (header included), file:PATH.h264[@MS] (looped, 40 ms a frame) or none",
        long,
        value_name = "SOURCE",
        default_value = "2000@40",
        allow_hyphen_values = true
    )]
    pub video: String,
    /// Write the report as JSON instead of a table; - for stdout. An array where there are several runs
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write traces into this folder; several runs each into one of its own below. Of an experiment: its table, and every
    /// run in results.jsonl, where the same command goes on if it was interrupted
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Draw an experiment's plots into this folder, as SVG and PNG
    #[arg(long, value_name = "DIR")]
    pub plot: Option<PathBuf>,
    /// Print an experiment's table as Markdown
    #[arg(long, conflicts_with = "report")]
    pub markdown: bool,
    /// Runs of an experiment at a time [default: one on each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[arg(
        help = "Read scheme, seed, fragment_size, [triggers] and [rivals] from a TOML file; options on the command line win",
        long,
        value_name = "FILE"
    )]
    pub config: Option<PathBuf>,
    /// Exit with code 3 if a medium breaks its limits
    #[arg(long)]
    pub assert_qos: bool,
    /// List scenarios, experiments and schemes
    #[arg(long)]
    pub list: bool,
}

/// `telehaptic sim ...`: what is answered without a run.
#[derive(Clone, Debug, Subcommand)]
pub enum SimCommand {
    /// Can a network carry a session under DPM? The worst delays, estimated beforehand
    Feasible(FeasibleArgs),
}

/// `telehaptic sim feasible`: one bottleneck, both directions alike.
#[derive(Clone, Debug, Args)]
pub struct FeasibleArgs {
    /// Capacity of the bottleneck, kbit/s
    #[arg(long, value_name = "KBPS", value_parser = rate, allow_hyphen_values = true)]
    pub capacity: f64,
    /// Cross-traffic there, kbit/s
    #[arg(long, value_name = "KBPS", default_value = "0", value_parser = rate_or_none, allow_hyphen_values = true)]
    pub cross: f64,
    /// One-way propagation, ms
    #[arg(long, value_name = "MS", value_parser = delay, allow_hyphen_values = true)]
    pub delay: f64,
    /// Hops that take transmission time
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub hops: u32,
    /// Flows of cross-traffic; 0: a fluid
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub flows: u32,
    /// Packets of the cross-traffic, bytes on the wire
    #[arg(long, value_name = "BYTES", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub packet: u32,
    /// Exit with code 3 if the answer is no
    #[arg(long)]
    pub assert_qos: bool,
}

fn within(text: &str, what: &str, low: f64, high: f64) -> Result<f64, String> {
    let value = text.parse().ok().filter(|v| (low..=high).contains(v));
    value.ok_or_else(|| format!("give {low} to {high} {what}"))
}

fn rate(text: &str) -> Result<f64, String> {
    within(text, "kbit/s", 1.0, 1e8)
}

fn rate_or_none(text: &str) -> Result<f64, String> {
    within(text, "kbit/s", 0.0, 1e8)
}

fn delay(text: &str) -> Result<f64, String> {
    within(text, "ms", 0.0, 10_000.0)
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "give a number of seconds".to_string())?;
    let range = sim::SECONDS;
    if range.contains(&seconds) {
        Ok(seconds)
    } else {
        Err(format!("give {} to {} seconds", range.start(), range.end()))
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("give a whole number from 0 to {}", u64::MAX))
}
