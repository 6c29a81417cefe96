//! The everyday story in a chat without topics, as a person meets it in their own client.

use cloister_testkit::telegram::{Person, Place};
use cloister_testkit::{Matcher, ModelServer, Reply};

use crate::world::{PATIENCE, World, count, echoes, eventually};

/// X5: one chat with a bot shows the person's chats one at a time: `/new` makes one and shows it, `/chats`
/// lists them with a button each.
#[tokio::test]
async fn chats_without_topics_are_chosen_with_buttons() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    ann.ask(&chat, "the word is aubergine", "echo: the word is aubergine").await;
    ann.ask(&chat, "/new Groceries", "C2").await;
    ann.ask(&chat, "milk", "echo: milk").await;
    let in_c2 = world.model.requests().pop().unwrap().body.to_string();
    assert!(!in_c2.contains("aubergine"), "another chat");

    let listed = ann.ask(&chat, "/chats", "Groceries").await;
    let labels: Vec<&str> = listed.buttons.iter().map(|button| button.label.as_str()).collect();
    assert!(labels.iter().any(|label| label.contains("C1")), "{labels:?}");
    assert!(labels.iter().any(|label| label.to_lowercase().contains("new")), "{labels:?}");
    ann.press(&chat, &listed, "C1").answered().await;
    eventually("the first chat is shown", || async {
        let said = ann.heard_texts(&chat);
        said.last().filter(|last| last.contains("C1")).cloned()
    })
    .await;
    ann.ask(&chat, "which word?", "echo: which word?").await;
    let in_c1 = world.model.requests().pop().unwrap().body.to_string();
    assert!(in_c1.contains("aubergine"), "the chat that was chosen");
    assert_eq!(world.model.request_count(), 3, "no command and no press reaches the model");
}

/// X5: what belongs to a chat that is not shown says which one it is of.
#[tokio::test]
async fn news_of_another_chat_names_it() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    ann.say(&chat, "run: sleep 1; echo the cake is ready");
    world.told_model("the cake is ready").await;
    ann.ask(&chat, "/new Other", "C2").await;
    let told = ann.wait_for_words(&chat, "the cake is ready").await;
    let news = ann.wait_for(&chat, "the news", |seen| {
        seen.text.contains("C1") && seen.text.contains("cake is ready") && seen.id >= told.id
    });
    news.await;
}

/// X5: every command is answered in the chat and costs no model call.
#[tokio::test]
async fn commands_are_answered() {
    let world = World::start().await;
    let (ann, bob) = (world.met("ann").await, world.met("bob").await);
    let ask_all = async |(person, chat): &(Person, Place), commands: &[(&str, &str)]| {
        for (command, answer) in commands {
            person.ask(chat, command, answer).await;
        }
    };
    let general = [
        ("/help", "/cancel"),
        ("/settings", "Linked accounts:"),
        ("/config", "Linked accounts:"),
        ("/clera", "did you mean /clear?"),
    ];
    let special = [
        ("/status", "Nothing is running."),
        ("/tasks", "There are no tasks yet."),
        ("/rename Shopping", "Shopping"),
        ("/approve A7", "A7"),
    ];
    tokio::join!(ask_all(&ann, &general), ask_all(&bob, &special));
    assert_eq!(world.model.request_count(), 0, "no command reaches the model");
}

/// X5: the commands that Telegram offers are set per scope and language, within its rules, and not again when
/// nothing changed.
#[tokio::test]
async fn commands_are_offered_by_scope_and_language() {
    let mut world = World::start().await;
    let places = eventually("the commands are set", || async {
        let places = world.telegram.command_places(&world.bot);
        (places.len() >= 4).then_some(places)
    })
    .await;
    let scopes: Vec<&str> = places.iter().map(|(scope, _)| scope.as_str()).collect();
    assert!(scopes.contains(&"all_private_chats") && scopes.contains(&"all_group_chats"));
    assert!(places.iter().any(|(_, language)| !language.is_empty()), "{places:?}");
    let private = world.telegram.commands(&world.bot, "all_private_chats", "");
    let names: Vec<&str> = private.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "start", "new", "archive", "rename", "chats", "clear", "status", "cancel", "settings",
        "task", "approve", "deny",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let groups = world.telegram.commands(&world.bot, "all_group_chats", "");
    assert!(groups.iter().all(|(name, _)| name != "pair" && name != "start"), "{groups:?}");
    let told = world.telegram.calls("setMyCommands").len();
    let (ann, chat) = world.met("ann").await;
    ann.ask(&chat, "hello", "echo: hello").await;
    assert_eq!(world.telegram.calls("setMyCommands").len(), told);
    world.stack.restart().await.unwrap();
    ann.ask(&chat, "again", "echo: again").await;
}

/// X5: `/task TEXT` starts a task at once; `/cancel` and its button end one.
#[tokio::test]
async fn a_task_is_started_and_cancelled_with_a_button() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    ann.ask(&chat, "/task run: sleep 600", "T1").await;
    eventually("it runs", || async {
        let tasks = world.json(&["task", "list", "--user", "ann"]).await.to_string();
        tasks.contains("running").then_some(())
    })
    .await;
    let status = ann.ask(&chat, "/tasks", "T1").await;
    ann.press(&chat, &status, "T1").answered().await;
    eventually("it is cancelled", || async {
        let tasks = world.json(&["task", "list", "--user", "ann"]).await.to_string();
        (tasks.contains("cancel") && !tasks.contains("running")).then_some(())
    })
    .await;
    assert_eq!(count(&ann, &chat, "I can't"), 0, "{:?}", ann.heard_texts(&chat));
}

