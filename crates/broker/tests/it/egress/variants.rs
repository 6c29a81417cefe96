//! One request, spelled and dressed in as many ways as a program can think of.

use std::io::Write as _;

use proptest::prelude::*;
use proptest::sample::select;

/// The ids that a program which clones says it has already: it makes them up.
fn made_up() -> impl Strategy<Value = String> {
    "[0-9a-f]{40}"
}

/// Something of a head that no answer depends on, in any case and with any space around it.
fn idle_header() -> impl Strategy<Value = String> {
    let name = select(vec![
        "Accept",
        "ACCEPT",
        "accept-language",
        "Accept-Charset",
        "accept-encoding",
        "User-Agent",
        "user-agent",
        "uSER-aGENT",
        "Cache-Control",
        "Pragma",
        "If-None-Match",
        "If-Modified-Since",
        "Range",
        "Referer",
        "Origin",
        "DNT",
        "Priority",
        "Sec-Fetch-Mode",
        "Sec-CH-UA",
        "TE",
        "Keep-Alive",
        "Trailer",
        "Proxy-Connection",
        "Proxy-Authorization",
        "X-Cloister-Note",
        "Upgrade-Insecure-Requests",
        "npm-session",
        "Via",
        "X-Forwarded-For",
    ]);
    (name, "[ \t]{0,2}", "[!-~]([ -~]{0,40}[!-~])?", "[ \t]{0,2}")
        .prop_map(|(name, before, value, behind)| format!("{name}:{before}{value}{behind}\r\n"))
}

/// Idle headers, some of them again with another value.
fn idle_headers() -> impl Strategy<Value = Vec<String>> {
    let twice = (idle_header(), any::<bool>()).prop_map(|(header, again)| {
        let name = header.split(':').next().unwrap_or_default().to_owned();
        if again { vec![header, format!("{name}: again\r\n")] } else { vec![header] }
    });
    prop::collection::vec(twice, 0..8).prop_map(|headers| headers.concat())
}

/// How the end of a body is said.
#[derive(Clone, Debug)]
enum Framing {
    Nothing,
    Length,
    /// In pieces of this size, with a word behind the size of each, and one after the last.
    Pieces {
        size: usize,
        word: String,
        trailer: bool,
    },
}

fn framing() -> impl Strategy<Value = Framing> {
    let pieces = (1_usize..400, "[a-z0-9]{0,12}", any::<bool>())
        .prop_map(|(size, word, trailer)| Framing::Pieces { size, word, trailer });
    prop_oneof![2 => Just(Framing::Nothing), 2 => Just(Framing::Length), 2 => pieces]
}

impl Framing {
    /// The header that says it, and the body as it is written.
    fn written(&self, body: &[u8], case: bool) -> (String, Vec<u8>) {
        let name = |usual: &str| if case { usual.to_owned() } else { usual.to_lowercase() };
        match self {
            Self::Nothing if body.is_empty() => (String::new(), Vec::new()),
            Self::Nothing | Self::Length => {
                (format!("{}: {}\r\n", name("Content-Length"), body.len()), body.to_vec())
            }
            Self::Pieces { size, word, trailer } => {
                let word = if word.is_empty() { String::new() } else { format!(";{word}={word}") };
                let mut written = Vec::new();
                for piece in body.chunks(*size) {
                    written.extend(format!("{:X}{word}\r\n", piece.len()).bytes());
                    written.extend(piece);
                    written.extend(b"\r\n");
                }
                written.extend(format!("0{word}\r\n").bytes());
                if *trailer {
                    written.extend(b"X-Leak: c2VjcmV0\r\n");
                }
                written.extend(b"\r\n");
                (format!("{}: chunked\r\n", name("Transfer-Encoding")), written)
            }
        }
    }
}

/// What is asked for: a method with a target, and what a program must say beside it.
#[derive(Clone, Debug)]
struct Asked {
    method: &'static str,
    target: &'static str,
    fixed: Vec<String>,
    body: Vec<u8>,
}

/// The bytes of a request, in one of its many forms.
fn dressed(asked: impl Strategy<Value = Asked>) -> impl Strategy<Value = Vec<u8>> {
    let version = prop_oneof![5 => Just("1.1"), 1 => Just("1.0")];
    let host = select(vec!["allowed.test", "Allowed.TEST", "allowed.test:80"]);
    let folded = prop_oneof![20 => Just(""), 1 => Just("Accept: a\r\n b\r\n")];
    let dress = (version, host, idle_headers(), framing(), any::<bool>(), folded);
    (asked, dress).prop_flat_map(|(asked, dress)| {
        let (version, host, mut headers, framing, case, folded) = dress;
        let Asked { method, target, fixed, body } = asked;
        let (length, body) = framing.written(&body, case);
        headers.extend(fixed);
        headers.extend([format!("Host: {host}\r\n"), length, folded.to_owned()]);
        headers.push("Connection: close\r\n".to_owned());
        Just(headers).prop_shuffle().prop_map(move |headers| {
            let head = format!("{method} {target} HTTP/{version}\r\n{}\r\n", headers.concat());
            [head.as_bytes(), &body].concat()
        })
    })
}

