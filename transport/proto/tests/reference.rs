//! The closed loop is right: endpoint and network give the packets of the reference runs, to the nanosecond.

mod common;

use common::World;
use media::Channel;
use telehaptic_proto::Scheme;

const DPM: &str = include_str!("data/dpm_r260_m0.csv");
const DPM_K: &str = include_str!("data/dpm_r260_m0_k.csv");
const HOLD_UP: &str = include_str!("data/holdup_r260_m0.csv");
const HOLD_UP_K: &str = include_str!("data/holdup_r260_m0_k.csv");

fn numbers(csv: &str) -> impl Iterator<Item = Vec<i64>> + '_ {
    csv.lines().skip(1).map(|l| l.split(',').map(|n| n.trim().parse().unwrap()).collect())
}

/// Runs long enough for every packet of `csv` and compares them one by one.
fn same_packets(name: &str, csv: &str, scenario: &str, scheme: Scheme) -> World {
    let mut world = World::new(scenario, 1, |c| c.scheme = scheme);
    let rows: Vec<Vec<i64>> = numbers(csv).collect();
    let last_send = rows.last().unwrap()[1];
    // Beyond the last packet compared, so that nothing about the end of the run plays in.
    world.run(last_send as u64 / 1_000_000 + 1_000);
    let packets = world.packets(Channel::Backward);
    assert!(rows.len() > 500, "{name}: {} packets", rows.len());
    for (row, p) in rows.iter().zip(&packets) {
        let got = [p.sequence as i64, p.send_ns, p.receive_ns, i64::from(p.k), p.first_sample as i64];
        assert_eq!(got[..], row[..], "{name}: sequence,send_ns,receive_ns,k,first_sample_ms");
    }
    world
}

fn same_changes(csv: &str, world: &World) {
    let rows = csv.lines().skip(1).map(|l| l.split(',').collect::<Vec<_>>());
    let wanted: Vec<(u64, u8)> =
        rows.filter(|r| r[1] == "backward").map(|r| (r[0].parse().unwrap(), r[2].parse().unwrap())).collect();
    let got: Vec<(u64, u8)> = world.at_top.k_changes.iter().copied().filter(|c| c.0 > 0 && c.0 < 10_000).collect();
    assert!(wanted.len() > 20);
    assert_eq!(got, wanted);
}

#[test]
fn dpm_gives_the_reference_packets() {
    let world = same_packets("dpm_r260_m0", DPM, "paper/r260-m0", Scheme::Dpm);
    same_changes(DPM_K, &world);
}

#[test]
fn hold_up_gives_the_reference_packets() {
    let world = same_packets("holdup_r260_m0", HOLD_UP, "paper/r260-m0", Scheme::DpmHoldUp);
    same_changes(HOLD_UP_K, &world);
}

macro_rules! open_loop {
    ($($name:ident $k:literal $r:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let csv = include_str!(concat!("../../netem/tests/data/exact_open_k", $k, "_R", $r, ".csv"));
                same_packets(stringify!($name), csv, concat!("paper/r", $r, "-m0"), Scheme::KMerge($k));
            }
        )*
    };
}

open_loop! {
    exact_open_k1_r0 1 0;
    exact_open_k1_r260 1 260;
    exact_open_k2_r0 2 0;
    exact_open_k2_r260 2 260;
    exact_open_k3_r0 3 0;
    exact_open_k3_r260 3 260;
    exact_open_k4_r0 4 0;
    exact_open_k4_r260 4 260;
}
