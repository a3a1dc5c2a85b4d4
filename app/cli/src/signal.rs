//! Ctrl-C and the system's wish to end: a flag, so that every run ends in order.

use std::sync::atomic::{AtomicBool, Ordering};

static ENDING: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_: libc::c_int) {
    ENDING.store(true, Ordering::Release);
}

/// From now on SIGINT and SIGTERM set the flag; a second one ends the process at once.
pub fn watch() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores to an atomic, which is allowed in a signal handler; SA_RESETHAND gives the
        // second signal its usual effect.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as *const () as usize;
            action.sa_flags = libc::SA_RESETHAND;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Somebody wants this process to end.
pub fn ending() -> bool {
    ENDING.load(Ordering::Acquire)
}
