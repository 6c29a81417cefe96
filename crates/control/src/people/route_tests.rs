use super::*;
use crate::SurfaceOptions;
use crate::test_world::{ADA, BOB, C1, CLUB, World};

const DM: Heard<'_> = Heard::Direct("!dm:example.org");

fn nowhere(located: &Located) -> bool {
    matches!(located, Located::NotHere { .. } | Located::Stranger { .. })
}

/// X9: the first contact in a direct conversation leads to the first chat, and the conversation is known.
#[tokio::test]
async fn a_first_contact_leads_home_and_is_remembered() {
    let world = World::new().await;
    let first = world.speaker(ADA, DM).await;
    assert_eq!((first.user, first.name.as_str()), (world.ada.id, "ada"));
    assert_eq!((first.workspace, first.chat), (world.ada.workspace, C1));
    assert_eq!(first.conversation.kind, ConversationKind::Lobby);
    assert_eq!(first.conversation.user, Some(world.ada.id));
    assert_eq!(world.speaker(ADA, DM).await, first, "the same conversation the next time");
}

/// X2: a room leads to the chat that it was made for.
#[tokio::test]
async fn a_room_leads_to_its_chat() {
    let world = World::new().await;
    let chat = world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), world.ada.workspace, "Taxes", None)
        .await
        .unwrap()
        .id;
    let room = world.room_of(&world.ada, chat, "!taxes").await;
    let speaker = world.speaker(ADA, Heard::Direct("!taxes")).await;
    assert_eq!((speaker.chat, speaker.conversation), (chat, room));
}

/// E81, I3: nobody speaks in somebody else's room, whatever role they hold, and nothing of a private
/// workspace is taken where others read along.
#[tokio::test]
async fn a_private_room_hears_its_owner_alone() {
    let world = World::new().await;
    world.room_of(&world.ada, C1, "!ada").await;
    let overlord = crate::account("matrix", "@root:example.org", "").unwrap();
    world
        .control
        .people()
        .link_identity(&Actor::person("root"), &world.root, &overlord)
        .await
        .unwrap();
    for other in [BOB, "@root:example.org", "@eve:example.org"] {
        let located = world.locate(other, Heard::Direct("!ada")).await;
        assert!(nowhere(&located), "{other}: {located:?}");
    }
    let located = world.locate(ADA, Heard::Shared("!ada")).await;
    assert!(nowhere(&located), "others read along: {located:?}");
    world.speaker(ADA, Heard::Direct("!ada")).await;
}

#[tokio::test]
async fn who_may_not_speak_is_told_why_once() {
    let world = World::new().await;
    world.room_of(&world.ada, C1, "!ada").await;
    let first = world.locate(ADA, Heard::Shared("!ada")).await;
    let Located::NotHere { tell: Some(words) } = first else { panic!("{first:?}") };
    assert!(words.contains("Others read along"), "{words}");
    let again = world.locate(ADA, Heard::Shared("!ada")).await;
    assert_eq!(again, Located::NotHere { tell: None });
}

/// I3: a group room leads to its community for members, and to nothing for anybody else.
#[tokio::test]
async fn a_group_room_is_refused_unless_it_is_a_context() {
    let world = World::new().await;
    let shared = Heard::Shared(CLUB);
    assert!(nowhere(&world.locate(ADA, shared).await), "nobody connected it");
    world.club_room("general", CLUB).await;
    assert!(nowhere(&world.locate(ADA, shared).await), "not a member");
    world.role(&world.bob, "viewer").await;
    assert!(nowhere(&world.locate(BOB, shared).await), "viewers do not speak");
    world.role(&world.ada, "member").await;
    let speaker = world.speaker(ADA, shared).await;
    assert_eq!(speaker.workspace, world.club.workspace);
    assert_eq!(speaker.conversation.kind, ConversationKind::Shared);
    assert_eq!(speaker.conversation.user, None);
    assert_ne!(speaker.chat, C1, "the room has a chat of its own");
    assert!(nowhere(&world.locate("@eve:example.org", shared).await), "a stranger");
}

/// I3: a room that is no longer a context is told nothing more, and one that another community took over is
/// told nothing of the first.
#[tokio::test]
async fn a_room_that_is_disconnected_is_forgotten() {
    let world = World::new().await;
    world.club_room("general", CLUB).await;
    world.role(&world.ada, "member").await;
    let before = world.speaker(ADA, Heard::Shared(CLUB)).await;
    world
        .control
        .contexts()
        .remove_context(&Actor::person("root"), world.club.workspace, "general")
        .await
        .unwrap();
    let known = world.store().conversations().conversation(world.connector.id, CLUB).await.unwrap();
    assert_eq!(known, None);
    assert!(nowhere(&world.locate(ADA, Heard::Shared(CLUB)).await));

    world.club_room("reading", CLUB).await;
    let after = world.speaker(ADA, Heard::Shared(CLUB)).await;
    assert_ne!((after.chat, after.conversation.id), (before.chat, before.conversation.id));
}

