//! A picture in I420, and its conversions.

use media::Instant;

/// One picture: a plane of luma and two of chroma at half the size (I420, BT.601, limited range).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// Pixels, even.
    pub width: usize,
    /// Pixels, even.
    pub height: usize,
    /// `width * height` bytes of luma.
    pub y: Vec<u8>,
    /// `width / 2 * height / 2` bytes of blue difference.
    pub u: Vec<u8>,
    /// `width / 2 * height / 2` bytes of red difference.
    pub v: Vec<u8>,
    /// When it was taken.
    pub captured_at: Instant,
}

impl Picture {
    /// A grey picture.
    pub fn new(width: usize, height: usize) -> Picture {
        let mut picture = Picture::default();
        picture.resize(width, height);
        picture
    }

    /// Makes room for this size (odd pixels are cut off); the content is grey where it is new.
    pub fn resize(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width & !1, height & !1);
        self.y.resize(self.width * self.height, 128);
        self.u.resize(self.width * self.height / 4, 128);
        self.v.resize(self.width * self.height / 4, 128);
    }

    /// Copies from planes with strides, as codecs hand them out.
    ///
    /// # Panics
    /// If a plane is shorter than its stride and the size say.
    pub fn copy_planes(&mut self, size: (usize, usize), planes: [&[u8]; 3], strides: [usize; 3]) {
        self.resize(size.0, size.1);
        let (w, h) = (self.width, self.height);
        let targets = [(&mut self.y, w, h), (&mut self.u, w / 2, h / 2), (&mut self.v, w / 2, h / 2)];
        for (((target, w, h), plane), stride) in targets.into_iter().zip(planes).zip(strides) {
            for row in 0..h {
                target[row * w..(row + 1) * w].copy_from_slice(&plane[row * stride..row * stride + w]);
            }
        }
    }

    /// Takes `width * height * 3` bytes of RGB. A shorter buffer is taken as far as whole rows reach.
    pub fn set_rgb(&mut self, width: usize, height: usize, rgb: &[u8]) {
        let rows = if width == 0 { 0 } else { height.min(rgb.len() / (3 * width)) };
        self.resize(width, rows);
        let (w, h) = (self.width, self.height);
        let pixel = |x: usize, y: usize| {
            let at = 3 * (y * width + x);
            [i32::from(rgb[at]), i32::from(rgb[at + 1]), i32::from(rgb[at + 2])]
        };
        for y in 0..h {
            for x in 0..w {
                let [r, g, b] = pixel(x, y);
                self.y[y * w + x] = (((66 * r + 129 * g + 25 * b + 128) >> 8) + 16) as u8;
            }
        }
        for y in 0..h / 2 {
            for x in 0..w / 2 {
                let mut sum = [0; 3];
                for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    let p = pixel(2 * x + dx, 2 * y + dy);
                    (0..3).for_each(|c| sum[c] += p[c]);
                }
                let [r, g, b] = sum.map(|s| s / 4);
                self.u[y * w / 2 + x] = (((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128) as u8;
                self.v[y * w / 2 + x] = (((112 * r - 94 * g - 18 * b + 128) >> 8) + 128) as u8;
            }
        }
    }

    /// Writes `width * height * 3` bytes of RGB.
    pub fn to_rgb(&self, rgb: &mut Vec<u8>) {
        rgb.resize(self.width * self.height * 3, 0);
        let half = self.width / 2;
        for y in 0..self.height {
            for x in 0..self.width {
                let c = 298 * (i32::from(self.y[y * self.width + x]) - 16);
                let d = i32::from(self.u[y / 2 * half + x / 2]) - 128;
                let e = i32::from(self.v[y / 2 * half + x / 2]) - 128;
                let byte = |v: i32| (v >> 8).clamp(0, 255) as u8;
                let at = 3 * (y * self.width + x);
                rgb[at] = byte(c + 409 * e + 128);
                rgb[at + 1] = byte(c - 100 * d - 208 * e + 128);
                rgb[at + 2] = byte(c + 516 * d + 128);
            }
        }
    }

    /// Takes the largest middle part of `from` that has the shape of `width` x `height`.
    pub fn crop_from(&mut self, from: &Picture, width: usize, height: usize) {
        self.captured_at = from.captured_at;
        let (w, h) =
            (from.width.min(from.height * width / height.max(1)), from.height.min(from.width * height / width.max(1)));
        self.resize(w, h);
        let (w, h) = (self.width, self.height);
        let middle = |all: usize, part: usize| ((all - part) / 2) & !1;
        let (left, top) = (middle(from.width, w), middle(from.height, h));
        let planes = [
            (&mut self.y, &from.y, from.width, (w, h), left, top),
            (&mut self.u, &from.u, from.width / 2, (w / 2, h / 2), left / 2, top / 2),
            (&mut self.v, &from.v, from.width / 2, (w / 2, h / 2), left / 2, top / 2),
        ];
        for (target, source, stride, (w, h), left, top) in planes {
            for row in 0..h {
                let at = (top + row) * stride + left;
                target[row * w..(row + 1) * w].copy_from_slice(&source[at..at + w]);
            }
        }
    }

    /// Copies the first `lines` lines (even) of a picture of the same size.
    pub fn copy_lines(&mut self, from: &Picture, lines: usize) {
        let luma = (lines * self.width).min(self.y.len()).min(from.y.len());
        let chroma = (lines / 2 * (self.width / 2)).min(self.u.len()).min(from.u.len());
        self.y[..luma].copy_from_slice(&from.y[..luma]);
        self.u[..chroma].copy_from_slice(&from.u[..chroma]);
        self.v[..chroma].copy_from_slice(&from.v[..chroma]);
    }

    /// Scales `from` to this size: means over boxes on the way down, bilinear on the way up.
    pub fn scale_from(&mut self, from: &Picture, width: usize, height: usize) {
        self.captured_at = from.captured_at;
        if (from.width, from.height) == (width & !1, height & !1) {
            self.clone_from(from);
            return;
        }
        self.resize(width, height);
        let (w, h) = (self.width, self.height);
        scale(&from.y, (from.width, from.height), &mut self.y, (w, h));
        scale(&from.u, (from.width / 2, from.height / 2), &mut self.u, (w / 2, h / 2));
        scale(&from.v, (from.width / 2, from.height / 2), &mut self.v, (w / 2, h / 2));
    }
}

