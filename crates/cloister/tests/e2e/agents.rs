//! P13: several agents of one person, each with its own documents, memory, models and chats, in one cell.

use std::path::PathBuf;

use cloister_testkit::hostile::{REPORT, Report, TREASURE};
use cloister_testkit::{ModelServer, ModelServerBuilder, Product, Received, Reply, Stack};
use serde_json::{Value, json};

use crate::world::{Talk, World, files_with};

/// A model that keeps in mind what it is told to, and echoes anything else.
fn remembering() -> ModelServerBuilder {
    ModelServer::builder().rule(|received: &Received| {
        let said = received.last_user_text();
        let note = said.strip_prefix("keep: ")?;
        let asked = received.tool_results().is_empty();
        let remember = || Reply::tool_call("remember", json!({ "note": note }));
        Some(if asked { remember() } else { Reply::text("kept") })
    })
}

fn workspace(world: &World) -> PathBuf {
    world.stack.data().join("workspaces/w1")
}

fn document(world: &World, path: &str) -> String {
    std::fs::read_to_string(workspace(world).join(path)).unwrap_or_default()
}

/// What the model is told of who it is and what it knows, in the answer to a message.
async fn told(world: &World, chat: u32) -> String {
    world.client("owner", chat).await.say("who are you?").await;
    world.model.requests().pop().unwrap().system_prompt()
}

async fn add(world: &World, name: &str, manner: &str) -> Value {
    world.json(&["agent", "add", name, "--manner", manner]).await
}

/// A chat with an agent; its number.
async fn chat_with(world: &World, agent: &str) -> u32 {
    let chat = world.json(&["chats", "new", "--agent", agent]).await;
    chat["id"].as_str().unwrap().trim_start_matches('C').parse().unwrap()
}

/// Two agents answer as whom their own documents make them, and keep in mind what they themselves were told, also
/// after a restart. What is about the person both know.
#[tokio::test]
async fn each_agent_is_itself_and_knows_its_own() {
    let mut world = World::with("", remembering()).await;
    let about = ["init", "--unattended", "--manner", "You do taxes.", "--about", "Lives in Ulm."];
    world.stack.cli_ok(&about).await.unwrap();
    add(&world, "Nora", "You look after the garden.").await;
    let nora = chat_with(&world, "nora").await;
    assert_eq!(nora, 2);
    assert_eq!(world.client("owner", 1).await.say("keep: the tax number is 17").await.text, "kept");
    assert_eq!(world.client("owner", 2).await.say("keep: roses need shade").await.text, "kept");
    let (first, second) = (document(&world, "MEMORY.md"), document(&world, "agents/a2/MEMORY.md"));
    assert!(first.contains("the tax number is 17") && !first.contains("roses"), "{first}");
    assert!(second.contains("roses need shade") && !second.contains("tax"), "{second}");
    for _restarted in [false, true] {
        let first = told(&world, 1).await;
        for (part, expected) in [
            ("You do taxes.", true),
            ("the tax number is 17", true),
            ("Lives in Ulm.", true),
            ("garden", false),
            ("Nora", false),
            ("roses", false),
        ] {
            assert_eq!(first.contains(part), expected, "{part}: {first}");
        }
        let second = told(&world, 2).await;
        for (part, expected) in [
            ("Your name is Nora.", true),
            ("You look after the garden.", true),
            ("roses need shade", true),
            ("Lives in Ulm.", true),
            ("taxes", false),
            ("tax number", false),
        ] {
            assert_eq!(second.contains(part), expected, "{part}: {second}");
        }
        world.stack.restart().await.unwrap();
    }
    // What is said of the person reaches the other agent while it runs.
    told(&world, 2).await;
    let moved = ["init", "--unattended", "--about", "Lives in Bonn."];
    world.stack.cli_ok(&moved).await.unwrap();
    assert!(told(&world, 2).await.contains("Lives in Bonn."));
    assert!(told(&world, 1).await.contains("Lives in Bonn."));
    // And a version of each is kept.
    let log = world.json(&["config", "log", "w1/agents/a2/MEMORY.md"]).await;
    assert_eq!(log[0]["author"], "owner", "{log}");
}

