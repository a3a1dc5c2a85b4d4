//! The names of the stages of safety and what each of them did in a step: what windows, logs and traces show.

/// A stage, in the order in which a force passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Numbers that are none, absurd values, readings and samples out of range.
    Sanity,
    /// Share of the peer's force for this round trip.
    Schedule,
    /// Observer of the energy that the device gives to the hand, and the damper that takes it back.
    Passivity,
    /// Speed of the hand beyond what a hand does.
    Trip,
    /// Vibration that the loop makes by itself.
    Buzz,
    /// Largest length of the force.
    Clamp,
    /// What the motors have left before they are too warm.
    Heat,
    /// Largest change of force from step to step, and within a kick.
    Slew,
    /// Force comes up slowly.
    Ramp,
    /// Age of the peer's sample, of the device's reading, and of our own last step.
    Watchdog,
    /// A hand on the button or key.
    DeadMan,
    /// Emergency stop, here or there.
    Stop,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Stage; 12] = [
        Stage::Sanity,
        Stage::Schedule,
        Stage::Passivity,
        Stage::Trip,
        Stage::Buzz,
        Stage::Clamp,
        Stage::Heat,
        Stage::Slew,
        Stage::Ramp,
        Stage::Watchdog,
        Stage::DeadMan,
        Stage::Stop,
    ];

    /// One or two words.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Sanity => "sanity",
            Stage::Schedule => "gain schedule",
            Stage::Passivity => "passivity",
            Stage::Trip => "velocity trip",
            Stage::Buzz => "buzz detector",
            Stage::Clamp => "force clamp",
            Stage::Heat => "heat budget",
            Stage::Slew => "slew and kick",
            Stage::Ramp => "engagement ramp",
            Stage::Watchdog => "watchdogs",
            Stage::DeadMan => "dead-man",
            Stage::Stop => "emergency stop",
        }
    }

    /// What its value counts: printed after it.
    pub const fn unit(self) -> &'static str {
        match self {
            Stage::Sanity => "refused",
            Stage::Schedule | Stage::Buzz | Stage::Ramp | Stage::DeadMan | Stage::Watchdog => "of 1",
            Stage::Passivity => "N s/m",
            Stage::Trip => "m/s",
            Stage::Clamp | Stage::Heat => "N",
            Stage::Slew => "N/ms",
            Stage::Stop => "",
        }
    }
}

/// What a stage does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StageState {
    /// Not in use at this station or by configuration.
    #[default]
    Unused,
    /// In use; it lets everything through.
    Idle,
    /// It makes the force smaller or slower.
    Limiting,
    /// It holds the force at zero.
    Off,
}

/// One stage after a step.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct StageStatus {
    /// What it does now.
    pub state: StageState,
    /// Its own figure in [`Stage::unit`]: share let through, limit, damping, speed.
    pub value: f32,
    /// Times that it began to limit or to hold, since the start.
    pub events: u32,
}

/// All stages after a step.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct SafetyStatus([StageStatus; Stage::ALL.len()]);

impl SafetyStatus {
    /// One of them.
    pub fn get(&self, stage: Stage) -> StageStatus {
        self.0[stage as usize]
    }

    /// With their names, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Stage, StageStatus)> + '_ {
        Stage::ALL.into_iter().map(|stage| (stage, self.get(stage)))
    }

    /// Notes what a stage does in this step; the first step of limiting or holding counts as an event.
    pub(crate) fn set(&mut self, stage: Stage, state: StageState, value: f32) {
        let before = &mut self.0[stage as usize];
        let acts = |s| matches!(s, StageState::Limiting | StageState::Off);
        let begins = acts(state) && !acts(before.state);
        *before = StageStatus { state, value, events: before.events.saturating_add(u32::from(begins)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_list_and_only_beginnings_count() {
        for (index, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(stage as usize, index);
        }
        let mut status = SafetyStatus::default();
        for state in [StageState::Idle, StageState::Limiting, StageState::Off, StageState::Idle, StageState::Off] {
            status.set(Stage::Heat, state, 1.5);
        }
        assert_eq!(status.get(Stage::Heat), StageStatus { state: StageState::Off, value: 1.5, events: 2 });
        assert_eq!(status.iter().filter(|(_, s)| s.state != StageState::Unused).count(), 1);
    }
}
