//! The teleoperator's window: what the slave does, who steers it, how the network does.

use egui::{TextureHandle, Ui};
use session::{Command, Snapshot};

use super::{Layout, calibration, connection, controls, device, force, header, network, plots, screen, slave};
use crate::theme::{self, GAP};

/// The teleoperator's window.
#[derive(Debug, Default)]
pub struct TeleoperatorView {
    controls: controls::Controls,
    device: device::DevicePage,
    connection: connection::Connection,
}

impl TeleoperatorView {
    /// Draws `snapshot` and the newest `picture` over the whole of `ui`; gives what the person wishes.
    pub fn ui(&mut self, ui: &mut Ui, snapshot: &Snapshot, picture: Option<&TextureHandle>) -> Vec<Command> {
        let mut wishes = self.controls.keys(ui, snapshot);
        let device_page = self.device.is_open(ui);
        ui.painter().rect_filled(ui.max_rect(), 0.0, theme::WINDOW);
        let layout = Layout::new(ui, snapshot, force::HEIGHT + slave::HEIGHT);
        wishes.extend(header::header(ui, layout.header, snapshot));
        if let Some(banner) = layout.banner {
            header::banner(ui, banner, snapshot);
        }

        screen::screen(ui, layout.left, snapshot, picture, "Scene or camera");
        if let (Some(place), Some(calibration)) = (layout.calibration, &snapshot.haptic.calibration) {
            wishes.extend(calibration::card(ui, place, calibration));
        }
        let (room, page) = force::panel(ui, layout.force, snapshot);
        if page {
            self.device.toggle();
        }
        let (table, room) = room.split_top_bottom_at_y(room.top() + slave::HEIGHT);
        slave::table(ui, table, &snapshot.haptic);
        wishes.extend(self.controls.buttons(ui, room, snapshot));

        if device_page {
            self.device.ui(ui, layout.right, snapshot);
        } else {
            let (who, rest) = layout.right.split_top_bottom_at_y(layout.right.top() + connection::HEIGHT);
            self.connection.ui(ui, who, snapshot);
            let rest = rest.with_min_y(rest.top() + GAP);
            let (channels, graphs) = rest.split_top_bottom_at_y(rest.top() + network::HEIGHT);
            network::channels(ui, channels, snapshot);
            plots::plots(ui, graphs.with_min_y(graphs.top() + GAP), snapshot);
        }
        header::log(ui, layout.log, snapshot);
        wishes
    }
}
