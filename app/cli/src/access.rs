//! Device nodes that are there but may not be opened by this user, and the remedy.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A kind of device node: where, how its name begins, and the group that may open it.
pub struct Nodes {
    folder: &'static str,
    prefix: &'static str,
    group: &'static str,
}

/// Cameras.
pub const CAMERAS: Nodes = Nodes { folder: "/dev", prefix: "video", group: "video" };
/// Sound cards.
pub const SOUND: Nodes = Nodes { folder: "/dev/snd", prefix: "pcm", group: "audio" };

impl Nodes {
    /// What this user may not open and how to mend it; `None` if all may be opened.
    pub fn problem(&self) -> Option<String> {
        let entries = std::fs::read_dir(self.folder).ok()?;
        let mut names: Vec<String> = entries
            .flatten()
            .filter(|e| e.file_name().to_string_lossy().starts_with(self.prefix) && forbidden(&e.path()))
            .map(|e| e.path().display().to_string())
            .collect();
        names.sort();
        let (group, names) = (self.group, if names.is_empty() { return None } else { names.join(", ") });
        Some(format!("{names} may not be opened: sudo usermod -aG {group} $USER, then log in again"))
    }
}

fn forbidden(path: &Path) -> bool {
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: `name` is a C string that outlives the call. Nothing is opened: a device may be in use.
    let allowed = unsafe { libc::access(name.as_ptr(), libc::R_OK | libc::W_OK) } == 0;
    !allowed && std::io::Error::last_os_error().kind() == std::io::ErrorKind::PermissionDenied
}
