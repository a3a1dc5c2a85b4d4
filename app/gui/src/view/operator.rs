//! The operator's window: what the remote place looks like, what the hand feels, how the network does.

use egui::{TextureHandle, Ui};
use session::{Command, Snapshot};

use super::{Layout, calibration, controls, device, force, header, network, plots, screen};
use crate::theme::{self, GAP};

/// The operator's window.
#[derive(Debug, Default)]
pub struct OperatorView {
    controls: controls::Controls,
    device: device::DevicePage,
}

impl OperatorView {
    /// Draws `snapshot` and the newest `picture` over the whole of `ui`; gives what the person wishes.
    pub fn ui(&mut self, ui: &mut Ui, snapshot: &Snapshot, picture: Option<&TextureHandle>) -> Vec<Command> {
        let mut wishes = self.controls.keys(ui, snapshot);
        let device_page = self.device.is_open(ui);
        ui.painter().rect_filled(ui.max_rect(), 0.0, theme::WINDOW);
        let layout = Layout::new(ui, snapshot, force::HEIGHT);
        wishes.extend(header::header(ui, layout.header, snapshot));
        if let Some(banner) = layout.banner {
            header::banner(ui, banner, snapshot);
        }

        screen::screen(ui, layout.left, snapshot, picture, "Remote picture");
        if let (Some(place), Some(calibration)) = (layout.calibration, &snapshot.haptic.calibration) {
            wishes.extend(calibration::card(ui, place, calibration));
        }
        let (room, page) = force::panel(ui, layout.force, snapshot);
        if page {
            self.device.toggle();
        }
        wishes.extend(self.controls.buttons(ui, room, snapshot));

        if device_page {
            self.device.ui(ui, layout.right, snapshot);
        } else {
            let (channels, graphs) = layout.right.split_top_bottom_at_y(layout.right.top() + network::HEIGHT);
            network::channels(ui, channels, snapshot);
            plots::plots(ui, graphs.with_min_y(graphs.top() + GAP), snapshot);
        }
        header::log(ui, layout.log, snapshot);
        wishes
    }
}
