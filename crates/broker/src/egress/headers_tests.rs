use axum::http::Request;
use cloister_testkit::Fuzz;

use super::*;

const HEADS: &[&str] = &[
    "http://example.com/path?query\nexample.com",
    "http://example.com:8080/\nexample.com:8080",
    "https://xn--bcher-kva.example/a/../b\nbücher.example",
    "http://EXAMPLE.com\nexample.COM:80",
    "http://user:pw@example.com/\nexample.com",
    "http://127.0.0.1/\n127.0.0.1",
];
const LONG: &str =
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const WORDS: &[&str] = &[
    "http://",
    "https://",
    "ftp://",
    "//",
    "@",
    ":",
    ":80",
    ":443",
    ":0",
    ":65536",
    "%00",
    "%2e",
    "%40",
    "[::1]",
    "0x7f.1",
    "127.1",
    "localhost",
    "evil.example",
    ".",
    "\\",
    "#",
    "?",
    ";",
    "\t",
    "\u{7f}",
    LONG,
];

/// Where the proxy would go, if it would.
fn destination(text: &str) -> Option<(Destination, Uri)> {
    let (uri, host) = text.split_once('\n').unwrap_or((text, ""));
    let uri: Uri = uri.parse().ok()?;
    let mut request = Request::builder().method("GET").uri(uri.clone()).body(()).ok()?;
    request.headers_mut().insert(header::HOST, host.parse().ok()?);
    let (mut parts, ()) = request.into_parts();
    let to = destination_of(&uri).ok()?;
    check_form(&parts, &to).ok()?;
    check_host_header(&parts, &to).ok()?;
    strip(&mut parts.headers);
    Some((to, uri))
}

/// What is decided on is what any server would read in the head: one host, in the address and in
/// `Host`, that is a name.
fn head(text: &str) -> Result<(bool, bool), String> {
    let Some((to, uri)) = destination(text) else { return Ok((false, false)) };
    let said = uri.host().unwrap_or_default();
    if !said.eq_ignore_ascii_case(to.host.as_str()) {
        return Err(format!("{said:?} was taken for {}", to.host));
    }
    let port = uri.port_u16().unwrap_or(to.scheme.default_port());
    if port != to.port || to.host.as_str().parse::<std::net::IpAddr>().is_ok() {
        return Err(format!("{uri} was taken for {}", to.authority()));
    }
    let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
    if authority.contains('@') {
        return Err(format!("{authority:?} has a name before the host"));
    }
    let host = text.split_once('\n').map(|(_, host)| host).unwrap_or_default();
    if host.contains('@') || host.contains('/') {
        return Err(format!("{host:?} was taken as a Host header"));
    }
    Ok((true, uri.port_u16().is_some()))
}

#[test]
fn fuzz_proxy_heads() {
    Fuzz::new("proxy_heads").seeds(HEADS).words(WORDS).run_text(head).unwrap();
}
