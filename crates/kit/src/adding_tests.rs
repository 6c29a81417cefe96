use super::*;

#[test]
fn plain_http_is_only_private_on_this_machine() {
    for private in
        ["https://example.org", "http://localhost:8008", "http://127.0.0.1", "http://[::1]:1"]
    {
        assert!(!goes_in_the_clear(private), "{private}");
    }
    for open in ["http://example.org", "http://10.0.0.1:8008", "http://127.example.org/"] {
        assert!(goes_in_the_clear(open), "{open}");
    }
}
