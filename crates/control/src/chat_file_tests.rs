use super::*;

const C1: ChatId = ChatId::from_number(1);

/// A coordinator named the journal of another chat, and it was uploaded.
#[test]
fn a_chat_has_names_for_its_own_files_only() {
    let coordinator = |said| ChatFile::of_coordinator(C1, said);
    let executor = |said| ChatFile::of_executor(C1, said);
    for (said, meant) in [
        ("chats/C1/files/a.txt", "chats/C1/files/a.txt"),
        ("/workspace/chats/C1/incoming/a.txt", "chats/C1/incoming/a.txt"),
        ("a/b.txt", "chats/C1/files/a/b.txt"),
        ("./a.txt", "chats/C1/files/a.txt"),
        ("/chat/incoming/a.txt", "chats/C1/incoming/a.txt"),
        // A file of that name among the chat's files is a file like any other.
        ("history.db", "chats/C1/files/history.db"),
        ("MEMORY.md", "chats/C1/files/MEMORY.md"),
    ] {
        let found = coordinator(said).map(|file| file.path().as_str().to_owned());
        assert_eq!(found.unwrap(), meant, "{said}");
    }
    for said in [
        "/workspace/chats/C2/history.db-wal",
        "/workspace/chats/C1/history.db",
        "/workspace/chats/C1/history.db-wal",
        "chats/C1/history.db-shm",
        "chats/C1/./history.db-journal",
        "chats/C1/files/../history.db",
        "chats/C1/files/../../C2/files/a.txt",
        "chats/C1/filesystem",
        "chats/C1/files",
        "chats/C2/files/a.txt",
        "chats/C01/files/a.txt",
        "chats/c1/files/a.txt",
        "chats/C1",
        "chats//C1/files/a.txt",
        "chats/",
        "/workspace/MEMORY.md/../../x",
        "/workspace/../w2/chats/C1/files/a.txt",
        "/workspace//chats/C2/files/a.txt",
        "/etc/passwd",
        "../../cloister.db",
        "/chat/../history.db",
        "incoming/../history.db",
        "",
        "a\0b",
    ] {
        assert!(coordinator(said).is_err(), "{said:?}: {:?}", coordinator(said));
        if !said.starts_with("chats/") {
            assert!(executor(said).is_err(), "{said:?}");
        }
    }
    // Where an executor is, `chats/` is a folder of its own.
    assert_eq!(
        executor("chats/C2/a.txt").unwrap().path().as_str(),
        "chats/C1/files/chats/C2/a.txt"
    );
}
