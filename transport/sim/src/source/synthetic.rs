//! The servo that needs nothing: samples whose bits tell their tick.

use media::{Force, HapticSample, Instant, Motion, Position, Role, Velocity};

use super::Servo;

/// A servo without a device: a sample for every tick, and nothing is felt.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticServo {
    role: Role,
}

impl SyntheticServo {
    /// The servo of the station with this role.
    pub fn new(role: Role) -> Self {
        SyntheticServo { role }
    }
}

impl Servo for SyntheticServo {
    fn display(&mut self, _: Instant, _: u64, _: HapticSample) {}

    fn tick(&mut self, tick: u64) -> HapticSample {
        sample_of(self.role, tick)
    }
}

/// The sample that a [`SyntheticServo`] takes at a tick: other bits at every tick, those of NaNs among them, so
/// that a mixed-up sample is found out.
pub fn sample_of(role: Role, tick: u64) -> HapticSample {
    let bits = |salt: u32| f32::from_bits((tick as u32).wrapping_mul(2_654_435_761) ^ salt.wrapping_mul(0x9e37_79b9));
    match role {
        Role::Top => HapticSample::Force(Force::new(bits(1), bits(2), bits(3))),
        Role::Op => HapticSample::Motion(Motion {
            position: Position::new(bits(4), bits(5), bits(6)),
            velocity: Velocity::new(bits(7), bits(8), bits(9)),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_differ_from_tick_to_tick() {
        for role in [Role::Op, Role::Top] {
            let mut servo = SyntheticServo::new(role);
            let bits = |sample: HapticSample| {
                let mut bytes = [0; 24];
                sample.emit(&mut bytes);
                bytes
            };
            assert_ne!(bits(servo.tick(1)), bits(servo.tick(2)));
        }
    }
}
