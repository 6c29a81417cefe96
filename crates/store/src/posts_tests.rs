use cloister_protocol::link::Cause;
use cloister_protocol::{AgentFrame, Answer, ChatId, End, TurnId, Usage};

use super::*;
use crate::actor::Actor;
use crate::answers::{Given, Standing};
use crate::approvals::{ApprovalKind, NewApproval};
use crate::conversations::{Conversation, ConversationKind, NewConversation};
use crate::db::Store;
use crate::inbox::{HeardIn, Inbound, Meant, MostOpen, Taken};
use crate::test_world;
use crate::users::User;

const C1: ChatId = ChatId::from_number(1);

struct World {
    _dir: tempfile::TempDir,
    store: Store,
    ada: User,
    connector: ConnectorId,
}

impl World {
    async fn new() -> Self {
        let (dir, store) = test_world::store().await;
        let ada = test_world::add(&store, "ada").await;
        store.chats().ensure_first_chat(&Actor::person("test"), ada.workspace).await.unwrap();
        let connector = test_world::connector(&store, "matrix", "@bot:example.org").await;
        Self { _dir: dir, store, ada, connector }
    }

    async fn place(&self, name: Option<&str>, kind: ConversationKind) -> Conversation {
        let new = NewConversation {
            connector: self.connector,
            external_id: name.map(str::to_owned),
            chat: (self.ada.workspace, C1),
            kind,
            user: None,
        };
        self.store.conversations().put_conversation(&new).await.unwrap()
    }

    async fn writes(&self, place: &Conversation, id: &str) -> i64 {
        let inbound = Inbound {
            source: "matrix".to_owned(),
            external_id: id.to_owned(),
            workspace: self.ada.workspace,
            chat: C1,
            cause: Cause::Message {
                from: "ada".to_owned(),
                text: id.to_owned(),
                attachments: Vec::new(),
                instead: None,
            },
            meant: Meant::Words,
            heard_in: Some(HeardIn { conversation: place.id, origin: Some("$1".to_owned()) }),
        };
        let most = MostOpen { of_person: 100, in_workspace: 100, in_all: 100 };
        match self.store.inbox().take_message(inbound, most).await.unwrap() {
            Taken::Stored(accepted) => accepted.item.id,
            refused => panic!("{refused:?}"),
        }
    }

    async fn ends(&self, row: i64) {
        let turn = TurnId::of_trigger(&format!("m{row}").parse().unwrap());
        let frame = AgentFrame::End(End {
            turn: turn.clone(),
            message: None,
            text: "done".to_owned(),
            usage: Usage::default(),
            error: None,
        });
        let chat = (self.ada.workspace, C1);
        self.store.outbox().end_turn(row, chat, &turn, Some(&frame)).await.unwrap();
    }

    async fn to_tell(&self) -> Vec<i64> {
        let places = self.store.outbox().conversations_to_tell(self.connector).await.unwrap();
        places.into_iter().map(ConversationId::number).collect()
    }
}

/// X1: what was begun is known to have been, until it is known to be there or not to be.
#[tokio::test]
async fn a_post_is_known_from_before_it_is_sent() {
    let world = World::new().await;
    let place = world.place(Some("!a"), ConversationKind::Lobby).await;
    let (store, here) = (&world.store, place.id);
    assert_eq!(store.outbox().begin_post(here, "k", None).await.unwrap(), None);
    let unknown = Post { key: "k".to_owned(), outbox_id: None, external_id: None };
    assert_eq!(store.outbox().begin_post(here, "k", Some(7)).await.unwrap(), Some(unknown.clone()));
    let of_row = Post { outbox_id: Some(7), ..unknown };
    assert_eq!(store.outbox().begin_post(here, "k", Some(8)).await.unwrap(), Some(of_row.clone()));
    store.outbox().finish_post(here, "k", "$event").await.unwrap();
    let there = Post { external_id: Some("$event".to_owned()), ..of_row };
    // What is there is not forgotten.
    store.outbox().forget_post(here, "k").await.unwrap();
    assert_eq!(store.outbox().post(here, "k").await.unwrap(), Some(there));
    store.outbox().begin_post(here, "other", None).await.unwrap();
    store.outbox().forget_post(here, "other").await.unwrap();
    assert_eq!(store.outbox().post(here, "other").await.unwrap(), None);
}

