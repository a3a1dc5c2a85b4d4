//! The newest picture of the station as a texture.

use egui::{ColorImage, Context, TextureHandle, TextureOptions};
use session::ViewPicture;

use crate::StationHandle;

/// Holds the newest picture and its texture.
#[derive(Default)]
pub(crate) struct PictureSlot {
    newest: ViewPicture,
    texture: Option<TextureHandle>,
}

impl PictureSlot {
    /// Takes the station's newest picture, if there is one. Pictures whose buffer does not fit their size are ignored.
    pub fn refresh(&mut self, ctx: &Context, station: &impl StationHandle) {
        if !station.picture(&mut self.newest) {
            return;
        }
        let (width, height) = (self.newest.width, self.newest.height);
        let fits = width.checked_mul(height).and_then(|n| n.checked_mul(3)) == Some(self.newest.rgb.len());
        if !fits || self.newest.rgb.is_empty() {
            return;
        }
        let image = ColorImage::from_rgb([width, height], &self.newest.rgb);
        match &mut self.texture {
            Some(texture) => texture.set(image, TextureOptions::LINEAR),
            none => *none = Some(ctx.load_texture("picture", image, TextureOptions::LINEAR)),
        }
    }

    /// The texture, `None` before the first picture.
    pub fn texture(&self) -> Option<&TextureHandle> {
        self.texture.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::{Command, Snapshot};
    use std::cell::RefCell;
    use std::sync::Arc;

    struct Once(RefCell<Option<ViewPicture>>);

    impl StationHandle for Once {
        fn snapshot(&self) -> Arc<Snapshot> {
            Arc::default()
        }
        fn picture(&self, picture: &mut ViewPicture) -> bool {
            self.0.take().map(|p| *picture = p).is_some()
        }
        fn command(&self, _: Command) {}
    }

    #[test]
    fn pictures_become_textures_and_broken_ones_are_ignored() {
        let ctx = Context::default();
        let mut slot = PictureSlot::default();
        let broken = ViewPicture { number: 1, width: usize::MAX, height: 2, rgb: vec![1; 5] };
        slot.refresh(&ctx, &Once(RefCell::new(Some(broken))));
        assert!(slot.texture().is_none());
        let good = ViewPicture { number: 2, width: 4, height: 2, rgb: vec![9; 24] };
        slot.refresh(&ctx, &Once(RefCell::new(Some(good))));
        assert_eq!(slot.texture().map(TextureHandle::size), Some([4, 2]));
    }
}
