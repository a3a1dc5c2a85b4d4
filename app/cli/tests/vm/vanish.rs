//! A camera and a sound card that go in mid-session and come back: told of, touch goes on, and they are used again by
//! themselves.

use std::path::Path;

use session::Snapshot;

use crate::account;

/// Judges the session in `results`.
pub fn judge(results: &Path) {
    let moments = ["before", "camera-gone", "camera-back", "sound-gone", "sound-back"];
    let stations = moments.map(|m| ["op", "top"].map(|station| account::status(results, &format!("{station}-{m}"))));
    for (moment, [op, top]) in moments.iter().zip(&stations) {
        let told = |s: &Snapshot| {
            format!("{} pictures '{}', {} sounds '{}'", s.video.frames, s.video.fault, s.audio.frames, s.audio.fault)
        };
        println!("{moment}: operator {}; teleoperator {}", told(op), told(top));
        // Touch goes on through all of it.
        for station in [op, top] {
            let h = &station.haptic;
            assert!(h.engagement > 0.9 && h.fault.is_empty() && h.force_off.is_empty(), "{moment}: {h:?}");
        }
    }
    let [[op, top], [op_dark, top_dark], [op_lit, top_lit], [op_mute, top_mute], [op_loud, top_loud]] = stations;
    for fault in [&op.audio.fault, &top.audio.fault, &top.video.fault] {
        assert_eq!(fault, "", "at the start");
    }
    assert!(top.video.device.contains("vivid") && op.video.frames > 5 && op.audio.frames > 50);

    // A camera goes: it says so, and sound goes on.
    assert!(top_dark.video.fault.contains("plug it in again"), "{:?}", top_dark.video);
    assert!(top_dark.log.iter().any(|line| line.contains("camera fails")), "{:?}", top_dark.log);
    assert!(op_dark.audio.frames > op.audio.frames + 20, "sound stopped with the camera");
    assert!(top_lit.video.fault.is_empty() && op_lit.video.frames > op_dark.video.frames + 3, "{:?}", top_lit.video);
    assert!(top_lit.log.iter().any(|line| line.contains("camera is back")), "{:?}", top_lit.log);

    // A sound card goes: pictures go on.
    for (gone, back, what) in [(&op_mute, &op_loud, "speaker"), (&top_mute, &top_loud, "microphone")] {
        assert!(!gone.audio.fault.is_empty(), "{what}: {:?}", gone.audio);
        assert!(gone.log.iter().any(|line| line.contains(&format!("{what} fails"))), "{:?}", gone.log);
        assert!(back.audio.fault.is_empty(), "{what}: {:?}", back.audio);
    }
    assert!(op_mute.video.frames > op_lit.video.frames + 5, "pictures stopped with the sound");
    assert!(op_loud.audio.frames > op_mute.audio.frames + 20, "{:?}", op_loud.audio);
}
