use image::{Rgb, RgbImage, Rgba, RgbaImage};

use super::*;

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut data = Cursor::new(Vec::new());
    picture.write_to(&mut data, format).expect("it encodes");
    data.into_inner()
}

/// X2: a large picture gets a small one, a small picture none.
#[test]
fn large_pictures_get_small_ones() {
    let mut seed = 1_u32;
    let large = RgbImage::from_fn(1600, 1000, |_, _| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Rgb([(seed >> 8) as u8, (seed >> 16) as u8, (seed >> 24) as u8])
    });
    let picture = look(&encoded(&large.into(), ImageFormat::Png)).expect("a picture");
    assert_eq!((picture.width, picture.height, picture.mime), (1600, 1000, "image/png"));
    let small = picture.small.expect("a small one");
    assert_eq!((small.width, small.height, small.mime), (800, 500, "image/jpeg"));
    assert_eq!(look(&small.data).expect("it is a picture").width, 800);

    let tiny = RgbaImage::from_pixel(10, 20, Rgba([1, 2, 3, 4]));
    let picture = look(&encoded(&tiny.into(), ImageFormat::Gif)).expect("a picture");
    assert_eq!((picture.width, picture.height, picture.mime), (10, 20, "image/gif"));
    assert!(picture.small.is_none());
}

#[test]
fn what_is_clear_stays_clear_and_what_is_light_stays_alone() {
    for side in [801, 900, 2000] {
        let plain =
            encoded(&RgbImage::from_pixel(side, side, Rgb([1, 2, 3])).into(), ImageFormat::WebP);
        let picture = look(&plain).expect("a picture");
        assert!(picture.small.is_none_or(|small| small.data.len() < plain.len()), "it is heavier");
    }
    let glass = RgbaImage::from_fn(900, 900, |x, y| Rgba([1, 2, 3, (x * y % 251) as u8]));
    let picture = look(&encoded(&glass.into(), ImageFormat::Png)).expect("a picture");
    assert_eq!(picture.small.expect("a small one").mime, "image/png");
}

/// A picture that claims to be huge is not decoded; one that is broken is no picture.
#[test]
fn bombs_and_rubbish_are_no_pictures() {
    let tiny = RgbImage::from_pixel(1, 1, Rgb([0, 0, 0]));
    let mut bomb = encoded(&tiny.into(), ImageFormat::Png);
    // The header's width and height, and a checksum that fits them.
    bomb.splice(16..24, [0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
    let header = bomb.get(12..29).expect("a header").to_vec();
    bomb.splice(29..33, crc32(&header).to_be_bytes());
    assert!(look(&bomb).is_none());
    assert!(look(b"<svg onload=alert(1)/>").is_none());
    assert!(look(b"\x89PNG\r\n\x1a\nrubbish").is_none());
    assert!(look(b"").is_none());
    let whole = encoded(&RgbImage::from_pixel(300, 300, Rgb([9, 9, 9])).into(), ImageFormat::Jpeg);
    assert!(look(whole.get(..40).expect("a piece")).is_none());
}

/// A real bomb: few bytes that decode to more than is allowed.
#[test]
fn a_small_file_of_many_pixels_is_no_picture() {
    let wide = image::GrayImage::from_pixel(8000, 6000, image::Luma([0]));
    let data = encoded(&wide.into(), ImageFormat::Png);
    assert!(data.len() < 1 << 20, "{}", data.len());
    assert!(look(&data).is_none());
}

fn crc32(data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in data {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
