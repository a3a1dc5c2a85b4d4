//! The virtual machine: its image from `.ci/vm`, one boot, and the folder of results that it leaves.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What an image needs from Debian packages, and the package.
const PROGRAMS: [(&str, &str); 7] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("cpio", "cpio"),
    ("/sbin/modprobe", "kmod"),
    ("setpriv", "util-linux"),
    ("Xvfb", "xvfb"),
    ("xkbcomp", "x11-xkb-utils"),
];
/// Room for the results, bytes (the file has holes).
const DISK: u64 = 512 << 20;
/// Boot to power-off takes up to eight minutes with another machine beside.
const LIMIT: Duration = Duration::from_secs(1_500);
/// Until its first word. Now and then an emulated machine hangs before.
const FIRST_WORD: Duration = Duration::from_secs(200);
/// The line that says that the results are complete.
const DONE: &str = "vm: done";

/// Why this machine cannot run it, if it cannot.
pub fn missing() -> Option<String> {
    let there = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        program.starts_with('/') && Path::new(program).exists()
            || std::env::split_paths(&path).any(|folder| folder.join(program).exists())
    };
    let lacking: Vec<&str> = PROGRAMS.iter().filter(|(p, _)| !there(p)).map(|(_, package)| *package).collect();
    (!lacking.is_empty()).then(|| format!("the virtual machine needs the packages {}", lacking.join(" ")))
}

/// The folder of results, ours alone until this is dropped.
pub struct Results {
    /// The folder.
    pub folder: PathBuf,
    _lock: File,
}

/// Boots the image with our programs for the session of this name (`.ci/vm/sessions`) and gives what it left.
///
/// # Errors
/// A reason to skip, as text, if the kernel cannot be had.
pub fn run(session: &str) -> Result<Results, String> {
    let root = fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("the workspace");
    let scripts = root.join(".ci/vm");
    let folder = root.join("target/vm");
    let own = folder.join(session);
    fs::create_dir_all(&own).expect("target/vm");
    // Two runs of the tests on one tree: one after the other.
    let lock = locked(&own);
    let image = own.join("image.cpio.gz");
    let kernel = build(&scripts, &folder, &image)?;

    for attempt in ["first", "second"] {
        let (disk, console) = (own.join("disk.img"), own.join("console.txt"));
        File::create(&disk).and_then(|f| f.set_len(DISK)).expect("a disk");
        boot(session, &kernel, &image, &disk, &console);
        let text = said(&console);
        for line in text.lines().filter(|l| l.starts_with("vm: ")) {
            println!("{attempt} boot: {line}");
        }
        if text.contains(DONE) {
            let results = own.join("results");
            // There may be none of an earlier run.
            let _ = fs::remove_dir_all(&results);
            fs::create_dir_all(&results).expect("a folder");
            let tar = Command::new("tar").arg("-xf").arg(&disk).arg("-C").arg(&results).status();
            assert!(tar.expect("tar").success(), "the results cannot be unpacked");
            // Half a gigabyte of holes is no use to anybody.
            let _ = fs::remove_file(&disk);
            return Ok(Results { folder: results, _lock: lock });
        }
        println!("the {attempt} boot did not end; its console:\n{text}");
        assert!(text.is_empty(), "the session '{session}' did not come to its end: see {}", console.display());
    }
    panic!("the virtual machine did not come up in two boots");
}

fn locked(folder: &Path) -> File {
    let lock = File::create(folder.join("lock")).expect("a lock file");
    lock.lock().expect("a lock");
    lock
}

/// Fetches the kernel, whose path is given, and builds `image`: one at a time.
fn build(scripts: &Path, folder: &Path, image: &Path) -> Result<PathBuf, String> {
    let _lock = locked(folder);
    let version = Command::new(scripts.join("kernel")).arg(folder).stderr(Stdio::inherit()).output();
    let version = version.expect("bash");
    if !version.status.success() {
        return Err("no kernel package for the virtual machine can be fetched".into());
    }
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let program = Path::new(env!("CARGO_BIN_EXE_telehaptic"));
    let examples = program.parent().expect("a folder").join("examples");
    let mut build = Command::new(scripts.join("image"));
    build.arg(folder).arg(&version).arg(image).arg(program);
    for name in ["uhid_device", "vm_tone"] {
        let example = examples.join(name);
        assert!(example.exists(), "{} is not built: cargo build --release --workspace --examples", example.display());
        build.arg(example);
    }
    assert!(build.status().expect("bash").success(), "the image cannot be built");
    Ok(folder.join(format!("kernel/boot/vmlinuz-{version}")))
}

/// What the machine said so far.
fn said(console: &Path) -> String {
    String::from_utf8_lossy(&fs::read(console).unwrap_or_default()).into_owned()
}

/// Hardware virtualisation is not to be had everywhere, and where it hangs it hangs for good: software emulation always.
/// With counted instructions (one a nanosecond, idle time skipped) the machine's clock follows its own work, not ours: a
/// busy host makes it slower to watch, and changes nothing inside. A plain processor without wide registers switches
/// threads faster.
fn boot(session: &str, kernel: &Path, image: &Path, disk: &Path, console: &Path) {
    let mut qemu = Command::new("timeout");
    qemu.arg(LIMIT.as_secs().to_string()).arg("qemu-system-x86_64");
    qemu.args(["-M", "q35", "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-cpu", "Nehalem"]);
    qemu.args(["-m", "1024", "-smp", "1", "-display", "none", "-no-reboot", "-nodefaults"]);
    qemu.arg("-serial").arg(format!("file:{}", console.display()));
    qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(image);
    qemu.arg("-drive").arg(format!("file={},format=raw,if=virtio", disk.display()));
    let line = format!("console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable session={session}");
    let mut qemu = qemu.arg("-append").arg(line).stdin(Stdio::null()).spawn().expect("timeout and qemu");
    let begin = Instant::now();
    // Its exit code says nothing: what counts is the last line on the console.
    while qemu.try_wait().expect("qemu").is_none() {
        if begin.elapsed() > FIRST_WORD && said(console).is_empty() {
            // `timeout` passes it on; it may also have ended in this moment.
            let _ = Command::new("kill").arg(qemu.id().to_string()).status();
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}
