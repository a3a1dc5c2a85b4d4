//! The figures of one medium on one channel, from samples or frames that settle in order: the report's meter, and the
//! share of time over each limit.

use media::{Instant, Medium, QosLimits};
use proto::meter::MediumMeter;
use proto::report::MediumReport;
use serde::{Deserialize, Serialize};

const NS_PER_SECOND: u64 = 1_000_000_000;

/// Share of the time, percent, in which a medium was over each of its limits.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct TimeOverLimit {
    /// Delay: the share of samples or frames, each of which stands for its period, that came after the limit.
    pub delay_percent: f64,
    /// Jitter `sample`: the share of seconds (counted from the start of the run by capture time) in which it was over
    /// its limit.
    pub jitter_percent: f64,
    /// Loss: the share of those seconds in which it was over its limit.
    pub loss_percent: f64,
}

/// Figures of one medium.
#[derive(Debug)]
pub(crate) struct Figures {
    limits: QosLimits,
    /// What was captured before is left out.
    from: Instant,
    meter: MediumMeter,
    last_delay_ns: Option<i64>,
    late: u64,
    settled: u64,
    second: Second,
    seconds: u64,
    seconds_over_jitter: u64,
    seconds_over_loss: u64,
}

/// The second that is being judged.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    number: u64,
    delivered: u64,
    lost: u64,
    change_ns: u64,
}

impl Figures {
    /// Figures of what is captured from `from` on.
    pub fn new(medium: Medium, from: Instant) -> Self {
        let limits = medium.limits();
        Figures {
            limits,
            from,
            meter: MediumMeter::new(limits),
            last_delay_ns: None,
            late: 0,
            settled: 0,
            second: Second::default(),
            seconds: 0,
            seconds_over_jitter: 0,
            seconds_over_loss: 0,
        }
    }

    /// A packet (of frames: a frame) arrived.
    pub fn on_packet(&mut self, sent: Instant, received: Instant) {
        if sent >= self.from {
            self.meter.on_packet(received.signed_since(sent));
        }
    }

    /// It is known what became of a sample or frame; called in order of capture. `packet_start`: first of its packet.
    pub fn settle(&mut self, captured: Instant, received: Option<Instant>, packet_start: bool) {
        if captured < self.from {
            return;
        }
        let number = captured.as_nanos() / NS_PER_SECOND;
        if number != self.second.number {
            self.close_second();
            self.second.number = number;
        }
        self.settled += 1;
        self.meter.on_sent();
        let Some(received) = received else {
            self.second.lost += 1;
            return self.meter.on_lost(1);
        };
        let delay_ns = received.signed_since(captured);
        self.meter.on_delivered(Some(delay_ns), packet_start);
        self.second.delivered += 1;
        self.late += u64::from(is_late(self.limits, delay_ns));
        if let Some(last) = self.last_delay_ns.replace(delay_ns)
            && packet_start
        {
            self.second.change_ns += delay_ns.abs_diff(last);
        }
    }

    fn close_second(&mut self) {
        let Second { delivered, lost, change_ns, .. } = std::mem::take(&mut self.second);
        if delivered + lost == 0 {
            return;
        }
        let jitter_ms = change_ns as f64 / 1e6 / delivered.max(1) as f64;
        let loss_percent = 100.0 * lost as f64 / (delivered + lost) as f64;
        self.seconds += 1;
        self.seconds_over_jitter += u64::from(jitter_ms > self.limits.jitter_ms);
        self.seconds_over_loss += u64::from(loss_percent > self.limits.loss_percent);
    }

    /// The figures of the report; in virtual time delays are exact.
    pub fn report(&self) -> MediumReport {
        self.meter.report(Some(0.0))
    }

    /// Time over each limit. Ends the second under way.
    pub fn time_over_limit(&mut self) -> TimeOverLimit {
        self.close_second();
        let percent = |part: u64, all: u64| if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 };
        TimeOverLimit {
            delay_percent: percent(self.late, self.settled),
            jitter_percent: percent(self.seconds_over_jitter, self.seconds),
            loss_percent: percent(self.seconds_over_loss, self.seconds),
        }
    }
}

/// Is this delay over the limit?
pub(crate) fn is_late(limits: QosLimits, delay_ns: i64) -> bool {
    delay_ns as f64 > limits.delay_ms * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn time_is_counted_by_samples_and_by_seconds() {
        let mut figures = Figures::new(Medium::Haptic, ms(1_000));
        // Left out.
        figures.settle(ms(999), None, true);
        // A second in time, one late, one with a tenth and a little more lost, one that swings by 12 ms a sample.
        for tick in 1_000..5_000u64 {
            let delay = match tick {
                1_000..2_000 => Some(20),
                2_000..3_000 => Some(40),
                3_000..4_000 => (tick % 9 > 0).then_some(20),
                _ => Some(12 + 12 * (tick % 2)),
            };
            figures.settle(ms(tick), delay.map(|d| ms(tick + d)), true);
        }
        let time = figures.time_over_limit();
        assert_eq!(time, TimeOverLimit { delay_percent: 25.0, jitter_percent: 25.0, loss_percent: 25.0 });
        let report = figures.report();
        assert_eq!((report.sent, report.delivered + report.lost, report.late), (4_000, 4_000, 1_000));
    }
}
