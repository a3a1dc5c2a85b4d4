//! The views: each draws a part of a snapshot at a given place; together they make the two windows.

mod calibration;
mod connection;
mod controls;
mod device;
mod force;
mod header;
mod network;
mod operator;
mod plots;
mod safety;
mod screen;
mod slave;
mod teleoperator;
#[cfg(test)]
mod tests;

pub use operator::OperatorView;
pub use teleoperator::TeleoperatorView;

use egui::{Rect, Ui};
use session::Snapshot;

use crate::theme;

/// The places of a window's parts, the same in both windows.
struct Layout {
    header: Rect,
    /// Words across the whole window that must not be missed; empty most of the time.
    banner: Option<Rect>,
    /// The picture.
    left: Rect,
    /// The guide to a calibration, while one is needed.
    calibration: Option<Rect>,
    /// Device and force, at the foot of the left half.
    force: Rect,
    right: Rect,
    log: Rect,
}

impl Layout {
    fn new(ui: &Ui, snapshot: &Snapshot, force_height: f32) -> Self {
        let gap = theme::GAP;
        let whole = ui.max_rect();
        let (header, rest) = whole.split_top_bottom_at_y(whole.top() + 50.0);
        let rest = rest.shrink(gap);
        let (banner, rest) = if header::has_banner(snapshot) {
            let (banner, rest) = rest.split_top_bottom_at_y(rest.top() + 36.0);
            (Some(banner), rest.with_min_y(rest.top() + gap))
        } else {
            (None, rest)
        };
        let (middle, log) = rest.split_top_bottom_at_y(rest.bottom() - 92.0);
        let middle = middle.with_max_y(middle.bottom() - gap);
        let (left, right) = middle.split_left_right_at_fraction(0.425);
        let (left, force) = left.split_top_bottom_at_y(left.bottom() - force_height);
        let left = left.with_max_y(left.bottom() - gap);
        let (left, calibration) = if snapshot.haptic.calibration.is_some() {
            let (left, calibration) = left.split_top_bottom_at_y(left.bottom() - calibration::HEIGHT);
            (left, Some(calibration))
        } else {
            (left, None)
        };
        Layout { header, banner, left, calibration, force, right: right.with_min_x(right.left() + gap), log }
    }
}
