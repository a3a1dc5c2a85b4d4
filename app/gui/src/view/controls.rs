//! The emergency stop: a key that works whatever has the focus, a large button, and its release.

use egui::{Button, CornerRadius, Event, Key, Rect, RichText, Stroke, Ui};
use session::{Command, Snapshot};

use crate::theme::{self, GAP, Ink};

/// The key of the emergency stop.
const STOP_KEY: Key = Key::Space;

/// Emergency stop and release.
#[derive(Debug, Default)]
pub(super) struct Controls;

impl Controls {
    /// Takes the stop key out of the input before any widget sees it, so that it never presses a focused button
    /// (above all not the release). Call before drawing.
    pub fn keys(&mut self, ui: &Ui, snapshot: &Snapshot) -> Option<Command> {
        let mut pressed = false;
        ui.input_mut(|input| {
            input.events.retain(|event| match event {
                Event::Key { key: STOP_KEY, pressed: down, repeat, .. } => {
                    pressed |= *down && !*repeat;
                    false
                }
                Event::Text(text) => text != " ",
                _ => true,
            });
        });
        (pressed && snapshot.ended.is_none()).then_some(Command::EmergencyStop)
    }

    /// Draws both buttons over `rect`.
    pub fn buttons(&mut self, ui: &mut Ui, rect: Rect, snapshot: &Snapshot) -> Option<Command> {
        let live = snapshot.ended.is_none();
        let stopped = snapshot.haptic.stopped_here;
        let (stop, release) = rect.split_left_right_at_fraction(0.68);
        let mut wish = None;

        ui.scope(|ui| {
            if !live {
                ui.disable();
            }
            fill(ui, theme::STOP, egui::Color32::from_rgb(0xe8, 0x3a, 0x3a));
            let caption = if stopped { "STOPPED  (Space)" } else { "EMERGENCY STOP  (Space)" };
            let caption = RichText::new(caption).font(Ink::VALUE.font()).color(egui::Color32::WHITE);
            let button = Button::new(caption).corner_radius(CornerRadius::same(6));
            let place = stop.with_max_x(stop.right() - GAP * 0.5);
            if ui.put(place, button.min_size(place.size())).on_hover_text("force off at both stations").clicked() {
                wish = Some(Command::EmergencyStop);
            }
        });

        let place = release.with_min_x(release.left() + GAP * 0.5);
        ui.scope(|ui| {
            if !(stopped && live) {
                ui.disable();
            }
            let caption = RichText::new("Release stop").font(Ink::BODY.strong().font());
            let button = Button::new(caption).corner_radius(CornerRadius::same(6)).min_size(place.size());
            if ui.put(place, button).on_hover_text("force rises again from where the device is").clicked() {
                wish = Some(Command::ReleaseStop);
            }
        });
        wish
    }
}

fn fill(ui: &mut Ui, color: egui::Color32, hovered: egui::Color32) {
    let widgets = &mut ui.visuals_mut().widgets;
    for (state, color) in
        [(&mut widgets.inactive, color), (&mut widgets.hovered, hovered), (&mut widgets.active, theme::STOP_BANNER)]
    {
        state.weak_bg_fill = color;
        state.bg_fill = color;
        state.bg_stroke = Stroke::new(1.0, egui::Color32::from_rgb(0xff, 0x8a, 0x8a));
    }
}
