//! The terminal chat on a real terminal, and in pipes.

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use cloister_testkit::{Matcher, ModelServer, Reply};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::world::{
    Jobs, PATIENCE, World, cloister, eventually, hold, jobs, program, run_with_input,
};

/// A conversation on a terminal of its own.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
    _reader: JoinSet<()>,
}

impl Terminal {
    pub(crate) fn open(world: &World, arguments: &str) -> Self {
        let own = env!("CARGO_BIN_EXE_cloister");
        let command = format!("{own} --data {} chat {arguments}", world.stack.data().display());
        let mut script = program(std::path::Path::new("script"));
        script.args(["-q", "-e", "-c", &command, "/dev/null"]);
        script.env("TERM", "xterm").env_remove("NO_COLOR");
        let mut child = script.stdin(Stdio::piped()).spawn().unwrap();
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let screen = Arc::new(Mutex::new(String::new()));
        let seen = Arc::clone(&screen);
        let mut reader = JoinSet::new();
        reader.spawn(async move {
            let mut bytes = [0u8; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes).await {
                let text = String::from_utf8_lossy(bytes.get(..count).unwrap()).into_owned();
                seen.lock().unwrap().push_str(&text);
            }
        });
        Self { child, keys, screen, _reader: reader }
    }

    pub(crate) async fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).await.unwrap();
        self.keys.flush().await.unwrap();
    }

    pub(crate) fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    pub(crate) async fn shows(&self, text: &str) {
        let seen = || async { self.screen().contains(text).then_some(()) };
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while seen().await.is_none() {
            assert!(tokio::time::Instant::now() < deadline, "no {text:?} in {:?}", self.screen());
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn leaves(&mut self) -> Option<i32> {
        timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap().code()
    }
}

#[tokio::test]
async fn a_conversation_with_pastes_files_and_history() {
    let world = World::start().await;
    world.stack.cli_ok(&["init", "--unattended", "--agent-name", "Ada"]).await.unwrap();
    let mut terminal = Terminal::open(&world, "");
    terminal.shows("to Ada> ").await;
    terminal.press("hello\r").await;
    terminal.shows("echo: hello").await;
    assert!(terminal.screen().contains("Ada:"), "{:?}", terminal.screen());
    // The line before comes back with an arrow; what is typed ahead is not lost.
    terminal.press("\x1b[A again\rand more\r").await;
    terminal.shows("echo: hello again").await;
    terminal.shows("echo: and more").await;
    // Several lines that are pasted are one message.
    terminal.press("\x1b[200~first line\rsecond line\x1b[201~\r").await;
    eventually("the paste arrived", || async {
        let texts: Vec<String> =
            world.model.requests().iter().map(cloister_testkit::Received::last_user_text).collect();
        texts.iter().any(|text| text == "first line\nsecond line").then_some(())
    })
    .await;
    let file = world.stack.data().with_file_name("my note.txt");
    std::fs::write(&file, "content").unwrap();
    terminal.press(&format!("/file \"{}\" look at it\r", file.display())).await;
    terminal.shows("my note.txt is sent (7 bytes)").await;
    terminal.shows("look at it").await;
    terminal.press("/file /nowhere/at-all\r").await;
    terminal.shows("could not be read").await;
    terminal.press("\x04").await;
    assert_eq!(terminal.leaves().await, Some(0));
}

/// The connection breaks when a part of the answer stands there already, and the next one brings
/// the answer from its beginning.
#[tokio::test]
async fn an_answer_that_comes_again_after_a_break_stands_there_once() {
    const ANSWER: &str = "the first line\nthe second line\nthe last line";
    let mut world = World::start().await;
    let mut terminal = Terminal::open(&world, "");
    terminal.shows("/help lists commands").await;
    let (reply, steps) = Reply::text(ANSWER).chunks(8).stepped();
    world.model.enqueue(reply);
    world.model.enqueue(Reply::text(ANSWER).chunks(4));
    steps.allow(3);
    terminal.press("tell me\r").await;
    terminal.shows("the first line").await;
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    terminal.shows("the last line").await;
    terminal.press("and now?\r").await;
    terminal.shows("echo: and now?").await;
    let screen = terminal.screen();
    for line in ANSWER.lines() {
        assert_eq!(screen.matches(line).count(), 1, "{line:?} in {screen:?}");
    }
}

#[tokio::test]
async fn the_agent_is_never_busy_and_what_it_says_appears_above() {
    let steps: Jobs = vec![("hold", vec![hold()])];
    let world = World::with("", jobs(steps)).await;
    let mut terminal = Terminal::open(&world, "");
    terminal.press("job:hold\r").await;
    terminal.shows("hold: running").await;
    terminal.press("are you there?\r").await;
    terminal.shows("echo: are you there?").await;
    // Half a line is being written when the task ends.
    terminal.press("half a li").await;
    terminal.shows("half a li").await;
    world.release(1, 1);
    terminal.shows("hold: done").await;
    terminal.shows("released").await;
    terminal.press("ne\r").await;
    terminal.shows("echo: half a line").await;
    terminal.press("/quit\r").await;
    assert_eq!(terminal.leaves().await, Some(0));
}

/// An answer that breaks off because its person wrote again says so, and the end of a task is said once.
#[tokio::test]
async fn what_breaks_off_or_ends_is_told_as_such_and_once() {
    let config = "[cells]\nsecond_message = \"steer\"\n";
    let world = World::with(config, jobs(vec![("quick", vec![crate::world::bash("echo")])])).await;
    let (reply, steps) = Reply::text("All rivers\nof Europe\nare").chunks(5).stepped();
    world.model.enqueue(reply);
    steps.allow(3);
    let mut terminal = Terminal::open(&world, "");
    terminal.press("list rivers\r").await;
    terminal.shows("All rivers").await;
    terminal.press("only of France\r").await;
    terminal.shows("(broken off here: you wrote again, and the next answer is to both)").await;
    terminal.shows("only of France").await;
    terminal.press("job:quick\r").await;
    terminal.shows("quick: done]").await;
    terminal.press("and now?\r").await;
    terminal.shows("echo: and now?").await;
    assert_eq!(terminal.screen().matches("quick: done]").count(), 1, "{:?}", terminal.screen());
}

#[tokio::test]
async fn a_restart_of_the_control_plane_is_survived() {
    let mut world = World::start().await;
    let mut terminal = Terminal::open(&world, "");
    terminal.press("hello\r").await;
    terminal.shows("echo: hello").await;
    world.stack.stop().await.unwrap();
    terminal.shows("(the connection is lost").await;
    terminal.press("anybody?\r").await;
    world.stack.restart().await.unwrap();
    terminal.shows("echo: anybody?").await;
    terminal.press("\x04").await;
    assert_eq!(terminal.leaves().await, Some(0));
}

#[tokio::test]
async fn ctrl_c_stops_an_answer_and_twice_leaves() {
    let model = ModelServer::builder().when(Matcher::last_user_contains("endless"), Reply::hang());
    let world = World::with("", model).await;
    let mut terminal = Terminal::open(&world, "");
    terminal.press("something endless\r").await;
    assert!(world.model.wait_for_n(1, PATIENCE).await.is_some());
    terminal.press("\x03").await;
    terminal.shows("(stopped").await;
    assert!(world.model.wait_for_abandoned(1, PATIENCE).await);
    terminal.press("hello\r").await;
    terminal.shows("echo: hello").await;
    terminal.press("\x03").await;
    terminal.shows("(Ctrl-C again leaves").await;
    terminal.press("\x03").await;
    assert_eq!(terminal.leaves().await, Some(130));
}

#[tokio::test]
async fn a_hostile_answer_does_nothing_to_the_terminal() {
    let hostile = "\x1b]0;owned\x07\x1b[2J\u{9b}31mred\u{202e}txt.exe";
    let model = ModelServer::builder().when(Matcher::any(), Reply::text(hostile));
    let world = World::with("", model).await;
    for arguments in ["", "attack", "--json attack"] {
        let mut terminal = Terminal::open(&world, arguments);
        if arguments.is_empty() {
            terminal.press("attack\r").await;
        }
        terminal.shows("txt.exe").await;
        let screen = terminal.screen();
        for harm in ["\x1b]0;", "\x1b[2J", "\u{9b}", "\u{202e}"] {
            assert!(!screen.contains(harm), "{arguments}: {screen:?}");
        }
        if arguments.is_empty() {
            terminal.press("\x04").await;
        }
        assert_eq!(terminal.leaves().await, Some(0), "{arguments}");
    }
    // A program gets what was said.
    let piped = world.stack.cli_ok(&["chat", "attack"]).await.unwrap();
    assert_eq!(piped, format!("{hostile}\n"));
}

#[tokio::test]
async fn a_pipe_goes_along_with_the_words() {
    let world = World::start().await;
    let data = world.stack.data();
    let said =
        run_with_input(cloister(data).args(["chat", "summarise", "this:"]), "one\ntwo\n").await;
    assert_eq!(String::from_utf8_lossy(&said.stdout), "echo: summarise this:\n\none\ntwo\n");
    assert!(said.stderr.is_empty(), "{said:?}");
    let large = "a line of text\n".repeat(10_000);
    let said = run_with_input(cloister(data).args(["chat", "summarise"]), &large).await;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success() && text.contains("name: stdin.txt"), "{text}");
    // Nobody reads any more: not worth a word.
    let mut child = cloister(data).args(["chat", "hello"]).spawn().unwrap();
    drop(child.stdout.take());
    let ended = timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(141), "{ended:?}");
    assert!(ended.stderr.is_empty(), "{ended:?}");
}

#[tokio::test]
async fn no_answer_in_time_has_its_own_exit_code() {
    let model = ModelServer::builder().when(Matcher::any(), Reply::hang());
    let world = World::with("", model).await;
    let late = world.stack.cli(&["chat", "--timeout", "1", "hello"]).await.unwrap();
    assert_eq!(late.code, Some(75), "{late:?}");
    assert!(late.stderr.contains("will be answered"), "{late:?}");
}
