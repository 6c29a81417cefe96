//! The entries of a page of a conversation, as they stand now, with the tasks of each turn below its answer.

use std::collections::HashSet;

use cloister_control::rows::{Cursor, Entry, HistoryPage, InboxState, Task};
use cloister_protocol::link::Step;
use cloister_protocol::{AgentFrame, ChatId, TaskId, TurnId};
use cloister_words::say;
use maud::{Markup, html};

use super::entries::{self, Now};
use super::session::Viewer;
use super::task;
use crate::reply::Failure;
use crate::server::State;

/// A page of a conversation.
pub(super) struct ShownConversation {
    chat: ChatId,
    history: HistoryPage,
    now: Now,
    /// The tasks of the turns on this page; with their steps while they are at work.
    tasks: Vec<(Task, Option<Vec<Step>>)>,
}

impl ShownConversation {
    /// What was said and told before `cursor`.
    pub(super) async fn read(
        state: &State,
        viewer: &Viewer,
        chat: ChatId,
        cursor: Cursor,
        count: usize,
    ) -> Result<Self, Failure> {
        let (control, workspace) = (&state.control, viewer.workspace);
        let history = control.inbox().history(workspace, chat, cursor, count).await?;
        let allowed = control.egress().of(viewer.user.id).await?;
        let mut now = Now { to: viewer.to, chat: Some(chat), allowed, ..Now::default() };
        for entry in &history.entries {
            if let Entry::Told(item) = entry {
                now.look_up(control, &item.frame).await?;
            }
        }
        let turns: Vec<TurnId> = history.entries.iter().filter_map(turn_shown_by).collect();
        let mut shown = control.chats().tasks_of_turns(workspace, chat, &turns).await?;
        if cursor == Cursor::NEWEST {
            // What is at work is shown, however long ago it began.
            let known: HashSet<TaskId> = shown.iter().map(|task| task.id).collect();
            let open = control.tasks().open(workspace).await?.into_iter();
            shown.extend(open.filter(|task| task.chat == chat && !known.contains(&task.id)));
        }
        let mut tasks = Vec::with_capacity(shown.len());
        for task in shown {
            let steps = match task.state.is_final() {
                true => None,
                false => Some(control.tasks().steps(task.id).await?),
            };
            tasks.push((task, steps));
        }
        Ok(Self { chat, history, now, tasks })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.history.entries.is_empty()
    }

    pub(super) fn entries(&self) -> usize {
        self.history.entries.len()
    }

    /// Nothing is further up.
    pub(super) fn is_all(&self) -> bool {
        self.history.older.is_none()
    }

    /// Whether the message that began a turn, and its answer, are on this page.
    pub(super) fn shows(&self, turn: &TurnId) -> bool {
        let message = turn.message();
        let is_said =
            |entry: &Entry| matches!(entry, Entry::Said(item) if Some(item.id) == message);
        let is_told = |entry: &Entry| match entry {
            Entry::Told(item) => matches!(&item.frame, AgentFrame::End(end) if end.turn == *turn),
            Entry::Said(_) => false,
        };
        let entries = &self.history.entries;
        (message.is_none() || entries.iter().any(is_said)) && entries.iter().any(is_told)
    }

    /// The newest row of what was told that is on this page.
    pub(super) fn newest_told(&self) -> Option<i64> {
        let told = self.history.entries.iter().filter_map(|entry| match entry {
            Entry::Told(item) => Some(item.id),
            Entry::Said(_) => None,
        });
        told.max()
    }

    /// The tasks that are at work.
    pub(super) fn at_work(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().map(|(task, _)| task).filter(|task| !task.state.is_final())
    }

    pub(super) fn log(&self) -> Markup {
        let entries = &self.history.entries;
        let turns: HashSet<TurnId> = entries.iter().filter_map(turn_shown_by).collect();
        html! {
            @if let Some(Cursor { inbox, outbox }) = self.history.older {
                p.older {
                    a href={ "/chats/" (self.chat) "/older?inbox=" (inbox) "&outbox=" (outbox) } data-older {
                        (say!(self.now.to, "Show older messages"))
                    }
                }
            }
            @for entry in entries {
                @match entry {
                    Entry::Said(item) => (entries::said(self.now.to, item)),
                    Entry::Told(item) => {
                        @if let Some(told) = entries::told(&item.frame, item.created_at, &self.now) { (told) }
                    },
                }
                @if let Some(turn) = turn_shown_by(entry) { (self.cards(|task| task.turn == turn)) }
            }
            (self.cards(|task| !turns.contains(&task.turn)))
        }
    }

    fn cards(&self, these: impl Fn(&Task) -> bool) -> Markup {
        html! {
            @for (task, steps) in self.tasks.iter().filter(|(task, _)| these(task)) {
                (task::card(self.now.to, task, steps.as_deref()))
            }
        }
    }
}

/// The turn whose answer stands here, or will: below it its tasks are shown, on one page and once.
fn turn_shown_by(entry: &Entry) -> Option<TurnId> {
    match entry {
        Entry::Said(item) => {
            (item.state != InboxState::Answered).then(|| TurnId::of_message(item.id))
        }
        Entry::Told(item) => match &item.frame {
            AgentFrame::End(end) => Some(end.turn.clone()),
            _ => None,
        },
    }
}
