use super::*;

/// X5: each kind of file goes out as what it is, and what Telegram has no kind for as a document.
#[test]
fn a_file_is_sent_as_what_it_is() {
    let shape = |mime: &str, size: u64| Shape::of(mime, size, b"\xff\xd8");
    assert_eq!(shape("image/png", 1 << 20), Shape::Photo);
    assert_eq!(shape("image/jpeg; charset=binary", 1 << 20), Shape::Photo);
    assert_eq!(shape("IMAGE/WEBP", LARGEST_PHOTO), Shape::Photo);
    assert_eq!(shape("image/png", LARGEST_PHOTO + 1), Shape::Document, "too large for a photo");
    assert_eq!(shape("image/svg+xml", 10), Shape::Document);
    assert_eq!(shape("audio/mpeg", 10), Shape::Audio);
    assert_eq!(shape("audio/flac", 10), Shape::Document);
    assert_eq!(shape("video/mp4", 10), Shape::Video);
    assert_eq!(shape("video/webm", 10), Shape::Document);
    assert_eq!(shape("text/plain", 10), Shape::Document);
    assert_eq!(shape("", 10), Shape::Document);
    let opus = b"OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead\x01";
    assert_eq!(Shape::of("audio/ogg", 10, opus), Shape::Voice);
    assert_eq!(Shape::of("audio/ogg", 10, b"OggS\0\x02vorbis"), Shape::Document);
}

#[test]
fn a_name_is_safe_wherever_it_is_saved() {
    for (given, safe) in [
        ("report.pdf", "report.pdf"),
        ("отчёт за год.xlsx", "отчёт за год.xlsx"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("a\"b\r\nX-Evil: 1.txt", "a_b"),
        ("", "file"),
        (".", "file"),
    ] {
        let name = safe_name(given);
        assert!(name.starts_with(safe), "{given:?} became {name:?}");
        assert!(!name.contains(['/', '\\', '"', '\n', '\r']), "{name:?}");
    }
    let long = safe_name(&format!("{}.tar.gz", "x".repeat(500)));
    assert!(long.chars().count() <= MAX_NAME + 11 && long.ends_with(".gz"), "{long}");
    assert!(!safe_name("a\u{202e}gpj.exe").chars().any(cloister_policy::is_hidden));
}
