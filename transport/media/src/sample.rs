//! Haptic samples: what one tick of the servo says.

use crate::Channel;

/// Three components of a quantity along x (right), y (up), z (toward the user), as in the frame that
/// the holder names.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Vector(pub [f32; 3]);

impl Vector {
    /// The zero vector.
    pub const ZERO: Vector = Vector([0.0; 3]);

    /// A vector of these components.
    pub const fn new(x: f32, y: f32, z: f32) -> Self {
        Vector([x, y, z])
    }

    /// Euclidean length.
    pub fn norm(self) -> f32 {
        self.dot(self).sqrt()
    }

    /// Scalar product.
    pub fn dot(self, other: Vector) -> f32 {
        let [a, b] = [self.0, other.0];
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    }

    /// True if no component is infinite or not a number.
    pub fn is_finite(self) -> bool {
        self.0.iter().all(|c| c.is_finite())
    }
}

impl core::ops::Add for Vector {
    type Output = Vector;
    fn add(self, o: Vector) -> Vector {
        Vector::new(self.0[0] + o.0[0], self.0[1] + o.0[1], self.0[2] + o.0[2])
    }
}

impl core::ops::Sub for Vector {
    type Output = Vector;
    fn sub(self, o: Vector) -> Vector {
        Vector::new(self.0[0] - o.0[0], self.0[1] - o.0[1], self.0[2] - o.0[2])
    }
}

impl core::ops::Mul<f32> for Vector {
    type Output = Vector;
    fn mul(self, s: f32) -> Vector {
        Vector::new(self.0[0] * s, self.0[1] * s, self.0[2] * s)
    }
}

impl core::ops::Neg for Vector {
    type Output = Vector;
    fn neg(self) -> Vector {
        self * -1.0
    }
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Default)]
        pub struct $name(pub Vector);

        impl $name {
            /// Zero in all components.
            pub const ZERO: $name = $name(Vector::ZERO);

            /// From components along x, y, z.
            pub const fn new(x: f32, y: f32, z: f32) -> Self {
                $name(Vector::new(x, y, z))
            }
        }
    };
}

quantity!(
    /// A position in metres, in the base frame of the device unless a name says otherwise.
    Position
);
quantity!(
    /// A velocity in metres per second.
    Velocity
);
quantity!(
    /// A force in newtons.
    Force
);
quantity!(
    /// A wave variable, the square root of a power: half its square is watts.
    Wave
);

/// Position and velocity of the master at one tick: the sample of the forward channel.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Motion {
    /// Where the master is, m.
    pub position: Position,
    /// How fast it moves, m/s.
    pub velocity: Velocity,
}

/// Which kind of sample a channel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleKind {
    /// Position and velocity, 24 bytes.
    Motion,
    /// Force, 12 bytes.
    Force,
    /// Position, 12 bytes.
    Position,
    /// Wave and position, 24 bytes.
    MasterWave,
    /// Wave, 12 bytes.
    SlaveWave,
}

impl SampleKind {
    /// Bytes of one sample on the wire.
    pub const fn size(self) -> usize {
        match self.channel() {
            Channel::Forward => 24,
            Channel::Backward => 12,
        }
    }

    /// The channel that carries it.
    pub const fn channel(self) -> Channel {
        match self {
            SampleKind::Motion | SampleKind::MasterWave => Channel::Forward,
            SampleKind::Force | SampleKind::Position | SampleKind::SlaveWave => Channel::Backward,
        }
    }
}

/// One haptic sample: IEEE 754 singles, little-endian on the wire, bit-exact from end to end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HapticSample {
    /// Forward: position of the master, then velocity.
    Motion(Motion),
    /// Backward: force that the operator should feel.
    Force(Force),
    /// Backward: position of the slave; not-a-number while it is not engaged.
    Position(Position),
    /// Forward: the wave that leaves the master, then its position.
    MasterWave(Wave, Position),
    /// Backward: the wave that leaves the slave.
    SlaveWave(Wave),
}

impl HapticSample {
    /// The kind of this sample.
    pub const fn kind(&self) -> SampleKind {
        match self {
            HapticSample::Motion(_) => SampleKind::Motion,
            HapticSample::Force(_) => SampleKind::Force,
            HapticSample::Position(_) => SampleKind::Position,
            HapticSample::MasterWave(..) => SampleKind::MasterWave,
            HapticSample::SlaveWave(_) => SampleKind::SlaveWave,
        }
    }

    /// The sample with all components zero.
    pub const fn zero(kind: SampleKind) -> Self {
        HapticSample::from_vectors(kind, [Vector::ZERO; 2])
    }

    /// Its one or two quantities in their order on the wire; the second is zero for a kind that has one.
    pub const fn vectors(&self) -> [Vector; 2] {
        match self {
            HapticSample::Motion(m) => [m.position.0, m.velocity.0],
            HapticSample::Force(Force(v)) | HapticSample::Position(Position(v)) | HapticSample::SlaveWave(Wave(v)) => {
                [*v, Vector::ZERO]
            }
            HapticSample::MasterWave(wave, position) => [wave.0, position.0],
        }
    }

    const fn from_vectors(kind: SampleKind, [first, second]: [Vector; 2]) -> Self {
        match kind {
            SampleKind::Motion => {
                HapticSample::Motion(Motion { position: Position(first), velocity: Velocity(second) })
            }
            SampleKind::Force => HapticSample::Force(Force(first)),
            SampleKind::Position => HapticSample::Position(Position(first)),
            SampleKind::MasterWave => HapticSample::MasterWave(Wave(first), Position(second)),
            SampleKind::SlaveWave => HapticSample::SlaveWave(Wave(first)),
        }
    }

    /// Writes the sample into the first [`SampleKind::size`] bytes of `out`.
    ///
    /// # Panics
    /// If `out` is shorter than that.
    pub fn emit(&self, out: &mut [u8]) {
        let out = &mut out[..self.kind().size()];
        let numbers = self.vectors().into_iter().flat_map(|v| v.0);
        for (bytes, number) in out.chunks_exact_mut(4).zip(numbers) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
    }

    /// Reads a sample of `kind` from the start of `bytes`; `None` if they are too few.
    pub fn parse(kind: SampleKind, bytes: &[u8]) -> Option<Self> {
        let mut vectors = [Vector::ZERO; 2];
        let numbers = vectors.iter_mut().flat_map(|v| &mut v.0);
        for (number, bytes) in numbers.zip(bytes.get(..kind.size())?.chunks_exact(4)) {
            *number = f32::from_le_bytes(bytes.try_into().ok()?);
        }
        Some(HapticSample::from_vectors(kind, vectors))
    }
}

impl From<Force> for HapticSample {
    fn from(force: Force) -> Self {
        HapticSample::Force(force)
    }
}

impl From<Motion> for HapticSample {
    fn from(motion: Motion) -> Self {
        HapticSample::Motion(motion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coupling;
    use proptest::prelude::*;

    proptest! {
        /// Every bit pattern survives, those of NaNs too.
        #[test]
        fn samples_are_bit_exact(bytes in proptest::collection::vec(any::<u8>(), 24)) {
            let kinds = Coupling::ALL.into_iter().flat_map(|c| Channel::ALL.map(|channel| c.sample(channel)));
            for kind in kinds {
                let sample = HapticSample::parse(kind, &bytes).unwrap();
                let mut out = [0; 24];
                sample.emit(&mut out);
                prop_assert_eq!(&out[..kind.size()], &bytes[..kind.size()]);
                prop_assert!(HapticSample::parse(kind, &bytes[..kind.size() - 1]).is_none());
            }
        }
    }
}
