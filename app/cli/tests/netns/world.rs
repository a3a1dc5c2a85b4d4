//! Three network namespaces in a row, joined by two pairs of veth: the teleoperator's, a router's and the operator's.
//! The router sends both ways through the kernel's own bottleneck: `tbf` above a droptail `pfifo`.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread::{self, JoinHandle};

/// Where the teleoperator is.
pub const TOP_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 1);
/// Where the operator is.
pub const OP_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 2, 1);

/// Rate of the bottleneck in each direction, kbit/s.
pub const RATE_KBPS: f64 = 1500.0;
/// Packets that the bottleneck's queue holds.
pub const QUEUE: u64 = 100;
/// Bytes of headers that count for a packet, beyond the UDP payload.
pub const HEADERS: u64 = 54;
/// Of these the kernel counts Ethernet (14), IP (20) and UDP (8); preamble and gap of the link it does not know.
const KERNEL_COUNTS: u64 = 42;
/// Bytes that the bottleneck sends without waiting after a pause: 17 ms of its rate, so that a timer of a busy machine
/// that comes late costs no capacity.
pub const BURST: u64 = 3200;

/// The namespaces. Dropped, they are gone, with all that lives in them.
pub struct World {
    name: String,
}

impl World {
    /// Builds it.
    ///
    /// # Errors
    /// What could not be set up and what `ip` or `tc` said.
    pub fn build() -> Result<World, String> {
        sweep();
        // Interface names hold 15 bytes; a process number has at most 7 digits.
        let world = World { name: format!("th{}", std::process::id()) };
        let (top, router, op) = (world.top(), world.router(), world.op());
        for name in [&top, &router, &op] {
            ip(&["netns", "add", name])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
        }
        for (end, address, near, gateway) in
            [(&top, TOP_ADDRESS, "to-top", "10.77.1.2"), (&op, OP_ADDRESS, "to-op", "10.77.2.2")]
        {
            ip(&["link", "add", "eth0", "netns", end, "type", "veth", "peer", "name", near, "netns", &router])?;
            ip(&["-n", end, "addr", "add", &format!("{address}/24"), "dev", "eth0"])?;
            ip(&["-n", &router, "addr", "add", &format!("{gateway}/24"), "dev", near])?;
            ip(&["-n", end, "link", "set", "eth0", "up"])?;
            ip(&["-n", &router, "link", "set", near, "up"])?;
            ip(&["-n", end, "route", "add", "default", "via", gateway])?;
            let overhead = (HEADERS - KERNEL_COUNTS).to_string();
            let (rate, burst) = (format!("{RATE_KBPS}kbit"), BURST.to_string());
            let tbf = ["root", "handle", "1:", "tbf", "rate", &rate, "burst", &burst, "limit", "1000000"];
            let mut line = vec!["-n", &router, "qdisc", "add", "dev", near];
            line.extend(tbf);
            line.extend(["overhead", &overhead]);
            run("tc", &line)?;
            let queue = QUEUE.to_string();
            run("tc", &["-n", &router, "qdisc", "add", "dev", near, "parent", "1:1", "pfifo", "limit", &queue])?;
        }
        run("ip", &["netns", "exec", &router, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"])?;
        Ok(world)
    }

    /// Name of the teleoperator's namespace.
    pub fn top(&self) -> String {
        format!("{}-top", self.name)
    }

    /// Name of the operator's namespace.
    pub fn op(&self) -> String {
        format!("{}-op", self.name)
    }

    fn router(&self) -> String {
        format!("{}-router", self.name)
    }

    /// A command that runs in a namespace.
    pub fn command(&self, namespace: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, program]);
        command
    }

    /// What the kernel counted at the bottleneck from the teleoperator to the operator.
    pub fn backward_counters(&self) -> String {
        let text = run("tc", &["-n", &self.router(), "-s", "qdisc", "show", "dev", "to-op"]);
        text.unwrap_or_else(|e| e)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for name in [self.top(), self.router(), self.op()] {
            // Nothing more can be done about one that was never made.
            let _ = ip(&["netns", "del", &name]);
        }
    }
}

/// Removes what a run that was killed left behind.
fn sweep() {
    let Ok(list) = ip(&["netns", "list"]) else { return };
    for name in list.lines().filter_map(|line| line.split_whitespace().next()) {
        let process = name.strip_prefix("th").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|id| !std::path::Path::new(&format!("/proc/{id}")).exists()) {
            // Another test may have been quicker.
            let _ = ip(&["netns", "del", name]);
        }
    }
}

/// Starts a thread whose sockets belong to a namespace.
pub fn spawn_in<T: Send + 'static>(
    namespace: &str,
    body: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> JoinHandle<std::io::Result<T>> {
    let path = format!("/run/netns/{namespace}");
    thread::spawn(move || {
        let file = File::open(path)?;
        // SAFETY: setns takes an open descriptor and a number, and changes this thread alone, which ends with `body`.
        if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        body()
    })
}

fn ip(args: &[&str]) -> Result<String, String> {
    run("ip", args)
}

fn run(program: &str, args: &[&str]) -> Result<String, String> {
    let out = Command::new(program).args(args).output().map_err(|e| format!("{program} cannot be started: {e}"))?;
    if out.status.success() {
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    } else {
        Err(format!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&out.stderr).trim()))
    }
}
