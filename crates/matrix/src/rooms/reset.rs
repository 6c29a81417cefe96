//! Forgetting everything about the rooms of an account, here or on the server too.

use std::collections::HashSet;

use super::Rooms;
use cloister_kit::PlaneError;
use cloister_protocol::admin::{ResetMode, ResetReport, Skipped};
use cloister_protocol::surface::{
    Conversation, Conversations, ForgetConversation, ForgetConversations, Homes, SetHome,
};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use matrix_sdk::RoomState;
use matrix_sdk::ruma::{OwnedRoomId, RoomId};

/// How many rooms are left side by side.
const AT_ONCE: usize = 4;

const FOUND_AGAIN: &str = "The server keeps every room and Space: the next start, or `cloister matrix \
     reconcile`, finds them again by their mark. Use --mode server-leave-forget to be rid of them.";
const PEOPLE_STAY: &str = "People stay in the rooms until they leave them in their own clients; a room is gone \
     when nobody is left in it.";
const SPACE_STAYS: &str =
    "The Space “Cloister” leaves a person's list only when they leave it themselves.";
const HISTORY_STAYS: &str = "What was said in encrypted rooms stays readable on devices that have the keys, and \
     on no others.";
const ACCOUNT_STAYS: &str = "The account itself, its devices and its key backup stay: `cloister matrix rm` logs \
     out; deleting the account is the homeserver's business.";

impl Rooms {
    /// Forgets Spaces, rooms and what was posted; chats and files stay. A dry run says what would be.
    pub(crate) async fn reset(
        &self,
        mode: ResetMode,
        dry_run: bool,
        by: &str,
    ) -> Result<ResetReport, PlaneError> {
        let _making = self.bot.rooms.making.lock().await;
        let connector = self.bot.id();
        let rows = self.bot.plane.call(Conversations { connector }).await?;
        let homes = self.bot.plane.call(Homes { connector }).await?;
        let mut report = ResetReport { dry_run, ..ResetReport::default() };
        match mode {
            ResetMode::LocalOnly => report.by_hand.push(FOUND_AGAIN.to_owned()),
            ResetMode::ServerLeaveForget => {
                self.leave_all(&mut report).await?;
                let words = [PEOPLE_STAY, SPACE_STAYS, HISTORY_STAYS, ACCOUNT_STAYS];
                report.by_hand.extend(words.map(str::to_owned));
            }
        }
        report.forgotten = rows.iter().map(described).collect();
        let home = |(user, room): &(_, String)| format!("the Space of {user} in {room}");
        report.forgotten.extend(homes.iter().map(home));
        if dry_run {
            return Ok(report);
        }
        self.bot.rooms.forget();
        if report.failed.is_empty() {
            self.bot.plane.call(ForgetConversations { connector, by: by.to_owned() }).await?;
            return Ok(report);
        }
        // What could not be left stays known, so that it can be tried again.
        let failed = |room: &str| report.failed.iter().any(|failed| failed.room == room);
        let kept = |row: &&Conversation| row.external_id.as_deref().is_some_and(failed);
        report.forgotten.clear();
        for row in rows.iter().filter(|row| !kept(row)) {
            self.bot.plane.call(ForgetConversation { conversation: row.id }).await?;
            report.forgotten.push(described(row));
        }
        for pair in homes.iter().filter(|(_, room)| !report.failed.iter().any(|f| f.room == *room))
        {
            self.bot.plane.call(SetHome { connector, user: pair.0, place: None }).await?;
            report.forgotten.push(home(pair));
        }
        Ok(report)
    }

    /// Leaves every room that this account is in, marked or not, and turns down what it is invited to.
    async fn leave_all(&self, report: &mut ResetReport) -> Result<(), PlaneError> {
        let server = self.bot.homeserver();
        let joined = server.patiently(|| server.joined_ids().boxed()).await?;
        let invited = self.bot.client.invited_rooms();
        let spaces: HashSet<OwnedRoomId> = self
            .bot
            .client
            .joined_space_rooms()
            .iter()
            .map(|room| room.room_id().to_owned())
            .collect();
        // Spaces last: until then a person finds their rooms in them.
        let mut all = joined;
        all.extend(invited.iter().map(|room| room.room_id().to_owned()));
        all.sort_by_key(|room| spaces.contains(room));
        all.dedup();
        if report.dry_run {
            report.left = all.iter().map(ToString::to_string).collect();
            return Ok(());
        }
        let leave =
            |id: OwnedRoomId| async move { (id.to_string(), self.leave_by_id(&id).await) }.boxed();
        let leaves: Vec<BoxFuture<'_, _>> = all.into_iter().map(leave).collect();
        let mut leaves = stream::iter(leaves).buffered(AT_ONCE);
        while let Some((room, left)) = leaves.next().await {
            match left {
                Ok(()) => report.left.push(room),
                Err(error) => {
                    report.failed.push(Skipped { room, why: error.chain() });
                }
            }
        }
        Ok(())
    }

    async fn leave_by_id(&self, id: &RoomId) -> Result<(), PlaneError> {
        let room = match self.bot.client.get_room(id) {
            Some(invited) if invited.state() == RoomState::Invited => invited,
            Some(_) | None => self.bot.homeserver().room(id).await?,
        };
        let server = self.bot.homeserver();
        server.patiently(|| server.leave(&room).boxed()).await
    }
}

fn described(row: &Conversation) -> String {
    let place = row.external_id.as_deref().unwrap_or("a room that was still to be made");
    format!("{} of {} in {place}", row.chat, row.workspace)
}
