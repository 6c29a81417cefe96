use super::*;
use crate::people::Heard;
use crate::test_telegram::{ADA_THERE, BOB_THERE, GROUP, Telegram};
use crate::test_world::{C1, World};
use cloister_store::Actor;

fn values(choices: &[Choice]) -> Vec<&str> {
    choices.iter().map(|choice| choice.value.as_str()).collect()
}

fn alone<'a>(telegram: &Telegram<'_>, by: &'a str) -> TypedIn<'a> {
    TypedIn { connector: telegram.connector.id, conversation: by, thread_of: None, private: true }
}

/// X6: who types is offered their own chats, tasks and questions, and nobody else's.
#[tokio::test]
async fn people_choose_from_what_is_theirs() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let (ada, bob) = (&world.ada, &world.bob);
    world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), ada.workspace, "Taxes", None)
        .await
        .unwrap();
    let away = world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), ada.workspace, "Old", None)
        .await
        .unwrap()
        .id;
    world
        .control
        .chats()
        .archive_chat(&Actor::person("test"), ada.workspace, away, true)
        .await
        .unwrap();
    let hers = world.asked(ada.workspace, C1, ada.id, "middle").await;
    let his = world.asked(bob.workspace, C1, bob.id, "middle").await;
    let offered = async |by: &str, kind, typed: &str| {
        let alone = alone(&telegram, by);
        world.control.surfaces().choices(("telegram", by), alone, kind, typed).await.unwrap()
    };
    let chats = offered(ADA_THERE, ChoiceKind::Chats, "").await;
    assert_eq!(values(&chats), ["C2", "C1"]);
    assert_eq!(chats[0].label, "C2 · Taxes");
    assert_eq!(values(&offered(ADA_THERE, ChoiceKind::Chats, " TAX").await), ["C2"]);
    assert!(offered(ADA_THERE, ChoiceKind::Chats, "old").await.is_empty());
    let to_archive = offered(ADA_THERE, ChoiceKind::ToArchive, "").await;
    assert_eq!(values(&to_archive), ["C2", "C1", "C3"], "what is away can be taken out again");
    assert_eq!(to_archive[2].label, "C3 · Old (archived)");
    let asked = offered(ADA_THERE, ChoiceKind::Approvals, "").await;
    assert_eq!(values(&asked), [hers.to_string()]);
    let asked = offered(BOB_THERE, ChoiceKind::Approvals, "").await;
    assert_eq!(values(&asked), [his.to_string()]);
    let tasks = offered(ADA_THERE, ChoiceKind::Tasks, "t1").await;
    assert_eq!(values(&tasks), ["T1"]);
    for kind in [ChoiceKind::Chats, ChoiceKind::Tasks, ChoiceKind::Approvals] {
        assert!(offered("666", kind, "").await.is_empty(), "a stranger chooses from nothing");
    }
}

#[tokio::test]
async fn no_more_is_offered_than_a_surface_takes() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    for number in 0..40 {
        let title = format!("{number} {}", "long ".repeat(40));
        world
            .store()
            .chats()
            .new_chat(&Actor::person("test"), world.ada.workspace, &title, None)
            .await
            .unwrap();
    }
    let alone = alone(&telegram, ADA_THERE);
    let by = ("telegram", ADA_THERE);
    let chats = world.control.surfaces().choices(by, alone, ChoiceKind::Chats, "").await.unwrap();
    assert_eq!(chats.len(), MOST_CHOICES);
    assert!(chats.iter().all(|choice| choice.label.chars().count() <= 100));
    assert_eq!(chats[0].value, "C41", "the newest first");
}

