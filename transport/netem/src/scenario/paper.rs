//! The family `paper/rN[-fM][-m0|-m1][-ideal]`: one file, of which the name sets the constant rate (N; forward M), the
//! pattern of the variable flow and whether the access links take time to transmit.

use media::{Bitrate, DataSize};

use super::{Scenario, ScenarioError, shape};
use crate::cross::Traffic;
use crate::network::DirectionSpec;

/// The file: the family's member with CBR off and VBR of mode m3.
const FILE: &str = "assets/scenarios/paper.toml";
const TEXT: &str = include_str!("../../../../assets/scenarios/paper.toml");
/// Highest rate that a name may ask for: that of the links.
pub(super) const MAX_KBPS: u64 = 1500;
/// Packets of the variable flow in modes m0 and m1.
const PACKET: DataSize = DataSize::from_bytes(200);

/// A member of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    backward_kbps: u64,
    forward_kbps: u64,
    mode: Mode,
    ideal: bool,
}

/// How the variable flow varies (`m3`, the file's own, has no suffix).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Not at all: its mean rate.
    M0,
    /// By its gaps.
    M1,
    /// By its sizes.
    M3,
}

impl Member {
    /// What a name means, if it is of the family.
    pub(super) fn parse(name: &str) -> Option<Member> {
        let mut parts = name.strip_prefix("paper/r")?.split('-').peekable();
        let backward_kbps = rate(parts.next()?)?;
        let forward_kbps = match parts.next_if(|p| p.starts_with('f')) {
            Some(part) => rate(&part[1..])?,
            None => backward_kbps,
        };
        let mode = match parts.next_if(|p| matches!(*p, "m0" | "m1")) {
            Some("m0") => Mode::M0,
            Some(_) => Mode::M1,
            None => Mode::M3,
        };
        let ideal = parts.next_if(|p| *p == "ideal").is_some();
        parts.next().is_none().then_some(Member { backward_kbps, forward_kbps, mode, ideal })
    }

    /// The member as a scenario called `name`.
    pub(super) fn scenario(self, name: &str) -> Result<Scenario, ScenarioError> {
        let mut s = shape::parse(TEXT, FILE, name)?;
        self.adapt(&mut s.backward, self.backward_kbps);
        self.adapt(&mut s.forward, self.forward_kbps);
        Ok(s)
    }

    fn adapt(self, direction: &mut DirectionSpec, kbps: u64) {
        let bottleneck = direction.bottleneck;
        for (i, hop) in direction.hops.iter_mut().enumerate() {
            if self.ideal && i != bottleneck {
                hop.rate = None;
            }
        }
        direction.cross.retain(|c| kbps > 0 || c.name != "cbr");
        for flow in &mut direction.cross {
            if self.ideal {
                flow.access_rate = None;
            }
            match &mut flow.traffic {
                Traffic::Constant { rate, .. } => *rate = Bitrate::from_kbps(kbps),
                Traffic::VariableSize { rates, .. } => {
                    let rates = *rates;
                    match self.mode {
                        Mode::M0 => {
                            let rate = Bitrate::from_bps((rates.min_kbps + rates.max_kbps) * 500);
                            flow.traffic = Traffic::Constant { rate, packet: PACKET };
                        }
                        Mode::M1 => flow.traffic = Traffic::VariableGap { rates, packet: PACKET },
                        Mode::M3 => {}
                    }
                }
                Traffic::VariableGap { .. } | Traffic::TcpLong(_) | Traffic::TcpShort { .. } => {}
            }
        }
    }
}

fn rate(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|kbps| plain && *kbps <= MAX_KBPS)
}
