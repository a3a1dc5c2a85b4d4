//! The closed loop: a hand that holds the master, and a slave that touches the scene. What the hand feels depends on what
//! the slave ran into one round trip ago, and where the hand goes depends on what it feels: delay acts back on the force.
//!
//! Device, control, safety and scene are those of a live station, turned by the same two functions
//! ([`Master::tick`], [`Slave::tick`]); only the clock is another. The hand is scripted, so that runs over different
//! networks can be compared.

use haptic::{ControlConfig, Gate, Hand, HandConfig, Master, Received, SimConfig, SimDevice, Slave, Step};
use media::{Duration, HapticSample, Instant};
use scene::{Scene, SceneConfig};

use super::Servo;

/// Time from tick to tick.
const TICK: Duration = Duration::from_millis(1);

/// What both stations are made of. The defaults are those of a live station with simulated devices.
#[derive(Clone, Debug, Default)]
pub struct ClosedLoopConfig {
    /// Mechanics of both devices.
    pub device: SimConfig,
    /// Gains, and the limits of the safety stage at both stations.
    pub control: ControlConfig,
    /// Impedance of the hand.
    pub hand: HandConfig,
    /// How far into its round ([`scene::hand_target`]) the hand is at tick 0. Runs that differ in this are different
    /// trials of one hand.
    pub hand_starts: Duration,
    /// What the slave touches, and what the hand reaches for.
    pub scene: SceneConfig,
}

/// The operator's side: hand, master device and force display.
#[derive(Debug)]
pub struct OpServo {
    device: SimDevice,
    control: Master,
    peer: Option<Received<HapticSample>>,
    last: Option<Step>,
}

impl OpServo {
    /// The hand where it wants to be, the force not engaged.
    pub fn new(config: &ClosedLoopConfig) -> Self {
        let (scene, starts) = (config.scene, config.hand_starts);
        let hand = Hand::new(config.hand, move |elapsed| scene::hand_target(&scene, starts + elapsed));
        let device = SimDevice::held(config.device.clone(), hand, Instant::ZERO);
        let control = Master::new(config.control, &config.device.info, Instant::ZERO);
        OpServo { device, control, peer: None, last: None }
    }

    /// The last tick: what the hand feels is its `force`. `None` before the first.
    pub fn last(&self) -> Option<&Step> {
        self.last.as_ref()
    }
}

impl Servo for OpServo {
    fn display(&mut self, at: Instant, _index: u64, sample: HapticSample) {
        self.peer = Some(Received { value: sample, at });
    }

    fn tick(&mut self, tick: u64) -> HapticSample {
        let step = self.control.tick(Instant::from_millis(tick), &mut self.device, self.peer, Gate::OPEN);
        self.last.insert(step).sample
    }
}

/// The teleoperator's side: slave device, its control, and the scene.
#[derive(Debug)]
pub struct TopServo {
    device: SimDevice,
    control: Slave,
    scene: Scene,
    peer: Option<Received<HapticSample>>,
    last: Option<Step>,
}

impl TopServo {
    /// The slave at rest in free space, not engaged.
    pub fn new(config: &ClosedLoopConfig) -> Self {
        TopServo {
            device: SimDevice::new(config.device.clone(), Instant::ZERO),
            control: Slave::new(config.control, &config.device.info, Instant::ZERO),
            scene: Scene::new(config.scene),
            peer: None,
            last: None,
        }
    }

    /// The last tick, with the force of the scene in `contact`. `None` before the first.
    pub fn last(&self) -> Option<&Step> {
        self.last.as_ref()
    }
}

impl Servo for TopServo {
    fn display(&mut self, at: Instant, _index: u64, sample: HapticSample) {
        self.peer = Some(Received { value: sample, at });
    }

    fn tick(&mut self, tick: u64) -> HapticSample {
        let scene = &mut self.scene;
        let push = |motion: &media::Motion| scene.step(TICK, motion.position, motion.velocity).force;
        let step = self.control.tick(Instant::from_millis(tick), &mut self.device, self.peer, Gate::OPEN, push);
        self.last.insert(step).sample
    }
}