/// X6, E63: in a community's conversation people choose from what is asked and done there, if they may see it; what
/// is private or in another chat is not offered, nor is anything where nothing is connected.
#[tokio::test]
async fn where_others_read_along_what_is_there_is_offered() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let connector = telegram.connector.id;
    world.asked(world.ada.workspace, C1, world.ada.id, "middle").await;
    world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), world.ada.workspace, "Private", None)
        .await
        .unwrap();
    let offered = async |by: &str, conversation: &str, kind| {
        let there = TypedIn { connector, conversation, thread_of: None, private: false };
        world
            .control
            .surfaces()
            .choices(("telegram", by), there, kind, "")
            .await
            .unwrap_or_default()
    };
    let all = [ChoiceKind::Chats, ChoiceKind::Tasks, ChoiceKind::Approvals];
    for kind in all {
        assert!(offered(ADA_THERE, GROUP, kind).await.is_empty(), "{kind:?}: not connected");
    }
    telegram.club_group().await;
    world.role(&world.ada, "member").await;
    let fresh = offered(ADA_THERE, GROUP, ChoiceKind::Chats).await;
    assert_eq!(fresh.len(), 1, "connected, and nobody has spoken there: {fresh:?}");
    let group = telegram.speaker(ADA_THERE, Heard::Shared(GROUP)).await;
    let topic = Heard::Thread { of: GROUP, id: "-100200/7", title: "Reading" };
    let topic = telegram.speaker(ADA_THERE, topic).await;
    let club = world.club.workspace;
    let here = world.asked(club, group.chat, world.ada.id, "middle").await;
    let beside = world.asked(club, topic.chat, world.ada.id, "middle").await;
    for (place, chat, asked) in [(GROUP, group.chat, here), ("-100200/7", topic.chat, beside)] {
        let chats = offered(ADA_THERE, place, ChoiceKind::Chats).await;
        assert_eq!(values(&chats), [chat.to_string()]);
        let questions = offered(ADA_THERE, place, ChoiceKind::Approvals).await;
        assert_eq!(values(&questions), [asked.to_string()]);
        let tasks = offered(ADA_THERE, place, ChoiceKind::Tasks).await;
        assert_eq!(tasks.len(), 1, "{tasks:?}");
        let task = tasks[0].value.parse().unwrap();
        assert_eq!(world.store().tasks().task(task).await.unwrap().chat, chat);
    }
    for kind in all {
        assert!(offered(BOB_THERE, GROUP, kind).await.is_empty(), "{kind:?}: not a member");
        assert!(offered("666", GROUP, kind).await.is_empty(), "{kind:?}: a stranger");
    }
    // Who administers the community can put away the other chats of this context, and show none but the one here.
    assert!(offered(ADA_THERE, GROUP, ChoiceKind::ToArchive).await.is_empty(), "not hers to do");
    world.role(&world.bob, "admin").await;
    let mut chats = [group.chat, topic.chat].map(|chat| chat.to_string());
    chats.sort_by(|a, b| b.cmp(a));
    assert_eq!(values(&offered(BOB_THERE, GROUP, ChoiceKind::ToArchive).await), chats);
    let shown = offered(BOB_THERE, GROUP, ChoiceKind::Chats).await;
    assert_eq!(values(&shown), [group.chat.to_string()], "`/chats` takes no other here");
}

/// A thread that nobody has spoken in is in the context of the conversation around it: what a command would take
/// there is offered, and nothing that it would refuse.
#[tokio::test]
async fn in_a_new_thread_what_its_commands_take_is_offered() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    telegram.club_group().await;
    world.role(&world.ada, "member").await;
    world.role(&world.bob, "admin").await;
    let group = telegram.speaker(ADA_THERE, Heard::Shared(GROUP)).await;
    world.asked(world.club.workspace, group.chat, world.ada.id, "middle").await;
    let connector = telegram.connector.id;
    let offered = async |by: &str, thread_of: Option<&'static str>, kind| {
        let there = TypedIn { connector, conversation: "-100200/9", thread_of, private: false };
        world
            .control
            .surfaces()
            .choices(("telegram", by), there, kind, "")
            .await
            .unwrap_or_default()
    };
    let around = Some(GROUP);
    let to_archive = offered(BOB_THERE, around, ChoiceKind::ToArchive).await;
    assert_eq!(values(&to_archive), [group.chat.to_string()]);
    assert!(offered(ADA_THERE, around, ChoiceKind::ToArchive).await.is_empty());
    assert!(offered(BOB_THERE, Some("-100999"), ChoiceKind::ToArchive).await.is_empty());
    // Its own chat, with what is asked and done there, begins with the first thing that is said.
    for kind in [ChoiceKind::Chats, ChoiceKind::Tasks, ChoiceKind::Approvals] {
        assert!(offered(BOB_THERE, around, kind).await.is_empty(), "{kind:?}");
    }
}

/// E81: in somebody else's private conversation nothing is offered.
#[tokio::test]
async fn in_somebody_elses_conversation_nothing_is_offered() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    telegram.lobby().await;
    let connector = telegram.connector.id;
    for private in [true, false] {
        let hers = TypedIn { connector, conversation: ADA_THERE, thread_of: None, private };
        let by = ("telegram", BOB_THERE);
        let chats =
            world.control.surfaces().choices(by, hers, ChoiceKind::Chats, "").await.unwrap();
        assert!(chats.is_empty(), "{chats:?}");
    }
}
