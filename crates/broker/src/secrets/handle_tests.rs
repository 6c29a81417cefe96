use super::*;

#[test]
fn a_handle_is_long_random_and_found_again() {
    let (one, other) = (Handle::random().unwrap(), Handle::random().unwrap());
    assert_ne!(one, other);
    assert_eq!(one.as_str().len(), 38);
    let text = format!("x{}y and {}", one.as_str(), other.as_str());
    let found: Vec<&[u8]> = handles_in(text.as_bytes()).collect();
    assert_eq!(found, [one.as_str().as_bytes(), other.as_str().as_bytes()]);
    assert!(!format!("{one:?}").contains(one.as_str()));
}

#[test]
fn what_only_begins_like_one_is_none() {
    for text in ["clsec_", "clsec_short", "clsec_ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", ""] {
        assert_eq!(handles_in(text.as_bytes()).count(), 0, "{text}");
    }
}
