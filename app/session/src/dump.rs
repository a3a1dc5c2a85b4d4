//! Saves pictures as numbered PPM files, for comparison of what was coded with what was shown.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use video::Picture;

use crate::error::SessionError;

/// A folder that takes pictures.
pub(crate) struct PictureDump {
    dir: PathBuf,
    rgb: Vec<u8>,
}

impl PictureDump {
    /// Makes the folder if it is missing.
    pub fn new(dir: &Path) -> Result<PictureDump, SessionError> {
        fs::create_dir_all(dir).map_err(SessionError::file("create", dir))?;
        Ok(PictureDump { dir: dir.to_owned(), rgb: Vec::new() })
    }

    /// Writes `NUMBER.ppm`.
    pub fn save(&mut self, number: u64, picture: &Picture) -> std::io::Result<()> {
        picture.to_rgb(&mut self.rgb);
        let mut file = fs::File::create(self.dir.join(format!("{number:06}.ppm")))?;
        write!(file, "P6\n{} {}\n255\n", picture.width, picture.height)?;
        file.write_all(&self.rgb)
    }
}
