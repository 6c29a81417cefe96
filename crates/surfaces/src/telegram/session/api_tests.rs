use frankenstein::AsyncTelegramApi;

use super::*;

const TOKEN: &str = "123456:TheSecretOfThisBot";

/// The token is part of every address, and errors of the client show addresses: none of ours may.
#[tokio::test]
async fn the_token_is_in_no_error() {
    // Nothing listens there.
    let api = Api::new("http://127.0.0.1:1", TOKEN, Duration::from_secs(5)).unwrap();
    let asked = api.call(api.bot().get_me()).await.unwrap_err();
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
    let api = Api::new(&address, TOKEN, Duration::from_millis(50)).unwrap();
    assert_eq!(api.call(api.bot().get_me()).await, Err(Fault::late()));
}
