use super::*;

fn form(boundary: &str, words: &[&str]) -> Vec<u8> {
    let part = |word: &&str| {
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{word}\r\n")
    };
    let parts: String = words.iter().map(part).collect();
    format!("{parts}--{boundary}--\r\n").into_bytes()
}

#[test]
fn the_boundary_says_nothing() {
    let sent = |boundary: &str, words: &[&str]| {
        let kind = format!("multipart/form-data; boundary={boundary}");
        let form = rebuild(&kind, &form(boundary, words)).unwrap();
        (form.content_type, form.body)
    };
    assert_eq!(sent("----a-secret", &["x", "y"]), sent("another.one", &["x", "y"]));
    assert_ne!(sent("----a-secret", &["x", "y"]), sent("----a-secret", &["x", "z"]));
    let (kind, body) = sent("q", &["--cloister-boundary", "--cloister-boundary-1"]);
    assert_eq!(kind, "multipart/form-data; boundary=cloister-boundary-2");
    assert!(body.ends_with(b"--cloister-boundary-2--\r\n"));
    let quoted = rebuild("Multipart/Form-Data;boundary=\"q\"", &form("q", &["x"])).unwrap();
    assert_eq!(quoted.content_type, "multipart/form-data; boundary=cloister-boundary");
}

/// What could hide something beside the parts is no form: it stays as it is, and is shown.
#[test]
fn what_is_not_exactly_a_form_is_left_alone() {
    let kind = "multipart/form-data; boundary=q";
    let good = String::from_utf8(form("q", &["x"])).unwrap();
    assert!(rebuild(kind, good.as_bytes()).is_some());
    for bad in [
        format!("before\r\n{good}"),
        format!("{good}behind"),
        good.replace("--q--", "--q-- "),
        good.replace("--q\r\n", "--q \r\n"),
        good.replace("Content-Disposition", "X-Note: y\r\nContent-Disposition"),
        good.replace("\r\n", "\n"),
        good.replace("--q--", ""),
        "--q--\r\n".to_owned(),
        String::new(),
    ] {
        assert!(rebuild(kind, bad.as_bytes()).is_none(), "{bad:?}");
    }
    for kind in [
        "multipart/form-data",
        "multipart/form-data; boundary=q; x=y",
        "multipart/form-data; x=y; boundary=q",
        "multipart/related; boundary=q",
        "text/plain; boundary=q",
        "multipart/form-data; boundary=",
    ] {
        assert!(rebuild(kind, good.as_bytes()).is_none(), "{kind}");
    }
}
