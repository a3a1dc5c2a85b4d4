//! Holds the tables of `docs/protocol.md` against the code.

use telehaptic_proto as proto;

use media::{Medium, SampleKind};
use proto::control::{CONTROL_HEADER, ControlHeader, MAX_CONTROL, MediumStatistics, Message};
use proto::{FRAME_HEADER, Token, TriggerConfig, wire};

const DOCUMENT: &str = include_str!("../../../docs/protocol.md");

/// The cells of the row that begins with `first` in the table under the heading `section`.
fn row(section: &str, first: &str) -> Vec<&'static str> {
    let text = DOCUMENT.split("\n#").find(|s| s.trim_start_matches('#').trim_start().starts_with(section));
    let text = text.unwrap_or_else(|| panic!("no section '{section}'"));
    text.lines()
        .filter(|l| l.starts_with('|'))
        .map(|l| l.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>())
        .find(|cells| cells[0] == first)
        .unwrap_or_else(|| panic!("no row '{first}' under '{section}'"))
}

fn range(r: core::ops::Range<usize>) -> String {
    format!("{}..{}", r.start, r.end)
}

#[test]
fn the_data_packet() {
    let s = "Data packet";
    assert_eq!(row(s, &wire::field::FLAGS.to_string())[1], "flags");
    assert_eq!(row(s, &range(wire::field::INDEX))[1], "index");
    assert_eq!(row(s, &range(wire::field::SENT))[1], "sent");
    assert_eq!(row(s, &range(wire::field::NOTIFICATION))[1], "notification");
    assert_eq!(row(s, &range(wire::field::MEDIA))[1], "media");
    assert_eq!(row(s, &format!("+{}", wire::SKIP_HEADER))[1], "packet number, mask");
    let flags = row(s, "0")[2];
    let bit = |mask: u8| mask.trailing_zeros();
    assert!(flags.contains(&format!("version ({})", wire::VERSION)));
    assert!(flags.contains(&format!("bit {} control", bit(wire::FLAG_CONTROL))));
    assert!(flags.contains(&format!("bit {} skip", bit(wire::FLAG_SKIP))));
    assert!(flags.contains(&format!("bit {} media", bit(wire::FLAG_MEDIA))));
    assert_eq!(wire::MASK_MERGE, 0b111);
    let notification = row(s, &range(wire::field::NOTIFICATION))[2];
    assert!(notification.contains(&format!("{} bits: transit", wire::TRANSIT_MASK.count_ones())));
    assert!(notification.contains(&format!("{} bits: low", wire::NOTIFIED_MASK.count_ones())));
}

#[test]
fn channels_and_frames() {
    let lower = wire::LOWER_HEADERS as usize;
    let forward = row("Channels", "forward");
    assert_eq!(forward[4], wire::HEADER.to_string());
    assert!(forward[2].contains(&format!("{} bytes", SampleKind::Motion.size())));
    assert_eq!(forward[5], format!("{} + {} k", lower + wire::HEADER, SampleKind::Motion.size()));
    let backward = row("Channels", "backward");
    assert_eq!(backward[4], wire::MEDIA_HEADER.to_string());
    assert!(backward[2].contains(&format!("{} bytes", SampleKind::Force.size())));
    let p = proto::Config::new(media::Role::Top).fragment_size;
    assert_eq!(backward[5], format!("{} + {p} k at most", lower + wire::MEDIA_HEADER));
    assert_eq!(row("Audio and video streams", "0..2")[1], "length");
    assert_eq!(row("Audio and video streams", "2..4")[1], "time");
    assert_eq!(row("Audio and video streams", &range(4..FRAME_HEADER))[1], "number");
}

#[test]
fn triggers_and_limits() {
    let t = TriggerConfig::default();
    for fact in [
        format!("weight {}", t.ewma_weight),
        format!("{} strict rises", t.rises),
        format!("k_max = {}", t.k_max),
        format!("last {} averages lie within {} ms", t.window, t.tolerance_ms),
        format!("For {} ms from the tick", t.hold_up_ms),
        format!("more than {} ms between two notifications", t.step_ms),
        format!("more than {} ms restart", t.stale_ms),
    ] {
        assert!(DOCUMENT.contains(&fact), "{fact}");
    }
    for medium in Medium::ALL {
        let limits = medium.limits();
        let numbers = [limits.delay_ms, limits.jitter_ms, limits.loss_percent].map(|n| n.to_string());
        assert_eq!(row("Limits", medium.name())[1..], numbers);
    }
}

#[test]
fn control_messages() {
    let s = "Control messages";
    for (bytes, field) in [
        ("0", "flags"),
        ("1", "type"),
        ("2..6", "sequence"),
        ("6..10", "acknowledgement"),
        ("10..26", "token"),
        ("26..30", "session"),
        ("30..38", "time"),
    ] {
        assert!(DOCUMENT.contains(&format!("| {bytes} | {field} |")), "{bytes} {field}");
    }
    assert_eq!(row(s, &range(38..CONTROL_HEADER))[1], "unsent");
    // Every field at its documented place.
    let header = ControlHeader {
        sequence: 0x0102_0304,
        ack: 0x0506_0708,
        token: Token([9; 16]),
        session: 0x0a0b_0c0d,
        sent_at: 0x1112_1314_1516_1718,
        unsent: 0x1a1b_1c1d,
    };
    let mut bytes = Vec::new();
    Message::Statistics([MediumStatistics::default(); 3]).emit(&header, &mut bytes);
    assert_eq!(bytes[0], 0x60);
    assert_eq!(bytes[2..6], [1, 2, 3, 4]);
    assert_eq!(bytes[6..10], [5, 6, 7, 8]);
    assert_eq!(bytes[10..26], [9; 16]);
    assert_eq!(bytes[26..30], [10, 11, 12, 13]);
    assert_eq!(bytes[30..38], [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]);
    assert_eq!(bytes[38..42], [0x1a, 0x1b, 0x1c, 0x1d]);
    assert_eq!(bytes.len(), MAX_CONTROL);
    for (message, name) in [
        (Message::Ack, "acknowledgement"),
        (Message::KeyFrame, "key frame request"),
        (Message::Scheme(proto::Scheme::Dpm), "scheme"),
        (Message::Statistics([MediumStatistics::default(); 3]), "statistics"),
        (Message::EmergencyStop(true), "emergency stop"),
        (Message::Goodbye, "goodbye"),
    ] {
        let mut bytes = Vec::new();
        message.emit(&header, &mut bytes);
        assert!(DOCUMENT.contains(&format!("| {} | {name} |", bytes[1])), "{name}");
    }
}

#[test]
fn schemes_and_their_codes() {
    for scheme in proto::Scheme::all() {
        let mut bytes = Vec::new();
        Message::Scheme(scheme).emit(&ControlHeader::default(), &mut bytes);
        let code = bytes[CONTROL_HEADER];
        let name = scheme.to_string();
        let name = name.split(':').next().unwrap();
        let listed = DOCUMENT.lines().any(|l| {
            let mut cells = l.trim_matches('|').split('|').map(str::trim);
            let codes = cells.next().unwrap_or_default();
            codes.split(", ").any(|c| c == code.to_string()) && cells.next().is_some_and(|c| c.contains(name))
        });
        assert!(listed, "{name} with code {code}");
    }
}
