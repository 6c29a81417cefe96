//! The everyday story, as a person meets it in a direct channel.

use cloister_testkit::discord::Seen;
use cloister_testkit::{Matcher, ModelServer, Reply};

use crate::world::{PATIENCE, World, echoes, eventually, texts};

/// X6: a direct channel is a lobby: it shows one chat at a time, and the others are a command or a press away.
#[tokio::test]
async fn a_direct_channel_shows_one_chat_at_a_time() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "the word is aubergine", "echo: the word is aubergine").await;
    ann.ask(dm, "/new Groceries", "C2").await;
    ann.ask(dm, "milk", "echo: milk").await;
    let asked = world.told_model("milk").await;
    assert!(!asked.contains("aubergine"));
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(!seen.contains("aubergine"), "chats do not mix");
    let listed = ann.ask(dm, "/chats", "Groceries").await;
    assert!(listed.text().contains("C1") && listed.text().contains("C2"), "{}", listed.text());

    ann.ask(dm, "/chats C1", "C1").await;
    ann.ask(dm, "which word?", "echo: which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine") && !seen.contains("milk"), "the first chat again");
    ann.ask(dm, "/rename Words", "Words").await;
    ann.ask(dm, "/hepl", "/help").await;
    assert_eq!(world.model.request_count(), 3, "no command reaches the model");
    world.assert_clean();
}

/// X6, X5: the commands, typed as words, are answered without a model.
#[tokio::test]
async fn commands_are_answered_in_the_channel() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    for (command, answer) in [
        ("/start", "Hello ann."),
        ("!start", "Hello ann."),
        ("/help", "/cancel"),
        ("/help clear", "/clear"),
        ("/context", "C1 in the workspace of ann (private)."),
        ("/settings", "Linked accounts:"),
        ("/config", "Linked accounts:"),
        ("/status", "Nothing is running."),
        ("/tasks", "There are no tasks yet."),
        ("/cancel T3", "there is no task T3"),
        ("/yes", "nothing waits for an answer here"),
        ("/pair", "You are ann here already."),
        ("/rename", "/rename TITLE"),
        ("/clera", "did you mean /clear?"),
        ("/clear", "starts afresh"),
    ] {
        ann.ask(dm, command, answer).await;
    }
    assert_eq!(world.model.request_count(), 0, "no command reaches the model");
    world.assert_clean();
}

/// A8: what streams can be cancelled; the call to the model is given up.
#[tokio::test]
async fn an_answer_that_streams_can_be_cancelled() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let (reply, steps) = Reply::text("this goes on for ever").chunks(5).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    ann.say(dm, "talk");
    ann.wait_for(dm, "a part", |seen| seen.content.starts_with("this")).await;
    // That an answer is being written is something that runs, and a stopped one says so.
    let status = ann.ask(dm, "/status", "Budget:").await;
    assert!(status.text().contains("answering in C1"), "{}", status.text());
    ann.ask(dm, "/cancel", "I stop what I was saying").await;
    let stopped = ann.wait_for_words(dm, "Stopped.").await;
    assert!(stopped.text().starts_with("this"), "{}", stopped.text());
    assert!(world.model.wait_for_abandoned(1, PATIENCE).await, "the call is given up");
    ann.ask(dm, "and now?", "echo: and now?").await;
    world.assert_clean();
}

/// A8: a provider that fails becomes a sentence, and the bot lives on.
#[tokio::test]
async fn a_model_that_fails_is_told() {
    let model = ModelServer::builder()
        .when(Matcher::last_user_contains("fail"), Reply::status(400, "{\"error\":\"no\"}"));
    let world = World::builder().model(model).start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "please fail", "").await;
    ann.ask(dm, "hello", "echo: hello").await;
    world.assert_clean();
}

/// X9: whoever is not linked is told what to do, once, and reaches no model and no command.
#[tokio::test]
async fn a_stranger_is_told_once_what_to_do() {
    let world = World::start().await;
    let eve = world.discord.person("eve");
    let dm = eve.dm(&world.bot);
    eve.ask(dm, "hello", "pair").await;
    eve.say(dm, "ignore that and talk to me");
    eve.say(dm, "/status");
    let code = eve.ask(dm, "pair", "cloister pair").await;
    let told = texts(&eve, dm);
    assert_eq!(told.len(), 2, "once, and the code: {told:#?}");
    assert!(code.text().contains("ten minutes"), "{}", code.text());
    assert_eq!(world.model.request_count(), 0);
    world.assert_clean();
}

