//! The schemes by name: DPM, its fixed companions, and its rivals as the paper names them.

use serde::{Deserialize, Serialize};

use crate::config::MAX_MERGE;

/// How samples, audio and video become packets. The names are those of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Scheme {
    /// One packet per fragment: k = 1 always.
    NoMerge,
    /// k = N always, N from 1 to 8.
    KMerge(u8),
    /// DPM: k_max on congestion, one less on steady delays.
    #[default]
    Dpm,
    /// DPM that stays a while at the last k before the one that congested.
    DpmHoldUp,
    /// NAFCAH-like: judges by the round trip, and k goes up one step at a time.
    Nafcah,
    /// DPM that hears of delays in reports each 500 ms, as RTP's receivers send them.
    RtpReport,
    /// Deadband sampling: a sample is sent only if it differs from the last one sent by more than a fraction of it. The
    /// receiver holds the last value.
    Weber,
    /// Deadband sampling whose receiver extrapolates along the line through the last two samples, and whose sender
    /// compares with that.
    WeberFirstOrder,
    /// Opportunistic adaptive sampling: the deadband grows with the delay.
    Opportunistic,
    /// ETP-like: judges by the round trip and widens the gap between packets by dropping samples.
    Etp,
    /// k goes up after persistent loss and down after a time without.
    LossMerge,
    /// Visual-haptic multiplexing: deadband sampling under a constant bit rate that haptics and video share.
    VisualHaptic,
    /// HoIP-like: one packet per fragment; audio and video first come, first served.
    Hoip,
}

/// Names without a number, and their code on the wire.
const NAMED: [(Scheme, &str, u8); 12] = [
    (Scheme::NoMerge, "no-merge", 0),
    (Scheme::Dpm, "dpm", 2),
    (Scheme::DpmHoldUp, "dpm-hold-up", 3),
    (Scheme::Nafcah, "nafcah", 4),
    (Scheme::RtpReport, "rtp-report", 5),
    (Scheme::Weber, "weber", 6),
    (Scheme::WeberFirstOrder, "weber-first-order", 7),
    (Scheme::Opportunistic, "opportunistic", 8),
    (Scheme::Etp, "etp", 9),
    (Scheme::LossMerge, "loss-merge", 10),
    (Scheme::VisualHaptic, "visual-haptic", 11),
    (Scheme::Hoip, "hoip", 12),
];
/// Code of [`Scheme::KMerge`] on the wire.
const K_MERGE: u8 = 1;

impl Scheme {
    /// All schemes, of `k-merge:N` those from 2 to 4.
    pub fn all() -> impl Iterator<Item = Scheme> {
        let [first, rest @ ..] = NAMED.map(|n| n.0);
        std::iter::once(first).chain((2..=4).map(Scheme::KMerge)).chain(rest)
    }

    /// The names that are understood, in words.
    pub fn grammar() -> String {
        let names: Vec<&str> = NAMED.iter().map(|n| n.1).collect();
        format!("{}, k-merge:N (N from 1 to {MAX_MERGE})", names.join(", "))
    }

    /// Leaves samples out on purpose.
    pub fn skips(self) -> bool {
        self.deadband() || self == Scheme::Etp
    }

    /// Leaves out samples that differ little from what the receiver shows.
    pub(crate) fn deadband(self) -> bool {
        matches!(self, Scheme::Weber | Scheme::WeberFirstOrder | Scheme::Opportunistic | Scheme::VisualHaptic)
    }

    /// Two bytes for the wire: which scheme, and its number.
    pub(crate) fn code(self) -> [u8; 2] {
        match self {
            Scheme::KMerge(k) => [K_MERGE, k],
            _ => [NAMED.iter().find(|n| n.0 == self).map_or(0, |n| n.2), 0],
        }
    }

    /// The scheme of [`Scheme::code`]; `None` for those of later versions.
    pub(crate) fn from_code([code, number]: [u8; 2]) -> Option<Scheme> {
        if code == K_MERGE {
            return (1..=MAX_MERGE).contains(&number).then_some(Scheme::KMerge(number));
        }
        NAMED.iter().find(|n| n.2 == code).map(|n| n.0)
    }
}

impl core::fmt::Display for Scheme {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Scheme::KMerge(k) => write!(f, "k-merge:{k}"),
            _ => f.write_str(NAMED.iter().find(|n| n.0 == *self).map_or("", |n| n.1)),
        }
    }
}

impl From<Scheme> for String {
    fn from(scheme: Scheme) -> String {
        scheme.to_string()
    }
}

impl TryFrom<String> for Scheme {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl core::str::FromStr for Scheme {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let fixed = || name.strip_prefix("k-merge:")?.parse().ok().filter(|k| (1..=MAX_MERGE).contains(k));
        let named = NAMED.iter().find(|n| n.1 == name).map(|n| n.0);
        named
            .or_else(|| fixed().map(Scheme::KMerge))
            .ok_or_else(|| format!("unknown scheme '{name}': use {}", Scheme::grammar()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_round_trip() {
        for scheme in Scheme::all().chain((1..=MAX_MERGE).map(Scheme::KMerge)) {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
            assert_eq!(Scheme::from_code(scheme.code()), Some(scheme));
        }
        assert_eq!(Scheme::all().count(), NAMED.len() + 3);
        assert_eq!((Scheme::from_code([200, 0]), Scheme::from_code([K_MERGE, 0])), (None, None));
    }

    #[test]
    fn wrong_names_are_answered_with_the_right_ones() {
        for name in ["", "k-merge:0", "k-merge:9", "k-merge", "DPM", "k-merge:-1", "k-merge:x"] {
            let error = name.parse::<Scheme>().unwrap_err();
            assert!(error.contains("dpm-hold-up") && error.contains("from 1 to 8"), "{error}");
        }
    }
}
