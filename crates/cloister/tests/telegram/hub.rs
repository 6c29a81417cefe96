//! The admin hub: the one context where operators are told things (I3).

use cloister_testkit::telegram::{Group, Person};

use crate::world::{World, count, eventually};

/// A group of operators with the bot in it, connected, and whoever may make it the hub.
async fn staff(world: &World) -> (Person, Group) {
    let ann = world.person("ann").await;
    world.stack.cli_ok(&["role", "give", "ann", "overlord", "--scope", "platform"]).await.unwrap();
    let group = world.telegram.group("Operators", &[&ann]);
    world.club(&group, &[("ann", "admin")]).await;
    group.add_bot(&ann, &world.bot);
    (ann, group)
}

/// Only who may manage connectors makes a hub; a member of the group does not.
#[tokio::test]
async fn a_hub_is_made_by_who_may() {
    let world = World::start().await;
    let (ann, group) = staff(&world).await;
    let bob = world.person("bob").await;
    group.add_person(&bob);
    let workspaces = world.json(&["workspace", "list"]).await;
    let club = workspaces.as_array().unwrap().iter().find(|w| w["name"] == "club").unwrap();
    let scope = format!("workspace:{}", club["id"].as_str().unwrap());
    world.stack.cli_ok(&["role", "give", "bob", "member", "--scope", &scope]).await.unwrap();
    let place = group.place();
    bob.say(&place, "/admin_channel@cloister_bot enable");
    bob.wait_for_words(&place, "not").await;
    let refused = ann.heard(&place).len();
    ann.say(&place, "/admin_channel@cloister_bot enable");
    eventually("it is the hub", || async { (ann.heard(&place).len() > refused).then_some(()) })
        .await;
    let last = ann.heard_texts(&place).pop().unwrap();
    assert!(!last.contains("not allowed"), "{last}");
}

/// Whoever asks for a code is named in the hub, and the code is not.
#[tokio::test]
async fn who_asks_to_pair_is_told_in_the_hub() {
    let world = World::start().await;
    let (ann, group) = staff(&world).await;
    let place = group.place();
    ann.say(&place, "/admin_channel@cloister_bot enable");
    eventually("it is the hub", || async { (!ann.heard(&place).is_empty()).then_some(()) }).await;
    let before = ann.heard(&place).len();
    let eve = world.telegram.person("eve");
    let eves = eve.with(&world.bot);
    let told = eve.ask(&eves, "pair", "cloister pair").await;
    let code = told.text.split("cloister pair ").nth(1).unwrap();
    let code = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap();
    eventually("the hub is told", || async {
        ann.heard_texts(&place)
            .into_iter()
            .skip(before)
            .find(|text| text.contains(&eve.name()) || text.to_lowercase().contains("eve"))
    })
    .await;
    assert_eq!(count(&ann, &place, code), 0, "never the code itself");
}

/// What staff and the agent say to each other in private is mirrored there, after they were told so.
#[tokio::test]
async fn staff_dms_are_mirrored() {
    let world = World::start().await;
    let (ann, group) = staff(&world).await;
    let place = group.place();
    let private = ann.with(&world.bot);
    ann.start(&private);
    ann.wait_for_words(&private, "Hello").await;
    let bob = world.person("bob").await;
    let bobs = bob.with(&world.bot);
    ann.say(&place, "/admin_channel@cloister_bot enable");
    eventually("it is the hub", || async { (!ann.heard(&place).is_empty()).then_some(()) }).await;
    ann.ask(&private, "the first of it", "echo: the first of it").await;
    ann.ask(&private, "the second of it", "echo: the second of it").await;
    eventually("it is mirrored", || async {
        (count(&ann, &place, "the second of it") > 0).then_some(())
    })
    .await;
    bob.ask(&bobs, "my own business", "echo: my own business").await;
    ann.ask(&private, "the third of it", "echo: the third of it").await;
    eventually("it is mirrored", || async {
        (count(&ann, &place, "the third of it") > 0).then_some(())
    })
    .await;
    assert_eq!(count(&ann, &place, "my own business"), 0, "who is not staff is not mirrored");
    ann.say(&place, "/admin_channel@cloister_bot disable");
}
