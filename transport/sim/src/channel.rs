//! What is known of one channel of one session: the sender's packets until it is known what became of them, in order,
//! and the figures. Memory does not grow with the run unless traces are asked for.

use std::collections::VecDeque;

use media::{Duration, Instant, Medium};
use netem::DirectionSpec;
use proto::KCause;
use proto::report::{ChannelReport, MergeReport, WireReport};
use proto::table::{MediumRow, MergeFactorRow, PacketRow};

use crate::convergence::Watch;
use crate::figures::Figures;
use crate::frames::Frames;
use crate::outcome::{ChannelDetails, FlowDetails};
use crate::session::Counts;
use crate::traces::ChannelTraces;

/// Time from tick to tick.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// One channel.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Tick 0.
    start: Instant,
    /// What was taken or sent before is left out of the figures.
    from: Instant,
    /// Packets in order of sending, from number `settled` on.
    under_way: VecDeque<(Packet, Fate)>,
    settled: u64,
    most_under_way: usize,
    wire: WireReport,
    merge: Merge,
    haptic: Figures,
    convergence: Watch,
    /// Audio and video, where the channel has them.
    frames: [Option<Frames>; 2],
    traces: Option<Rows>,
}

/// A packet of which the end is not known yet, or not that of one before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// When it left.
    pub at: Instant,
    /// Tick of its oldest sample.
    pub first_index: u64,
    /// Fragments in it.
    pub k: u8,
    /// Bit i: it has the sample of its fragment i.
    pub mask: u8,
    /// Its bytes, lower headers included.
    pub wire_bytes: u64,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug)]
enum Fate {
    UnderWay,
    Received(Instant),
    Lost,
}

/// The merge factor over the run.
#[derive(Debug, Default)]
struct Merge {
    k: u8,
    ticks: [u64; proto::MAX_MERGE as usize],
    changes: u64,
}

/// Traces so far.
#[derive(Debug, Default)]
struct Rows {
    packets: Vec<PacketRow>,
    merge_factors: Vec<MergeFactorRow>,
    haptic: Vec<MediumRow>,
    /// One after the last sample that left.
    sent_end: u64,
}

impl Channel {
    /// The channel over `spec` of a session whose tick 0 is at `start`, with or without audio and video; figures count from
    /// `from` on.
    pub fn new(spec: &DirectionSpec, start: Instant, from: Instant, [audio, video]: [bool; 2], traces: bool) -> Self {
        let frames = |has: bool, medium| has.then(|| Frames::new(medium, from, traces));
        Channel {
            start,
            from,
            under_way: VecDeque::new(),
            settled: 0,
            most_under_way: 0,
            wire: WireReport { lost: Some(0), ..WireReport::default() },
            merge: Merge::default(),
            haptic: Figures::new(Medium::Haptic, from),
            convergence: Watch::new(spec),
            frames: [frames(audio, Medium::Audio), frames(video, Medium::Video)],
            traces: traces.then(Rows::default),
        }
    }

    /// The multiplexer took the sample of tick `index`.
    pub fn on_taken(&mut self, index: u64, at: Instant) {
        if at >= self.from {
            self.merge.ticks[usize::from(self.merge.k.max(1) - 1)] += 1;
        }
        if let Some(rows) = &mut self.traces {
            rows.haptic.push(MediumRow { index, capture_ns: ns(at), receive_ns: None, display_ns: None });
        }
    }

    /// The merge factor is `k` from tick `index` on.
    pub fn on_merge_factor(&mut self, index: u64, k: u8, cause: KCause) {
        if self.merge.k != 0 && self.merge.k != k && self.tick(index) > self.from {
            self.merge.changes += 1;
        }
        self.merge.k = k;
        if let Some(rows) = &mut self.traces {
            rows.merge_factors.push(MergeFactorRow { tick: index, k, cause });
        }
    }

    /// The multiplexer took a frame of so many bytes, its header included.
    pub fn on_frame_taken(&mut self, medium: Medium, number: u64, at: Instant, bytes: u64) {
        if let Some(frames) = self.frames_of(medium) {
            frames.on_taken(number, at, bytes);
        }
    }

    /// A packet left, with it so many bytes of the streams of audio and video. Its number in the channel.
    pub fn on_sent(&mut self, packet: Packet, audio_bytes: usize, video_bytes: usize) -> u64 {
        let sequence = self.settled + self.under_way.len() as u64;
        self.under_way.push_back((packet, Fate::UnderWay));
        self.most_under_way = self.most_under_way.max(self.under_way.len());
        for (frames, bytes) in self.frames.iter_mut().zip([audio_bytes, video_bytes]) {
            if let Some(frames) = frames {
                frames.on_left(bytes);
            }
        }
        sequence
    }

    /// The receiver took packet `sequence` in, for the first time.
    pub fn on_received(&mut self, sequence: u64, at: Instant) {
        self.set_fate(sequence, Fate::Received(at));
    }

    /// No copy of packet `sequence` is on its way any more.
    pub fn on_gone(&mut self, sequence: u64) {
        self.set_fate(sequence, Fate::Lost);
    }

    /// The sample of tick `index` was displayed.
    pub fn on_displayed(&mut self, index: u64, at: Instant) {
        if let Some(row) = self.traces.as_mut().and_then(|rows| row_of(&mut rows.haptic, index)) {
            row.display_ns.get_or_insert(ns(at));
        }
    }

