//! What control's gate says, and what control is told of that comes in.

use cloister_broker::SearchKind;
use cloister_control::ports::{CameIn, ContentPart, ContentSource, Gated};
use cloister_protocol::ApprovalId;
use cloister_store::audit::Fingerprint;
use http_body_util::BodyExt;
use serde_json::json;
use tokio::time::timeout;

use super::client::{Sni, get, request};
use super::world::{Net, OpenNet, fast};
use crate::harness::PATIENCE;
use crate::open_gate::lets_go;

/// Content as it was told of: where from, and its text.
fn web(url: &str, text: &str) -> (ContentSource, String) {
    (ContentSource::Web { url: url.to_owned() }, text.to_owned())
}

fn told(door: &OpenNet) -> Vec<(ContentSource, String)> {
    let text = |content: &CameIn| String::from_utf8_lossy(&content.text).into_owned();
    door.told.came_in().iter().map(|content| (content.source.clone(), text(content))).collect()
}

/// G3: what was decided on is what is sent, byte for byte.
#[tokio::test]
async fn the_gate_sees_all_of_a_request_and_the_host_gets_the_same() {
    let net = Net::new(&["http://allowed.test", "allowed.test"]).await;
    let door = net.open();
    let body: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    let mut tunnel =
        door.client.tunnel("allowed.test:443", Sni::Says("allowed.test")).await.unwrap();
    let post = request("POST", "/length/?a=1&b=%20", "allowed.test", body.clone());
    assert_eq!(tunnel.ask(post).await.text(), "300000");
    let chunked = "PUT http://allowed.test/length/ HTTP/1.1\r\nHost: allowed.test\r\n\
                   Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n4\r\n you\r\n0\r\n\r\n";
    assert!(door.client.raw(chunked.as_bytes()).await.starts_with("HTTP/1.1 200"));
    let gated = door.told.gated();
    let seen = net.internet.seen();
    assert_eq!(gated.len(), 2);
    for (gated, seen) in gated.iter().zip(&seen) {
        assert_eq!((&gated.method, &gated.body), (&seen.method, &seen.body));
        let query = gated.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        assert_eq!(format!("{}{query}", gated.to.path), seen.path);
        assert_eq!(gated.to.authority().split(':').next(), Some("allowed.test"));
    }
    assert_eq!(gated[0].body, body);
    assert_eq!(gated[1].body, "hello you");
}

/// G3: what headers say is decided on too; which program asks is all that is told of it.
#[tokio::test]
async fn the_gate_sees_the_headers_that_go_out() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let mut asked = get("http://allowed.test/", "allowed.test");
    let headers = asked.headers_mut();
    headers.insert("user-agent", "pip/24.0 {\"cpu\":\"x86_64\"}".parse().unwrap());
    headers.insert("x-said", "diary".parse().unwrap());
    headers.insert("proxy-connection", "keep-alive".parse().unwrap());
    assert_eq!(door.client.plain().await.ask(asked).await.status, 200);
    let gated = door.told.gated().remove(0).headers;
    let header =
        |name: &str| gated.iter().find(|(known, _)| known == name).map(|(_, v)| v.as_str());
    assert_eq!(header("x-said"), Some("diary"));
    assert_eq!(header("user-agent"), Some("pip/24.0 {\"cpu\":\"x86_64\"}"));
    assert_eq!(header("proxy-connection"), None);
    // What goes out is built from that.
    assert_eq!(net.internet.seen()[0].headers["user-agent"], "pip/24.0");
}

/// G3: whatever a program asks, nothing leaves before the gate has said so.
#[tokio::test]
async fn what_the_gate_refuses_does_not_leave() {
    let net = Net::new(&["http://allowed.test", "allowed.test"]).await;
    let door = net.open();
    door.told.judge(|_| Gated::Refused { reason: "not today".to_owned(), approval: None });
    let plain = door.client.get_plain("http://allowed.test/").await;
    assert_eq!(plain.status, 403);
    assert!(plain.text().contains("allowed.test is refused: not today"), "{}", plain.text());
    assert_eq!(door.client.get_secure("allowed.test", "/").await.status, 403);
    let fetched = json!({"url": "https://allowed.test/"}).to_string();
    let fetched = door.client.request("POST", "/fetch", fetched).await;
    assert_eq!(fetched.status, 403);
    assert!(fetched.error().await.message.contains("not today"));
    net.internet.assert_untouched();
    assert!(door.told.came_in().is_empty());
    // It is beside the program's output; the person heard of it from control.
    let listed = door.refusals(0).await;
    assert_eq!(listed["refusals"].as_array().unwrap().len(), 3);
    assert!(door.told.refusals().is_empty());
    assert!(net.audited("egress.refused").await.is_empty());
    assert!(net.audited("egress.open").await.is_empty());
}

/// G2: a held request says so, and under which id the person is asked.
#[tokio::test]
async fn a_held_request_says_who_is_asked() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let approval = ApprovalId::from_number(7);
    door.told.judge(move |outward| match outward.method.as_str() {
        "GET" => lets_go(outward),
        _ => Gated::Refused { reason: "it sends data.".to_owned(), approval: Some(approval) },
    });
    let post = request("POST", "http://allowed.test/", "allowed.test", "x");
    let held = door.client.plain().await.ask(post).await;
    assert_eq!(held.status, 403);
    let words = format!(
        "allowed.test is held: it sends data. The person is asked ({approval}); the task goes on when \
         they answer"
    );
    assert_eq!(held.headers["x-cloister-refusal"].to_str().unwrap(), words.replace(":80", ""));
    let listed = door.refusals(0).await;
    assert!(listed["refusals"][0]["reason"].as_str().unwrap().contains(&approval.to_string()));
    assert!(door.told.refusals().is_empty());
    assert!(net.internet.seen().is_empty());
    assert_eq!(door.client.get_plain("http://allowed.test/").await.status, 200);
}

