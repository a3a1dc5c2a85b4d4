//! YUV4MPEG2 files (4:2:0, 8 bits), played in a loop at their own rate. Format: mjpegtools' yuv4mpeg(5).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use media::{Duration, Instant};

use crate::error::VideoError;
use crate::picture::Picture;
use crate::source::PictureSource;

/// Longest header line.
const MAX_HEADER: u64 = 1_024;

/// An open file.
#[derive(Debug)]
pub struct Y4mFile {
    path: PathBuf,
    reader: BufReader<File>,
    /// Where the first frame begins.
    first_frame: u64,
    stored: Picture,
    size: (usize, usize),
    period: Duration,
    next: Instant,
}

impl Y4mFile {
    /// Opens `path`; its pictures are scaled to `width` x `height`.
    ///
    /// # Errors
    /// If it cannot be read, is no Y4M file of 4:2:0, or holds no picture.
    pub fn open(path: &Path, width: usize, height: usize, now: Instant) -> Result<Y4mFile, VideoError> {
        let wrong = |why: String| VideoError::File { path: path.into(), why };
        let file = File::open(path).map_err(|e| wrong(e.to_string()))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        reader.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line).map_err(|e| wrong(e.to_string()))?;
        let header = String::from_utf8_lossy(&line);
        let (stored_size, period) = parse_header(header.trim_end()).map_err(wrong)?;
        let mut this = Y4mFile {
            path: path.into(),
            first_frame: line.len() as u64,
            reader,
            stored: Picture::new(stored_size.0, stored_size.1),
            size: (width, height),
            period,
            next: now,
        };
        if !this.read_frame()? {
            return Err(this.wrong("it holds no picture".into()));
        }
        this.rewind()?;
        Ok(this)
    }

    fn wrong(&self, why: String) -> VideoError {
        VideoError::File { path: self.path.clone(), why }
    }

    fn rewind(&mut self) -> Result<(), VideoError> {
        self.reader.seek(SeekFrom::Start(self.first_frame)).map_err(|e| self.wrong(e.to_string()))?;
        Ok(())
    }

    /// Reads the next frame; false at the end of the file.
    fn read_frame(&mut self) -> Result<bool, VideoError> {
        let mut line = Vec::new();
        let read = self.reader.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line);
        match read {
            Ok(0) => return Ok(false),
            Ok(_) if line.starts_with(b"FRAME") => {}
            Ok(_) => return Err(self.wrong("a frame header is damaged".into())),
            Err(e) => return Err(self.wrong(e.to_string())),
        }
        let Picture { y, u, v, .. } = &mut self.stored;
        let whole = [y, u, v].into_iter().all(|plane| self.reader.read_exact(plane).is_ok());
        if whole { Ok(true) } else { Err(self.wrong("its last picture is cut short".into())) }
    }
}

fn parse_header(header: &str) -> Result<((usize, usize), Duration), String> {
    let mut words = header.split(' ');
    if words.next() != Some("YUV4MPEG2") {
        return Err("it does not begin with YUV4MPEG2".into());
    }
    let (mut width, mut height, mut rate, mut colour) = (0, 0, (25, 1), "420".to_string());
    for word in words.filter(|w| !w.is_empty()) {
        let (tag, value) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        match tag {
            "W" => width = value.parse().unwrap_or(0),
            "H" => height = value.parse().unwrap_or(0),
            "F" => {
                let parts = value.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                rate = parts.ok_or_else(|| format!("its frame rate '{value}' is no ratio"))?;
            }
            "C" => colour = value.into(),
            _ => {}
        }
    }
    if !colour.starts_with("420") || colour.contains("p1") {
        return Err(format!("its colour format is {colour}, not 8-bit 420"));
    }
    crate::encoder::check_size(width, height).map_err(|e| e.to_string())?;
    let (frames, seconds): (u64, u64) = rate;
    if frames == 0 || seconds == 0 || frames / seconds.max(1) > 240 {
        return Err(format!("its frame rate {frames}:{seconds} is not between 0 and 240"));
    }
    Ok(((width, height), Duration::from_nanos(1_000_000_000u64.saturating_mul(seconds) / frames)))
}

impl PictureSource for Y4mFile {
    fn describe(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
        format!("{name} {}x{}", self.size.0, self.size.1)
    }

    fn poll(&mut self, now: Instant, out: &mut Picture) -> Result<bool, VideoError> {
        if now < self.next {
            return Ok(false);
        }
        self.next = (self.next + self.period).max(now);
        let read = self.read_frame();
        if !matches!(read, Ok(true)) {
            // From the beginning, after a damaged picture, too.
            self.rewind()?;
        }
        if !read? {
            self.read_frame()?;
        }
        self.stored.captured_at = now;
        out.scale_from(&self.stored, self.size.0, self.size.1);
        Ok(true)
    }
}

/// Begins a Y4M file.
///
/// # Errors
/// As the writer's.
pub fn write_header(out: &mut impl Write, width: usize, height: usize, fps: u32) -> io::Result<()> {
    writeln!(out, "YUV4MPEG2 W{width} H{height} F{fps}:1 Ip A1:1 C420jpeg")
}

/// Appends a picture to a Y4M file.
///
/// # Errors
/// As the writer's.
pub fn write_picture(out: &mut impl Write, picture: &Picture) -> io::Result<()> {
    out.write_all(b"FRAME\n")?;
    [&picture.y, &picture.u, &picture.v].into_iter().try_for_each(|plane| out.write_all(plane))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn a_file_plays_in_a_loop_at_its_rate() {
        let mut bytes = Vec::new();
        write_header(&mut bytes, 64, 48, 10).unwrap();
        let mut picture = Picture::default();
        for n in 0..3 {
            Pattern::draw(n, 64, 48, &mut picture);
            write_picture(&mut bytes, &picture).unwrap();
        }
        let file = file(&bytes);
        let mut source = Y4mFile::open(file.path(), 64, 48, Instant::ZERO).unwrap();
        let mut numbers = Vec::new();
        for ms in 0..1_000 {
            if source.poll(Instant::from_millis(ms), &mut picture).unwrap() {
                numbers.push(Pattern::number(&picture));
            }
        }
        assert_eq!(numbers, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn broken_files_say_what_is_wrong_and_where() {
        let cases: [(&[u8], &str); 7] = [
            (b"", "YUV4MPEG2"),
            (b"RIFF....", "YUV4MPEG2"),
            (b"YUV4MPEG2 W0 H48 F25:1\n", "0x48"),
            (b"YUV4MPEG2 W64 H48 F0:1\n", "0:1"),
            (b"YUV4MPEG2 W64 H48 F25:1 C444\n", "444"),
            (b"YUV4MPEG2 W64 H48 F25:1\n", "no picture"),
            (b"YUV4MPEG2 W64 H48 F25:1\nFRAME\nshort", "cut short"),
        ];
        for (bytes, word) in cases {
            let file = file(bytes);
            let error = Y4mFile::open(file.path(), 64, 48, Instant::ZERO).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains(&*file.path().to_string_lossy()), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
    }
}
