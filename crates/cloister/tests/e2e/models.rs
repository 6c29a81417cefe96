//! Models: falling over without doubled text, clear words when none answers, keys that stay out of
//! cells, images.

use cloister_protocol::{Attachment, ClientFrame, ErrorCode, Message};
use cloister_testkit::{Matcher, ModelServer, Reply};
use serde_json::Value;

use crate::world::{Talk, World, ask_for_report, bash, files_with, frame, jobs};

/// Connects the same server under several names; the model's id is the name.
async fn connect(world: &World, names: &[&str]) {
    let url = world.model.base_url();
    for name in names {
        let add = ["model", "add", name, "--base-url", &url, "--model", name, "--no-test"];
        world.stack.cli_ok(&add).await.unwrap();
    }
    world.stack.cli_ok(&["model", "use", &names.join(",")]).await.unwrap();
}

#[tokio::test]
async fn the_next_model_answers_when_one_does_not() {
    let cut = Reply::text("this answer is cut in its middle").chunks(6).cut_after(3);
    let model = ModelServer::builder()
        .when(Matcher::model("cut"), cut)
        .when(Matcher::model("broken"), Reply::status(500, "{\"error\":{\"message\":\"boom\"}}"))
        .when(Matcher::model("busy"), Reply::status(429, "slow down").retry_after(30))
        .when(Matcher::model("garbled"), Reply::text("never shown").chunks(2).malformed())
        .when(Matcher::model("good"), Reply::text("the one good answer").chunks(4));
    let world = World::with("", model).await;
    connect(&world, &["cut", "broken", "busy", "garbled", "good"]).await;
    let mut client = world.owner().await;
    let answer = client.say("hello").await;
    assert_eq!((answer.text.as_str(), answer.error), ("the one good answer", None));
    assert!(client.faults().is_empty(), "{:?}", client.faults());
    let texts: Vec<String> =
        world.transcript("C1").await.into_iter().map(|line| line.text).collect();
    assert_eq!(texts, ["hello", "the one good answer"]);
    // What fell over is not part of the conversation.
    client.say("and again").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(!seen.contains("cut in its middle"), "{seen}");
}

/// A chat's choice decides who is asked, its tasks included, until it is taken back or can't be had.
#[tokio::test]
async fn a_chat_is_answered_by_the_model_that_was_chosen_for_it() {
    let model = ModelServer::builder()
        .when(Matcher::model("fast"), Reply::text("fast here"))
        .when(Matcher::model("strong"), Reply::text("strong here"));
    let world = World::with("", model).await;
    connect(&world, &["fast", "strong"]).await;
    world.json(&["chats", "new"]).await;
    let (mut here, mut there) = (world.owner().await, world.client("owner", 2).await);
    assert_eq!(here.say("hello").await.text, "fast here");
    let refused = here.say("/model gpt").await;
    assert!(refused.error.is_some() && refused.text.contains("choose from: fast, strong"));
    assert_eq!(here.say("/model strong").await.error, None);
    assert_eq!(here.say("hello").await.text, "strong here");
    assert_eq!(world.model.requests().pop().unwrap().model(), "strong");
    assert_eq!(there.say("hello").await.text, "fast here");
    assert_eq!(here.say("/model default").await.error, None);
    assert_eq!(here.say("hello").await.text, "fast here");
    assert_eq!(here.say("/model strong").await.error, None);
    world.stack.cli_ok(&["model", "rm", "strong"]).await.unwrap();
    assert_eq!(here.say("hello").await.text, "fast here");
    let chosen = world.audit().await.into_iter().filter(|row| row.action == "model.choose").count();
    assert_eq!(chosen, 3);
}

/// O1: six failed answers once showed every row ok.
#[tokio::test]
async fn answers_that_fail_are_told_to_the_operator() {
    let refused = Reply::status(401, "{\"error\":{\"message\":\"no such key\"}}");
    let model = ModelServer::builder().when(Matcher::model("one"), refused);
    let world = World::with("", model).await;
    connect(&world, &["one"]).await;
    let mut client = world.owner().await;
    for _ in 0..6 {
        assert_eq!(client.say("hello").await.error, Some(ErrorCode::ModelUnavailable));
    }
    let status = world.stack.cli(&["status"]).await.unwrap();
    assert_eq!(status.code, Some(1), "{}", status.stdout);
    let told = "ACT   Answers: 6 of 6 answers failed in the last ten minutes; \
                the last 6 failed: model unavailable\n      do: ";
    assert!(status.stdout.contains(told), "{}", status.stdout);
    let told = "; the last 6 failed: refused by provider\n      do: `cloister model test one`";
    assert!(status.stdout.contains(told), "{}", status.stdout);
}