#[tokio::test]
async fn only_conversations_that_can_be_told_something_are_listed() {
    let world = World::new().await;
    let open = world.place(Some("!open"), ConversationKind::Lobby).await;
    let wanted = world.place(None, ConversationKind::Room).await;
    let gone = world.place(Some("!gone"), ConversationKind::Lobby).await;
    for (place, id) in [(&open, "a"), (&wanted, "b"), (&gone, "c")] {
        let row = world.writes(place, id).await;
        world.ends(row).await;
    }
    world.store.conversations().set_broken(gone.id, Some("left")).await.unwrap();
    assert_eq!(world.to_tell().await, [open.id.number()]);
    world.store.conversations().set_broken(gone.id, None).await.unwrap();
    assert_eq!(world.to_tell().await, [open.id.number(), gone.id.number()]);
    let rows = world.store.outbox().to_tell(open.id).await.unwrap();
    assert_eq!(rows.len(), 1);
    world.store.outbox().mark_delivered(&[rows[0].id]).await.unwrap();
    assert_eq!(world.to_tell().await, [gone.id.number()]);
    let other = test_world::connector(&world.store, "matrix", "@other:example.org").await;
    assert!(world.store.outbox().conversations_to_tell(other).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_waits_for_an_answer_is_found_where_it_was_written() {
    let world = World::new().await;
    let place = world.place(Some("!a"), ConversationKind::Lobby).await;
    let (first, second) = (world.writes(&place, "a").await, world.writes(&place, "b").await);
    world.ends(first).await;
    let awaited = world.store.outbox().awaited_answers(world.connector).await.unwrap();
    assert_eq!(awaited, [(place.id, second)]);
    let origin = world.store.outbox().origin_of_turn(second).await.unwrap();
    assert_eq!(origin, Some((Some(place.id), Some("$1".to_owned()))));
}

/// X2: a question whose message does not say yet how it was settled is found until it does.
#[tokio::test]
async fn questions_that_were_settled_are_found_until_their_message_says_so() {
    let world = World::new().await;
    let place = world.place(Some("!a"), ConversationKind::Lobby).await;
    world.writes(&place, "a").await;
    let question = NewApproval {
        workspace: world.ada.workspace,
        chat: C1,
        task: None,
        user: world.ada.id,
        kind: ApprovalKind::Effect,
        digest: "0".repeat(64),
        class: "outward".to_owned(),
        reason: String::new(),
        sources: Vec::new(),
        people: 1,
        offered: vec![Answer::Allow],
        title: "a question".to_owned(),
        text: "send it?".to_owned(),
        describes: String::new(),
        template: None,
        host: None,
        call: None,
        proposal: None,
        raise: None,
        park: false,
    };
    let asked = world.store.approvals().ask(question).await.unwrap();
    let row = asked.told.unwrap();
    assert_eq!(row.conversation, Some(place.id));
    let to_settle =
        async || world.store.outbox().questions_to_settle(world.connector).await.unwrap();
    let given = Given {
        workspace: world.ada.workspace,
        id: asked.approval.id,
        user: world.ada.id,
        answer: Answer::Allow,
        digest: None,
    };
    world
        .store
        .inbox()
        .answer(&Actor::person("test"), &given, |_, _| Standing::Allowed(Answer::Allow))
        .await
        .unwrap();
    assert!(to_settle().await.is_empty(), "it was not posted");
    let key = question_key(row.id);
    world.store.outbox().begin_post(place.id, &key, Some(row.id)).await.unwrap();
    world.store.outbox().finish_post(place.id, &key, "$question").await.unwrap();
    assert_eq!(to_settle().await, [(place.id, asked.approval.id)]);
    let told = world.store.outbox().told_by(place.id, "$question").await.unwrap();
    assert_eq!(told.map(|told| told.id), Some(row.id));
    world.store.outbox().begin_post(place.id, &settled_key(&key), Some(row.id)).await.unwrap();
    assert_eq!(to_settle().await.len(), 1, "the edit may not have got there");
    world.store.outbox().finish_post(place.id, &settled_key(&key), "$question").await.unwrap();
    assert!(to_settle().await.is_empty());
}
