use axum::http::HeaderValue;

use super::*;

#[test]
fn only_this_machine_itself_is_local() {
    let none = HeaderMap::new();
    let peer = |address: &str| Peer(Some(address.parse().unwrap()));
    assert!(is_local(peer("127.0.0.1"), &none));
    assert!(is_local(peer("::1"), &none));
    assert!(is_local(Peer(None), &none));
    assert!(!is_local(peer("192.0.2.7"), &none));
    for name in FORWARDED {
        let forwarded = HeaderMap::from_iter([(
            header::HeaderName::from_static(name),
            HeaderValue::from_static("127.0.0.1"),
        )]);
        assert!(!is_local(peer("127.0.0.1"), &forwarded), "{name}");
    }
}
