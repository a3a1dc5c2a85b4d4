//! Ctrl-C, the system's wish to end, and the death of a parent: one flag, so that every run ends in order.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static ENDING: AtomicBool = AtomicBool::new(false);

/// How long a run whose parent has died may take to end in order.
const PATIENCE: Duration = Duration::from_secs(10);

extern "C" fn note(_: libc::c_int) {
    ENDING.store(true, Ordering::Release);
}

/// From now on SIGINT, SIGTERM and SIGHUP set the flag; a second one ends the process at once. A SIGHUP that is ignored
/// (`nohup`) stays ignored.
pub fn watch() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic, which is allowed in a signal handler; SA_RESETHAND gives the
        // second signal its usual effect. The structures are plain data that the calls read and fill.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action);
            if signal == libc::SIGHUP && action.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            action = std::mem::zeroed();
            action.sa_sigaction = note as *const () as usize;
            action.sa_flags = libc::SA_RESETHAND;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// From now on the end of standard input sets the flag too: it is a pipe whose other end the parent holds, so that it
/// ends whenever the parent does. (The kernel's signal at a parent's death is no use: it is forgotten when the program
/// has file capabilities, which real-time priority asks for, and it comes once for each thread of the parent.)
pub fn end_with_stdin() {
    std::thread::spawn(|| {
        let mut bytes = [0; 64];
        while std::io::stdin().read(&mut bytes).is_ok_and(|n| n > 0) {}
        ENDING.store(true, Ordering::Release);
        std::thread::sleep(PATIENCE);
        std::process::exit(1);
    });
}

/// Somebody wants this process to end.
pub fn ending() -> bool {
    ENDING.load(Ordering::Acquire)
}
