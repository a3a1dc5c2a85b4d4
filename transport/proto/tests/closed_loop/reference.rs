//! Endpoint and network together give the packets of the reference runs, every one to the nanosecond.

use media::Channel;

use crate::proto::Scheme;
use crate::world::World;

/// Runs beyond the last packet of `csv` and compares every packet.
fn same_packets(csv: &str, scenario: &str, scheme: Scheme) -> World {
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("sequence,send_ns,receive_ns,k,first_sample_ms"));
    let rows: Vec<&str> = lines.collect();
    assert!(rows.len() > 600);
    let last_send: u64 = rows[rows.len() - 1].split(',').nth(1).and_then(|n| n.parse().ok()).unwrap();
    let mut world = World::new(scenario, scheme);
    world.run_to(last_send / 1_000_000 + 1_000);
    world.drain();
    let packets = world.packets(Channel::Backward);
    for (row, p) in rows.iter().zip(&packets) {
        let s = &p.sent;
        let receive = p.received_at.map_or("-1".into(), |at| at.to_string());
        assert_eq!(format!("{},{},{receive},{},{}", s.sequence, s.at, s.k, s.first_index), **row);
        assert_eq!(s.wire_bytes, 67 + 70 * u64::from(s.k), "packet {}", s.sequence);
    }
    assert!(packets.len() > rows.len());
    world
}

/// Compares every change of k before ten seconds; the run begins at k = 1.
fn same_changes(csv: &str, world: &World) {
    let mut got = "tick_ms,channel,k\n".to_string();
    for (tick, k) in world.k_changes(Channel::Backward, 1) {
        if tick < 10_000 {
            got += &format!("{tick},backward,{k}\n");
        }
    }
    assert_eq!(got, csv);
    assert_eq!(world.logs(Channel::Backward).0.k_changes[0], (0, 1));
}

#[test]
fn dpm() {
    let world = same_packets(include_str!("../data/dpm_r260_m0.csv"), "paper/r260-m0", Scheme::Dpm);
    same_changes(include_str!("../data/dpm_r260_m0_k.csv"), &world);
}

#[test]
fn hold_up() {
    let world = same_packets(include_str!("../data/holdup_r260_m0.csv"), "paper/r260-m0", Scheme::DpmHoldUp);
    same_changes(include_str!("../data/holdup_r260_m0_k.csv"), &world);
}

macro_rules! fixed_k {
    ($($test:ident: $k:literal $r:literal;)*) => {$(
        #[test]
        fn $test() {
            let csv = include_str!(concat!("../../../netem/tests/data/exact_open_k", $k, "_R", $r, ".csv"));
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

/// `no-merge` is k = 1 under another name.
#[test]
fn no_merge() {
    let csv = include_str!("../../../netem/tests/data/exact_open_k1_R260.csv");
    same_packets(csv, "paper/r260-m0", Scheme::NoMerge);
}
