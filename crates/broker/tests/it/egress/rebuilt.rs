//! What reaches a host, byte by byte, whatever a program of a task with foreign content does.

use cloister_control::ports::Gated;
use cloister_policy::outgoing::{Content, Outgoing};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::client::{Sni, request};
use super::git;
use super::internet::PUBLIC;
use super::variants;
use super::world::{Net, OpenNet};
use crate::open_gate::{lets_go, lets_go_as};

/// Sends variants of one request, and asserts that each of them is these bytes on the wire, or nothing; how many were
/// sent.
async fn assert_one(
    (net, door): (&Net, &OpenNet),
    variant: &impl Strategy<Value = Vec<u8>>,
    count: usize,
    usual: &[u8],
) -> usize {
    let mut runner = TestRunner::new(Config::default());
    let mut sent = 0;
    for _ in 0..count {
        let asked = variant.new_tree(&mut runner).unwrap().current();
        let answer = door.client.raw(&asked).await;
        let wire = net.internet.take_wire();
        let asked = asked.escape_ascii();
        if answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.0 200") {
            assert_eq!(String::from_utf8_lossy(&wire), String::from_utf8_lossy(usual), "{asked}");
            sent += 1;
        } else {
            assert!(wire.is_empty(), "{asked}\n{answer}\n{}", wire.escape_ascii());
        }
    }
    sent
}

/// All unasked variants of one named address are the same bytes on the wire.
#[tokio::test]
async fn every_unasked_variant_of_an_address_is_the_same_bytes() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    door.told.be_foreign();
    let plain = door.client.get_plain("http://allowed.test/named/page?q=1").await;
    assert_eq!(plain.status, 200);
    let usual = net.internet.take_wire();
    assert_eq!(
        String::from_utf8_lossy(&usual),
        "GET /named/page?q=1 HTTP/1.1\r\nhost: allowed.test\r\naccept: */*\r\n\
         accept-encoding: identity\r\nuser-agent: cloister\r\n\r\n"
    );
    let sent = assert_one((&net, &door), &variants::page(), 400, &usual).await;
    assert!(sent > 200, "only {sent} of 400 were sent at all");
    // The tool of the agent asks with the same bytes as a program does, and a tunnel hides nothing.
    let page = serde_json::json!({"url": "http://allowed.test/named/page?q=1"}).to_string();
    assert_eq!(door.client.request("POST", "/fetch", page).await.status, 200);
    assert_eq!(net.internet.take_wire(), usual);
}

/// The same for git, which the broker speaks for: who asks, what it has, how it writes and packs that, does not leave.
#[tokio::test]
async fn every_unasked_variant_of_what_git_reads_is_the_same_bytes() {
    let net = Net::new(&["http://allowed.test"]).await;
    let (_folder, ids) = git::offering(&net).await;
    let door = net.open();
    door.told.be_foreign();
    let head = |line: &str, more: &str, length: &str| {
        format!(
            "{line} HTTP/1.1\r\nhost: allowed.test\r\naccept: {more}git-protocol: version=2\r\n\
             user-agent: git/2.0-cloister\r\n{length}\r\n"
        )
    };
    let refs = head(
        "GET /repo.git/info/refs?service=git-upload-pack",
        "*/*\r\naccept-encoding: identity\r\n",
        "",
    );
    let sent = assert_one((&net, &door), &variants::refs(), 100, refs.as_bytes()).await;
    assert!(sent > 50, "only {sent} of 100 were sent at all");
    let post = |body: String| {
        let more = "application/x-git-upload-pack-result\r\naccept-encoding: identity\r\n\
                    content-type: application/x-git-upload-pack-request\r\n";
        let length = format!("content-length: {}\r\n", body.len());
        head("POST /repo.git/git-upload-pack", more, &length) + &body
    };
    let lines = |lines: &[&str]| lines.iter().map(|text| variants::line(text)).collect::<String>();
    let who = lines(&["agent=git/2.0-cloister", "object-format=sha1"]);
    let prefixes = ["ref-prefix HEAD", "ref-prefix refs/heads/", "ref-prefix refs/tags/"];
    let listed = post(format!(
        "{}{who}0001{}{}0000",
        lines(&["command=ls-refs"]),
        lines(&["peel", "symrefs"]),
        lines(&prefixes)
    ));
    let sent = assert_one((&net, &door), &variants::ls_refs(), 60, listed.as_bytes()).await;
    assert!(sent > 20, "only {sent} of 60 were sent at all");
    let wants: String = ids.iter().map(|id| variants::line(&format!("want {id}\n"))).collect();
    let fetched = post(format!(
        "{}{who}0001{}{wants}{}0000",
        lines(&["command=fetch"]),
        lines(&["no-progress", "include-tag", "ofs-delta"]),
        lines(&[&format!("have {:0>40}\n", 1), "done\n"])
    ));
    let fetch = variants::fetch(&ids);
    let sent = assert_one((&net, &door), &fetch, 100, fetched.as_bytes()).await;
    assert!(sent > 30, "only {sent} of 100 were sent at all");
}

