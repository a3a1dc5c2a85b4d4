//! The shape of a flow of cross-traffic in a scenario file.

use media::{Bitrate, DataSize, Duration};
use serde::Deserialize;

use super::{MAX_DELAY_US, MAX_MOMENT_MS, number};
use crate::cross::{Arrivals, CrossSpec, RateRange, TcpPath, Traffic};

/// Last moment at which a flow may stop, and longest time until it starts again, us.
pub(super) const MAX_MOMENT_US: u64 = MAX_MOMENT_MS * 1000;
/// Shortest time from start to start, us.
pub(super) const MIN_REPEAT_US: u64 = 1000;
/// Largest packet, bytes.
pub(super) const MAX_PACKET: u64 = 65_535;
/// Shortest time between two packets of a flow, us: a run must come to its end.
pub(super) const MIN_GAP_US: u64 = 10;
/// Packets of TCP: the usual ones, and the shortest, which are all headers; bytes.
const TCP_PACKET: u64 = 1500;
const MIN_TCP_PACKET: u64 = 40;
/// Window of a TCP receiver, packets: more than a queue of 100 and the wires around it hold.
const TCP_WINDOW: u64 = 256;
pub(super) const MAX_WINDOW: u64 = 10_000;
/// Shortest part of a round trip beyond the bottleneck, us.
pub(super) const MIN_BEYOND_US: u64 = 100;
/// Largest short transfer, bytes.
pub(super) const MAX_TRANSFER: u64 = 1_000_000_000;
/// Longest mean time between transfers, ms: an hour.
pub(super) const MAX_MEAN_MS: u64 = 3_600_000;
/// Most sources of one flow.
pub(super) const MAX_SOURCES: u64 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCross {
    name: String,
    #[serde(deserialize_with = "number::start_us")]
    start_us: u64,
    #[serde(default, deserialize_with = "number::stop_us")]
    stop_us: Option<u64>,
    #[serde(default, deserialize_with = "number::repeat_us")]
    repeat_us: Option<u64>,
    traffic: Traffic,
    #[serde(default, deserialize_with = "number::access_kbps")]
    access_kbps: Option<u64>,
    #[serde(default, deserialize_with = "number::access_propagation_us")]
    access_propagation_us: u64,
}

