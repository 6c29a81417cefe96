use matrix_sdk::ruma::OwnedMxcUri;

use super::*;

fn kind(mime: &str) -> serde_json::Value {
    let source = MediaSource::Plain(OwnedMxcUri::from("mxc://example.org/id"));
    let kind = plain_kind("a.bin".to_owned(), source, (mime.to_owned(), uint(7)));
    serde_json::to_value(kind).expect("JSON")
}

#[test]
fn a_file_is_posted_as_what_it_is() {
    for (mime, expected) in [
        ("audio/ogg", "m.audio"),
        ("video/mp4", "m.video"),
        ("text/html", "m.file"),
        ("image/svg+xml", "m.file"),
        ("", "m.file"),
    ] {
        let json = kind(mime);
        assert_eq!(json["msgtype"], expected, "{mime}");
        assert_eq!(json["body"], "a.bin");
        assert_eq!(json["info"]["size"], 7);
    }
}
