//! `devices`: what is there, and how to ask for it.

use audio::DeviceKind;

use crate::access::{self, Nodes};
use crate::failure::Failure;
use crate::output::Voice;

/// Prints the devices of this machine.
pub fn run() -> Result<(), Failure> {
    section("haptic devices (--master, --slave)", haptic_rows(), "none; --master sim is a simulated one");
    let rows = |c: video::FoundDevice| [format!("device:{}", c.index), c.name, c.problem.unwrap_or(c.detail)];
    section(
        "cameras (--camera, also by name as in device:NAME)",
        video::list().into_iter().map(rows).collect(),
        "none; --camera scene draws the scene, --camera pattern a test pattern",
    );
    forbidden(&access::CAMERAS);
    let sound = audio::list();
    let rows = |kind: DeviceKind| {
        let of_kind = sound.iter().filter(|d| d.kind == kind);
        of_kind.map(|d| [format!("device:{}", d.name), d.detail.clone(), sound_detail(d)]).collect::<Vec<_>>()
    };
    section("microphones (--mic)", rows(DeviceKind::Microphone), "none; --mic silence or file:PATH");
    section("speakers (--speaker)", rows(DeviceKind::Speaker), "none; --speaker none or file:PATH");
    for muted in audio::muted() {
        Voice::stdout().line(&format!("  {}", muted.text));
    }
    forbidden(&access::SOUND);
    Ok(())
}

/// What it can do, or what stands in the way; and whether it is the default.
fn sound_detail(device: &audio::FoundDevice) -> String {
    let default = if device.is_default { "default; " } else { "" };
    format!("{default}{}", device.problem.as_ref().unwrap_or(&device.ability))
}

fn haptic_rows() -> Vec<[String; 3]> {
    let usable = |d: &haptic::FoundDevice| d.problem.clone().unwrap_or_else(|| format!("ready at {}", d.node));
    haptic::list().into_iter().map(|d| [d.spec.clone(), d.name.clone(), usable(&d)]).collect()
}

/// What is there but not for this user.
fn forbidden(nodes: &Nodes) {
    if let Some(problem) = nodes.problem() {
        Voice::stdout().line(&format!("  {problem}"));
    }
}

fn section(title: &str, rows: Vec<[String; 3]>, otherwise: &str) {
    let voice = Voice::stdout();
    voice.line(title);
    if rows.is_empty() {
        voice.line(&format!("  {otherwise}"));
    }
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    for [argument, name, detail] in &rows {
        voice.line(format!("  {argument:first$}  {name:second$}  {detail}").trim_end());
    }
}
