//! What ordinary programs do through the proxy.

use std::time::{Duration, Instant};

use bytes::Bytes;
use cloister_broker::{Network, Placed, SystemNetwork};
use cloister_control::ports::Egress;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::client::{Sni, get, request};
use super::world::{Net, all, fast};
use crate::harness::{PATIENCE, connect};

#[tokio::test]
async fn plain_and_secure_requests_get_their_answers() {
    let net = Net::new(&["http://allowed.test", "*.allowed.test:8443"]).await;
    let door = net.open();
    let got = door.client.get_plain("http://allowed.test/page?x=1").await;
    assert_eq!((got.status, got.text().as_str()), (200, "hello from allowed.test"));
    let got = door.client.get_secure("allowed.test", "/page").await;
    assert_eq!((got.status, got.text().as_str()), (200, "hello from allowed.test"));
    let mut tunnel =
        door.client.tunnel("sub.allowed.test:8443", Sni::Says("sub.allowed.test")).await.unwrap();
    let got = tunnel.get("/x", "sub.allowed.test:8443").await;
    assert_eq!(got.text(), "hello from sub.allowed.test:8443");
    assert_eq!(
        net.internet.dialled(),
        ["93.184.216.34:80", "93.184.216.34:443", "93.184.216.34:8443"]
    );
    assert_eq!(net.internet.seen()[0].path, "/page?x=1");
}

#[tokio::test]
async fn bodies_go_both_ways_in_every_form() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    let post = request("POST", "/length/", "allowed.test", vec![b'x'; 300_000]);
    assert_eq!(tunnel.ask(post).await.text(), "300000");
    let chunked = "POST http://allowed.test/length/ HTTP/1.1\r\nHost: allowed.test\r\n\
                   Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n";
    let mut stream = connect(&door.client.socket).await;
    stream.write_all(chunked.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with('8'), "{answer}");
    assert_eq!(tunnel.get("/chunked/", "allowed.test").await.text(), "one two three");
    let head = tunnel.ask(request("HEAD", "/big/65536", "allowed.test", "")).await;
    assert_eq!((head.status, head.headers["content-length"].to_str().unwrap()), (200, "65536"));
    assert_eq!(tunnel.get("/gzip/", "allowed.test").await.body, &[0x1f_u8, 0x8b, 8, 0][..]);
}

#[tokio::test]
async fn a_large_download_is_passed_on_as_it_comes() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let size = 64 << 20;
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    let response = tunnel.send(get(&format!("/big/{size}"), "allowed.test")).await;
    let mut body = response.into_body();
    let mut read = 0;
    while let Some(frame) = timeout(PATIENCE, body.frame()).await.unwrap() {
        read += frame.unwrap().into_data().unwrap_or_default().len();
    }
    assert_eq!(read, size);
    assert_eq!(tunnel.get("/", "allowed.test").await.status, 200, "the tunnel is still good");
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    let mut plain = door.client.plain().await;
    for _ in 0..50 {
        assert_eq!(tunnel.get("/", "allowed.test").await.status, 200);
        assert_eq!(plain.get("http://allowed.test/", "allowed.test").await.status, 200);
    }
    assert_eq!(net.internet.dialled().len(), 2);
    assert_eq!(net.internet.resolved().len(), 2);
    assert_eq!(net.audited("egress.open").await.len(), 1);
}

#[tokio::test]
async fn a_removed_rule_bites_in_a_tunnel_that_is_open() {
    let net = Net::new(&["allowed.test"]).await;
    let door = net.open();
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    assert_eq!(tunnel.get("/", "allowed.test").await.status, 200);
    net.forbid("allowed.test").await;
    let bytes = net.internet.bytes();
    let got = tunnel.get("/", "allowed.test").await;
    assert_eq!(got.status, 403);
    assert!(got.text().contains("/allow allowed.test"), "{}", got.text());
    assert_eq!(net.internet.bytes(), bytes, "nothing more was sent");
    net.allow(&["allowed.test"]).await;
    assert_eq!(tunnel.get("/", "allowed.test").await.status, 200);
}

#[tokio::test]
async fn a_program_of_http_1_0_is_served() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let mut stream = connect(&door.client.socket).await;
    stream.write_all(b"GET http://allowed.test/chunked/ HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with("one two three"), "{answer}");
}

