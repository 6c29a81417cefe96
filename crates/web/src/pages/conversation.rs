//! The entries of a page of a conversation, as they stand now, with the tasks of each turn below its answer.

use std::collections::HashSet;
use std::ops::Range;

use cloister_control::TaskStanding;
use cloister_control::rows::{ApprovalState, Cursor, Entry, HistoryPage, InboxState, Task};
use cloister_protocol::link::{Cause, Step};
use cloister_protocol::{AgentFrame, ChatId, TaskId, TurnId};
use cloister_words::say;
use maud::{Markup, html};

use super::entries::{self, Now};
use super::session::Viewer;
use super::task;
use crate::reply::Failure;
use crate::server::State;

/// A task with its steps while it is at work, and how what it changed stands.
struct ShownTask {
    task: Task,
    steps: Option<Vec<Step>>,
    standing: Option<TaskStanding>,
}

/// A page of a conversation.
pub(super) struct ShownConversation {
    chat: ChatId,
    history: HistoryPage,
    now: Now,
    /// The rows of the inbox that later messages took the place of.
    replaced: Vec<Range<i64>>,
    /// The tasks of the turns on this page.
    tasks: Vec<ShownTask>,
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
        let replaced = control.inbox().replaced(workspace, chat).await?;
        let allowed = control.egress().of(viewer.user.id).await?;
        let mut now = Now {
            to: viewer.to,
            workspace: Some(workspace),
            chat: Some(chat),
            allowed,
            stopped: control.stops().is_stopped(),
            ..Now::default()
        };
        for entry in &history.entries {
            match entry {
                Entry::Told(item) => now.look_up(control, &item.frame).await?,
                Entry::Said(item) => {
                    if let Cause::Message { text, .. } = &item.cause {
                        now.said.insert(text.clone());
                    }
                }
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
            let standing = control.tasks().layers().standing(task.id).await?;
            tasks.push(ShownTask { task, steps, standing });
        }
        Ok(Self { chat, history, now, replaced, tasks })
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
        let is_told = |entry: &Entry| is_end_of(entry, turn);
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
        self.tasks.iter().map(|shown| &shown.task).filter(|task| !task.state.is_final())
    }

    /// What was said and told stands as it came; an answer stands below its message, a task below the answer that
    /// began it. The script keeps the same order as things come.
    pub(super) fn log(&self) -> Markup {
        let entries = &self.history.entries;
        let turns: HashSet<TurnId> = entries.iter().filter_map(turn_shown_by).collect();
        let said: HashSet<TurnId> = entries.iter().filter_map(turn_said_by).collect();
        let first = entries.first().map_or(i64::MAX, at);
        let elsewhere = |task: &Task| !turns.contains(&task.turn);
        html! {
            @if let Some(Cursor { inbox, outbox }) = self.history.older {
                p.older {
                    a href={ "/chats/" (self.chat) "/older?inbox=" (inbox) "&outbox=" (outbox) } data-older {
                        (say!(self.now.to, "Show older messages"))
                    }
                }
            }
            (self.cards(|task| elsewhere(task) && task.created_at < first))
            @for Stretch { earlier, entries } in self.stretches(&said) {
                @if earlier {
                    // What still wants something of somebody is not hidden from them.
                    details.entry.earlier open[entries.iter().any(|entry| self.is_open(entry))] {
                        summary { (say!(self.now.to, "Earlier version")) }
                        @for entry in entries { (self.entry(entry, &turns)) }
                    }
                } @else {
                    @for entry in entries { (self.entry(entry, &turns)) }
                }
            }
            (self.cards(|task| elsewhere(task) && task.created_at >= first))
        }
    }

    fn told(&self, entry: &Entry) -> Markup {
        match entry {
            Entry::Told(item) => {
                entries::told(&item.frame, item.created_at, &self.now).unwrap_or_default()
            }
            Entry::Said(_) => html! {},
        }
    }

