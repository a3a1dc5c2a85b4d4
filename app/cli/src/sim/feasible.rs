//! `sim feasible`: can a network carry a session? An estimate (`proto::feasible`), no simulation.

use proto::TriggerConfig;
use proto::feasible::{Feasibility, Feedback, Path, Stream, estimate};

use crate::failure::Failure;
use crate::options::FeasibleArgs;
use crate::output::Voice;

/// Prints the worst delays of every medium on both channels, and the answer.
pub fn run(args: &FeasibleArgs) -> Result<(), Failure> {
    let path = Path {
        capacity_kbps: args.capacity,
        cross_kbps: args.cross,
        propagation_ms: args.delay,
        transmitting_hops: args.hops,
        cross_flows: if args.cross > 0.0 { args.flows } else { 0 },
        cross_packet_bytes: args.packet,
    };
    let triggers = TriggerConfig::default();
    let voice = Voice::stdout();
    voice.line("channel   medium    worst ms  limit ms  answer");
    let mut all = true;
    let directions = [("backward", Stream::BACKWARD, Stream::FORWARD), ("forward", Stream::FORWARD, Stream::BACKWARD)];
    let mut notes = Vec::new();
    for (name, stream, opposite) in directions {
        // A channel whose answers cannot come back is not steered at all; the other channel's row says why.
        let feedback =
            Feedback::over(&path, &opposite, &triggers).unwrap_or(Feedback { period_ms: 8.0, delay_ms: 1e3 });
        let answer = estimate(&path, &stream, &triggers, &feedback);
        for verdict in &answer.media {
            let worst = verdict.worst_delay_ms.map_or_else(|| "grows".into(), |ms| format!("{ms:.1}"));
            let why = verdict.reason.map_or_else(|| "yes".to_string(), |reason| format!("no: {reason}"));
            voice.line(&format!("{name:9} {:9} {worst:>8}  {:8}  {why}", verdict.medium.name(), verdict.limit_ms));
            all &= verdict.compliant;
        }
        notes.extend(note(name, &answer));
    }
    notes.iter().for_each(|note| voice.line(note));
    voice.line(if all {
        "yes: this network carries a session within its limits (leave 3 ms of room where cross-traffic is random)"
    } else {
        "no: this network does not carry a session within its limits"
    });
    if args.assert_qos && !all {
        return Err(Failure::Qos("the network does not carry a compliant session".into()));
    }
    Ok(())
}

/// What DPM will do.
fn note(channel: &str, answer: &Feasibility) -> Option<String> {
    let level = answer.oscillates_at?;
    let mistaken =
        if answer.mistaken { ", and now and then one lower, for its queue grows too slowly to be noticed" } else { "" };
    Some(format!("{channel}: k will fall to {level} again and again, congest, and return to k_max{mistaken}"))
}
