//! The packets of the reference runs, every one to the nanosecond, through the traces of a whole run.

use media::Channel;
use netem::Scenario;
use proto::Scheme;
use telehaptic_sim::{ChannelTraces, RunSpec, Traces, run};

/// Runs beyond the last packet of `csv` and compares every packet.
fn same_packets(csv: &str, scenario: &str, scheme: Scheme) -> Traces {
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some(proto::table::PACKETS_HEADER));
    let rows: Vec<&str> = lines.collect();
    assert!(rows.len() > 600);
    let last_send: u64 = rows[rows.len() - 1].split(',').nth(1).and_then(|n| n.parse().ok()).unwrap();
    let seconds = (last_send / 1_000_000) as f64 / 1e3 + 1.0;
    let spec = RunSpec { seconds, traces: true, ..RunSpec::new(Scenario::load(scenario).unwrap(), scheme) };
    let outcome = run(spec).unwrap();
    let traces = outcome.traces.unwrap();
    let packets = &traces.channel(Channel::Backward).packets;
    for (row, packet) in rows.iter().zip(packets) {
        assert_eq!(packet.to_string(), **row);
    }
    assert!(packets.len() > rows.len());
    for channel in Channel::ALL {
        whole(traces.channel(channel));
    }
    traces
}

/// Samples and packets tell the same story.
fn whole(traces: &ChannelTraces) {
    let mut samples = traces.haptic.iter();
    for (packet, sequence) in traces.packets.iter().zip(0..) {
        assert_eq!(packet.sequence, sequence);
        for (sample, index) in samples.by_ref().take(usize::from(packet.k)).zip(packet.first_index..) {
            assert_eq!((sample.index, sample.capture_ns), (index, index as i64 * 1_000_000));
            assert_eq!(sample.receive_ns, packet.receive_ns, "sample {index}");
            assert!(sample.display_ns.is_none_or(|at| Some(at) >= sample.receive_ns), "sample {index}");
        }
    }
    assert_eq!(samples.next(), None);
}

/// Compares every change of k before ten seconds; the run begins at k = 1.
fn same_changes(csv: &str, traces: &Traces) {
    let rows = &traces.backward.merge_factors;
    assert_eq!(rows[0].to_string(), "0,1,start");
    let mut got = "tick_ms,channel,k\n".to_string();
    for row in rows[1..].iter().filter(|row| row.tick < 10_000) {
        got += &format!("{},backward,{}\n", row.tick, row.k);
    }
    assert_eq!(got, csv);
}

macro_rules! proto_data {
    ($file:literal) => {
        include_str!(concat!("../../proto/tests/data/", $file))
    };
}

#[test]
fn dpm() {
    let traces = same_packets(proto_data!("dpm_r260_m0.csv"), "paper/r260-m0", Scheme::Dpm);
    same_changes(proto_data!("dpm_r260_m0_k.csv"), &traces);
}

#[test]
fn hold_up() {
    let traces = same_packets(proto_data!("holdup_r260_m0.csv"), "paper/r260-m0", Scheme::DpmHoldUp);
    same_changes(proto_data!("holdup_r260_m0_k.csv"), &traces);
}

macro_rules! fixed_k {
    ($($test:ident: $k:literal $r:literal;)*) => {$(
        #[test]
        fn $test() {
            let csv = include_str!(concat!("../../netem/tests/data/exact_open_k", $k, "_R", $r, ".csv"));
            same_packets(csv, concat!("paper/r", $r, "-m0"), Scheme::KMerge($k));
        }
    )*};
}

fixed_k! {
    k1_without_cbr: 1 0;
    k2_without_cbr: 2 0;
    k3_without_cbr: 3 0;
    k4_without_cbr: 4 0;
    k1_at_260: 1 260;
    k2_at_260: 2 260;
    k3_at_260: 3 260;
    k4_at_260: 4 260;
}
