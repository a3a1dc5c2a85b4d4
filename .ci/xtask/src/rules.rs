//! The rules of the house that a compiler does not check: who may depend on whom, which names may stand where, how
//! long a file may be, and what lies at the top.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::json::Json;
use crate::shell;

/// The complete list of arrows: crate, and the crates of ours that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("media", &[]),
    ("haptic", &["media"]),
    ("audio", &["media"]),
    ("video", &["media"]),
    ("proto", &["media"]),
    ("netem", &["media"]),
    ("scene", &["media"]),
    ("study", &[]),
    ("udp", &["proto", "netem", "media"]),
    ("sim", &["proto", "netem", "media", "haptic", "scene"]),
    ("session", &["haptic", "audio", "video", "scene", "udp", "netem", "proto", "media"]),
    ("gui", &["session", "study"]),
    (
        "telehaptic",
        &["media", "proto", "netem", "udp", "sim", "haptic", "audio", "video", "scene", "session", "study", "gui"],
    ),
];

/// Further arrows that hold for tests alone.
const TEST_ARROWS: &[(&str, &[&str])] = &[("proto", &["netem"]), ("session", &["sim"])];

/// Folders whose code is told the time and moves no byte itself, and what it may not name.
const PURE: &[&str] = &["transport/media/src", "transport/proto/src", "transport/netem/src", "transport/sim/src"];
const IMPURE_NAMES: &[&str] =
    &["std::time", "std::net", "std::thread", "Instant::now", "SystemTime", "UdpSocket", "TcpStream", "thread::spawn"];

/// A library that only so many files of one folder may name.
const EDGES: &[(&str, &str, usize)] =
    &[("hidapi", "devices/haptic/src", 1), ("cpal", "devices/audio/src", 3), ("nokhwa", "devices/video/src", 1)];

/// Lines of a Rust file: more than the first are a warning, more than the second a failure.
const LONG: usize = 400;
const TOO_LONG: usize = 600;

/// What may lie at the top of the repository, besides dot-files.
const TOP: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "app",
    "devices",
    "transport",
    "assets",
    "docs",
    "README.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "clippy.toml",
    "rust-toolchain.toml",
    "rustfmt.toml",
    // Made by builds, not part of the repository.
    "target",
];

/// Dependencies between our crates against [`ARROWS`].
pub fn arrows() -> Result<(), String> {
    let out = shell::cargo()
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .map_err(|e| format!("cargo metadata cannot be started: {e}"))?;
    if !out.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&out.stderr)));
    }
    let (count, wrong) = wrong_arrows(&Json::parse(&String::from_utf8_lossy(&out.stdout))?);
    println!("{count} arrows between crates");
    report(wrong)
}

/// Number of arrows, and a line for each that is not in the list.
fn wrong_arrows(metadata: &Json) -> (usize, Vec<String>) {
    let short = |name: &str| name.strip_prefix("telehaptic-").unwrap_or(name).to_string();
    let may = |list: &[(&str, &[&str])], from: &str, to: &str| {
        list.iter().any(|(name, targets)| *name == from && targets.contains(&to))
    };
    let packages = metadata.at("packages").list();
    let ours: Vec<String> = packages.iter().filter_map(|p| p.at("name").text().map(short)).collect();
    let (mut count, mut wrong) = (0, Vec::new());
    for package in packages {
        let from = short(package.at("name").text().unwrap_or_default());
        if !ARROWS.iter().any(|(name, _)| *name == from) {
            wrong.push(format!("crate {from} is not in the list of arrows: docs/architecture.md has its place"));
        }
        for dependency in package.at("dependencies").list() {
            let to = short(dependency.at("name").text().unwrap_or_default());
            if !ours.contains(&to) {
                continue;
            }
            count += 1;
            let test = dependency.at("kind").text() == Some("dev");
            if !(may(ARROWS, &from, &to) || test && may(TEST_ARROWS, &from, &to)) {
                wrong.push(format!("{from} -> {to}{}: no such arrow", if test { " (tests)" } else { "" }));
            }
        }
    }
    if packages.is_empty() {
        wrong.push("cargo metadata names no package".into());
    }
    (count, wrong)
}

/// Names that may not stand where they stand.
pub fn names() -> Result<(), String> {
    let mut wrong = Vec::new();
    for folder in PURE {
        let mut banned = IMPURE_NAMES.to_vec();
        if folder.contains("proto") {
            // Its order of iteration differs from run to run.
            banned.extend(["HashMap", "HashSet"]);
        }
        for file in rust_files(Path::new(folder))? {
            for (line, name) in named(&read(&file)?, &banned) {
                wrong.push(format!("{}:{line}: {name}: this crate has no clock, socket or thread", file.display()));
            }
        }
    }
    for (library, home, limit) in EDGES {
        let mut there = Vec::new();
        for top in ["app", "devices", "transport"] {
            for file in rust_files(Path::new(top))? {
                // Examples and tests may use a library to check what we made of it.
                if !file.components().any(|c| c.as_os_str() == "src") {
                    continue;
                }
                if !named(&read(&file)?, &[library]).is_empty() {
                    if file.starts_with(home) {
                        there.push(file);
                    } else {
                        wrong.push(format!("{}: {library} is named outside {home}", file.display()));
                    }
                }
            }
        }
        if there.len() > *limit {
            let files: Vec<String> = there.iter().map(|f| f.display().to_string()).collect();
            wrong.push(format!("{library}: at most {limit} files may name it: {}", files.join(", ")));
        }
    }
    report(wrong)
}

