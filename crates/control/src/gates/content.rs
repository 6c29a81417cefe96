//! What the control plane knows of the content of tasks and chats: recorded before it is handed over,
//! read again after a restart.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cloister_policy::egress::Host;
use cloister_policy::outgoing::git::Repositories;
use cloister_policy::provenance::{Address, Asked, Labels, Mark, Seen, TaskContext};
use cloister_protocol::link::Cause;
use cloister_protocol::{ChatId, TaskId, UserId, WorkspaceId};
use cloister_store::StoreError;
use cloister_store::approvals::{ApprovalKind, ApprovalState};
use cloister_store::audit::Entry;
use cloister_store::choices::FoundHost;
use cloister_store::inbox::InboxItem;
use cloister_store::provenance::NewContent;
use cloister_store::tasks::Task;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{MAX_CHATS, lock};
use crate::commands;
use crate::control::part;
use crate::error::Fault;
use crate::gates::GateError;
use crate::ports::{CameIn, ContentPart, ContentSource, NotRecorded, Principal};

/// How many messages of a person, the one that led to a task included, say what they asked for.
const OWN_MESSAGES: u32 = 10;
/// How many messages are looked at together for what they pass on.
const READ_AT_ONCE: u32 = 32;

/// A task that runs.
pub(super) struct Live {
    pub(super) task: Task,
    pub(super) context: TaskContext,
    pub(super) plan_pending: bool,
    /// The plans that were approved, as the person saw them.
    pub(super) plans: Vec<String>,
    /// The first task of the person's message that all this came of: what it chose and what this one chooses is
    /// one count.
    pub(super) first: TaskId,
    /// What git repositories have offered to it. After a restart git asks them again.
    pub(super) repositories: Repositories,
    /// Where hosts were found that people are asked about.
    pub(super) found: BTreeMap<Host, Found>,
}

/// Where a host was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) addresses: Vec<IpAddr>,
    /// A person is shown them.
    pub(super) shown: bool,
}

/// A running task, for one decision or record at a time.
pub(super) struct LiveGuard(OwnedMutexGuard<Option<Live>>);

impl LiveGuard {
    /// None only before it is loaded.
    pub(super) fn get(&mut self) -> Result<&mut Live, Fault> {
        let missing = || {
            let what = "what is known of a task is missing";
            Fault::io(what)(std::io::ErrorKind::NotFound.into())
        };
        self.0.as_mut().ok_or_else(missing)
    }
}

