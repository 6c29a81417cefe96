use super::*;

#[test]
fn a_file_has_the_same_name_in_both_worlds() {
    for (workspace, executor) in [
        ("chats/C3/incoming/a.csv", "/chat/incoming/a.csv"),
        ("chats/C3/files/out/b.txt", "/chat/out/b.txt"),
    ] {
        assert_eq!(as_seen(workspace), executor);
        assert_eq!(in_workspace(ChatId::from_number(3), executor), workspace);
    }
    let chat = ChatId::from_number(3);
    assert_eq!(in_workspace(chat, "./b.txt"), "chats/C3/files/b.txt");
    assert_eq!(in_workspace(chat, "chats/C3/files/b.txt"), "chats/C3/files/b.txt");
    assert_eq!(in_workspace(chat, "/workspace/chats/C3/files/b.txt"), "chats/C3/files/b.txt");
    assert_eq!(as_seen("notes/x.md"), "notes/x.md");
}
