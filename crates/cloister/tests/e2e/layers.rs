//! What tasks do to files: apart until it lands, whole or not at all, shown, kept, taken back.

use cloister_protocol::TaskState;
use cloister_testkit::{ModelServerBuilder, Reply};
use serde_json::json;

use crate::world::{Talk, World, ask_for_report, bash, eventually, hold, jobs, report, reports};

fn model() -> ModelServerBuilder {
    jobs(vec![
        ("first", vec![bash("mkdir -p d && printf 'one\\ntwo\\n' > d/notes && echo a > a")]),
        ("second", vec![bash("printf 'one\\nTWO\\n' > d/notes && mv a b")]),
        ("slow", vec![bash("echo slow > d/notes; echo mine > mine"), hold()]),
        ("odd", vec![bash("ln -s /etc/passwd out; mkfifo pipe; echo fine > fine")]),
        ("many", vec![bash("mkdir -p m; for i in $(seq 400); do echo $i > m/$i; done"), hold()]),
    ])
}

/// A10: what a task claims to have made is looked for among what it changed, whatever its commands said.
#[tokio::test]
async fn a_report_that_names_a_file_the_task_did_not_change_says_so() {
    let claim = |said: &str| Reply::tool_call("finish", json!({"result": said, "claims": []}));
    let model = jobs(vec![
        ("lost", vec![bash("echo x > out.csv; rm out.csv"), claim("I saved it to out.csv.")]),
        ("kept", vec![bash("f=out; echo x > $f.csv"), claim("I saved it to out.csv.")]),
    ]);
    let world = World::with("", model).await;
    let mut client = world.owner().await;
    let told = ask_for_report(&mut client, "job:lost").await.text;
    assert!(told.contains("no such file is among those that it changed"), "{told}");
    let told = ask_for_report(&mut client, "job:kept").await.text;
    assert!(!told.contains("no such file") && !told.contains("names this file"), "{told}");
}

fn read(world: &World, path: &str) -> Option<String> {
    std::fs::read_to_string(world.files(1, 1).join(path)).ok()
}

/// P4: a failed or cancelled task lands nothing, unless the person says so.
#[tokio::test]
async fn nothing_of_a_task_shows_before_it_is_done_and_a_cancelled_one_lands_when_it_is_kept() {
    let world = World::with("", model()).await;
    let mut client = world.owner().await;
    ask_for_report(&mut client, "job:first").await;
    client.say("job:slow").await;
    let mine = world.layer(1, 2).join("mine");
    eventually("it has written", || async { mine.exists().then_some(()) }).await;
    assert_eq!(read(&world, "d/notes").as_deref(), Some("one\ntwo\n"));
    assert_eq!(read(&world, "mine"), None);
    let diff = client.say("/task diff T2").await.text;
    assert!(diff.contains("not in the chat yet") && diff.contains("+slow"), "{diff}");
    client.say("/cancel T2").await;
    world.until_tasks(TaskState::Cancelled, 1).await;
    assert_eq!(read(&world, "mine"), None);
    let shown = client.say("/task T2").await.text;
    assert!(shown.contains("/task keep T2"), "{shown}");
    let kept = client.say("/task keep T2").await.text;
    assert!(kept.contains("`d/notes`") && kept.contains("`mine`"), "{kept}");
    assert_eq!(read(&world, "d/notes").as_deref(), Some("slow\n"));
    assert_eq!(read(&world, "mine").as_deref(), Some("mine\n"));
    let again = client.say("/task keep T2").await;
    assert!(again.error.is_some(), "once: {}", again.text);
}

