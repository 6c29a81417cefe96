//! Pictures: how large they are, and a small one of each large one.
//!
//! A picture may be made to hurt who decodes it. Its measures are read first and bounded, as is the memory
//! that decoding takes; it is done where nothing else waits for it.

use std::io::Cursor;

use cloister_protocol::with_causes;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

/// The largest small picture.
const SMALL: (u32, u32) = (800, 600);
/// Up to this size in bytes, a picture that is not larger needs no small one.
const LIGHT: usize = 256 << 10;
const MAX_SIDE: u32 = 16_384;
const MAX_PIXELS: u64 = 40_000_000;
const MAX_MEMORY: u64 = 256 << 20;
const JPEG_QUALITY: u8 = 80;

/// A picture that clients can show.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) mime: &'static str,
    pub(super) small: Option<Small>,
}

#[derive(Debug)]
pub(super) struct Small {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) mime: &'static str,
    pub(super) data: Vec<u8>,
}

/// Looks at a picture; none if it is not one that can be shown.
pub(super) fn look(data: &[u8]) -> Option<Picture> {
    match decode(data) {
        Ok(found) => found,
        Err(error) => {
            tracing::debug!(error = with_causes(&error), "a picture could not be read");
            None
        }
    }
}

fn decode(data: &[u8]) -> Result<Option<Picture>, image::ImageError> {
    let mut reader = ImageReader::new(Cursor::new(data)).with_guessed_format()?;
    let mime = match reader.format() {
        Some(ImageFormat::Png) => "image/png",
        Some(ImageFormat::Jpeg) => "image/jpeg",
        Some(ImageFormat::Gif) => "image/gif",
        Some(ImageFormat::WebP) => "image/webp",
        Some(_) | None => return Ok(None),
    };
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS || width == 0 || height == 0 {
        return Ok(None);
    }
    let orientation = decoder.orientation()?;
    let mut whole = DynamicImage::from_decoder(decoder)?;
    whole.apply_orientation(orientation);
    let (width, height) = (whole.width(), whole.height());
    let large = width > SMALL.0 || height > SMALL.1 || data.len() > LIGHT;
    let small = if large { Some(shrink(&whole)?) } else { None };
    // One that is heavier than the picture itself helps nobody.
    let small = small.filter(|small| small.data.len() < data.len());
    Ok(Some(Picture { width, height, mime, small }))
}

fn shrink(whole: &DynamicImage) -> Result<Small, image::ImageError> {
    let fits = whole.width() <= SMALL.0 && whole.height() <= SMALL.1;
    let small = if fits { whole.clone() } else { whole.thumbnail(SMALL.0, SMALL.1) };
    let mut data = Cursor::new(Vec::new());
    let mime = if small.color().has_alpha() {
        small.to_rgba8().write_to(&mut data, ImageFormat::Png)?;
        "image/png"
    } else {
        let encoder = JpegEncoder::new_with_quality(&mut data, JPEG_QUALITY);
        small.to_rgb8().write_with_encoder(encoder)?;
        "image/jpeg"
    };
    Ok(Small { width: small.width(), height: small.height(), mime, data: data.into_inner() })
}

#[cfg(test)]
#[path = "thumbnails_tests.rs"]
mod tests;