    /// A frame became whole at `at`, and is to be shown at `display_at`.
    pub fn on_frame_received(&mut self, medium: Medium, number: u64, at: Instant, display_at: Instant) {
        if let Some(frames) = self.frames_of(medium) {
            frames.on_received(number, at, display_at);
        }
    }

    /// The most packets that waited at once for the end of themselves or of one before them.
    pub fn most_under_way(&self) -> usize {
        self.most_under_way
    }

    /// Nothing more will come. The figures of a run that ended at `end` with what its sender counted.
    pub fn finish(&mut self, end: Instant, counts: Counts, flows: Vec<FlowDetails>) -> (ChannelReport, ChannelDetails) {
        for frames in self.frames.iter_mut().flatten() {
            frames.finish();
        }
        let ticks = self.merge.ticks.iter().sum::<u64>().max(1) as f64;
        let share = |n: u64| 100.0 * n as f64 / ticks;
        let k = MergeReport {
            share_percent: (1u8..).zip(self.merge.ticks).filter(|(_, n)| *n > 0).map(|(k, n)| (k, share(n))).collect(),
            changes: self.merge.changes,
            i_c: counts.i_c,
            i_s: counts.i_s,
        };
        let seconds = end.saturating_since(self.from).as_secs_f64();
        let kbps = if seconds > 0.0 { self.wire.bytes as f64 * 8.0 / 1e3 / seconds } else { 0.0 };
        let [audio, video] = self.frames.each_ref().map(|f| f.as_ref().map(|f| f.figures.report()));
        let report = ChannelReport {
            k,
            wire: WireReport { kbps, ..self.wire.clone() },
            haptic: self.haptic.report(),
            audio,
            video,
        };
        let [audio, video] = self.frames.each_mut().map(|f| f.as_mut().map(|f| f.figures.time_over_limit()));
        let haptic = self.haptic.time_over_limit();
        let convergence = self.convergence.report();
        (
            report,
            ChannelDetails {
                haptic_over_limit: haptic,
                audio_over_limit: audio,
                video_over_limit: video,
                refused_frames: counts.refused_frames,
                convergence,
                flows,
            },
        )
    }

    /// The traces, if they were asked for. Samples that never left are not in them.
    pub fn take_traces(&mut self) -> Option<ChannelTraces> {
        let Rows { packets, merge_factors, mut haptic, sent_end } = self.traces.take()?;
        haptic.truncate(haptic.partition_point(|row| row.index < sent_end));
        let [audio, video] = self.frames.each_mut().map(|f| f.as_mut().and_then(|f| f.rows.take()));
        Some(ChannelTraces { packets, merge_factors, haptic, audio, video })
    }

    fn set_fate(&mut self, sequence: u64, fate: Fate) {
        let place = sequence.checked_sub(self.settled).and_then(|i| usize::try_from(i).ok());
        let Some((_, known)) = place.and_then(|i| self.under_way.get_mut(i)) else { return };
        if matches!(known, Fate::UnderWay) {
            *known = fate;
        }
        while let Some(&(packet, fate)) = self.under_way.front() {
            let received = match fate {
                Fate::UnderWay => return,
                Fate::Received(at) => Some(at),
                Fate::Lost => None,
            };
            self.under_way.pop_front();
            self.settle(packet, received);
            self.settled += 1;
        }
    }

    /// It is known what became of the oldest packet.
    fn settle(&mut self, packet: Packet, received: Option<Instant>) {
        if packet.at >= self.from {
            self.wire.packets += 1;
            self.wire.bytes += packet.wire_bytes;
            self.wire.lost = self.wire.lost.map(|lost| lost + u64::from(received.is_none()));
        }
        if let Some(at) = received.filter(|_| packet.mask != 0) {
            self.haptic.on_packet(packet.at, at);
        }
        let samples = move || (0..u64::from(packet.k)).filter(move |i| packet.mask >> i & 1 == 1);
        for (n, i) in samples().enumerate() {
            let captured = self.tick(packet.first_index + i);
            self.haptic.settle(captured, received, n == 0);
            self.convergence.settle(captured, received);
        }
        let Some(rows) = &mut self.traces else { return };
        rows.packets.push(PacketRow {
            sequence: self.settled,
            send_ns: ns(packet.at),
            receive_ns: received.map(ns),
            k: packet.k,
            first_index: packet.first_index,
        });
        for i in samples() {
            if let Some(row) = row_of(&mut rows.haptic, packet.first_index + i) {
                row.receive_ns = received.map(ns);
            }
        }
        rows.sent_end = rows.sent_end.max(packet.first_index + u64::from(packet.k));
    }

    fn frames_of(&mut self, medium: Medium) -> Option<&mut Frames> {
        let [audio, video] = &mut self.frames;
        match medium {
            Medium::Haptic => None,
            Medium::Audio => audio.as_mut(),
            Medium::Video => video.as_mut(),
        }
    }

    fn tick(&self, index: u64) -> Instant {
        Instant::from_nanos(self.start.as_nanos() + index * TICK.as_nanos() as u64)
    }
}

/// The row of a tick; with a scheme that skips none it stands at its number.
fn row_of(rows: &mut [MediumRow], index: u64) -> Option<&mut MediumRow> {
    let at = usize::try_from(index).ok()?;
    let at = if rows.get(at).is_some_and(|row| row.index == index) {
        at
    } else {
        rows.binary_search_by_key(&index, |row| row.index).ok()?
    };
    rows.get_mut(at)
}

fn ns(at: Instant) -> i64 {
    at.as_nanos() as i64
}
