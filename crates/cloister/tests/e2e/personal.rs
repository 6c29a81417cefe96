//! What is a person's: taken along whole, and erased without a trace.

use std::path::Path;

use cloister_testkit::{ModelServer, Product};

use crate::world::{Talk as _, World, cloister, files_with, run, run_with_input};

const CANARY: &str = "canary-words-91c4";

/// O8: an export holds what a person said, was told, has as files, and what was recorded of them, and proves
/// the latter.
#[tokio::test]
async fn a_person_takes_along_all_that_is_theirs() {
    let world = World::start().await;
    let session = world.add_user("grace").await;
    let mut grace = world.client("grace", 1).await;
    grace.say(CANARY).await;
    world.upload(&session, "notes.txt", b"what grace noted").await;
    let data = world.stack.data();
    let set =
        ["secret", "set", "key", "--user", "grace", "--host", "example.org", "--query", "key"];
    run_with_input(cloister(data).args(set), "the-value-itself\n").await;
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join("grace");
    world.stack.cli_ok(&["user", "export", "grace", "--out", dir.to_str().unwrap()]).await.unwrap();
    let read = |path: &str| std::fs::read_to_string(dir.join(path)).unwrap();
    assert!(read("chats/C1.md").contains(CANARY));
    assert!(read("files/SOUL.md").contains("# Who the agent is"));
    assert_eq!(read("files/chats/C1/incoming/notes.txt"), "what grace noted");
    assert!(read("records/secrets.jsonl").contains("example.org"));
    assert_eq!(files_with(&dir, "the-value-itself"), Vec::<std::path::PathBuf>::new());
    assert!(files_with(&dir, "sealed").is_empty());
    assert!(read("audit.jsonl").contains("user.export"), "who takes it along is on record");
    let audit = dir.join("audit.jsonl");
    let proven = run(cloister(data).args(["audit", "verify", "--export"]).arg(&audit)).await;
    assert!(proven.status.success(), "{}", String::from_utf8_lossy(&proven.stdout));
    let mode = |path: &Path| {
        let meta = std::fs::metadata(path).unwrap();
        std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o077
    };
    assert_eq!((mode(&dir), mode(&audit)), (0, 0), "others can't read it");
}

/// O8: an erased person is in no file any more, others lost nothing, and the audit is whole.
#[tokio::test]
async fn an_erased_person_is_nowhere_and_the_audit_is_whole() {
    let world =
        World::with("[audit]\nsegment_entries = 3\ncheckpoint_s = 1\n", ModelServer::builder())
            .await;
    let session = world.add_user("grace").await;
    let mut owner = world.owner().await;
    owner.say("words of the owner").await;
    let mut grace = world.client("grace", 1).await;
    grace.say(CANARY).await;
    world.upload(&session, "notes.txt", CANARY.as_bytes()).await;
    // What is versioned of the workspace goes too.
    let about = format!("{CANARY} about grace");
    let init = ["init", "--unattended", "--user", "grace", "--about", &about];
    world.stack.cli_ok(&init).await.unwrap();
    let data = world.stack.data().to_owned();
    assert!(!files_with(&data.join("history"), CANARY).is_empty());

    let unconfirmed = run(cloister(&data).args(["user", "erase", "grace"])).await;
    assert!(!unconfirmed.status.success(), "it is not done without a word");
    world.stack.cli_ok(&["user", "erase", "grace", "--yes"]).await.unwrap();
    let users = world.stack.cli_ok(&["user", "list"]).await.unwrap();
    assert!(!users.contains("grace"), "{users}");
    assert_eq!(owner.say("still here").await.error, None);
    let said = world.transcript("C1").await;
    assert!(said.iter().any(|line| line.text.contains("words of the owner")));

    let Product { mut stack, model: _ } = world.product;
    stack.stop().await.unwrap();
    assert_eq!(files_with(&data, CANARY), Vec::<std::path::PathBuf>::new());
    assert_eq!(files_with(&data, "grace"), Vec::<std::path::PathBuf>::new());
    let proven = run(cloister(&data).args(["audit", "verify"])).await;
    assert!(proven.status.success(), "{}", String::from_utf8_lossy(&proven.stdout));
}
