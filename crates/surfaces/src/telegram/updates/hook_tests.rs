use super::*;

/// X1: whoever knows the address of the webhook but not the secret delivers nothing.
#[test]
fn a_delivery_without_the_secret_is_not_telegrams() {
    let hook = Hook::default();
    assert_eq!(hook.knows(Some("anything")), None, "Telegram was not told yet");
    let secret = hook.secret().unwrap().to_owned();
    assert_eq!(hook.secret().unwrap(), secret, "one secret per connection");
    assert!(secret.len() >= 32 && secret.bytes().all(|b| b.is_ascii_alphanumeric()));
    let other = secret.replace('a', "b") + "0";
    for wrong in [None, Some(""), Some("x"), Some(&*other), secret.get(1..)] {
        assert_eq!(hook.knows(wrong), Some(false));
    }
    assert_eq!(hook.knows(Some(&secret)), Some(true));
    assert_ne!(Hook::default().secret().unwrap(), secret);
}
