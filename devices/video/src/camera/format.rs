//! Which of the formats that a camera offers is the best for what is wanted.

/// What is wanted of a camera.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// Width and height, pixels.
    pub size: (usize, usize),
    /// Pictures a second.
    pub fps: u32,
}

/// What a camera offers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// Width and height, pixels.
    pub size: (u32, u32),
    /// Pictures a second.
    pub fps: u32,
    /// How its pixels are coded.
    pub coding: Coding,
}

/// How pixels are coded, those first that make the least work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Coding {
    Yuyv,
    Nv12,
    Rgb,
    Mjpeg,
    /// Not read here.
    Other,
}

/// The place in the list of the offer that comes nearest to the wish: size first (too small is worse than too large,
/// another shape is worse than some pixels), then rate, then how little work it makes.
pub(super) fn closest(offered: &[Offer], wish: Wish) -> Option<usize> {
    let (width, height) = wish.size;
    let misses = |got: u32, wanted: usize| {
        let (got, wanted) = (u64::from(got), wanted as u64);
        if got < wanted { 4 * (wanted - got) } else { got - wanted }
    };
    let cost = |offer: &Offer| {
        let (w, h) = offer.size;
        let shape = (u64::from(w) * height as u64).abs_diff(u64::from(h) * width as u64) * 50;
        let other_shape = if shape > u64::from(w) * height as u64 { 500 } else { 0 };
        (misses(w, width) + misses(h, height) + other_shape, misses(offer.fps, wish.fps as usize), offer.coding)
    };
    let readable = offered.iter().enumerate().filter(|(_, offer)| offer.coding != Coding::Other);
    readable.min_by_key(|(_, offer)| cost(offer)).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(offered: &[Offer], size: (usize, usize), fps: u32) -> Option<usize> {
        closest(offered, Wish { size, fps })
    }

    #[test]
    fn the_nearest_format_is_chosen_even_if_the_size_is_not_offered() {
        let offer = |size, coding, fps| Offer { size, fps, coding };
        let offered = [
            offer((1920, 1080), Coding::Mjpeg, 60),
            offer((640, 360), Coding::Yuyv, 30),
            offer((640, 360), Coding::Mjpeg, 30),
            offer((320, 180), Coding::Yuyv, 25),
            offer((320, 180), Coding::Yuyv, 50),
            offer((320, 180), Coding::Other, 10),
        ];
        assert_eq!(best(&offered, (320, 240), 10), Some(3));
        assert_eq!(best(&offered, (640, 360), 30), Some(1));
        let vga = offer((640, 480), Coding::Yuyv, 30);
        assert_eq!(best(&[offered[3], vga], (320, 240), 10), Some(1));
        assert_eq!(best(&[vga, offer((640, 480), Coding::Nv12, 60)], (640, 480), 60), Some(1), "rate before work");
        assert_eq!(best(&offered, (1920, 1080), 25), Some(0));
        assert_eq!(best(&offered[5..], (320, 240), 10), None);
        assert_eq!(best(&[], (320, 240), 10), None);
    }
}
