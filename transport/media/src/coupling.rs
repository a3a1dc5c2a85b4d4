//! How the two devices are coupled: what each station tells the other a thousand times a second.

use core::fmt;
use core::str::FromStr;

use crate::{Channel, SampleKind};

/// The architecture of the bilateral control, the operator's choice for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Coupling {
    /// The slave follows the master's position; its coupling force comes back.
    #[default]
    PositionForce,
    /// Each device is drawn to where the other one is.
    PositionPosition,
    /// Wave variables: passive over any constant delay.
    Wave,
}

impl Coupling {
    /// All of them.
    pub const ALL: [Coupling; 3] = [Coupling::PositionForce, Coupling::PositionPosition, Coupling::Wave];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Coupling::PositionForce => "position-force",
            Coupling::PositionPosition => "position-position",
            Coupling::Wave => "wave",
        }
    }

    /// Damping that the master device has to render for it, N s/m.
    pub const fn least_damping(self) -> f32 {
        match self {
            Coupling::PositionForce | Coupling::PositionPosition => 0.0,
            // The line's impedance of 3 N s/m is shown as it is, and 0.9 of what a device renders may be used.
            Coupling::Wave => 3.0 / 0.9,
        }
    }

    /// The number on the wire.
    pub const fn code(self) -> u8 {
        match self {
            Coupling::PositionForce => 0,
            Coupling::PositionPosition => 1,
            Coupling::Wave => 2,
        }
    }

    /// The coupling of a number on the wire; one of a later version is the default.
    pub fn from_code(code: u8) -> Coupling {
        Coupling::ALL.into_iter().find(|c| c.code() == code).unwrap_or_default()
    }

    /// What travels on a channel.
    pub const fn sample(self, channel: Channel) -> SampleKind {
        match (self, channel) {
            (Coupling::PositionForce | Coupling::PositionPosition, Channel::Forward) => SampleKind::Motion,
            (Coupling::PositionForce, Channel::Backward) => SampleKind::Force,
            (Coupling::PositionPosition, Channel::Backward) => SampleKind::Position,
            (Coupling::Wave, Channel::Forward) => SampleKind::MasterWave,
            (Coupling::Wave, Channel::Backward) => SampleKind::SlaveWave,
        }
    }
}

impl fmt::Display for Coupling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is none of a coupling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCoupling(String);

impl fmt::Display for UnknownCoupling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown coupling '{}': use position-force, position-position or wave", self.0)
    }
}

impl std::error::Error for UnknownCoupling {}

impl FromStr for Coupling {
    type Err = UnknownCoupling;

    fn from_str(name: &str) -> Result<Self, UnknownCoupling> {
        Coupling::ALL.into_iter().find(|c| c.name() == name).ok_or_else(|| UnknownCoupling(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_round_trip_and_samples_keep_their_size() {
        for coupling in Coupling::ALL {
            assert_eq!(coupling.name().parse(), Ok(coupling));
            assert_eq!(Coupling::from_code(coupling.code()), coupling);
            for (channel, bytes) in [(Channel::Forward, 24), (Channel::Backward, 12)] {
                let kind = coupling.sample(channel);
                assert_eq!((kind.size(), kind.channel()), (bytes, channel));
            }
        }
        assert_eq!(Coupling::from_code(200), Coupling::PositionForce);
        assert!("waves".parse::<Coupling>().unwrap_err().to_string().contains("position-position"));
    }
}
