//! A device that fails on purpose, around any other: a citizen of the tests and of demonstrations.

use media::{Duration, Force, Instant, Position};

use crate::device::{Calibration, DeviceError, DeviceHealth, DeviceInfo, DeviceState, HapticDevice};

/// How often it fails: chances for one call, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct FaultConfig {
    /// A reading with a not-a-number or infinity.
    pub not_finite: f64,
    /// A reading far outside any workspace.
    pub absurd: f64,
    /// Nothing new: the last state with its old stamp.
    pub stale: f64,
    /// Writing fails once.
    pub write_error: f64,
    /// The device is gone for `lost_for`: reading and writing fail.
    pub lost: f64,
    /// How long it is gone.
    pub lost_for: Duration,
}

/// `D` with faults. The same seed gives the same faults.
#[derive(Debug)]
pub struct FaultyDevice<D> {
    inner: D,
    config: FaultConfig,
    random: u64,
    lost_until: Instant,
    last: Option<DeviceState>,
}

impl<D: HapticDevice> FaultyDevice<D> {
    /// Wraps `inner`.
    pub fn new(inner: D, config: FaultConfig, seed: u64) -> Self {
        FaultyDevice { inner, config, random: seed, lost_until: Instant::ZERO, last: None }
    }

    /// The device inside.
    pub fn inner(&mut self) -> &mut D {
        &mut self.inner
    }

    fn happens(&mut self, chance: f64) -> bool {
        ((self.next() >> 11) as f64) < chance * (1u64 << 53) as f64
    }

    /// splitmix64 (Steele, Lea, Flood 2014).
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl<D: HapticDevice> HapticDevice for FaultyDevice<D> {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn read(&mut self, now: Instant) -> Result<DeviceState, DeviceError> {
        if self.happens(self.config.lost) {
            self.lost_until = now + self.config.lost_for;
        }
        let state = self.inner.read(now)?;
        if now < self.lost_until {
            // What is gone shows no force.
            self.inner.write(now, Force::ZERO)?;
            return Err(DeviceError::Lost);
        }
        if self.happens(self.config.stale)
            && let Some(last) = self.last
        {
            return Ok(last);
        }
        self.last = Some(state);
        if self.happens(self.config.not_finite) {
            let x = if self.next().is_multiple_of(2) { f32::NAN } else { f32::NEG_INFINITY };
            return Ok(DeviceState { position: Position::new(x, 0.0, 0.0), ..state });
        }
        if self.happens(self.config.absurd) {
            let x = if self.next().is_multiple_of(2) { 40.0 } else { f32::MAX };
            return Ok(DeviceState { position: Position::new(0.0, x, 0.0), ..state });
        }
        Ok(state)
    }

    fn write(&mut self, now: Instant, force: Force) -> Result<(), DeviceError> {
        if now < self.lost_until {
            return Err(DeviceError::Lost);
        }
        if self.happens(self.config.write_error) {
            return Err(DeviceError::Write);
        }
        self.inner.write(now, force)
    }

    fn calibration(&self) -> Calibration {
        self.inner.calibration()
    }

    fn calibrate(&mut self) {
        self.inner.calibrate();
    }

    fn health(&self) -> DeviceHealth {
        self.inner.health()
    }

    fn touch(&mut self, contact: Force) {
        self.inner.touch(contact);
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}
