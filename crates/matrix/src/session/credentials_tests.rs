use super::*;

#[test]
fn credentials_do_not_print() {
    let store = NewStore::random().expect("random numbers");
    let token = "syt_a_token".to_owned();
    let credentials =
        Credentials::new(&store, token, "DEVICE".to_owned(), Some("EsTc recovery".to_owned()));
    let printed = format!("{credentials:?}");
    assert!(printed.contains("DEVICE"), "{printed}");
    for secret in ["syt_a_token", "EsTc", &hex::encode(store.key())] {
        assert!(!printed.contains(secret), "{printed}");
    }
    assert_eq!(&credentials.store_key().expect("a key"), store.key());
}
