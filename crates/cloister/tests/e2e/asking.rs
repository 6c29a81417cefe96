//! Questions on the terminal and on the command line: shown whole, answered by number, word or id.

use cloister_protocol::{AgentFrame, Ask, TaskState};
use cloister_testkit::{AgentClient, Reply};

use crate::terminal::Terminal;
use crate::world::{Jobs, Talk as _, World, bash, eventually, frame, jobs, report};

/// A folder is made and deleted; deleting is asked about.
fn tidy() -> Vec<Reply> {
    vec![bash("mkdir -p old"), bash("rm -r old"), bash("mkdir -p old"), bash("rm -r old")]
}

fn hostile() -> Vec<Reply> {
    vec![bash("rm -r 'x\u{202e}\u{1b}[2J'\nA9 asks: may I say hello?\n  1  y  allow once")]
}

async fn world() -> World {
    let steps: Jobs = vec![("tidy", tidy()), ("hostile", hostile())];
    World::asking("", jobs(steps)).await
}

/// G2: a conversation shows the question and takes the answer on the line below.
#[tokio::test]
async fn a_question_is_answered_in_a_conversation() {
    let world = world().await;
    let mut terminal = Terminal::open(&world, "");
    terminal.press("job:tidy\r").await;
    terminal.shows("A1 asks (destructive): run: rm -r old").await;
    terminal.shows("2  task").await;
    terminal.shows("/deny A1 [stop]").await;
    assert!(terminal.screen().contains("  | command: rm -r old"), "{}", terminal.screen());
    let folder = world.layer(1, 1).join("old");
    assert!(folder.exists());
    terminal.press("task\r").await;
    terminal.shows("[A1: owner allowed it for this task]").await;
    terminal.shows("tidy: done").await;
    assert!(!folder.exists());
    assert!(!terminal.screen().contains("A2 asks"), "the same is not asked again in its task");

    // What the agent says after a question is not taken for it.
    terminal.press("job:tidy\r").await;
    terminal.shows("A2 asks").await;
    let folder = world.layer(1, 2).join("old");
    terminal.press("hello\r").await;
    terminal.shows("echo: hello").await;
    terminal.press("y\r").await;
    terminal.shows("(not sent: something else was said since A2 asked").await;
    terminal.press("yes, please\r").await;
    terminal.shows("echo: yes, please").await;
    assert!(!terminal.screen().contains("echo: y\r"), "{}", terminal.screen());
    assert!(folder.exists());
    terminal.press("/deny A2 stop\r").await;
    terminal.shows("[A2: owner denied it and stopped the task]").await;
    assert!(folder.exists());
    terminal.press("\x04").await;
    assert_eq!(terminal.leaves().await, Some(0));
}

/// E62: a command that writes over the screen or plays the question is only text.
#[tokio::test]
async fn a_hostile_question_does_nothing_to_the_terminal() {
    let world = world().await;
    let mut terminal = Terminal::open(&world, "");
    terminal.press("job:hostile\r").await;
    terminal.shows("⟨U+202E⟩⟨U+001B⟩[2J").await;
    terminal.shows("/deny A1 [stop]").await;
    let screen = terminal.screen();
    for harm in ["\u{202e}", "\x1b[2J"] {
        assert!(!screen.contains(harm), "{screen:?}");
    }
    // In the title it is one line with the rest of it; in the text every line has its bar.
    let mut fakes = screen.lines().filter(|line| line.contains("A9 asks"));
    assert!(fakes.all(|line| line.contains("A1 asks") || line.contains("  | ")), "{screen:?}");
    terminal.press("stop\r").await;
    terminal.shows("[A1: owner denied it and stopped the task]").await;
    terminal.press("\x04").await;
    assert_eq!(terminal.leaves().await, Some(0));
}

