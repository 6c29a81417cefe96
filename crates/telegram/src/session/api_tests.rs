use super::*;

const TOKEN: &str = "123456:TheSecretOfThisBot";

/// The token is part of every address, and errors of the client show addresses: none of ours may.
#[tokio::test]
async fn the_token_is_in_no_error() {
    // Nothing listens there.
    let api = Api::new("http://127.0.0.1:1", TOKEN, (Duration::from_secs(5), None)).unwrap();
    let asked = api.me().await.unwrap_err();
    let fetched = api.fetch("photos/file_1.jpg").await.unwrap_err();
    for fault in [asked, fetched] {
        assert!(matches!(fault, Fault::Unreachable(_)), "{fault:?}");
        for words in [format!("{fault:?}"), fault.to_string(), format!("{api:?}")] {
            assert!(!words.contains("TheSecret"), "{words}");
        }
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let api = Api::new(&address, TOKEN, (Duration::from_millis(50), None)).unwrap();
    assert_eq!(api.me().await, Err(Fault::late()));
}

/// X10: a file's name can have any letter; none of them means anything in the address.
#[test]
fn a_path_is_names_alone() {
    let api = Api::new("http://127.0.0.1:1", TOKEN, (Duration::from_secs(5), None)).unwrap();
    let at = |path: &str| api.file_at(path).unwrap();
    let below = format!("/file/bot{TOKEN}/");
    assert_eq!(at("photos/file_1.jpg").path(), format!("{below}photos/file_1.jpg"));
    for (path, encoded) in [
        ("documents/a&b?c#d%2e.txt", "documents/a&b%3Fc%23d%252e.txt"),
        ("documents/отчёт.pdf", "documents/%D0%BE%D1%82%D1%87%D1%91%D1%82.pdf"),
        ("it's\\..\\x", "it's%5C..%5Cx"),
    ] {
        let url = at(path);
        assert_eq!(url.path(), format!("{below}{encoded}"), "{path}");
        assert!(url.query().is_none() && url.fragment().is_none(), "{path}");
    }
}

/// Whatever a server leaves out of an answer that nobody needs, it can be read.
#[test]
fn of_a_bot_only_what_is_needed_is_read() {
    let me: Me = serde_json::from_str(r#"{"id":5,"something":{"new":1}}"#).unwrap();
    assert_eq!(me, Me { id: 5, ..Me::default() });
}
