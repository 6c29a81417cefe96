//! A control plane on a temporary directory, without cells, for tests of what surfaces rely on.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use cloister_protocol::admin::ContextChange;
use cloister_protocol::link::Cause;
use cloister_protocol::surface::{CommandSign, Customs, Located, Speaker};
use cloister_protocol::{Answer, ApprovalId, ChatId, TurnId, UserId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::approvals::{ApprovalKind, NewApproval};
use cloister_store::connectors::{Connector, NewConnector};
use cloister_store::conversations::{Conversation, ConversationKind, NewConversation};
use cloister_store::inbox::{HeardIn, Inbound, InboxItem};
use cloister_store::secrets::MasterPlace;
use cloister_store::tasks::NewTask;
use cloister_store::users::User;
use cloister_store::{Store, StoreOptions};
use futures_util::future::BoxFuture;

use crate::commands::Typed;
use crate::layout::Layout;
use crate::people::{Giver, Heard};
use crate::ports::{
    CellBackend, Check, Doors, Egress, LaunchError, LinkSide, OpenDoor, Principal, Sandbox,
    SandboxSpec,
};
use crate::test_cells::FakeCells;
use crate::{AuditParts, CellOptions, Control, Metrics, Parts, Policies, SurfaceOptions};

pub(crate) const C1: ChatId = ChatId::from_number(1);

/// Launches nothing, opens no door.
struct Nothing;

impl CellBackend for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn check(&self) -> BoxFuture<'_, Vec<Check>> {
        Box::pin(async { Vec::new() })
    }

    fn sweep(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn launch(&self, spec: SandboxSpec) -> BoxFuture<'_, Result<Box<dyn Sandbox>, LaunchError>> {
        let reason = "there is no backend".to_owned();
        Box::pin(async move { Err(LaunchError::Failed { name: spec.name, reason }) })
    }

    fn adopt(&self, _: WorkspaceId, _: &std::fs::File) -> std::io::Result<()> {
        Ok(())
    }

    fn show(&self, _: WorkspaceId, _: &std::fs::File) -> std::io::Result<()> {
        Ok(())
    }
}

impl Doors for Nothing {
    fn open(
        &self,
        _: PathBuf,
        _: Principal,
        _: Egress,
        _: Arc<dyn LinkSide>,
    ) -> std::io::Result<Box<dyn OpenDoor>> {
        Err(std::io::Error::other("there are no doors"))
    }
}

/// The default policies, read once: that takes longer than all else in a world.
fn policies() -> Policies {
    static DEFAULT: OnceLock<Policies> = OnceLock::new();
    DEFAULT.get_or_init(|| Policies::new(&[]).unwrap()).clone()
}

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
        let new = NewConnector {
            surface: "matrix".into(),
            account: "@cloister:example.org".into(),
            address: "https://example.org".into(),
            settings: serde_json::json!({}),
        };
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
        let task = NewTask {
            workspace,
            chat,
            person: user,
            parent: None,
            turn: TurnId::kept(format!("t-{user}-{chat}")),
            title: "a task".into(),
            instructions: String::new(),
            request: String::new(),
            files: Vec::new(),
            plan_first: false,
            budget: 1,
            hosts: None,
            secrets: None,
            marks: Vec::new(),
        };
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let key = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
        let task = self.store().tasks().delegate(task, "test", &key).await.unwrap().id;
        let question = NewApproval {
            workspace,
            chat,
            task: Some(task),
            user,
            kind: ApprovalKind::Effect,
            digest: "0".repeat(64),
            class: class.into(),
            reason: "it sends something out".into(),
            sources: Vec::new(),
            people,
            offered: vec![Answer::Allow, Answer::Deny],
            title: "a question".into(),
            text: "send it?".into(),
            describes: String::new(),
            template: None,
            host: None,
            call: None,
            proposal: None,
            raise: None,
            park: false,
        };
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
    let layout = Layout::new(dir.path());
    layout.create().unwrap();
    let store = Store::open_with(&layout.database(), StoreOptions { readers: 1 }).await.unwrap();
    let master = dir.path().join("master.key");
    if new {
        store.secrets().create_master(&master).await.unwrap();
    }
    let keys = store.secrets().unlock(&MasterPlace::file(&master)).await.unwrap();
    Control::new(Parts {
        store,
        layout,
        cells,
        users: Default::default(),
        work: Default::default(),
        limits: Default::default(),
        gates: Default::default(),
        surfaces,
        backend,
        doors,
        metrics: Arc::new(Metrics::default()),
        keys,
        policies: policies(),
        audit: AuditParts { options: Default::default(), witnesses: Vec::new() },
        master: Arc::new(move || Ok((MasterPlace::file(&master), false))),
    })
}

/// Whoever is meant changes a role of their own, so that nobody is told.
static ROOT: Actor = Actor::System { part: "root" };

pub(crate) fn quietly(user: &User) -> Giver<'static> {
    Giver { user: user.id, actor: &ROOT }
}