/// Everything that the command line says of agents: made, shown, changed, removed, taken back; and what is refused.
#[tokio::test]
async fn agents_are_administered_from_the_command_line() {
    let world = World::with("[users]\nagents = 3\n", ModelServer::builder()).await;
    let made = add(&world, "Бендер", "Грубый.").await;
    assert_eq!((&made["id"], &made["folder"]), (&json!("a2"), &json!("agents/a2")));
    chat_with(&world, "БЕНДЕР").await;
    add(&world, "Nora", "Kind.").await;
    for (refused, code) in [
        (vec!["agent", "add", "fourth"], "conflict"),
        (vec!["agent", "add", "бендер"], "conflict"),
        (vec!["agent", "rename", "Nora", "бендер"], "conflict"),
        (vec!["agent", "add", "two words"], "bad_request"),
        (vec!["agent", "add", "undo"], "bad_request"),
        (vec!["agent", "rm", "a1"], "bad_request"),
        (vec!["agent", "show", "Nobody"], "not_found"),
        (vec!["agent", "rm", "Nora", "--undo"], "not_found"),
        (vec!["chats", "new", "--agent", "Nobody"], "not_found"),
    ] {
        let (exit, error) = world.failing(&refused).await;
        assert_eq!((exit, error.error.code.as_str()), (1, code), "{refused:?}: {error:?}");
    }
    world.json(&["agent", "set", "Nora", "--manner", "Kinder."]).await;
    world.json(&["agent", "rename", "nora", "Flora"]).await;
    let shown = world.json(&["agent", "show", "a3"]).await;
    assert_eq!((&shown["name"], &shown["manner"]), (&json!("Flora"), &json!("Kinder.")));
    assert!(document(&world, "agents/a3/SOUL.md").contains("Your name is Flora.\n\nKinder."));

    let removed = world.json(&["agent", "rm", "бендер"]).await;
    assert_eq!(removed["removed"], true);
    assert!(document(&world, "agents/a2/SOUL.md").contains("Грубый."), "its files stay");
    let refused = world.client("owner", 2).await.ask("still there?").await.unwrap_err();
    assert!(refused.to_string().contains("archived"), "{refused}");
    let (_, error) = world.failing(&["chats", "archive", "C2", "--undo"]).await;
    assert!(error.error.message.contains("its agent “Бендер” was removed"), "{error:?}");
    let list = world.stack.cli_ok(&["agent", "list"]).await.unwrap();
    assert!(list.contains("(no name yet)") && list.contains("removed"), "{list}");
    world.json(&["agent", "rm", "бендер", "--undo"]).await;
    assert_eq!(world.client("owner", 2).await.say("there?").await.text, "echo: there?");
    let chats = world.stack.cli_ok(&["chats", "list"]).await.unwrap();
    assert!(chats.contains("AGENT") && chats.contains("a2"), "{chats}");
    let audit: Vec<String> = world.audit().await.into_iter().map(|row| row.action).collect();
    for action in ["agent.add", "agent.rename", "agent.rm", "agent.restore", "config.change"] {
        assert!(audit.iter().any(|known| known == action), "{action}: {audit:?}");
    }
    // Of one person's agents nobody else knows.
    world.add_user("bob").await;
    let of_bob = world.json(&["agent", "list", "--user", "bob"]).await;
    assert_eq!(of_bob.as_array().unwrap().len(), 1, "{of_bob}");
}

