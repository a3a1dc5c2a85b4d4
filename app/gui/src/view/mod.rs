//! The views: each draws a part of a snapshot at a given place; together they make the two windows.

mod connection;
mod controls;
mod force;
mod header;
mod network;
mod operator;
mod plots;
mod screen;
mod slave;
mod teleoperator;
#[cfg(test)]
mod tests;

pub use operator::OperatorView;
pub use teleoperator::TeleoperatorView;

use egui::{Rect, Ui};

use crate::theme;

/// The places of a window's parts, the same in both windows.
struct Layout {
    header: Rect,
    /// Words across the whole window that must not be missed; empty most of the time.
    banner: Option<Rect>,
    left: Rect,
    right: Rect,
    log: Rect,
}

impl Layout {
    fn new(ui: &Ui, with_banner: bool) -> Self {
        let gap = theme::GAP;
        let whole = ui.max_rect();
        let (header, rest) = whole.split_top_bottom_at_y(whole.top() + 50.0);
        let rest = rest.shrink(gap);
        let (banner, rest) = if with_banner {
            let (banner, rest) = rest.split_top_bottom_at_y(rest.top() + 36.0);
            (Some(banner), rest.with_min_y(rest.top() + gap))
        } else {
            (None, rest)
        };
        let (middle, log) = rest.split_top_bottom_at_y(rest.bottom() - 92.0);
        let middle = middle.with_max_y(middle.bottom() - gap);
        let (left, right) = middle.split_left_right_at_fraction(0.425);
        Layout { header, banner, left, right: right.with_min_x(right.left() + gap), log }
    }
}
