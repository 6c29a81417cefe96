//! The pages about models, without a script: the operator's, and a member's own.

use cloister_testkit::ModelServer;

use crate::browsing::Browsing;
use crate::world::{Talk as _, World};

/// M1, M2: what the command line had said is not lost on the page, and the page can say it, too.
#[tokio::test]
async fn the_page_knows_every_model_and_loses_nothing() {
    let world = World::with("", ModelServer::builder()).await;
    let url = world.model.base_url();
    let add = ["model", "add", "main", "--base-url", &url, "--model", "m", "--no-test"];
    let said = ["--temperature", "0.3", "--effort", "low", "--prompt-price", "0.9"];
    world.stack.cli_ok(&[&add[..], &said].concat()).await.unwrap();
    let mut browser = Browsing::new(world.stack.login_url());
    browser.log_in(world.stack.login_url()).await;
    let page = browser.get("/model").await.html;
    for part in [">main</strong>", ">fake</strong>", "Who does what", "On this machine"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.contains("sealed in the database") && !page.contains("0.8999"), "{page}");
    let again = [("name", "main"), ("base_url", url.as_str()), ("key", ""), ("model", "m")];
    let connected = browser.post("/model", &again).await;
    assert!(connected.html.contains("Connected"), "{}", connected.html);
    // Another one takes nobody's place: the form offers a name that is free.
    let fresh = browser.get("/model").await.html;
    assert!(fresh.contains("value=\"main-2\"") && fresh.contains("?again=main\""), "{fresh}");
    let anew = browser.get("/model?again=main").await.html;
    assert!(anew.contains("value=\"main\"") && anew.contains(&url), "{anew}");
    let settings = [
        ("temperature", "0.4"),
        ("effort", "low"),
        ("window", "9000"),
        ("first_byte", "1800"),
        ("max_output", "500"),
        ("prompt_usd", "0.9"),
        ("completion_usd", ""),
    ];
    assert_eq!(browser.post("/model/main/settings", &settings).await.status, 303);
    let shown = world.json(&["model", "show", "main"]).await;
    let kept = &shown["settings"];
    assert_eq!((&kept["temperature"], &kept["effort"]), (&0.4.into(), &"low".into()));
    assert_eq!((&kept["window_tokens"], &shown["max_output_tokens"]), (&9000.into(), &500.into()));
    assert_eq!((&shown["prompt_usd"], &kept["first_byte_seconds"]), (&0.9.into(), &1800.into()));
    let told = world.stack.cli_ok(&["model", "show", "main"]).await.unwrap();
    assert!(told.contains("1800 s for its first word"), "{told}");
    let too_long = world.stack.cli(&["model", "set", "main", "--idle", "9999"]).await.unwrap();
    assert!(too_long.stderr.contains("from 1 to 600"), "{too_long:?}");
    let wrong = [&[("temperature", "warm")][..], &settings[1..]].concat();
    let refused = browser.post("/model/main/settings", &wrong).await;
    assert!(refused.status == 422 && refused.html.contains("warm"), "{}", refused.html);
    let chain = [("kind", "summarise"), ("models", "fake, main")];
    assert_eq!(browser.post("/model/chain", &chain).await.status, 303);
    assert!(browser.get("/model").await.html.contains("fake, then main"));
    assert_eq!(browser.post("/model/fake/first", &[]).await.status, 303);
    assert_eq!(browser.post("/model/fake/offer", &[("offered", "true")]).await.status, 303);
    let listed = world.stack.cli_ok(&["model", "list"]).await.unwrap();
    assert!(
        listed.contains("talk: fake, then main") && listed.contains("who chooses it"),
        "{listed}"
    );
}

/// What `/model` does, from the menu of the chat.
#[tokio::test]
async fn the_model_of_a_chat_is_chosen_in_its_menu() {
    let world = World::with("", ModelServer::builder()).await;
    let url = world.model.base_url();
    let add = ["model", "add", "other", "--base-url", &url, "--model", "other", "--no-test"];
    world.stack.cli_ok(&add).await.unwrap();
    world.stack.cli_ok(&["model", "offer", "other"]).await.unwrap();
    let mut browser = Browsing::new(world.stack.login_url());
    browser.log_in(world.stack.login_url()).await;
    let page = browser.open("/").await;
    assert!(page.html.contains("value=\"/model other\""), "{}", page.html);
    let id = page.field("id");
    let chosen = [("id", id.as_str()), ("text", "/model other")];
    assert_eq!(browser.post("/chats/C1", &chosen).await.status, 303);
    world.owner().await.say("hello").await;
    assert_eq!(world.model.requests().pop().unwrap().model(), "other");
    let page = browser.open("/").await.html;
    assert!(page.contains("value=\"/model other\" translate=\"no\" selected"), "{page}");
}

/// A member connects a model for themselves, and can't make this machine ask elsewhere.
#[tokio::test]
async fn a_member_names_known_places_alone() {
    let world = World::with("", ModelServer::builder()).await;
    let url = world.model.base_url();
    let invited = world.stack.cli(&["invite", "alice"]).await.unwrap();
    let link = invited.stdout.trim().to_owned();
    let mut alice = Browsing::new(&link);
    alice.log_in(&link).await;
    let page = alice.get("/model/own").await;
    assert!(page.status == 200 && page.html.contains("You have connected none."), "{}", page.html);
    let mine = [("name", "mine"), ("base_url", url.as_str()), ("key", "sk-mine-1"), ("model", "m")];
    let refused = alice.post("/model/own", &mine).await;
    assert_eq!(refused.status, 422);
    assert!(refused.html.contains("not one of the known places"), "{}", refused.html);
    assert!(!refused.html.contains("sk-mine-1") && world.model.request_count() == 0);
    // Whoever runs the machine may name it for themselves.
    let mut owner = Browsing::new(world.stack.login_url());
    owner.log_in(world.stack.login_url()).await;
    assert_eq!(owner.post("/model/own", &mine).await.status, 303);
    let page = owner.get("/model/own").await.html;
    assert!(page.contains("\">mine</strong>") && !page.contains("sk-mine-1"), "{page}");
    assert!(!alice.get("/model/own").await.html.contains("\">mine</strong>"));
    assert_eq!(owner.post("/model/own/remove", &[("name", "mine")]).await.status, 303);
    assert!(owner.get("/model/own").await.html.contains("You have connected none."));
}
