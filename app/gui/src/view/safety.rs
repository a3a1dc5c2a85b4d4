//! The safety chain: a light for each stage, in the order in which a force passes them.

use egui::{Align, Color32, Rect, Sense, Stroke, StrokeKind, Ui, vec2};
use session::{StageSnapshot, StageState};

use crate::format::count;
use crate::theme::{self, Ink, write};

/// Height of the strip, points.
pub(super) const HEIGHT: f32 = 40.0;
const IN_A_ROW: usize = 6;

/// Draws the stages; who points at one reads what it does.
pub(super) fn strip(ui: &mut Ui, rect: Rect, stages: &[StageSnapshot]) {
    let size = vec2(rect.width() / IN_A_ROW as f32, 18.0);
    for (i, stage) in stages.iter().enumerate() {
        let at = rect.min + vec2((i % IN_A_ROW) as f32 * size.x, (i / IN_A_ROW) as f32 * size.y);
        let place = Rect::from_min_size(at, size);
        let (word, color) = told(stage.state);
        let light = Rect::from_center_size(place.left_center() + vec2(5.0, 0.0), vec2(9.0, 9.0));
        match stage.state {
            StageState::Unused => {
                ui.painter().rect_stroke(light, 1.0, Stroke::new(1.0, theme::EDGE), StrokeKind::Inside);
            }
            StageState::Idle => {
                ui.painter().circle_filled(light.center(), 4.0, color);
            }
            // Not by the colour alone.
            StageState::Limiting | StageState::Off => {
                ui.painter().rect_filled(light, 1.0, color);
            }
        }
        let ink = if matches!(stage.state, StageState::Unused) { Ink::SMALL.colored(theme::FAINT) } else { Ink::SMALL };
        write(ui, place.with_min_x(place.left() + 13.0), Align::Min, short(&stage.name), ink);
        ui.interact(place, ui.scope_id().with(("stage", i)), Sense::hover()).on_hover_ui(|ui| {
            ui.label(format!("{}: {word}", stage.name));
            if stage.state != StageState::Unused {
                ui.label(format!("{}, acted {} times", stage.value, count(stage.events.into())));
            }
        });
    }
}

fn told(state: StageState) -> (&'static str, Color32) {
    match state {
        StageState::Unused => ("not in use here", theme::EDGE),
        StageState::Idle => ("lets everything through", theme::PASS),
        StageState::Limiting => ("limits the force", theme::WARN),
        StageState::Off => ("holds the force at zero", theme::FAIL),
    }
}

/// The word that tells a stage from the others.
fn short(name: &str) -> &str {
    match name {
        "gain schedule" => "schedule",
        "velocity trip" => "trip",
        "buzz detector" => "buzz",
        "force clamp" => "clamp",
        "heat budget" => "heat",
        "slew and kick" => "slew",
        "engagement ramp" => "ramp",
        "emergency stop" => "stop",
        name => name,
    }
}
