//! Commands, community rooms and imported routes, in a real client.

use std::path::Path;

use matrix_sdk::Room;
use serde_json::Value;

use crate::person::Person;
use crate::world::{World, eventually};

/// A community whose room Ann and Bob are in with the bot; each has this role in it.
async fn club(world: &World, role: &str) -> (Person, Person, Room, Room) {
    let (ann, bob) = (world.person("ann").await, world.person("bob").await);
    let made = world.json(&["workspace", "add", "club"]).await;
    let scope = format!("workspace:{}", made["id"].as_str().unwrap());
    for user in ["ann", "bob"] {
        world.stack.cli_ok(&["role", "give", user, role, "--scope", &scope]).await.unwrap();
    }
    let room = ann.make_room(&[bob.id()], false).await;
    let id = room.room_id().as_str();
    let add = ["context", "add", "general", "--in", "club", "--surface", "matrix"];
    world.stack.cli_ok(&[&add[..], &["--conversation", id]].concat()).await.unwrap();
    let bot = matrix_sdk::ruma::UserId::parse(&world.bot.user_id).unwrap();
    room.invite_user_by_id(&bot).await.unwrap();
    let at_bobs = eventually("bob is in the room", || async {
        bob.rooms().into_iter().find(|known| known.room_id() == room.room_id())
    })
    .await;
    (ann, bob, room, at_bobs)
}

async fn waiting(world: &World) -> usize {
    world.json(&["task", "approvals", "--user", "club"]).await.as_array().map_or(0, Vec::len)
}

/// I3, X2: a community's room is answered for its members; what is private is not said in it, and chats are
/// opened by who administers it.
#[tokio::test]
async fn a_community_room_keeps_to_itself() {
    let world = World::start().await;
    let (ann, bob, anns, bobs) = club(&world, "member").await;
    ann.ask(&anns, "hello all", "echo: hello all").await;
    bob.ask(&bobs, "me too", "echo: me too").await;
    for (command, refused) in [
        ("!new Mine", "who administers it"),
        ("!archive", "who administers it"),
        ("!settings", "for you alone"),
        ("!pair", "for you alone"),
        ("!allow example.org", "not allowed"),
    ] {
        ann.ask(&anns, command, refused).await;
    }
    let said = ann.ask(&anns, "!context", "the workspace of club").await.text;
    assert!(said.contains("Context: general"), "{said}");
    let chats = ann.ask(&anns, "!chats", "general").await.text;
    assert!(!chats.contains("C1 "), "other chats are not told here: {chats}");

    // Whoever holds no role is not answered, and told so once.
    world.stack.cli_ok(&["user", "add", "eve"]).await.unwrap();
    let eve = Person::register(&world.synapse, "eve").await;
    world.link("eve", eve.id()).await;
    anns.invite_user_by_id(&matrix_sdk::ruma::UserId::parse(eve.id()).unwrap()).await.unwrap();
    let eves = eventually("eve is in the room", || async {
        eve.rooms().into_iter().find(|known| known.room_id() == anns.room_id())
    })
    .await;
    eve.say(&eves, "let me in").await;
    eve.wait_for_words(&eves, "give you a role").await;
    let asked = world.model.requests();
    assert!(!asked.iter().any(|request| request.body.to_string().contains("let me in")));
}

/// E63, E81: in one room, nobody's yes answers what another was asked.
#[tokio::test]
async fn a_yes_in_a_community_room_is_not_anothers() {
    let world = World::start().await;
    let (ann, bob, anns, bobs) = club(&world, "admin").await;
    ann.say(&anns, "run: mkdir -p old && rm -r old && echo gone").await;
    bob.wait_for_words(&bobs, "!approve A1").await;
    let refused = bob.ask(&bobs, "!yes", "nothing of yours").await.text;
    assert!(refused.contains("!approve"), "{refused}");
    assert_eq!(waiting(&world).await, 1);
    ann.ask(&anns, "!yes", "A1 allowed").await;
    assert_eq!(waiting(&world).await, 0);
}

async fn import(world: &World, file: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let file = file.to_str().unwrap();
    let arguments = [&["--json", "matrix", "import", file], more].concat();
    let done = world.stack.cli(&arguments).await.unwrap();
    let report = done.stdout.lines().next().unwrap_or_default();
    (done.code, serde_json::from_str(report).unwrap_or_default())
}

