//! The command line: JSON everywhere, one error envelope, exit codes, and words that help.

use std::path::Path;

use cloister_protocol::{ErrorCode, ErrorEnvelope};
use serde_json::{Value, json};

use crate::world::{Talk, World, cloister, files_with, run, run_with_input};

/// Exit code and standard output of a command that needs no control plane.
async fn alone(data: &Path, arguments: &[&str]) -> (i32, String) {
    let output = run(cloister(data).args(arguments)).await;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code().unwrap(), text)
}

/// The same, with what it says to people.
async fn said(data: &Path, arguments: &[&str]) -> String {
    let output = run(cloister(data).args(arguments)).await;
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn envelope(text: &str) -> ErrorEnvelope {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Every command that shows or changes something, in an order in which all of them work.
const COMMANDS: &[&[&str]] = &[
    &["user", "add", "alice", "--quota-mb", "50", "--executors", "2"],
    &["user", "list"],
    &["user", "show", "alice"],
    &["user", "set", "alice", "--executors", "3"],
    &["chats", "new", "--user", "alice", "Title"],
    &["chats", "list", "--user", "alice"],
    &["chats", "show", "--user", "alice", "C1"],
    &["chats", "rename", "--user", "alice", "C1", "Other"],
    &["chats", "archive", "--user", "alice", "C2"],
    &["chats", "clear", "--user", "alice", "C1"],
    &["model", "add", "m", "--base-url", "http://127.0.0.1:9/v1", "--model", "x", "--no-test"],
    &["model", "list"],
    &["model", "use", "--level", "executor", "m"],
    &["model", "use", "demo"],
    &["model", "test", "demo"],
    &["model", "rm", "m"],
    &["budget", "show", "--user", "alice"],
    &["budget", "set", "alice", "--daily", "2", "--task", "0.5"],
    &["task", "list"],
    &["task", "list", "--user", "alice", "--open"],
    &["task", "cancel", "--all", "--user", "alice"],
    &["task", "approvals", "--user", "alice"],
    &["matrix", "list"],
    &["matrix", "status"],
    &["doctor"],
];

#[tokio::test]
async fn commands_work_with_and_without_a_running_control_plane() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start().await;
    for arguments in COMMANDS {
        for data in [dir.path(), world.stack.data()] {
            let (code, text) = alone(data, &[&["--json"], *arguments].concat()).await;
            assert_eq!(code, 0, "{arguments:?}: {text}");
            assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{arguments:?}: {text}");
        }
    }
    for arguments in [&["status"][..], &["login-url"], &["session"]] {
        assert!(world.json(arguments).await.is_object(), "{arguments:?}");
        let (code, text) = alone(dir.path(), &[&["--json"], arguments].concat()).await;
        assert_eq!((code, envelope(&text).error.code), (69, ErrorCode::NotFound), "{arguments:?}");
    }
    // The words for people say the same.
    let (code, text) = alone(dir.path(), &["user", "list"]).await;
    assert!(code == 0 && text.contains("alice") && !text.contains('{'), "{text}");
}

#[tokio::test]
async fn every_error_has_the_same_shape() {
    let dir = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], i32, ErrorCode)] = &[
        (&["frobnicate"], 2, ErrorCode::BadRequest),
        (&[], 2, ErrorCode::BadRequest),
        (&["task", "cancel"], 2, ErrorCode::BadRequest),
        (&["task", "show", "seventeen"], 2, ErrorCode::BadRequest),
        (&["chats", "show", "C0"], 2, ErrorCode::BadRequest),
        (&["user", "add", "Bad Name"], 2, ErrorCode::BadRequest),
        (&["user", "add", "ann", "--executors", "many"], 2, ErrorCode::BadRequest),
        (&["up", "--listen", "nowhere"], 2, ErrorCode::BadRequest),
        (&["model", "use", "--level", "king", "demo"], 2, ErrorCode::BadRequest),
        // A secret on the command line would be in everybody's process list.
        (
            &["model", "add", "m", "--base-url", "http://x", "--model", "y", "--key", "s"],
            2,
            ErrorCode::BadRequest,
        ),
        (&["init", "--unattended", "--key", "s"], 2, ErrorCode::BadRequest),
        (&["user", "show", "nobody"], 1, ErrorCode::NotFound),
        (&["task", "show", "T9"], 1, ErrorCode::NotFound),
        (&["chats", "show", "C9"], 1, ErrorCode::NotFound),
        (&["model", "use", "nothing"], 1, ErrorCode::NotFound),
        (&["model", "rm", "nothing"], 1, ErrorCode::NotFound),
        (&["task", "approve", "A9"], 1, ErrorCode::NotFound),
        (&["budget", "set", "ann", "--daily", "-5"], 2, ErrorCode::BadRequest),
        (&["budget", "set", "ann", "--daily", "nan"], 2, ErrorCode::BadRequest),
        (&["budget", "set", "ann", "--daily=-5"], 2, ErrorCode::BadRequest),
        (&["budget", "set", "ann", "--daily", "1e300"], 1, ErrorCode::BadRequest),
        (&["user", "set", "ann", "--executors", "0"], 1, ErrorCode::BadRequest),
        (&["chat", "hello"], 69, ErrorCode::NotFound),
        (&["init"], 1, ErrorCode::BadRequest),
    ];
    assert_eq!(alone(dir.path(), &["user", "add", "ann"]).await.0, 0);
    for (arguments, code, error) in cases {
        let (exit, text) = alone(dir.path(), &[&["--json"], *arguments].concat()).await;
        assert_eq!(exit, *code, "{arguments:?}: {text}");
        let told = envelope(&text).error;
        assert_eq!(told.code, *error, "{arguments:?}: {text}");
        assert!(!told.message.is_empty());
    }
    for (arguments, says) in [
        (
            &["chats", "show", "C9", "--user", "ann"][..],
            "`cloister chats list` shows what there is",
        ),
        (&["budget", "set", "ann", "--daily", "-3"], "expected an amount in dollars, such as 2.50"),
        (
            &["budget", "set", "ann", "--daily", "abc"],
            "expected an amount in dollars, such as 2.50",
        ),
        (&["secret", "set", "s", "--host", "a.test", "--query", "q"], "--value-file FILE"),
    ] {
        let text = said(dir.path(), arguments).await;
        assert!(text.contains(says), "{arguments:?}: {text}");
    }
    let (exit, text) = alone(dir.path(), &["--json", "user", "add", "ann"]).await;
    assert_eq!((exit, envelope(&text).error.code), (1, ErrorCode::Conflict));
    let (_, text) = alone(dir.path(), &["--json", "chat", "hello"]).await;
    assert!(envelope(&text).error.fix.unwrap().contains("cloister up"), "{text}");
}