#[tokio::test]
async fn what_is_between_two_machines_stays_there() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let mut plain = door.client.plain().await;
    let mut asked = get("http://allowed.test/spoof/", "allowed.test");
    for (name, value) in [
        ("proxy-authorization", "Basic c2VjcmV0"),
        ("proxy-connection", "keep-alive"),
        ("connection", "x-private, host"),
        ("x-private", "1"),
        ("te", "trailers"),
        ("x-cloister-url", "forged"),
        ("x-kept", "1"),
    ] {
        asked.headers_mut().insert(name, value.parse().unwrap());
    }
    let got = plain.ask(asked).await;
    let sent = &net.internet.seen()[0].headers;
    let names: Vec<&str> = sent.keys().map(String::as_str).collect();
    assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent", "x-kept"]);
    for name in ["x-cloister-refusal", "x-hop", "alt-svc"] {
        assert!(!got.headers.contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn a_host_with_a_bad_certificate_is_not_believed() {
    let net = Net::new(&["wrong.test"]).await;
    net.internet.public("wrong.test");
    let door = net.open();
    let got = door.client.get_secure("wrong.test", "/").await;
    assert_eq!(got.status, 502);
    // In words of ours: the names in its certificate are the host's words, and nothing marks them.
    assert_eq!(
        got.text(),
        "cloister: there is no secure connection to wrong.test: its certificate is for another name.\n"
    );
    assert!(net.internet.seen().is_empty());
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_no_refusal() {
    let net = Net::new(&["http://nowhere.test"]).await;
    let door = net.open();
    let got = door.client.get_plain("http://nowhere.test/").await;
    assert_eq!(got.status, 502);
    assert!(got.text().contains("nowhere.test was not found"));
    assert_eq!(door.refusals(0).await["last"], 0);
}

#[tokio::test]
async fn a_closed_door_lets_nothing_out() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open_with("closed.sock", Egress::Closed, None);
    assert_eq!(door.client.get_plain("http://allowed.test/").await.status, 403);
    assert_eq!(door.client.connect_to("allowed.test:443").await.0, 403);
    let body = r#"{"url":"https://allowed.test/"}"#;
    assert_eq!(door.client.request("POST", "/fetch", body).await.status, 403);
    assert_eq!(door.client.request("POST", "/search", r#"{"query":"x"}"#).await.status, 403);
    net.internet.assert_untouched();
}

#[tokio::test]
async fn before_a_plan_is_approved_only_reading_goes_out() {
    let net = Net::new(&["http://allowed.test"]).await;
    let reading = Egress::Open { only: None, reads_only: true, secrets: None };
    let door = net.open_with("reading.sock", reading, None);
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    assert_eq!(tunnel.get("/", "allowed.test").await.status, 200);
    assert_eq!(tunnel.ask(request("HEAD", "/", "allowed.test", "")).await.status, 200);
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"] {
        let got = tunnel.ask(request(method, "/", "allowed.test", "x")).await;
        assert_eq!(got.status, 403, "{method}");
        assert!(got.text().contains("until the plan is approved"), "{}", got.text());
    }
    assert!(net.internet.seen().iter().all(|seen| ["GET", "HEAD"].contains(&seen.method.as_str())));
}

#[tokio::test]
async fn a_refusal_is_audited_once_told_once_and_listed_each_time() {
    let net = Net::new(&[]).await;
    let task = net.add_task(None, 1).await;
    let door = net.open_with("task.sock", all(), Some(task));
    for _ in 0..3 {
        assert_eq!(door.client.get_plain("http://other.test/").await.status, 403);
    }
    let told = door.told.refusals();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].host, "other.test");
    assert_eq!(told[0].rule.as_deref(), Some("http://other.test"));
    assert_eq!(net.audited("egress.refused").await.len(), 1);
    let listed = door.refusals(1).await;
    assert_eq!(listed["last"], 3);
    assert_eq!(listed["refusals"].as_array().unwrap().len(), 2);
    assert_eq!(listed["refusals"][0]["seq"], 2);
    let fix = listed["refusals"][0]["fix"].as_str().unwrap();
    assert!(fix.contains("/allow http://other.test"), "{fix}");
    drop(door.door);
    let closed = net.wait_audited("egress.closed").await;
    assert!(closed[0].1.contains("3 refusals: other.test x3"), "{closed:?}");
}

#[tokio::test]
async fn a_flood_of_refusals_is_bounded() {
    let net = Net::new(&[]).await;
    let door = net.open();
    let mut plain = door.client.plain().await;
    for number in 0..400 {
        let host = format!("h{number}.test");
        assert_eq!(plain.get(&format!("http://{host}/"), &host).await.status, 403);
    }
    assert_eq!(net.audited("egress.refused").await.len(), 200);
    assert_eq!(door.told.refusals().len(), 20);
    let listed = door.refusals(0).await;
    assert_eq!(listed["last"], 400);
    assert_eq!(listed["refusals"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn the_first_request_to_a_host_is_audited_before_it_is_sent() {
    let net = Net::new(&["http://a.test", "http://b.test"]).await;
    let task = net.add_task(None, 1).await;
    let door = net.open_with("task.sock", all(), Some(task));
    assert_eq!(door.client.get_plain("http://a.test/").await.status, 200);
    let opened = net.audited("egress.open").await;
    assert_eq!(opened, [("a.test".to_owned(), task.to_string())]);
    // Without an entry there is no request. The rules can still be read, the trail not written.
    net.break_audit();
    assert_eq!(door.client.get_plain("http://a.test/").await.status, 200, "audited before");
    let got = door.client.get_plain("http://b.test/").await;
    assert_eq!(got.status, 403);
    assert!(got.text().contains("audit trail"), "{}", got.text());
    assert!(!net.internet.resolved().contains(&"b.test".to_owned()));
}

#[tokio::test]
async fn what_went_out_is_counted_per_host() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let mut plain = door.client.plain().await;
    let url = "http://allowed.test/length/";
    let post = request("POST", url, "allowed.test", vec![b'x'; 10_000]);
    assert_eq!(plain.ask(post).await.status, 200);
    assert_eq!(plain.get("http://allowed.test/big/65536", "allowed.test").await.status, 200);
    drop((plain, door));
    assert!(net.doors.egress().drain(PATIENCE).await);
    let usage = net.store.egress().egress_usage(net.user.id, 10).await.unwrap();
    assert_eq!(usage.len(), 1);
    assert_eq!((usage[0].host.as_str(), usage[0].requests), ("allowed.test", 2));
    assert!((10_000..11_000).contains(&usage[0].bytes_out), "{:?}", usage[0]);
    assert!((65_536..66_000).contains(&usage[0].bytes_in), "{:?}", usage[0]);
}

#[test]
fn this_machine_knows_its_own_addresses() {
    let own = SystemNetwork::default().own_addresses().unwrap();
    assert!(own.iter().any(|address| address.is_loopback()), "{own:?}");
}

#[tokio::test]
async fn each_door_has_its_own_authority() {
    let net = Net::new(&["allowed.test"]).await;
    let (one, two) =
        (net.open_with("one.sock", all(), None), net.open_with("two.sock", all(), None));
    assert_ne!(one.client.ca().await, two.client.ca().await);
    assert_eq!(one.client.ca().await, one.client.ca().await);
}

#[tokio::test]
async fn closing_the_door_ends_its_tunnels() {
    let net = Net::new(&["allowed.test"]).await;
    let door = net.open();
    let (status, _, mut stream) = door.client.connect_to("allowed.test:443").await;
    assert_eq!(status, 200);
    drop(door.door);
    let mut rest = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("still open").unwrap();
}

#[tokio::test]
async fn a_host_that_the_operator_placed_is_dialled_there() {
    let mut options = fast();
    let placed = Placed::At("10.1.2.3".parse().unwrap());
    options.egress.hosts.insert("mirror.test".to_owned(), placed);
    let net = Net::with(options, &["http://mirror.test", "http://mirror.test:8080"]).await;
    let door = net.open();
    assert_eq!(door.client.get_plain("http://mirror.test/").await.status, 200);
    assert_eq!(net.internet.dialled(), ["10.1.2.3:80"]);
    assert!(net.internet.resolved().is_empty());
    // A rule for another port does not lead to that machine.
    let other = door.client.get_plain("http://mirror.test:8080/").await;
    assert!(other.status != 200, "{other:?}");
    assert_eq!(net.internet.dialled(), ["10.1.2.3:80"]);
    net.forbid("http://mirror.test").await;
    assert_eq!(door.client.get_plain("http://mirror.test/").await.status, 403);
}

/// Loose, so that a busy machine does not fail it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_on_an_open_tunnel_is_not_held_up() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    let mut times = Vec::new();
    for _ in 0..200 {
        let started = Instant::now();
        assert_eq!(
            tunnel.get("/", "allowed.test").await.body,
            Bytes::from("hello from allowed.test")
        );
        times.push(started.elapsed());
    }
    times.sort();
    println!("a proxied request: p50 {:?}, p95 {:?}", times[100], times[190]);
    assert!(times[100] < Duration::from_millis(25), "{:?}", times[100]);
}
