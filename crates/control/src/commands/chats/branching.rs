//! Branches: a chat that begins with the conversation of another up to a message, and with its files.
//!
//! What was said and told is copied from the control plane's own records, what marks the content of the other chat marks
//! the branch's, and its coordinator is handed the turns before its first message. Grants, tasks and questions are of the
//! chat they came from, and stay there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cloister_policy::engine::{ChatCall, Request, WorkspaceCall};
use cloister_protocol::{ChatId, Language, TurnId, UserId, WorkspaceId};
use cloister_store::branches::NewBranch;
use cloister_store::chats::Chat;
use cloister_store::inbox::InboxItem;
use cloister_store::{Actor, StoreError};
use cloister_words::{noted, say};
use tokio::sync::OwnedMutexGuard;

use super::{Chats, Shows, title};
use crate::commands::run::{Here, who};
use crate::commands::{CommandError, CommandRefusal};
use crate::error::Fault;
use crate::files::RelPath;
use crate::gates::mark_text;

/// The folders of a chat that people and tasks fill.
const FOLDERS: [&str; 2] = ["incoming", "files"];

/// The branches of a workspace are made one after the other.
#[derive(Default)]
pub(crate) struct BeingMade {
    workspaces: Mutex<HashMap<WorkspaceId, Arc<tokio::sync::Mutex<()>>>>,
}

impl BeingMade {
    async fn one_at_a_time(&self, workspace: WorkspaceId) -> OwnedMutexGuard<()> {
        let turn = {
            let mut all = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(workspace).or_default())
        };
        turn.lock_owned().await
    }
}

/// What a branch is made of.
#[derive(Clone, Debug)]
pub struct Branching<'a> {
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    /// The turn that it ends with; none: the last that was answered.
    pub upto: Option<TurnId>,
    pub title: &'a str,
    /// The same key again is the same branch.
    pub key: &'a str,
    /// What its first notice is said in.
    pub to: Language,
}