#[tokio::test]
async fn what_a_task_did_is_taken_back_and_brought_back() {
    let world = World::with("", model()).await;
    let mut client = world.owner().await;
    let told = ask_for_report(&mut client, "job:first").await.text;
    assert!(told.contains("added a, d/notes"), "{told}");
    ask_for_report(&mut client, "job:second").await;
    let dry = world.json(&["task", "undo", "T2", "--dry-run"]).await;
    assert_eq!((&dry["done"], dry["files"].as_array().map(Vec::len)), (&json!(false), Some(3)));
    assert_eq!(read(&world, "b").as_deref(), Some("a\n"));
    let undone = client.say("/undo").await.text;
    assert!(
        undone.contains("What T2 did is taken back") && undone.contains("/undo T2"),
        "{undone}"
    );
    assert_eq!(read(&world, "d/notes").as_deref(), Some("one\ntwo\n"));
    assert_eq!((read(&world, "a").as_deref(), read(&world, "b")), (Some("a\n"), None));
    let again = world.json(&["task", "undo", "T2"]).await;
    assert_eq!(again["again"], true);
    assert_eq!(read(&world, "d/notes").as_deref(), Some("one\nTWO\n"));
    assert_eq!((read(&world, "a"), read(&world, "b").as_deref()), (None, Some("a\n")));
    // What the second has changed since stays as it is, and is named.
    let first = world.json(&["task", "undo", "T1"]).await;
    assert_eq!(first["collides"], json!(["a", "d/notes"]));
    assert_eq!(read(&world, "d/notes").as_deref(), Some("one\nTWO\n"));
    let actions: Vec<_> = world.audit().await.into_iter().map(|row| row.action).collect();
    for action in ["task.land", "task.undo", "task.redo"] {
        assert!(actions.iter().any(|one| one == action), "{action} in {actions:?}");
    }
}

/// P4: what another task changed meanwhile is never overwritten: both are kept, and it is said which is which.
#[tokio::test]
async fn two_tasks_that_change_one_file_keep_both() {
    let world = World::with("", model()).await;
    let mut client = world.owner().await;
    ask_for_report(&mut client, "job:first").await;
    client.say("job:slow").await;
    let mine = world.layer(1, 2).join("mine");
    eventually("it has written", || async { mine.exists().then_some(()) }).await;
    ask_for_report(&mut client, "job:second").await;
    world.release(1, 1);
    let told = report(&mut client).await.text;
    assert!(told.contains("this task's is d/notes-T2"), "{told}");
    assert_eq!(read(&world, "d/notes").as_deref(), Some("one\nTWO\n"));
    assert_eq!(read(&world, "d/notes-T2").as_deref(), Some("slow\n"));
}

#[tokio::test]
async fn what_can_not_land_is_named_and_the_rest_lands() {
    let world = World::with("", model()).await;
    let mut client = world.owner().await;
    let told = ask_for_report(&mut client, "job:odd").await.text;
    assert!(told.contains("out was left out: it is a link that leads out"), "{told}");
    assert!(told.contains("pipe was left out"), "{told}");
    assert_eq!(read(&world, "fine").as_deref(), Some("fine\n"));
    assert!(!world.files(1, 1).join("out").is_symlink());
}

/// P4: killed while files land, the start after it ends with all of them or none.
#[tokio::test]
async fn a_kill_while_files_land_leaves_all_or_nothing() {
    let mut world = World::with("", model()).await;
    let mut client = world.owner().await;
    client.say("job:many").await;
    let last = world.layer(1, 1).join("m/400");
    eventually("they are written", || async { last.exists().then_some(()) }).await;
    let landed = world.files(1, 1).join("m");
    world.release(1, 1);
    eventually("the first lands", || async { landed.exists().then_some(()) }).await;
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    reports(&mut client, &["T1"]).await;
    assert_eq!(std::fs::read_dir(&landed).unwrap().count(), 400);
    assert_eq!(world.count_tasks(TaskState::Done).await, 1);
}

