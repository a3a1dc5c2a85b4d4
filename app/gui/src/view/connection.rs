//! Who is connected to the teleoperator, and the ticket that an operator needs.

use egui::{Align, Rect, Ui, vec2};
use session::{LinkState, Snapshot};

use super::header::link_word;
use crate::theme::{self, Ink, Lines, columns, write};

/// Height of the card, points.
pub(super) const HEIGHT: f32 = 76.0;

/// How long the button says that it has copied, s.
const THANKS_S: f64 = 2.0;

/// The card's own state.
#[derive(Debug, Default)]
pub(super) struct Connection {
    copied_at: Option<f64>,
}

impl Connection {
    pub fn ui(&mut self, ui: &mut Ui, rect: Rect, snapshot: &Snapshot) {
        let (room, beside) = theme::card(ui, rect, "Operator");
        let (word, color) = link_word(snapshot);
        let who = match snapshot.link {
            LinkState::Waiting => word.to_owned(),
            _ if snapshot.peer.is_empty() => word.to_owned(),
            _ => format!("{} {word}", snapshot.peer),
        };
        write(ui, beside, Align::Min, who, Ink::BODY.strong().colored(color));

        let mut lines = Lines::new(room.with_min_y(room.top() + 4.0));
        let [label, text, button] = columns(lines.take(32.0), [54.0, room.width() - 54.0 - 120.0, 0.0]);
        write(ui, label, Align::Min, "Ticket", Ink::NOTE);
        let Some(ticket) = &snapshot.ticket else {
            write(ui, text, Align::Min, "not issued yet", Ink::NOTE);
            return;
        };
        write(ui, text, Align::Min, ticket, Ink::MONO);
        let now = ui.input(|i| i.time);
        let fresh = self.copied_at.is_some_and(|at| now - at < THANKS_S);
        let caption = if fresh { "Copied" } else { "Copy ticket" };
        let place = Rect::from_center_size(button.center(), vec2(button.width(), 30.0));
        let caption = egui::RichText::new(caption).font(Ink::BODY.font());
        if ui.put(place, egui::Button::new(caption)).clicked() {
            ui.ctx().copy_text(ticket.clone());
            self.copied_at = Some(now);
        }
    }
}
