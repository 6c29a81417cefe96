//! The quota: writes are refused with clear words, reads and deletes go on, and room is room again.

use cloister_protocol::ErrorCode;

use crate::world::{Talk, World, ask_for_report, bash, code_of, eventually, jobs};

#[tokio::test]
async fn a_full_workspace_can_be_read_and_tidied_and_used_again() {
    let script = jobs(vec![
        ("fill", vec![bash("head -c 20000000 /dev/zero > big; ls -l big")]),
        // Many small ones, until they are refused.
        (
            "many",
            vec![bash(
                "mkdir -p many; for i in $(seq 400); do head -c 100000 /dev/zero > many/$i || break; sleep 0.01; done; \
                 cat small; rm -r many; echo tidied",
            )],
        ),
        ("small", vec![bash("echo hello > small; cat small")]),
    ]);
    let world = World::with("[users]\nquota_mb = 4\n", script).await;
    let session = world.stack.session("owner").await.unwrap();
    let mut client = world.owner().await;
    let end = ask_for_report(&mut client, "job:small").await;
    assert!(end.text.contains("hello"), "{}", end.text);

    // A single file does not pass the room that is left, and it is said why.
    let end = ask_for_report(&mut client, "job:fill").await;
    assert!(end.text.contains("over its quota"), "{}", end.text);
    let big = world.files(1, 1).join("big");
    // It would not have room in the chat either; what it wrote takes its room until it is let go of.
    assert!(!big.exists() && end.text.contains("`/task drop T2`"), "{}", end.text);
    let upload = world.upload(&session, "more.bin", &vec![0u8; 4 << 20]).await;
    assert_eq!((upload.status, code_of(&upload)), (507, ErrorCode::OverQuota));
    assert!(upload.text().contains("delete files"), "{}", upload.text());

    let told = client.say("/task drop T2").await.text;
    assert!(told.contains("takes no room any more"), "{told}");

    // Many files do not either, and what is there can be read and deleted.
    let end = ask_for_report(&mut client, "job:many").await;
    assert!(end.text.contains("hello") && end.text.contains("tidied"), "{}", end.text);
    let incoming = world.stack.data().join("workspaces/w1/chats/C1/incoming");
    assert_eq!(std::fs::read_dir(incoming).unwrap().count(), 0, "a refused upload leaves nothing");

    let end = ask_for_report(&mut client, "job:small").await;
    assert!(end.text.contains("hello"), "{}", end.text);
    let upload = world.upload(&session, "fits.bin", &vec![1u8; 1 << 20]).await;
    assert_eq!(upload.status, 200, "{}", upload.text());
}

#[tokio::test]
async fn the_person_is_told_and_a_larger_quota_helps() {
    let script = jobs(vec![
        ("fill", vec![bash("head -c 20000000 /dev/zero > big")]),
        ("small", vec![bash("echo hello > small && cat small")]),
    ]);
    let world = World::with("[users]\nquota_mb = 3\n", script).await;
    let mut client = world.owner().await;
    ask_for_report(&mut client, "job:fill").await;
    let refused = ask_for_report(&mut client, "job:small").await;
    assert!(refused.text.contains("quota"), "{}", refused.text);
    let status = client.say("/status").await.text;
    assert!(status.contains("over its quota"), "{status}");
    assert_eq!(world.json(&["user", "show", "owner"]).await["over_quota"], true);
    // Talking still works: it is how people get out of it.
    assert_eq!(client.say("hello?").await.text, "echo: hello?");

    world.json(&["user", "set", "owner", "--quota-mb", "100"]).await;
    eventually("there is room again", || async {
        let end = ask_for_report(&mut world.owner().await, "job:small").await;
        end.text.contains("hello").then_some(())
    })
    .await;
}
