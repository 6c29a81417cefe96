//! A control plane on a temporary directory, without cells, for tests of what surfaces rely on.

use std::sync::Arc;

use cloister_protocol::admin::ContextChange;
use cloister_protocol::link::Cause;
use cloister_protocol::surface::{CommandSign, Customs, Located, Speaker};
use cloister_protocol::{ApprovalId, ChatId, TurnId, UserId, WorkspaceId};
use cloister_store::approvals::NewApproval;
use cloister_store::connectors::Connector;
use cloister_store::conversations::{Conversation, ConversationKind, NewConversation};
use cloister_store::inbox::{HeardIn, Inbound, InboxItem};
use cloister_store::tasks::NewTask;
use cloister_store::users::User;
use cloister_store::{Actor, Store};
use cloister_testkit::rows;

use crate::commands::Typed;
use crate::people::{Giver, Heard};
use crate::ports::{CellBackend, Doors};
use crate::test_cells::FakeCells;
use crate::{CellOptions, Control, Parts, SurfaceOptions};

pub(crate) const C1: ChatId = ChatId::from_number(1);

cloister_testkit::control_plane_without_cells!(crate);

/// Root runs it; Ada and Bob are people with an account on Matrix; the club is a community.
pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) control: Control,
    pub(crate) root: User,
    pub(crate) ada: User,
    pub(crate) bob: User,
    pub(crate) club: User,
    pub(crate) connector: Connector,
}

