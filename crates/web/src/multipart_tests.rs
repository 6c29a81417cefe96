use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use futures_util::stream;

use super::*;

const FORM: &str = "--xyz\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhello\r\nthere\r\n\
    --xyz\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a %22b%22.txt\"\r\n\
    Content-Type: text/plain\r\n\r\n--xy\r\n--xy z\r\n--xyz\r\n\
    Content-Disposition: form-data; name=\"files\"; filename=\"\"\r\n\r\n\r\n--xyz--\r\n";

/// The form, in pieces of so many bytes.
fn form(text: &str, size: usize) -> Multipart {
    let pieces: Vec<Result<Vec<u8>, std::io::Error>> =
        text.as_bytes().chunks(size).map(|piece| Ok(piece.to_vec())).collect();
    Multipart::new(Body::from_stream(stream::iter(pieces)).into_data_stream(), "xyz")
}

#[tokio::test]
async fn fields_come_whole_however_the_pieces_are_cut() {
    for size in [1, 2, 3, 7, 64, 4096] {
        let mut form = form(FORM, size);
        let mut found = Vec::new();
        while let Some(field) = form.next().await.unwrap() {
            found.push((field.name, field.file, form.text(1000).await.unwrap()));
        }
        let file = |name: &str, text: &str| -> (String, Option<String>, String) {
            ("files".into(), Some(name.into()), text.into())
        };
        let wanted: [(String, Option<String>, String); 3] = [
            ("text".into(), None, "hello\r\nthere".into()),
            file("a \"b\".txt", "--xy\r\n--xy z"),
            file("", ""),
        ];
        assert_eq!(found, wanted, "in pieces of {size}");
    }
}

#[tokio::test]
async fn what_is_cut_off_or_too_long_is_refused() {
    let mut cut = form("--xyz\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhel", 5);
    assert!(cut.next().await.unwrap().is_some());
    assert!(cut.text(1000).await.is_err());
    let mut long = form(FORM, 9);
    assert!(long.next().await.unwrap().is_some());
    assert!(long.text(3).await.is_err());
    let endless = format!("--xyz\r\n{}", "x".repeat(20_000));
    assert!(form(&endless, 100).next().await.is_err());
}

#[test]
fn a_boundary_is_that_of_a_form_with_files() {
    let of = |kind: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        boundary(&headers)
    };
    assert_eq!(of("multipart/form-data; boundary=abc").as_deref(), Some("abc"));
    assert_eq!(of("multipart/form-data; boundary=\"a c\"").as_deref(), Some("a c"));
    assert_eq!(of("application/x-www-form-urlencoded; boundary=abc"), None);
    assert_eq!(of("multipart/form-data"), None);
}
