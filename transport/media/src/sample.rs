//! Haptic samples: what one tick of the servo says.

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
}

impl SampleKind {
    /// Bytes of one sample on the wire.
    pub const fn size(self) -> usize {
        match self {
            SampleKind::Motion => 24,
            SampleKind::Force => 12,
        }
    }
}

/// One haptic sample: IEEE 754 singles, little-endian on the wire, bit-exact from end to end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HapticSample {
    /// Forward: position, then velocity.
    Motion(Motion),
    /// Backward: force.
    Force(Force),
}

impl HapticSample {
    /// The kind of this sample.
    pub const fn kind(&self) -> SampleKind {
        match self {
            HapticSample::Motion(_) => SampleKind::Motion,
            HapticSample::Force(_) => SampleKind::Force,
        }
    }

    /// The sample with all components zero.
    pub const fn zero(kind: SampleKind) -> Self {
        match kind {
            SampleKind::Motion => HapticSample::Motion(Motion { position: Position::ZERO, velocity: Velocity::ZERO }),
            SampleKind::Force => HapticSample::Force(Force::ZERO),
        }
    }

    /// Writes the sample into the first [`SampleKind::size`] bytes of `out`.
    ///
    /// # Panics
    /// If `out` is shorter than that.
    pub fn emit(&self, out: &mut [u8]) {
        let mut put = |at: usize, v: Vector| {
            for (i, c) in v.0.iter().enumerate() {
                out[at + 4 * i..at + 4 * i + 4].copy_from_slice(&c.to_le_bytes());
            }
        };
        match self {
            HapticSample::Motion(m) => {
                put(0, m.position.0);
                put(12, m.velocity.0);
            }
            HapticSample::Force(f) => put(0, f.0),
        }
    }

    /// Reads a sample of `kind` from the start of `bytes`; `None` if they are too few.
    pub fn parse(kind: SampleKind, bytes: &[u8]) -> Option<Self> {
        let get = |at: usize| -> Option<Vector> {
            let mut v = [0.0; 3];
            for (i, c) in v.iter_mut().enumerate() {
                *c = f32::from_le_bytes(bytes.get(at + 4 * i..at + 4 * i + 4)?.try_into().ok()?);
            }
            Some(Vector(v))
        };
        Some(match kind {
            SampleKind::Motion => {
                HapticSample::Motion(Motion { position: Position(get(0)?), velocity: Velocity(get(12)?) })
            }
            SampleKind::Force => HapticSample::Force(Force(get(0)?)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every bit pattern survives, those of NaNs too.
        #[test]
        fn samples_are_bit_exact(bytes in proptest::collection::vec(any::<u8>(), 24)) {
            for kind in [SampleKind::Motion, SampleKind::Force] {
                let sample = HapticSample::parse(kind, &bytes).unwrap();
                let mut out = [0; 24];
                sample.emit(&mut out);
                prop_assert_eq!(&out[..kind.size()], &bytes[..kind.size()]);
                prop_assert!(HapticSample::parse(kind, &bytes[..kind.size() - 1]).is_none());
            }
        }
    }
}