pub(crate) const ADA: &str = "@ada:example.org";
pub(crate) const BOB: &str = "@bob:example.org";
/// The club's room, once `World::club_room` was called.
pub(crate) const CLUB: &str = "!club:example.org";

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Arc::new(Nothing), Arc::new(Nothing), CellOptions::default()).await
    }

    /// With cells that tests speak for.
    pub(crate) async fn with_cells(options: CellOptions) -> (Self, FakeCells) {
        let cells = FakeCells::default();
        let world = Self::with(Arc::new(cells.clone()), Arc::new(cells.clone()), options).await;
        (world, cells)
    }

    async fn with(
        backend: Arc<dyn CellBackend>,
        doors: Arc<dyn Doors>,
        cells: CellOptions,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cells = (backend, doors, cells);
        let control = open(&dir, SurfaceOptions::default(), true, cells).await;
        let store = control.store();
        let [root, ada, bob] =
            [add(&control, "root").await, add(&control, "ada").await, add(&control, "bob").await];
        let club = control
            .people()
            .add_community(&Actor::person("root"), &"book-club".parse().unwrap())
            .await
            .unwrap();
        for (user, id) in [(&ada, ADA), (&bob, BOB)] {
            let account = crate::account("matrix", id, "anybody").unwrap();
            control.people().link_identity(&Actor::person("root"), user, &account).await.unwrap();
        }
        let new = rows::bot("matrix", "@cloister:example.org");
        let connector =
            store.conversations().put_connector(&Actor::person("test"), &new).await.unwrap();
        let customs =
            Customs { command_sign: CommandSign::Bang, room_per_chat: true, sees_readers: true };
        store.conversations().set_customs(&new.surface, customs).await.unwrap();
        Self { dir, control, root, ada, bob, club, connector }
    }

    /// The same data after a restart, with other settings.
    pub(crate) async fn restarted(self, surfaces: SurfaceOptions) -> Self {
        let cells = (Arc::new(Nothing) as _, Arc::new(Nothing) as _, CellOptions::default());
        let control = open(&self.dir, surfaces, false, cells).await;
        Self { control, ..self }
    }

    pub(crate) fn store(&self) -> &Store {
        self.control.store()
    }

    pub(crate) async fn role(&self, user: &User, role: &str) {
        let held = format!("{role}@workspace:{}", self.club.workspace).parse().unwrap();
        self.control.people().give_role(quietly(user), user, &held).await.unwrap();
    }

    /// Makes a room a context of the club.
    pub(crate) async fn club_room(&self, name: &str, room: &str) {
        let change = ContextChange {
            surface: Some("matrix".into()),
            conversation: Some(room.into()),
            new: true,
            ..ContextChange::default()
        };
        self.control
            .contexts()
            .change_context(&Actor::person("root"), self.club.workspace, name, change)
            .await
            .unwrap();
    }

    pub(crate) async fn locate(&self, sender: &str, heard: Heard<'_>) -> Located {
        self.control
            .contexts()
            .locate(self.connector.id, "matrix", sender, heard, None)
            .await
            .unwrap()
    }

    /// Who speaks and where, for something that must lead somewhere.
    pub(crate) async fn speaker(&self, sender: &str, heard: Heard<'_>) -> Speaker {
        match self.locate(sender, heard).await {
            Located::To(speaker) => *speaker,
            nowhere => panic!("{sender} in {heard:?} leads nowhere: {nowhere:?}"),
        }
    }

    /// A room that was made for a chat of somebody.
    pub(crate) async fn room_of(&self, user: &User, chat: ChatId, id: &str) -> Conversation {
        let new = NewConversation {
            connector: self.connector.id,
            external_id: Some(id.to_owned()),
            chat: (user.workspace, chat),
            kind: ConversationKind::Room,
            user: Some(user.id),
        };
        self.store().conversations().put_conversation(&new).await.unwrap()
    }

    /// A message as it was stored; none: on the web.
    pub(crate) async fn stored(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
        from: &User,
        text: &str,
        conversation: Option<&Conversation>,
    ) -> InboxItem {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let inbound = Inbound {
            source: "test".into(),
            external_id: format!("{workspace}:{chat}:x{number}"),
            workspace,
            chat,
            cause: Cause::Message {
                from: from.name.to_string(),
                text: text.into(),
                attachments: Vec::new(),
                instead: None,
            },
            meant: Typed::meant(crate::commands::parse(text).as_ref()),
            heard_in: conversation
                .map(|conversation| HeardIn { conversation: conversation.id, origin: None }),
        };
        self.store().inbox().accept(inbound).await.unwrap().item
    }

    /// A question that waits in a chat, for what somebody's task wants.
    pub(crate) async fn asked(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        user: UserId,
        class: &str,
    ) -> ApprovalId {
        self.asked_of(1, workspace, chat, user, class).await
    }

    /// The same, where so many people must allow it.
    pub(crate) async fn asked_of(
        &self,
        people: u8,
        workspace: WorkspaceId,
        chat: ChatId,
        user: UserId,
        class: &str,
    ) -> ApprovalId {
        let task = rows::task((workspace, chat), user);
        let task = NewTask { turn: TurnId::kept(format!("t-{user}-{chat}")), ..task };
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let key = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
        let task = self.store().tasks().delegate(task, "test", &key).await.unwrap().id;
        let question = rows::question((workspace, chat), user, Some(task));
        let question = NewApproval { class: class.into(), people, ..question };
        self.store().approvals().ask(question).await.unwrap().approval.id
    }
}

async fn add(control: &Control, name: &str) -> User {
    let limits = control.users().limits();
    let user = control
        .store()
        .users()
        .add_user(&Actor::Operator, &name.parse().unwrap(), limits)
        .await
        .unwrap();
    control
        .store()
        .chats()
        .ensure_first_chat(&Actor::person("test"), user.workspace)
        .await
        .unwrap();
    user
}

type Cells = (Arc<dyn CellBackend>, Arc<dyn Doors>, CellOptions);

async fn open(
    dir: &tempfile::TempDir,
    surfaces: SurfaceOptions,
    new: bool,
    (backend, doors, cells): Cells,
) -> Control {
    let parts = parts_in(dir.path(), new).await;
    Control::new(Parts { cells, surfaces, backend, doors, ..parts })
}

/// Whoever is meant changes a role of their own, so that nobody is told.
static ROOT: Actor = Actor::System { part: "root" };

pub(crate) fn quietly(user: &User) -> Giver<'static> {
    Giver { user: user.id, actor: &ROOT }
}