impl TryFrom<RawCross> for CrossSpec {
    type Error = String;
    fn try_from(raw: RawCross) -> Result<Self, String> {
        let start = raw.start_us;
        if let Some(stop) = raw.stop_us.filter(|stop| !(start.saturating_add(1)..=MAX_MOMENT_US).contains(stop)) {
            return Err(format!(
                "stop_us = {stop} must lie between start_us = {start} and {MAX_MOMENT_US} (a day), later than the start"
            ));
        }
        match (raw.stop_us, raw.repeat_us) {
            (None, Some(_)) => return Err("repeat_us starts a flow again that stops: add stop_us".into()),
            (Some(stop), Some(repeat)) => {
                let shortest = (stop - start).max(MIN_REPEAT_US);
                if !(shortest..=MAX_MOMENT_US).contains(&repeat) {
                    return Err(format!(
                        "repeat_us = {repeat} must lie between {shortest} (stop_us - start_us, at least {MIN_REPEAT_US}) and {MAX_MOMENT_US} (a day)"
                    ));
                }
            }
            (_, None) => {}
        }
        Ok(CrossSpec {
            name: raw.name,
            start: Duration::from_micros(start),
            stop: raw.stop_us.map(Duration::from_micros),
            repeat: raw.repeat_us.map(Duration::from_micros),
            traffic: raw.traffic,
            access_rate: raw.access_kbps.map(Bitrate::from_kbps),
            access_propagation: Duration::from_micros(raw.access_propagation_us),
        })
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum RawTraffic {
    Constant {
        #[serde(deserialize_with = "number::rate_kbps")]
        rate_kbps: u64,
        #[serde(deserialize_with = "number::packet_bytes")]
        packet_bytes: u64,
    },
    VariableGap {
        #[serde(deserialize_with = "number::min_kbps")]
        min_kbps: u64,
        #[serde(deserialize_with = "number::max_kbps")]
        max_kbps: u64,
        #[serde(deserialize_with = "number::packet_bytes")]
        packet_bytes: u64,
    },
    VariableSize {
        #[serde(deserialize_with = "number::min_kbps")]
        min_kbps: u64,
        #[serde(deserialize_with = "number::max_kbps")]
        max_kbps: u64,
        #[serde(deserialize_with = "number::interval_us")]
        interval_us: u64,
    },
    TcpLong {
        #[serde(deserialize_with = "number::beyond_us")]
        beyond_us: u64,
        #[serde(default, deserialize_with = "number::packet_bytes")]
        packet_bytes: Option<u64>,
        #[serde(default, deserialize_with = "number::max_window_packets")]
        max_window_packets: Option<u64>,
    },
    TcpShort {
        #[serde(deserialize_with = "number::beyond_us")]
        beyond_us: u64,
        #[serde(default, deserialize_with = "number::packet_bytes")]
        packet_bytes: Option<u64>,
        #[serde(default, deserialize_with = "number::max_window_packets")]
        max_window_packets: Option<u64>,
        #[serde(deserialize_with = "number::min_bytes")]
        min_bytes: u64,
        #[serde(deserialize_with = "number::max_bytes")]
        max_bytes: u64,
        #[serde(default, deserialize_with = "number::mean_gap_ms")]
        mean_gap_ms: Option<u64>,
        #[serde(default, deserialize_with = "number::mean_pause_ms")]
        mean_pause_ms: Option<u64>,
        #[serde(default, deserialize_with = "number::sources")]
        sources: Option<u64>,
    },
}

impl TryFrom<RawTraffic> for Traffic {
    type Error = String;
    fn try_from(raw: RawTraffic) -> Result<Self, String> {
        match raw {
            RawTraffic::Constant { rate_kbps, packet_bytes } => {
                Ok(Traffic::Constant { rate: Bitrate::from_kbps(rate_kbps), packet: packet(packet_bytes, rate_kbps)? })
            }
            RawTraffic::VariableGap { min_kbps, max_kbps, packet_bytes } => {
                let rates = range(min_kbps, max_kbps)?;
                Ok(Traffic::VariableGap { rates, packet: packet(packet_bytes, max_kbps)? })
            }
            RawTraffic::VariableSize { min_kbps, max_kbps, interval_us } => {
                let rates = range(min_kbps, max_kbps)?;
                let largest = max_kbps.saturating_mul(interval_us) / 8_000;
                if !(MIN_GAP_US..=MAX_DELAY_US).contains(&interval_us) || largest > MAX_PACKET {
                    return Err(format!(
                        "interval_us = {interval_us} must lie between {MIN_GAP_US} and {MAX_DELAY_US} and make packets of at most {MAX_PACKET} bytes, not {largest}"
                    ));
                }
                Ok(Traffic::VariableSize { rates, interval: Duration::from_micros(interval_us) })
            }
            RawTraffic::TcpLong { beyond_us, packet_bytes, max_window_packets } => {
                Ok(Traffic::TcpLong(path(beyond_us, packet_bytes, max_window_packets)?))
            }
            RawTraffic::TcpShort {
                beyond_us,
                packet_bytes,
                max_window_packets,
                min_bytes,
                max_bytes,
                mean_gap_ms,
                mean_pause_ms,
                sources,
            } => Ok(Traffic::TcpShort {
                path: path(beyond_us, packet_bytes, max_window_packets)?,
                min: DataSize::from_bytes(within("min_bytes", min_bytes, 1, MAX_TRANSFER)?),
                max: DataSize::from_bytes(within("max_bytes", max_bytes, min_bytes, MAX_TRANSFER)?),
                arrivals: arrivals(mean_gap_ms, mean_pause_ms, sources)?,
            }),
        }
    }
}

fn range(min_kbps: u64, max_kbps: u64) -> Result<RateRange, String> {
    if max_kbps < min_kbps || max_kbps - min_kbps > 1_000_000 {
        return Err(format!(
            "max_kbps = {max_kbps} must be at least min_kbps = {min_kbps}, and at most a million more"
        ));
    }
    Ok(RateRange { min_kbps, max_kbps })
}

fn packet(bytes: u64, kbps: u64) -> Result<DataSize, String> {
    if !(1..=MAX_PACKET).contains(&bytes) {
        return Err(format!("packet_bytes = {bytes} must lie between 1 and {MAX_PACKET}"));
    }
    if bytes * 8_000 / kbps.max(1) < MIN_GAP_US {
        return Err(format!(
            "packets of {bytes} bytes at {kbps} kbit/s come less than {MIN_GAP_US} us apart: make them larger"
        ));
    }
    Ok(DataSize::from_bytes(bytes))
}

fn path(beyond_us: u64, packet_bytes: Option<u64>, max_window_packets: Option<u64>) -> Result<TcpPath, String> {
    let packet = within("packet_bytes", packet_bytes.unwrap_or(TCP_PACKET), MIN_TCP_PACKET, MAX_PACKET)?;
    let window = within("max_window_packets", max_window_packets.unwrap_or(TCP_WINDOW), 1, MAX_WINDOW)?;
    let shortest = (MIN_GAP_US * window).max(MIN_BEYOND_US);
    if !(shortest..=MAX_DELAY_US).contains(&beyond_us) {
        return Err(format!(
            "beyond_us = {beyond_us} must lie between {shortest} ({MIN_GAP_US} for each of max_window_packets = {window}, at least {MIN_BEYOND_US}) and {MAX_DELAY_US}"
        ));
    }
    Ok(TcpPath {
        packet: DataSize::from_bytes(packet),
        beyond: Duration::from_micros(beyond_us),
        max_window: window as u32,
    })
}

fn arrivals(gap_ms: Option<u64>, pause_ms: Option<u64>, sources: Option<u64>) -> Result<Arrivals, String> {
    match (gap_ms, pause_ms, sources) {
        (Some(gap), None, None) => {
            Ok(Arrivals::Open { mean_gap: Duration::from_millis(within("mean_gap_ms", gap, 1, MAX_MEAN_MS)?) })
        }
        (None, Some(pause), sources) => Ok(Arrivals::Closed {
            sources: within("sources", sources.unwrap_or(1), 1, MAX_SOURCES)? as u16,
            mean_pause: Duration::from_millis(within("mean_pause_ms", pause, 1, MAX_MEAN_MS)?),
        }),
        _ => Err("short transfers come either by mean_gap_ms, or by mean_pause_ms of so many sources".into()),
    }
}

fn within(key: &str, value: u64, min: u64, max: u64) -> Result<u64, String> {
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(format!("{key} = {value} must lie between {min} and {max}"))
    }
}

read_as!(CrossSpec: RawCross, Traffic: RawTraffic);

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    const GOOD: &str = r#"description = "Flows."
[both]
hops = [{ rate_kbps = 1500, propagation_us = 5000 }]

[[both.cross]]
name = "long"
start_us = 1000
stop_us = 3000
repeat_us = 5000
traffic = { kind = "tcp-long", beyond_us = 20_000 }

[[both.cross]]
name = "requests"
start_us = 0
traffic = { kind = "tcp-short", beyond_us = 700, packet_bytes = 576, max_window_packets = 64, min_bytes = 1000, max_bytes = 5000, mean_gap_ms = 250 }

[[both.cross]]
name = "readers"
start_us = 0
traffic = { kind = "tcp-short", beyond_us = 20_000, min_bytes = 1000, max_bytes = 1000, mean_pause_ms = 10_000, sources = 8 }
"#;