#[tokio::test]
async fn a_setting_that_does_not_exist_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for (config, named) in [
        ("[cells]\nttl_seconds = 5\n", "ttl_seconds"),
        ("listn = 1\n", "listn"),
        ("[work\n", "1"),
        ("[work]\nmax_steps = \"many\"\n", "expected a whole number"),
    ] {
        std::fs::write(dir.path().join("cloister.toml"), config).unwrap();
        let (code, text) = alone(dir.path(), &["--json", "up", "--listen", "127.0.0.1:0"]).await;
        let error = envelope(&text).error;
        assert_eq!(code, 64, "{text}");
        assert!(error.message.contains(named) && error.message.contains("cloister.toml"), "{text}");
        let (code, text) = alone(dir.path(), &["--json", "doctor"]).await;
        assert!(code == 1 && text.contains(named), "{text}");
    }
}

#[tokio::test]
async fn starting_again_points_to_the_control_plane_that_runs() {
    let mut world = World::start().await;
    // Who says the same settings is not told to stop it for others.
    let same = world.stack.address().get().unwrap();
    let text = said(world.stack.data(), &["up", "--listen", &same]).await;
    assert!(text.contains("runs already") && !text.contains("other settings"), "{text}");
    let text = said(world.stack.data(), &["up", "--listen", "127.0.0.1:1"]).await;
    assert!(text.contains("with other settings"), "{text}");
    let up = ["--json", "up", "--listen", "127.0.0.1:0"];
    let (code, text) = alone(world.stack.data(), &up).await;
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &told["already_running"]), (0, &json!(true)), "{text}");
    assert_eq!(told["url"], json!(world.stack.url()));
    assert_eq!(told["pid"], json!(world.stack.pid().unwrap()));
    let fresh = told["login_url"].as_str().unwrap();
    assert!(fresh.starts_with(&world.stack.url()) && fresh != world.stack.login_url(), "{text}");
    assert!(world.stack.login_url().starts_with(&world.stack.url()));
    let status = world.json(&["status"]).await;
    assert_eq!(status["pid"], json!(world.stack.pid().unwrap()));
    assert_eq!(status["url"], json!(world.stack.url()));
    for path in ["/healthz", "/readyz"] {
        let answer = world.stack.http("GET", path, None, Vec::new()).await.unwrap();
        assert_eq!(answer.status, 200, "{path}");
    }
    // An address that is taken is said, too.
    let dir = tempfile::tempdir().unwrap();
    let taken = world.stack.address().get().unwrap();
    let (code, text) = alone(dir.path(), &["--json", "up", "--listen", &taken]).await;
    assert!(code == 1 && envelope(&text).error.message.contains(&taken), "{text}");
    // One that was killed leaves nothing behind that stands in the way.
    world.stack.kill().await.unwrap();
    assert_eq!(alone(world.stack.data(), &["user", "list"]).await.0, 0);
    world.stack.restart().await.unwrap();
    assert_eq!(world.owner().await.say("hello").await.text, "echo: hello");
}

