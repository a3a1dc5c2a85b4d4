//! Sight: the pictures that the operator saw, against those that the camera gave and the pattern that this camera makes.

use std::fs;
use std::path::{Path, PathBuf};

const WIDTH: usize = 320;
const HEIGHT: usize = 240;
/// The worst that a decoded picture may be against the camera's, dB.
const PSNR_DB: f64 = 25.0;
/// How far the numbering of the two sides may differ: pictures before the first key frame are not shown.
const SHIFT: usize = 12;
/// Colours of the bars that the camera draws, left to right: white, yellow, cyan, green, magenta, red, blue, black.
const BARS: [[bool; 3]; 8] = [
    [true, true, true],
    [true, true, false],
    [false, true, true],
    [false, true, false],
    [true, false, true],
    [true, false, false],
    [false, false, true],
    [false, false, false],
];

/// Judges the pictures in `results`.
pub fn judge(results: &Path) {
    let (sent, shown) = (files(&results.join("sent")), files(&results.join("shown")));
    assert!(shown.len() >= 40, "{} pictures shown, {} sent", shown.len(), sent.len());
    let sent: Vec<Vec<u8>> = sent.iter().map(|path| picture(path)).collect();
    bars(sent.last().expect("pictures"));
    let (mut worst, mut first) = (f64::INFINITY, 0);
    for (i, path) in shown.iter().enumerate() {
        let picture = picture(path);
        let near = first..(i + SHIFT).min(sent.len());
        // In order: never one from before the last.
        let (at, best) = near
            .map(|j| (j, psnr(&picture, &sent[j])))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or_else(|| panic!("{} has no counterpart", path.display()));
        first = at;
        worst = worst.min(best);
        assert!(best >= PSNR_DB, "{}: {best:.1} dB against the camera's pictures", path.display());
        bars(&picture);
    }
    println!("sight: {} pictures shown of {} sent, the worst at {worst:.1} dB", shown.len(), sent.len());
}

/// Is this the camera's pattern? Bars of full and empty colours, taken low in the middle of each, where no text stands.
fn bars(rgb: &[u8]) {
    let row = HEIGHT * 15 / 16;
    for (bar, colours) in BARS.iter().enumerate() {
        let column = WIDTH * (2 * bar + 1) / 16;
        let pixel = &rgb[3 * (row * WIDTH + column)..][..3];
        for (value, full) in pixel.iter().zip(colours) {
            let good = if *full { *value > 140 } else { *value < 70 };
            assert!(good, "bar {bar} is {pixel:?}");
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The pixels of a PPM file of the expected size.
fn picture(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let header = format!("P6\n{WIDTH} {HEIGHT}\n255\n");
    let pixels = bytes.strip_prefix(header.as_bytes());
    let pixels = pixels.unwrap_or_else(|| panic!("{}: not {WIDTH}x{HEIGHT}", path.display()));
    assert_eq!(pixels.len(), 3 * WIDTH * HEIGHT, "{}", path.display());
    pixels.to_vec()
}

fn psnr(a: &[u8], b: &[u8]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| f64::from(i32::from(*a) - i32::from(*b)).powi(2)).sum();
    10.0 * (255.0 * 255.0 * a.len() as f64 / sum.max(1.0)).log10()
}