/// A compromised agent sees nothing of the person's other agents: no document, no chat, no task. Each has a treasure
/// wherever it can have one; what an attack finds is the attacker's own.
#[tokio::test]
async fn a_hostile_agent_gets_nothing_of_another() {
    let stack = Stack::builder().agent("hostile-agent");
    let world = World { product: Product::start(stack, ModelServer::builder()).await };
    add(&world, "Nora", &format!("{TREASURE}-nora")).await;
    add(&world, "Bea", "has nothing").await;
    let (nora, bea) = (chat_with(&world, "Nora").await, chat_with(&world, "Bea").await);
    for (root, chat) in [("", 1), ("agents/a2/", nora)] {
        world.client("owner", chat).await.say("quiet").await;
        let plant = |path: String| {
            let path = workspace(&world).join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{TREASURE}-{chat}")).unwrap();
        };
        for path in ["MEMORY.md", "HEARTBEAT.md", "skills/x/SKILL.md", "schedules/x.md"] {
            plant(format!("{root}{path}"));
        }
        plant(format!("chats/C{chat}/files/treasure.txt"));
    }
    let attack = async |chat: u32| -> Report {
        world.client("owner", chat).await.say("attack").await;
        let report = workspace(&world).join(format!("chats/C{chat}/{REPORT}"));
        serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap()
    };
    // Who has nothing finds nothing: neither of the first agent, nor of the other one.
    let found = attack(bea).await;
    assert_eq!(found.seen, Vec::<String>::new());
    assert_eq!(found.writable, Vec::<String>::new());
    assert!(found.answers.len() > 50, "{found:?}");
    let answers = found.answers.join("\n");
    assert!(!answers.contains("quiet") && !answers.contains(TREASURE), "{answers}");
    // Who has something finds that, so the search finds what there is.
    for (chat, files) in [(1, 5), (nora, 6)] {
        let found = attack(chat).await;
        assert_eq!(found.writable, Vec::<String>::new());
        let own = |path: &String| {
            !path.contains("agents/")
                && (!path.contains("chats/") || path.contains(&format!("/C{chat}/")))
        };
        let seen: Vec<_> = found.seen.iter().filter(|path| !path.contains("hard-")).collect();
        assert!(seen.iter().all(|path| own(path)), "{seen:?}");
        assert!(seen.len() >= files, "C{chat}: {seen:?}");
    }
    for (path, chat) in [("MEMORY.md", 1), ("agents/a2/MEMORY.md", nora)] {
        assert_eq!(document(&world, path), format!("{TREASURE}-{chat}"), "it was written to");
    }
}

/// O8: what agents are is taken along with their person, and erased with them.
#[tokio::test]
async fn agents_go_with_their_person() {
    const CANARY: &str = "canary-of-graces-agent";
    let world = World::start().await;
    world.add_user("grace").await;
    let grace = ["--user", "grace"];
    let add = ["agent", "add", "Canaria", "--manner", CANARY];
    world.json(&[add.as_slice(), &grace].concat()).await;
    world.json(&["chats", "new", "--agent", "canaria", "--user", "grace"]).await;
    world.client("grace", 2).await.say("hello").await;
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join("grace");
    world.stack.cli_ok(&["user", "export", "grace", "--out", dir.to_str().unwrap()]).await.unwrap();
    let read = |path: &str| std::fs::read_to_string(dir.join(path)).unwrap();
    assert!(read("files/agents/a2/SOUL.md").contains(CANARY));
    assert!(read("records/agents.jsonl").contains("Canaria"));
    world.stack.cli_ok(&["user", "erase", "grace", "--yes"]).await.unwrap();
    let Product { mut stack, model: _ } = world.product;
    stack.stop().await.unwrap();
    assert_eq!(files_with(stack.data(), CANARY), Vec::<PathBuf>::new());
    assert_eq!(files_with(stack.data(), "Canaria"), Vec::<PathBuf>::new());
}

/// A workspace of before there were several agents has everything where it was, and can have more.
#[tokio::test]
async fn a_workspace_of_before_stays_as_it_is() {
    let mut world = World::with("", remembering()).await;
    world.client("owner", 1).await.say("keep: it was before").await;
    world.stack.stop().await.unwrap();
    std::fs::remove_dir_all(workspace(&world).join("agents")).unwrap();
    world.stack.restart().await.unwrap();
    assert!(told(&world, 1).await.contains("it was before"));
    add(&world, "Nora", "").await;
    assert!(!told(&world, chat_with(&world, "Nora").await).await.contains("it was before"));
    assert!(document(&world, "MEMORY.md").contains("it was before"));
}
