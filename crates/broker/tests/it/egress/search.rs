//! `/search`, with a provider that the operator runs on this machine.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use cloister_broker::SearchKind;
use cloister_control::ports::Egress;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::world::{Net, all, fast};

const KEY: &str = "brave-key-0123456789";

/// The address and the key of a question.
type Asked = (String, Option<String>);

struct Provider {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    _server: JoinSet<()>,
}

/// Answers every question with `answer`, and remembers address and key.
async fn provider(status: u16, answer: serde_json::Value) -> Provider {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked: Arc<Mutex<Vec<_>>> = Arc::default();
    let mut server = JoinSet::new();
    let seen = Arc::clone(&asked);
    server.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (seen, answer) = (Arc::clone(&seen), answer.to_string());
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let key = request.headers().get("x-subscription-token");
                let key = key.map(|key| key.to_str().unwrap().to_owned());
                seen.lock().unwrap().push((request.uri().to_string(), key));
                let response = Response::builder().status(status).body(Body::from(answer.clone()));
                async move { Ok::<_, Infallible>(response.unwrap()) }
            });
            let http = hyper::server::conn::http1::Builder::new();
            drop(http.serve_connection(TokioIo::new(stream), service).await);
        }
    });
    Provider { url, asked, _server: server }
}

#[tokio::test]
async fn searxng_is_asked_and_its_answer_is_put_in_order() {
    let provider = provider(
        200,
        json!({"results": [
            {"title": "One", "url": "https://one.test/", "content": "first", "engine": "x"},
            {"title": "Bad", "url": "javascript:alert(1)", "content": ""},
            {"title": "Two", "url": "https://two.test/", "content": null},
        ]}),
    )
    .await;
    let mut options = fast();
    options.search.provider = Some(SearchKind::Searxng);
    options.search.url = Some(provider.url.clone());
    let net = Net::with(options, &[]).await;
    let door = net.open();
    let asked = json!({"query": "a b & c", "count": 5}).to_string();
    let found = door.client.request("POST", "/search", asked).await.json().await;
    assert_eq!(
        found,
        json!({"provider": "searxng", "results": [
            {"title": "One", "url": "https://one.test/", "snippet": "first"},
            {"title": "Two", "url": "https://two.test/", "snippet": ""},
        ]})
    );
    let asked = provider.asked.lock().unwrap().clone();
    assert_eq!(asked[0].0, "/search?format=json&q=a+b+%26+c");
    assert_eq!(net.audited("egress.open").await.len(), 1);
    // A task with hosts of its own was not given searches.
    let only = Egress::Open { only: Some(vec!["a.test".into()]), reads_only: false, secrets: None };
    let narrow = net.open_with("narrow.sock", only, None);
    assert_eq!(narrow.client.request("POST", "/search", r#"{"query":"x"}"#).await.status, 403);
}

#[tokio::test]
async fn brave_gets_its_key_and_nobody_else_does() {
    let results = json!({"web": {"results": [
        {"title": "One", "url": "https://one.test/", "description": "first"},
    ]}});
    let provider = provider(200, results).await;
    let mut options = fast();
    options.search.provider = Some(SearchKind::Brave);
    options.search.url = Some(provider.url.clone());
    options.search.key_file = Some("brave".to_owned());
    let net = Net::with(options, &[]).await;
    let door = net.open();
    let missing = door.client.request("POST", "/search", r#"{"query":"x"}"#).await;
    assert_eq!(missing.status, 502);
    net.seal_key("brave", KEY).await;
    let answer = door.client.request("POST", "/search", r#"{"query":"x","count":3}"#).await;
    let found = answer.body().await;
    assert!(found.contains("\"snippet\":\"first\"") && !found.contains(KEY), "{found}");
    let asked = provider.asked.lock().unwrap().clone();
    // How many are wanted stays here.
    assert!(asked[0].0.starts_with("/res/v1/web/search?q=x&count=20"), "{asked:?}");
    assert_eq!(asked[0].1.as_deref(), Some(KEY));
}

#[tokio::test]
async fn a_search_that_fails_says_so_without_details() {
    let provider = provider(500, json!({"error": "internal detail"})).await;
    let mut options = fast();
    options.search.provider = Some(SearchKind::Searxng);
    options.search.url = Some(provider.url.clone());
    let net = Net::with(options, &[]).await;
    let door = net.open_with("door.sock", all(), None);
    let answer = door.client.request("POST", "/search", r#"{"query":"x"}"#).await;
    assert_eq!(answer.status, 502);
    assert_eq!(
        answer.error().await.message,
        "the search failed: the provider answered with status 500"
    );
    let empty = door.client.request("POST", "/search", r#"{"query":" "}"#).await;
    assert_eq!(empty.status, 400);
}

#[tokio::test]
async fn without_a_provider_it_is_said_what_to_set() {
    let net = Net::new(&[]).await;
    let door = net.open();
    let answer = door.client.request("POST", "/search", r#"{"query":"x"}"#).await;
    assert_eq!(answer.status, 403);
    let fix = answer.error().await.fix.unwrap();
    assert!(fix.contains("[search]") && fix.contains("provider = \"searxng\""), "{fix}");
}