#[tokio::test]
async fn init_asks_nothing_when_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("fresh");
    let key = dir.path().join("key");
    std::fs::write(&key, "sk-init-1\n").unwrap();
    let key = key.to_str().unwrap();
    let init = [
        "--json",
        "init",
        "--unattended",
        "--user",
        "zoe",
        "--display-name",
        "Zoë",
        "--language",
        "de",
        "--about",
        "She keeps bees.",
        "--daily",
        "3",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--model",
        "m",
        "--key-file",
        key,
        "--no-test",
    ];
    for _ in 0..2 {
        let (code, text) = alone(&data, &init).await;
        assert_eq!(code, 0, "{text}");
        let said: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&said["user"]["name"], &said["model"]), (&json!("zoe"), &json!("main")));
        assert_eq!(said["user"]["display_name"], json!("Zoë"));
        assert!(!text.contains("sk-init-1"));
    }
    let about = std::fs::read_to_string(data.join("workspaces/w1/USER.md")).unwrap();
    assert!(about.contains("She keeps bees."));
    // A model of the same name is refused, and the key of the one that is there stays.
    let add = [
        "--json",
        "model",
        "add",
        "main",
        "--base-url",
        "http://x",
        "--model",
        "m",
        "--key-env",
        "PATH",
    ];
    let (code, text) = alone(&data, &add).await;
    assert_eq!((code, envelope(&text).error.code), (1, ErrorCode::Conflict), "{text}");
    // The key is sealed: no file of the data directory has it in the clear.
    assert!(files_with(&data, "sk-init-1").is_empty());
    let (_, secrets) = alone(&data, &["--json", "secret", "list", "--platform"]).await;
    assert!(secrets.contains("key-main"), "{secrets}");
    let (_, users) = alone(&data, &["--json", "user", "list"]).await;
    let users: Value = serde_json::from_str(&users).unwrap();
    assert_eq!((users.as_array().unwrap().len(), &users[0]["daily_usd"]), (1, &json!(3.0)));
}

#[tokio::test]
async fn completions_and_help_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let (code, script) = alone(dir.path(), &["completions", "bash"]).await;
    assert!(code == 0 && script.contains("_cloister()") && script.contains("login-url"));
    let (code, help) = alone(dir.path(), &["--help"]).await;
    assert_eq!(code, 0);
    for command in
        ["up", "doctor", "init", "chat", "chats", "user", "task", "model", "budget", "status"]
    {
        assert!(help.lines().any(|line| line.trim_start().starts_with(command)), "{command}");
    }
    for command in ["model", "chat", "init"] {
        let (_, help) = alone(dir.path(), &[command, "--help"]).await;
        assert!(!help.contains("--key ") && !help.contains("--token"), "{help}");
    }
    assert!(
        std::fs::read_dir(dir.path()).unwrap().next().is_none(),
        "asking for help makes nothing"
    );
}

