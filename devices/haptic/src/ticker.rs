//! The beat of the servo: absolute deadlines, so that a late wake-up is not carried on. The only place of this crate that
//! touches the clock of the operating system.

use media::{Duration, Instant};

/// The last part before a deadline is waited for actively: a sleeping thread wakes up some tens of microseconds late.
const SPIN: Duration = Duration::from_micros(60);
/// Priority among the real-time threads: above ordinary ones, below those of the kernel.
pub(crate) const PRIORITY: libc::c_int = 50;
/// How long after a report of the device a beat should come: its jitter and the way through the system fit in.
const BEHIND: Duration = Duration::from_micros(150);
/// A beat moves at most so much in a period: 0.2 %, more than two quartz clocks ever differ.
const NUDGE_NS: i64 = 2_000;

/// One beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Its number: the deadline was `number` periods after the start.
    pub number: u64,
    /// When the wait ended.
    pub now: Instant,
    /// How long after the deadline.
    pub lateness: Duration,
    /// Beats that passed unnoticed before this one.
    pub missed: u64,
}

/// Wakes the calling thread once a period.
pub struct Ticker<C> {
    clock: C,
    epoch_ns: i64,
    period: Duration,
    start: Instant,
    number: u64,
    lateness: Lateness,
    realtime: String,
}

impl<C: Fn() -> Instant> Ticker<C> {
    /// A ticker for the calling thread, which is given real-time priority if the system permits: call this on the servo
    /// thread. Tick 1 is one `period` from now. `clock` reads the process's clock; its zero is `epoch_ns` on
    /// CLOCK_MONOTONIC.
    pub fn start(period: Duration, clock: C, epoch_ns: i64) -> Self {
        let realtime = raise_priority(PRIORITY);
        Ticker::plain(period, clock, epoch_ns, realtime)
    }

    fn plain(period: Duration, clock: C, epoch_ns: i64, realtime: String) -> Self {
        let start = clock();
        let period = period.max(Duration::from_micros(100));
        Ticker { clock, epoch_ns, period, start, number: 0, lateness: Lateness::new(), realtime }
    }

    /// Sleeps until the next beat. A caller that is more than a period late gets the beat of now, with the number of
    /// those that it missed.
    pub fn wait(&mut self) -> Tick {
        let deadline = self.deadline(self.number + 1);
        let sleep_until = deadline - SPIN;
        if (self.clock)() < sleep_until {
            sleep_to(i128::from(self.epoch_ns) + i128::from(sleep_until.as_nanos()));
        }
        let mut now = (self.clock)();
        while now < deadline {
            core::hint::spin_loop();
            now = (self.clock)();
        }
        self.arrive(now)
    }

    /// The beat that a wake-up at `now` is.
    fn arrive(&mut self, now: Instant) -> Tick {
        let period = self.period.as_nanos() as u64;
        let due = now.saturating_since(self.start).as_nanos() as u64 / period;
        let number = due.max(self.number + 1);
        let missed = number - self.number - 1;
        // Lateness counts from the first deadline that was waited for: a missed beat is not a punctual one.
        let lateness = now.saturating_since(self.deadline(self.number + 1));
        self.number = number;
        self.lateness.record(lateness, missed);
        Tick { number, now, lateness, missed }
    }

    /// Moves the beat a little towards 0.15 ms after the reports of a device that has a beat of its own: `arrival` is
    /// that of the report used in the tick that woke up at `now`. Without it a report waits anything up to a period for
    /// its tick, and the wait drifts with the two clocks. The beat moves by 2 us in a period at most; an old report moves
    /// nothing.
    pub fn follow(&mut self, now: Instant, arrival: Instant) {
        let age = now.saturating_since(arrival);
        if age > self.period * 4 {
            return;
        }
        let period = self.period.as_nanos() as i64;
        let late = age.as_nanos() as i64 - BEHIND.as_nanos() as i64;
        // The way round the circle that is shorter.
        let late = (late + period / 2).rem_euclid(period) - period / 2;
        let step = (late / 32).clamp(-NUDGE_NS, NUDGE_NS);
        self.start = self.start.offset(-step);
    }

    fn deadline(&self, number: u64) -> Instant {
        self.start + Duration::from_nanos(number.saturating_mul(self.period.as_nanos() as u64))
    }

