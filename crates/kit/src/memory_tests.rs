use super::*;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_thing_is_done_once_in_its_time() {
    let lately = Lately::default();
    let says = |key: &str, now| lately.first_in(key.to_owned(), MINUTE, now);
    assert!(says("a", 1_000));
    assert!(!says("a", 60_999));
    assert!(says("b", 60_999), "another thing has its own time");
    assert!(says("a", 61_000));
    lately.not_yet("a");
    assert!(says("a", 61_001), "it was not done after all");
    assert!(says("a", 500), "a clock that went back silences nothing");
}

#[test]
fn patience_ends_and_begins_anew() {
    let patience = Patience::default();
    for _ in 0..1000 {
        assert!(patience.left("a", Patience::NONE), "that the platform is away does not count");
    }
    let tries =
        |message: &str, costs| (0..100).take_while(|_| patience.left(message, costs)).count();
    assert_eq!(tries("a", Patience::SOME), 11);
    assert_eq!(tries("b", Patience::MUCH), 2, "each message has its own");
    assert!(patience.left("a", Patience::SOME), "sent again, it begins anew");
    assert!(!patience.left("c", u32::MAX));
}
