use super::*;

/// X1: the secret can't be guessed, is one per connection, and fits where Telegram puts it.
#[test]
fn each_connection_has_a_secret_of_its_own() {
    let hook = Hook::default();
    let secret = hook.secret().unwrap().to_owned();
    assert_eq!(hook.secret().unwrap(), secret, "one secret per connection");
    assert!(secret.len() >= 32 && secret.bytes().all(|b| b.is_ascii_alphanumeric()));
    assert_ne!(Hook::default().secret().unwrap(), secret);
}