/// A request for `http://allowed.test/named/page?q=1`, and some that are nearly one.
pub(super) fn page() -> impl Strategy<Value = Vec<u8>> {
    let method = prop_oneof![
        30 => Just("GET"),
        1 => select(vec!["get", "Get", "GEt", "GETS", "head", "OPTIONS", "SEARCH"]),
    ];
    let target = prop_oneof![
        30 => select(vec![
            "http://allowed.test/named/page?q=1",
            "http://allowed.test:80/named/page?q=1",
            "http://allowed.test:0080/named/page?q=1",
            "HTTP://ALLOWED.test/named/page?q=1",
            "http://allowed.test/named/./page?q=1",
            "http://allowed.test/x/../named/page?q=1",
            "http://allowed.test/x/%2e%2E/named/page?q=1",
            "http://allowed.test/%6e%61med/p%61ge?%71=%31",
            "http://allowed.test/named/page?q=1#fragment",
        ]),
        1 => select(vec!["/named/page?q=1", "//allowed.test/named/page?q=1", "*"]),
    ];
    let kind = prop_oneof![
        3 => Just(Vec::new()),
        1 => Just(vec!["Content-Type: text/secret\r\n".to_owned()]),
        1 => Just(vec!["Git-Protocol: version=2:secret\r\n".to_owned()]),
        1 => Just(vec!["Expect: 100-continue\r\n".to_owned()]),
    ];
    let body = prop_oneof![12 => Just(Vec::new()), 1 => Just(b"secret".to_vec())];
    let asked = (method, target, kind, body).prop_map(|(method, target, fixed, body)| Asked {
        method,
        target,
        fixed,
        body,
    });
    dressed(asked)
}

/// What a repository offers, asked for in the second version of git's protocol.
pub(super) fn refs() -> impl Strategy<Value = Vec<u8>> {
    let target = select(vec![
        "http://allowed.test/repo.git/info/refs?service=git-upload-pack",
        "http://allowed.test/repo.git/info/./refs?service=git%2Dupload-pack",
        "http://allowed.test:80/x/../repo.git/info/refs?service=git-upload-pack#x",
    ]);
    let version = select(vec!["Git-Protocol: version=2\r\n", "GIT-protocol:version=2 \r\n"]);
    dressed((target, version).prop_map(|(target, version)| Asked {
        method: "GET",
        target,
        fixed: vec![version.to_owned()],
        body: Vec::new(),
    }))
}

/// A line of git's protocol.
pub(super) fn line(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

/// Lines of git with or without an end of their own.
fn lines(texts: Vec<String>, ended: bool) -> String {
    let end = if ended { "\n" } else { "" };
    texts.iter().map(|text| line(&format!("{text}{end}"))).collect()
}

/// A request to `git-upload-pack` with one of these bodies, packed or plain.
fn upload_pack(body: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    let target = select(vec![
        "http://allowed.test/repo.git/git-upload-pack",
        "http://allowed.test:80/repo.git/./git-upload-pack",
        "http://allowed.test/repo.git/git%2Dupload%2dpack",
    ]);
    let kind = select(vec![
        "Content-Type: application/x-git-upload-pack-request\r\n",
        "content-TYPE:\tapplication/X-git-upload-pack-request \r\n",
    ]);
    let packed = prop::option::of(0_u32..=9);
    dressed((target, kind, packed, body).prop_map(|(target, kind, packed, body)| {
        let (mut fixed, mut body) = (vec![kind.to_owned()], body.into_bytes());
        if let Some(level) = packed {
            let level = flate2::Compression::new(level);
            let mut zipped = flate2::write::GzEncoder::new(Vec::new(), level);
            zipped.write_all(&body).unwrap();
            body = zipped.finish().unwrap();
            fixed.push("Content-Encoding: gzip\r\n".to_owned());
        }
        Asked { method: "POST", target, fixed, body }
    }))
}

/// What of a request of git's second version says who asks.
fn who_asks() -> impl Strategy<Value = Vec<String>> {
    let agent = "[!-~]{1,40}".prop_map(|agent| format!("agent={agent}"));
    let session = "[0-9a-f]{8,40}".prop_map(|session| format!("session-id={session}"));
    (agent, session, any::<bool>(), any::<bool>()).prop_map(|(agent, session, first, both)| {
        let mut said = vec![agent, session, "object-format=sha1".to_owned()];
        if first {
            said.reverse();
        }
        if !both {
            said.remove(1);
        }
        said
    })
}

/// Which branches there are.
pub(super) fn ls_refs() -> impl Strategy<Value = Vec<u8>> {
    let prefix = "ref-prefix refs/[a-z/]{1,30}";
    let args = select(vec!["peel".to_owned(), "symrefs".to_owned(), "unborn".to_owned()]);
    let args = prop::collection::vec(prop_oneof![args, prefix], 0..8);
    upload_pack((who_asks(), args, any::<bool>()).prop_map(|(who, args, ended)| {
        let command = lines(vec!["command=ls-refs".to_owned()], ended);
        format!("{command}{}0001{}0000", lines(who, ended), lines(args, ended))
    }))
}

/// All of these objects, by somebody who has some.
pub(super) fn fetch(ids: &[String]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let wants: Vec<String> = ids.iter().map(|id| format!("want {id}")).collect();
    let wants = Just(wants).prop_shuffle();
    let able = ["thin-pack", "no-progress", "include-tag", "ofs-delta"].map(str::to_owned);
    let able = prop::sample::subsequence(able.to_vec(), 0..4);
    let haves = prop::collection::vec(made_up().prop_map(|id| format!("have {id}")), 1..20);
    let body = (who_asks(), wants, able, haves, any::<bool>(), any::<bool>());
    upload_pack(body.prop_map(|(who, wants, able, haves, twice, ended)| {
        let command = lines(vec!["command=fetch".to_owned()], ended);
        let again = if twice { wants.clone() } else { Vec::new() };
        let args = [able, wants, haves, again, vec!["done".to_owned()]].concat();
        format!("{command}{}0001{}0000", lines(who, ended), lines(args, ended))
    }))
}
