//! Is there a display, and does anything answer there?

use crate::GuiError;

/// The display that a window will open on.
#[cfg(all(unix, not(target_os = "macos")))]
pub(crate) fn name() -> Result<String, GuiError> {
    ["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "DISPLAY"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .ok_or(GuiError::NoDisplay)
}

/// The display that a window will open on.
#[cfg(not(all(unix, not(target_os = "macos"))))]
pub(crate) fn name() -> Result<String, GuiError> {
    Ok("desktop".into())
}

/// Is there somebody behind `display`? One on this machine is called; others are tried by the window itself.
#[cfg(all(unix, not(target_os = "macos")))]
pub(crate) fn answers(display: &str) -> Result<(), GuiError> {
    use std::os::unix::net::UnixStream;
    let call = |path: &str| {
        UnixStream::connect(path)
            .map(drop)
            .map_err(|e| GuiError::Display { display: display.to_owned(), reason: format!("{path}: {e}") })
    };
    // A socket that was handed over as an open file.
    if std::env::var_os("WAYLAND_DISPLAY").is_none() && std::env::var_os("WAYLAND_SOCKET").is_some() {
        return Ok(());
    }
    if let Some(number) = x_number(display) {
        return match call(&format!("/tmp/.X11-unix/X{number}")) {
            // Some servers have a name in the abstract space only.
            Err(error) if abstract_x(number).is_err() => Err(error),
            _ => Ok(()),
        };
    }
    match (display.starts_with('/'), std::env::var("XDG_RUNTIME_DIR")) {
        (true, _) => call(display),
        (false, Ok(folder)) if std::env::var_os("WAYLAND_DISPLAY").is_some() => call(&format!("{folder}/{display}")),
        _ => Ok(()),
    }
}

/// As above.
#[cfg(not(all(unix, not(target_os = "macos"))))]
pub(crate) fn answers(_display: &str) -> Result<(), GuiError> {
    Ok(())
}

/// N of `:N` or `:N.SCREEN`, an X display of this machine.
#[cfg(all(unix, not(target_os = "macos")))]
fn x_number(display: &str) -> Option<u32> {
    let number = display.strip_prefix(':').or_else(|| display.strip_prefix("unix:"))?;
    number.split('.').next()?.parse().ok()
}

#[cfg(target_os = "linux")]
fn abstract_x(number: u32) -> std::io::Result<()> {
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(format!("/tmp/.X11-unix/X{number}"))?;
    std::os::unix::net::UnixStream::connect_addr(&address).map(drop)
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "macos"))))]
fn abstract_x(_number: u32) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix, not(target_os = "macos")))]
mod tests {
    use super::*;

    #[test]
    fn displays_of_this_machine_are_recognised() {
        assert_eq!((x_number(":0"), x_number(":79.1"), x_number("unix:3")), (Some(0), Some(79), Some(3)));
        assert_eq!((x_number("host:10.0"), x_number("wayland-0"), x_number(":x")), (None, None, None));
    }

    #[test]
    fn a_display_without_a_server_is_told() {
        let text = answers(":64999").unwrap_err().to_string();
        assert!(text.contains("':64999'") && text.contains("--headless"), "{text}");
    }
}