    #[test]
    fn every_field_of_a_flow_means_what_it_says() {
        let scenario = parse(GOOD, "f", "n").unwrap();
        let [long, requests, readers] = &scenario.backward.cross[..] else { panic!("three flows") };
        let us = Duration::from_micros;
        assert_eq!((long.start, long.stop, long.repeat), (us(1000), Some(us(3000)), Some(us(5000))));
        let path = TcpPath { packet: DataSize::from_bytes(1500), beyond: us(20_000), max_window: 256 };
        assert_eq!(long.traffic, Traffic::TcpLong(path));
        assert_eq!((requests.stop, requests.repeat), (None, None));
        let small = TcpPath { packet: DataSize::from_bytes(576), beyond: us(700), max_window: 64 };
        let (min, max) = (DataSize::from_bytes(1000), DataSize::from_bytes(5000));
        let arrivals = Arrivals::Open { mean_gap: us(250_000) };
        assert_eq!(requests.traffic, Traffic::TcpShort { path: small, min, max, arrivals });
        assert_eq!(requests.traffic.nominal().as_bps(), 96_000);
        let arrivals = Arrivals::Closed { sources: 8, mean_pause: us(10_000_000) };
        assert_eq!(readers.traffic, Traffic::TcpShort { path, min, max: min, arrivals });
        assert_eq!((long.traffic.nominal().as_bps(), readers.traffic.nominal().as_bps()), (0, 0));
    }

