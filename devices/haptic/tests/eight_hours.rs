//! A working day of each station's servo in virtual time, with everything that goes wrong at random: devices that fail or
//! vanish, peers that fall silent or send nonsense, stops, stalls, hands that come and go. No force above the clamp, no
//! change above the slew limit or its budget, nothing that is no number, and zero wherever it must be. The judge keeps its
//! own account of that.

use media::{Channel, Coupling, Duration, Force, HapticSample, Instant, Motion, Position, SampleKind, Velocity, Wave};
use telehaptic_haptic::{
    ControlConfig, DeadMan, DeviceError, FaultConfig, FaultyDevice, ForceOff, Gate, Hand, HandConfig, HandScript,
    HapticDevice, Master, Received, SafetyConfig, SimConfig, SimDevice, Slave, Stage, StageState, Step,
};

const DAY: Duration = Duration::from_secs(8 * 3600);
const MS: Duration = Duration::from_millis(1);

/// splitmix64: the same seed, the same day.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to 1.
    fn share(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// Once in so many calls.
    fn once_in(&mut self, calls: u64) -> bool {
        self.next().is_multiple_of(calls)
    }

    /// -1 to 1, three times.
    fn direction(&mut self) -> [f32; 3] {
        [(); 3].map(|()| 2.0 * self.share() - 1.0)
    }
}

/// What comes from outside in one tick.
struct World {
    random: Random,
    now: Instant,
    gate: Gate,
    /// Until when the peer is silent, and a stop is pressed.
    silent_until: Instant,
    stopped_until: Instant,
    let_go_until: Instant,
    newest: Option<Received<HapticSample>>,
    /// What the peer says wanders.
    wander: [f32; 3],
    /// Another one now and then, with a new peer.
    coupling: Coupling,
}

impl World {
    fn tick(&mut self, operator: bool) {
        let r = &mut self.random;
        self.now += MS;
        if r.once_in(20_000) {
            self.now += Duration::from_micros(r.next() % 250_000);
        }
        let (now, hold) = (self.now, |r: &mut Random, ms: u64| Duration::from_millis(r.next() % ms));
        if r.once_in(40_000) {
            self.silent_until = now + hold(r, 400);
        }
        if r.once_in(200_000) {
            self.stopped_until = now + hold(r, 5_000);
        }
        if r.once_in(60_000) {
            self.let_go_until = now + hold(r, 2_000);
        }
        if r.once_in(100_000) {
            self.gate.connected = false;
            self.coupling = Coupling::ALL[(r.next() % 3) as usize];
        } else if r.once_in(500) {
            self.gate.connected = true;
        }
        if r.once_in(5_000) {
            let ms = r.next() % 300;
            self.gate.loop_delay = (ms > 20).then(|| Duration::from_millis(ms));
        }
        self.gate.stopped_here = now < self.stopped_until;
        self.gate.dead_man = Some(now >= self.let_go_until);
        if now < self.silent_until || r.once_in(10) {
            return;
        }
        let step = r.direction();
        for (value, step) in self.wander.iter_mut().zip(step) {
            *value = 0.995 * *value + if operator { 0.3 * step } else { 2e-3 * step };
        }
        let mut value = self.wander;
        if r.once_in(1_000) {
            value[(r.next() % 3) as usize] = [f32::NAN, f32::INFINITY, 1e30, -90.0, 0.9][(r.next() % 5) as usize];
        }
        let [x, y, z] = value;
        let [vx, vy, vz] = r.direction();
        let channel = if operator { Channel::Backward } else { Channel::Forward };
        let sample = match self.coupling.sample(channel) {
            SampleKind::Force => HapticSample::Force(Force::new(x, y, z)),
            SampleKind::Motion => {
                HapticSample::Motion(Motion { position: Position::new(x, y, z), velocity: Velocity::new(vx, vy, vz) })
            }
            SampleKind::Position => HapticSample::Position(Position::new(x * 0.01, y * 0.01, z * 0.01)),
            SampleKind::SlaveWave => HapticSample::SlaveWave(Wave::new(x, y, z)),
            SampleKind::MasterWave => HapticSample::MasterWave(Wave::new(vx, vy, vz), Position::new(x, y, z)),
        };
        // Now and then with a stamp of the future.
        let at = if r.once_in(5_000) { now + Duration::from_secs(9) } else { now };
        self.newest = Some(Received { value: sample, at });
    }
}

/// What must hold, by an account of its own.
struct Judge {
    config: SafetyConfig,
    max_force: f32,
    last: Force,
    last_at: Instant,
    /// When force was last zero by necessity.
    zero_at: Instant,
    /// When the last sample came.
    heard_at: Option<Instant>,
    let_go_at: Option<Instant>,
    /// The device was lost; the count of engagements that will not do.
    lost: Option<u32>,
    budget: f32,
    forced: u64,
    pressed: u64,
}

