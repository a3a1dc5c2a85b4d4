//! The options of `telehaptic sim`.

use std::path::PathBuf;

use clap::Args;
use session::Scheme;

/// `telehaptic sim`.
#[derive(Clone, Debug, Args)]
pub struct SimArgs {
    /// Networks: paper/rN (N kbit/s of cross-traffic), lan, wifi, cellular, or TOML files
    #[arg(value_name = "SCENARIO", required_unless_present = "list")]
    pub scenarios: Vec<String>,
    /// Packetization: no-merge, k-merge:N, dpm or dpm-hold-up; again for more runs [default: dpm]
    #[arg(long = "scheme", value_name = "SCHEME")]
    pub schemes: Vec<Scheme>,
    /// Length of each run in virtual seconds [default: 500]
    #[arg(long, value_name = "N", value_parser = seconds, allow_hyphen_values = true)]
    pub seconds: Option<f64>,
    /// Seed of all randomness [default: 1]
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Write the report as JSON instead of a table; - for stdout. An array where there are several runs
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write traces into this folder; several runs each into one of its own below
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Read scheme, seed, fragment_size and [triggers] from a TOML file; options on the command line win
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Exit with code 3 if a medium breaks its limits
    #[arg(long)]
    pub assert_qos: bool,
    /// List scenarios and schemes
    #[arg(long)]
    pub list: bool,
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
