//! What a new user does: start, log in, look around, write; connect a model; invite somebody.

use std::time::Instant;

use cloister_testkit::{ModelServer, Reply, Stack, stack::processes};
use serde_json::Value;
use tokio::io::AsyncBufReadExt as _;

use crate::browsing::{self, Browsing};
use crate::world::{PATIENCE, Talk as _, cloister, eventually, files_with, processes_with, run};

const DEMO_NOTICE: &str = "a script, not an AI";
/// What the demo model says of itself, and no page does.
const DEMO_ANSWER: &str = "I am the built-in demo model";
const START_OFFER: &str = "guided start</a> gives your agent";
const KEY: &str = "sk-newcomer-271828";

/// Writes in the first chat, and waits for an answer that holds these words.
async fn write_and_read(browser: &mut Browsing, text: &str, expected: &str) {
    let page = browser.open("/").await;
    let id = page.field("id");
    let sent = browser.post("/chats/C1", &[("id", &id), ("text", text)]).await;
    assert_eq!(sent.status, 303, "{}", sent.html);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let page = browser.open("/").await;
        if page.html.contains(expected) {
            return;
        }
        assert!(Instant::now() < deadline, "{}", page.html);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn from_the_start_to_the_first_answer() {
    let started = Instant::now();
    let stack = Stack::start().await.unwrap();
    let mut browser = Browsing::new(stack.login_url());
    let page = browser.log_in(stack.login_url()).await;
    assert_eq!(page.status, 200, "{}", page.html);
    assert!(page.html.contains(DEMO_NOTICE) && page.html.contains("href=\"/model\""));
    assert!(page.html.contains(START_OFFER), "{}", page.html);
    write_and_read(&mut browser, "hello there", DEMO_ANSWER).await;
    println!("first answer after {} ms", started.elapsed().as_millis());

    let form = browser.get("/start").await;
    assert!(form.html.contains("helpful, honest"), "{}", form.html);
    let seen = form.field("seen");
    let filled = [
        ("seen", seen.as_str()),
        ("agent_name", "Ada"),
        ("manner", "Be brief & kind."),
        ("about", "Keeps bees."),
        ("daily_usd", "2.50"),
    ];
    assert_eq!(browser.post("/start", &filled).await.status, 303);
    let workspace = stack.data().join("workspaces/w1");
    let soul = std::fs::read_to_string(workspace.join("SOUL.md")).unwrap();
    assert_eq!(soul, "# Who the agent is\n\nYour name is Ada.\n\nBe brief & kind.\n");
    let about = std::fs::read_to_string(workspace.join("USER.md")).unwrap();
    assert!(about.contains("Keeps bees."));
    let users = stack.cli_ok(&["--json", "user", "list"]).await.unwrap();
    assert!(users.contains("\"daily_usd\":2.5"), "{users}");
    // It is not offered again, shows what is there, and does not write over what it has not shown.
    let page = browser.open("/").await;
    assert!(!page.html.contains(START_OFFER), "{}", page.html);
    assert!(page.html.contains("Ada"), "{}", page.html);
    let form = browser.get("/start").await;
    assert!(form.html.contains("Be brief &amp; kind.") && form.field("agent_name") == "Ada");
    std::fs::write(workspace.join("USER.md"), "Moved to Porto.\n").unwrap();
    let late = browser.post("/start", &filled).await;
    assert_eq!(late.status, 422);
    assert!(late.html.contains("changed meanwhile"), "{}", late.html);
    assert!(std::fs::read_to_string(workspace.join("USER.md")).unwrap().contains("Porto"));
}

#[tokio::test]
async fn the_guided_start_can_be_skipped_and_refuses_nonsense() {
    let stack = Stack::start().await.unwrap();
    let mut browser = Browsing::new(stack.login_url());
    assert!(browser.log_in(stack.login_url()).await.html.contains(START_OFFER));
    assert_eq!(browser.post("/start/skip", &[]).await.status, 303);
    assert!(!browser.open("/").await.html.contains(START_OFFER));
    let seen = browser.get("/start").await.field("seen");
    for (name, value, told) in [
        ("daily_usd", "a lot", "not an amount"),
        ("agent_name", "<script>", "no markup"),
        ("about", &*"x".repeat(9000), "shorter"),
    ] {
        let mut filled = vec![("seen", seen.as_str()), (name, value)];
        for (other, usual) in
            [("agent_name", "Ada"), ("manner", "kept as typed"), ("about", ""), ("daily_usd", "1")]
        {
            if other != name {
                filled.push((other, usual));
            }
        }
        let refused = browser.post("/start", &filled).await;
        assert_eq!(refused.status, 422, "{name}");
        assert!(refused.html.contains(told), "{name}: {}", refused.html);
        assert!(refused.html.contains("kept as typed") && !refused.html.contains("<script>"));
    }
}

#[tokio::test]
async fn a_second_person_comes_in_by_a_link() {
    let stack = Stack::start().await.unwrap();
    let started = Instant::now();
    let invited = stack.cli(&["invite", "alice"]).await.unwrap();
    assert!(invited.ok() && invited.stderr.contains("alice is added"), "{invited:?}");
    let link = invited.stdout.trim();
    assert!(link.starts_with(&format!("{}/invite?token=", stack.url())), "{link}");
    let mut alice = Browsing::new(link);
    // A messenger that looks at the link does not use it up.
    for _ in 0..2 {
        assert!(alice.get(link).await.html.contains("alice"));
    }
    let token = link.split("token=").nth(1).unwrap();
    alice.log_in(link).await;
    write_and_read(&mut alice, "hello from alice", DEMO_ANSWER).await;
    println!("second person's first answer after {} ms", started.elapsed().as_millis());
    // What runs the machine is not for her; the start is, without the budget.
    for path in ["/people", "/model"] {
        assert_eq!(alice.get(path).await.status, 403, "{path}");
    }
    let start = alice.get("/start").await;
    assert!(!start.html.contains("name=\"daily_usd\"") && start.html.contains("$5.00 a day"));
    let notice = alice.open("/").await.html;
    assert!(notice.contains(DEMO_NOTICE) && !notice.contains("href=\"/model\""), "{notice}");
    // The link is spent.
    let mut other = Browsing::new(link);
    assert_eq!(other.post("/login", &[("token", token)]).await.status, 401);

    let mut owner = Browsing::new(stack.login_url());
    owner.log_in(stack.login_url()).await;
    assert!(owner.get("/people").await.html.contains("alice"));
    let made = owner.post("/people/invite", &[("name", "Bob")]).await;
    assert_eq!(made.status, 200);
    assert!(made.html.contains("bob is added") && made.html.contains("/invite?token="));
    let again = owner.post("/people/invite", &[("name", "bob")]).await;
    assert!(!again.html.contains("is added") && again.html.contains("/invite?token="));
    let refused = owner.post("/people/invite", &[("name", "no spaces, please")]).await;
    assert!(refused.status == 422 && refused.html.contains("user name"), "{}", refused.html);
}

/// X7: limits, roles and removal on the page, each as far as the admin calls of who looks allow.
#[tokio::test]
async fn people_are_looked_after_on_the_page() {
    let stack = Stack::start().await.unwrap();
    for name in ["alice", "bob"] {
        stack.cli_ok(&["user", "add", name]).await.unwrap();
    }
    let mut owner = Browsing::new(stack.login_url());
    owner.log_in(stack.login_url()).await;
    let link = stack.cli_ok(&["login-url", "--user", "alice"]).await.unwrap();
    let mut alice = Browsing::new(link.trim());
    alice.log_in(link.trim()).await;

    assert!(owner.get("/people").await.html.contains("href=\"/people/alice\""));
    let limits = [("daily_usd", "2.5"), ("task_usd", "0.5"), ("quota_mb", "512")];
    assert_eq!(owner.post("/people/alice/limits", &limits).await.status, 303);
    let page = owner.get("/people/alice").await.html;
    assert!(page.contains("value=\"2.5\"") && page.contains("of $2.50 is spent today"), "{page}");
    let wrong = [("daily_usd", "lots"), ("task_usd", "1"), ("quota_mb", "1")];
    let refused = owner.post("/people/alice/limits", &wrong).await;
    assert!(refused.status == 422 && refused.html.contains("no numbers"), "{}", refused.html);

    // Nobody of no role reaches anybody, nor learns who there is.
    for path in ["/people", "/status", "/people/bob"] {
        assert!([403, 404].contains(&alice.get(path).await.status), "{path}");
    }
    let mine = [("daily_usd", "900"), ("task_usd", "900"), ("quota_mb", "512")];
    assert_ne!(alice.post("/people/alice/limits", &mine).await.status, 303);
    let role = [("role", "overlord"), ("scope", "platform")];
    assert_ne!(alice.post("/people/alice/roles", &role).await.status, 303);
    assert_ne!(alice.post("/people/bob/remove", &[("confirm", "bob")]).await.status, 303);
    let said = stack.cli_ok(&["user", "list"]).await.unwrap();
    assert!(said.contains("bob") && !said.contains("900"), "{said}");

    // An operator of the platform sees how it is doing and who is here, and no more than that.
    let role = [("role", "operator"), ("scope", "platform")];
    assert_eq!(owner.post("/people/alice/roles", &role).await.status, 303);
    let places = alice.open("/").await.html;
    assert!(places.contains("href=\"/status\"") && places.contains("href=\"/model\""), "{places}");
    let models = alice.get("/model").await;
    assert!(models.status == 200 && !models.html.contains("action=\"/model"), "{}", models.html);
    assert_eq!(alice.get("/status").await.status, 200);
    assert_ne!(alice.post("/people/bob/remove", &[("confirm", "bob")]).await.status, 303);
    let taken = [("role", "operator"), ("scope", "platform"), ("take", "true")];
    assert_eq!(owner.post("/people/alice/roles", &taken).await.status, 303);
    assert_eq!(alice.get("/status").await.status, 403);

    let unsure = owner.post("/people/bob/remove", &[("confirm", "bab")]).await;
    assert!(unsure.status == 422 && unsure.html.contains("nothing was erased"), "{}", unsure.html);
    assert_eq!(owner.post("/people/bob/remove", &[("confirm", "bob")]).await.status, 303);
    assert!(!stack.cli_ok(&["user", "list"]).await.unwrap().contains("bob"));
    assert_eq!(owner.get("/people/bob").await.status, 404);
}

async fn connect(browser: &mut Browsing, url: &str, key: &str, model: &str) -> browsing::Reply {
    browser.post("/model", &[("base_url", url), ("key", key), ("model", model)]).await
}

#[tokio::test]
async fn a_key_is_tested_before_it_is_kept() {
    let right = format!("Bearer {KEY}");
    let server = ModelServer::builder().any_key().rule(move |received| {
        let refused = received.authorization() != Some(&right);
        refused.then(|| Reply::status(401, r#"{"error":{"message":"no such key"}}"#))
    });
    let server = server.start().await.unwrap();
    let elsewhere = ModelServer::start().await.unwrap();
    let stack = Stack::start().await.unwrap();
    let mut browser = Browsing::new(stack.login_url());
    browser.log_in(stack.login_url()).await;
    let url = server.base_url();
    for (url, key, model, told) in [
        (url.as_str(), "sk-wrong-1", "m", "the key was refused"),
        (&url, "", "m", "wants a key"),
        ("http://127.0.0.1:9/v1", "sk-wrong-2", "m", "nothing runs there"),
        ("nowhere", "sk-wrong-3", "m", "is not a base URL"),
        (&url, KEY, "", "the model id is empty"),
    ] {
        let refused = connect(&mut browser, url, key, model).await;
        assert_eq!(refused.status, 422, "{told}");
        assert!(refused.html.contains(told), "{told}: {}", refused.html);
        assert!(key.is_empty() || !refused.html.contains(key), "{}", refused.html);
    }
    // Where the key is right, the ids are offered.
    assert!(connect(&mut browser, &url, KEY, "").await.html.contains("<code>test-model</code>"));
    assert!(std::fs::read_dir(stack.data().join("keys")).unwrap().next().is_none());
    assert!(browser.open("/").await.html.contains(DEMO_NOTICE));

    let connected = connect(&mut browser, &url, KEY, "test-model").await;
    assert!(connected.status == 200 && connected.html.contains("Connected"), "{}", connected.html);
    assert!(!browser.open("/").await.html.contains(DEMO_NOTICE));
    write_and_read(&mut browser, "are you real?", "echo: are you real?").await;
    let models: Value =
        serde_json::from_str(&stack.cli_ok(&["--json", "model", "list"]).await.unwrap()).unwrap();
    let demo = models.as_array().unwrap().iter().find(|model| model["name"] == "demo").unwrap();
    assert_eq!(demo["levels"], serde_json::json!([]), "a failure must not become a script");
    // Another id keeps the key; another address does not get it.
    assert_eq!(connect(&mut browser, &url, "", "other-model").await.status, 200);
    connect(&mut browser, &elsewhere.base_url(), "", "m").await;
    assert!(elsewhere.requests().iter().all(|request| request.authorization().is_none()));
    // S1: the key is nowhere in the clear.
    let page = browser.get("/model").await;
    assert!(!page.html.contains(KEY) && !stack.log().contains(KEY));
    let holders = files_with(stack.data(), KEY);
    assert!(holders.is_empty(), "{holders:?}");

    // The command line asks the same.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    std::fs::write(&file, "sk-wrong-4").unwrap();
    let add = ["model", "add", "second", "--base-url", &url, "--model", "m", "--key-file"];
    let add = [&add[..], &[file.to_str().unwrap()]].concat();
    let refused = stack.cli(&add).await.unwrap();
    assert!(
        refused.code == Some(1) && refused.stderr.contains("the key was refused"),
        "{refused:?}"
    );
    std::fs::write(&file, KEY).unwrap();
    assert!(stack.cli(&add).await.unwrap().ok());
}

#[tokio::test]
async fn links_lead_to_where_people_reach_it() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut up = cloister(&data);
    up.args(["up", "--listen", "0.0.0.0:0", "--url", "https://cloister.example/"]);
    let mut up = up.spawn().unwrap();
    let mut lines = tokio::io::BufReader::new(up.stdout.take().unwrap()).lines();
    let Some(link) = lines.next_line().await.unwrap() else {
        panic!("it did not start: {:?}", up.wait_with_output().await.unwrap());
    };
    assert!(link.starts_with("https://cloister.example/login?token="), "{link}");
    let invited = run(cloister(&data).args(["invite", "zoe"])).await;
    let invited = String::from_utf8_lossy(&invited.stdout).into_owned();
    assert!(invited.starts_with("https://cloister.example/invite?token="), "{invited}");
    let wrong = run(cloister(&data).args(["up", "--url", "cloister.example/path"])).await;
    assert_eq!(wrong.status.code(), Some(2));
}

#[tokio::test]
async fn a_taken_port_stops_nobody_and_ctrl_c_leaves_nothing() {
    // Whoever has the usual port, it is not ours.
    let usual = std::net::TcpListener::bind("127.0.0.1:8484");
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut up = cloister(&data).arg("up").spawn().unwrap();
    let mut lines = tokio::io::BufReader::new(up.stdout.take().unwrap()).lines();
    let link = lines.next_line().await.unwrap().unwrap();
    assert!(link.starts_with("http://127.0.0.1:84") && !link.contains(":8484/"), "{link}");
    drop(usual);
    let run_it = ["chat", "run: sleep 600"];
    assert!(run(cloister(&data).args(run_it)).await.status.success());
    eventually("the task runs", || async {
        let open = run(cloister(&data).args(["--json", "task", "list", "--open"])).await;
        String::from_utf8_lossy(&open.stdout).contains("\"running\"").then_some(())
    })
    .await;
    let pid = up.id().unwrap();
    processes::signal(pid, rustix::process::Signal::INT);
    processes::signal(pid, rustix::process::Signal::INT);
    let ended = tokio::time::timeout(PATIENCE, up.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert_eq!(lines.next_line().await.unwrap(), None, "the link is the last line");
    let word = data.to_str().unwrap().to_owned();
    eventually("nothing is left", || async {
        (processes::below(pid).is_empty() && processes_with(&word).is_empty()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_start_is_quiet_after_the_link() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut up = cloister(&data);
    let mut up = up.args(["up", "--listen", "127.0.0.1:0"]).spawn().unwrap();
    let mut out = tokio::io::BufReader::new(up.stdout.take().unwrap()).lines();
    let mut err = tokio::io::BufReader::new(up.stderr.take().unwrap()).lines();
    assert!(out.next_line().await.unwrap().unwrap().contains("/login?token="));
    let mut before = Vec::new();
    while let Some(line) = err.next_line().await.unwrap() {
        let last = line.contains("Log in with this link");
        before.push(line);
        if last {
            break;
        }
    }
    assert!(before.len() <= 3, "{before:?}");
    // Ask it something that it must not find worth a line.
    assert!(run(cloister(&data).args(["user", "list"])).await.status.success());
    processes::signal(up.id().unwrap(), rustix::process::Signal::TERM);
    let next = err.next_line().await.unwrap().unwrap();
    assert!(next.contains("stopping"), "{next}");
    up.wait().await.unwrap();
}

#[tokio::test]
async fn the_agents_name_reaches_the_model_and_init_shows_what_is_there() {
    let server = ModelServer::start().await.unwrap();
    let stack = Stack::start().await.unwrap();
    stack.use_model(&server).await.unwrap();
    let init = ["init", "--unattended", "--agent-name", "Ada", "--manner", "Speak plainly."];
    stack.cli_ok(&init).await.unwrap();
    stack.cli_ok(&["init", "--unattended", "--about", "Likes tea."]).await.unwrap();
    let session = stack.session("owner").await.unwrap();
    stack.client(&session, "C1".parse().unwrap()).say("who are you?").await;
    let system = server.requests().pop().unwrap().system_prompt();
    for part in ["Your name is Ada.", "Speak plainly.", "Likes tea."] {
        assert!(system.contains(part), "{part}: {system}");
    }
    let wrong = stack.cli(&["init", "--unattended", "--agent-name", "a\nb"]).await.unwrap();
    assert!(!wrong.ok() && wrong.stderr.contains("agent's name"), "{wrong:?}");
}
