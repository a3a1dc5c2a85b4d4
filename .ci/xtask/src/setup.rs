//! System packages: which are missing, and their installation.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::shell;

/// Compilers and headers that the dependencies' build scripts want.
const BUILD: &[&str] = &[
    "build-essential", // openh264 (C++), opus (C)
    "cmake",           // opus
    "nasm",            // openh264: without it a build without SIMD, and no word about it
    "clang",
    "libclang-dev", // V4L2 bindings
    "pkg-config",
    "libasound2-dev",
    "libxkbcommon-dev",
    "libwayland-dev",
];

/// Libraries that a window loads when it opens.
const WINDOW: &[&str] = &[
    "libegl1",
    "libgl1",
    "libgl1-mesa-dri",
    "libx11-6",
    "libx11-xcb1",
    "libxcursor1",
    "libxi6",
    "libxkbcommon-x11-0",
    "libxrandr2",
];

/// What the tests use besides.
const TESTS: &[&str] = &[
    "iproute2", // namespaces, traffic control
    "xvfb",
    "xauth",
    "x11-utils",
    "imagemagick", // pictures of windows
    "qemu-system-x86",
    "busybox-static",
    "cpio",
    "kmod", // the virtual machine
];

/// What the set-up is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Build and run the program.
    Demo,
    /// All checks.
    Test,
}

/// Installs the packages that are missing, and says which.
///
/// # Errors
/// Packages that the build needs are missing and cannot be installed; the text says which command would.
pub fn install(purpose: Purpose) -> Result<(), String> {
    if !Path::new("/usr/bin/dpkg-query").exists() {
        eprintln!(
            "xtask: this is no Debian: please see to the counterparts of these packages yourself: {}",
            [BUILD, WINDOW].concat().join(" ")
        );
        return Ok(());
    }
    let mut wanted = [BUILD, WINDOW].concat();
    if purpose == Purpose::Test {
        wanted.extend(TESTS);
    }
    let missing = missing(&wanted)?;
    if missing.is_empty() {
        println!("xtask: all {} system packages are there", wanted.len());
        return Ok(());
    }
    println!("xtask: {} of {} system packages are missing: {}", missing.len(), wanted.len(), missing.join(" "));
    let by_hand = format!("apt-get install -y --no-install-recommends {}", missing.join(" "));
    let Some(prefix) = privileged() else {
        return Err(format!("these packages need an administrator, and sudo is not there: run as root: {by_hand}"));
    };
    println!("xtask: installing them{}", if prefix.is_empty() { "" } else { " with sudo" });
    let apt = |args: &[&str]| {
        let mut line: Vec<&str> = prefix.to_vec();
        line.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]);
        line.extend(args);
        shell::run(Command::new(line[0]).args(&line[1..]))
    };
    // An old list names files that the archive no longer has.
    apt(&["update"]).map_err(|e| format!("{e}: is the network up?"))?;
    let mut args = vec!["install", "-y", "--no-install-recommends"];
    args.extend(&missing);
    apt(&args).map_err(|e| format!("{e}: run it by hand and see what is wrong: {by_hand}"))
}

/// Those of `wanted` that are not installed.
fn missing<'a>(wanted: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let query = Command::new("dpkg-query")
        .args(["-W", "-f", "${Package} ${db:Status-Status}\n"])
        .args(wanted)
        // It grumbles about each package that it does not know.
        .stderr(Stdio::null())
        .output()
        .map_err(|e| format!("dpkg-query cannot be started: {e}"))?;
    let text = String::from_utf8_lossy(&query.stdout).into_owned();
    let there: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_suffix(" installed")).collect();
    Ok(wanted.iter().copied().filter(|name| !there.contains(name)).collect())
}

/// What to put before a command that needs root: nothing for root, sudo where there is one.
fn privileged() -> Option<&'static [&'static str]> {
    if is_root() {
        return Some(&[]);
    }
    let sudo = Command::new("sudo").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    sudo.is_ok_and(|s| s.success()).then_some(&["sudo"])
}

/// Whether we may do everything on this machine.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    // Our own /proc folder belongs to the effective user.
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

/// Sees to `cargo nextest`. `false`: there is none and it cannot be installed; plain `cargo test` must do.
pub fn nextest() -> bool {
    let there = shell::cargo().args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if there.is_ok_and(|s| s.success()) {
        return true;
    }
    println!("xtask: cargo-nextest is missing: installing it (some minutes)");
    match shell::run(shell::cargo().args(["install", "cargo-nextest", "--locked"])) {
        Ok(()) => true,
        Err(e) => {
            println!("xtask: {e}: `cargo test` takes its place");
            false
        }
    }
}
