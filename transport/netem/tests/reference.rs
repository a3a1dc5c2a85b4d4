//! The paper's network against reference runs made with ns-3 and, separately, with an event model: every packet to
//! the nanosecond, losses too.
//!
//! Files `exact_open_kK_RR.csv`: packets of K fragments (67 + 70 K bytes) on the backward channel, CBR at R kbit/s, VBR of
//! mode m0. Their loads last longer than what the files record; packets sent after the last one cannot disturb
//! those before.

use media::{Channel, DataSize, Instant};
use telehaptic_netem::{Network, Scenario, direction_seed};

struct Row {
    send: u64,
    receive: Option<u64>,
    k: u64,
}

fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("sequence,send_ns,receive_ns,k,first_sample_ms"));
    lines
        .map(|line| {
            let f: Vec<i64> = line.split(',').map(|f| f.parse().unwrap()).collect();
            Row { send: f[1] as u64, receive: u64::try_from(f[2]).ok(), k: f[3] as u64 }
        })
        .collect()
}

/// Sends the packets of `text` through the backward direction of `scenario`; `start` is the moment zero of the run.
/// Returns how many were lost.
fn check(scenario: &str, text: &str, start: u64) -> usize {
    let scenario = Scenario::load(scenario).unwrap();
    let seed = direction_seed(1, Channel::Backward);
    let mut network = Network::new(scenario.direction(Channel::Backward), Instant::from_nanos(start), seed);
    let rows = rows(text);
    let mut received = vec![None; rows.len()];
    let mut lost = vec![false; rows.len()];
    for (id, row) in rows.iter().enumerate() {
        network.send(Instant::from_nanos(start + row.send), DataSize::from_bytes(67 + 70 * row.k), id as u64);
    }
    while let Some(at) = network.poll_timeout() {
        network.advance(at);
    }
    while let Some(d) = network.poll_delivery() {
        assert_eq!(received[d.id as usize].replace(d.at.as_nanos() - start), None);
    }
    while let Some(id) = network.poll_drop() {
        lost[id as usize] = true;
    }
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(received[i], row.receive, "packet {i} sent at {}", row.send);
        assert_eq!(lost[i], row.receive.is_none(), "packet {i}");
    }
    lost.iter().filter(|&&l| l).count()
}

macro_rules! exact {
    ($($test:ident: $scenario:literal, $file:literal, $loses:literal;)*) => {$(
        #[test]
        fn $test() {
            for start in [0, 7_000_000_123] {
                let lost = check($scenario, include_str!(concat!("data/", $file)), start);
                assert_eq!(lost > 0, $loses, "{lost} lost");
            }
        }
    )*};
}

exact! {
    k1_without_cbr: "paper/r0-m0", "exact_open_k1_R0.csv", false;
    k2_without_cbr: "paper/r0-m0", "exact_open_k2_R0.csv", false;
    k3_without_cbr: "paper/r0-m0", "exact_open_k3_R0.csv", false;
    k4_without_cbr: "paper/r0-m0", "exact_open_k4_R0.csv", false;
    k1_at_260: "paper/r260-m0", "exact_open_k1_R260.csv", true;
    k2_at_260: "paper/r260-m0", "exact_open_k2_R260.csv", false;
    k3_at_260: "paper/r260-m0", "exact_open_k3_R260.csv", false;
    k4_at_260: "paper/r260-m0", "exact_open_k4_R260.csv", false;
}

/// The mean delays and losses of the reference table over 60 s at random loads, fixed k, seed 1. The table is of
/// 500 s; means of a minute differ from those by less than a fifth of a millisecond (a full queue: one).
#[test]
fn figures_at_random_loads() {
    // R_cbr, k, mean haptic delay in ms, loss in percent.
    let table = [
        (0, 1, 18.25, 0.0),
        (0, 4, 22.05, 0.0),
        (100, 1, 97.62, 6.58),
        (100, 2, 19.18, 0.0),
        (260, 1, 99.51, 14.49),
        (260, 2, 19.65, 0.0),
        (300, 2, 125.73, 2.92),
        (300, 3, 21.00, 0.0),
        (400, 1, 99.81, 16.32),
        (400, 3, 140.96, 3.48),
        (400, 4, 22.43, 0.0),
    ];
    for (r, k, mean, loss) in table {
        let scenario = Scenario::load(&format!("paper/r{r}")).unwrap();
        let mut network = Network::new(&scenario.backward, Instant::ZERO, direction_seed(1, Channel::Backward));
        let (mut sum, mut delivered, mut lost) = (0.0, 0u64, 0u64);
        let mut note = |network: &mut Network| {
            while let Some(d) = network.poll_delivery() {
                // A full queue takes up to ten seconds to fill: leave those out.
                if d.id >= 15_000 {
                    let network_ms = d.at.signed_since(Instant::from_millis(d.id)) as f64 / 1e6;
                    sum += network_ms + (k - 1) as f64 / 2.0;
                    delivered += 1;
                }
            }
            while let Some(id) = network.poll_drop() {
                lost += u64::from(id >= 15_000);
            }
        };
        for tick in (k - 1..75_000).step_by(k as usize) {
            network.send(Instant::from_millis(tick), DataSize::from_bytes(67 + 70 * k), tick);
            note(&mut network);
        }
        network.advance(Instant::from_millis(80_000));
        note(&mut network);
        let got = (sum / delivered as f64, 100.0 * lost as f64 / (lost + delivered) as f64);
        let tolerance = if loss > 0.0 { 2.0 } else { 0.2 };
        assert!((got.0 - mean).abs() < tolerance, "R {r} k {k}: mean {} instead of {mean}", got.0);
        assert!(
            (got.1 - loss).abs() <= if loss > 0.0 { 1.0 } else { 0.0 },
            "R {r} k {k}: loss {} instead of {loss}",
            got.1
        );
    }
}
