//! `/fetch`, as the agent uses it.

use cloister_protocol::ErrorCode;
use serde_json::{Value, json};

use super::world::{Net, fast};
use crate::harness::{Answer, Client};

async fn fetch(client: &Client, request: Value) -> Answer {
    client.request("POST", "/fetch", request.to_string()).await
}

#[tokio::test]
async fn a_page_comes_with_where_it_came_from() {
    let net = Net::new(&["allowed.test", "a.test"]).await;
    let door = net.open();
    let url = "https://allowed.test/redirect/https://a.test/redirect//page?q=1";
    let answer = fetch(&door.client, json!({ "url": url })).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["x-cloister-url"], "https://a.test/page?q=1");
    assert_eq!(answer.headers["x-cloister-status"], "200");
    assert_eq!(answer.headers["x-cloister-truncated"], "false");
    assert_eq!(answer.headers["content-type"], "text/html");
    assert_eq!(answer.body().await, "hello from a.test");
}

#[tokio::test]
async fn a_page_that_is_too_long_is_cut_and_says_so() {
    let net = Net::new(&["allowed.test"]).await;
    let door = net.open();
    let asked = json!({"url": "https://allowed.test/big/131072", "max_bytes": 1000});
    let answer = fetch(&door.client, asked).await;
    assert_eq!(answer.headers["x-cloister-truncated"], "true");
    assert_eq!(answer.body().await.len(), 1000);
    let answer = fetch(&door.client, json!({"url": "https://allowed.test/gzip/"})).await;
    assert_eq!(answer.headers["content-encoding"], "gzip");
}

#[tokio::test]
async fn a_refusal_says_which_host_why_and_what_to_do() {
    let net = Net::new(&["allowed.test"]).await;
    let door = net.open();
    let answer = fetch(&door.client, json!({"url": "https://other.test/page"})).await;
    assert_eq!(answer.status, 403);
    let error = answer.error().await;
    assert_eq!(error.code, ErrorCode::Refused);
    assert_eq!(error.message, "other.test is refused: no rule allows this host");
    assert_eq!(error.fix.unwrap(), "The owner can allow it: /allow other.test.");
    assert_eq!(door.told.refusals()[0].rule.as_deref(), Some("other.test"));
    for bad in [json!({}), json!({"url": 1}), json!({"url": "https://a.test", "x": 1})] {
        let answer = fetch(&door.client, bad).await;
        assert_eq!(answer.status, 400);
        assert!(answer.error().await.fix.unwrap().contains("{\"url\""));
    }
    net.internet.assert_untouched();
}

#[tokio::test]
async fn a_page_that_does_not_come_in_time_is_given_up() {
    let mut options = fast();
    options.egress.fetch_ms = 200;
    let net = Net::with(options, &["allowed.test"]).await;
    let door = net.open();
    for page in ["never", "drip"] {
        let url = format!("https://allowed.test/{page}/");
        let answer = fetch(&door.client, json!({ "url": url })).await;
        assert_eq!(answer.status, 504, "{page}");
    }
}