#[tokio::test]
async fn a_body_on_a_request_that_only_reads_is_refused() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    for method in ["GET", "HEAD"] {
        let smuggling = request(method, "http://allowed.test/", "allowed.test", "data");
        let got = door.client.plain().await.ask(smuggling).await;
        assert_eq!(got.status, 403, "{method}");
    }
    net.internet.assert_untouched();
    assert!(door.told.gated().is_empty());
}

/// G4: each step of a redirect is a request of its own.
#[tokio::test]
async fn each_redirect_passes_the_gate_and_is_known_before_the_next() {
    let net = Net::new(&["allowed.test", "a.test", "b.test"]).await;
    let door = net.open();
    door.told.judge(|outward| match outward.to.host.as_str() {
        "b.test" => Gated::Refused { reason: "not there".to_owned(), approval: None },
        _ => lets_go(outward),
    });
    let url = "https://allowed.test/redirect/https://a.test/redirect/https://b.test/stolen";
    let asked = json!({ "url": url }).to_string();
    let answer = door.client.request("POST", "/fetch", asked).await;
    assert_eq!(answer.status, 403);
    let hosts: Vec<String> = door.told.gated().iter().map(|o| o.to.host.to_string()).collect();
    assert_eq!(hosts, ["allowed.test", "a.test", "b.test"]);
    let seen: Vec<String> = net.internet.seen().into_iter().map(|seen| seen.host).collect();
    assert_eq!(seen, ["allowed.test", "a.test"]);
    let second = "https://a.test/redirect/https://b.test/stolen";
    assert_eq!(told(&door), [web(url, second), web(second, "https://b.test/stolen")]);
}

/// G4: where an answer leads to is a link like any other, also when it is not said whole.
#[tokio::test]
async fn where_a_redirect_leads_is_known_as_a_whole_address() {
    let net = Net::new(&["allowed.test"]).await;
    let door = net.open();
    let asked = json!({"url": "https://allowed.test/redirect//post?a=1"}).to_string();
    assert_eq!(door.client.request("POST", "/fetch", asked).await.status, 200);
    let first = told(&door).remove(0);
    assert_eq!(
        first,
        web("https://allowed.test/redirect//post?a=1", "https://allowed.test/post?a=1")
    );
}

/// G4: that content came in is recorded before any of it is handed over, and its text before its end.
#[tokio::test]
async fn content_is_known_before_the_sandbox_has_it() {
    let net = Net::new(&["http://allowed.test"]).await;
    let door = net.open();
    let url = "http://allowed.test/page?q=1";
    assert_eq!(door.client.get_plain(url).await.text(), "hello from allowed.test");
    assert_eq!(told(&door), [web(url, ""), web(url, "hello from allowed.test")]);
    // U1: what it was as a whole is known with it.
    let parts: Vec<ContentPart> = door.told.came_in().into_iter().map(|told| told.part).collect();
    let whole = ContentPart::Whole(Fingerprint::of(b"hello from allowed.test"));
    assert_eq!(parts, [ContentPart::Begins, whole]);
    // One whose end does not come is known all the same.
    let mut plain = door.client.plain().await;
    let drip = plain.send(get("http://allowed.test/drip/", "allowed.test")).await;
    assert_eq!(drip.status(), 200);
    assert_eq!(told(&door).pop(), Some(web("http://allowed.test/drip/", "")));
    // Of a long one the beginning is told when it is there.
    let big = "http://allowed.test/endless/";
    let mut plain = door.client.plain().await;
    let mut body = plain.send(get(big, "allowed.test")).await.into_body();
    let mut read = 0;
    while read < 300 << 10 {
        let frame = timeout(PATIENCE, body.frame()).await.unwrap().unwrap().unwrap();
        read += frame.into_data().unwrap().len();
    }
    let last = door.told.came_in().pop().unwrap();
    assert_eq!(last.text.len(), 256 << 10);
}

/// G4: marks that can't be kept keep the content out.
#[tokio::test]
async fn content_that_can_not_be_recorded_is_not_handed_over() {
    let net = Net::new(&["http://allowed.test", "allowed.test"]).await;
    let door = net.open();
    door.told.forget_everything();
    let got = door.client.get_plain("http://allowed.test/page").await;
    assert_eq!(got.status, 502);
    assert!(!got.text().contains("hello"), "{}", got.text());
    let fetched = json!({"url": "https://allowed.test/"}).to_string();
    let fetched = door.client.request("POST", "/fetch", fetched).await;
    assert_eq!(fetched.status, 502);
    assert!(!fetched.body().await.contains("hello"));
}

#[tokio::test]
async fn a_search_passes_the_gate_with_its_words() {
    let mut options = fast();
    options.search.provider = Some(SearchKind::Searxng);
    // Nobody is there: what is refused is not even asked.
    options.search.url = Some("http://127.0.0.1:1".to_owned());
    let net = Net::with(options, &[]).await;
    let door = net.open();
    door.told.judge(|_| Gated::Refused { reason: "it tells".to_owned(), approval: None });
    let asked = json!({"query": "my secret & diary"}).to_string();
    assert_eq!(door.client.request("POST", "/search", asked).await.status, 403);
    let gated = door.told.gated();
    assert_eq!(gated[0].to.host.as_str(), "searxng.search");
    assert_eq!(gated[0].query.as_deref(), Some("q=my+secret+%26+diary"));
}