/// Which of `words` the code of a file names, comments and texts aside: line from 1, and word.
fn named<'a>(text: &str, words: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = code_of(line);
        for word in words {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let whole = code
                .match_indices(word)
                .any(|(at, _)| !code[..at].ends_with(is_part) && !code[at + word.len()..].starts_with(is_part));
            if whole {
                found.push((number + 1, *word));
            }
        }
    }
    found
}

/// A line without what stands in double quotes or after `//`.
fn code_of(line: &str) -> String {
    let mut code = String::new();
    let mut chars = line.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => {
                chars.next();
            }
            // A quotation mark as a character: '"'.
            '\'' if !quoted && chars.peek() == Some(&'"') => {
                chars.next();
            }
            '"' => quoted = !quoted,
            '/' if !quoted && chars.peek() == Some(&'/') => break,
            _ if quoted => {}
            _ => code.push(c),
        }
    }
    code
}

/// File lengths. The files that deserve a warning, in words.
pub fn lengths() -> Result<String, String> {
    let (mut long, mut wrong) = (0, Vec::new());
    for top in ["app", "devices", "transport", ".ci"] {
        for file in rust_files(Path::new(top))? {
            let lines = read(&file)?.lines().count();
            if lines > TOO_LONG {
                wrong.push(format!("{}: {lines} lines, more than {TOO_LONG}: divide it by concern", file.display()));
            } else if lines > LONG {
                println!("warning: {}: {lines} lines, more than {LONG}", file.display());
                long += 1;
            }
        }
    }
    report(wrong)?;
    Ok(if long == 0 { String::new() } else { format!("{long} files with more than {LONG} lines") })
}

/// What lies at the top, as git sees it where there is git.
pub fn top_level() -> Result<(), String> {
    let tracked = Command::new("git").args(["ls-files"]).output().ok().filter(|o| o.status.success());
    let mut names: Vec<String> = match &tracked {
        Some(out) => String::from_utf8_lossy(&out.stdout)
            .lines()
            .filter_map(|path| path.split('/').next().map(String::from))
            .collect(),
        None => Vec::new(),
    };
    for entry in fs::read_dir(".").map_err(|e| format!("cannot list the top folder: {e}"))? {
        names.push(entry.map_err(|e| e.to_string())?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    names.dedup();
    report(
        names
            .iter()
            .filter(|name| !name.starts_with('.') && !TOP.contains(&name.as_str()))
            .map(|name| format!("{name}: nothing else belongs at the top"))
            .collect(),
    )
}

/// Prints what is wrong; an error if anything is.
fn report(wrong: Vec<String>) -> Result<(), String> {
    for line in &wrong {
        println!("{line}");
    }
    match wrong.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        [first, ..] => Err(format!("{} findings, the first: {first}", wrong.len())),
    }
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("{} cannot be read: {e}", file.display()))
}

/// All `.rs` files below a folder, in order of their names.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).map_err(|e| format!("{} cannot be listed: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|n| n != "target") {
                files.extend(rust_files(&path)?);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_counts_as_naming() {
        let words = ["std::time", "HashMap", "cpal"];
        assert_eq!(named("use std::time::Instant;", &words), [(1, "std::time")]);
        assert_eq!(named("a\n  x: HashMap<u8, u8>, // cpal", &words), [(2, "HashMap")]);
        assert!(named("// std::time is not used\nlet a = \"cpal\"; my_cpal(); HashMapper::new()", &words).is_empty());
        assert_eq!(named("if c == '\"' { cpal::x() }", &words), [(1, "cpal")]);
        assert_eq!(named("let a = \"\\\"\"; use cpal;", &words), [(1, "cpal")]);
    }

    #[test]
    fn an_arrow_that_is_not_in_the_list_is_found() {
        let metadata = |from: &str, to: &str, kind: &str| {
            Json::parse(&format!(
                r#"{{"packages":[{{"name":"{from}","dependencies":[{{"name":"{to}","kind":{kind}}}]}},
                                 {{"name":"{to}","dependencies":[]}}]}}"#
            ))
            .unwrap()
        };
        assert!(wrong_arrows(&metadata("telehaptic-udp", "telehaptic-proto", "null")).1.is_empty());
        assert!(wrong_arrows(&metadata("telehaptic-proto", "telehaptic-netem", "\"dev\"")).1.is_empty());
        assert_eq!(wrong_arrows(&metadata("telehaptic-proto", "telehaptic-netem", "null")).1.len(), 1);
        assert_eq!(wrong_arrows(&metadata("telehaptic-gui", "telehaptic-proto", "\"build\"")).1.len(), 1);
        assert_eq!(wrong_arrows(&metadata("telehaptic-utils", "telehaptic-media", "null")).1.len(), 2);
        assert_eq!(wrong_arrows(&Json::Null).1.len(), 1);
    }
}