/// The same promises where each task works on a copy.
#[tokio::test]
async fn on_copies_nothing_shows_before_it_is_done_both_are_kept_and_it_is_taken_back() {
    let mut world = World::with("[cells]\nlayers = \"copy\"\n", model()).await;
    let mut client = world.owner().await;
    let told = ask_for_report(&mut client, "job:first").await.text;
    assert!(told.contains("added a, d/notes"), "{told}");
    client.say("job:slow").await;
    let copy = world.layer(1, 2).with_file_name("files");
    eventually("it has written", || async { copy.join("mine").exists().then_some(()) }).await;
    assert_eq!(read(&world, "d/notes").as_deref(), Some("one\ntwo\n"));
    assert_eq!(read(&world, "mine"), None);
    let diff = client.say("/task diff T2").await.text;
    assert!(diff.contains("not in the chat yet") && diff.contains("+slow"), "{diff}");
    ask_for_report(&mut client, "job:second").await;
    assert_eq!((read(&world, "a"), read(&world, "b").as_deref()), (None, Some("a\n")));
    world.release(1, 1);
    let told = report(&mut client).await.text;
    assert!(told.contains("this task's is d/notes-T2"), "{told}");
    assert_eq!(read(&world, "d/notes").as_deref(), Some("one\nTWO\n"));
    assert_eq!(read(&world, "d/notes-T2").as_deref(), Some("slow\n"));
    let undone = client.say("/undo T3").await.text;
    assert!(undone.contains("What T3 did is taken back"), "{undone}");
    assert_eq!(read(&world, "d/notes").as_deref(), Some("one\ntwo\n"));
    assert_eq!((read(&world, "a").as_deref(), read(&world, "b")), (Some("a\n"), None));
    let told = ask_for_report(&mut client, "job:odd").await.text;
    assert!(told.contains("out was left out: it is a link that leads out"), "{told}");
    // Killed in the middle of a task, it goes on with the copy that it has.
    std::fs::remove_file(world.files(1, 1).with_file_name("incoming").join("go")).unwrap();
    client.say("job:many").await;
    let copy = world.layer(1, 5).with_file_name("files");
    eventually("they are written", || async { copy.join("m/400").exists().then_some(()) }).await;
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    world.release(1, 1);
    reports(&mut client, &["T5"]).await;
    assert_eq!(std::fs::read_dir(world.files(1, 1).join("m")).unwrap().count(), 400);
    let checks = world.json(&["doctor"]).await;
    let layers = checks.as_array().unwrap().iter().find(|check| check["id"] == "files.layers");
    assert!(layers.unwrap()["found"].as_str().unwrap().contains("on a copy"), "{checks}");
}

/// A message that a kill has left unanswered is read once more: it takes back nothing more, and brings nothing back.
#[tokio::test]
async fn an_undo_that_is_read_once_more_after_a_kill_is_done_once() {
    let mut world = World::with("", model()).await;
    let mut client = world.owner().await;
    ask_for_report(&mut client, "job:first").await;
    ask_for_report(&mut client, "job:second").await;
    client.say("/undo").await;
    assert_eq!((read(&world, "a").as_deref(), read(&world, "b")), (Some("a\n"), None));
    world.stack.kill().await.unwrap();
    let path = world.stack.data().join("cloister.db");
    let state = |set: &str| {
        let database = rusqlite::Connection::open(&path).unwrap();
        database.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
        let last = "(SELECT max(id) FROM inbox WHERE source <> 'tasks')";
        database.execute(&format!("UPDATE inbox SET {set} WHERE id = {last}"), []).unwrap();
        let state = format!("SELECT state FROM inbox WHERE id = {last}");
        database.query_row(&state, [], |row| row.get::<_, String>(0)).unwrap()
    };
    assert_eq!(state("state = 'accepted'"), "accepted");
    world.stack.restart().await.unwrap();
    eventually("it is answered", || async { (state("id = id") == "answered").then_some(()) }).await;
    assert_eq!((read(&world, "a").as_deref(), read(&world, "b")), (Some("a\n"), None));
    assert_eq!(read(&world, "d/notes").as_deref(), Some("one\ntwo\n"));
}