/// I2: a code is good once, and the person sees at once that they are known.
#[tokio::test]
async fn a_pairing_code_is_good_once() {
    let world = World::start().await;
    let eve = world.discord.person("eve");
    let dm = eve.dm(&world.bot);
    let told = eve.ask(dm, "pair", "cloister pair").await.text();
    let code = told.split_whitespace().skip_while(|word| *word != "pair").nth(1).unwrap();
    let code = code.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-').to_owned();
    world.stack.cli_ok(&["user", "add", "eve"]).await.unwrap();
    world.stack.cli_ok(&["user", "add", "mallory"]).await.unwrap();
    let shown = world.stack.cli_ok(&["pair", &code, "--user", "eve"]).await.unwrap();
    assert!(shown.contains("eve"), "the admin sees who it is: {shown}");
    let again = world.stack.cli(&["pair", &code, "--user", "mallory"]).await.unwrap();
    assert!(!again.ok(), "{again:?}");
    eve.ask(dm, "hello", "echo: hello").await;
    let linked = world.json(&["user", "show", "eve"]).await.to_string();
    assert!(linked.contains(&eve.id().to_string()), "{linked}");
    world.assert_clean();
}

/// Two people share a bot and nothing else.
#[tokio::test]
async fn two_people_are_strangers_to_each_other() {
    let world = World::start().await;
    let (ann, anns) = world.met("ann").await;
    let (bob, bobs) = world.met("bob").await;
    ann.ask(anns, "my secret is aubergine", "echo: my secret is aubergine").await;
    bob.ask(bobs, "what do you know?", "echo: what do you know?").await;
    let seen = world.model.requests();
    assert!(!seen.last().unwrap().body.to_string().contains("aubergine"));
    assert!(!texts(&bob, bobs).iter().any(|text| text.contains("aubergine")));
    assert!(bob.messages(anns).is_empty());
    world.assert_clean();
}

/// Several bots in one control plane: each answers where it was asked.
#[tokio::test]
async fn several_bots_answer_each_in_their_channels() {
    let world = World::start().await;
    let other = world.discord.bot("other");
    world.add_bot(&other).await;
    let (ann, first) = world.met("ann").await;
    let second = ann.dm(&other);
    ann.ask(first, "hello first", "echo: hello first").await;
    let answer = ann.ask(second, "hello second", "echo: hello second").await;
    assert_eq!(answer.author, other.user_id);
    let listed = world.json(&["discord", "list"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert!(texts(&ann, first).iter().all(|text| !text.contains("second")));
    world.assert_clean();
}

/// X11: a flood is told once that it is too fast, and what was taken is answered.
#[tokio::test]
async fn a_flood_is_answered_once() {
    let config = "[limits]\nperson_burst = 3\nperson_per_s = 0.001\n";
    let world = World::builder().config(config).start().await;
    let (ann, dm) = world.met("ann").await;
    for number in 0..15 {
        ann.say(dm, &format!("flood {number}"));
    }
    ann.wait_for_words(dm, "faster than").await;
    ann.ask(dm, "/status", "Budget:").await;
    let told = texts(&ann, dm).iter().filter(|text| text.contains("faster than")).count();
    assert_eq!(told, 1);
    assert!(world.model.request_count() <= 3);
    world.assert_clean();
}

/// X1: what is said in one breath is answered in order, each once.
#[tokio::test]
async fn messages_are_answered_in_order() {
    let world = World::builder().config("[limits]\nperson_burst = 50\n").start().await;
    let (ann, dm) = world.met("ann").await;
    for number in 0..8 {
        ann.say(dm, &format!("number {number}"));
    }
    ann.wait_for_text(dm, "echo: number 7").await;
    let expected: Vec<String> = (0..8).map(|number| format!("echo: number {number}")).collect();
    assert_eq!(echoes(&ann, dm), expected);
    world.assert_clean();
}

/// W7: what belongs to a chat that is not shown is told with its name before it.
#[tokio::test]
async fn what_belongs_to_another_chat_says_so() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.say(dm, "run: sleep 2 && echo from-the-task");
    eventually("it runs", || async {
        let tasks = world.json(&["task", "list", "--user", "ann"]).await;
        (!tasks.as_array().unwrap().is_empty()).then_some(())
    })
    .await;
    ann.ask(dm, "/new Groceries", "C2").await;
    let told = ann.wait_for_words(dm, "from-the-task").await;
    assert!(told.text().contains("C1"), "it says which chat it is of: {}", told.text());
    world.assert_clean();
}

/// A person whose link is taken back is a stranger again.
#[tokio::test]
async fn who_is_unlinked_is_a_stranger() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;
    let id = ann.id().to_string();
    let unlink = ["user", "unlink", "ann", "--surface", "discord", "--id", &id];
    world.stack.cli_ok(&unlink).await.unwrap();
    ann.ask(dm, "still there?", "pair").await;
    let heard: Vec<Seen> = ann.heard(dm);
    assert!(!heard.iter().any(|seen| seen.text() == "echo: still there?"));
    world.assert_clean();
}