impl Chats {
    /// Makes a chat that begins with another up to a message. Who asks may read that one and open chats. One that is
    /// there is answered with, and nothing is copied into it again: what came to the other since is marked there alone.
    pub async fn branch_chat(
        &self,
        (actor, by): (&Actor, UserId),
        branching: Branching<'_>,
    ) -> Result<Chat, CommandError> {
        let Branching { workspace, chat: from, upto, title, key, to } = branching;
        let control = &self.control;
        let person = control.people().person(by).await?;
        let place = control.people().place_of_chat(workspace, from).await?;
        control.people().require(&Request::chat(&person, ChatCall::Read, &place, from))?;
        let create = WorkspaceCall::CreateChat;
        control.people().require(&Request::workspace(&person, create, &place))?;
        self.chat(workspace, from).await?;
        let upto = match upto {
            Some(turn) => turn.message().ok_or(CommandRefusal::NothingToBranch)?,
            None => i64::MAX,
        };
        let branches = control.store().branches();
        let last = branches.last_answered(workspace, from, upto).await?;
        let upto = last.ok_or(CommandRefusal::NothingToBranch)?;
        let alone = control.inner.branching.one_at_a_time(workspace).await;
        // Once the others are made, and before anything is copied: here one too many is refused.
        let number = branches.take_number(workspace, key).await?;
        match control.store().chats().chat(workspace, number).await {
            Ok(made) => return Ok(made),
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let (left_out, alone) = self.copy_files(workspace, (from, number), alone).await?;
        let (notice, notice_if_cut) = notices(to, from, left_out);
        let (notice, notice_if_cut) = (notice.as_str(), notice_if_cut.as_str());
        let heard = control.provenance().heard_in(workspace, from).await?;
        let heard: Vec<String> = heard.iter().map(mark_text).collect();
        let heard_if_cut = heard.as_slice();
        let new =
            NewBranch { workspace, from, upto, number, title, notice, notice_if_cut, heard_if_cut };
        // A file is marked before anybody has it: the marks are taken over once the files are.
        let chat = branches.branch(actor, new).await?;
        drop(alone);
        control.surfaces().chats_changed();
        Ok(chat)
    }

    /// Copies the files of a chat to where those of another are going to be; how many were left out. Whoever stops
    /// waiting for it does not stop it, and another is made only after it.
    async fn copy_files(
        &self,
        workspace: WorkspaceId,
        (from, number): (ChatId, ChatId),
        alone: OwnedMutexGuard<()>,
    ) -> Result<(usize, OwnedMutexGuard<()>), CommandError> {
        let failed = "the files of a chat could not be copied";
        let control = self.control.clone();
        control.cells().prepare_workspace(workspace, vec![from, number]).await?;
        let room = control.cells().room(workspace).await?;
        if room == 0 {
            return Err(CommandRefusal::NoRoomToBranch.into());
        }
        // A landing is copied whole or not at all.
        let landing = control.inner.landings.alone(workspace).await;
        let copied = tokio::task::spawn_blocking(move || -> Result<_, Fault> {
            let _landing = landing;
            let tree = control.layout().tree(workspace).map_err(Fault::io(failed))?;
            let (mut left, mut left_out) = (room, 0);
            for folder in FOLDERS {
                let place = |chat| RelPath::parse(&format!("chats/{chat}/{folder}"));
                let made = |file: &std::fs::File| control.backend().adopt(workspace, file);
                // What was copied before a kill may be gone from there by now.
                tree.empty_folder(&place(number)?)?;
                let copied = tree.copy_folder(&place(from)?, &place(number)?, left, made)?;
                left = left.saturating_sub(copied.bytes);
                left_out += copied.left_out;
            }
            Ok((left_out, alone))
        })
        .await;
        Ok(copied.map_err(Fault::interrupted(failed))??)
    }

    /// `/branch [title]`
    pub(in crate::commands) async fn branch_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        self.administers_if_shared(
            here,
            noted!(
                "others use this conversation too: a new chat is opened only by who administers it"
            ),
        )?;
        let shows = self.shows_chats(here).await?;
        if shows == Shows::Threads {
            return Err(CommandRefusal::ChatsAreThreads.into());
        }
        let (key, title, to) = (row.id.to_string(), title(rest), here.to);
        let branching = Branching {
            workspace: row.workspace,
            chat: row.chat,
            upto: None,
            title: &title,
            key: &key,
            to,
        };
        let chat = self.branch_chat((&who(row), here.by), branching).await?;
        let Some(conversation) = &here.conversation else {
            return Ok(say!(
                to,
                "{chat} is open: it begins with this conversation.",
                chat = chat.id
            ));
        };
        if shows == Shows::One {
            let (chats, id) = (self.control.store().chats(), chat.id);
            chats.show_in_lobby(conversation.id, id, &key).await?;
            return Ok(say!(
                to,
                "{chat} begins with this conversation, is shown here from now on, and takes what you write. {sign}chats goes back to another.",
                chat = id,
                sign = here.sign()
            ));
        }
        let (connector, conversations) =
            (conversation.connector, self.control.store().conversations());
        conversations.want_rooms(connector, here.by, row.workspace).await?;
        self.control.surfaces().chats_changed();
        Ok(say!(
            to,
            "{chat} begins with this conversation; a room or topic is being opened for it.",
            chat = chat.id
        ))
    }
}

/// What is told at the end of a branch; and the same where the oldest messages were left behind.
fn notices(to: Language, from: ChatId, left_out: usize) -> (String, String) {
    let files = match left_out {
        0 => say!(to, "Its files are copies of those that {chat} has now.", chat = from),
        left_out => say!(
            to,
            "Its files are copies of those that {chat} has now, without {n} that could not be copied.",
            chat = from,
            n = left_out
        ),
    };
    let notice = say!(
        to,
        "Up to here this chat is a copy of {chat}. {files} Tasks, questions and what you allowed there stay there.",
        chat = from,
        files
    );
    let if_cut = say!(to, "{notice} The oldest messages are only in {chat}.", notice, chat = from);
    (notice, if_cut)
}

#[cfg(test)]
#[path = "branching_tests.rs"]
mod tests;
