//! The README's first five minutes, word by word: what stands there in a block or after *Say* is said and typed, on a new data
//! directory with the demo model, and works.

use std::path::Path;

use cloister_protocol::AgentFrame;
use cloister_testkit::Stack;

use crate::world::{Talk as _, frame, program, report, run_with_input};

const SECTION: &str = "## The first five minutes";

/// The part of the README that this is about.
fn section() -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let (_, from) = readme.split_once(SECTION).unwrap();
    from.split("\n## ").next().unwrap().to_owned()
}

/// Its blocks, in order.
fn blocks(section: &str) -> Vec<&str> {
    section.split("```").skip(1).step_by(2).map(str::trim).collect()
}

/// What a person types where a command asks for something.
fn typed(command: &str) -> &'static str {
    match command {
        "cloister chat" => "hello\n",
        command if command.starts_with("cloister secret set") => "s3cret-of-mine\n",
        // The questions of `init` are skipped by who types nothing.
        "cloister init" => "\n\n\n\n\n\n\n\n",
        _ => "",
    }
}

#[tokio::test]
async fn the_first_five_minutes_go_as_they_are_written() {
    let section = section();
    let blocks = blocks(&section);
    let [said, in_a_terminal] = blocks[..] else { panic!("{blocks:?}") };
    let stack = Stack::start().await.unwrap();
    let session = stack.session("owner").await.unwrap();
    let mut client = stack.client(&session, cloister_protocol::ChatId::from_number(1));
    for line in said.lines() {
        let answer = client.say(line).await;
        assert_eq!(answer.error, None, "{line}: {}", answer.text);
        if line.starts_with("run: ") {
            let told = report(&mut client).await.text;
            assert!(told.contains("Linux") && told.contains("[exit code 0]"), "{told}");
        }
    }
    let (file, from) =
        section.split_once("Send a file, `").unwrap().1.split_once("`. Say `").unwrap();
    let sent = format!("/cells/{}/v1/chats/C1/files?name={file}", session.workspace);
    let sent = stack.http("POST", &sent, Some(&session.token), b"hi".to_vec()).await.unwrap();
    assert_eq!(sent.status, 200, "{}", sent.text());
    let (asked, _) = from.split_once('`').unwrap();
    client.say(asked).await;
    let title = frame(&mut client, "a question", |frame| match frame {
        AgentFrame::Ask(ask) => Some(ask.title.clone()),
        _ => None,
    })
    .await;
    assert_eq!(title, asked);

    // What `alias` does for a person, a folder of programs does for a script.
    let (alias, commands) = in_a_terminal.split_once("\n\n").unwrap();
    assert_eq!(alias, "alias cloister=target/up/cloister");
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cloister"), folder.path().join("cloister"))
        .unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.path().display());
    for line in commands.lines() {
        let (command, comment) = line.split_once(" #").unwrap_or((line, ""));
        let command = command.trim();
        // It asks nobody but who sits at a terminal.
        let typed_in = match command {
            "cloister init" => "script -qec 'cloister init' /dev/null",
            command => command,
        };
        let mut shell = program(Path::new("bash"));
        shell.args(["-o", "pipefail", "-c", typed_in]);
        shell.env("PATH", &path).env("CLOISTER_DATA", stack.data()).current_dir(folder.path());
        // A checkout with a change in it, for `git diff`.
        shell.env("GIT_DIR", repository(folder.path()).await);
        shell.env("GIT_WORK_TREE", folder.path());
        let output = run_with_input(&mut shell, typed(command)).await;
        let shown = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {shown}{errors}");
        if comment.contains("prints a link") {
            assert!(shown.contains("/invite?token="), "{command}: {shown}");
        }
        if command.contains("--wait") {
            assert!(shown.contains("Linux"), "{command}: {shown}");
        }
        if let Some(undone) = comment.split('`').nth(1).filter(|_| command.contains("stop")) {
            stack.cli_ok(&undone.split(' ').skip(1).collect::<Vec<_>>()).await.unwrap();
        }
    }
}

/// A repository with something to review.
async fn repository(folder: &Path) -> std::path::PathBuf {
    let place = folder.join(".git");
    if !place.exists() {
        let mut git = program(Path::new("bash"));
        git.current_dir(folder).args([
            "-c",
            "git init -q . && echo one > notes.txt && git add notes.txt && echo two >> notes.txt",
        ]);
        let made = run_with_input(&mut git, "").await;
        assert!(made.status.success(), "{made:?}");
    }
    place
}