/// X9: the routes of a static file work at once, twice is once, and nobody's account is taken over.
#[tokio::test]
async fn routes_of_a_file_are_imported() {
    let world = World::start().await;
    let ann = Person::register(&world.synapse, "ann").await;
    let bob = Person::register(&world.synapse, "bob").await;
    world.link("bob", bob.id()).await;
    let file = world.stack.data().join("matrix-agents.yaml");
    let yaml = format!(
        "user_agents:\n  \"{}\": agent-0\n  \"{}\": agent-1\nagents:\n  - id: agent-0\n    \
         base_url: \"ws://example.org/agent_0/\"\n    workspace_path: /agents/0/\n",
        ann.id(),
        bob.id()
    );
    std::fs::write(&file, yaml).unwrap();
    let (code, dry) = import(&world, &file, &["--dry-run"]).await;
    assert_eq!((code, dry["linked"].as_array().map(Vec::len)), (Some(1), Some(1)), "{dry}");
    let users = world.json(&["user", "list"]).await.to_string();
    assert!(!users.contains("agent-0"), "only said: {users}");

    let (_, done) = import(&world, &file, &[]).await;
    assert_eq!(done["made"], serde_json::json!(["agent-0"]), "{done}");
    assert_eq!(done["linked"][0]["id"], ann.id(), "{done}");
    assert_eq!(done["conflicts"][0]["id"], bob.id(), "{done}");
    assert!(done["ignored"].to_string().contains("base_url"), "{done}");
    let (_, again) = import(&world, &file, &[]).await;
    assert_eq!(again["already"][0]["id"], ann.id(), "{again}");
    assert_eq!(again["made"], serde_json::json!([]), "{again}");

    ann.invite(&world.bot.user_id).await;
    let c1 = ann.room_of("C1").await;
    ann.ask(&c1, "!settings", "You are agent-0.").await;
    let bobs = world.json(&["user", "show", "bob"]).await.to_string();
    assert!(bobs.contains(bob.id()), "{bobs}");
}

/// X11: a flood is told once that it is too fast, and what was taken is answered.
#[tokio::test]
async fn a_flood_is_answered_once() {
    let config = "[limits]\nperson_burst = 3\nperson_per_s = 0.001\n";
    let world = World::builder().config(config).start().await;
    let (ann, c1) = world.met("ann").await;
    for number in 0..15 {
        ann.say(&c1, &format!("flood {number}")).await;
    }
    ann.wait_for_words(&c1, "faster than").await;
    // Commands have a way of their own, and come after everything before them.
    ann.ask(&c1, "!status", "Budget:").await;
    let told = ann.heard(&c1).iter().filter(|post| post.text.contains("faster than")).count();
    assert_eq!(told, 1);
    assert!(world.model.request_count() <= 3);
}

/// X2: every command is understood with either sign, and answered in the room without a model.
#[tokio::test]
async fn commands_are_answered_in_the_room() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    for (command, answer) in [
        ("!start", "Hello ann."),
        ("/start", "Hello ann."),
        ("!help", "!cancel [T1 | all]"),
        ("!help clear", "!clear:"),
        ("!context", "C1 in the workspace of ann (private)."),
        ("!settings", "Linked accounts:"),
        ("!status", "Nothing is running."),
        ("!tasks", "There are no tasks yet."),
        ("!cancel 3", "there is no task T3"),
        ("!yes", "nothing waits for an answer here"),
        ("!no", "nothing waits for an answer here"),
        ("!approve A7", "A7"),
        ("!pair", "You are ann here already."),
        ("!chats", "C1"),
        ("!rename", "!rename TITLE"),
        ("!clera", "did you mean !clear?"),
        ("!clear", "starts afresh"),
    ] {
        ann.ask(&c1, command, answer).await;
    }
    ann.say(&c1, "!new Old things").await;
    let c2 = ann.room_of("C2").await;
    ann.ask(&c2, "!archive", "stays readable").await;
    ann.ask(&c2, "is anybody there?", "!archive undo").await;
    ann.ask(&c2, "!archive undo", "C2 is open again.").await;
    assert_eq!(world.model.request_count(), 0, "no command reaches the model");
}
