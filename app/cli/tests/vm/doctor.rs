//! What `doctor` says of machines with and without what a session needs: by item, with the exit code.

use std::path::Path;

use crate::account;

/// Judges all runs of `doctor` in `results`, and a session of one who may open nothing.
pub fn judge(results: &Path) {
    let failing = |name: &str| -> Vec<(String, String)> {
        let text = account::read(results, &format!("doctor-{name}.txt"));
        let failed: Vec<(String, String)> = text
            .lines()
            .filter_map(|line| line.strip_prefix("FAIL  ")?.split_once(": "))
            .map(|(item, text)| (item.to_owned(), text.to_owned()))
            .collect();
        let code = account::read(results, &format!("doctor-{name}.code"));
        println!("doctor, {name}: exit code {}\n{text}", code.trim());
        assert_eq!(code.trim(), if failed.is_empty() { "0" } else { "1" }, "{name}");
        failed
    };
    // Item, and a part of its line that says what is wrong or what to do.
    let expect = |name: &str, items: &[(&str, &str)]| {
        let failed = failing(name);
        let told: Vec<&str> = failed.iter().map(|(item, _)| item.as_str()).collect();
        assert_eq!(told, items.iter().map(|(item, _)| *item).collect::<Vec<_>>(), "{name}");
        for ((item, text), (_, part)) in failed.iter().zip(items) {
            assert!(text.contains(part), "{name}: {item}: {text}");
        }
    };
    expect("good", &[]);
    expect("bare", &[("haptic device", "plug one in"), ("display", "")]);
    expect("display", &[("display", ":7")]);
    expect("camera", &[("camera", "plug one in")]);
    expect("haptic", &[("haptic device", "plug one in")]);
    expect("muted", &[("microphone", "muted"), ("speaker", "muted")]);
    expect(
        "nothing",
        &[
            ("haptic device", "plug one in"),
            ("camera", "plug one in"),
            ("microphone", "muted"),
            ("speaker", "muted"),
            ("display", "no display"),
        ],
    );
    expect(
        "nobody",
        &[("haptic device", "70-telehaptic.rules"), ("camera", "video"), ("microphone", "audio"), ("speaker", "audio")],
    );

    let error = account::read(results, "op-nobody.err");
    let code = account::read(results, "op-nobody.code");
    println!("a session of one who may open nothing: exit code {}\n{error}", code.trim());
    assert_eq!(code.trim(), "1");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("70-telehaptic.rules"), "{error}");
}
