use axum::http::HeaderValue;

use super::*;

fn asked_for(host: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))])
}

fn peer(address: &str) -> Peer {
    Peer(Some(address.parse().unwrap()))
}

#[test]
fn only_this_machine_itself_is_local() {
    assert!(is_local(peer("127.0.0.1"), &asked_for("127.0.0.1:8484")));
    assert!(is_local(peer("::1"), &asked_for("[::1]:8484")));
    assert!(is_local(peer("127.0.0.1"), &asked_for("localhost")));
    assert!(is_local(Peer(None), &HeaderMap::new()));
    assert!(!is_local(peer("192.0.2.7"), &asked_for("127.0.0.1:8484")));
    for name in FORWARDED {
        let mut forwarded = asked_for("127.0.0.1:8484");
        let name = header::HeaderName::from_static(name);
        forwarded.insert(&name, HeaderValue::from_static("127.0.0.1"));
        assert!(!is_local(peer("127.0.0.1"), &forwarded), "{name}");
    }
}

#[test]
fn a_page_whose_name_was_made_to_point_here_is_not_local() {
    for host in ["evil.test:8484", "127.0.0.1.evil.test", "localhost.evil.test", "0.0.0.0", ""] {
        assert!(!is_local(peer("127.0.0.1"), &asked_for(host)), "{host}");
    }
    assert!(!is_local(peer("127.0.0.1"), &HeaderMap::new()));
}
