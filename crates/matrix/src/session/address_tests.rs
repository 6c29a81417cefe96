use super::*;

#[test]
fn an_address_is_a_url_or_a_servers_name() {
    for good in
        ["https://matrix.example.org", "http://127.0.0.1:8008", " https://h/ ", "example.org"]
    {
        assert!(Address::parse(good).is_ok(), "{good}");
    }
    for bad in
        ["", "ftp://example.org", "https://", "https://ann:pw@example.org", "not a name", "@a:b"]
    {
        let Err(error) = Address::parse(bad) else { panic!("{bad} was taken") };
        assert!(error.body().fix.is_some(), "{bad}");
    }
}

#[test]
fn an_account_is_given_in_full() {
    assert!(account_id("@cloister:example.org").is_ok());
    for bad in ["cloister", "@cloister", "cloister:example.org", ""] {
        assert!(account_id(bad).is_err(), "{bad}");
    }
}
