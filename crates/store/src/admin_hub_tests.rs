use cloister_protocol::{End, TurnId, Usage, WorkspaceId};

use super::*;
use crate::conversations::NewConversation;
use crate::db::Store;
use crate::inbox::{HeardIn, Inbound, Meant};
use crate::test_world::{self, LIMITS};
use crate::users::{AccountKind, User};

const C1: ChatId = ChatId::from_number(1);

struct World {
    _dir: tempfile::TempDir,
    store: Store,
    ada: User,
    hub: AdminHub,
    alone: Conversation,
}

async fn conversation(
    store: &Store,
    connector: ConnectorId,
    workspace: WorkspaceId,
    user: Option<UserId>,
) -> Conversation {
    let kind = if user.is_some() { ConversationKind::Lobby } else { ConversationKind::Shared };
    let new = NewConversation {
        connector,
        external_id: Some(format!("place-{workspace}")),
        chat: (workspace, C1),
        kind,
        user,
    };
    store.conversations().put_conversation(&new).await.unwrap()
}

async fn world() -> World {
    let (dir, store) = test_world::store().await;
    test_world::add(&store, "root").await;
    let ada = test_world::add(&store, "ada").await;
    let name = "club".parse().unwrap();
    let club = store
        .users()
        .add_account(&Actor::person("root"), &name, AccountKind::Community, LIMITS)
        .await
        .unwrap();
    for workspace in [ada.workspace, club.workspace] {
        store.chats().ensure_first_chat(&Actor::person("test"), workspace).await.unwrap();
    }
    let connector = test_world::connector(&store, "telegram", "12").await;
    let alone = conversation(&store, connector, ada.workspace, Some(ada.id)).await;
    let room = conversation(&store, connector, club.workspace, None).await;
    assert!(
        store.outbox().set_admin_hub(&Actor::person("root"), connector, Some(&room)).await.unwrap()
    );
    let hub = store.outbox().admin_hubs().await.unwrap().remove(0);
    World { _dir: dir, store, ada, hub, alone }
}

impl World {
    async fn exchange(&self, text: &str) {
        let inbound = Inbound {
            source: "telegram".into(),
            external_id: text.into(),
            workspace: self.ada.workspace,
            chat: C1,
            cause: Cause::Message {
                from: "ada".into(),
                text: text.into(),
                attachments: Vec::new(),
                instead: None,
            },
            meant: Meant::Words,
            heard_in: Some(HeardIn { conversation: self.alone.id, origin: None }),
        };
        let row = self.store.inbox().accept(inbound).await.unwrap().item;
        let turn = TurnId::of_trigger(&row.trigger().unwrap());
        let end = AgentFrame::End(End {
            turn: turn.clone(),
            message: None,
            text: format!("the answer to {text}"),
            usage: Usage::default(),
            error: None,
        });
        let chat = (self.ada.workspace, C1);
        self.store.outbox().end_turn(row.id, chat, &turn, Some(&end)).await.unwrap();
    }

    async fn hub_now(&self) -> AdminHub {
        self.store.outbox().admin_hubs().await.unwrap().remove(0)
    }
}

/// X1: what is shown is stored with that it was; a second look finds nothing, and a stale one changes nothing.
#[tokio::test]
async fn an_exchange_is_shown_once() {
    let world = world().await;
    world.exchange("one").await;
    world.exchange("two").await;
    let (found, up_to) = world.store.outbox().exchanges(&world.hub, 10).await.unwrap();
    let said: Vec<&str> = found.iter().map(|exchange| exchange.answer.as_str()).collect();
    assert_eq!(said, ["the answer to one", "the answer to two"]);
    assert!(found.iter().all(|exchange| exchange.user == world.ada.id));
    let (first, first_up_to) = world.store.outbox().exchanges(&world.hub, 1).await.unwrap();
    assert_eq!((first.len(), first_up_to), (1, found[0].row), "the rest is for later");

    let shown: Vec<Mirrored> = found
        .iter()
        .map(|exchange| Mirrored {
            user: exchange.user,
            row: exchange.row,
            text: exchange.answer.clone(),
        })
        .collect();
    assert_eq!(world.store.outbox().mirror(&world.hub, up_to, &shown).await.unwrap().len(), 2);
    assert!(
        world.store.outbox().mirror(&world.hub, up_to, &shown).await.unwrap().is_empty(),
        "twice"
    );
    let (left, _) = world.store.outbox().exchanges(&world.hub_now().await, 10).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(world.store.outbox().to_tell(world.hub.conversation.id).await.unwrap().len(), 2);

    world
        .store
        .outbox()
        .set_admin_hub(&Actor::person("root"), world.hub.connector, None)
        .await
        .unwrap();
    world.exchange("three").await;
    let (late, up_to) = world.store.outbox().exchanges(&world.hub, 10).await.unwrap();
    let shown = [Mirrored { user: world.ada.id, row: late[0].row, text: "three".into() }];
    let told = world.store.outbox().mirror(&world.hub, up_to, &shown).await.unwrap();
    assert!(told.is_empty(), "it is no hub any more");
}

