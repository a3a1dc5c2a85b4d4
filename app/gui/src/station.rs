//! The real station as a window sees it.

use std::sync::Arc;

use session::{Command, Snapshot, Station, ViewPicture};

use crate::StationHandle;

impl StationHandle for Station {
    fn snapshot(&self) -> Arc<Snapshot> {
        Station::snapshot(self)
    }

    fn picture(&self, picture: &mut ViewPicture) -> bool {
        Station::picture(self, picture)
    }

    fn command(&self, command: Command) {
        Station::command(self, command);
    }
}
