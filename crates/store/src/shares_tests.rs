//! What one member of a community may take of what all of them have.

use cloister_protocol::link::Cause;
use cloister_protocol::{Answer, ChatId, TaskId, TurnId, UserId, UserName};

use crate::actor::Actor;
use crate::approvals::{ApprovalKind, NewApproval};
use crate::db::Store;
use crate::error::StoreError;
use crate::inbox::{Inbound, Meant, MostOpen, Taken};
use crate::tasks::{NewTask, Task};
use crate::test_world;
use crate::users::{AccountKind, User, UserLimits};

const CHAT: ChatId = ChatId::from_number(1);

/// Somebody's place with so many executors, and two people.
struct Place {
    _dir: tempfile::TempDir,
    store: Store,
    of: User,
    ada: UserId,
    bob: UserId,
}

async fn place(kind: AccountKind, max_executors: u32) -> Place {
    let (dir, store) = test_world::store().await;
    let limits = UserLimits { quota_bytes: 1, max_executors, daily_budget: 1, task_budget: 1 };
    let add = async |name: &str, kind| {
        let name: UserName = name.parse().unwrap();
        store.users().add_account(&Actor::Operator, &name, kind, limits).await.unwrap()
    };
    let ada = add("ada", AccountKind::Person).await.id;
    let bob = add("bob", AccountKind::Person).await.id;
    let of = add("place", kind).await;
    store.chats().ensure_first_chat(&Actor::person("test"), of.workspace).await.unwrap();
    Place { _dir: dir, store, of, ada, bob }
}

impl Place {
    async fn queue(&self, person: UserId, name: &str) -> TaskId {
        let new = NewTask {
            workspace: self.of.workspace,
            chat: CHAT,
            person,
            parent: None,
            turn: TurnId::of_message(1),
            title: name.to_owned(),
            instructions: name.to_owned(),
            request: String::new(),
            files: Vec::new(),
            plan_first: false,
            budget: 1,
            hosts: None,
            secrets: None,
            marks: Vec::new(),
        };
        self.store.tasks().delegate(new, "test", name).await.unwrap().id
    }

    async fn start(&self) -> Option<Task> {
        self.store.tasks().start_next().await.unwrap()
    }

    /// For whom the tasks are that start now, in their order.
    async fn started(&self) -> Vec<UserId> {
        let mut people = Vec::new();
        while let Some(task) = self.start().await {
            people.push(task.person);
        }
        people
    }

    async fn ask(&self, person: UserId, task: TaskId, digest: &str) -> Result<(), StoreError> {
        let question = NewApproval {
            workspace: self.of.workspace,
            chat: CHAT,
            task: Some(task),
            user: person,
            kind: ApprovalKind::Effect,
            digest: digest.to_owned(),
            class: "outward".to_owned(),
            reason: "it sends".to_owned(),
            sources: Vec::new(),
            people: 1,
            offered: Answer::ALL.to_vec(),
            title: "send".to_owned(),
            text: digest.to_owned(),
            describes: String::new(),
            template: None,
            host: None,
            call: None,
            proposal: None,
            raise: None,
            park: true,
        };
        self.store.approvals().ask(question).await.map(drop)
    }

    async fn say(&self, from: &str, id: &str, most: MostOpen) -> bool {
        let inbound = Inbound {
            source: "socket".to_owned(),
            external_id: id.to_owned(),
            workspace: self.of.workspace,
            chat: CHAT,
            cause: Cause::Message {
                from: from.to_owned(),
                text: id.to_owned(),
                attachments: Vec::new(),
                instead: None,
            },
            meant: Meant::Words,
            heard_in: None,
        };
        match self.store.inbox().take_message(inbound, most).await.unwrap() {
            Taken::Stored(_) => true,
            Taken::TooMany(_) => false,
            other => panic!("{other:?}"),
        }
    }
}

/// A7: five tasks that never end leave executors for the others, and who runs the fewest goes first.
#[tokio::test]
async fn in_a_community_one_person_does_not_take_all_executors() {
    let club = place(AccountKind::Community, 5).await;
    for n in 0..8 {
        club.queue(club.bob, &format!("bob {n}")).await;
    }
    assert_eq!(club.started().await, [club.bob; 3], "as long as half of them stay free");
    club.queue(club.ada, "ada").await;
    club.queue(club.ada, "ada again").await;
    assert_eq!(club.started().await, [club.ada], "who has none yet has one");
    let other = club.of.id;
    club.queue(other, "other").await;
    assert_eq!(club.started().await, [other]);
}

#[tokio::test]
async fn who_runs_the_fewest_tasks_goes_first_in_a_community() {
    let club = place(AccountKind::Community, 16).await;
    for n in 0..3 {
        club.queue(club.bob, &format!("bob {n}")).await;
    }
    club.queue(club.ada, "ada").await;
    assert_eq!(club.started().await, [club.bob, club.ada, club.bob, club.bob]);
}

/// With one executor nobody waits for ever, and in one's own workspace all of it is one's own.
#[tokio::test]
async fn nobody_is_left_without_an_executor_by_their_share() {
    let small = place(AccountKind::Community, 1).await;
    small.queue(small.bob, "bob").await;
    assert_eq!(small.started().await, [small.bob]);
    let own = place(AccountKind::Person, 5).await;
    for n in 0..6 {
        own.queue(own.of.id, &format!("own {n}")).await;
    }
    assert_eq!(own.started().await.len(), 5);
}

/// A7: what is asked for one member leaves room for what is asked for the others.
#[tokio::test]
async fn questions_of_one_member_leave_room_for_those_of_others() {
    let club = place(AccountKind::Community, 9).await;
    let mut asked = 0;
    for task in 0..5 {
        let id = club.queue(club.bob, &format!("bob {task}")).await;
        for number in 0..10 {
            asked += usize::from(club.ask(club.bob, id, &format!("{task} {number}")).await.is_ok());
        }
    }
    assert_eq!(asked, 12);
    let id = club.queue(club.ada, "ada").await;
    club.ask(club.ada, id, "of ada").await.unwrap();
    // In a person's own workspace it is the workspace that counts.
    let own = place(AccountKind::Person, 9).await;
    let person = own.of.id;
    let mut asked = 0;
    for task in 0..6 {
        let id = own.queue(person, &format!("own {task}")).await;
        for number in 0..10 {
            asked += usize::from(own.ask(person, id, &format!("{task} {number}")).await.is_ok());
        }
    }
    assert_eq!(asked, 50);
}

/// A7: so many of one person's messages may wait, and those of the others are still taken.
#[tokio::test]
async fn unanswered_messages_of_one_person_leave_room_for_those_of_others() {
    let club = place(AccountKind::Community, 1).await;
    let most = MostOpen { of_person: 2, in_workspace: 5, in_all: 9 };
    let said = [("bob", "1"), ("bob", "2"), ("bob", "3"), ("ada", "4"), ("ada", "5"), ("ada", "6")];
    let mut taken = Vec::new();
    for (from, id) in said {
        taken.push(club.say(from, id, most).await);
    }
    assert_eq!(taken, [true, true, false, true, true, false]);
    assert!(club.say("bob", "1", most).await, "what was stored is not refused");
    assert!(club.say("carol", "7", most).await);
    assert!(!club.say("dave", "8", most).await, "the community is full");
}
