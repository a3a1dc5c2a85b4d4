//! Waiting: until a datagram comes, another thread calls, or a moment is reached.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use media::Duration;

/// Wakes a waiting thread from another one.
#[derive(Debug)]
pub struct Waker {
    event: OwnedFd,
}

impl Waker {
    /// A waker that nobody has called yet.
    ///
    /// # Errors
    /// If the system has no file descriptor left.
    pub fn new() -> io::Result<Waker> {
        // SAFETY: eventfd has no preconditions; the descriptor is checked and owned from here on.
        unsafe {
            let fd = libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Waker { event: OwnedFd::from_raw_fd(fd) }) }
        }
    }

    /// Wakes the waiting thread, or keeps it from falling asleep the next time.
    pub fn wake(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the buffer is valid for eight bytes. A full counter means that a call is pending already.
        unsafe { libc::write(self.event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    fn clear(&self) {
        let mut count = [0u8; 8];
        // SAFETY: the buffer is valid for eight bytes. An empty counter is what we want.
        unsafe { libc::read(self.event.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

/// Waits until `socket` can be read, `waker` is called, or `timeout` is over.
///
/// # Errors
/// If the system cannot wait (a signal is no error).
pub fn wait(socket: RawFd, waker: &Waker, timeout: Duration) -> io::Result<()> {
    let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut fds = [entry(socket), entry(waker.event.as_raw_fd())];
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
    };
    // SAFETY: `fds` and `timeout` live through the call, and the count is that of `fds`.
    let ready =
        unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, &raw const timeout, std::ptr::null()) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
    }
    if fds[1].revents != 0 {
        waker.clear();
    }
    Ok(())
}

/// Gives the calling thread the real-time priority `level` (1 to 99) among SCHED_FIFO threads, and timers without slack.
///
/// # Errors
/// If that is not permitted: run as root, or give the program CAP_SYS_NICE.
pub fn raise_priority(level: i32) -> io::Result<()> {
    // SAFETY: the parameter block is valid; both calls change this thread alone.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
        let parameters = libc::sched_param { sched_priority: level };
        if libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