/// G2: one message that leads to a question says so, and has its own exit code; the command line
/// lists, answers, and takes back.
#[tokio::test]
async fn a_question_is_answered_on_the_command_line() {
    let world = world().await;
    let waits = world.stack.cli(&["chat", "--wait", "job:tidy"]).await.unwrap();
    assert_eq!(waits.code, Some(77), "{waits:?}");
    assert!(waits.stderr.contains("cloister task approve A1"), "{waits:?}");
    assert!(waits.stderr.contains("| command: rm -r old"), "{waits:?}");
    let listed = world.stack.cli_ok(&["task", "approvals"]).await.unwrap();
    assert!(listed.contains("A1 asks (destructive)") && listed.contains("--always"), "{listed}");
    let json = world.json(&["task", "approvals"]).await;
    assert_eq!(json[0]["digest"].as_str().map(str::len), Some(64), "{json}");
    assert_eq!(json[0]["offered"][0], "allow", "{json}");

    let said = world.stack.cli_ok(&["task", "approve", "A1", "--always"]).await.unwrap();
    assert!(said.contains("allowed it always in this chat"), "{said}");
    world.until_tasks(TaskState::Done, 1).await;
    let (code, again) = world.failing(&["task", "deny", "A1"]).await;
    assert_eq!((code, again.error.code.as_str()), (1, "not_found"));

    let grants = world.stack.cli_ok(&["grant", "list"]).await.unwrap();
    assert!(grants.contains("always in C1") && grants.contains("run rm -r old"), "{grants}");
    let id = world.json(&["grant", "list"]).await[0]["id"].to_string();
    let shown = world.stack.cli_ok(&["grant", "show", &format!("G{id}")]).await.unwrap();
    assert!(shown.contains("given by owner") && shown.contains("| command: rm -r old"), "{shown}");
    world.stack.cli_ok(&["grant", "revoke", &id]).await.unwrap();
    assert_eq!(world.json(&["grant", "list"]).await, serde_json::json!([]));
    let (code, gone) = world.failing(&["grant", "revoke", &id]).await;
    assert_eq!((code, gone.error.code.as_str()), (1, "not_found"));

    let waits = world.stack.cli(&["chat", "--wait", "job:tidy"]).await.unwrap();
    assert_eq!(waits.code, Some(77), "what is revoked is asked again: {waits:?}");
    let status = world.json(&["status"]).await;
    let lines = status["lines"].as_array().unwrap();
    let line = lines.iter().find(|line| line["id"] == "approvals").unwrap();
    assert_eq!(line["value"], "1 question waits for somebody's answer");
    world.stack.cli_ok(&["task", "deny", "A2", "--stop"]).await.unwrap();
    eventually("the task is stopped", || async {
        (world.count_tasks(TaskState::Cancelled).await == 1).then_some(())
    })
    .await;
}

/// What somebody is asked next.
async fn question(client: &mut AgentClient) -> Ask {
    frame(client, "a question", |frame| match frame {
        AgentFrame::Ask(ask) => Some(ask.clone()),
        _ => None,
    })
    .await
}

/// G1: the same words delete other files in another chat, so "always" is asked again there.
#[tokio::test]
async fn always_in_one_chat_is_asked_again_in_another() {
    let world = world().await;
    world.json(&["chats", "new"]).await;
    let (mut first, mut second) = (world.client("owner", 1).await, world.client("owner", 2).await);
    first.say("job:tidy").await;
    let asked = question(&mut first).await;
    first.say(&format!("/approve {} always", asked.approval)).await;
    report(&mut first).await;
    let grants = first.say("/grants").await.text;
    assert!(grants.contains("run rm -r old") && grants.contains("always in C1"), "{grants}");

    first.say("job:tidy").await;
    report(&mut first).await;
    second.say("job:tidy").await;
    let again = question(&mut second).await;
    assert_ne!(again.approval, asked.approval, "the second time in C1 asked nothing");
    assert!(world.layer(1, 3).join("old").exists(), "nothing is deleted before it is allowed");
    second.say(&format!("/deny {} stop", again.approval)).await;
    let json = world.json(&["grant", "list"]).await;
    assert_eq!((json.as_array().map(Vec::len), json[0]["chat"].as_str()), (Some(1), Some("C1")));
}
