//! The virtual machine: its image from `.ci/vm`, one boot, and the folder of results that it leaves.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What an image needs from Debian packages, and the package.
const PROGRAMS: [(&str, &str); 5] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("cpio", "cpio"),
    ("/sbin/modprobe", "kmod"),
    ("setpriv", "util-linux"),
];
/// Room for the results, bytes (the file has holes).
const DISK: u64 = 512 << 20;
/// Boot to power-off takes some two minutes on a quiet machine.
const LIMIT_S: u32 = 450;
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

/// Boots the image with our programs and gives what it left.
///
/// # Errors
/// A reason to skip, as text, if the kernel cannot be had.
pub fn run() -> Result<Results, String> {
    let root = fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("the workspace");
    let scripts = root.join(".ci/vm");
    let folder = root.join("target/vm");
    fs::create_dir_all(&folder).expect("target/vm");
    // Two runs of the tests on one tree: one after the other.
    let lock = File::create(folder.join("lock")).expect("a lock file");
    lock.lock().expect("a lock");
    let version = Command::new(scripts.join("kernel")).arg(&folder).stderr(Stdio::inherit()).output();
    let version = version.expect("bash");
    if !version.status.success() {
        return Err("no kernel package for the virtual machine can be fetched".into());
    }
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();

    let image = folder.join("image.cpio.gz");
    let program = Path::new(env!("CARGO_BIN_EXE_telehaptic"));
    let examples = program.parent().expect("a folder").join("examples");
    let mut build = Command::new(scripts.join("image"));
    build.arg(&folder).arg(&version).arg(&image).arg(program);
    for name in ["uhid_device", "vm_tone"] {
        let example = examples.join(name);
        assert!(example.exists(), "{} is not built: cargo build --release --workspace --examples", example.display());
        build.arg(example);
    }
    assert!(build.status().expect("bash").success(), "the image cannot be built");

    let kernel = folder.join(format!("kernel/boot/vmlinuz-{version}"));
    // One retry: now and then an emulated machine hangs before its kernel says a word.
    for attempt in ["first", "second"] {
        let (disk, console) = (folder.join("disk.img"), folder.join("console.txt"));
        File::create(&disk).and_then(|f| f.set_len(DISK)).expect("a disk");
        boot(&kernel, &image, &disk, &console);
        let text = String::from_utf8_lossy(&fs::read(&console).unwrap_or_default()).into_owned();
        for line in text.lines().filter(|l| l.starts_with("vm: ")) {
            println!("{attempt} boot: {line}");
        }
        if text.contains(DONE) {
            let results = folder.join("results");
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
    }
    panic!("the virtual machine did not come to its end in two boots: see target/vm/console.txt");
}

/// Hardware virtualisation is not to be had everywhere, and where it hangs it hangs for good: software emulation always.
/// With counted instructions (one a nanosecond, idle time skipped) the machine's clock follows its own work, not ours: a
/// busy host makes it slower to watch, and changes nothing inside. A plain processor without wide registers switches
/// threads faster.
fn boot(kernel: &Path, image: &Path, disk: &Path, console: &Path) {
    let mut qemu = Command::new("timeout");
    qemu.arg(LIMIT_S.to_string()).arg("qemu-system-x86_64");
    qemu.args(["-M", "q35", "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-cpu", "Nehalem"]);
    qemu.args(["-m", "1024", "-smp", "1", "-display", "none", "-no-reboot", "-nodefaults"]);
    qemu.arg("-serial").arg(format!("file:{}", console.display()));
    qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(image);
    qemu.arg("-drive").arg(format!("file={},format=raw,if=virtio", disk.display()));
    qemu.args(["-append", "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable"]);
    // Its exit code says nothing: what counts is the last line on the console.
    qemu.stdin(Stdio::null()).status().expect("timeout and qemu");
}
