use super::*;

const C2: ChatId = ChatId::from_number(2);

#[test]
fn a_topic_is_called_like_its_chat() {
    assert_eq!(topic_name(C2, "", false), "C2");
    assert_eq!(topic_name(C2, "Taxes", false), "C2 · Taxes");
    assert_eq!(topic_name(C2, "Taxes", true), "C2 · Taxes (archived)");
    let long = topic_name(C2, &"ä".repeat(300), true);
    assert_eq!(long.chars().count(), 128);
    assert!(long.ends_with("… (archived)"), "{long}");
}

#[test]
fn the_name_of_a_topic_stands_for_a_title() {
    for (name, title) in [
        ("C2 · Taxes", "Taxes"),
        ("C2 · Taxes (archived)", "Taxes"),
        ("C2", ""),
        ("My taxes", "My taxes"),
        ("C20 · other", "C20 · other"),
        (" two\nlines ", "two lines"),
    ] {
        assert_eq!(title_in(name, C2), title, "{name}");
    }
}