/// What a provider's failure looks like: a sentence, and the bot lives on.
#[tokio::test]
async fn a_model_that_fails_is_told_in_the_chat() {
    let model = ModelServer::builder()
        .when(Matcher::last_user_contains("fail"), Reply::status(400, "{\"error\":\"no\"}"));
    let world = World::builder().model(model).start().await;
    let (ann, chat) = world.met("ann").await;
    let before = ann.heard(&chat).len();
    ann.say(&chat, "please fail");
    eventually("something is said", || async { (ann.heard(&chat).len() > before).then_some(()) })
        .await;
    ann.ask(&chat, "hello", "echo: hello").await;
}

/// Two people share a bot and nothing else.
#[tokio::test]
async fn two_people_are_strangers_to_each_other() {
    let world = World::start().await;
    let (ann, anns) = world.met("ann").await;
    let (bob, bobs) = world.met("bob").await;
    ann.ask(&anns, "my secret is aubergine", "echo: my secret is aubergine").await;
    bob.ask(&bobs, "what do you know?", "echo: what do you know?").await;
    let seen = world.model.requests();
    assert!(!seen.last().unwrap().body.to_string().contains("aubergine"));
    assert_eq!(count(&bob, &bobs, "aubergine"), 0);
    assert!(bob.messages(&anns).is_empty(), "a chat of two is theirs");
}

/// X9: an account nobody is linked to is told how to be, once, and reaches neither a model nor a workspace.
#[tokio::test]
async fn a_stranger_is_told_once_what_to_do() {
    let world = World::start().await;
    let eve: Person = world.telegram.person("eve");
    let chat = eve.with(&world.bot);
    eve.ask(&chat, "hello", "pair").await;
    for text in ["ignore that and talk to me", "/status", "/yes", "/new Mine"] {
        eve.say(&chat, text);
    }
    eve.send(&chat, cloister_testkit::telegram::Sent::sticker("👋"));
    eve.ask(&chat, "pair", "cloister pair").await;
    assert_eq!(eve.heard(&chat).len(), 2, "{:?}", eve.heard_texts(&chat));
    assert_eq!(world.model.request_count(), 0);
    assert!(!world.json(&["user", "list"]).await.to_string().contains("eve"));
}

/// Who blocked the bot and starts it anew is told again how to pair, the same day; and not as often
/// as they like.
#[tokio::test]
async fn a_stranger_who_starts_anew_is_told_again() {
    let world = World::start().await;
    let eve: Person = world.telegram.person("eve");
    let chat = eve.with(&world.bot);
    eve.ask(&chat, "hello", "pair").await;
    eve.block(&world.bot);
    eve.unblock(&world.bot);
    for _ in 0..5 {
        eve.start(&chat);
    }
    // Notices to strangers are sent beside each other: the code may come before the last of them.
    eventually("she is told three times more", || async {
        (eve.heard(&chat).len() >= 4).then_some(())
    })
    .await;
    eve.ask(&chat, "pair", "Your code is").await;
    assert_eq!(
        eve.heard(&chat).len(),
        5,
        "once, three times again, and a code: {:?}",
        eve.heard_texts(&chat)
    );
    assert_eq!(world.model.request_count(), 0);
}

/// X11: a flood is told once that it is too fast, and what was taken is answered.
#[tokio::test]
async fn a_flood_is_answered_once() {
    let limits = "[limits]\nperson_burst = 2\nperson_per_s = 0.001\n";
    let world = World::builder().config("", limits).start().await;
    let (ann, chat) = world.met("ann").await;
    for number in 0..15 {
        ann.say(&chat, &format!("flood {number}"));
    }
    ann.wait_for_words(&chat, "faster than").await;
    ann.ask(&chat, "/status", "Budget:").await;
    assert_eq!(count(&ann, &chat, "faster than"), 1);
    assert!(world.model.request_count() <= 2);
}

/// X1: messages said in a row are answered in that order, each once.
#[tokio::test]
async fn answers_come_in_order() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let said: Vec<String> = (0..4).map(|number| format!("number {number}")).collect();
    for text in &said {
        ann.say(&chat, text);
    }
    ann.wait_for_text(&chat, "echo: number 3").await;
    let expected: Vec<String> = said.iter().map(|text| format!("echo: {text}")).collect();
    assert_eq!(echoes(&ann, &chat), expected);
}

/// `/cancel` ends an answer that is being written.
#[tokio::test]
async fn an_answer_can_be_cancelled() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let (reply, steps) = Reply::text("this goes on for ever").chunks(5).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    ann.say(&chat, "talk");
    ann.wait_for_draft(&chat, |draft| draft.starts_with("this")).await;
    // That an answer is being written is something that runs, and a stopped one says so.
    let status = ann.ask(&chat, "/status", "Budget:").await;
    assert!(status.text.contains("answering in C1"), "{}", status.text);
    ann.ask(&chat, "/cancel", "I stop what I was saying").await;
    assert!(world.model.wait_for_abandoned(1, PATIENCE).await, "the call is given up");
    let stopped = ann.wait_for_words(&chat, "Stopped.").await;
    assert!(stopped.text.starts_with("this"), "{}", stopped.text);
    ann.ask(&chat, "and now?", "echo: and now?").await;
}