/// I3: Ada's own room that is made a community's shows the community's chat from then on, and what was still
/// to be told of hers is not told there.
#[tokio::test]
async fn a_private_room_that_becomes_a_communitys_tells_nothing_private() {
    let world = World::new().await;
    let own = world.speaker(ADA, Heard::Direct(CLUB)).await;
    let frame = cloister_protocol::AgentFrame::Update(cloister_protocol::Update::Notice {
        text: "private".into(),
    });
    let row = world.stored((own.workspace, C1), &world.ada, "hi", Some(&own.conversation)).await;
    drop(row);
    let notice = (own.workspace, C1);
    world.store().outbox().notify(notice, "one", &frame).await.unwrap();
    world.club_room("general", CLUB).await;
    world.role(&world.ada, "member").await;
    let shared = world.speaker(ADA, Heard::Shared(CLUB)).await;
    assert_eq!(shared.workspace, world.club.workspace);
    assert_ne!(shared.conversation.id, own.conversation.id);
    let told = world.store().outbox().to_tell(shared.conversation.id).await.unwrap();
    assert!(told.is_empty(), "{told:?}");
    assert!(
        world
            .store()
            .conversations()
            .conversation_by_id(own.conversation.id)
            .await
            .unwrap()
            .is_none()
    );
}

/// What somebody says to the agent alone is nobody else's: whoever connects it, to a community before a word was said
/// there or to a workspace of their own, neither hears it nor shuts them out.
#[tokio::test]
async fn what_is_said_to_the_agent_alone_stays_its_persons() {
    let world = World::new().await;
    world.role(&world.ada, "member").await;
    world.club_room("trap", "!alone").await;
    let at_home = async |room: &str| {
        let speaker = world.speaker(ADA, Heard::Direct(room)).await;
        assert_eq!(speaker.workspace, world.ada.workspace, "{room}");
    };
    at_home("!alone").await;
    at_home("!alone").await;
    at_home("!known").await;
    let trap = cloister_protocol::admin::ContextChange {
        surface: Some("matrix".into()),
        conversation: Some("!known".into()),
        new: true,
        ..Default::default()
    };
    world
        .control
        .contexts()
        .change_context(&Actor::person("bob"), world.bob.workspace, "trap", trap)
        .await
        .unwrap();
    at_home("!known").await;
    // Once others are there, it is the community's.
    let shared = world.speaker(ADA, Heard::Shared("!alone")).await;
    assert_eq!(shared.workspace, world.club.workspace);
    let alone_again = world.speaker(ADA, Heard::Direct("!alone")).await;
    assert_eq!(alone_again.workspace, world.club.workspace);
}

/// X9, X11: a stranger is told once, also across a restart; all of them together at a bounded rate.
#[tokio::test]
async fn strangers_are_told_once_and_not_all_of_them_at_once() {
    let world = World::new().await;
    let eve = "@eve:example.org";
    let first = world.locate(eve, DM).await;
    let Located::Stranger { tell: Some(words) } = first else { panic!("{first:?}") };
    assert!(words.starts_with("I do not know you here yet. Write `pair`"), "{words}");
    assert_eq!(world.locate(eve, DM).await, Located::Stranger { tell: None });

    let own = SurfaceOptions { refusal: Some("Ask Root.".into()), ..SurfaceOptions::default() };
    let world = world.restarted(own).await;
    assert_eq!(world.locate(eve, DM).await, Located::Stranger { tell: None }, "after a restart");
    let other = world.locate("@mallory:example.org", DM).await;
    assert_eq!(other, Located::Stranger { tell: Some("Ask Root.".into()) });

    let mut told = 0;
    for number in 0..200 {
        let located = world.locate(&format!("@spam{number}:example.org"), DM).await;
        told += usize::from(matches!(located, Located::Stranger { tell: Some(_) }));
    }
    assert!((1..50).contains(&told), "{told} of 200 strangers were told");
    let known = world.store().conversations().of(world.connector.id).await.unwrap();
    assert!(known.is_empty(), "a stranger leaves nothing behind: {known:?}");
}

