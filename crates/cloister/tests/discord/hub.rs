//! The admin hub of a bot, staff whose direct messages are mirrored to it, and one person on several surfaces.

use cloister_protocol::ChatId;
use cloister_testkit::Reply;
use cloister_testkit::discord::{Person, Seen};
use serde_json::json;

use crate::world::{Club, World, eventually, steps, texts};

/// A club whose channel `ops` is the admin hub; the first of its people made it one.
async fn with_hub(world: &World) -> (Club, u64) {
    let club = world.club("member", &["owner-of-it", "staff", "ann"]).await;
    let give = ["role", "give", "owner-of-it", "overlord", "--scope", "platform"];
    world.stack.cli_ok(&give).await.unwrap();
    world.stack.cli_ok(&["role", "give", "staff", "admin", "--scope", &club.scope]).await.unwrap();
    let ops = world.discord.channel(club.guild, "ops");
    world.connect(ops, "ops").await;
    let owner = &club.people[0];
    owner.ask(ops, &format!("{} /admin-channel enable", world.bot.mention()), "admin hub").await;
    (club, ops)
}

/// What the hub was told that has these words.
fn told(person: &Person, hub: u64, words: &str) -> Vec<Seen> {
    person.heard(hub).into_iter().filter(|seen| seen.text().contains(words)).collect()
}

/// I3: who manages connectors makes a channel the admin hub, and nobody else does.
#[tokio::test]
async fn only_who_manages_connectors_makes_a_hub() {
    let world = World::start().await;
    let club = world.club("admin", &["ann"]).await;
    let ann = &club.people[0];
    let said = format!("{} /admin-channel enable", world.bot.mention());
    let refused = ann.ask(club.general, &said, "").await.text();
    assert!(refused.contains("not allowed") || refused.contains("may not"), "{refused}");
    let refused =
        ann.use_command(club.general, &world.bot, "admin-channel", &[("state", "enable")]).await;
    assert!(!refused.text().contains("This is the admin hub"), "{}", refused.text());
    world.stack.cli_ok(&["role", "give", "ann", "overlord", "--scope", "platform"]).await.unwrap();
    ann.ask(club.general, &said, "admin hub").await;
    let off = format!("{} /admin-channel disable", world.bot.mention());
    ann.ask(club.general, &off, "no admin hub").await;
    world.assert_clean();
}

/// I3: what staff and the agent say to each other directly is mirrored to the hub, after they were told so; what
/// others say never is, nor commands.
#[tokio::test]
async fn direct_messages_of_staff_are_mirrored() {
    let world = World::start().await;
    let (club, ops) = with_hub(&world).await;
    let (owner, staff, ann) = (&club.people[0], &club.people[1], &club.people[2]);
    let (staffs, anns) = (staff.dm(&world.bot), ann.dm(&world.bot));
    staff.ask(staffs, "the first word is aubergine", "echo: the first word").await;
    staff.wait_for_words(staffs, "admin hub").await;
    ann.ask(anns, "my secret is courgette", "echo: my secret is courgette").await;
    staff.ask(staffs, "/status", "Nothing is running.").await;
    staff.ask(staffs, "the second word is cucumber", "echo: the second word").await;
    let shown = owner.wait_for_words(ops, "the second word is cucumber").await;
    assert!(shown.text().contains("staff"), "it says who: {}", shown.text());
    assert!(shown.text().contains("echo: the second word"), "and the answer: {}", shown.text());
    let all = texts(owner, ops).join("\n");
    assert!(!all.contains("courgette"), "who is not staff is by themselves: {all}");
    assert!(!all.contains("aubergine"), "nor what was said before they knew: {all}");
    assert!(!all.contains("Nothing is running"), "{all}");
    assert_eq!(told(owner, ops, "the second word is cucumber").len(), 1, "once");
    world.assert_clean();
}

