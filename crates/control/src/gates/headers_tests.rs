use super::*;

fn header(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

#[test]
fn what_ordinary_programs_say_tells_nothing() {
    let ordinary = [
        ("User-Agent", "curl/8.5.0"),
        ("user-agent", "Wget/1.21.4"),
        ("user-agent", "git/2.43.0"),
        ("User-Agent", "Python-urllib/3.12"),
        ("Accept", "*/*"),
        ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        ("Accept-Encoding", "deflate, gzip, br, zstd"),
        ("Git-Protocol", "version=2"),
        ("Content-Length", "12"),
    ];
    for (name, value) in ordinary {
        assert_eq!(telling(&header(name, value)).count(), 0, "{name}: {value}");
    }
}

/// G4: a page can't have what the task has read sent in a header of a read that nobody would be asked about.
#[test]
fn a_header_that_could_carry_something_is_told() {
    let telling_ones = [
        ("X-Data", "c4n4ry"),
        ("Cookie", "a=b"),
        ("Authorization", "Basic c2VjcmV0"),
        ("Referer", "https://good.test/?secret"),
        ("User-Agent", "curl/8.5.0 (secret)"),
        ("User-Agent", "c4n4ry"),
        ("User-Agent", "curl/8.5.0.c4n4ry"),
        ("Accept", "text/c4n4ry"),
        ("Accept", "*/*;q=c4n4ry"),
        ("Accept-Language", "c4"),
        ("Range", "bytes=12345678-"),
        ("If-None-Match", "\"c4n4ry\""),
        ("Cache-Control", "c4n4ry"),
    ];
    for (name, value) in telling_ones {
        let headers = header(name, value);
        assert_eq!(telling(&headers).count(), 1, "{name}: {value}");
        let shown = shown(&headers);
        assert_eq!(shown.get(&format!("header {}", name.to_lowercase())).unwrap(), value);
    }
}

#[test]
fn a_form_sent_twice_is_the_same_form() {
    let form = |boundary: &str, word: &str| {
        let headers = header("Content-Type", &format!("multipart/form-data; boundary={boundary}"));
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data\r\n\r\n{word}\r\n--{boundary}--\r\n"
        );
        (shown(&headers), comparable_body(&headers, body.as_bytes()))
    };
    assert_eq!(
        form("------------------------aB3d", "x"),
        form("------------------------Zz9y", "x")
    );
    assert_ne!(
        form("------------------------aB3d", "x"),
        form("------------------------aB3d", "y")
    );
}