#[tokio::test]
async fn when_no_model_answers_it_is_said_which_and_why() {
    let model = ModelServer::builder()
        .when(
            Matcher::model("one"),
            Reply::status(401, "{\"error\":{\"message\":\"no such key\"}}"),
        )
        .when(Matcher::model("two"), Reply::text("").stream_error("melted"));
    let world = World::with("", model).await;
    connect(&world, &["one", "two"]).await;
    let mut client = world.owner().await;
    let answer = client.say("hello").await;
    assert_eq!(answer.error, Some(ErrorCode::ModelUnavailable));
    for part in ["one: ", "no such key", "two: ", "melted", "cloister model test one"] {
        assert!(answer.text.contains(part), "{part}: {}", answer.text);
    }
    let said = world.stack.cli(&["chat", "hello?"]).await.unwrap();
    assert_eq!(said.code, Some(1));
    assert!(said.stdout.contains("no model answered"), "{said:?}");

    // A task without a model fails in the same words.
    world.stack.cli_ok(&["model", "use", "--level", "coordinator", "fake"]).await.unwrap();
    let end = ask_for_report(&mut client, "run: true").await;
    assert!(end.text.contains("failed") && end.text.contains("no such key"), "{}", end.text);
}

/// No page of a server in between and no command of the machine's reaches who can do nothing with it.
#[tokio::test]
async fn a_member_is_told_in_plain_words_that_no_model_answers() {
    let page = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n\
                <body><center><h1>502 Bad Gateway</h1></center><hr>nginx</body></html>";
    let model = ModelServer::builder().when(Matcher::model("one"), Reply::status(502, page));
    let world = World::with("", model).await;
    connect(&world, &["one"]).await;
    world.stack.cli_ok(&["user", "add", "mia"]).await.unwrap();
    let answer = world.client("mia", 1).await.say("hello").await;
    assert_eq!(answer.error, Some(ErrorCode::ModelUnavailable));
    assert_eq!(
        answer.text,
        "The model did not answer. Try again in a moment. If it goes on, tell whoever runs this machine."
    );
    // X12: in their language.
    let mut mia = world.client("mia", 1).await;
    assert_eq!(mia.say("/language de").await.error, None);
    let answer = mia.say("hallo").await;
    assert!(
        answer.text.starts_with("Das Modell hat nicht geantwortet. Versuch es"),
        "{}",
        answer.text
    );
    // Who runs it is told what it was, and what to do, without the page.
    let answer = world.owner().await.say("hello").await;
    let told = "no model answered. one: it answered 502. Check with `cloister model test one`";
    assert!(answer.text.starts_with(told), "{}", answer.text);
    assert!(!answer.text.contains('<') && !answer.text.contains("nginx"), "{}", answer.text);
}

const KEY: &str = "sk-test-3141592653589793";

#[tokio::test]
async fn a_key_goes_to_the_provider_and_nowhere_else() {
    let look = "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; \
                grep -rlD skip 'sk-[t]est' /chat /tmp /run /etc /home /root /var /opt /srv 2>/dev/null; \
                echo looked";
    let model = jobs(vec![("look", vec![bash(look)])]).key(KEY);
    let world = World::with("", model).await;
    let file = world.stack.data().with_file_name("key");
    std::fs::write(&file, format!("{KEY}\n")).unwrap();
    let url = world.model.base_url();
    let file = file.to_str().unwrap();
    let add = ["model", "add", "keyed", "--base-url", &url, "--model", "m", "--key-file", file];
    let add = [&add[..], &["--no-test"]].concat();
    let added = world.stack.cli_ok(&add).await.unwrap();
    assert!(!added.contains(KEY));
    world.stack.cli_ok(&["model", "use", "keyed"]).await.unwrap();

    let mut client = world.owner().await;
    let end = ask_for_report(&mut client, "job:look").await;
    assert!(end.text.contains("looked") && !end.text.contains("sk-test"), "{}", end.text);
    // The server expects the key as a bearer token, in every request.
    assert!(world.model.request_count() >= 4);
    world.model.assert_no_violations();

    let listed = world.json(&["model", "list"]).await.to_string();
    assert!(listed.contains("keyed") && !listed.contains(KEY), "{listed}");
    assert!(!world.stack.log().contains(KEY));
    // S1: sealed, no file of the data directory has it.
    let held = files_with(world.stack.data(), KEY);
    assert!(held.is_empty(), "{held:?}");
    let pid = world.stack.pid().unwrap();
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(!line.contains(KEY));
}