    /// How punctual it was so far.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// "real-time priority", or why not and what to do.
    pub fn realtime(&self) -> &str {
        &self.realtime
    }
}

/// Lateness of wake-ups in a fixed histogram: exact to 1 us below 64 us, to 1/32 above. Recording allocates nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    buckets: Box<[u64; BUCKETS]>,
    ticks: u64,
    missed: u64,
    max_us: u64,
}

/// 64 of 1 us, then 32 for each doubling up to 2^37 us.
const BUCKETS: usize = 64 + 32 * 31;

impl Lateness {
    pub(crate) fn new() -> Self {
        Lateness { buckets: Box::new([0; BUCKETS]), ticks: 0, missed: 0, max_us: 0 }
    }

    pub(crate) fn record(&mut self, lateness: Duration, missed: u64) {
        let us = u64::try_from(lateness.as_micros()).unwrap_or(u64::MAX);
        self.buckets[bucket(us)] += 1;
        self.ticks += 1;
        self.missed += missed;
        self.max_us = self.max_us.max(us);
    }

    /// Beats that were served.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Beats that were not.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Latest wake-up, us.
    pub fn max_us(&self) -> u64 {
        self.max_us
    }

    /// The lateness (us) that `share` (0 to 1) of the wake-ups do not exceed; 0 before the first.
    pub fn quantile_us(&self, share: f64) -> u64 {
        let wanted = (share.clamp(0.0, 1.0) * self.ticks as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return upper_edge(index).min(self.max_us);
            }
        }
        self.max_us
    }

    /// p50, p99 and maximum, us.
    pub fn summary_us(&self) -> [f64; 3] {
        [self.quantile_us(0.5) as f64, self.quantile_us(0.99) as f64, self.max_us as f64]
    }
}

fn bucket(us: u64) -> usize {
    if us < 64 {
        return us as usize;
    }
    let doubling = us.ilog2() as usize;
    // The five bits below the leading one.
    let part = (us >> (doubling - 5)) as usize & 31;
    (64 + (doubling - 6) * 32 + part).min(BUCKETS - 1)
}

/// Largest lateness of a bucket, us.
fn upper_edge(index: usize) -> u64 {
    if index < 64 {
        return index as u64;
    }
    let (doubling, part) = ((index - 64) / 32 + 6, (index - 64) as u64 % 32);
    ((32 + part + 1) << (doubling - 5)) - 1
}

/// Sleeps until `monotonic_ns` on CLOCK_MONOTONIC; at once if that is past.
fn sleep_to(monotonic_ns: i128) {
    let Ok(ns) = u64::try_from(monotonic_ns) else { return };
    let until = libc::timespec {
        tv_sec: libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `until` outlives the call; a null remainder is allowed for absolute sleeps. Interrupted sleeps are called
    // again, other errors end the sleep early and the caller's spin takes over.
    while unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, core::ptr::null_mut()) }
        == libc::EINTR
    {}
}

