//! Comparing what is known here with the rooms that the server has. Makes and leaves no room.

use std::collections::HashSet;

use cloister_kit::PlaneError;
use cloister_protocol::admin::{ReconcileReport, Skipped};
use cloister_protocol::surface::{
    Chats, ChatsChanged, ContextOf, Conversation, ConversationAt, ConversationKind, Conversations,
    ForgetConversation, Homes, IsWorkspace, NewConversation, PutConversation, RestoreChat, SetHome,
    SetShown, ShownAs, WhoIs,
};
use cloister_protocol::{ErrorCode, WorkspaceId};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use matrix_sdk::ruma::RoomId;
use tokio::time::Instant;

use super::Comparison;
use super::decide::{decide, is_called_as_shown};
use super::graph::{Change, Known, KnownChat, Person, Plan, Scope, Seen};
use super::ownership::Claim;

/// How many changes are written side by side; the control plane commits them together.
const AT_ONCE: usize = 32;
/// In a larger room, not everybody is looked up.
const MOST_LOOKED_UP: usize = 50;

impl Comparison {
    /// Rebuilds what is known of Spaces and rooms from what the server has.
    pub(crate) async fn reconcile(&self) -> Result<ReconcileReport, PlaneError> {
        let began = Instant::now();
        let _making = self.bot.rooms.making.lock().await;
        self.bot.rooms.forget();
        let server = self.bot.homeserver();
        let joined = server.patiently(|| server.joined_ids().boxed()).await?;
        let (mut seen, unseen) = self.bot.survey().see_all(&joined).await;
        let joined: HashSet<String> = joined.iter().map(ToString::to_string).collect();
        let mut known = self.known(&seen).await?;
        if self.look_again(&mut seen, &known).await? {
            known = self.known(&seen).await?;
        }
        let plan = decide(&seen, &joined, &known, Scope::Everything);
        self.carry_out(&plan).await?;
        self.close_shared(&plan, &seen).await?;
        let report = report(plan, joined.len(), unseen, began);
        tracing::info!(
            account = self.bot.connector.account,
            looked_at = report.looked_at,
            restored = report.restored.len(),
            repaired = report.repaired.len(),
            skipped = report.skipped.len(),
            conflicts = report.conflicts.len(),
            took_ms = report.took_ms,
            "compared what is known with the server's rooms"
        );
        Ok(report)
    }

    /// What a sync kept of a room may be older than what we have called it and whom we have invited since, and a
    /// homeserver may answer a sync from memory: where a name is not what was shown last, or its person is not where
    /// they were, it is the server's own state that counts. Whether any room was looked at again.
    async fn look_again(&self, seen: &mut [Seen], known: &Known) -> Result<bool, PlaneError> {
        let mut again = false;
        for room in seen {
            let row = known.in_room(&room.room).filter(|row| row.kind == ConversationKind::Room);
            let differs = row.filter(|row| row.shown_title.is_some()).is_some_and(|row| {
                let moved = known.has(&room.members, row.user) == row.broken.is_some();
                moved || !is_called_as_shown(row, &room.name)
            });
            if let (true, Ok(id)) = (differs, RoomId::parse(&room.room)) {
                *room = self.bot.survey().see_there(&id).await?;
                again = true;
            }
        }
        Ok(again)
    }

    /// What is known here of everything that the rooms touch.
    pub(super) async fn known(&self, seen: &[Seen]) -> Result<Known, PlaneError> {
        let connector = self.bot.id();
        let mut known = Known {
            conversations: self.bot.plane.call(Conversations { connector }).await?,
            homes: self.bot.plane.call(Homes { connector }).await?.into_iter().collect(),
            ..Known::default()
        };
        let mut workspaces: HashSet<WorkspaceId> =
            known.conversations.iter().map(|row| row.workspace).collect();
        for account in accounts(seen) {
            if let Some(person) = self.person(&account).await? {
                workspaces.insert(person.workspace);
                known.people.insert(account, person);
            }
        }
        for room in seen {
            match &room.claim {
                Claim::Chat(claim) => {
                    workspaces.insert(claim.workspace);
                }
                Claim::None => self.look_for_context(&room.room, &mut known).await?,
                Claim::Foreign { .. } | Claim::Unreadable | Claim::Home(_) => {}
            }
        }
        for workspace in workspaces {
            if !self.bot.plane.call(IsWorkspace { workspace }).await? {
                continue;
            }
            known.workspaces.insert(workspace);
            let chats = match self.bot.plane.call(Chats { workspace }).await {
                // Nobody of it is known on Matrix: no room of ours shows a chat of it.
                Err(error) if error.code() == ErrorCode::NotFound => continue,
                chats => chats?,
            };
            for chat in chats {
                let known_chat = KnownChat { title: chat.title };
                known.chats.insert((workspace, chat.id), known_chat);
            }
        }
        Ok(known)
    }