/// What a provider says when it quotes the key back.
#[tokio::test]
async fn a_provider_that_repeats_the_key_does_not_leak_it() {
    let body = format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\"}}}}");
    let model = ModelServer::builder().key(KEY).when(Matcher::any(), Reply::status(401, &body));
    let world = World::with("", model).await;
    let file = world.stack.data().with_file_name("key");
    std::fs::write(&file, KEY).unwrap();
    let url = world.model.base_url();
    let file = file.to_str().unwrap();
    let add = ["model", "add", "keyed", "--base-url", &url, "--model", "m", "--key-file", file];
    let add = [&add[..], &["--no-test"]].concat();
    world.stack.cli_ok(&add).await.unwrap();
    world.stack.cli_ok(&["model", "use", "keyed"]).await.unwrap();
    let answer = world.owner().await.say("hello").await;
    assert!(answer.text.contains("Incorrect API key"), "{}", answer.text);
    assert!(!answer.text.contains(KEY) && !world.stack.log().contains(KEY), "{}", answer.text);
    let tested = world.stack.cli(&["--json", "model", "test", "keyed"]).await.unwrap();
    assert!(tested.code != Some(0) && !tested.stdout.contains(KEY), "{tested:?}");
}

#[tokio::test]
async fn what_a_model_can_do_is_found_out_shown_and_used() {
    let refused = r#"{"error":{"message":"this model does not support tools"}}"#;
    let call = "<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"echo so be it\"}}</tool_call>";
    let delegate = "```json\n{\"name\": \"delegate\", \"arguments\": {\"title\": \"echo\", \
                    \"instructions\": \"run it\", \"risky\": false}}\n```";
    let weather =
        "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}</tool_call>";
    let model = ModelServer::builder()
        .rule(move |asked| {
            let told_of_tools = asked.model() == "old" && asked.body.get("tools").is_some();
            told_of_tools.then(|| Reply::status(400, refused))
        })
        .rule(move |asked| {
            let (prompt, said) = (asked.system_prompt(), asked.last_user_text());
            let ours = asked.model() == "old" && prompt.contains("You can call tools.");
            if !ours {
                return None;
            }
            if prompt.contains("get_weather:") {
                return Some(Reply::text(weather));
            }
            if said.contains("<tool_response>") && prompt.contains("bash:") {
                return Some(Reply::text(format!("done: {said}")));
            }
            if prompt.contains("bash:") {
                return Some(Reply::text(call));
            }
            let report = said.contains("[task report]") || said.contains("<tool_response>");
            Some(if report {
                Reply::text(format!("report: {said}"))
            } else {
                Reply::text(delegate)
            })
        });
    let world = World::with("", model).await;
    let url = world.model.base_url();
    let add = ["model", "add", "old", "--base-url", &url, "--model", "old", "--temperature", "0.3"];
    let added = world.stack.cli_ok(&add).await.unwrap();
    assert!(added.contains("old answered and is connected."), "{added}");
    let shown = world.stack.cli_ok(&["model", "show", "old"]).await.unwrap();
    for part in ["described in its prompt", "sees pictures   no", "costs           nothing", "0.3"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    world.stack.cli_ok(&["model", "use", "old"]).await.unwrap();
    let mut client = world.owner().await;
    let end = ask_for_report(&mut client, "please").await;
    assert!(end.text.contains("so be it"), "{}", end.text);
    let sent = world.model.requests().pop().unwrap().body;
    assert_eq!(sent["temperature"], 0.3);
    assert!(sent.get("tools").is_none());
    world.model.assert_no_violations();
}

#[tokio::test]
async fn presets_name_the_usual_places() {
    let world = World::start().await;
    let places = world.json(&["model", "presets"]).await;
    let named = |name: &str| places.as_array().unwrap().iter().find(|p| p["name"] == name).cloned();
    assert_eq!(named("openrouter").unwrap()["key_url"], "https://openrouter.ai/keys");
    assert_eq!(named("ollama").unwrap()["local"], true);
    let add = ["model", "add", "router", "--preset", "openrouter", "--model", "m", "--no-test"];
    let kept = world.stack.cli_ok(&add).await.unwrap();
    assert!(kept.contains("was not tried"), "{kept}");
    let shown = world.stack.cli_ok(&["model", "show", "router"]).await.unwrap();
    assert!(shown.contains("https://openrouter.ai/api/v1") && shown.contains("never tried"));
    let wrong = ["model", "add", "x", "--preset", "nowhere", "--model", "m"];
    let refused = world.stack.cli(&wrong).await.unwrap();
    assert!(refused.stderr.contains("there is no preset \"nowhere\""), "{refused:?}");
}

#[tokio::test]
async fn an_image_reaches_the_model() {
    let world = World::start().await;
    let session = world.stack.session("owner").await.unwrap();
    let uploaded = world.upload(&session, "dot.png", b"\x89PNG\r\n\x1a\nnot much").await;
    let attachment: Attachment = uploaded.json().unwrap();
    let mut client = world.owner().await;
    client.connect().await.unwrap();
    let message = Message {
        id: "m1".parse().unwrap(),
        chat: None,
        text: "what is this?".to_owned(),
        attachments: vec![attachment],
        instead: None,
        from: None,
    };
    client.send(&ClientFrame::Message(message)).await.unwrap();
    frame(&mut client, "the answer", |frame| {
        matches!(frame, cloister_protocol::AgentFrame::End(_)).then_some(())
    })
    .await;
    let seen = world.model.requests().pop().unwrap();
    assert_eq!(seen.images(), ["data:image/png;base64,iVBORw0KGgpub3QgbXVjaA=="]);
    assert!(seen.last_user_text().starts_with("what is this?"));
    world.model.assert_no_violations();
}

/// A dot with a question, and the request that it became.
async fn shown_a_picture(world: &World, id: &str) -> cloister_testkit::Received {
    let session = world.stack.session("owner").await.unwrap();
    let uploaded = world.upload(&session, "dot.png", b"\x89PNG\r\n\x1a\nnot much").await;
    let attachment: Attachment = uploaded.json().unwrap();
    let mut client = world.owner().await;
    client.connect().await.unwrap();
    let message = Message {
        id: id.parse().unwrap(),
        chat: None,
        text: "what is this?".to_owned(),
        attachments: vec![attachment],
        instead: None,
        from: None,
    };
    client.send(&ClientFrame::Message(message)).await.unwrap();
    frame(&mut client, "the answer", |frame| {
        matches!(frame, cloister_protocol::AgentFrame::End(_)).then_some(())
    })
    .await;
    world.model.requests().pop().unwrap()
}

/// M1: pictures go to who sees them, and to nobody who does not.
#[tokio::test]
async fn a_picture_goes_to_who_sees_and_else_it_is_said_that_there_was_one() {
    let model = ModelServer::builder().rule(|asked| {
        let tried = asked.last_user_text().contains("Which two colours");
        (tried && asked.model() == "eyes").then(|| Reply::text("green and orange"))
    });
    let world = World::with("", model).await;
    let url = world.model.base_url();
    for name in ["blind", "eyes"] {
        let add = ["model", "add", name, "--base-url", &url, "--model", name];
        world.stack.cli_ok(&add).await.unwrap();
    }
    world.stack.cli_ok(&["model", "use", "blind"]).await.unwrap();
    let alone = shown_a_picture(&world, "m1").await;
    assert_eq!((alone.model(), alone.images().len()), ("blind", 0));
    assert!(alone.body.to_string().contains("You can't see pictures"), "{}", alone.body);

    let used = world.stack.cli_ok(&["model", "use", "eyes", "--for", "vision"]).await.unwrap();
    assert_eq!(used.trim(), "vision now: eyes");
    let seen = shown_a_picture(&world, "m2").await;
    assert_eq!(seen.model(), "eyes");
    assert!(!seen.images().is_empty());
    let listed = world.stack.cli_ok(&["model", "list"]).await.unwrap();
    assert!(
        listed.contains("coordinator, executor") && listed.contains("vision: eyes"),
        "{listed}"
    );
    let shown = world.stack.cli_ok(&["model", "show", "eyes"]).await.unwrap();
    assert!(shown.contains("used by         vision"), "{shown}");
    let back = world.stack.cli_ok(&["model", "use", "default", "--for", "vision"]).await.unwrap();
    assert_eq!(back.trim(), "vision now: the models of the level");
    world.model.assert_no_violations();
}

/// M1: what is said of a model is changed alone, and nothing that was said is lost when it is connected again.
#[tokio::test]
async fn settings_are_changed_one_by_one() {
    let world = World::start().await;
    let url = world.model.base_url();
    let add = ["model", "add", "main", "--base-url", &url, "--model", "m", "--no-test"];
    let said = ["--temperature", "0.3", "--prompt-price", "0.9", "--max-output", "777"];
    world.stack.cli_ok(&[&add[..], &said].concat()).await.unwrap();
    let set = ["model", "set", "main", "--effort", "low", "--window", "9000"];
    let changed = world.stack.cli_ok(&set).await.unwrap();
    assert!(changed.starts_with("main is changed."), "{changed}");
    let shown = world.stack.cli_ok(&["model", "show", "main"]).await.unwrap();
    for part in ["0.3", "low", "9000 tokens", "777 tokens", "$0.9 in"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    world.stack.cli_ok(&["model", "use", "fake"]).await.unwrap();
    let init = ["init", "--unattended", "--base-url", &url, "--model", "m"];
    world.stack.cli_ok(&init).await.unwrap();
    let shown = world.json(&["model", "show", "main"]).await;
    assert_eq!((&shown["prompt_usd"], &shown["max_output_tokens"]), (&0.9.into(), &777.into()));
    assert_eq!(shown["settings"]["effort"], "low");
    let listed = world.stack.cli_ok(&["model", "list"]).await.unwrap();
    assert!(listed.contains("talk: main, then fake"), "{listed}");
    world.stack.cli_ok(&["model", "set", "main", "--unset", "effort", "--no-test"]).await.unwrap();
    let shown = world.json(&["model", "show", "main"]).await;
    assert!(shown["settings"].get("effort").is_none(), "{shown}");
    world.owner().await.say("hello").await;
    assert_eq!(world.model.requests().pop().unwrap().body["temperature"], 0.3);
}

/// M1: several models can be offered at once without being anybody's fallback.
#[tokio::test]
async fn a_model_on_offer_can_be_chosen() {
    let model = ModelServer::builder()
        .when(Matcher::model("fast"), Reply::status(500, "boom"))
        .when(Matcher::model("strong"), Reply::text("strong here"));
    let world = World::with("", model).await;
    connect(&world, &["strong"]).await;
    connect(&world, &["fast"]).await;
    let mut client = world.owner().await;
    assert!(client.say("/model strong").await.error.is_some());
    world.stack.cli_ok(&["model", "offer", "strong"]).await.unwrap();
    assert!(client.say("hello").await.error.is_some(), "what is on offer is no fallback");
    assert_eq!(client.say("/model strong").await.error, None);
    assert_eq!(client.say("hello").await.text, "strong here");
    world.stack.cli_ok(&["model", "offer", "strong", "--withdraw"]).await.unwrap();
    assert!(client.say("hello").await.error.is_some());
}

/// M1: a key of one's own is used for its owner, in no budget here, and leaves no trace.
#[tokio::test]
async fn a_key_of_ones_own_serves_its_owner_alone() {
    let right = format!("Bearer {KEY}");
    let model = ModelServer::builder().any_key().rule(move |asked| {
        let own = asked.model() == "theirs";
        own.then(|| match asked.authorization() {
            Some(key) if key == right => Reply::text("with their key"),
            _ => Reply::status(401, "{\"error\":{\"message\":\"no such key\"}}"),
        })
    });
    let world = World::with("", model).await;
    world.add_user("bob").await;
    let url = world.model.base_url();
    let file = world.stack.data().with_file_name("key");
    std::fs::write(&file, KEY).unwrap();
    let file = file.to_str().unwrap();
    let add = ["model", "add", "mine", "--user", "bob", "--base-url", &url, "--model", "theirs"];
    let added = world.stack.cli_ok(&[&add[..], &["--key-file", file]].concat()).await.unwrap();
    assert!(added.contains("mine is connected for this person alone"), "{added}");
    let mut bob = world.client("bob", 1).await;
    assert_eq!(bob.say("hello").await.text, "with their key");
    assert_eq!(world.owner().await.say("hello").await.text, "echo: hello");
    assert!(world.owner().await.say("/model mine").await.error.is_some());
    // Metered apart.
    let own = |budget: &Value| budget["own_spent_usd"].as_f64().unwrap() > 0.0;
    assert_eq!(world.budget("bob", own).await["spent_usd"], 0.0);
    let told = bob.say("/budget").await.text;
    assert!(told.contains("with models of your own, apart from that"), "{told}");
    // The key is in no file, no log, no list, and not in what bob takes away.
    assert!(files_with(world.stack.data(), KEY).is_empty() && !world.stack.log().contains(KEY));
    let listed = world.json(&["model", "list", "--user", "bob"]).await.to_string();
    assert!(listed.contains("own:mine") && !listed.contains(KEY), "{listed}");
    let everybodys = world.json(&["model", "list"]).await.to_string();
    assert!(!everybodys.contains("theirs"), "{everybodys}");
    world.stack.cli_ok(&["model", "rm", "mine", "--user", "bob"]).await.unwrap();
    assert_eq!(bob.say("hello again").await.text, "echo: hello again");
}
