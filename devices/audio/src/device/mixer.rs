//! Is the default card muted? Its mixer says so; a sound server without one says nothing.

use alsa::mixer::{Mixer, Selem, SelemChannelId};

use super::{default_card, silence_alsa};
use crate::{DeviceKind, Muted};

/// Controls that all sound of the card passes, one after the other.
const MASTERS: [&str; 2] = ["Master", "PCM"];
/// Controls of single outputs, of which one that is open is enough.
const OUTPUTS: [&str; 6] = ["Speaker", "Headphone", "Front", "Line Out", "Digital", "Headset"];
/// As [`MASTERS`], for recording.
const CAPTURES: [&str; 1] = ["Capture"];
/// As [`OUTPUTS`], for recording.
const INPUTS: [&str; 5] = ["Mic", "Internal Mic", "Front Mic", "Headset", "Digital"];

/// Controls of the default sound card that let nothing through, playback first. Empty where none is shut, where there is
/// no card, and where there is no mixer to ask.
pub fn muted() -> Vec<Muted> {
    silence_alsa();
    let Some(card) = default_card() else { return Vec::new() };
    let device = if card.number < 0 { "default".to_owned() } else { format!("hw:{}", card.number) };
    let Ok(mixer) = Mixer::new(&device, true) else { return Vec::new() };
    let controls: Vec<Control> = mixer.iter().filter_map(Selem::new).filter_map(|elem| control(&elem)).collect();
    let (name, option) = if card.number < 0 {
        (card.name, String::new())
    } else {
        (format!("{} ({})", card.number, card.name), format!("-c {} ", card.number))
    };
    let told = |kind, control: &Control| {
        let (side, on) = match kind {
            DeviceKind::Microphone => ("capture", "cap"),
            DeviceKind::Speaker => ("playback", "unmute"),
        };
        let (shut, open) = if control.off(kind) { ("off", on) } else { ("at volume 0", "80%") };
        let title = &control.name;
        let text =
            format!("sound card {name}: {side} control \"{title}\" is {shut}: `amixer {option}sset '{title}' {open}`");
        Muted { kind, text }
    };
    [(DeviceKind::Speaker, &MASTERS[..], &OUTPUTS[..]), (DeviceKind::Microphone, &CAPTURES[..], &INPUTS[..])]
        .into_iter()
        .flat_map(|(kind, stages, ends)| shut(kind, &controls, stages, ends).into_iter().map(move |c| told(kind, c)))
        .collect()
}

/// One control of a mixer, by side: playback, capture.
#[derive(Clone, Debug, Default)]
struct Control {
    name: String,
    playback: Side,
    capture: Side,
}

/// `None` where the control has no such thing.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    on: Option<bool>,
    loud: Option<bool>,
}

impl Control {
    fn side(&self, kind: DeviceKind) -> Side {
        match kind {
            DeviceKind::Microphone => self.capture,
            DeviceKind::Speaker => self.playback,
        }
    }

    fn has(&self, kind: DeviceKind) -> bool {
        let side = self.side(kind);
        side.on.is_some() || side.loud.is_some()
    }

    fn off(&self, kind: DeviceKind) -> bool {
        self.side(kind).on == Some(false)
    }

    fn shut(&self, kind: DeviceKind) -> bool {
        self.off(kind) || self.side(kind).loud == Some(false)
    }
}

/// Stages that are shut; where a card has no such stages, its ends if all of them are.
fn shut<'a>(kind: DeviceKind, controls: &'a [Control], stages: &[&str], ends: &[&str]) -> Vec<&'a Control> {
    let named = |names: &[&str]| -> Vec<&Control> {
        let of = |name: &&str| controls.iter().find(|c| c.name == *name && c.has(kind));
        names.iter().filter_map(of).collect()
    };
    let stages = named(stages);
    if !stages.is_empty() {
        return stages.into_iter().filter(|c| c.shut(kind)).collect();
    }
    let ends = named(ends);
    if ends.iter().all(|c| c.shut(kind)) { ends } else { Vec::new() }
}

