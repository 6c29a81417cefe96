//! The agent socket as a client sees it that shares nothing with us: `examples/agent-socket`, in Python, with WebSockets by hand.

use std::path::Path;
use std::process::Stdio;

use cloister_testkit::{Matcher, ModelServer, Reply};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::world::{World, bash, jobs};

#[expect(clippy::disallowed_methods, reason = "it is what a person would start")]
fn client(world: &World, arguments: &[&str]) -> Child {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agent-socket/client.py");
    Command::new("python3")
        .arg(script)
        .arg(world.stack.url())
        .arg("--json")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

async fn told(client: Child) -> Value {
    let output = client.wait_with_output().await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

/// A message is accepted once, its answer comes piece by piece in order, and ends once; a login link opens a session.
#[tokio::test]
async fn another_client_is_answered_piece_by_piece_and_once() {
    let long = "One piece after the other, until all of it is there.";
    let model = ModelServer::builder().when(
        Matcher::coordinator().and(Matcher::last_user_contains("speak")),
        Reply::text(long).chunks(6),
    );
    let world = World::with("", model).await;
    let (_, login) = world.stack.login_url().split_once("token=").unwrap();
    let told = told(client(&world, &["--login", login, "speak", "up"])).await;
    assert_eq!([&told["accepted"], &told["ends"], &told["connections"]], [1, 1, 1], "{told}");
    assert_eq!((&told["answer"], &told["text"]), (&json!(long), &json!(long)), "{told}");
    let sequence: Vec<u64> = serde_json::from_value(told["sequence"].clone()).unwrap();
    assert_eq!(sequence, (0..sequence.len() as u64).collect::<Vec<_>>());
    assert!(sequence.len() > 1, "{told}");
    assert_eq!(world.transcript("C1").await.len(), 2, "one message, one answer");
}

/// A connection that is lost in the middle of an answer is made again: the answer is whole, and nothing is in it twice.
#[tokio::test]
async fn another_client_goes_on_after_its_connection_was_cut() {
    let long =
        "Before the cut there is this, and after it there is the rest of what was to be said.";
    let (reply, steps) = Reply::text(long).chunks(8).stepped();
    let model = ModelServer::builder()
        .when(Matcher::coordinator().and(Matcher::last_user_contains("speak")), reply);
    let world = World::with("", model).await;
    let session = world.stack.session("owner").await.unwrap();
    let running = client(&world, &["--session", &session.token, "--cut-after", "2", "speak up"]);
    steps.allow(100);
    let told = told(running).await;
    assert_eq!([&told["ends"], &told["connections"]], [1, 2], "{told}");
    assert_eq!((&told["answer"], &told["text"]), (&json!(long), &json!(long)), "{told}");
    let asked = world.model.requests();
    let turns = asked.iter().filter(|seen| seen.last_user_text().contains("speak up")).count();
    assert_eq!(turns, 1, "the same message is answered once");
    assert_eq!(world.transcript("C1").await.len(), 2);
}

/// Files go both ways, byte by byte.
#[tokio::test]
async fn another_client_sends_a_file_and_fetches_one() {
    let steps = vec![
        bash("rev < /chat/incoming/letters.txt > turned.txt"),
        Reply::tool_call("send_file", json!({"path": "turned.txt"})),
    ];
    let world = World::with("", jobs(vec![("turn", steps)])).await;
    let session = world.stack.session("owner").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let letters = folder.path().join("letters.txt");
    std::fs::write(&letters, "abc\näöü\n").unwrap();
    let (letters, folder_name) = (letters.to_str().unwrap(), folder.path().to_str().unwrap());
    let own = ["--session", session.token.as_str(), "--save", folder_name];
    let sent = [&own[..], &["--file", letters, "job:turn"]].concat();
    told(client(&world, &sent)).await;
    world.until_tasks(cloister_protocol::TaskState::Done, 1).await;
    // What came meanwhile is there for who comes back.
    let told = told(client(&world, &[&own[..], &["thanks"]].concat())).await;
    assert_eq!(told["saved"], json!([format!("{folder_name}/turned.txt")]), "{told}");
    let turned = std::fs::read_to_string(folder.path().join("turned.txt")).unwrap();
    assert_eq!(turned, "cba\nüöä\n");
}
