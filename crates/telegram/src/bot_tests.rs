use super::*;

#[test]
fn a_conversation_is_a_chat_or_a_topic_in_it() {
    for (chat, thread, id) in [
        (42, None, "42"),
        (-1001, None, "-1001"),
        (-1001, Some(7), "-1001/7"),
        (42, Some(9), "42/9"),
    ] {
        assert_eq!(conversation_id(chat, thread), id);
        assert_eq!(chat_and_thread(id), Some((chat, thread)));
    }
    for wrong in ["", "/7", "4/", "a", "4/b", "4/7/8"] {
        assert_eq!(chat_and_thread(wrong), None, "{wrong}");
    }
}
