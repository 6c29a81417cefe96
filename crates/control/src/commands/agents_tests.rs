//! P13: `/agent`, wherever it is typed.

use cloister_protocol::AgentId;

use super::*;
use crate::Heard;
use crate::test_telegram::Telegram;

async fn agent_of(world: &World, user: &User, chat: u32) -> AgentId {
    let chat = ChatId::from_number(chat);
    world.store().chats().agent_of_chat(user.workspace, chat).await.unwrap()
}

#[tokio::test]
async fn agents_are_made_gone_to_renamed_and_removed() {
    let world = World::new().await;
    let web = Typing::on_web(&world, &world.ada);
    let list = web.gets("/agent").await;
    assert!(list.starts_with("1 agent, of at most 5:\na1 the first agent: C1 (here)"), "{list}");
    let made = web.gets("/agent new Nora You look after my garden.").await;
    assert_eq!(made, "Nora: C2 is open.");
    assert_eq!(agent_of(&world, &world.ada, 2).await.to_string(), "a2");
    let list = web.gets("/agent").await;
    assert!(list.contains("2 agents, of at most 5:") && list.contains("\na2 Nora: C2\n"), "{list}");
    for (slip, why) in [
        ("/agent new nora", "there is an agent “nora” already"),
        ("/agent new", "say one name"),
        ("/agent new <x>", "is one word of at most 40 letters"),
        ("/agent Nobody", "there is no agent “Nobody”"),
        ("/agent new undo", "means something else"),
        ("/agent rm Nobody", "there is no agent “Nobody”"),
        ("/agent rm a1", "the first agent can't be removed"),
        ("/agent rm Nora tomorrow", "say one name"),
        ("/agent rm Nora undo", "no agent “Nora” was removed"),
        ("/agent rename a b c", "say one name"),
    ] {
        let refused = web.is_refused(slip).await;
        assert!(refused.contains(why), "{slip}: {refused}");
    }
    assert!(web.gets("/agent nora").await.starts_with("Nora: C2 “Nora”"));
    let at_nora = Typing { chat: (world.ada.workspace, ChatId::from_number(2)), ..web };
    assert!(at_nora.gets("/agent").await.contains("a2 Nora: C2 (here)"));
    assert_eq!(at_nora.gets("/agent Nora").await, "Nora is whom you talk with in this chat.");
    // Another chat opened there is with the same agent.
    assert_eq!(at_nora.gets("/new Roses").await, "C3 is open.");
    assert_eq!(agent_of(&world, &world.ada, 3).await.to_string(), "a2");
    assert_eq!(at_nora.gets("/agent rename Flora").await, "a2 is called Flora now.");
    assert_eq!(at_nora.gets("/agent rename flora Nora").await, "a2 is called Nora now.");
    let web = Typing::on_web(&world, &world.ada);
    let removed = web.gets("/agent rm NORA").await;
    assert!(
        removed.contains("Nora is removed") && removed.contains("/agent rm Nora undo"),
        "{removed}"
    );
    let list = web.gets("/agent").await;
    assert!(list.contains("1 agent, of") && list.contains("Removed: Nora."), "{list}");
    let refused = web.is_refused("/archive C2 undo").await;
    assert!(refused.contains("its agent “Nora” was removed"), "{refused}");
    assert_eq!(at_nora.gets("/new").await, "C4 is open.");
    assert_eq!(agent_of(&world, &world.ada, 4).await, AgentId::FIRST);
    assert_eq!(web.gets("/agent rm Nora undo").await, "Nora is back, with its chats.");
    assert!(web.gets("/agent").await.contains("a2 Nora: C2, C3"));
    // Nobody else has them.
    assert!(!Typing::on_web(&world, &world.bob).gets("/agent").await.contains("Nora"));
}

#[tokio::test]
async fn there_are_at_most_as_many_as_the_settings_say() {
    let world = World::new().await;
    let web = Typing::on_web(&world, &world.ada);
    for name in ["b", "c", "d", "e"] {
        web.gets(&format!("/agent new {name}")).await;
    }
    let refused = web.is_refused("/agent new f").await;
    assert!(refused.contains("there can be 5 agents at once"), "{refused}");
    assert_eq!(world.store().chats().of(world.ada.workspace).await.unwrap().len(), 5);
    web.gets("/agent rm c").await;
    web.gets("/agent new f").await;
    web.is_refused("/agent rm c undo").await;
}

