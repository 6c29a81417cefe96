use axum::http::HeaderValue;

use super::*;

fn ours(host: &str, url: &str) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
    is_ours(&headers, url)
}

/// E75: a page whose own name was made to point at this machine.
#[test]
fn a_name_that_somebody_made_to_point_here_is_not_ours() {
    let local = "http://127.0.0.1:8484";
    for host in ["evil.example", "evil.example:8484", "127.0.0.1.evil.example", "a@127.0.0.1", ""] {
        assert!(!ours(host, local), "{host:?}");
    }
    assert!(!ours("evil.example", "https://agents.example"));
    assert!(!ours("agents.example.evil.example", "https://agents.example"));
    assert!(!is_ours(&HeaderMap::new(), local), "no name at all");
    let mut two = HeaderMap::new();
    two.append(header::HOST, HeaderValue::from_static("127.0.0.1"));
    two.append(header::HOST, HeaderValue::from_static("evil.example"));
    assert!(!is_ours(&two, local), "two names");
}

#[test]
fn an_address_our_own_name_and_names_of_the_house_are_ours() {
    let local = "http://127.0.0.1:8484";
    for host in ["127.0.0.1:8484", "localhost:8484", "[::1]:8484", "192.168.1.7", "cloister"] {
        assert!(ours(host, local), "{host:?}");
    }
    assert!(ours("Agents.example", "https://agents.example"));
    assert!(ours("agents.example:443", "https://agents.example:443"));
}
