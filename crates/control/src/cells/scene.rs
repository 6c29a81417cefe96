//! What an agent is told of where it is: with whom it talks and where, what it may reach, when it is.
//!
//! Promises: it is told what the control plane knows, nothing that a cell says; where others read along, neither hosts
//! nor names of secrets are told; only tasks of the same chat are.

use cloister_protocol::link::Cause;
use cloister_protocol::{ChatId, TaskState, WorkspaceId};
use cloister_store::conversations::ConversationKind;
use cloister_store::inbox::InboxItem;
use cloister_store::tasks::Task;
use cloister_store::under_way::TaskUnderWay;
use cloister_store::users::{AccountKind, User};
use cloister_vault::Owner;
use jiff::tz::TimeZone;

use crate::cells::Cells;
use crate::control::Control;
use crate::error::Fault;

/// More than this is not listed.
const MAX_LISTED: usize = 40;
const SEARCH: &str = "web_search";

/// How the ids of messages begin that the page and the terminal send.
const FROM_PAGE: &str = "web-";
const FROM_TERMINAL: &str = "term-";

/// What an agent is told.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    /// What stays so from turn to turn: told first, so that what providers keep of a prompt stays of use.
    pub(crate) lasting: String,
    /// What is so now.
    pub(crate) now: String,
    /// Tools that do not work here.
    pub(crate) without: Vec<String>,
}

impl Cells {
    /// What a coordinator is told with a turn.
    pub(crate) async fn scene_of_turn(&self, row: &InboxItem) -> Result<Scene, Fault> {
        let user = self.control.store().users().user_of(row.workspace).await?;
        let place = match row.conversation {
            Some(id) => self.control.store().conversations().conversation_by_id(id).await?,
            None => None,
        };
        let surface = match &place {
            Some(place) => self.control.store().chats().surface_of(place.id).await?,
            None => None,
        };
        let shared = user.kind != AccountKind::Person
            || place.is_some_and(|place| place.kind == ConversationKind::Shared);
        let mut lasting = vec![who(&user, shared)];
        lasting.extend(surface.as_deref().map(shown_on));
        if !shared {
            lasting.push(self.hosts(&user).await?);
            lasting.extend(self.secrets_of(&user).await?);
        }
        lasting.push(self.searches().to_owned());
        let mut now = vec![self.time()];
        // The same chat is read in both, so it is no part of what lasts.
        now.extend(surface.is_none().then(|| read_where(&row.external_id).to_owned()));
        if let Cause::Message { from, .. } = &row.cause {
            now.push(format!("Written by {from}."));
        }
        now.extend(self.under_way(row).await?);
        now.extend(retired(&self.control, (row.workspace, row.chat)).await?);
        Ok(Scene { lasting: lasting.join("\n"), now: now.join("\n"), without: Vec::new() })
    }

    /// What an executor is told with its task.
    pub(crate) async fn scene_of_task(&self, task: &Task) -> Result<Scene, Fault> {
        let user = self.control.store().users().user_of(task.workspace).await?;
        let context =
            self.control.store().chats().context_of_chat(task.workspace, task.chat).await?;
        let hosts = match &task.hosts {
            _ if user.kind != AccountKind::Person || context.is_some() => String::new(),
            Some(hosts) => allowed(hosts.clone()),
            None => self.hosts(&user).await?,
        };
        let searches = self.control.inner.parts.cells.web_search;
        let without = if searches { Vec::new() } else { vec![SEARCH.to_owned()] };
        let mut now = vec![self.time()];
        now.extend(retired(&self.control, (task.workspace, task.chat)).await?);
        Ok(Scene { lasting: hosts, now: now.join("\n"), without })
    }

    async fn hosts(&self, user: &User) -> Result<String, Fault> {
        Ok(allowed(self.control.store().egress().egress_rules(user.id).await?))
    }