fn control(elem: &Selem<'_>) -> Option<Control> {
    let name = elem.get_id().get_name().ok()?.to_owned();
    let playback = Side {
        on: elem.has_playback_switch().then(|| {
            channels(|c| elem.has_playback_channel(c)).any(|c| elem.get_playback_switch(c).is_ok_and(|on| on != 0))
        }),
        loud: elem.has_playback_volume().then(|| {
            let (lowest, _) = elem.get_playback_volume_range();
            channels(|c| elem.has_playback_channel(c)).any(|c| {
                let db = elem.get_playback_vol_db(c).ok().map(|db| db.to_db());
                elem.get_playback_volume(c).is_ok_and(|volume| loud(volume, lowest, db))
            })
        }),
    };
    let capture = Side {
        on: elem.has_capture_switch().then(|| {
            channels(|c| elem.has_capture_channel(c)).any(|c| elem.get_capture_switch(c).is_ok_and(|on| on != 0))
        }),
        loud: elem.has_capture_volume().then(|| {
            let (lowest, _) = elem.get_capture_volume_range();
            channels(|c| elem.has_capture_channel(c)).any(|c| {
                let db = elem.get_capture_vol_db(c).ok().map(|db| db.to_db());
                elem.get_capture_volume(c).is_ok_and(|volume| loud(volume, lowest, db))
            })
        }),
    };
    Some(Control { name, playback, capture })
}

fn channels(has: impl Fn(SelemChannelId) -> bool) -> impl Iterator<Item = SelemChannelId> {
    SelemChannelId::all().iter().copied().filter(move |c| has(*c))
}

/// Does a volume let anything through? Not at the bottom of its range, nor at the zero of a range that goes below it where
/// this means 30 dB less than full or worse: snd-dummy starts so. (On other cards such a zero is 0 dB, which is loud.)
fn loud(volume: i64, lowest: i64, db: Option<f32>) -> bool {
    volume > lowest && !(volume == 0 && db.is_some_and(|db| db <= -30.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn playback(name: &str, on: Option<bool>, loud: Option<bool>) -> Control {
        Control { name: name.into(), playback: Side { on, loud }, capture: Side::default() }
    }

    fn names(controls: &[Control]) -> Vec<&str> {
        shut(DeviceKind::Speaker, controls, &MASTERS, &OUTPUTS).into_iter().map(|c| c.name.as_str()).collect()
    }

    #[test]
    fn each_stage_counts_and_of_the_ends_all_must_be_shut() {
        let (on, off) = (Some(true), Some(false));
        let master = |on, loud| playback("Master", on, loud);
        assert!(names(&[master(on, on), playback("PCM", None, on), playback("Headphone", off, on)]).is_empty());
        assert_eq!(names(&[master(off, on), playback("PCM", None, off)]), ["Master", "PCM"]);
        assert_eq!(names(&[master(None, off)]), ["Master"]);
        assert!(names(&[playback("Speaker", off, on), playback("Headphone", on, on)]).is_empty());
        assert_eq!(names(&[playback("Speaker", off, on), playback("Headphone", on, off)]), ["Speaker", "Headphone"]);
        assert!(names(&[]).is_empty());
        // A control of the other direction is none.
        let capture = Control { name: "Master".into(), capture: Side { on: off, loud: None }, ..Control::default() };
        assert!(names(&[capture]).is_empty());
    }

    #[test]
    fn zero_is_quiet_at_the_bottom_or_where_the_card_says_so() {
        // snd-hda: 0 to 87. snd-dummy: -50 to 100 of 0.3 dB below full. The Raspberry Pi: -10239 to 400 hundredths of a dB.
        assert!(!loud(0, 0, Some(-65.25)) && loud(1, 0, Some(-64.5)) && !loud(0, 0, None));
        assert!(!loud(0, -50, Some(-30.0)) && !loud(-50, -50, Some(-45.0)) && loud(80, -50, Some(-6.0)));
        assert!(loud(0, -10_239, Some(0.0)) && loud(0, -10, None));
    }
}
