use proptest::prelude::*;

use super::*;
use crate::egress::Scheme;

fn to(path: &str) -> Destination {
    let host = "named.test".parse().unwrap();
    Destination { scheme: Scheme::Https, host, port: 443, path: path.to_owned() }
}

fn headers(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn rebuilt(method: &str, path: &str, said: &[(&str, &str)], body: &str, foreign: bool) -> Outgoing {
    let repositories = git::Repositories::default();
    let (to, headers, body) = (to(path), headers(said), Bytes::copy_from_slice(body.as_bytes()));
    let draft =
        Draft { method, to: &to, query: None, headers: &headers, body: &body, secrets: &[] };
    let content = if foreign { Content::Foreign(&repositories) } else { Content::Own };
    Outgoing::rebuild(&draft, content).unwrap()
}

/// What a program says about itself is the same for all, once it could say something else.
#[test]
fn with_foreign_content_the_head_is_constant() {
    let bare = rebuilt("GET", "/x", &[], "", true);
    let told = rebuilt(
        "GET",
        "/x",
        &[
            ("Accept", "text/html;q=0.3, application/json, image/webp"),
            ("aCCept-Language", "en-gb, en;q=0.7"),
            ("User-Agent", "curl/8.1.2"),
            ("Cache-Control", "max-age=0"),
            ("If-None-Match", "\"c2VjcmV0\""),
            ("Range", "bytes=0-4711"),
            ("Referer", "https://secret.test/"),
            ("Sec-Fetch-Mode", "cors"),
            ("Content-Type", "text/secret"),
            ("Git-Protocol", "version=2"),
        ],
        "",
        true,
    );
    assert_eq!(bare, told);
    assert!(told.chosen().is_empty());
    let names: Vec<&str> = told.headers().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["accept", "accept-encoding", "user-agent"]);
}

#[test]
fn what_means_something_is_content_and_is_said_once() {
    let said =
        [("X-B", "2"), ("cookie", "a=1"), ("Authorization", " Bearer x "), ("Cookie", "b=2")];
    let told = rebuilt("GET", "/x", &said, "", true);
    assert_eq!(told.chosen(), ["authorization", "cookie", "x-b"]);
    let shown: Vec<String> = told.shown_headers().map(|(n, v)| format!("{n}: {v}")).collect();
    assert_eq!(shown, ["authorization: Bearer x", "cookie: a=1; b=2", "x-b: 2"]);
}

/// A program of a task of the person's own may say how it wants its answer.
#[test]
fn without_foreign_content_programs_are_heard() {
    let said =
        [("Accept", "application/json"), ("User-Agent", "pip/24.0 {\"cpu\":\"x\"}"), ("x-a", "1")];
    let own = rebuilt("GET", "/x", &said, "", false);
    let value = |name: &str| own.headers().iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    assert_eq!(value("accept").as_deref(), Some("application/json"));
    assert_eq!(value("user-agent").as_deref(), Some("pip/24.0"));
    assert_eq!(value("accept-encoding").as_deref(), Some("identity"));
    assert_eq!(value("x-a").as_deref(), Some("1"));
}

/// What only asks is known by all of it.
#[test]
fn a_path_makes_nothing_safe() {
    let kind = [("content-type", git::REQUEST_TYPE)];
    let path = "/a.git/git-upload-pack";
    let clone = "0032want 8a45d2d1b5bdb996918545c476906c3450a3ddc1\n00000009done\n";
    let class = |method, path, said: &[(&str, &str)], body| {
        rebuilt(method, path, said, body, false).class()
    };
    assert_eq!(class("POST", path, &kind, clone), Class::Safe);
    assert_eq!(class("GET", "/x", &[], ""), Class::Safe);
    assert_eq!(class("HEAD", "/x", &[], ""), Class::Safe);
    for (method, path, said, body) in [
        ("POST", path, &kind[..], "action=delete"),
        ("POST", path, &kind[..], ""),
        ("POST", path, &[][..], clone),
        ("POST", path, &[("content-type", "text/plain")][..], clone),
        ("PUT", path, &kind[..], clone),
        ("POST", "/a.git/git-receive-pack", &kind[..], clone),
        ("POST", path, &[kind[0], ("content-encoding", "gzip")][..], clone),
        ("GET", "/x", &[("x-http-method-override", "DELETE")][..], ""),
        ("POST", path, &[kind[0], ("X-HTTP-Method-Override", "DELETE")][..], clone),
        ("POST", path, &[kind[0], ("x-method-override", "PUT")][..], clone),
        ("GET", "/a.git/info/refs", &[("x-http-method", "DELETE")][..], ""),
        ("GET", "/x", &[][..], "body"),
        ("DELETE", "/x", &[][..], ""),
        ("OPTIONS", "/x", &[][..], ""),
    ] {
        assert_eq!(class(method, path, said, body), Class::Outward, "{method} {path} {body}");
    }
    // What no repository of this task has offered is not read from there by the broker.
    assert_eq!(rebuilt("POST", path, &kind, clone, true).class(), Class::Outward);
}

#[test]
fn other_methods_are_not_served() {
    let (to, body) = (to("/x"), Bytes::new());
    for method in ["get", "SECRET", "", "GET ", "CONNECT", "TRACE"] {
        let draft = Draft { method, to: &to, query: None, headers: &[], body: &body, secrets: &[] };
        assert!(Outgoing::rebuild(&draft, Content::Own).is_err(), "{method}");
    }
}

fn any_headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let idle = prop_oneof![
        "[aA][cC][cC][eE][pP][tT](-[lL]anguage|-[cC]harset|-[eE]ncoding)?",
        "[uU]ser-[aA]gent|Sec-[A-Za-z]{1,8}|npm-[a-z]{1,8}|DNT|Priority|Pragma|Cache-Control|Referer|Range",
        "If-None-Match|If-Modified-Since|Expect|TE|Connection|Keep-Alive|Git-Protocol|Content-Length",
    ];
    proptest::collection::vec((idle, "[ -~]{0,60}"), 0..12)
}

proptest! {
    /// All unasked variants of one address are the same value, and so the same bytes.
    #[test]
    fn every_unasked_variant_is_one_request(said in any_headers(), other in any_headers()) {
        let repositories = git::Repositories::default();
        let (to, body) = (to("/post"), Bytes::new());
        let build = |headers: &[(String, String)]| {
            let draft = Draft { method: "GET", to: &to, query: None, headers, body: &body, secrets: &[] };
            Outgoing::rebuild(&draft, Content::Foreign(&repositories)).unwrap()
        };
        let (one, two) = (build(&said), build(&other));
        prop_assert!(one.chosen().is_empty());
        prop_assert_eq!(one, two);
    }
}