fn scale(from: &[u8], from_size: (usize, usize), to: &mut [u8], to_size: (usize, usize)) {
    if from_size.0 == 0 || from_size.1 == 0 {
        return;
    }
    if to_size.0 > from_size.0 || to_size.1 > from_size.1 {
        enlarge(from, from_size, to, to_size);
    } else {
        shrink(from, from_size, to, to_size);
    }
}

fn shrink(from: &[u8], (fw, fh): (usize, usize), to: &mut [u8], (w, h): (usize, usize)) {
    let span = |i: usize, from: usize, to: usize| {
        let start = i * from / to;
        start..((i + 1) * from / to).max(start + 1)
    };
    for y in 0..h {
        for x in 0..w {
            let (xs, ys) = (span(x, fw, w), span(y, fh, h));
            let count = xs.len() * ys.len();
            let sum: usize = ys.map(|j| xs.clone().map(|i| usize::from(from[j * fw + i])).sum::<usize>()).sum();
            to[y * w + x] = ((sum + count / 2) / count) as u8;
        }
    }
}

fn enlarge(from: &[u8], (fw, fh): (usize, usize), to: &mut [u8], (w, h): (usize, usize)) {
    // Centres of pixels onto centres of pixels, in 1/256.
    let place = |i: usize, from: usize, to: usize| {
        let at = ((2 * i + 1) * from * 128 / to).saturating_sub(128).min((from - 1) * 256);
        (at / 256, (at / 256 + 1).min(from - 1), at % 256)
    };
    for y in 0..h {
        let (y0, y1, fy) = place(y, fh, h);
        for x in 0..w {
            let (x0, x1, fx) = place(x, fw, w);
            let at = |x: usize, y: usize| usize::from(from[y * fw + x]);
            let top = at(x0, y0) * (256 - fx) + at(x1, y0) * fx;
            let bottom = at(x0, y1) * (256 - fx) + at(x1, y1) * fx;
            to[y * w + x] = ((top * (256 - fy) + bottom * fy + 32_768) / 65_536) as u8;
        }
    }
}

/// Peak signal-to-noise ratio of the luma of two pictures of one size, dB; infinite if they are equal, zero if their
/// sizes differ.
pub fn psnr(a: &Picture, b: &Picture) -> f64 {
    if (a.width, a.height) != (b.width, b.height) || a.y.is_empty() {
        return 0.0;
    }
    let square = |(a, b): (&u8, &u8)| f64::from(i32::from(*a) - i32::from(*b)).powi(2);
    let mse = a.y.iter().zip(&b.y).map(square).sum::<f64>() / a.y.len() as f64;
    10.0 * (255.0 * 255.0 / mse).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_survive_both_conversions() {
        for colour in [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255], [0, 0, 0], [90, 140, 200]] {
            let rgb: Vec<u8> = std::iter::repeat_n(colour, 16 * 16).flatten().collect();
            let mut picture = Picture::default();
            picture.set_rgb(16, 16, &rgb);
            let mut back = Vec::new();
            picture.to_rgb(&mut back);
            assert!(rgb.iter().zip(&back).all(|(a, b)| a.abs_diff(*b) <= 4), "{colour:?} {:?}", &back[..3]);
        }
    }

    #[test]
    fn a_short_buffer_gives_the_rows_it_holds() {
        let mut picture = Picture::default();
        picture.set_rgb(16, 16, &[200; 16 * 3 * 5]);
        assert_eq!((picture.width, picture.height), (16, 4));
        picture.set_rgb(0, 9, &[]);
        assert_eq!(picture.height, 0);
    }

    #[test]
    fn the_middle_is_cut_out_in_the_wanted_shape() {
        let mut wide = Picture::new(640, 360);
        for (i, p) in wide.y.iter_mut().enumerate() {
            *p = (i % 640 / 4) as u8;
        }
        let mut part = Picture::default();
        part.crop_from(&wide, 320, 240);
        assert_eq!((part.width, part.height), (480, 360));
        assert_eq!((part.y[0], part.y[479]), (20, 139));
        part.crop_from(&Picture::new(100, 200), 320, 240);
        assert_eq!((part.width, part.height), (100, 74));
    }

    #[test]
    fn scaling_keeps_the_mean_and_the_shape() {
        let mut large = Picture::new(64, 48);
        for (i, p) in large.y.iter_mut().enumerate() {
            *p = if i % 64 < 32 { 40 } else { 200 };
        }
        let mut small = Picture::default();
        small.scale_from(&large, 32, 24);
        assert_eq!((small.y[0], small.y[31]), (40, 200));
        let mut again = Picture::default();
        again.scale_from(&small, 64, 48);
        assert!(psnr(&again, &large) > 25.0);
        assert_eq!((again.y[0], again.y[63]), (40, 200));
        assert_eq!(psnr(&again, &again.clone()), f64::INFINITY);
    }
}
