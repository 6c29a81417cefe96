use cloister_store::{Actor, Store};
use std::sync::Mutex;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};

use super::signature::{Signer, sha256_hex};
use super::*;

/// What came in: method, path, headers, body.
type Seen = Arc<Mutex<Vec<(Method, Uri, HeaderMap, Bytes)>>>;

/// A place that answers with these statuses, one after another, and then with 200.
async fn place(answers: Vec<StatusCode>) -> (String, Seen, tokio::task::JoinSet<()>) {
    let seen = Seen::default();
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    let state = (Arc::clone(&seen), answers);
    let router = Router::new()
        .fallback(
            |State((seen, answers)): State<(Seen, Arc<Mutex<std::vec::IntoIter<StatusCode>>>)>,
             method: Method,
             uri: Uri,
             headers: HeaderMap,
             body: Bytes| async move {
                seen.lock().unwrap().push((method, uri, headers, body));
                answers.lock().unwrap().next().unwrap_or(StatusCode::OK)
            },
        )
        .with_state(state);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, seen, serving)
}

async fn built(options: AuditOptions) -> (Vec<Arc<dyn CheckpointWitness>>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("cloister.db")).await.unwrap();
    let master = dir.path().join("master.key");
    store.secrets().create_master(&master).await.unwrap();
    let place = cloister_store::secrets::MasterPlace::file(&master);
    let keys = store.secrets().unlock(&place).await.unwrap();
    let hosts = vec!["s3.example.org".parse().unwrap()];
    let form = cloister_vault::Form::Basic { user: "s3".to_owned() };
    let new = cloister_store::secrets::NewSecret {
        owner: Owner::Platform,
        name: "bucket".parse().unwrap(),
        binding: cloister_vault::Binding::new(hosts, form).unwrap(),
        value: "the secret half".to_owned().into(),
    };
    store.secrets().set_secret(&Actor::person("test"), &keys, new).await.unwrap();
    (witnesses(&options, &Books::new(store, keys)).unwrap(), dir)
}

fn bucket(endpoint: String) -> S3Witness {
    S3Witness {
        endpoint,
        bucket: "audit".to_owned(),
        prefix: "plane 1/".to_owned(),
        region: "eu-central-1".to_owned(),
        access_key: "AKIDEXAMPLE".to_owned(),
        secret_key_env: None,
        secret_key_secret: Some("bucket".to_owned()),
    }
}

/// The example of Amazon's own documentation ("PUT Object", Signature Version 4).
#[test]
fn a_request_is_signed_as_amazon_shows_it() {
    let signer = Signer {
        access_key: "AKIAIOSFODNN7EXAMPLE",
        secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        region: "us-east-1",
    };
    let hash = sha256_hex(b"Welcome to Amazon S3.");
    assert_eq!(hash, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
    let headers = [
        ("date", "Fri, 24 May 2013 00:00:00 GMT"),
        ("host", "examplebucket.s3.amazonaws.com"),
        ("x-amz-content-sha256", hash.as_str()),
        ("x-amz-date", "20130524T000000Z"),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
    ];
    let signed = signer.authorize("PUT", "/test%24file.text", &headers, &hash, "20130524T000000Z");
    let expected = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd";
    assert!(signed.ends_with(expected), "{signed}");
}

#[tokio::test]
async fn a_bucket_gets_each_checkpoint_as_an_object_signed_and_without_the_key() {
    let (url, seen, _serving) = place(vec![StatusCode::OK, StatusCode::PRECONDITION_FAILED]).await;
    let options = AuditOptions { witness_s3: Some(bucket(url)), ..AuditOptions::default() };
    let (witnesses, _dir) = built(options).await;
    let witness = &witnesses[0];
    witness.keep(7, b"{\"sent_at\":1}").await.unwrap();
    witness.keep(7, b"{\"sent_at\":2}").await.unwrap();
    let seen = seen.lock().unwrap();
    let (method, uri, headers, body) = &seen[0];
    assert_eq!((method, uri.path()), (&Method::PUT, "/audit/plane%201/000000000007.json"));
    assert_eq!(body.as_ref(), b"{\"sent_at\":1}");
    assert_eq!(headers["if-none-match"], "*");
    let said = |name: &str| headers[name].to_str().unwrap();
    let signer =
        Signer { access_key: "AKIDEXAMPLE", secret: "the secret half", region: "eu-central-1" };
    let hash = sha256_hex(body);
    let signed = [
        ("host", said("host")),
        ("if-none-match", "*"),
        ("x-amz-content-sha256", hash.as_str()),
        ("x-amz-date", said("x-amz-date")),
    ];
    let expected = signer.authorize("PUT", uri.path(), &signed, &hash, said("x-amz-date"));
    assert_eq!(said("authorization"), expected);
    assert!(!format!("{headers:?}{}", witness.name()).contains("the secret half"));
}

#[tokio::test]
async fn a_webhook_is_tried_again_when_it_fails_and_not_when_it_refuses() {
    let answers = vec![StatusCode::BAD_GATEWAY, StatusCode::OK, StatusCode::FORBIDDEN];
    let (url, seen, _serving) = place(answers).await;
    let url = Some(format!("{url}/keep?key=canary"));
    let (witnesses, _dir) =
        built(AuditOptions { witness_webhook: url, ..AuditOptions::default() }).await;
    let witness = &witnesses[0];
    assert!(!witness.name().contains("canary"), "{}", witness.name());
    witness.keep(1, b"one").await.unwrap();
    let refused = witness.keep(2, b"two").await.unwrap_err();
    assert!(refused.contains("403") && !refused.contains("canary"), "{refused}");
    let bodies: Vec<Bytes> = seen.lock().unwrap().iter().map(|seen| seen.3.clone()).collect();
    assert_eq!(bodies, ["one", "one", "two"]);
}

#[tokio::test]
async fn what_can_not_be_reached_says_so_without_its_address() {
    let url = Some("http://127.0.0.1:9/keep?key=canary".to_owned());
    let (witnesses, _dir) =
        built(AuditOptions { witness_webhook: url, ..AuditOptions::default() }).await;
    let failed = witnesses[0].keep(1, b"one").await.unwrap_err();
    assert!(!failed.contains("canary"), "{failed}");
}

#[test]
fn an_address_that_is_none_is_refused_by_the_name_of_its_setting() {
    for wrong in
        ["keeper.example.org", "ftp://keeper.example.org", "https://a:b@keeper.example.org"]
    {
        let error = address("witness_webhook", wrong).unwrap_err().to_string();
        assert!(error.contains("witness_webhook"), "{error}");
    }
}
