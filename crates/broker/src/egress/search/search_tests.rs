use super::*;

fn options(text: &str) -> SearchOptions {
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    serde_json::from_value(json).unwrap()
}

async fn keys(dir: &std::path::Path) -> KeyRing {
    let store = cloister_store::Store::open(&dir.join("cloister.db")).await.unwrap();
    let master = dir.join("master.key");
    store.secrets().create_master(&master).await.unwrap();
    let place = cloister_store::secrets::MasterPlace::file(&master);
    let keys = store.secrets().unlock(&place).await.unwrap();
    KeyRing::new(cloister_control::Books::new(store, keys), dir.to_owned())
}

#[tokio::test]
async fn what_is_missing_in_the_configuration_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let keys = keys(dir.path()).await;
    let set_up =
        |text: &str| Search::new(&options(text), keys.clone()).map_err(|error| error.to_string());
    assert!(set_up("{}").unwrap().is_none());
    let wrong = |text: &str| set_up(text).unwrap_err();
    assert!(wrong(r#"{"provider":"searxng"}"#).contains("url is missing"));
    assert!(wrong(r#"{"provider":"searxng","url":"nonsense"}"#).contains("not an address"));
    assert!(wrong(r#"{"provider":"brave"}"#).contains("needs a key"));
    let two = r#"{"provider":"brave","key_file":"a","key_env":"B"}"#;
    assert!(wrong(two).contains("not both"));
    assert!(wrong(r#"{"provider":"brave","key_file":"../x/y"}"#).contains("key_file"));
    assert!(set_up(r#"{"provider":"brave","key_file":"brave"}"#).unwrap().is_some());
}

#[test]
fn results_are_bounded_and_lead_to_the_web() {
    let result = |url: &str| SearchResult {
        title: "t".repeat(1_000),
        url: url.to_owned(),
        snippet: "s".repeat(10_000),
    };
    assert_eq!(result("javascript:alert(1)").within_bounds(), None);
    assert_eq!(result(&format!("https://x.test/{}", "a".repeat(4_000))).within_bounds(), None);
    let kept = result("https://x.test/").within_bounds().unwrap();
    assert!(kept.title.chars().count() <= MAX_TITLE_CHARS + 1);
    assert!(kept.snippet.chars().count() <= MAX_SNIPPET_CHARS + 1);
}
