use super::*;

fn ip(text: &str) -> Option<IpAddr> {
    Some(text.parse().unwrap())
}

#[test]
fn an_address_that_guesses_waits_and_others_do_not() {
    let logins = LoginThrottle::default();
    for _ in 0..PER_ADDRESS {
        assert!(logins.failed(ip("203.0.113.7")).is_none());
    }
    assert!(logins.failed(ip("203.0.113.7")).is_some());
    assert!(logins.failed(ip("203.0.113.8")).is_none());
    let later = Instant::now() + WINDOW + Duration::from_secs(1);
    assert!(logins.failed_at(ip("203.0.113.7"), later).is_none());
}

#[test]
fn many_addresses_take_bounded_memory_and_keep_nobody_waiting() {
    let logins = LoginThrottle::default();
    for n in 0..10_000_u32 {
        logins.failed(Some(IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0a00_0000 + n))));
    }
    assert!(logins.failed(ip("198.51.100.1")).is_none());
    assert!(logins.addresses.lock().unwrap().len() <= MAX_ADDRESSES);
}

#[test]
fn one_ipv6_network_counts_as_one_address() {
    let logins = LoginThrottle::default();
    for n in 0..PER_ADDRESS {
        assert!(logins.failed(ip(&format!("2001:db8::{n:x}"))).is_none());
    }
    assert!(logins.failed(ip("2001:db8::ffff")).is_some());
    assert!(logins.failed(ip("2001:db8:1::1")).is_none());
}