#[tokio::test]
async fn chat_speaks_to_people_and_to_programs() {
    let world = World::start().await;
    let data = world.stack.data();
    let piped = run_with_input(cloister(data).arg("chat"), "two\nlines\n").await;
    assert_eq!(String::from_utf8_lossy(&piped.stdout), "echo: two\nlines\n");
    let empty = run_with_input(cloister(data).args(["--json", "chat"]), "").await;
    assert_eq!(empty.status.code(), Some(1), "{empty:?}");
    let words = world.stack.cli_ok(&["chat", "several", "words"]).await.unwrap();
    assert_eq!(words, "echo: several words\n");

    let frames = world.stack.cli_ok(&["--json", "chat", "hello"]).await.unwrap();
    let frames: Vec<Value> =
        frames.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = frames.iter().filter_map(|frame| frame["type"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"accepted"));
    assert_eq!(kinds.last(), Some(&"end"));
    assert!(kinds.contains(&"text_chunk"));
    assert_eq!(frames.last().unwrap()["text"], "echo: hello");

    let waited = world.stack.cli_ok(&["chat", "--wait", "run: echo from-the-task"]).await.unwrap();
    assert!(waited.contains("from-the-task"), "{waited}");
    let waited =
        world.stack.cli_ok(&["chat", "--wait", "/task run: echo by-$((1+1))"]).await.unwrap();
    assert!(waited.contains("by-2"), "{waited}");
    let file = data.with_file_name("note.txt");
    std::fs::write(&file, "content").unwrap();
    let sent = ["chat", "--file", file.to_str().unwrap(), "look at this"];
    let told = world.stack.cli_ok(&sent).await.unwrap();
    assert!(told.contains("name: note.txt"), "{told}");
    let late = world.stack.cli(&["--json", "chat", "--chat", "C9", "hello"]).await.unwrap();
    assert_eq!((late.code, envelope(&late.stdout).error.code), (Some(1), ErrorCode::NotFound));
    let nobody = world.stack.cli(&["--json", "chat", "--user", "nobody", "hi"]).await.unwrap();
    assert_eq!((nobody.code, envelope(&nobody.stdout).error.code), (Some(1), ErrorCode::NotFound));
}

#[tokio::test]
async fn doctor_has_stable_ids_and_a_fix_for_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let (code, text) = alone(&dir.path().join("data"), &["--json", "doctor"]).await;
    assert_eq!(code, 0, "{text}");
    let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
    let ids: Vec<&str> = checks.iter().filter_map(|check| check["id"].as_str()).collect();
    let stable = [
        "config.file",
        "data.dir",
        "control.running",
        "launcher.binary",
        "agent.binary",
        "kernel.userns",
        "kernel.landlock",
        "kernel.seccomp",
        "limits.cgroup",
        "tools.python3",
        "tools.git",
        "tools.gcc",
        "tools.node",
        "launch.trial",
        "files.layers",
        "limits.quota",
        "policies",
    ];
    assert_eq!(ids, stable);
    std::fs::write(dir.path().join("data"), "not a directory").unwrap();
    let (code, text) = alone(&dir.path().join("data"), &["--json", "doctor"]).await;
    assert_eq!(code, 1, "{text}");
    let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
    let failed: Vec<&Value> = checks.iter().filter(|check| check["status"] == "failed").collect();
    assert!(!failed.is_empty() && failed.iter().all(|check| check["fix"].is_string()), "{text}");
}

#[tokio::test]
async fn a_data_directory_with_a_very_long_path_works() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("x".repeat(90)).join("y".repeat(90));
    let mut up = cloister(&data);
    let mut up = up.args(["--json", "up", "--listen", "127.0.0.1:0"]).spawn().unwrap();
    let mut lines = tokio::io::BufReader::new(up.stdout.take().unwrap());
    let mut first = String::new();
    tokio::io::AsyncBufReadExt::read_line(&mut lines, &mut first).await.unwrap();
    let first: Value = serde_json::from_str(&first).unwrap();
    assert!(first["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{first}");
    assert!(first["login_url"].as_str().unwrap().contains("/login?token="), "{first}");
    assert_eq!(first["pid"], json!(up.id().unwrap()));
    let (code, text) = alone(&data, &["chat", "--wait", "run: echo deep-$((1+1))"]).await;
    assert!(code == 0 && text.contains("deep-2"), "{text}");
}

#[tokio::test]
async fn data_that_can_not_be_used_is_said_so() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("cloister.db"), "this is no database, whatever its name says")
        .unwrap();
    for arguments in [&["--json", "up", "--listen", "127.0.0.1:0"][..], &["--json", "user", "list"]]
    {
        let (code, text) = alone(dir.path(), arguments).await;
        assert!(code == 1 && envelope(&text).error.message.contains("cloister.db"), "{text}");
    }
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for data in [file, Path::new("/proc/nowhere").to_owned()] {
        let (code, text) = alone(&data, &["--json", "user", "list"]).await;
        assert!(
            code != 0 && envelope(&text).error.message.contains(data.to_str().unwrap()),
            "{text}"
        );
    }
}
