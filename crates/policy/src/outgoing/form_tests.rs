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

/// E57: each number was looked for in all of the form again: one form of 8 MB that has the first 300,000 kept a worker
/// of the control plane busy for an hour.
#[test]
fn a_form_is_rebuilt_in_the_time_that_its_length_takes() {
    let numbers: Vec<String> =
        (0..300_000).map(|number| format!("--cloister-boundary-{number}")).collect();
    let words = format!("--cloister-boundary {}", numbers.join(" "));
    let (told, heard) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let rebuilt = rebuild("multipart/form-data; boundary=q", &form("q", &[&words]));
        told.send(rebuilt.is_some())
    });
    let rebuilt = heard.recv_timeout(std::time::Duration::from_secs(30)).expect("too slow");
    assert!(!rebuilt, "it is shown as it is");
}

/// What is free is not what stands there, whatever stands behind it.
#[test]
fn the_boundary_stands_in_no_part() {
    for words in [
        "--cloister-boundary",
        "--cloister-boundary-1",
        "--cloister-boundary-12 --cloister-boundary-2",
        "--cloister-boundary-0",
        "--cloister-boundary-01",
        "--cloister-boundary-999999999999 --cloister-boundary-1x",
        "--cloister-boundary--cloister-boundary-1",
        "----cloister-boundary",
    ] {
        let form = rebuild("multipart/form-data; boundary=q", &form("q", &[words])).unwrap();
        let boundary = form.content_type.rsplit_once('=').unwrap().1;
        assert!(!words.contains(&format!("--{boundary}")), "{words}: {boundary}");
    }
}