/// Asks for SCHED_FIFO at this priority for the calling thread and says how it went.
pub(crate) fn raise_priority(priority: libc::c_int) -> String {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: plain system calls on the calling thread; `param` outlives the call.
    let failed = unsafe { libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_FIFO, &param) };
    if failed == 0 {
        return "real-time priority".into();
    }
    // SAFETY: a plain system call; the slack of a wake-up goes from 50 us to the least, of this thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    let reason = std::io::Error::from_raw_os_error(failed);
    format!("ordinary priority ({reason}): `setcap cap_sys_nice+ep` on the program, or run it with an rtprio limit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    fn ticker(now: &Cell<Instant>) -> Ticker<impl Fn() -> Instant + '_> {
        Ticker::plain(MS, || now.get(), 0, String::new())
    }

    #[test]
    fn lateness_does_not_accumulate_and_missed_beats_are_counted() {
        let now = Cell::new(Instant::from_millis(7));
        let mut t = ticker(&now);
        let at = |us: u64| Instant::from_nanos(7_000_000 + us * 1000);
        let tick = |number, now, us, missed| Tick { number, now, lateness: Duration::from_micros(us), missed };
        assert_eq!(t.arrive(at(1000)), tick(1, at(1000), 0, 0));
        assert_eq!(t.arrive(at(2300)), tick(2, at(2300), 300, 0));
        assert_eq!(t.arrive(at(3000)), tick(3, at(3000), 0, 0));
        // 4 and 5 passed, this is 6.
        assert_eq!(t.arrive(at(6100)), tick(6, at(6100), 2100, 2));
        assert_eq!(t.arrive(at(7001)), tick(7, at(7001), 1, 0));
        assert_eq!((t.lateness().ticks(), t.lateness().missed(), t.lateness().max_us()), (5, 2, 2100));
        assert_eq!(t.lateness().summary_us(), [1.0, 2100.0, 2100.0]);
    }

    #[test]
    fn waiting_returns_with_the_beat() {
        // A clock that moves by itself: no sleep is long enough to wait for.
        let reads = Cell::new(0u64);
        let clock = || {
            reads.set(reads.get() + 1);
            Instant::from_nanos(reads.get() * 50_000)
        };
        let mut t = Ticker::plain(MS, clock, i64::MIN, String::new());
        for number in 1..50 {
            let tick = t.wait();
            assert_eq!((tick.number, tick.missed), (number, 0));
            assert!(tick.lateness < Duration::from_micros(50));
        }
    }

    /// A device whose clock is 100 ppm off, started at any phase, with reports that jitter by 40 us.
    #[test]
    fn the_beat_settles_behind_the_reports_of_a_device() {
        for (phase_us, ppm) in (0..10).map(|i| i * 100).flat_map(|phase| [(phase, 100), (phase, -100)]) {
            let now = Cell::new(Instant::from_millis(7));
            let mut t = ticker(&now);
            let period_ns = (1_000_000 + ppm) as u64;
            let mut ages = Vec::new();
            for i in 1..6_000u64 {
                let woken = t.deadline(t.number + 1) + Duration::from_micros(5);
                let tick = t.arrive(woken);
                assert_eq!((tick.number, tick.missed), (i, 0));
                // The newest report that has arrived by then.
                let first = 7_000_000 - 5_000_000 + phase_us * 1_000;
                let jitter = |n: u64| n * 7_919 % 41 * 1_000;
                let n = (woken.as_nanos() - first) / period_ns;
                let arrival = |n: u64| Instant::from_nanos(first + n * period_ns + jitter(n));
                let arrival = if arrival(n) <= woken { arrival(n) } else { arrival(n - 1) };
                t.follow(tick.now, arrival);
                if i > 1_000 {
                    ages.push(woken.saturating_since(arrival).as_micros() as u64);
                }
            }
            ages.sort_unstable();
            assert!(
                ages[0] > 80 && ages[ages.len() - 1] < 240,
                "{phase_us} us, {ppm} ppm: {} to {}",
                ages[0],
                ages[ages.len() - 1]
            );
        }
    }

    #[test]
    fn an_old_report_moves_nothing() {
        let now = Cell::new(Instant::from_millis(7));
        let mut t = ticker(&now);
        t.follow(Instant::from_millis(12), Instant::from_nanos(7_400_000));
        assert_eq!(t.deadline(1), Instant::from_millis(8));
    }

    #[test]
    fn priority_is_told_in_words() {
        let text = std::thread::spawn(|| raise_priority(PRIORITY)).join().unwrap();
        assert!(text.starts_with("real-time priority") || text.contains("setcap"), "{text}");
    }

    proptest! {
        #[test]
        fn quantiles_are_near(mut us in proptest::collection::vec(0u64..3_000_000, 1..300), share in 0.0f64..=1.0) {
            let mut lateness = Lateness::new();
            for &u in &us {
                lateness.record(Duration::from_micros(u), 0);
            }
            us.sort_unstable();
            let index = ((share * us.len() as f64).ceil() as usize).clamp(1, us.len()) - 1;
            let (exact, told) = (us[index], lateness.quantile_us(share));
            prop_assert!(told >= exact && told <= exact + exact / 32 + 1, "{told} for {exact}");
        }

        #[test]
        fn every_lateness_has_a_bucket(us in any::<u64>()) {
            prop_assert!(bucket(us) < BUCKETS);
            if us < 1 << 36 {
                prop_assert!(upper_edge(bucket(us)) >= us);
                prop_assert!(bucket(us) == 0 || upper_edge(bucket(us) - 1) < us);
            }
        }
    }
}
