//! The chat: its history, its tasks, a place to write.

use std::cmp::Reverse;

use axum::extract::{Request, State as Extract};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use cloister_control::rows::{Chat, Cursor, InboxItem, ListedChat, Task};
use cloister_control::{KnownAgent, menu};
use cloister_policy::legible;
use cloister_protocol::{AgentFrame, ChatId, ErrorCode, Language, TurnId};
use cloister_words::{say, text_of};
use maud::{Markup, html};
use serde::Deserialize;

use super::chats::name_of;
use super::conversation::ShownConversation;
use super::entries;
use super::posted;
use super::session::{Viewer, wants_page};
use super::shell::{self, Head, Page, Section};
use super::task;
use crate::auth::random_token;
use crate::language::phrase;
use crate::reply::{Failure, Path, Query};
use crate::server::State;

/// How many entries a page shows at once.
const PAGE: usize = 50;
/// And at most, for one that was found further up.
const MOST: usize = 1600;

/// `/`: the first chat that is not put away. Looking makes none.
pub(super) async fn first(
    Extract(state): Extract<State>,
    viewer: Viewer,
) -> Result<Response, Failure> {
    let chats = state.control.chats().of(viewer.workspace).await?;
    let open = chats.iter().find(|chat| !chat.archived);
    Ok(match open {
        Some(chat) => Redirect::to(&format!("/chats/{}", chat.id)).into_response(),
        None => no_chat(&viewer).into_response(),
    })
}

#[derive(Deserialize)]
pub(super) struct Looked {
    /// What is looked for, however far up it stands.
    turn: Option<String>,
}

/// The end of the conversation, as far up as is looked for.
async fn conversation_with(
    state: &State,
    viewer: &Viewer,
    chat: ChatId,
    turn: Option<String>,
) -> Result<ShownConversation, Failure> {
    let turn = turn.map(TurnId::kept);
    let mut count = PAGE;
    loop {
        let read = ShownConversation::read(state, viewer, chat, Cursor::NEWEST, count).await?;
        let enough = turn.as_ref().is_none_or(|turn| read.shows(turn));
        // A page that is full is not made longer.
        if enough || count >= MOST || read.is_all() || read.entries() < count {
            return Ok(read);
        }
        count = (count * 4).min(MOST);
    }
}

fn no_chat(viewer: &Viewer) -> Markup {
    let to = viewer.to;
    let title = &say!(to, "No chat is open");
    let body = html! {
        section.card.narrow {
            h1 { (title) }
            p { (say!(to, "All of them are put away.")) }
            form method="post" action="/chats" {
                button.primary type="submit" { (say!(to, "Start a chat")) }
            }
        }
    };
    let around = Page { title, to, place: Section::Chat, viewer: Some(viewer), banner: None };
    shell::page(&around, &body)
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(chat): Path<String>,
    Query(Looked { turn }): Query<Looked>,
) -> Result<Markup, Failure> {
    let control = &state.control;
    let chat = control.chats().chat(viewer.workspace, chat.parse()?).await?;
    let told = control.inbox().last_told(viewer.workspace, chat.id).await?;
    let conversation = conversation_with(&state, &viewer, chat.id, turn).await?;
    let chats = control.chats().listed(viewer.workspace).await?;
    let agents = control.chats().agents().of(viewer.workspace).await?;
    let view = View {
        banner: super::banner::for_viewer(&state, &viewer, chat.id).await,
        agent: agents.iter().find(|agent| agent.id == chat.agent).cloned(),
        agents,
        name: name_in(viewer.to, &chats, chat.id),
        chats,
        message_id: random_token()
            .map(|id| format!("web-{id}"))
            .map_err(cloister_control::Fault::io("no message id could be made"))?,
        max_upload: state.control.work().max_upload_mb << 20,
        models: Picker::of(&state, &viewer, chat.id).await?,
        demo: control.models().uses_demo_model().await?,
        viewer: &viewer,
        chat: &chat,
        // What the page does not show comes over the socket.
        after: conversation.newest_told().unwrap_or(told),
        conversation,
    };
    Ok(view.document())
}

