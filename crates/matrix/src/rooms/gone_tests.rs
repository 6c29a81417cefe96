use super::*;

#[test]
fn who_asks_for_chats_asks_for_all_or_one() {
    let chat = |number| Wanted::One(ChatId::from_number(number));
    for (text, wanted) in [
        ("!chats", Some(Wanted::All)),
        (" /CHATS ", Some(Wanted::All)),
        ("!chats c51", Some(chat(51))),
        ("!chats C51 please", Some(chat(51))),
        ("!chats nonsense", None),
        ("chats", None),
        ("!chatsC5", None),
        ("what chats are there?", None),
    ] {
        assert_eq!(Wanted::of(text), wanted, "{text:?}");
    }
    assert!(Wanted::All.is(ChatId::from_number(7)) && !chat(51).is(ChatId::from_number(5)));
}