/// Who is erased is erased from the hub too.
#[tokio::test]
async fn mirrored_words_go_with_whose_they_are() {
    let world = world().await;
    world.exchange("my own words").await;
    let text = "you are mirrored";
    let told =
        world.store.outbox().tell_of_mirror(&world.hub, world.ada.id, &world.alone, text).await;
    assert!(told.unwrap().is_some());
    let again =
        world.store.outbox().tell_of_mirror(&world.hub, world.ada.id, &world.alone, text).await;
    assert!(again.unwrap().is_none(), "once");
    let (found, up_to) = world.store.outbox().exchanges(&world.hub, 10).await.unwrap();
    let shown = [Mirrored { user: world.ada.id, row: found[0].row, text: "my own words".into() }];
    world.store.outbox().mirror(&world.hub, up_to, &shown).await.unwrap();
    world.store.outbox().tell_hub(&world.hub, "stop-1", "stopped").await.unwrap().unwrap();
    assert!(
        world.store.outbox().tell_hub(&world.hub, "stop-1", "stopped").await.unwrap().is_none()
    );
    assert_eq!(world.store.outbox().to_tell(world.hub.conversation.id).await.unwrap().len(), 2);

    world.store.platform().erase_records(&Actor::person("root"), world.ada.id).await.unwrap();
    let left = world.store.outbox().to_tell(world.hub.conversation.id).await.unwrap();
    assert_eq!(left.len(), 1);
    assert!(!format!("{left:?}").contains("my own words"), "{left:?}");
}

/// A hub goes with its conversation and with its connector.
#[tokio::test]
async fn a_hub_that_is_gone_is_none() {
    let world = world().await;
    world.store.outbox().tell_of_mirror(&world.hub, world.ada.id, &world.alone, "x").await.unwrap();
    world.store.conversations().forget_conversation(world.hub.conversation.id).await.unwrap();
    assert!(world.store.outbox().admin_hubs().await.unwrap().is_empty());
    world
        .store
        .conversations()
        .remove_connector(&Actor::person("root"), world.hub.connector)
        .await
        .unwrap();
    assert!(world.store.outbox().troubles().await.unwrap().is_empty());
}

/// I3: what waits to be shown in a hub is told nowhere once it is none any more: not there, not in another hub, and
/// not on the web of the community.
#[tokio::test]
async fn what_waits_for_a_hub_ends_with_it() {
    for forgotten in [false, true] {
        let world = world().await;
        let place = world.hub.conversation.clone();
        let (hub, chat) = (place.id, (place.workspace, place.chat));
        world.exchange("my own words").await;
        let (found, up_to) = world.store.outbox().exchanges(&world.hub, 10).await.unwrap();
        let shown = [Mirrored { user: world.ada.id, row: found[0].row, text: "words".into() }];
        world.store.outbox().mirror(&world.hub, up_to, &shown).await.unwrap();
        let told =
            world.store.outbox().tell_hub(&world.hub, "stop-1", "stopped").await.unwrap().unwrap();
        assert!(world.store.outbox().is_to_tell(hub, told.id).await.unwrap());
        if forgotten {
            world.store.conversations().forget_conversation(hub).await.unwrap();
        } else {
            world
                .store
                .outbox()
                .set_admin_hub(&Actor::person("root"), place.connector, None)
                .await
                .unwrap();
        }
        assert!(!world.store.outbox().is_to_tell(hub, told.id).await.unwrap());
        assert!(world.store.outbox().to_tell(hub).await.unwrap().is_empty());
        let web = world.store.outbox().undelivered(chat.0, chat.1).await.unwrap();
        assert!(web.is_empty(), "{web:?}");
        let own = world.store.outbox().to_tell(world.alone.id).await.unwrap();
        assert_eq!(own.len(), 1, "what the person is told stays");
    }
}