    /// Whose account it is.
    pub(super) async fn person(&self, account: &str) -> Result<Option<Person>, PlaneError> {
        let found = self.bot.plane.call(WhoIs { account: account.to_owned() }).await?;
        Ok(found.map(|found| Person { user: found.user, workspace: found.workspace }))
    }

    async fn look_for_context(&self, room: &str, known: &mut Known) -> Result<(), PlaneError> {
        let context = self.bot.plane.call(ContextOf { place: room.to_owned() }).await?;
        if let Some((workspace, chat)) =
            context.and_then(|found| Some((found.workspace, found.chat?)))
        {
            known.contexts.insert(room.to_owned(), (workspace, chat));
        }
        Ok(())
    }

    /// Writes down what was decided, what makes way first.
    pub(super) async fn carry_out(&self, plan: &Plan) -> Result<(), PlaneError> {
        for phase in plan.changes.chunk_by(|a, b| a.order() == b.order()) {
            let changes: Vec<BoxFuture<'_, Result<(), PlaneError>>> =
                phase.iter().map(|change| self.change(change).boxed()).collect();
            let changes = stream::iter(changes).buffer_unordered(AT_ONCE);
            changes.try_collect::<()>().await?;
        }
        if plan.changes.iter().any(|change| matches!(change, Change::Retitle { .. })) {
            self.bot.plane.tell(ChatsChanged {});
        }
        Ok(())
    }

    /// Closes what was placed as one person's own and has others in it, or is open to them.
    pub(super) async fn close_shared(&self, plan: &Plan, seen: &[Seen]) -> Result<(), PlaneError> {
        for change in &plan.changes {
            let Change::Place { room, user: Some(_), .. } = change else { continue };
            let crowded = seen
                .iter()
                .any(|seen| seen.room == *room && (seen.members.len() > 1 || seen.open.is_some()));
            let Ok(id) = RoomId::parse(room) else { continue };
            let known = self.in_room(room).await?;
            if let (true, Some(row), Some(room)) = (crowded, known, self.bot.client.get_room(&id)) {
                self.bot.privacy().keep_private(&room, &row).await?;
            }
        }
        Ok(())
    }

    /// The conversation that a room is, if it is one.
    async fn in_room(&self, room: &str) -> Result<Option<Conversation>, PlaneError> {
        let here = ConversationAt { connector: self.bot.id(), place: room.to_owned() };
        self.bot.plane.call(here).await
    }

    async fn change(&self, change: &Change) -> Result<(), PlaneError> {
        match change {
            Change::Forget(id) => {
                self.bot.plane.call(ForgetConversation { conversation: *id }).await?;
            }
            Change::RestoreChat { chat: (workspace, chat), title } => {
                let (workspace, chat, title) = (*workspace, *chat, title.clone());
                self.bot.plane.call(RestoreChat { workspace, chat, title }).await?;
            }
            Change::Place { room, chat, kind, user } => {
                let new = NewConversation {
                    connector: self.bot.id(),
                    external_id: Some(room.clone()),
                    chat: *chat,
                    kind: *kind,
                    user: *user,
                };
                self.bot.plane.call(PutConversation { new }).await?;
            }
            Change::Show { room, title, archived } => {
                if let Some(row) = self.in_room(room).await? {
                    let (conversation, title, archived) = (row.id, title.clone(), *archived);
                    self.bot.plane.call(SetShown { conversation, title, archived }).await?;
                }
            }
            Change::Retitle { room, title } => {
                if let Some(row) = self.in_room(room).await? {
                    let (conversation, title) = (row.id, title.clone());
                    self.bot.plane.call(ShownAs { conversation, title, by: None }).await?;
                }
            }
            Change::Mark { room, broken } => {
                if let Some(row) = self.in_room(room).await? {
                    self.bot.members().set_broken(row.id, *broken).await?;
                }
            }
            Change::Home { user, room } => {
                let (connector, user, place) = (self.bot.id(), *user, room.clone());
                self.bot.plane.call(SetHome { connector, user, place }).await?;
            }
        }
        Ok(())
    }
}

/// The accounts that matter for what the rooms claim.
fn accounts(seen: &[Seen]) -> HashSet<String> {
    let mut accounts = HashSet::new();
    for room in seen {
        match &room.claim {
            Claim::Chat(claim) => accounts.insert(claim.user.to_string()),
            Claim::Home(claim) => accounts.insert(claim.user.to_string()),
            Claim::None | Claim::Foreign { .. } | Claim::Unreadable => false,
        };
        accounts.extend(room.members.iter().take(MOST_LOOKED_UP).cloned());
    }
    accounts
}

fn report(plan: Plan, looked_at: usize, unseen: Vec<Skipped>, began: Instant) -> ReconcileReport {
    let mut skipped = plan.skipped;
    skipped.extend(unseen);
    skipped.sort_by(|a, b| a.room.cmp(&b.room));
    ReconcileReport {
        looked_at: u64::try_from(looked_at).unwrap_or(u64::MAX),
        restored: plan.restored,
        repaired: plan.repaired,
        skipped,
        conflicts: plan.conflicts,
        took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}