impl Judge {
    fn check(&mut self, world: &World, step: &Step) {
        let (now, gate, force) = (world.now, world.gate, step.force);
        let tick_ms = now.saturating_since(self.last_at).as_secs_f32() * 1e3;
        self.last_at = now;
        if world.newest.is_some_and(|n| n.at == now || n.at > now + Duration::from_secs(8)) {
            self.heard_at = Some(now);
        }
        let gripped = gate.dead_man == Some(true) && self.let_go_at.is_some();
        match (gate.dead_man, self.let_go_at) {
            (Some(true), _) => self.let_go_at = None,
            (_, None) => self.let_go_at = Some(now),
            _ => {}
        }
        match &step.state {
            Err(DeviceError::Lost) => self.lost = Some(gate.engagements),
            // The number that was there when the device came back does not count; a later one does, and a fresh grip.
            Ok(_) if gripped || self.lost.is_some_and(|seen| seen != gate.engagements) => self.lost = None,
            _ => {}
        }
        assert!(force.0.is_finite(), "{force:?} at {now:?}");
        let length = force.0.norm();
        assert!(length <= self.max_force * 1.00001, "{length} N at {now:?}");
        let silent = self.heard_at.is_none_or(|at| now.saturating_since(at) >= Duration::from_millis(50));
        let released = self.let_go_at.is_some_and(|at| now.saturating_since(at) >= Duration::from_millis(100));
        let stalled = tick_ms > 20.001;
        let must = gate.stopped_here
            || !gate.connected
            || step.state.is_err()
            || silent
            || released
            || stalled
            || self.lost.is_some();
        if must {
            assert_eq!(force, Force::ZERO, "at {now:?}: {:?}", step.status.reason);
            self.zero_at = now;
            self.forced += 1;
        }
        let t = (now.saturating_since(self.zero_at).as_secs_f32() / self.config.engagement.as_secs_f32()).min(1.0);
        assert!(length <= self.max_force * t * t * (3.0 - 2.0 * t) * 1.0001 + 1e-4, "{length} N at {t} of the ramp");
        self.budget = (self.budget + self.config.slew / 2.0 * tick_ms.min(4.0)).min(self.config.kick);
        if force != Force::ZERO {
            let change = (force.0 - self.last.0).norm();
            assert!(change <= self.config.slew * tick_ms.min(4.0) * 1.0001 + 1e-5, "{change} N in {tick_ms} ms");
            assert!(change <= self.budget + 1e-3, "{change} N, {} left of the budget", self.budget);
            self.budget -= change;
        }
        self.pressed += u64::from(length > 0.2);
        self.last = force;
    }
}

fn day(operator: bool, seed: u64) {
    let start = Instant::from_millis(1_000);
    let config = SimConfig::default();
    let inner = if operator {
        SimDevice::held(config, Hand::scripted(HandConfig::default(), HandScript::default()), start)
    } else {
        SimDevice::new(config, start)
    };
    let faults = FaultConfig {
        not_finite: 1e-4,
        absurd: 1e-4,
        stale: 1e-2,
        write_error: 1e-3,
        lost: 1e-5,
        lost_for: Duration::from_millis(700),
    };
    let mut device = FaultyDevice::new(inner, faults, seed);
    let safety = SafetyConfig { dead_man: DeadMan::Key, max_force: 2.8, ..SafetyConfig::default() };
    let control = ControlConfig { safety, ..ControlConfig::default() };
    let mut master = Master::new(control, device.info(), start);
    let mut slave = Slave::new(control, device.info(), start);
    let mut world = World {
        random: Random(seed),
        now: start,
        gate: Gate::OPEN,
        silent_until: start,
        stopped_until: start,
        let_go_until: start,
        newest: None,
        wander: [0.0; 3],
        coupling: Coupling::default(),
    };
    let mut judge = Judge {
        config: safety,
        max_force: 2.8,
        last: Force::ZERO,
        last_at: start,
        zero_at: start,
        heard_at: None,
        let_go_at: Some(start),
        lost: None,
        budget: safety.kick,
        forced: 0,
        pressed: 0,
    };
    let mut events = [0u32; Stage::ALL.len()];
    let mut waited = 0;
    while world.now < start + DAY {
        world.tick(operator);
        let (now, newest, gate) = (world.now, world.newest, world.gate);
        master.set_coupling(world.coupling);
        slave.set_coupling(world.coupling);
        let step = if operator {
            master.tick(now, &mut device, newest, gate)
        } else {
            // A wall, so that the slave has something to push.
            slave.tick(now, &mut device, newest, gate, |m| Force::new(0.0, 0.0, (-800.0 * m.position.0.0[2]).max(0.0)))
        };
        judge.check(&world, &step);
        if step.status.reason == Some(ForceOff::WaitsForUser) {
            waited += 1;
            world.gate.engagements += u32::from(world.random.once_in(800));
        }
        for (stage, status) in step.status.safety.iter() {
            events[stage as usize] = status.events;
            assert!(
                status.value.is_finite() && status.state != StageState::Off || step.force == Force::ZERO,
                "{stage:?}"
            );
        }
    }
    println!(
        "{} ms with force, {} ms forced to zero, {waited} ms waiting; events {events:?}",
        judge.pressed, judge.forced
    );
    // A day without force, or one without faults, would prove nothing.
    assert!(judge.pressed > 1_000_000 && judge.forced > 100_000 && waited > 1_000);
    for stage in [Stage::Sanity, Stage::Slew, Stage::Ramp, Stage::Watchdog, Stage::DeadMan, Stage::Stop, Stage::Clamp] {
        assert!(events[stage as usize] > 10, "{stage:?} never had anything to do");
    }
}

#[test]
fn eight_hours_of_the_operators_servo() {
    day(true, 1);
}

#[test]
fn eight_hours_of_the_teleoperators_servo() {
    day(false, 2);
}