/// I3: the hub is told of pairing codes that are asked for, never of the code itself.
#[tokio::test]
async fn the_hub_is_told_who_asks_for_a_code() {
    let world = World::start().await;
    let (club, ops) = with_hub(&world).await;
    let eve = world.discord.person("eve");
    let dm = eve.dm(&world.bot);
    let answer = eve.ask(dm, "pair", "cloister pair").await.text();
    let code = answer.split_whitespace().skip_while(|word| *word != "pair").nth(1).unwrap();
    let code = code.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let shown = club.people[0].wait_for_words(ops, &eve.id().to_string()).await;
    assert!(!shown.text().contains(code), "{}", shown.text());
    world.assert_clean();
}

/// I3: an emergency stop is told in the hub.
#[tokio::test]
async fn the_hub_is_told_of_an_emergency_stop() {
    let world = World::start().await;
    let (club, ops) = with_hub(&world).await;
    world.stack.cli_ok(&["stop", "--all", "--reason", "smoke in the rack"]).await.unwrap();
    club.people[0].wait_for_words(ops, "smoke in the rack").await;
    world.assert_clean();
}

/// I3: a bot that stopped working is told in the hub of another that works.
#[tokio::test]
async fn the_hub_is_told_of_a_bot_that_stopped() {
    let world = World::start().await;
    let mut other = world.discord.bot("other");
    world.add_bot(&other).await;
    let (club, ops) = with_hub(&world).await;
    world.discord.reset_token(&mut other);
    let told = club.people[0].wait_for_words(ops, &other.user_id.to_string()).await;
    assert!(!told.text().contains(&other.token), "{}", told.text());
    world.assert_clean();
}

/// Point 10: one person on Discord, web and terminal reaches the same agent, and an approval asked on one is
/// answered on another.
#[tokio::test]
async fn one_person_on_several_surfaces() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "the word is aubergine", "echo: the word is aubergine").await;
    let session = world.stack.session("ann").await.unwrap();
    let mut web = world.stack.client(&session, ChatId::from_number(1));
    assert_eq!(web.ask("which word?").await.unwrap().text, "echo: which word?");
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine"), "the same chat");

    // Asked on Discord, answered from the terminal.
    ann.say(dm, "run: mkdir -p old && rm -r old && echo gone");
    let asked = ann.wait_for(dm, "a question", |seen| !seen.buttons.is_empty()).await;
    assert_eq!(world.waiting("ann").await, 1);
    assert_eq!(web.ask("/yes").await.unwrap().error, None);
    ann.wait_for_words(dm, "gone").await;
    let settled = |seen: &Seen| seen.id == asked.id && seen.buttons.is_empty();
    ann.wait_for(dm, "it says that it is settled", settled).await;
    world.assert_clean();
}

/// Point 10: what was begun on the web is asked and told where the person was last active, and answered there
/// with a press.
#[tokio::test]
async fn a_push_goes_where_the_person_was_last() {
    let wait = "until test -e incoming/go; do sleep 0.05; done";
    let model = steps(vec![
        Reply::tool_call("bash", json!({ "command": wait })),
        Reply::tool_call("bash", json!({"command": "mkdir -p old && rm -r old && echo gone"})),
    ]);
    let world = World::builder().model(model).start().await;
    let (ann, dm) = world.met("ann").await;
    let session = world.stack.session("ann").await.unwrap();
    let mut web = world.stack.client(&session, ChatId::from_number(1));
    web.ask("run: something long").await.unwrap();
    ann.ask(dm, "now I am here", "echo: now I am here").await;
    for workspace in std::fs::read_dir(world.stack.data().join("workspaces")).unwrap().flatten() {
        // There is one of somebody else, who has no chat.
        std::fs::write(workspace.path().join("chats/C1/incoming/go"), "").ok();
    }
    let asked = ann.wait_for(dm, "a question", |seen| !seen.buttons.is_empty()).await;
    ann.answer(ann.press(&asked, "Allow once")).await;
    ann.wait_for_words(dm, "It is done.").await;
    eventually("nothing waits", || async { (world.waiting("ann").await == 0).then_some(()) }).await;
    world.assert_clean();
}
