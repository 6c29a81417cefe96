//! Files up and down: safe unique names, and no way out of the workspace.

use std::path::Path;

use cloister_protocol::{AgentFrame, Attachment, ClientFrame, Message, SendFile};
use cloister_testkit::{AgentClient, Reply};
use serde_json::json;

use crate::world::{Talk, World, ask_for_report, bash, code_of, frame, jobs};

async fn sent_file(client: &mut AgentClient) -> SendFile {
    frame(client, "a file", |frame| match frame {
        AgentFrame::SendFile(file) => Some(file.clone()),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn uploads_get_safe_and_unique_names() {
    let world = World::start().await;
    let session = world.stack.session("owner").await.unwrap();
    let names = [
        "plain.txt",
        "plain.txt",
        "..%2F..%2F..%2Fcloister.db",
        "%2Fetc%2Fpasswd",
        "..",
        "",
        "%00",
        "a%00b.txt",
        "%2e%2e%5c%2e%2e%5cwin.ini",
        // A slash look-alike, a direction mark that hides an extension, a line end.
        "a%E2%88%95b.txt",
        "invoice%E2%80%AEfdp.exe",
        "two%0Alines.txt",
        ".hidden",
        "-rf",
    ];
    let long = format!("{}.pdf", "x".repeat(300));
    let incoming = world.stack.data().join("workspaces/w1/chats/C1/incoming");
    let mut seen = std::collections::BTreeSet::new();
    for name in names.into_iter().chain([long.as_str()]) {
        let answer = world.upload(&session, name, b"content").await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        let file: Attachment = answer.json().unwrap();
        assert_eq!(file.path, format!("chats/C1/incoming/{}", file.name), "{name}");
        let odd = |c: char| c.is_control() || "/\\\u{2215}\u{202e}".contains(c);
        assert!(!file.name.contains(odd), "{name}: {:?}", file.name);
        assert!(!file.name.starts_with(['.', '-']) && file.name.len() <= 200, "{:?}", file.name);
        assert_eq!(std::fs::read(incoming.join(&file.name)).unwrap(), b"content");
        assert!(seen.insert(file.name), "{name} got the name of another");
    }
    assert_eq!(std::fs::read_dir(&incoming).unwrap().count(), seen.len(), "and nothing else");
    assert!(seen.contains("plain.txt") && seen.contains("plain-2.txt"));
    let nowhere = world.stack.http(
        "POST",
        "/cells/w1/v1/chats/C77/files?name=x",
        Some(&session.token),
        b"x".to_vec(),
    );
    assert_eq!(nowhere.await.unwrap().status, 404);
}

#[tokio::test]
async fn twenty_uploads_of_one_name_at_once_are_twenty_files() {
    let world = World::start().await;
    let session = world.stack.session("owner").await.unwrap();
    let texts: Vec<String> = (0..20).map(|number| format!("content {number}")).collect();
    let uploads = texts.iter().map(|text| world.upload(&session, "same.txt", text.as_bytes()));
    let answers = futures_util::future::join_all(uploads).await;
    for (answer, text) in answers.iter().zip(&texts) {
        let file: Attachment =
            answer.json().unwrap_or_else(|error| panic!("{error}: {}", answer.text()));
        let path = world.stack.data().join("workspaces/w1").join(file.path);
        assert_eq!(&std::fs::read_to_string(path).unwrap(), text);
    }
}

#[tokio::test]
async fn a_file_without_words_starts_a_turn_and_reaches_the_task() {
    let script = jobs(vec![("read", vec![bash("cat /chat/incoming/notes.txt")])]);
    let world = World::with("", script).await;
    let session = world.stack.session("owner").await.unwrap();
    let answer = world.upload(&session, "notes.txt", b"buy milk").await;
    let file: Attachment = answer.json().unwrap();
    let mut client = world.owner().await;
    client.connect().await.unwrap();
    let message = Message {
        id: "m1".parse().unwrap(),
        chat: None,
        text: String::new(),
        attachments: vec![file],
        instead: None,
        from: None,
    };
    client.send(&ClientFrame::Message(message)).await.unwrap();
    frame(&mut client, "the answer", |f| matches!(f, AgentFrame::End(_)).then_some(())).await;
    let told = world.model.requests().pop().unwrap().last_user_text();
    for part in ["path: /chat/incoming/notes.txt", "name: notes.txt", "type: text/plain"] {
        assert!(told.contains(part), "{told}");
    }
    let end = ask_for_report(&mut client, "job:read").await;
    assert!(end.text.contains("buy milk"), "{}", end.text);
}

#[tokio::test]
async fn a_sent_file_is_fetched_with_the_session_s_token_only() {
    let steps = vec![
        bash("head -c 300000 /dev/urandom > blob.bin; md5sum < blob.bin"),
        Reply::tool_call("send_file", json!({"path": "blob.bin", "name": "../my blob?.bin"})),
        // What was sent is what it was then.
        bash("echo changed > blob.bin"),
    ];
    let world = World::with("", jobs(vec![("send", steps)])).await;
    let mut client = world.owner().await;
    client.say("job:send").await;
    let file = sent_file(&mut client).await;
    crate::world::report(&mut client).await;
    assert_eq!((file.name.as_str(), file.size), ("my blob_.bin", 300_000));
    let url = file.url.unwrap();
    let own = client.session().token.clone();
    let fetched = world.stack.http("GET", &url, Some(&own), Vec::new()).await.unwrap();
    assert_eq!((fetched.status, fetched.body.len()), (200, 300_000));
    let stranger = world.add_user("mallory").await;
    let moved = url.replace("/w1/", &format!("/{}/", stranger.workspace));
    for (url, token, status) in [
        (&url, None, 401),
        (&url, Some(&stranger.token), 403),
        (&moved, Some(&stranger.token), 404),
    ] {
        let token = token.map(String::as_str);
        let refused = world.stack.http("GET", url, token, Vec::new()).await.unwrap();
        assert_eq!(refused.status, status, "{}", code_of(&refused));
    }
    // The command line saves it.
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().to_str().unwrap();
    world.stack.cli_ok(&["chat", "--wait", "--save", place, "job:send"]).await.unwrap();
    assert_eq!(std::fs::metadata(dir.path().join("my blob_.bin")).unwrap().len(), 300_000);
}

async fn asked(client: &mut AgentClient, about: &str) {
    let ask = frame(client, "a question", |frame| match frame {
        AgentFrame::Ask(ask) => Some(ask.clone()),
        _ => None,
    })
    .await;
    assert!(ask.text.contains(about), "{}", ask.text);
}

/// G5: what a person sent stays read-only for all code of a task, and one of these files goes when they allow that
/// very deletion, which the control plane makes.
#[tokio::test]
async fn what_was_sent_is_read_only_for_a_task_whatever_was_allowed() {
    let python = |code: &str| Reply::tool_call("python", json!({"code": code}));
    let spoil = vec![
        bash("mkdir -p build && touch build/x"),
        bash("rm -rf build"),
        python("open('/chat/incoming/ledger.csv', 'w').write('spoiled')"),
        python("import os; os.remove('incoming/ledger.csv')"),
        bash("mv incoming/ledger.csv mine.csv"),
        Reply::tool_call("write_file", json!({"path": "incoming/new.txt", "content": "x"})),
        bash("rm incoming/ledger.csv"),
        bash("cp incoming/ledger.csv copy.csv && echo more >> copy.csv && cat copy.csv"),
    ];
    let remove = vec![bash("rm incoming/ledger.csv"), bash("ls incoming")];
    let world = World::with("", jobs(vec![("spoil", spoil), ("remove", remove)])).await;
    let session = world.stack.session("owner").await.unwrap();
    world.upload(&session, "ledger.csv", b"precious\n").await;
    let ledger = world.stack.data().join("workspaces/w1/chats/C1/incoming/ledger.csv");
    let kept = || std::fs::read_to_string(&ledger).unwrap_or_default();

    let mut client = world.owner().await;
    client.say("job:spoil").await;
    // Nothing before was asked: neither what can be taken back nor what can't be done is a question.
    asked(&mut client, "rm incoming/ledger.csv").await;
    assert_eq!(kept(), "precious\n");
    client.say("/no").await;
    let end = crate::world::report(&mut client).await;
    assert!(end.text.contains("precious\nmore"), "a copy is the task's own: {}", end.text);
    assert_eq!(kept(), "precious\n");
    let mut executor = world.model.requests();
    executor.retain(|request| request.tool_names().contains(&"bash"));
    let told: Vec<String> =
        executor.into_iter().flat_map(|request| request.tool_results()).collect();
    let refused = told.iter().filter(|result| result.contains("change the copy")).count();
    assert_eq!(refused, 2, "the move and the write are explained: {told:#?}");
    let read_only = told.iter().filter(|result| result.contains("Read-only file system")).count();
    assert_eq!(read_only, 2, "{told:#?}");

    client.say("job:remove").await;
    asked(&mut client, "rm incoming/ledger.csv").await;
    client.say("/yes").await;
    crate::world::report(&mut client).await;
    assert!(!ledger.exists());
    let audit = world.audit().await;
    let deleted: Vec<_> = audit.iter().filter(|row| row.action == "file.delete").collect();
    assert_eq!(deleted.len(), 1, "{audit:#?}");
}

#[tokio::test]
async fn nothing_outside_the_workspace_can_be_sent() {
    let tricks = "ln -s /etc/passwd link; ln -s / root; mkfifo pipe; echo x > file; ln file hard; \
                  mkdir dir; ln -s ../../../SOUL.md soul; echo ready";
    let paths = [
        "../../../../../etc/passwd",
        "../../../SOUL.md",
        "../history.db",
        "/etc/passwd",
        "/chat/../../../etc/passwd",
        "chats/C2/files/other.txt",
        "link",
        "root/etc/passwd",
        "soul",
        "pipe",
        "hard",
        "dir",
        "not-there",
        "incoming/../../history.db",
    ];
    let long = "x/".repeat(3000);
    let sends = paths.into_iter().chain([long.as_str(), "a\0b"]);
    let sends = sends.map(|path| Reply::tool_call("send_file", json!({"path": path})));
    let steps: Vec<Reply> = std::iter::once(bash(tricks)).chain(sends).collect();
    let count = steps.len() - 1;
    let world = World::with("", jobs(vec![("tricks", steps)])).await;
    let mut client = world.owner().await;
    client.say("job:tricks").await;
    let mut files = Vec::new();
    let end = loop {
        match client.frame_or_reconnect(crate::world::PATIENCE).await.unwrap() {
            AgentFrame::SendFile(file) => files.push(file),
            AgentFrame::End(end) if end.message.is_none() => break end,
            _ => {}
        }
    };
    assert!(files.is_empty(), "{files:?}");
    let objects = std::fs::read_dir(world.stack.data().join("objects")).unwrap();
    assert_eq!(objects.count(), 0);
    let told: Vec<String> = world
        .model
        .requests()
        .into_iter()
        .filter(|request| request.tool_names().contains(&"bash"))
        .flat_map(|request| request.tool_results())
        .filter(|result| result.starts_with("refused:") || result.starts_with("failed:"))
        .collect();
    assert_eq!(told.len(), count, "the model was told each time: {told:#?}\n{}", end.text);
    let audit = world.audit().await;
    let refused = audit
        .iter()
        .filter(|row| row.action == "file.refused" && row.actor.starts_with("cell w1 T"));
    assert!(refused.count() >= count - 1, "{audit:#?}");
    assert!(Path::new("/etc/passwd").exists());
}
