use super::*;

#[test]
fn an_edit_that_says_the_same_is_none() {
    assert!(says_the_same("hello", "hello "));
    assert!(says_the_same("> in reply to Ada:\n> hm\n\nhello", "hello"));
    assert!(!says_the_same("well\n\nhello", "hello"), "something was taken away");
    assert!(!says_the_same("hello", "hello you"));
}

#[test]
fn each_edit_has_a_name_of_its_own() {
    let mut message = Message { message_id: 7, ..Message::default() };
    message.chat.id = -100;
    message.edit_date = Some(1700);
    let mut edit = |words: &str| {
        message.text = Some(words.to_owned());
        edit_name(&message)
    };
    let first = edit("hello");
    assert!(first.starts_with("-100-7-e-1700-"), "{first}");
    assert_eq!(edit("hello"), first);
    assert_ne!(edit("hello you"), first, "within the same second");
}
