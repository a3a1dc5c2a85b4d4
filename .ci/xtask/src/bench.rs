//! Benchmarks: run briefly, their figures against their limits.

use crate::board::Outcome;
use crate::shell;

/// Packages with benchmarks. Each prints lines "NAME: FIGURE ns" and ends with an error beyond its own limit.
const PACKAGES: &[&str] = &["telehaptic-proto"];

/// One fragment through sender and receiver together, ns of CPU.
const FRAGMENT_LIMIT_NS: f64 = 800.0;

/// Runs all of them.
pub fn run() -> Outcome {
    let mut worst = None;
    for package in PACKAGES {
        match shell::tee(shell::cargo().args(["bench", "-p", package])) {
            Err(e) => return Outcome::Failed(e),
            Ok((false, text)) => {
                let last = text.lines().rfind(|l| !l.trim().is_empty()).unwrap_or_default();
                return Outcome::Failed(format!("cargo bench -p {package}: {last}"));
            }
            Ok((true, text)) => {
                worst = text.lines().filter_map(fragment_ns).fold(worst, |a, b| Some(b.max(a.unwrap_or(b))))
            }
        }
    }
    match worst {
        None => Outcome::Failed("no benchmark said what a fragment costs".into()),
        Some(ns) => {
            let text = format!(
                "a fragment costs at most {ns:.0} ns of CPU, {:.0} % of the limit of {FRAGMENT_LIMIT_NS} ns",
                100.0 * ns / FRAGMENT_LIMIT_NS
            );
            if ns < FRAGMENT_LIMIT_NS { Outcome::Passed(text) } else { Outcome::Failed(text) }
        }
    }
}

/// The figure of a line such as "fragment, sender + receiver, dpm: 410 ns".
fn fragment_ns(line: &str) -> Option<f64> {
    let figure = line.trim().strip_prefix("fragment, ")?.rsplit_once(": ")?.1;
    figure.strip_suffix(" ns")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_is_found() {
        assert_eq!(fragment_ns("fragment, sender + receiver, k-merge:4: 412 ns"), Some(412.0));
        assert_eq!(fragment_ns("worst of 4 schemes: 500 ns, limit 800 ns"), None);
        assert_eq!(fragment_ns("fragment, x"), None);
    }
}
