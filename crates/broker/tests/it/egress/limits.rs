//! What a request may take: bytes, time, and how many at once.

use std::time::Duration;

use http_body_util::BodyExt;
use tokio::time::timeout;

use super::client::{Sni, get, request};
use super::world::{Net, fast};
use crate::harness::PATIENCE;

#[tokio::test]
async fn a_body_that_is_too_large_is_cut() {
    let mut options = fast();
    options.egress.request_bytes = 100_000;
    let net = Net::with(options, &["http://allowed.test"]).await;
    let door = net.open();
    let mut plain = door.client.plain().await;
    let url = "http://allowed.test/length/";
    let fits = request("POST", url, "allowed.test", vec![b'x'; 90_000]);
    assert_eq!(plain.ask(fits).await.text(), "90000");
    let large = request("POST", url, "allowed.test", vec![b'x'; 200_000]);
    let response = door.client.plain().await.send(large).await;
    assert_eq!(response.status(), 413);
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_cut() {
    let mut options = fast();
    options.egress.response_bytes = 100_000;
    let net = Net::with(options, &["http://allowed.test"]).await;
    let door = net.open();
    let got = door.client.get_plain("http://allowed.test/big/131072").await;
    assert_eq!(got.status, 403);
    assert!(got.text().contains("more than 100000 bytes"), "{}", got.text());
    // One that does not say how large it is breaks off, and the agent can read why.
    let endless = get("http://allowed.test/endless/", "allowed.test");
    let mut plain = door.client.plain().await;
    let response = plain.send(endless).await;
    assert_eq!(response.status(), 200);
    let read = timeout(PATIENCE, response.into_body().collect()).await.expect("it goes on");
    assert!(read.is_err());
    let listed = door.refusals(1).await;
    assert!(listed["refusals"][0]["reason"].as_str().unwrap().contains("100000"), "{listed}");
}

#[tokio::test]
async fn a_users_day_ends_for_all_doors() {
    let mut options = fast();
    options.egress.user_day_bytes = 50_000;
    let net = Net::with(options, &["http://allowed.test"]).await;
    let first = net.open_with("first.sock", super::world::all(), None);
    let second = net.open_with("second.sock", super::world::all(), None);
    let url = "http://allowed.test/length/";
    let post = || request("POST", url, "allowed.test", vec![b'x'; 30_000]);
    assert_eq!(first.client.plain().await.ask(post()).await.status, 200);
    assert_eq!(second.client.plain().await.ask(post()).await.status, 403);
    let small = second.client.get_plain("http://allowed.test/").await;
    assert_eq!(small.status, 200, "what fits still goes");
}

#[tokio::test]
async fn what_was_sent_before_a_restart_counts() {
    let mut options = fast();
    options.egress.user_day_bytes = 50_000;
    let net = Net::with(options, &["http://allowed.test"]).await;
    let traffic = cloister_store::egress::Traffic { requests: 1, bytes_out: 49_990, bytes_in: 0 };
    net.store.egress().add_egress_usage(net.user.id, "x.test", traffic).await.unwrap();
    let door = net.open();
    let got = door.client.get_plain("http://allowed.test/").await;
    assert_eq!(got.status, 403);
    assert!(got.text().contains("in a day"), "{}", got.text());
    net.internet.assert_untouched();
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_given_up() {
    let mut options = fast();
    options.egress.first_byte_ms = 200;
    options.egress.idle_ms = 200;
    let net = Net::with(options, &["http://allowed.test"]).await;
    let door = net.open();
    let got = door.client.get_plain("http://allowed.test/never/").await;
    assert_eq!(got.status, 504);
    assert!(got.text().contains("did not answer in time"), "{}", got.text());
    // One that starts and then stops breaks off.
    let drip = get("http://allowed.test/drip/", "allowed.test");
    let mut plain = door.client.plain().await;
    let response = plain.send(drip).await;
    assert_eq!(response.status(), 200);
    let read = timeout(PATIENCE, response.into_body().collect()).await.expect("it goes on");
    assert!(read.is_err());
    assert_eq!(door.client.get_plain("http://allowed.test/").await.status, 200);
}

#[tokio::test]
async fn an_answer_that_never_ends_has_an_end() {
    let mut options = fast();
    options.egress.total_ms = 300;
    let net = Net::with(options, &["http://allowed.test"]).await;
    let door = net.open();
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    let response = tunnel.send(get("/endless/", "allowed.test")).await;
    let mut body = response.into_body();
    let reading = async {
        while let Some(Ok(_)) = body.frame().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, reading).await.expect("it goes on");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused_from_both_sides() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let got = door.client.get_plain("http://allowed.test/headers/200000").await;
    assert_eq!(got.status, 502, "{}", got.text());
    let large = format!(
        "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nX: {}\r\n\r\n",
        "x".repeat(200_000)
    );
    let answer = door.client.raw(large.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431") || answer.is_empty(), "{answer}");
    let got = door.client.get_plain("http://allowed.test/switch/").await;
    assert_eq!(got.status, 502);
}

#[tokio::test]
async fn only_so_many_tunnels_are_open_at_once() {
    let mut options = fast();
    options.egress.tunnels = 2;
    let net = Net::with(options, &["allowed.test"]).await;
    let door = net.open();
    let first = door.client.connect_to("allowed.test:443").await;
    let second = door.client.connect_to("allowed.test:443").await;
    assert_eq!((first.0, second.0), (200, 200));
    assert_eq!(door.client.connect_to("allowed.test:443").await.0, 429);
    drop(first);
    let waiting = async {
        while door.client.connect_to("allowed.test:443").await.0 != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("a tunnel that is closed makes room");
}