/// I1: an account that is unlinked is nobody's at once, in its own rooms too.
#[tokio::test]
async fn an_unlinked_account_is_a_stranger_in_its_own_room() {
    let world = World::new().await;
    world.room_of(&world.ada, C1, "!ada").await;
    world.speaker(ADA, Heard::Direct("!ada")).await;
    let account = crate::account("matrix", ADA, "").unwrap();
    world
        .control
        .people()
        .unlink_identity(&Actor::person("root"), &world.ada, &account)
        .await
        .unwrap();
    let located = world.locate(ADA, Heard::Direct("!ada")).await;
    assert!(matches!(located, Located::Stranger { .. }), "{located:?}");
}

/// I1, E81: an account that was Ada's and is Bob's now is served as Bob's, and hears nothing of hers.
#[tokio::test]
async fn an_account_that_changes_hands_leads_to_whose_it_is_now() {
    use crate::test_telegram::{ADA_THERE, Telegram};
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let hers = telegram.lobby().await;
    let own = Heard::OwnThread { of: ADA_THERE, id: "1001/5", title: "Taxes" };
    let topic = telegram.speaker(ADA_THERE, own).await.conversation;
    world.stored((hers.workspace, C1), &world.ada, "hi", Some(&hers)).await;
    let account = crate::account("telegram", ADA_THERE, "").unwrap();
    world
        .control
        .people()
        .unlink_identity(&Actor::person("root"), &world.ada, &account)
        .await
        .unwrap();
    world
        .control
        .people()
        .link_identity(&Actor::person("root"), &world.bob, &account)
        .await
        .unwrap();
    for heard in [Heard::Direct(ADA_THERE), own] {
        let his = telegram.speaker(ADA_THERE, heard).await;
        assert_eq!((his.user, his.workspace), (world.bob.id, world.bob.workspace));
        assert!(his.conversation.id != hers.id && his.conversation.id != topic.id);
    }
    let frame = cloister_protocol::AgentFrame::Update(cloister_protocol::Update::Notice {
        text: "private".into(),
    });
    let told =
        world.store().outbox().notify((hers.workspace, C1), "one", &frame).await.unwrap().unwrap();
    assert_eq!(told.conversation, None, "Ada is told on the web");
    let waiting =
        world.store().outbox().conversations_to_tell(telegram.connector.id).await.unwrap();
    assert!(waiting.is_empty(), "{waiting:?}");
}

mod threads {
    use super::*;
    use crate::test_telegram::{ADA_THERE, BOB_THERE, GROUP, Telegram};

    const TOPIC: &str = "-100200/7";
    const IN_GROUP: Heard<'_> = Heard::Thread { of: GROUP, id: TOPIC, title: "Reading list" };
    const OWN: Heard<'_> = Heard::OwnThread { of: ADA_THERE, id: "1001/5", title: "Taxes" };

    /// I3: a topic of a connected group is a chat of its own, in the context of the group, known from then on.
    #[tokio::test]
    async fn a_thread_in_a_context_is_a_chat_of_its_own() {
        let world = World::new().await;
        let telegram = Telegram::new(&world).await;
        telegram.club_group().await;
        world.role(&world.ada, "member").await;
        let group = telegram.speaker(ADA_THERE, Heard::Shared(GROUP)).await;
        let topic = telegram.speaker(ADA_THERE, IN_GROUP).await;
        assert_eq!(topic.workspace, world.club.workspace);
        assert_ne!(topic.chat, group.chat);
        assert_eq!(topic.conversation.kind, ConversationKind::Shared);
        let context =
            world.store().chats().context_of_chat(topic.workspace, topic.chat).await.unwrap();
        assert_eq!(context.as_deref(), Some("group"));
        let chat = world.store().chats().chat(topic.workspace, topic.chat).await.unwrap();
        assert_eq!(chat.title, "Reading list");
        assert_eq!(telegram.speaker(ADA_THERE, IN_GROUP).await, topic, "the same the next time");
        let chats = world.store().chats().of(world.club.workspace).await.unwrap().len();
        assert_eq!(chats, 3, "the first, the group's, the topic's");
    }

