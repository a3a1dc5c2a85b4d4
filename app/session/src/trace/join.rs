//! Joins what one station sent with what the other received: one channel, one clock, one row a packet, sample or frame.
//!
//! The receiver's numbers are matched by their low 16 bits and the moment, since a receiver counts on from where it
//! first heard the sender.

use std::collections::BTreeMap;

use media::{Channel, Medium};

use super::half::{Frame, Half};

/// What arrives before it left by no more than this is a matter of stamps (the kernel's are on another clock), ns.
/// Far below the 65 s after which a number comes again.
const STAMP_ERROR_NS: i64 = 50_000_000;
/// Not received and younger than this at the end of the run: it was on its way, ns.
const IN_FLIGHT_NS: i64 = 500_000_000;

/// The part of a run that counts, on the machine's clock, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// First sample of either station after both were connected: time zero of the CSV files.
    pub start: i64,
    /// The first station ended.
    pub end: i64,
}

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PacketRow {
    pub sequence: u64,
    pub send: i64,
    pub receive: Option<i64>,
    pub k: u8,
    pub first_index: u64,
}

/// A sample or frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MediumRow {
    pub index: u64,
    pub capture: i64,
    pub receive: Option<i64>,
    pub display: Option<i64>,
    /// Haptic: first of its packet. Frames: always.
    pub packet_start: bool,
}

/// A joined channel. Packets, samples and frames are counted from the start of the span.
#[derive(Debug)]
pub(super) struct Joined {
    pub channel: Channel,
    pub packets: Vec<PacketRow>,
    pub haptic: Vec<MediumRow>,
    /// `None` on a channel without.
    pub audio: Option<Vec<MediumRow>>,
    pub video: Option<Vec<MediumRow>>,
    /// (tick, k, cause)
    pub merge_factors: Vec<(u64, u8, String)>,
}

/// When the run of both halves began and ended; `None` if they never were connected at the same time.
pub(super) fn span(op: &Half, top: &Half) -> Option<Span> {
    let connected = op.connected()?.max(top.connected()?);
    let first = |half: &Half| half.haptic_sent.iter().map(|s| s.1).find(|at| *at >= connected);
    let start = match (first(op), first(top)) {
        (Some(a), Some(b)) => a.min(b),
        (a, b) => a.or(b)?,
    };
    Some(Span { start, end: op.end().min(top.end()) })
}

/// Joins the channel from `sender` to `receiver`.
pub(super) fn join(channel: Channel, sender: &Half, receiver: &Half, span: Span) -> Joined {
    let counts = |at: i64| (span.start..=span.end).contains(&at);
    let base = sender.haptic_sent.iter().find(|s| counts(s.1)).map_or(0, |s| s.0);

    let mut packets: Vec<PacketRow> = sender
        .packets_sent
        .iter()
        .filter(|p| counts(p.at) && p.first_index >= base)
        .map(|p| PacketRow { sequence: p.sequence, send: p.at, receive: None, k: p.k, first_index: p.first_index })
        .collect();
    let sent = Matcher::new(packets.iter().map(|p| (p.first_index, p.send)));
    for p in &receiver.packets_received {
        if let Some(row) = sent.find(p.first_index, p.at)
            && packets[row].k == p.k
        {
            packets[row].receive.get_or_insert(p.at);
        }
    }

    let mut haptic: Vec<MediumRow> = sender
        .haptic_sent
        .iter()
        .filter(|s| counts(s.1) && s.0 >= base)
        .map(|&(index, capture)| MediumRow { index, capture, receive: None, display: None, packet_start: false })
        .collect();
    for p in &packets {
        let from = haptic.partition_point(|s| s.index < p.first_index);
        for row in haptic[from..].iter_mut().take_while(|s| s.index < p.first_index + u64::from(p.k)) {
            row.receive = p.receive;
            row.packet_start = row.index == p.first_index;
        }
    }
    let taken = Matcher::new(haptic.iter().map(|s| (s.index, s.capture)));
    for &(index, at) in &receiver.haptic_shown {
        if let Some(row) = taken.find(index, at) {
            haptic[row].display.get_or_insert(at);
        }
    }

    let last_arrived = packets.iter().rposition(|p| p.receive.is_some()).map_or(0, |i| i + 1);
    let mut row = 0;
    packets.retain(|p| {
        row += 1;
        row <= last_arrived || p.send < span.end - IN_FLIGHT_NS
    });
    without_in_flight(&mut haptic, span);

    let frames = |medium| frames(medium, &sender.frames_sent, &receiver.frames_received, span);
    let carries = |medium| (channel == Channel::Backward).then(|| frames(medium));
    let (audio, video) = (carries(Medium::Audio), carries(Medium::Video));

    // All numbers from the start of the run.
    let first_sequence = packets.first().map_or(0, |p| p.sequence);
    for p in &mut packets {
        p.sequence -= first_sequence;
        p.first_index -= base;
    }
    for s in &mut haptic {
        s.index -= base;
    }
    Joined { channel, packets, haptic, audio, video, merge_factors: merge_factors(sender, base) }
}

