//! The checks, in the words of a person.

use std::time::Duration;

use cloister_testkit::{Matcher, ModelServer, Received, Reply};
use serde_json::json;

use crate::seat::{Ground, Outside, PATIENCE, Seat};

/// With the lines of a terminal, which breaks them where it must, and of a message, which breaks them elsewhere.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How often a text was said, whatever a surface puts around it.
fn count(heard: &[String], text: &str) -> usize {
    heard.iter().map(|said| on_one_line(said).matches(text).count()).sum()
}

/// X1: what is said in a row is answered in that order, each once.
pub(crate) async fn answers_keep_their_order<G: Ground>() {
    let mut ground = G::start("", ModelServer::builder()).await;
    let mut ann = ground.person("ann").await;
    for number in 1..=6 {
        ann.say(&format!("word-{number}.")).await;
    }
    ann.sees("echo: word-6.").await;
    let all = ann.heard().await.join("\n");
    let places: Vec<Option<usize>> =
        (1..=6).map(|number| all.find(&format!("echo: word-{number}."))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{all}");
    for number in 1..=6 {
        assert_eq!(all.matches(&format!("echo: word-{number}.")).count(), 1, "{all}");
    }
}

/// X1: a message that the surface delivers again is the same message.
pub(crate) async fn a_message_that_comes_twice_is_answered_once<G: Ground>() {
    let mut ground = G::start("", ModelServer::builder()).await;
    let mut ann = ground.person("ann").await;
    ground.say_twice(&mut ann, "only once").await;
    ann.sees("echo: only once").await;
    ann.ask("and now this", "echo: and now this").await;
    let heard = ann.heard().await;
    assert_eq!(count(&heard, "echo: only once"), 1, "{heard:#?}");
}

/// A8: however an answer is shown while it is written, in the end it stands there once, whole.
pub(crate) async fn a_streamed_answer_ends_as_it_was_meant<G: Ground>() {
    let words: Vec<String> = (0..60).map(|number| format!("part{number:02}")).collect();
    let text = words.join(" ");
    let reply = Reply::text(&text).chunks(30).delay(Duration::from_millis(60));
    let model = ModelServer::builder()
        .when(Matcher::last_user_contains("slowly").and(Matcher::coordinator()), reply);
    let mut ground = G::start("", model).await;
    let mut ann = ground.person("ann").await;
    ann.say("tell me slowly").await;
    ann.sees("part59").await;
    ann.ask("and then?", "echo: and then?").await;
    let heard = ann.heard().await;
    let told: Vec<&String> = heard.iter().filter(|said| said.contains("part")).collect();
    assert_eq!(told.len(), 1, "{heard:#?}");
    assert_eq!(count(&heard, &text), 1, "{heard:#?}");
    assert_eq!(count(&heard, "part00"), 1, "{heard:#?}");
}

/// X1, X5: what is asked can be allowed right there, and is done once.
pub(crate) async fn a_question_is_answered_where_it_is_asked<G: Ground>() {
    let mut ground = G::start("", ModelServer::builder()).await;
    let mut ann = ground.person("ann").await;
    ann.ask("run: mkdir old && echo made it", "made it").await;
    ann.say("run: rm -r old && echo removed it").await;
    ann.sees("A1").await;
    ann.allow().await;
    ann.sees("removed it").await;
    let approvals = ground.cli_ok(&["--json", "task", "approvals"]).await;
    assert!(!approvals.contains("pending"), "{approvals}");
}

/// X10: a file without words starts a turn and lies in `incoming/`; what the agent sends arrives whole.
pub(crate) async fn files_go_both_ways<G: Ground>() {
    let send = |received: &Received| {
        let (tools, asked) = (received.tool_names(), received.last_user_text());
        let begun = !received.tool_results().is_empty();
        if tools.contains(&"bash") {
            let send =
                || Reply::tool_call("send_file", json!({"path": "/chat/incoming/notes.txt"}));
            return Some(if begun { Reply::text("there it is") } else { send() });
        }
        if !tools.contains(&"delegate") || asked != "send it back" {
            return None;
        }
        let task = json!({"title": "send", "instructions": "send the notes back", "risky": false});
        let delegate = || Reply::tool_call("delegate", task);
        Some(if begun { Reply::text("It has begun.") } else { delegate() })
    };
    let mut ground = G::start("", ModelServer::builder().rule(send)).await;
    let mut ann = ground.person("ann").await;
    ann.send_file("notes.txt", b"what I wrote\n").await;
    ann.sees("incoming/notes.txt").await;
    ann.ask("send it back", "there it is").await;
    let began = tokio::time::Instant::now();
    loop {
        if let Some(bytes) = ann.file("notes.txt").await {
            assert_eq!(bytes, b"what I wrote\n");
            return;
        }
        assert!(began.elapsed() < PATIENCE, "no file: {:#?}", ann.heard().await);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// X9, X11: who is not known costs no model call, leaves nothing behind, and is told what to do.
pub(crate) async fn a_stranger_gets_nothing_done<G: Ground>() {
    let mut ground = G::start("", ModelServer::builder()).await;
    let mut ann = ground.person("ann").await;
    let known = ground.cli_ok(&["--json", "user", "list"]).await;
    let mut eve = ground.stranger().await;
    let is_way_in = |told: &&String| told.contains(G::WAY_IN);
    eve.tries("hello, do something for me").await;
    let began = tokio::time::Instant::now();
    while eve.was_told().await.iter().find(is_way_in).is_none() {
        assert!(began.elapsed() < PATIENCE, "never told: {:#?}", eve.was_told().await);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    eve.tries("please").await;
    eve.tries("/status").await;
    ann.ask("are you there?", "echo: are you there?").await;
    let asked = ground.model.requests();
    let of_eve = |text: &str| text.contains("do something for me") || text.contains("please");
    assert!(asked.iter().all(|request| !of_eve(&request.last_user_text())));
    let told = eve.was_told().await;
    assert!(told.iter().all(|said| !said.contains("echo:")), "{told:#?}");
    let ways_in = told.iter().filter(is_way_in).count();
    assert_eq!(ways_in, if eve.is_answered_each_time() { told.len() } else { 1 }, "{told:#?}");
    assert_eq!(ground.cli_ok(&["--json", "user", "list"]).await, known);
}

/// X1: killed while an answer is being written, and started again: it is answered, once.
pub(crate) async fn a_kill_in_mid_answer_loses_and_doubles_nothing<G: Ground>() {
    let mut ground = G::start("", ModelServer::builder()).await;
    let mut ann = ground.person("ann").await;
    ann.ask("first", "echo: first").await;
    let (reply, steps) = Reply::text("this text is never whole").chunks(6).stepped();
    ground.model.enqueue(reply);
    steps.allow(2);
    let before = ground.model.request_count();
    ann.say("second").await;
    assert!(ground.model.wait_for_n(before + 1, PATIENCE).await.is_some(), "it is being answered");
    ground.stack.kill().await.unwrap();
    ground.stack.restart().await.unwrap();
    ann.sees("echo: second").await;
    ann.ask("third", "echo: third").await;
    let heard = ann.heard().await;
    for answer in ["echo: first", "echo: second", "echo: third"] {
        assert_eq!(count(&heard, answer), 1, "{heard:#?}");
    }
}

/// A8: an answer that is longer than the surface takes at once arrives whole and in order.
pub(crate) async fn a_long_answer_is_whole<G: Ground>() {
    let paragraph =
        |number: usize| format!("Paragraph {number:02}.{}", " Some words of it.".repeat(20));
    let text: Vec<String> =
        (0..30).map(paragraph).chain(["That is all of it.".to_owned()]).collect();
    let model = ModelServer::builder().when(
        Matcher::last_user_contains("everything").and(Matcher::coordinator()),
        Reply::text(text.join("\n\n")),
    );
    let mut ground = G::start("", model).await;
    let mut ann = ground.person("ann").await;
    ann.say("tell me everything").await;
    ann.sees("That is all of it.").await;
    ann.ask("and then?", "echo: and then?").await;
    let all = ann.heard().await.join("\n\n");
    let squeezed = on_one_line(&all);
    for paragraph in &text {
        assert_eq!(squeezed.matches(paragraph.as_str()).count(), 1, "{all}");
    }
    let places: Vec<_> = text.iter().map(|paragraph| squeezed.find(paragraph.as_str())).collect();
    assert!(places.is_sorted(), "{all}");
}

/// X11: somebody who writes faster than they are answered keeps nobody else waiting, and gets what they asked.
pub(crate) async fn a_flood_holds_up_nobody_else<G: Ground>() {
    let limits = "[limits]\nperson_burst = 6\nperson_per_s = 4.0\n";
    let mut ground = G::start(limits, ModelServer::builder()).await;
    let mut ann = ground.person("ann").await;
    let mut bob = ground.person("bob").await;
    for number in 10..FLOOD {
        ann.say(&format!("flood-{number}.")).await;
    }
    bob.ask("and me?", "echo: and me?").await;
    for number in 10..FLOOD {
        ann.sees(&format!("echo: flood-{number}.")).await;
    }
    let heard = ann.heard().await;
    for number in 10..FLOOD {
        assert_eq!(count(&heard, &format!("echo: flood-{number}.")), 1, "{number}: {heard:#?}");
    }
}

/// P13: a person makes another agent where they are, talks with it and goes back to the first one; each is itself.
pub(crate) async fn another_agent_is_made_and_talked_to<G: Ground>() {
    let nora = |received: &Received| {
        let is_nora = received.system_prompt().contains("Your name is Nora.");
        is_nora.then(|| Reply::text(format!("Nora heard {}", received.last_user_text())))
    };
    let mut ground = G::start("", ModelServer::builder().rule(nora)).await;
    let mut ann = ground.person("ann").await;
    let command = |text: &str| format!("{}agent {text}", G::SIGN);
    ann.ask("hello", "echo: hello").await;
    ann.ask(&command("new Nora You look after the garden."), "Nora: C2").await;
    ground.go_to(&mut ann, "ann", "C2").await;
    ann.ask("how are the roses?", "Nora heard how are the roses?").await;
    ann.ask(&command("a1"), "C1").await;
    ground.go_to(&mut ann, "ann", "C1").await;
    ann.ask("and the taxes?", "echo: and the taxes?").await;
    ann.ask(&command(""), "2 agents").await;
    let agents = ground.cli_ok(&["--json", "agent", "list", "--user", "ann"]).await;
    assert!(agents.contains("Nora"), "{agents}");
}

/// More than may be said at once.
const FLOOD: usize = 26;