/// What could say something is asked about, whatever it is on.
#[tokio::test]
async fn what_says_something_does_not_leave_unasked() {
    let net = Net::new(&["http://allowed.test", "allowed.test"]).await;
    let door = net.open();
    door.told.be_foreign();
    let with = |method: &str, path: &str, name: &str, value: &str, body: &str| {
        let mut asked =
            request(method, &format!("http://allowed.test{path}"), "allowed.test", body.to_owned());
        let name: hyper::header::HeaderName = name.parse().unwrap();
        asked.headers_mut().insert(name, value.parse().unwrap());
        asked
    };
    let refs = "/named/info/refs?service=git-upload-pack";
    let kind = "application/x-git-upload-pack-request";
    let wants: String = (0..64).map(|n| format!("0032want {n:040x}\n")).collect();
    for asked in [
        with("GET", refs, "x-leak", "c2VjcmV0", ""),
        with("GET", "/named", "cookie", "a=secret", ""),
        with("GET", "/named", "authorization", "Basic c2VjcmV0", ""),
        with(
            "POST",
            "/named/git-upload-pack",
            "content-type",
            kind,
            &format!("{wants}00000009done\n"),
        ),
        with("POST", "/named/git-upload-pack", "content-type", kind, "action=delete"),
        with("POST", "/named/git-upload-pack", "accept", "*/*", ""),
        with("SECRET", "/named", "accept", "*/*", ""),
        with("GET", "/named", "x-http-method-override", "DELETE", ""),
    ] {
        let what = format!("{asked:?}");
        assert_eq!(door.client.plain().await.ask(asked).await.status, 403, "{what}");
    }
    net.internet.assert_untouched();
}

/// The boundary of a form is the broker's.
#[tokio::test]
async fn a_form_is_sent_with_the_brokers_own_boundary() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let mut wires = Vec::new();
    for boundary in ["drawn-by-lot-1234", "c2VjcmV0IHNlY3JldCBzZWNyZXQ"] {
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--{boundary}--\r\n"
        );
        let mut form = request("POST", "http://allowed.test/form", "allowed.test", body);
        let kind = format!("multipart/form-data; boundary={boundary}");
        form.headers_mut().insert("content-type", kind.parse().unwrap());
        assert_eq!(door.client.plain().await.ask(form).await.status, 200);
        wires.push(String::from_utf8(net.internet.take_wire()).unwrap());
    }
    assert_eq!(wires[0], wires[1]);
    assert!(wires[0].contains("boundary=cloister-boundary\r\n"), "{}", wires[0]);
}