/// A command that comes again after a crash has no second effect, and is answered as it was.
#[tokio::test]
async fn a_command_that_is_repeated_does_nothing_more() {
    let world = World::new().await;
    let web = Typing::on_web(&world, &world.ada);
    for text in
        ["/agent new Nora", "/agent rename Nora Flora", "/agent rm Flora", "/agent rm Flora undo"]
    {
        let row = web.row(text).await;
        let first = web.said_to(&row, text).await;
        assert_eq!(first.1, None, "{text}: {}", first.0);
        assert_eq!(first, web.said_to(&row, text).await, "{text}");
    }
    assert_eq!(world.store().agents().of(world.ada.workspace).await.unwrap().len(), 1);
    assert_eq!(world.store().chats().of(world.ada.workspace).await.unwrap().len(), 2);
}

/// The model of an agent is that agent's: `always` is for all of its chats, and no others.
#[tokio::test]
async fn models_are_chosen_for_an_agent() {
    let world = World::new().await;
    models::using(&world, &["fast", "strong"]).await;
    let web = Typing::on_web(&world, &world.ada);
    web.gets("/model strong always").await;
    web.gets("/agent new Nora").await;
    let workspace = world.ada.workspace;
    let (theirs, later) =
        ((workspace, ChatId::from_number(2)), (workspace, ChatId::from_number(3)));
    assert_eq!(models::first(&world, theirs).await, "strong", "it begins as the first one is now");
    let at_nora = Typing { chat: theirs, ..web };
    let said = at_nora.gets("/model fast always").await;
    assert!(said.ends_with("That is for chats with Nora."), "{said}");
    at_nora.gets("/new").await;
    assert_eq!(models::first(&world, theirs).await, "fast");
    assert_eq!(models::first(&world, later).await, "fast");
    assert_eq!(models::first(&world, (workspace, C1)).await, "strong");
    at_nora.gets("/model strong").await;
    assert_eq!(models::first(&world, theirs).await, "strong");
    assert_eq!(models::first(&world, later).await, "fast");
    at_nora.gets("/model default always").await;
    assert_eq!(models::first(&world, (workspace, C1)).await, "strong");
}

/// In a community its agents are changed by who administers it, over its socket as well.
#[tokio::test]
async fn in_a_room_agents_are_changed_by_who_administers_it() {
    let world = club().await;
    world.role(&world.ada, "member").await;
    world.role(&world.bob, "admin").await;
    let member = Typing::heard(&world, &world.ada, ADA, Heard::Shared(CLUB)).await;
    let over_the_socket = Typing::in_club(&world, &world.ada, member.chat.1);
    for attack in ["!agent new Evil", "!agent rename Evil", "!agent rm a1", "!agent rm Nora undo"] {
        for place in [&member, &over_the_socket] {
            let refused = place.is_refused(attack).await;
            assert!(refused.contains("administers it"), "{attack}: {refused}");
        }
    }
    let admin = Typing::heard(&world, &world.bob, BOB, Heard::Shared(CLUB)).await;
    let made = admin.gets("!agent new Nora").await;
    assert!(made.starts_with("Nora: C") && made.contains(" “Nora”: its room is being"), "{made}");
    let list = member.gets("!agent").await;
    assert!(list.contains("a2 Nora\n") && list.contains("!agent NAME"), "{list}");
    for attack in ["!agent Nora", "!agent rm Nora"] {
        member.is_refused(attack).await;
    }
    assert!(made.starts_with(&admin.gets("!agent Nora").await));
    admin.gets("!agent rm Nora").await;
    member.is_refused("!agent rm Nora undo").await;
}

/// Where one chat is shown at a time, an agent's chat is shown there, before the next message is looked at.
#[tokio::test]
async fn a_lobby_is_turned_to_an_agent() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let said = telegram.answers("m1", "/agent new Nora").await;
    assert!(said.starts_with("Nora: C2 “Nora” is shown here from now on"), "{said}");
    assert_eq!(telegram.lobby().await.chat, ChatId::from_number(2));
    let said = telegram.answers("m2", "/agent a1").await;
    assert!(said.starts_with("the first agent: C1 is shown here from now on"), "{said}");
    assert_eq!(telegram.lobby().await.chat, C1);
    let direct = Heard::Direct(crate::test_telegram::ADA_THERE);
    let who = crate::test_telegram::ADA_THERE;
    telegram.hears(who, direct, ("m3", "/agent nora")).await.unwrap();
    let (next, _) = telegram.hears(who, direct, ("m4", "hello")).await.unwrap();
    assert_eq!(next.chat, ChatId::from_number(2));
    // Old messages that come again turn nothing back.
    telegram.hears(who, direct, ("m2", "/agent a1")).await.unwrap();
    assert_eq!(telegram.lobby().await.chat, ChatId::from_number(2));
    assert_eq!(world.store().chats().of(world.ada.workspace).await.unwrap().len(), 2);
}