/// Changes of k from tick `base` on, begun with the k that held there.
fn merge_factors(sender: &Half, base: u64) -> Vec<(u64, u8, String)> {
    let later = sender.merge_factors.partition_point(|m| m.0 <= base);
    let mut rows = Vec::new();
    if let Some((_, k, _)) = sender.merge_factors[..later].last() {
        rows.push((0, *k, proto::KCause::Start.name().to_owned()));
    }
    rows.extend(sender.merge_factors[later..].iter().map(|(index, k, cause)| (index - base, *k, cause.clone())));
    rows
}

fn frames(medium: Medium, sent: &[Frame], received: &[Frame], span: Span) -> Vec<MediumRow> {
    let mut rows: Vec<MediumRow> = sent
        .iter()
        .filter(|f| f.medium == medium && (span.start..=span.end).contains(&f.at))
        .map(|f| MediumRow { index: f.number, capture: f.at, receive: None, display: None, packet_start: true })
        .collect();
    let taken = Matcher::new(rows.iter().map(|r| (r.index, r.capture)));
    for f in received.iter().filter(|f| f.medium == medium) {
        if let Some(row) = taken.find(f.number, f.at)
            && rows[row].receive.is_none()
        {
            rows[row].receive = Some(f.at);
            rows[row].display = Some(f.display);
        }
    }
    without_in_flight(&mut rows, span);
    let first = rows.first().map_or(0, |r| r.index);
    for r in &mut rows {
        r.index -= first;
    }
    rows
}

/// Leaves out what was still on its way: sent after everything that arrived, and young when the run ended.
fn without_in_flight(rows: &mut Vec<MediumRow>, span: Span) {
    let last_arrived = rows.iter().rposition(|r| r.receive.is_some()).map_or(0, |i| i + 1);
    let mut row = 0;
    rows.retain(|r| {
        row += 1;
        row <= last_arrived || r.capture < span.end - IN_FLIGHT_NS
    });
}

/// Finds what left by the low 16 bits of its number.
struct Matcher {
    by_number: BTreeMap<u16, Vec<(i64, usize)>>,
}

impl Matcher {
    /// From (number, moment) of each row, in order of time.
    fn new(rows: impl Iterator<Item = (u64, i64)>) -> Self {
        let mut by_number: BTreeMap<u16, Vec<(i64, usize)>> = BTreeMap::new();
        for (row, (number, at)) in rows.enumerate() {
            by_number.entry(number as u16).or_default().push((at, row));
        }
        Matcher { by_number }
    }

    /// The row with this number that left last before `at`.
    fn find(&self, number: u64, at: i64) -> Option<usize> {
        let rows = self.by_number.get(&(number as u16))?;
        let later = rows.partition_point(|(left, _)| *left <= at + STAMP_ERROR_NS);
        rows[..later].last().map(|(_, row)| *row)
    }
}
