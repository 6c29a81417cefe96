use axum::http::HeaderValue;

use super::*;

fn from(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
    let mut headers = HeaderMap::new();
    for line in forwarded {
        headers.append(FORWARDED_FOR, HeaderValue::from_str(line).unwrap());
    }
    let trusted: Vec<Network> = trusted.iter().map(|one| one.parse().unwrap()).collect();
    comes_from(Some(peer.parse().unwrap()), &headers, &trusted).unwrap().to_string()
}

#[test]
fn only_proxies_that_were_named_are_believed() {
    assert_eq!(from("203.0.113.9", &["198.51.100.1"], &["127.0.0.0/8"]), "203.0.113.9");
    assert_eq!(from("127.0.0.1", &["198.51.100.1"], &["127.0.0.0/8"]), "198.51.100.1");
    // Whatever a client wrote itself stands before what the proxy added.
    let lines = ["1.1.1.1, 198.51.100.1", "10.0.0.7"];
    assert_eq!(from("127.0.0.1", &lines, &["127.0.0.0/8"]), "10.0.0.7");
    assert_eq!(from("127.0.0.1", &lines, &["127.0.0.1", "10.0.0.0/8"]), "198.51.100.1");
    assert_eq!(from("127.0.0.1", &["nobody"], &["127.0.0.1"]), "127.0.0.1");
    assert_eq!(from("127.0.0.1", &[], &["127.0.0.1"]), "127.0.0.1");
    assert_eq!(from("::1", &["::ffff:10.1.2.3"], &["::1"]), "10.1.2.3");
    assert!(comes_from(None, &HeaderMap::new(), &[]).is_none());
}

#[test]
fn networks_are_read_to_the_letter() {
    for right in ["10.0.0.0/8", "10.0.0.1", "0.0.0.0/0", "2001:db8::/32", "::1"] {
        assert!(right.parse::<Network>().is_ok(), "{right}");
    }
    for wrong in ["10.0.0.0/33", "10.0.0/8", "host", "", "::1/129", "10.0.0.1/"] {
        assert!(wrong.parse::<Network>().is_err(), "{wrong}");
    }
    let all: Network = "0.0.0.0/0".parse().unwrap();
    assert!(all.has([203, 0, 113, 1].into()) && !all.has(IpAddr::V6(Ipv6Addr::LOCALHOST)));
}