/// A body is shown as what it says, and sent as that.
#[tokio::test]
async fn a_zipped_body_is_judged_and_sent_as_what_it_says() {
    use std::io::Write as _;
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    zipped.write_all(b"the private note").unwrap();
    let zipped = zipped.finish().unwrap();
    for (body, plain) in [(zipped.clone(), true), (b"no gzip at all".to_vec(), false)] {
        let mut post = request("POST", "http://allowed.test/in", "allowed.test", body.clone());
        post.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
        assert_eq!(door.client.plain().await.ask(post).await.status, 200);
        let (gated, seen) = (door.told.gated().pop().unwrap(), net.internet.seen().pop().unwrap());
        assert_eq!(gated.body, seen.body);
        assert_eq!(seen.body, if plain { b"the private note".to_vec() } else { body });
        assert_eq!(seen.headers.contains_key("content-encoding"), !plain);
    }
}

/// E61: where a host is, is known before a person is asked, and only there does it go.
#[tokio::test]
async fn what_a_person_decided_on_goes_to_the_address_they_were_shown() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let shown = PUBLIC.parse().unwrap();
    // The name leads elsewhere with each look; the gate keeps to what it was told first.
    net.internet.name("allowed.test", &[&[PUBLIC], &["93.184.216.99"]]);
    door.told.judge(move |outward| match &outward.addresses {
        _ if outward.method == "GET" => lets_go(outward),
        None => Gated::LookUp,
        Some(_) => {
            let request = Outgoing::rebuild(&outward.draft(), Content::Own).unwrap();
            lets_go_as(request, Some(vec![shown]))
        }
    });
    let post = || request("POST", "http://allowed.test/in", "allowed.test", "x");
    assert_eq!(door.client.plain().await.ask(post()).await.status, 200);
    assert_eq!(net.internet.dialled(), [format!("{PUBLIC}:80")]);
    assert_eq!(door.told.gated()[1].addresses, Some(vec![shown]));
    // A connection to the other address is there, and is not used for it.
    net.internet.kill(PUBLIC);
    let elsewhere = net.open_with("other.sock", super::world::all(), None);
    drop(elsewhere);
    for _ in 0..2 {
        assert_eq!(door.client.get_plain("http://allowed.test/").await.status, 200);
    }
    assert_eq!(
        door.client.plain().await.ask(post()).await.status,
        200,
        "the first connection is open still"
    );
    let door = net.open_with("third.sock", super::world::all(), None);
    door.told.judge(move |outward| {
        let request = Outgoing::rebuild(&outward.draft(), Content::Own).unwrap();
        let addresses = (outward.method == "POST").then(|| vec![shown]);
        lets_go_as(request, addresses)
    });
    assert_eq!(door.client.get_plain("http://allowed.test/").await.status, 200);
    assert_eq!(door.client.plain().await.ask(post()).await.status, 502);
    assert_eq!(door.told.lost(), ["allowed.test"]);
}

/// E38: an address that was shown is looked at again before it is dialled.
#[tokio::test]
async fn an_address_that_was_decided_on_is_checked_again() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    door.told.judge(|outward| {
        let request = Outgoing::rebuild(&outward.draft(), Content::Own).unwrap();
        lets_go_as(request, Some(vec!["127.0.0.1".parse().unwrap()]))
    });
    assert_eq!(door.client.get_plain("http://allowed.test/").await.status, 403);
    net.internet.assert_not_dialled();
}

/// Over TLS it is the same request.
#[tokio::test]
async fn a_tunnel_changes_nothing_about_it() {
    let net = Net::new(&["allowed.test"]).await;
    let door = net.open();
    door.told.be_foreign();
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    for target in ["/a/../named?", "https://allowed.test/%6eamed", "https://ALLOWED.test:443/named"]
    {
        let mut asked = request("GET", target, "allowed.test", "");
        asked.headers_mut().insert("user-agent", "curl/8.secret".parse().unwrap());
        assert_eq!(tunnel.ask(asked).await.status, 200, "{target}");
        let seen = net.internet.seen().pop().unwrap();
        assert_eq!(
            (seen.path.as_str(), seen.headers["user-agent"].as_str()),
            ("/named", "cloister")
        );
        assert_eq!(seen.headers.len(), 4, "{:?}", seen.headers);
    }
}
