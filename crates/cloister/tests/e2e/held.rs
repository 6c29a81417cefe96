//! What a person's own programs would run does not land with the rest of a task; and what a task did that others'
//! content may have led is said with the way back.

use cloister_testkit::AgentClient;

use crate::gates::question;
use crate::world::{Jobs, Talk as _, World, ask_for_report, bash, jobs, report};

const PLANT: &str = "mkdir -p .vscode && echo '{\"tasks\": []}' > .vscode/tasks.json && \
    printf 'all:\\n\\techo hi\\n' > Makefile && echo data > data.csv && git init -q repo && \
    printf '#!/bin/sh\\necho hi\\n' > repo/.git/hooks/pre-commit && chmod +x repo/.git/hooks/pre-commit && \
    echo '#!/bin/sh' > run.sh && echo planted";
const HELD: [&str; 3] = [".vscode/tasks.json", "Makefile", "repo/.git/hooks/pre-commit"];

async fn world(script: Jobs) -> (World, AgentClient) {
    let world = World::with("", jobs(script)).await;
    let client = world.owner().await;
    (world, client)
}

/// Everything that comes later in this chat has somebody else's content in it.
async fn others_write(world: &World) {
    let session = world.stack.session("owner").await;
    let session = session.unwrap_or_else(|error| panic!("the owner can't log in: {error}"));
    world.upload(&session, "page.html", b"obey me").await;
}

fn there(world: &World, path: &str) -> bool {
    world.files(1, 1).join(path).exists()
}

#[tokio::test]
async fn what_programs_run_waits_for_a_yes_and_the_rest_does_not() {
    let (world, mut client) = world(vec![("plant", vec![bash(PLANT)])]).await;
    others_write(&world).await;
    client.say("job:plant").await;
    let ask = question(&mut client).await;
    for part in HELD.iter().chain(&["echo hi", "page.html", "programs of yours would run it"]) {
        assert!(ask.text.contains(part), "{part} in {}", ask.text);
    }
    let told = report(&mut client).await.text;
    assert!(
        told.contains("Makefile (build tools run it)") && told.contains("/task keep T1"),
        "{told}"
    );
    for path in ["data.csv", "run.sh", "repo/.git/config", "repo/.git/hooks/pre-commit.sample"] {
        assert!(there(&world, path), "{path}");
    }
    for path in HELD {
        assert!(!there(&world, path), "{path}");
    }
    let diff = client.say("/task diff T1").await.text;
    assert!(diff.contains("git runs it, waits for a yes") && diff.contains("+\techo hi"), "{diff}");

    client.say("/yes").await;
    for path in HELD {
        assert!(there(&world, path), "{path}");
    }
    let again = client.say("/task keep T1").await;
    assert!(again.error.is_some(), "once: {}", again.text);
    client.say("/undo T1").await;
    for path in HELD.iter().chain(&["data.csv"]) {
        assert!(!there(&world, path), "{path}");
    }
    client.say("/undo T1").await;
    for path in HELD.iter().chain(&["data.csv"]) {
        assert!(there(&world, path), "{path}");
    }
}

/// A no leaves it out; whoever wants it later says so. What somebody put there meanwhile stays.
#[tokio::test]
async fn what_was_refused_is_kept_by_name_and_overwrites_nothing() {
    let (world, mut client) = world(vec![("plant", vec![bash(PLANT)])]).await;
    others_write(&world).await;
    client.say("job:plant").await;
    question(&mut client).await;
    report(&mut client).await;
    client.say("/no").await;
    assert!(HELD.iter().all(|path| !there(&world, path)));
    let mine = world.files(1, 1).join("Makefile");
    std::fs::write(&mine, "mine").unwrap();
    let kept = client.say("/task keep T1").await.text;
    assert!(kept.contains("`.vscode/tasks.json`") && !kept.contains("`Makefile`"), "{kept}");
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
    assert!(there(&world, ".vscode/tasks.json"));
}

/// Where nothing is anybody else's: what builds lands, and what runs by itself if the person meant it.
#[tokio::test]
async fn what_a_person_asks_for_lands_without_a_question() {
    let script = vec![
        ("make", vec![bash("printf 'all:\\n\\techo hi\\n' > Makefile")]),
        ("env", vec![bash("echo 'export PORT=1' > .envrc")]),
        ("sneak", vec![bash("echo 'export PORT=2' > .envrc; echo x > x")]),
    ];
    let (world, mut client) = world(script).await;
    ask_for_report(&mut client, "job:make").await;
    let diff = client.say("/task diff T1").await.text;
    assert!(there(&world, "Makefile") && diff.contains("build tools run it)"), "{diff}");
    ask_for_report(&mut client, "Write an .envrc with job:env").await;
    let envrc = || std::fs::read_to_string(world.files(1, 1).join(".envrc")).unwrap();
    assert_eq!(envrc(), "export PORT=1\n");
    client.say("/new").await;
    let mut other = world.client("owner", 2).await;
    other.say("job:sneak").await;
    let ask = question(&mut other).await;
    assert!(ask.text.contains("+export PORT=2"), "{}", ask.text);
    report(&mut other).await;
    assert!(!world.files(1, 2).join(".envrc").exists() && world.files(1, 2).join("x").exists());
}

#[tokio::test]
async fn a_task_with_others_content_says_what_it_did_with_the_way_back() {
    let script = vec![
        ("many", vec![bash("mkdir -p m; for i in $(seq 30); do echo $i > m/$i; done")]),
        ("few", vec![bash("echo x > few")]),
        ("clean", vec![bash("rm -r m")]),
    ];
    let (world, mut client) = world(script).await;
    let told = ask_for_report(&mut client, "job:many").await.text;
    assert!(!told.contains("Others' content"), "nothing of others' is in it: {told}");
    others_write(&world).await;
    let told = ask_for_report(&mut client, "job:few").await.text;
    assert!(!told.contains("Others' content"), "{told}");
    let told = ask_for_report(&mut client, "job:clean").await.text;
    let said = "It removed 30 files: `/undo T3` takes all of that back";
    assert!(told.contains(said), "{told}");
    client.say("/undo T3").await;
    assert_eq!(std::fs::read_dir(world.files(1, 1).join("m")).unwrap().count(), 30);
    let told = ask_for_report(&mut client, "job:many").await.text;
    assert!(!told.contains("Others' content"), "what says the same is no change: {told}");
}
