//! A moving test pattern that carries its own number.

use media::{Duration, Instant};

use crate::error::VideoError;
use crate::picture::Picture;
use crate::source::PictureSource;

/// Bits of the number, drawn as blocks along the upper edge.
const BITS: usize = 16;

/// Colour bars that slide, a bouncing square, and the number of the picture as bright and dark blocks.
#[derive(Debug)]
pub struct Pattern {
    size: (usize, usize),
    period: Duration,
    next: Instant,
    number: u64,
}

impl Pattern {
    /// A pattern of `fps` pictures a second from `now` on.
    pub fn new(width: usize, height: usize, fps: u32, now: Instant) -> Pattern {
        let period = Duration::from_nanos(1_000_000_000 / u64::from(fps.max(1)));
        Pattern { size: (width, height), period, next: now, number: 0 }
    }

    /// Draws the picture of this number.
    pub fn draw(number: u64, width: usize, height: usize, out: &mut Picture) {
        out.resize(width, height);
        let (w, h) = (out.width, out.height);
        let shift = number as usize * 2;
        for y in 0..h {
            for x in 0..w {
                let bar = (x + shift) * 8 / w.max(1) % 8;
                out.y[y * w + x] = (40 + bar * 24 + y * 20 / h.max(1)) as u8;
            }
        }
        for y in 0..h / 2 {
            for x in 0..w / 2 {
                let bar = (2 * x + shift) * 8 / w.max(1) % 8;
                out.u[y * w / 2 + x] = (80 + bar * 12) as u8;
                out.v[y * w / 2 + x] = (170 - bar * 10) as u8;
            }
        }
        let side = (h / 6).max(2);
        let bounce = |range: usize, t: usize| if range == 0 { 0 } else { (t % (2 * range)).abs_diff(range) };
        let (left, top) = (bounce(w.saturating_sub(side), shift), h / 4 + bounce(h / 2, shift));
        for y in top..(top + side).min(h) {
            out.y[y * w + left..y * w + (left + side).min(w)].fill(225);
        }
        let block = w / BITS;
        for bit in 0..BITS {
            let value = if number >> bit & 1 == 1 { 220 } else { 30 };
            for y in 0..(h / 8).max(2).min(h) {
                out.y[y * w + bit * block..y * w + (bit + 1) * block].fill(value);
            }
        }
    }

    /// Reads the number (low 16 bits) from a picture that shows the pattern.
    pub fn number(picture: &Picture) -> u64 {
        let block = picture.width / BITS;
        let row = picture.height / 16;
        let bright = |bit: usize| picture.y[row * picture.width + bit * block + block / 2] > 125;
        (0..BITS).filter(|&bit| bright(bit)).map(|bit| 1 << bit).sum()
    }
}

impl PictureSource for Pattern {
    fn describe(&self) -> String {
        format!("test pattern {}x{}", self.size.0, self.size.1)
    }

    fn poll(&mut self, now: Instant, out: &mut Picture) -> Result<bool, VideoError> {
        if now < self.next {
            return Ok(false);
        }
        self.next = (self.next + self.period).max(now);
        Self::draw(self.number, self.size.0, self.size.1, out);
        out.captured_at = now;
        self.number += 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_can_be_read_back_and_time_sets_the_pace() {
        let mut picture = Picture::default();
        for number in [0, 1, 2, 1_000, 65_535] {
            Pattern::draw(number, 320, 240, &mut picture);
            assert_eq!(Pattern::number(&picture), number);
        }
        let mut pattern = Pattern::new(320, 240, 25, Instant::ZERO);
        let count = (0..2_000).filter(|&ms| pattern.poll(Instant::from_millis(ms), &mut picture).unwrap()).count();
        assert_eq!(count, 50);
    }
}