/// A mark as the store keeps it.
pub(crate) fn mark_text(mark: &Mark) -> String {
    // A mark is plain data; if it could not be written it must not count as trusted.
    serde_json::to_string(mark).unwrap_or_else(|_error| r#"{"from":"unrecorded"}"#.to_owned())
}

/// The mark of what a person only passes on, if words of theirs do.
pub(crate) fn quoted(words: &str) -> Option<Mark> {
    Asked::quotes_others(words).then(quotation)
}

/// Whoever is quoted.
fn quotation() -> Mark {
    Mark::person("someone you quoted")
}

/// Marks as the store keeps them; one that can't be read is of unrecorded origin.
pub(super) fn labels(marks: &[String]) -> Labels {
    let read = |text: &String| serde_json::from_str(text).unwrap_or(Mark::Unrecorded);
    marks.iter().map(read).collect()
}

part! {
    /// Where the content of tasks and chats came from.
    pub(crate) struct Provenance;
}

impl Provenance {
    /// What is known of a task, with what its chat's files say by now.
    pub(super) async fn live(&self, id: TaskId) -> Result<LiveGuard, Fault> {
        let slot = {
            let mut tasks = lock(&self.control.inner.gates.tasks);
            match tasks.get(&id) {
                Some(slot) => Arc::clone(slot),
                None => {
                    let slot = Arc::new(Mutex::new(None));
                    // What is asked after the end of an attempt is not worth keeping.
                    if self.control.tasks().is_running(id) {
                        tasks.insert(id, Arc::clone(&slot));
                    }
                    slot
                }
            }
        };
        let mut guard = slot.lock_owned().await;
        if guard.is_none() {
            *guard = Some(self.load(id).await?);
        }
        let mut guard = LiveGuard(guard);
        let live = guard.get()?;
        let files = self.files_of(live.task.workspace, live.task.chat).await?;
        if !files.is_within(live.context.labels()) {
            live.context.received(&files, "");
        }
        Ok(guard)
    }

    async fn load(&self, id: TaskId) -> Result<Live, Fault> {
        let task = self.control.store().tasks().task(id).await?;
        let content = self.control.store().approvals().task_content(id).await?;
        let mut seen = Seen::default();
        for link in &content.links {
            seen.link(link);
        }
        for host in content.hosts.iter().filter_map(|host| host.parse().ok()) {
            seen.visit(&host);
        }
        let plans = self.approved_plans(&task).await?;
        let mut asked = self.own_words(&task).await?;
        plans.iter().for_each(|plan| asked.add(plan));
        let plan_pending =
            task.plan_first && !self.control.store().approvals().has_allowed_plan(id).await?;
        let context = TaskContext::resume(task.person, labels(&content.marks), asked, seen);
        let first = self.control.store().approvals().first_task(id).await?;
        let known = self.control.store().approvals().hosts_found(id).await?.into_iter();
        let found = known.filter_map(|FoundHost { host, addresses, shown }| {
            Some((host.parse().ok()?, Found { addresses, shown }))
        });
        let (found, repositories) = (found.collect(), Repositories::default());
        Ok(Live { task, context, plan_pending, plans, first, repositories, found })
    }

    /// The plans of a task and of those above it.
    async fn approved_plans(&self, task: &Task) -> Result<Vec<String>, Fault> {
        let mut plans = Vec::new();
        let mut next = Some(task.id);
        while let Some(id) = next {
            let asked = self.control.store().approvals().approvals_of(id).await?;
            let approved = asked.into_iter().filter(|approval| {
                approval.kind == ApprovalKind::Plan && approval.state == ApprovalState::Allowed
            });
            plans.extend(approved.map(|approval| approval.text));
            next = if id == task.id {
                task.parent
            } else {
                self.control.store().tasks().task(id).await?.parent
            };
        }
        Ok(plans)
    }

    /// What the person whom a task works for wrote: the words that led to it, and what they said
    /// before in this chat.
    async fn own_words(&self, task: &Task) -> Result<Asked, Fault> {
        let mut asked = Asked::from_words(&task.request);
        if let Some(up_to) = task.turn.message() {
            let place = (task.workspace, task.chat);
            for words in self.said_by(place, task.person, up_to).await? {
                asked.add_earlier(&words);
            }
        }
        Ok(asked)
    }

    /// What the person said that led to a task, if nothing of others' is in it.
    pub(crate) async fn words_if_trusted(&self, id: TaskId) -> Result<Option<String>, Fault> {
        let task = {
            let mut guard = self.live(id).await?;
            let live = guard.get()?;
            if !live.context.is_trusted() {
                return Ok(None);
            }
            live.task.clone()
        };
        let mut words = vec![task.request.clone()];
        if let Some(up_to) = task.turn.message() {
            words.extend(self.said_by((task.workspace, task.chat), task.person, up_to).await?);
        }
        Ok(Some(words.join("\n")))
    }

    /// Where everything came from that is in a task.
    pub(super) async fn labels_of(&self, id: TaskId) -> Result<Labels, Fault> {
        let mut guard = self.live(id).await?;
        Ok(guard.get()?.context.labels().clone())
    }

    async fn said_by(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
        person: UserId,
        up_to: i64,
    ) -> Result<Vec<String>, Fault> {
        let name = self.control.store().users().user_by_id(person).await?.name;
        let store = self.control.store();
        let words = store
            .approvals()
            .own_words(workspace, chat, up_to, name.as_str(), OWN_MESSAGES)
            .await?;
        // A command is for the control plane, and asks the agent for nothing.
        let words =
            words.into_iter().filter(|(meant, text)| commands::stored(meant, text).is_none());
        Ok(words.map(|(_, text)| text).collect())
    }

    /// The labels of everything that a task of this chat can read there.
    async fn files_of(&self, workspace: WorkspaceId, chat: ChatId) -> Result<Labels, Fault> {
        if let Some(known) = lock(&self.control.inner.gates.chats).get(&(workspace, chat)) {
            return Ok(known.clone());
        }
        let before = self.control.inner.gates.marked.load(Ordering::SeqCst);
        let content = self.control.store().approvals().chat_content(workspace, chat).await?;
        let files = labels(&content.files);
        let mut chats = lock(&self.control.inner.gates.chats);
        // A mark that came meanwhile found nothing here to be added to.
        if self.control.inner.gates.marked.load(Ordering::SeqCst) == before {
            if chats.len() >= MAX_CHATS {
                chats.clear();
            }
            chats.insert((workspace, chat), files.clone());
        }
        Ok(files)
    }

    /// What a coordinator works with in a chat: its history, and the files it can read.
    pub(super) async fn chat_context(
        &self,
        row: &InboxItem,
        person: UserId,
    ) -> Result<TaskContext, Fault> {
        let content =
            self.control.store().approvals().chat_content(row.workspace, row.chat).await?;
        let words: Labels = self.heard_by(row).await?.into_iter().collect();
        let all = words.join(&labels(&content.files)).join(&labels(&content.history));
        let mut asked = Asked::default();
        for words in self.said_by((row.workspace, row.chat), person, row.id).await? {
            asked.add(&words);
        }
        Ok(TaskContext::resume(person, all, asked, Seen::default()))
    }

    /// Where everything came from that the coordinator of a turn has heard: the words that started the turn, and
    /// all that its chat has heard.
    pub(crate) async fn heard_by(&self, row: &InboxItem) -> Result<Vec<Mark>, Fault> {
        let mut marks = self.words_of(row).await?;
        let in_chat = self.heard_in(row.workspace, row.chat).await?;
        marks.extend(in_chat.into_iter().filter(|mark| !marks.contains(mark)).collect::<Vec<_>>());
        Ok(marks)
    }

    /// Whatever anybody said, or passed on, in a chat since it was last cleared. Whom it is trusted for depends
    /// on whom a turn works for.
    pub(crate) async fn heard_in(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Vec<Mark>, Fault> {
        let mut marks = Vec::new();
        for from in self.control.store().approvals().authors_in(workspace, chat).await? {
            marks.push(self.author(&from).await?);
        }
        if self.passed_on_in(workspace, chat).await? {
            marks.push(quotation());
        }
        Ok(marks)
    }

    /// Whether anybody passed on what others wrote in a chat since it was last cleared. What a message quotes is in
    /// the history from then on, whichever later one leads to work; each is looked at once.
    async fn passed_on_in(&self, workspace: WorkspaceId, chat: ChatId) -> Result<bool, Fault> {
        let approvals = self.control.store().approvals();
        loop {
            let unread = approvals.unread_words(workspace, chat, READ_AT_ONCE).await?;
            if unread.is_empty() {
                return Ok(approvals.words_passed_on(workspace, chat).await?);
            }
            let read = |(message, text): &(i64, String)| (*message, Asked::quotes_others(text));
            let read: Vec<_> = unread.iter().map(read).collect();
            approvals.words_read(&read).await?;
        }
    }

    /// Whose words a message of this author is.
    async fn author(&self, from: &str) -> Result<Mark, Fault> {
        Ok(match self.user_named(from).await? {
            Some(user) => Mark::Own { user },
            None => Mark::person(from),
        })
    }

    /// The person of this name, if there still is one.
    async fn user_named(&self, name: &str) -> Result<Option<UserId>, Fault> {
        let Ok(name) = name.parse() else { return Ok(None) };
        match self.control.store().users().user(&name).await {
            Ok(user) => Ok(Some(user.id)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Where the words that started a turn came from.
    pub(crate) async fn words_of(&self, row: &InboxItem) -> Result<Vec<Mark>, Fault> {
        match &row.cause {
            Cause::Message { from, text, attachments, .. } => {
                let author = self.author(from).await?;
                let files = attachments.iter().map(|file| Mark::file(&file.name));
                Ok(std::iter::once(author).chain(quoted(text)).chain(files).collect())
            }
            // What the reports carry is in the marks of the chat's history.
            Cause::TasksEnded { .. } | Cause::Clear => Ok(vec![Mark::System]),
        }
    }

    /// The person whom a turn works for.
    pub(crate) async fn person_of(&self, row: &InboxItem) -> Result<UserId, Fault> {
        let author = match &row.cause {
            Cause::Message { from, .. } => self.user_named(from).await?,
            Cause::TasksEnded { reports } => match reports.first() {
                Some(report) => Some(self.control.store().tasks().task(report.task).await?.person),
                None => None,
            },
            Cause::Clear => None,
        };
        match author {
            Some(person) => Ok(person),
            None => Ok(self.control.store().users().user_of(row.workspace).await?.id),
        }
    }

    /// Records that content reaches a sandbox, before it does.
    pub(crate) async fn content_came_in(
        &self,
        who: Principal,
        content: CameIn,
    ) -> Result<(), NotRecorded> {
        // A coordinator has no way out, and so nothing comes in.
        let Some(task) = who.task else { return Ok(()) };
        self.record(task, &content).await.map_err(|error| {
            tracing::error!(workspace = %who.workspace, %task, error = error.chain(), "where content came from could not be recorded");
            NotRecorded
        })
    }

    async fn record(&self, task: TaskId, content: &CameIn) -> Result<(), Fault> {
        let mut guard = self.live(task).await?;
        let live = guard.get()?;
        if let ContentSource::Repository { place } = &content.source {
            live.repositories.learn(place, &content.text);
        }
        let text = match &content.source {
            // It is no page, and has no links.
            ContentSource::Repository { .. } => Cow::Borrowed(""),
            ContentSource::Web { .. } | ContentSource::Tool { .. } => {
                String::from_utf8_lossy(&content.text)
            }
        };
        // What this content alone adds, so that a page costs what is on it, whatever came before.
        let labels_now = live.context.labels().clone();
        let (asked, seen) = (Asked::default(), Seen::default());
        let mut alone = TaskContext::resume(live.context.person(), labels_now, asked, seen);
        take_in(&mut alone, &content.source, &text);
        let mut new = what_is_new(&live.context, &alone);
        new.entries = came_in_entry(&live.task, content).into_iter().collect();
        let nothing = new.marks.is_empty() && new.links.is_empty() && new.hosts.is_empty();
        if nothing && new.entries.is_empty() {
            return Ok(());
        }
        let marks = labels(&new.marks);
        self.control.store().approvals().record_content(task, new).await?;
        self.chat_files_marked(live.task.workspace, live.task.chat, &marks);
        take_in(&mut live.context, &content.source, &text);
        Ok(())
    }

    /// Keeps where a host was found, if that is new. What was found first counts until nobody answers
    /// there: a name that leads elsewhere the next time is not asked about again and again.
    pub(super) async fn keep_found(
        &self,
        live: &mut Live,
        host: &Host,
        addresses: &[IpAddr],
    ) -> Result<(), Fault> {
        if live.found.contains_key(host) {
            return Ok(());
        }
        let shown = live.context.knows_host(host);
        let addresses: Vec<IpAddr> =
            addresses.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let found = FoundHost { host: host.to_string(), addresses: addresses.clone(), shown };
        self.control.store().approvals().host_found(live.task.id, &found).await?;
        live.found.insert(host.clone(), Found { addresses, shown });
        Ok(())
    }

    /// Nobody answers where a host was found: the next request looks it up anew, and is asked about anew.
    pub(crate) async fn lose_host(&self, who: Principal, host: Host) {
        let Some(task) = who.task else { return };
        let lost = async {
            let mut guard = self.live(task).await?;
            guard.get()?.found.remove(&host);
            self.control.store().approvals().host_lost(task, host.as_str()).await?;
            Ok::<_, GateError>(())
        };
        if let Err(error) = lost.await {
            tracing::error!(workspace = %who.workspace, %task, error = error.chain(), "where a host was could not be forgotten");
        }
    }

    /// A file from outside is about to be put into a chat, where every task of it can read it.
    pub(crate) async fn file_comes_in(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        name: &str,
        entry: Entry,
    ) -> Result<(), Fault> {
        let mark = Mark::file(name);
        self.control
            .store()
            .approvals()
            .mark_chat_files(workspace, chat, &mark_text(&mark), entry)
            .await?;
        self.chat_files_marked(workspace, chat, &Labels::of(mark));
        Ok(())
    }

    fn chat_files_marked(&self, workspace: WorkspaceId, chat: ChatId, marks: &Labels) {
        let mut chats = lock(&self.control.inner.gates.chats);
        self.control.inner.gates.marked.fetch_add(1, Ordering::SeqCst);
        if let Some(files) = chats.get_mut(&(workspace, chat)) {
            files.absorb(marks);
        }
    }

    /// Something that all chats of a workspace read is about to hold content of this origin.
    pub(super) async fn workspace_marked(
        &self,
        workspace: WorkspaceId,
        origin: &Labels,
    ) -> Result<(), Fault> {
        let marks: Vec<String> = origin.to_remember().iter().map(mark_text).collect();
        if marks.is_empty() {
            return Ok(());
        }
        self.control.store().approvals().mark_workspace(workspace, &marks).await?;
        let mut chats = lock(&self.control.inner.gates.chats);
        self.control.inner.gates.marked.fetch_add(1, Ordering::SeqCst);
        chats.retain(|(of, _), _| *of != workspace);
        Ok(())
    }
}

/// What the audit trail has of content that a sandbox gets: that it comes, and what it was.
fn came_in_entry(task: &Task, content: &CameIn) -> Option<Entry> {
    let source = match &content.source {
        ContentSource::Web { url } | ContentSource::Repository { place: url } => url.as_str(),
        ContentSource::Tool { name } => name.as_str(),
    };
    let detail = match &content.part {
        ContentPart::Begins => format!("begins: {source}"),
        ContentPart::Text => return None,
        ContentPart::Whole(print) => format!("{print}: {source}"),
    };
    Some(Entry::of_cell((task.workspace, Some(task.id)), "content.in", task.id).with(detail))
}

fn take_in(context: &mut TaskContext, source: &ContentSource, text: &str) {
    match source {
        ContentSource::Web { url } | ContentSource::Repository { place: url } => {
            match Address::parse(url) {
                Some(address) => context.fetched(&address, text),
                None => context.received(&Labels::of(Mark::web(url)), text),
            }
        }
        ContentSource::Tool { name } => context.received(&Labels::of(Mark::tool(name)), text),
    }
}

/// What of `more` is not in what is known.
fn what_is_new(known: &TaskContext, more: &TaskContext) -> NewContent {
    let is_new = |mark: &&Mark| !Labels::of((*mark).clone()).is_within(known.labels());
    let marks = more.labels().marks().filter(is_new);
    let links = known.seen().new_in(more.seen()).into_iter();
    let hosts = more.seen().hosts().filter(|host| !known.seen().visited(host));
    NewContent {
        marks: marks.map(mark_text).collect(),
        links: links.map(ToString::to_string).collect(),
        hosts: hosts.map(ToString::to_string).collect(),
        entries: Vec::new(),
    }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