#[derive(Deserialize)]
pub(super) struct Before {
    inbox: i64,
    outbox: i64,
}

/// A page of older entries, to be put above the ones that are there.
pub(super) async fn older(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(chat): Path<String>,
    Query(Before { inbox, outbox }): Query<Before>,
    headers: HeaderMap,
) -> Result<Markup, Failure> {
    let control = &state.control;
    let chat = control.chats().chat(viewer.workspace, chat.parse()?).await?;
    let cursor = Cursor { inbox, outbox };
    let log = ShownConversation::read(&state, &viewer, chat.id, cursor, PAGE).await?.log();
    if !wants_page(&headers) {
        return Ok(log);
    }
    let to = viewer.to;
    let name = name_in(to, &control.chats().listed(viewer.workspace).await?, chat.id);
    let place = Section::Outside;
    let page = Page { title: &name, to, place, viewer: Some(&viewer), banner: None };
    Ok(shell::page(&page, &html! { div #log { (log) } }))
}

/// The message that began a turn, for a page that did not send it.
pub(super) async fn message(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path((chat, turn)): Path<(String, String)>,
) -> Result<Markup, Failure> {
    let item = said(&state, &viewer, chat.parse()?, &TurnId::kept(turn)).await?;
    // The report of a task begins a turn too, and has no message: that is nothing to complain about.
    let stopped = state.control.stops().is_stopped();
    Ok(item.map(|item| entries::said(viewer.to, &item, stopped)).unwrap_or_default())
}

/// The message that began a turn, if a message did.
pub(super) async fn said(
    state: &State,
    viewer: &Viewer,
    chat: ChatId,
    turn: &TurnId,
) -> Result<Option<InboxItem>, Failure> {
    state.control.chats().chat(viewer.workspace, chat).await?;
    let missing = || {
        Failure::said(ErrorCode::NotFound, |to| say!(to, "no message of this chat began that turn"))
    };
    let id = turn.message().ok_or_else(missing)?;
    Ok(state.control.inbox().said(viewer.workspace, chat, id).await?)
}

/// An answer as the agent wrote it, to be copied.
pub(super) async fn source(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path((chat, turn)): Path<(String, String)>,
) -> Result<String, Failure> {
    let (chat, turn): (ChatId, TurnId) = (chat.parse()?, TurnId::kept(turn));
    let told = state.control.inbox().told_in(viewer.workspace, &turn).await?;
    let answer = told
        .into_iter()
        .filter(|item| item.chat == chat)
        .find_map(|item| if let AgentFrame::End(end) = item.frame { Some(end.text) } else { None });
    answer.ok_or_else(|| {
        Failure::said(ErrorCode::NotFound, |to| say!(to, "there is no such answer in this chat"))
    })
}

/// Takes a message from a browser without script.
pub(super) async fn post(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(chat): Path<String>,
    request: Request,
) -> Result<Redirect, Failure> {
    let chat: ChatId = chat.parse()?;
    state.control.chats().chat(viewer.workspace, chat).await?;
    posted::take(&state, &viewer, chat, request).await?;
    Ok(Redirect::to(&format!("/chats/{chat}#end")))
}

fn name_in(to: Language, chats: &[ListedChat], chat: ChatId) -> String {
    let listed = chats.iter().find(|one| one.chat.id == chat);
    listed.map_or_else(|| say!(to, "Chat {id}", id = chat), |listed| name_of(to, listed))
}

/// What the page of one chat shows.
struct View<'a> {
    viewer: &'a Viewer,
    chat: &'a Chat,
    name: String,
    chats: Vec<ListedChat>,
    conversation: ShownConversation,
    banner: Option<Markup>,
    /// Who answers; nobody, if it was removed.
    agent: Option<KnownAgent>,
    agents: Vec<KnownAgent>,
    /// The newest row that the page shows.
    after: i64,
    max_upload: u64,
    /// What the message of a browser without script is called.
    message_id: String,
    models: Picker,
    /// A script answers: what it can be told is no question.
    demo: bool,
}

/// The models to choose from, and the one that was chosen: the form says what `/model` does.
struct Picker {
    usable: Vec<String>,
    chosen: Option<String>,
}

impl Picker {
    async fn of(state: &State, viewer: &Viewer, chat: ChatId) -> Result<Self, Failure> {
        let (models, place) = (state.control.models(), (viewer.workspace, chat));
        let (usable, chosen) = (models.usable(place).await?, models.chosen(place).await?);
        Ok(Self { usable, chosen })
    }

    fn form(&self, view: &View<'_>) -> Markup {
        let to = view.viewer.to;
        html! {
            form.stack method="post" action={ "/chats/" (view.chat.id) } {
                input type="hidden" name="id" value={ (view.message_id) "-model" };
                label { (say!(to, "Model of this chat"))
                    select name="text" {
                        option value="/model default" { (say!(to, "the default")) }
                        @for name in &self.usable {
                            option value={ "/model " (name) } translate="no" selected[self.chosen.as_ref() == Some(name)] { (name) }
                        }
                    }
                }
                button type="submit" { (say!(to, "Choose")) }
            }
        }
    }
}

impl View<'_> {
    fn document(&self) -> Markup {
        let to = self.viewer.to;
        let body = html! {
            div.app #app data-chat=(self.chat.id) data-workspace=(self.viewer.workspace)
                data-drop=(say!(to, "Drop files to attach them")) data-after=(self.after) data-max-upload=(self.max_upload)
                data-max-text=(cloister_protocol::MAX_TEXT_BYTES)
                data-max-files=(cloister_protocol::MAX_ATTACHMENTS)
                data-archived=[self.chat.archived.then_some("")]
                data-readonly=[(!self.viewer.writes()).then_some("")] {
                (self.sidebar())
                div.stage {
                    (self.bar())
                    @if let Some(banner) = &self.banner { div.banner role="status" { (banner) } }
                    main #main tabindex="-1" {
                        div #log role="log" aria-live="off" aria-label=(say!(to, "Conversation")) {
                            (self.conversation.log())
                        }
                        @if self.conversation.is_empty() { (self.greeting()) }
                        span #end {}
                    }
                    (self.at_work())
                    (self.composer())
                }
                div #announce .unseen aria-live="polite" {}
            }
        };
        let head = Head { title: &self.name, kind: "chat", waiting: self.viewer.waiting, to };
        shell::document(&head, &body)
    }

    fn greeting(&self) -> Markup {
        let to = self.viewer.to;
        let examples = match self.demo {
            true => ["hello".to_owned(), "run: uname -a".to_owned(), "/help".to_owned()],
            false => [
                say!(to, "What can you do for me?"),
                say!(to, "Write a short poem into poem.txt and send it to me"),
                say!(to, "Which questions will you ask me before you do something?"),
            ],
        };
        html! {
            div.greeting #greeting {
                (greeting(self.viewer, self.agent_name()))
                @if self.viewer.writes() && !self.chat.archived {
                    div.examples translate=[self.demo.then_some("no")] {
                        @for words in &examples {
                            (task::saying(self.chat.id, words, &html! { button type="submit" data-say=(words) { (words) } }))
                        }
                    }
                }
            }
        }
    }

    /// What the agent is called, if it has a name.
    fn agent_name(&self) -> Option<&str> {
        self.agent.as_ref().map(|agent| agent.name.as_str()).filter(|name| !name.is_empty())
    }

    /// With which agent a new chat is, where there are several: the one of this chat, unless another is chosen.
    fn with_whom(&self) -> Markup {
        let to = self.viewer.to;
        html! {
            @if self.agents.len() > 1 {
                select name="agent" aria-label=(say!(to, "Agent of the new chat")) {
                    @for agent in &self.agents {
                        option value=(agent.id) selected[agent.id == self.chat.agent] {
                            @if agent.name.is_empty() { (say!(to, "First agent")) } @else { (agent.name) }
                        }
                    }
                }
            }
        }
    }

    fn sidebar(&self) -> Markup {
        let to = self.viewer.to;
        let link = |listed: &ListedChat| {
            let id = listed.chat.id;
            html! {
                li {
                    a href={ "/chats/" (id) } aria-current=[(id == self.chat.id).then_some("page")] {
                        @if listed.pinned { span.pin aria-hidden="true" { "★ " } }
                        span.name translate="no" { (name_of(to, listed)) }
                        @if !listed.agent_name.is_empty() {
                            span.hint translate="no" { " · " (listed.agent_name) }
                        }
                    }
                }
            }
        };
        let (away, mut open): (Vec<&ListedChat>, Vec<&ListedChat>) =
            self.chats.iter().rev().partition(|listed| listed.chat.archived);
        // What is in use is at the top.
        open.sort_by_key(|listed| (!listed.pinned, Reverse(listed.used_at)));
        html! {
            aside.sidebar #sidebar aria-label=(say!(to, "Chats and places")) {
                div.head {
                    a.brand href="/" { "Cloister" }
                    @if self.viewer.writes() {
                        form method="post" action="/chats" {
                            (self.with_whom())
                            button.small type="submit" { (say!(to, "New chat")) }
                        }
                    }
                }
                form.search role="search" method="get" action="/search" {
                    input #find type="search" name="q" maxlength="200" placeholder=(say!(to, "Search chats"))
                        aria-label=(say!(to, "Search chats")) autocomplete="off";
                }
                nav.chats aria-label=(say!(to, "Chats")) {
                    ul { @for chat in open { (link(chat)) } }
                    @if !away.is_empty() {
                        details {
                            summary { (say!(to, "Archived")) }
                            ul { @for chat in away { (link(chat)) } }
                        }
                    }
                }
                (shell::navigation(Section::Chat, self.viewer))
                a.close href="#main" { (say!(to, "Close")) }
            }
        }
    }

    fn bar(&self) -> Markup {
        let action = |what: &str| format!("/chats/{}/{what}", self.chat.id);
        let to = self.viewer.to;
        html! {
            header.bar {
                // Without script the address opens it.
                a.menu #menu href="#sidebar" aria-controls="sidebar" aria-expanded="false"
                    aria-label=(say!(to, "Chats and places")) { span aria-hidden="true" { "☰" } }
                h1 translate="no" { (self.name) }
                span.link #link role="status" {}
                details.more {
                    summary aria-label=(say!(to, "This chat")) { span aria-hidden="true" { "⋯" } }
                    div.pop {
                        form.stack method="post" action=(action("rename")) {
                            label { (say!(to, "Name of this chat"))
                                input name="title" maxlength="80" value=(if self.conversation.is_empty() { &self.chat.title } else { &self.name });
                            }
                            button type="submit" { (say!(to, "Rename")) }
                        }
                        @if self.models.usable.len() > 1 && !self.chat.archived { (self.models.form(self)) }
                        form method="post" action=(action("pin")) {
                            @let pinned = self.chats.iter().any(|one| one.chat.id == self.chat.id && one.pinned);
                            input type="hidden" name="pinned" value=(!pinned);
                            button type="submit" { @if pinned { (say!(to, "Unpin this chat")) } @else { (say!(to, "Pin this chat")) } }
                        }
                        @if self.viewer.writes() && !self.conversation.is_empty() {
                            form method="post" action=(action("branch")) {
                                input type="hidden" name="id" value=(self.message_id);
                                button type="submit" { (say!(to, "Branch this chat")) }
                            }
                        }
                        button #notify type="button" aria-pressed="false" hidden { (say!(to, "Notify me in this browser")) }
                        form method="post" action=(action("archive")) {
                            input type="hidden" name="archived" value=(!self.chat.archived);
                            button type="submit" {
                                @if self.chat.archived { (say!(to, "Open it again")) } @else { (say!(to, "Archive this chat")) }
                            }
                        }
                    }
                }
            }
        }
    }

    /// The tasks that are at work, each a way to its card.
    fn at_work(&self) -> Markup {
        let tasks: Vec<&Task> = self.conversation.at_work().collect();
        let to = self.viewer.to;
        html! {
            section.strip #tasks aria-label=(say!(to, "Tasks at work")) hidden[tasks.is_empty()] {
                ul {
                    @for task in &tasks {
                        li data-at-work=(task.id) { a href={ "#task-" (task.id) } translate="no" { (legible(&task.title)) } }
                    }
                }
                form method="post" action={ "/chats/" (self.chat.id) "/cancel" } {
                    button.small type="submit" #cancel-all { (say!(to, "Cancel all")) }
                }
            }
        }
    }

    /// What can be typed after `/`, for the script to offer.
    fn commands(&self) -> Markup {
        let to = self.viewer.to;
        let offered = menu().filter(|item| !item.for_operators || self.viewer.is_operator());
        html! {
            ul.commands #commands role="listbox" aria-label=(say!(to, "Commands")) hidden {
                @for item in offered {
                    li role="option" id={ "command-" (item.name) } data-name=(item.name) aria-selected="false" {
                        code { (item.usage) } " " small { (text_of(to, item.help)) }
                    }
                }
            }
        }
    }

    fn composer(&self) -> Markup {
        let to = self.viewer.to;
        if !self.viewer.writes() {
            return html! {
                section.composer aria-label=(say!(to, "Message")) {
                    p.hint { (say!(to, "You may read here, and write nothing.")) }
                }
            };
        }
        if self.chat.archived {
            return html! {
                section.composer aria-label=(say!(to, "Message")) {
                    p.hint { (say!(to, "This chat is archived. Open it again to write in it.")) }
                }
            };
        }
        let placeholder = match self.agent_name() {
            Some(agent) => say!(to, "Write to {agent}", agent),
            None => say!(to, "Write a message"),
        };
        html! {
            form.composer #composer aria-label=(say!(to, "Message")) method="post" action={ "/chats/" (self.chat.id) } enctype="multipart/form-data" {
                ul.uploads #uploads aria-label=(say!(to, "Files to send")) {}
                p.error #problem role="alert" hidden {}
                input type="hidden" name="id" value=(self.message_id);
                div.row {
                    (self.commands())
                    button.attach #attach type="button" aria-label=(say!(to, "Attach files")) hidden {
                        (icon("M20.5 11.5 12 20a5.3 5.3 0 0 1-7.5-7.5l8.8-8.8a3.5 3.5 0 0 1 5 5l-8.8 8.8a1.8 1.8 0 0 1-2.5-2.5l8-8"))
                    }
                    input #files type="file" multiple hidden aria-label=(say!(to, "Files")) tabindex="-1";
                    button.attach #voice type="button" aria-label=(say!(to, "Record a voice note")) aria-pressed="false" hidden {
                        (icon("M12 3a3 3 0 0 1 3 3v6a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3ZM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3"))
                    }
                    label.unseen for="text" { (say!(to, "Message")) }
                    textarea #text name="text" rows="1" aria-autocomplete="list" aria-controls="commands"
                        placeholder=(placeholder)
                        autocomplete="off" enterkeyhint="send" {}
                    button.stop #stop type="button" hidden {
                        (icon("M7 7h10v10H7z")) span.label { (say!(to, "Stop")) }
                    }
                    button.primary #send type="submit" {
                        (icon("M12 19V5M6 11l6-6 6 6")) span.label { (say!(to, "Send")) }
                    }
                }
                noscript {
                    p.hint {
                        label { (say!(to, "Files")) " " input type="file" name="files" multiple; }
                        a href={ "/chats/" (self.chat.id) } { (say!(to, "Show what is new")) }
                    }
                }
                p.hint {
                    (say!(to, "Files up to {size} each", size = entries::size(self.max_upload)))
                    span.wide { " · " (say!(to, "Enter sends, Shift+Enter starts a new line")) }
                }
            }
        }
    }
}

/// A drawing in lines, beside words or in their place where there is no room.
fn icon(path: &str) -> Markup {
    html! { svg viewBox="0 0 24 24" aria-hidden="true" { path d=(path) {} } }
}

fn greeting(viewer: &Viewer, agent: Option<&str>) -> Markup {
    let to = viewer.to;
    html! {
        h2 {
            (say!(to, "Hello, {name}.", name = viewer.user.called()))
            @if let Some(agent) = agent { " " (say!(to, "I am {agent}.", agent)) }
        }
        p { (phrase!(to, "Write what you want to have done. {help} lists what else you can say.", help = html! { code { "/help" } })) }
    }
}