    /// I3: fail closed: a topic of a group that nobody connected leads nowhere, nor does one of who may not speak;
    /// and nothing is made for them.
    #[tokio::test]
    async fn a_thread_leads_nowhere_unless_its_group_does() {
        let world = World::new().await;
        let telegram = Telegram::new(&world).await;
        assert!(nowhere(&telegram.locate(ADA_THERE, IN_GROUP).await), "nobody connected it");
        telegram.club_group().await;
        world.role(&world.bob, "viewer").await;
        for other in [ADA_THERE, BOB_THERE, "666"] {
            assert!(nowhere(&telegram.locate(other, IN_GROUP).await), "{other}");
        }
        let elsewhere = Heard::Thread { of: "-100999", id: "-100999/7", title: "x" };
        world.role(&world.ada, "member").await;
        assert!(nowhere(&telegram.locate(ADA_THERE, elsewhere).await), "another group");
        let known = world.store().conversations().of(telegram.connector.id).await.unwrap();
        assert!(known.is_empty(), "{known:?}");
        let chats = world.store().chats().of(world.club.workspace).await.unwrap().len();
        assert_eq!(chats, 2);
    }

    /// I3: with its context, a group's topics are told nothing more; those of a group that another community
    /// took over are new chats there.
    #[tokio::test]
    async fn a_thread_goes_with_its_context() {
        let world = World::new().await;
        let telegram = Telegram::new(&world).await;
        telegram.club_group().await;
        world.role(&world.ada, "member").await;
        let before = telegram.speaker(ADA_THERE, IN_GROUP).await;
        let club = world.club.workspace;
        world
            .control
            .contexts()
            .remove_context(&Actor::person("root"), club, "group")
            .await
            .unwrap();
        let known =
            world.store().conversations().conversation(telegram.connector.id, TOPIC).await.unwrap();
        assert_eq!(known, None);
        assert!(nowhere(&telegram.locate(ADA_THERE, IN_GROUP).await));
        telegram.club_group().await;
        let after = telegram.speaker(ADA_THERE, IN_GROUP).await;
        assert_ne!(after.conversation.id, before.conversation.id);
        assert_ne!(after.chat, before.chat);
    }

    /// A topic that an operator connected by itself is that context, whatever the group is.
    #[tokio::test]
    async fn a_thread_that_is_a_context_comes_first() {
        let world = World::new().await;
        let telegram = Telegram::new(&world).await;
        telegram.club_group().await;
        world.role(&world.ada, "member").await;
        let change = cloister_protocol::admin::ContextChange {
            surface: Some("telegram".into()),
            conversation: Some(TOPIC.into()),
            new: true,
            ..Default::default()
        };
        let club = world.club.workspace;
        world
            .control
            .contexts()
            .change_context(&Actor::person("root"), club, "reading", change)
            .await
            .unwrap();
        let topic = telegram.speaker(ADA_THERE, IN_GROUP).await;
        let context = world.store().chats().context_of_chat(club, topic.chat).await.unwrap();
        assert_eq!(context.as_deref(), Some("reading"));
    }

    /// X5: a topic that a person opens in their own conversation is a new chat of theirs, and a room.
    #[tokio::test]
    async fn a_topic_of_ones_own_is_a_new_chat() {
        let world = World::new().await;
        let telegram = Telegram::new(&world).await;
        telegram.lobby().await;
        let topic = telegram.speaker(ADA_THERE, OWN).await;
        assert_eq!((topic.workspace, topic.chat.number()), (world.ada.workspace, 2));
        assert_eq!(topic.conversation.kind, ConversationKind::Room);
        assert_eq!(topic.conversation.user, Some(world.ada.id));
        assert_eq!(telegram.speaker(ADA_THERE, OWN).await, topic);
        let chat = world.store().chats().chat(topic.workspace, topic.chat).await.unwrap();
        assert_eq!(chat.title, "Taxes");
    }

    /// E81: nobody speaks in somebody else's topics, and none is made in somebody else's conversation.
    #[tokio::test]
    async fn a_topic_hears_its_owner_alone() {
        let world = World::new().await;
        let telegram = Telegram::new(&world).await;
        telegram.lobby().await;
        telegram.speaker(ADA_THERE, OWN).await;
        let fresh = Heard::OwnThread { of: ADA_THERE, id: "1001/6", title: "x" };
        let shared = Heard::Thread { of: ADA_THERE, id: "1001/5", title: "x" };
        for other in [BOB_THERE, "666"] {
            for heard in [OWN, fresh, shared] {
                assert!(nowhere(&telegram.locate(other, heard).await), "{other} in {heard:?}");
            }
        }
        assert!(nowhere(&telegram.locate(ADA_THERE, shared).await), "others read along");
        assert_eq!(world.store().chats().of(world.bob.workspace).await.unwrap().len(), 1);
        let known = world
            .store()
            .conversations()
            .conversation(telegram.connector.id, "1001/6")
            .await
            .unwrap();
        assert_eq!(known, None);
    }
}