    #[test]
    fn what_is_wrong_with_a_flow_is_told_in_one_line_with_its_place_and_the_range() {
        for (old, new, line, word) in [
            ("stop_us = 3000", "stop_us = 1000", 5, "between start_us = 1000 and 86400000000"),
            (
                "stop_us = 3000",
                "stop_us = 86_400_000_001",
                8,
                "stop_us = 86400000001 must be a whole number between 1 and 86400000000",
            ),
            ("stop_us = 3000", "stop_us = -1", 8, "stop_us = -1 must be a whole number between 1 and 86400000000"),
            (
                "stop_us = 3000",
                "stop_us = 3e9",
                8,
                "stop_us = 3000000000 must be a whole number between 1 and 86400000000",
            ),
            ("stop_us = 3000", "stop_us = \"soon\"", 8, "expected stop_us, a whole number between 1 and 86400000000"),
            ("stop_us = 3000", "", 5, "add stop_us"),
            ("repeat_us = 5000", "repeat_us = 1999", 5, "between 2000 (stop_us - start_us"),
            ("repeat_us = 5000", "repeats_us = 5000", 9, "unknown field `repeats_us`"),
            ("beyond_us = 20_000", "beyond_us = 2559", 10, "between 2560 (10 for each of max_window_packets = 256"),
            ("beyond_us = 20_000", "beyond_us = 60_000_001", 10, "and 60000000"),
            ("beyond_us = 20_000", "rtt_us = 20_000", 10, "unknown field `rtt_us`"),
            ("{ kind = \"tcp-long\", beyond_us = 20_000 }", "{ kind = \"tcp-long\" }", 10, "missing field `beyond_us`"),
            ("tcp-long", "tcp", 10, "unknown variant `tcp`"),
            ("packet_bytes = 576", "packet_bytes = 39", 15, "packet_bytes = 39 must lie between 40 and 65535"),
            (
                "max_window_packets = 64",
                "max_window_packets = 0",
                15,
                "max_window_packets = 0 must be a whole number between 1 and 10000",
            ),
            ("min_bytes = 1000", "min_bytes = 0", 15, "min_bytes = 0 must be a whole number between 1 and 1000000000"),
            ("max_bytes = 5000", "max_bytes = 999", 15, "max_bytes = 999 must lie between 1000 and 1000000000"),
            (
                "max_bytes = 5000",
                "max_bytes = -5",
                15,
                "max_bytes = -5 must be a whole number between 1 and 1000000000",
            ),
            (
                "mean_gap_ms = 250",
                "mean_gap_ms = 0",
                15,
                "mean_gap_ms = 0 must be a whole number between 1 and 3600000",
            ),
            ("mean_gap_ms = 250", "mean_gap_ms = 250, sources = 2", 15, "either by mean_gap_ms, or by mean_pause_ms"),
            ("sources = 8", "sources = 101", 20, "sources = 101 must be a whole number between 1 and 100"),
            ("mean_pause_ms = 10_000, ", "", 20, "either by mean_gap_ms"),
        ] {
            let text = GOOD.replacen(old, new, 1);
            assert_ne!(text, GOOD, "{old}");
            let error = parse(&text, "dir/f.toml", "n").unwrap_err().to_string();
            assert!(error.starts_with(&format!("scenario file dir/f.toml, line {line} ")), "{new}: {error}");
            assert!(error.contains(word), "{new}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
