use cloister_store::Actor;
use cloister_store::conversations::Conversation;

use super::*;
use crate::people::Heard;
use crate::test_telegram::{ADA_THERE, BOB_THERE, GROUP, Telegram};
use crate::test_world::World;

const OWN: Heard<'_> = Heard::OwnThread { of: ADA_THERE, id: "1001/5", title: "Taxes" };
const IN_GROUP: Heard<'_> = Heard::Thread { of: GROUP, id: "-100200/7", title: "Reading list" };

fn named<'a>(title: &'a str, by: Option<&'a str>) -> Named<'a> {
    Named { title, by, at: None }
}

impl World {
    async fn title(&self, of: &Conversation) -> String {
        self.store().chats().chat(of.workspace, of.chat).await.unwrap().title
    }

    async fn refused(&self, of: &Conversation, by: Option<&str>) {
        let refused = self.control.people().rename_chat_from(of, named("Owned", by)).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Forbidden, "{by:?}");
    }
}

/// X5: who renames a topic of their own renames its chat; nobody else does, and not who is linked no more.
#[tokio::test]
async fn a_topic_of_ones_own_is_named_by_its_person_alone() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    telegram.lobby().await;
    let topic = telegram.speaker(ADA_THERE, OWN).await.conversation;
    let by = Some(ADA_THERE);
    world.control.people().rename_chat_from(&topic, named(" Taxes\n2026 ", by)).await.unwrap();
    world.control.people().rename_chat_from(&topic, named("", by)).await.unwrap();
    assert_eq!(world.title(&topic).await, "Taxes2026", "one line, and no name is no name");
    let overlord = crate::account("telegram", "1003", "").unwrap();
    world
        .control
        .people()
        .link_identity(&Actor::person("root"), &world.root, &overlord)
        .await
        .unwrap();
    for other in [None, Some(BOB_THERE), Some("1003"), Some("666")] {
        world.refused(&topic, other).await;
    }
    let account = crate::account("telegram", ADA_THERE, "").unwrap();
    world
        .control
        .people()
        .unlink_identity(&Actor::person("root"), &world.ada, &account)
        .await
        .unwrap();
    world.refused(&topic, by).await;
    assert_eq!(world.title(&topic).await, "Taxes2026");
    let entries = world.store().audit().audit_tail(50).await.unwrap();
    let renamed: Vec<_> = entries.iter().filter(|entry| entry.action == "chat.rename").collect();
    assert!(renamed.len() == 1 && format!("{renamed:?}").contains("ada"), "{renamed:?}");
}

/// E63: a community's chat is renamed by who may `/rename` it, and by nobody else who may rename the topic; that
/// is shown as it was again where it is known who it was, and left where it is not.
#[tokio::test]
async fn a_communitys_chat_is_named_by_who_may_rename_it() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    telegram.club_group().await;
    world.role(&world.ada, "member").await;
    let topic = telegram.speaker(ADA_THERE, IN_GROUP).await.conversation;
    world.role(&world.bob, "viewer").await;
    let shown = async || {
        world
            .store()
            .conversations()
            .conversation_by_id(topic.id)
            .await
            .unwrap()
            .unwrap()
            .shown_title
            .unwrap()
    };
    world.refused(&topic, None).await;
    assert_eq!(shown().await, "Reading list", "nobody knows whom: it is left");
    for other in [BOB_THERE, "666"] {
        world.refused(&topic, Some(other)).await;
        assert_eq!(world.title(&topic).await, "Reading list");
        assert_eq!(shown().await, "Owned", "the mender puts the title back");
    }
    world.control.people().rename_chat_from(&topic, named("Read", Some(ADA_THERE))).await.unwrap();
    assert_eq!((world.title(&topic).await, shown().await), ("Read".to_owned(), "Read".to_owned()));
}

/// X5, M2: a topic was renamed on its surface, then its chat here, and the newer title was shown there before the
/// older name was told: that is nowhere any more, whether the topic is one's own or a community's. A name that is
/// newer than what was shown counts.
#[tokio::test]
async fn a_name_that_is_told_late_does_not_take_a_shown_title_back() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    telegram.lobby().await;
    telegram.club_group().await;
    world.role(&world.ada, "member").await;
    for heard in [OWN, IN_GROUP] {
        let topic = telegram.speaker(ADA_THERE, heard).await.conversation;
        let named_there = world.store().clock.now_ms();
        let (of, actor) = ((topic.workspace, topic.chat), Actor::person("ada"));
        world.control.chats().rename_chat(&actor, of.0, of.1, "Newer").await.unwrap();
        while world.store().clock.now_ms() <= named_there {
            tokio::task::yield_now().await;
        }
        world.store().conversations().set_shown(topic.id, "Newer", false).await.unwrap();

        let told_late = |title, at| Named { title, by: Some(ADA_THERE), at: Some(at) };
        let people = world.control.people();
        people.rename_chat_from(&topic, told_late("Older", named_there)).await.unwrap();
        assert_eq!(world.title(&topic).await, "Newer");
        let row = world.store().conversations().conversation_by_id(topic.id).await.unwrap();
        assert_eq!(
            row.unwrap().shown_title.as_deref(),
            Some("Newer"),
            "it shows that, and no other"
        );

        let now = world.store().clock.now_ms();
        people.rename_chat_from(&topic, told_late("Newest", now + 999)).await.unwrap();
        assert_eq!(world.title(&topic).await, "Newest");
    }
}