    async fn secrets_of(&self, user: &User) -> Result<Option<String>, Fault> {
        let secrets = self.control.store().secrets().of(Owner::User(user.id)).await?;
        let mut names: Vec<String> = secrets.iter().map(|info| info.name.to_string()).collect();
        names.dedup();
        let listed = listed(names);
        Ok(listed.map(|names| format!("Secrets that tasks can use, by name: {names}.")))
    }

    fn searches(&self) -> &'static str {
        if self.control.inner.parts.cells.web_search {
            "Tasks can search the web."
        } else {
            "There is no web search here: tasks can only read pages whose address is known, on allowed hosts."
        }
    }

    /// The tasks of the chat that have not ended, so that nobody takes a part for the whole.
    async fn under_way(&self, row: &InboxItem) -> Result<Option<String>, Fault> {
        let open = self.control.store().tasks().under_way(row.workspace).await?;
        let of_chat = open.iter().filter(|task| task.chat == row.chat);
        let line = |task: &TaskUnderWay| {
            let state = match task.state {
                TaskState::Waiting => "waits",
                state => state.as_str(),
            };
            format!("{} {:?} ({state})", task.id, task.title)
        };
        Ok(listed(of_chat.map(line).collect()).map(|tasks| format!("Tasks under way: {tasks}.")))
    }

    /// Date, time and zone of the machine.
    fn time(&self) -> String {
        let now = jiff::Timestamp::from_millisecond(self.control.store().clock.now_ms());
        let zoned = now.unwrap_or_default().to_zoned(TimeZone::system());
        let zone = zoned.time_zone().iana_name().map(|name| format!(" ({name})"));
        format!("{}{}.", zoned.strftime("%A %-d %B %Y, %H:%M %Z"), zone.unwrap_or_default())
    }
}

/// The files that were put away because nobody used them: they are asked for by name.
async fn retired(control: &Control, chat: (WorkspaceId, ChatId)) -> Result<Option<String>, Fault> {
    let names = control.tasks().layers().retirement().names(chat).await?;
    let line = |(name, at): (String, i64)| {
        let day = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
        format!("{name:?} (on {})", day.strftime("%Y-%m-%d"))
    };
    let listed = listed(names.into_iter().map(line).collect());
    Ok(listed.map(|names| {
        format!(
            "Files of this chat that were put away because nobody used them: {names}. They are not there to be read; if \
             one is needed, ask the person by its name to send it again."
        )
    }))
}

fn who(user: &User, shared: bool) -> String {
    if shared {
        return "Several people write here and all of them read what you say; each message says who wrote it."
            .to_owned();
    }
    format!("You talk with {}, whose agent you are; nobody else reads along.", user.called())
}

fn shown_on(surface: &str) -> String {
    format!(
        "They read you on {surface}: plain Markdown is shown, tables and headings only in part, formulas not at all; \
         long answers are split into several messages."
    )
}

/// Where a message that came over no other surface was written, by how its own client names what it sends: nothing but
/// these words hangs on it.
fn read_where(external_id: &str) -> &'static str {
    let id = external_id.rsplit(':').next().unwrap_or_default();
    if id.starts_with(FROM_PAGE) {
        "They read you on the web page: Markdown is shown, with code, lists, tables and formulas ($…$, $$…$$)."
    } else if id.starts_with(FROM_TERMINAL) {
        "They read you in a terminal: Markdown is shown as it is typed, so keep to plain text, short lists and code; \
         formulas are not shown."
    } else {
        "They read you on the web page or in a terminal: Markdown with code, lists and tables is fine."
    }
}

fn allowed(hosts: Vec<String>) -> String {
    match listed(hosts) {
        Some(hosts) => format!("Hosts that tasks may reach: {hosts}."),
        None => "Tasks may reach no host yet; the person allows one with /allow HOST.".to_owned(),
    }
}

/// Names in a line; none when there are none.
fn listed(mut names: Vec<String>) -> Option<String> {
    let more = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    let all = names.join(", ");
    match more {
        _ if all.is_empty() => None,
        0 => Some(all),
        more => Some(format!("{all} and {more} more")),
    }
}
