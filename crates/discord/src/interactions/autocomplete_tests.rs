use cloister_protocol::surface::Choice;

use super::offered;

#[test]
fn choices_are_within_what_discord_takes() {
    let long = Choice { value: "C1".to_owned(), label: "x".repeat(300) };
    assert!(offered(long).expect("it is offered").name.chars().count() <= 100);
    let nameless = Choice { value: "C2".to_owned(), label: " ".to_owned() };
    assert_eq!(offered(nameless).expect("it is offered").name, "C2");
    let too_long = Choice { value: "x".repeat(101), label: "x".to_owned() };
    assert!(offered(too_long).is_none());
    assert!(offered(Choice { value: String::new(), label: "x".to_owned() }).is_none());
}