    /// An entry with what stands below it: the answer of a message, the tasks of an answer.
    fn entry(&self, entry: &Entry, turns: &HashSet<TurnId>) -> Markup {
        let entries = &self.history.entries;
        html! {
            @match (entry, turn_shown_by(entry)) {
                (Entry::Said(item), _) => {
                    (entries::said(self.now.to, item, self.now.stopped))
                    @let turn = TurnId::of_message(item.id);
                    @for answer in entries.iter().filter(|told| is_end_of(told, &turn)) { (self.told(answer)) }
                    @if turns.contains(&turn) { (self.cards(|task| task.turn == turn)) }
                },
                (Entry::Told(_), turn) => {
                    (self.told(entry))
                    @if let Some(turn) = turn { (self.cards(|task| task.turn == turn)) }
                },
            }
        }
    }

    /// The entries in their order, those together that something later took the place of, but for the answers of
    /// messages that were said here: each stands below its message.
    fn stretches(&self, said: &HashSet<TurnId>) -> Vec<Stretch<'_>> {
        let stands_below = |entry: &Entry| match entry {
            Entry::Told(_) => turn_shown_by(entry).is_some_and(|turn| said.contains(&turn)),
            Entry::Said(_) => false,
        };
        let entries = self.history.entries.iter().filter(|entry| !stands_below(entry));
        // What belongs to no turn stands with what is before it.
        let mut earlier =
            entries.clone().find_map(|entry| self.is_replaced(entry)).unwrap_or(false);
        let mut stretches: Vec<Stretch<'_>> = Vec::new();
        for entry in entries {
            let mut of_its_own = Stretch { earlier, entries: vec![entry] };
            if let Some(replaced) = self.is_replaced(entry) {
                of_its_own.earlier = replaced;
                // How something ended whose place is taken already is no new stretch.
                let late = replaced && !earlier && matches!(entry, Entry::Told(_));
                let fold = stretches.iter_mut().rev().find(|stretch| stretch.earlier);
                if let Some(fold) = fold.filter(|_| late) {
                    fold.entries.push(entry);
                    continue;
                }
                earlier = replaced;
            }
            match stretches.last_mut().filter(|last| last.earlier == earlier) {
                Some(last) => last.entries.push(entry),
                None => stretches.push(of_its_own),
            }
        }
        stretches
    }

    /// Whether something later took the place of an entry, if that can be told from it.
    fn is_replaced(&self, entry: &Entry) -> Option<bool> {
        let row = match entry {
            Entry::Said(item) => item.id,
            Entry::Told(item) => match &item.frame {
                AgentFrame::End(end) => end.turn.message()?,
                _ => return None,
            },
        };
        Some(self.replaced.iter().any(|range| range.contains(&row)))
    }

    /// Whether something is at work or waits for an answer below an entry.
    fn is_open(&self, entry: &Entry) -> bool {
        let turn = turn_said_by(entry).or_else(|| turn_shown_by(entry));
        let asks = match entry {
            Entry::Told(item) => match &item.frame {
                AgentFrame::Ask(ask) => {
                    let approval = self.now.approvals.get(&ask.approval);
                    approval.is_some_and(|approval| approval.state == ApprovalState::Pending)
                }
                _ => false,
            },
            Entry::Said(_) => false,
        };
        asks || self.at_work().any(|task| Some(&task.turn) == turn.as_ref())
    }

    fn cards(&self, these: impl Fn(&Task) -> bool) -> Markup {
        html! {
            @for ShownTask { task, steps, standing } in self.tasks.iter().filter(|one| these(&one.task)) {
                (task::card(self.now.to, task, steps.as_deref(), *standing))
            }
        }
    }
}

fn at(entry: &Entry) -> i64 {
    match entry {
        Entry::Said(item) => item.received_at,
        Entry::Told(item) => item.created_at,
    }
}

fn turn_said_by(entry: &Entry) -> Option<TurnId> {
    match entry {
        Entry::Said(item) => Some(TurnId::of_message(item.id)),
        Entry::Told(_) => None,
    }
}

fn is_end_of(entry: &Entry, turn: &TurnId) -> bool {
    matches!(entry, Entry::Told(item) if matches!(&item.frame, AgentFrame::End(end) if end.turn == *turn))
}

/// Entries that follow each other.
struct Stretch<'a> {
    /// Something later took their place.
    earlier: bool,
    entries: Vec<&'a Entry>,
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
