//! What a person does with the force: emergency stop and its release, engaging, the dead-man key. The keys work whatever
//! has the focus.

use egui::{Button, Color32, CornerRadius, Event, Key, Rect, RichText, Stroke, Ui};
use session::{Command, HapticSnapshot, Snapshot};

use crate::theme::{self, GAP, Ink, columns};

/// The key of the emergency stop.
const STOP_KEY: Key = Key::Space;
const ENGAGE_KEY: Key = Key::E;
const CALIBRATE_KEY: Key = Key::C;
/// Held for force, where the configuration wants a dead-man key.
const DEAD_MAN_KEY: Key = Key::F;

/// Emergency stop, release, engage, dead-man.
#[derive(Debug, Default)]
pub(super) struct Controls {
    /// The dead-man key was held at the last frame.
    holding: bool,
}

impl Controls {
    /// Takes our keys out of the input before any widget sees them, so that none presses a focused button (above all the
    /// stop key not the release). Call before drawing.
    pub fn keys(&mut self, ui: &Ui, snapshot: &Snapshot) -> Vec<Command> {
        let mut wishes = Vec::new();
        let stop = take(ui, STOP_KEY);
        let [engage, calibrate] = [ENGAGE_KEY, CALIBRATE_KEY].map(|key| take(ui, key));
        // Before anything else: a hand that lets go is never overlooked.
        self.dead_man(ui, snapshot, &mut wishes);
        if snapshot.ended.is_some() {
            return wishes;
        }
        if stop {
            wishes.push(Command::EmergencyStop);
        }
        if engage && cannot_engage(&snapshot.haptic).is_none() {
            wishes.push(Command::Engage);
        }
        if calibrate && snapshot.haptic.calibration.is_some() {
            wishes.push(Command::Calibrate);
        }
        wishes
    }

    /// While the key is held it is said in each frame, for the station forgets it soon: a window that stands still holds
    /// nothing. A window that loses the keyboard does not learn of the release.
    fn dead_man(&mut self, ui: &Ui, snapshot: &Snapshot, wishes: &mut Vec<Command>) {
        let down = ui.input(|input| input.focused && input.key_down(DEAD_MAN_KEY));
        let holding = down && snapshot.haptic.dead_man == "key" && snapshot.ended.is_none();
        if holding || self.holding {
            wishes.push(Command::DeadMan(holding));
        }
        self.holding = holding;
    }

    /// Draws the buttons over `rect`.
    pub fn buttons(&mut self, ui: &mut Ui, rect: Rect, snapshot: &Snapshot) -> Option<Command> {
        let live = snapshot.ended.is_none();
        let h = &snapshot.haptic;
        let beside = (rect.width() * 0.24).max(1.0);
        let [stop, release, engage] = columns(rect, [(rect.width() - 2.0 * beside).max(1.0), beside, 0.0]);
        let mut wish = None;

        ui.scope(|ui| {
            if !live {
                ui.disable();
            }
            fill(ui, theme::STOP, Color32::from_rgb(0xe8, 0x3a, 0x3a), Color32::from_rgb(0xff, 0x8a, 0x8a));
            let caption = if h.stopped_here { "STOPPED  (Space)" } else { "EMERGENCY STOP  (Space)" };
            let caption = RichText::new(caption).font(Ink::VALUE.font()).color(Color32::WHITE);
            let button = Button::new(caption).corner_radius(CornerRadius::same(6)).min_size(stop.size());
            if ui.put(stop, button).on_hover_text("force off at both stations").clicked() {
                wish = Some(Command::EmergencyStop);
            }
        });

        let why = (!h.stopped_here).then_some("no emergency stop was pressed here");
        let told = "force rises again from where the device is";
        if small(ui, release, "Release stop", live, why, told) {
            wish = Some(Command::ReleaseStop);
        }

        let why = cannot_engage(h);
        ui.scope(|ui| {
            if why.is_none() {
                fill(ui, theme::ENGAGE, theme::ENGAGE_HOVERED, theme::PASS);
            }
            if small(ui, engage, "Engage  (E)", live, why, "the device is in my hand: force may come up") {
                wish = Some(Command::Engage);
            }
        });
        wish
    }
}

/// Was this key pressed, alone? Takes it, and the letter that it types, out of the input. Repetitions do not count.
pub(super) fn take(ui: &Ui, wanted: Key) -> bool {
    let mut taken = false;
    ui.input_mut(|input| {
        input.events.retain(|event| match event {
            Event::Key { key, pressed, repeat, modifiers, .. } if *key == wanted => {
                // With Control or Alt it is another key; the stop key is the stop key.
                let alone = wanted == STOP_KEY || !(modifiers.command || modifiers.ctrl || modifiers.alt);
                taken |= alone && *pressed && !*repeat;
                false
            }
            Event::Text(text) if wanted == STOP_KEY => text != " ",
            Event::Text(text) => !text.eq_ignore_ascii_case(wanted.name()),
            _ => true,
        });
    });
    taken
}

/// Why a person cannot engage now, in words.
fn cannot_engage(h: &HapticSnapshot) -> Option<&'static str> {
    if !h.fault.is_empty() {
        Some("the device has a fault")
    } else if h.calibration.is_some() {
        Some("the device has to be calibrated first")
    } else if !h.waits_for_user {
        Some("nothing waits for it")
    } else {
        None
    }
}

fn small(ui: &mut Ui, place: Rect, caption: &str, live: bool, why_not: Option<&str>, told: &str) -> bool {
    let place = place.with_min_x(place.left() + GAP);
    ui.add_enabled_ui(live && why_not.is_none(), |ui| {
        let caption = RichText::new(caption).font(Ink::BODY.strong().font());
        let button = Button::new(caption).corner_radius(CornerRadius::same(6)).min_size(place.size());
        let response = ui.put(place, button).on_hover_text(told);
        response.on_disabled_hover_text(why_not.unwrap_or("the station has ended")).clicked()
    })
    .inner
}

fn fill(ui: &mut Ui, color: Color32, hovered: Color32, edge: Color32) {
    let widgets = &mut ui.visuals_mut().widgets;
    for (state, color) in
        [(&mut widgets.inactive, color), (&mut widgets.hovered, hovered), (&mut widgets.active, color)]
    {
        state.weak_bg_fill = color;
        state.bg_fill = color;
        state.bg_stroke = Stroke::new(1.0, edge);
    }
}
