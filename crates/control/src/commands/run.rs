//! Carrying out commands. Each answers with one text; a command that is repeated after a crash has
//! no second effect.

use cloister_policy::egress::Rule;
use cloister_policy::engine::{
    ChatCall, DomainCall, Ownership, Person, Place, Request, WorkspaceCall,
};
use cloister_protocol::link::Cause;
use cloister_protocol::surface::Customs;
use cloister_protocol::{End, ErrorCode, Language, TurnId, Usage, UserId};
use cloister_store::Actor;
use cloister_store::conversations::{Conversation, ConversationKind};
use cloister_store::inbox::InboxItem;
use cloister_words::{count, say};
use ref_cast::RefCast as _;

use super::files::FileCommands;
use super::tasks::task_line;
use super::{Typed, Verb, nearest, spell_commands};
use crate::commands::{CommandError, CommandRefusal, Commands};
use crate::error::Fault;
use crate::options::usd_to_nano;

/// Who typed a command, and where.
pub(super) struct Here {
    pub(super) by: UserId,
    pub(super) person: Person,
    pub(super) place: Place,
    /// None: web or terminal.
    pub(super) conversation: Option<Conversation>,
    /// Empty: web or terminal.
    pub(super) surface: String,
    /// What is different there.
    pub(super) customs: Customs,
    /// The language of who typed it.
    pub(super) to: Language,
}

impl Here {
    /// Whether others read along: in a shared conversation, and in every chat of a community, also when it is
    /// written to over the agent socket.
    pub(super) fn is_shared(&self) -> bool {
        let shared = self.conversation.as_ref().is_some_and(|c| c.kind == ConversationKind::Shared);
        shared || self.place.ownership == Ownership::Community
    }

    /// What commands begin with there.
    pub(super) fn sign(&self) -> char {
        self.customs.command_sign.as_char()
    }
}

impl Commands {
    /// Carries out a command and ends its turn.
    pub(crate) async fn run_command(
        &self,
        row: &InboxItem,
        typed: Typed,
    ) -> Result<(), CommandError> {
        let (text, error) = self.said_to(row, &typed).await?;
        let end = End {
            turn: TurnId::of_trigger(&row.trigger()?),
            message: None,
            text,
            usage: Usage::default(),
            error,
        };
        Ok(self.control.cells().finish_turn(&crate::cells::Owed::of(row), end).await?)
    }

    /// What is answered to a command.
    pub(super) async fn said_to(
        &self,
        row: &InboxItem,
        typed: &Typed,
    ) -> Result<(String, Option<ErrorCode>), CommandError> {
        let here = self.here(row).await?;
        Ok(match self.answer_command(row, &here, typed).await {
            Ok(text) => (text, None),
            Err(error) => {
                let body = error.body_in(here.to);
                if body.code == ErrorCode::Internal {
                    tracing::error!(
                        command = typed.name,
                        error = error.chain(),
                        "a command failed"
                    );
                }
                let fix = body.fix.map(|fix| format!("\n{fix}")).unwrap_or_default();
                let text = format!("{}{}: {}{fix}", here.sign(), typed.name, body.message);
                (spell_commands(here.customs.command_sign, &text).into_owned(), Some(body.code))
            }
        })
    }

    pub(super) async fn here(&self, row: &InboxItem) -> Result<Here, Fault> {
        let by = self.control.provenance().person_of(row).await?;
        let conversation = match row.conversation {
            Some(id) => self.control.store().conversations().conversation_by_id(id).await?,
            None => None,
        };
        let surface = match &conversation {
            Some(conversation) => self.control.store().chats().surface_of(conversation.id).await?,
            None => None,
        };
        let surface = surface.unwrap_or_default();
        Ok(Here {
            by,
            person: self.control.people().person(by).await?,
            place: self.control.people().place_of_chat(row.workspace, row.chat).await?,
            conversation,
            customs: self.control.surfaces().customs_of(&surface).await?,
            to: self.control.people().languages().language_of(by).await?,
            surface,
        })
    }

    pub(super) async fn answer_command(
        &self,
        row: &InboxItem,
        here: &Here,
        typed: &Typed,
    ) -> Result<String, CommandError> {
        let Some(verb) = typed.verb else {
            return Err(CommandRefusal::NoCommand { nearest: nearest(&typed.name) }.into());
        };
        self.may_command(row, here, verb)?;
        let rest = typed.rest.as_str();
        match verb {
            Verb::Start => Ok(self.control.surfaces().welcome(here.by, &here.surface).await?),
            Verb::Help => Ok(super::about::help(rest, here)?),
            Verb::Settings => self.settings(row, here, rest).await,
            Verb::Language => self.language(row, here, rest).await,
            Verb::Pair => self.pair(here).await,
            Verb::Context => Ok(self.context(row, here).await?),
            Verb::Model => self.model_command(row, here, rest).await,
            Verb::Agent => self.agents().agent_command(row, here, rest).await,
            Verb::Status => Ok(self.status(row, here).await?),
            Verb::Tasks => Ok(self.list_tasks(row, here).await?),
            Verb::Task => self.task_command(row, here, rest).await,
            Verb::Cancel => self.cancel(row, here, rest).await,
            Verb::Retry => self.retry(row, here, rest).await,
            Verb::Undo => FileCommands::ref_cast(&self.control).undo(row, here, rest).await,
            Verb::New => self.control.chats().new_chat_command(row, here, rest).await,
            Verb::Branch => self.control.chats().branch_command(row, here, rest).await,
            Verb::Chats if rest.is_empty() => {
                Ok(self.control.chats().list_chats(row, here).await?)
            }
            Verb::Chats => self.control.chats().show_chat_command(row, here, rest).await,
            Verb::Rename => self.control.chats().rename_command(row, here, rest).await,
            Verb::Archive => self.control.chats().archive_command(row, here, rest).await,
            Verb::Clear => {
                self.control
                    .inbox()
                    .clear_chat(&who(row), row.workspace, row.chat, &row.id.to_string())
                    .await?;
                Ok(say!(here.to, "Cleared: the next message starts afresh. Files and memory stay."))
            }
            Verb::Approve => self.answer_question(row, here, true, rest).await,
            Verb::Deny => self.answer_question(row, here, false, rest).await,
            Verb::Approvals => Ok(self.list_questions(row, here).await?),
            Verb::Grants => Ok(self.list_grants(row, here).await?),
            Verb::Revoke => self.revoke(row, here, rest).await,
            Verb::Budget => self.budget(row, here, rest).await,
            Verb::Allow
            | Verb::Forbid
            | Verb::Network
            | Verb::AdminChannel
            | Verb::Stop
            | Verb::Release => {
                let text = self.about_everything(row, here, verb, rest).await?;
                Ok(spell_commands(here.customs.command_sign, &text).into_owned())
            }
        }
    }

    /// What reaches beyond a chat.
    async fn about_everything(
        &self,
        row: &InboxItem,
        here: &Here,
        verb: Verb,
        rest: &str,
    ) -> Result<String, CommandError> {
        let by = who(row);
        if verb == Verb::Allow {
            self.may_change_host(here, DomainCall::Allow, rest)?;
            Ok(self
                .control
                .egress()
                .allow_host(&by, (row.workspace, row.chat), (rest, here.to))
                .await?)
        } else if verb == Verb::Forbid {
            self.may_change_host(here, DomainCall::Disallow, rest)?;
            Ok(self.control.egress().forbid_host(&by, row.workspace, (rest, here.to)).await?)
        } else if verb == Verb::AdminChannel {
            Ok(self
                .control
                .admin_hubs()
                .admin_channel(here.by, here.conversation.as_ref(), rest)
                .await?)
        } else if verb == Verb::Stop {
            self.stop_everything(row, here.to, rest).await
        } else if verb == Verb::Release {
            self.release_everything(row, here.to).await
        } else {
            Ok(self.control.egress().network(row.workspace, here.to).await?)
        }
    }

    /// Refuses what the policies do not let the writer do there. Who may speak in a community's room may not
    /// do everything in its workspace.
    pub(super) fn may_command(
        &self,
        row: &InboxItem,
        here: &Here,
        verb: Verb,
    ) -> Result<(), CommandError> {
        let workspace = |call| Request::workspace(&here.person, call, &here.place);
        let chat = |call| Request::chat(&here.person, call, &here.place, row.chat);
        let request = match verb {
            Verb::Status | Verb::Tasks => workspace(WorkspaceCall::ListTasks),
            Verb::Task => chat(ChatCall::SendMessage),
            Verb::Cancel => chat(ChatCall::CancelTask),
            Verb::Retry | Verb::Undo => chat(ChatCall::RetryTask),
            Verb::New | Verb::Branch => workspace(WorkspaceCall::CreateChat),
            // What is to change is decided where it is known what.
            Verb::Chats | Verb::Agent => workspace(WorkspaceCall::ListChats),
            Verb::Rename | Verb::Archive | Verb::Clear => chat(ChatCall::Change),
            // Choosing one is decided where it is known for how much.
            Verb::Context | Verb::Model => chat(ChatCall::Read),
            Verb::Approvals => workspace(WorkspaceCall::ListApprovals),
            Verb::Grants => workspace(WorkspaceCall::ListGrants),
            Verb::Revoke => workspace(WorkspaceCall::RevokeGrant),
            Verb::Budget => workspace(WorkspaceCall::ReadBudget),
            Verb::Network => workspace(WorkspaceCall::ListEgressRules),
            // About the writer alone, or decided where it is known what exactly is meant.
            Verb::Start
            | Verb::Help
            | Verb::Settings
            | Verb::Language
            | Verb::Pair
            | Verb::Approve
            | Verb::Deny
            | Verb::Allow
            | Verb::Forbid
            | Verb::AdminChannel
            | Verb::Stop
            | Verb::Release => return Ok(()),
        };
        Ok(self.control.people().require(&request)?)
    }

    fn may_change_host(
        &self,
        here: &Here,
        call: DomainCall,
        rule: &str,
    ) -> Result<(), CommandError> {
        let (person, place) = (&here.person, &here.place);
        Ok(self.control.people().require(&match rule.parse::<Rule>() {
            Ok(rule) => Request::domain(person, call, place, rule.host()),
            Err(_unreadable) => Request::workspace(person, WorkspaceCall::ChangeSettings, place),
        })?)
    }

    async fn status(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let user = self.control.store().users().user_of(row.workspace).await?;
        let mut open = self.control.store().tasks().open_tasks(row.workspace).await?;
        let mut questions =
            self.control.store().approvals().pending_approvals(row.workspace).await?;
        if here.is_shared() {
            open.retain(|task| task.chat == row.chat);
            questions.retain(|question| question.chat == row.chat);
        }
        let to = here.to;
        let mut text = if self.control.stops().is_stopped() {
            format!("{}\n", self.control.stops().stop_sentence(to))
        } else {
            String::new()
        };
        let answering = self.answering(row, here).await?;
        text += &match (open.len(), answering.as_slice()) {
            (0, []) => say!(to, "Nothing is running."),
            (0, _) => String::new(),
            (n, _) => count!(to, n, "{n} task is open:", "{n} tasks are open:"),
        };
        for task in &open {
            line(&mut text, &task_line(task));
        }
        if !answering.is_empty() {
            line(&mut text, &say!(to, "I am answering in {chats}.", chats = answering.join(", ")));
        }
        for question in &questions {
            let (id, title) = (question.id, &question.title);
            line(&mut text, &say!(to, "{id} waits for your answer: {title}", id, title));
        }
        if user.over_quota {
            line(
                &mut text,
                &say!(
                    to,
                    "The workspace is over its quota: writes are refused until files are deleted."
                ),
            );
        }
        let budget = self.control.tasks().budget_line(&user, to).await?;
        line(&mut text, &say!(to, "Budget: {budget}.", budget));
        Ok(text)
    }

    /// The chats where something is being answered; commands answer themselves.
    async fn answering(&self, row: &InboxItem, here: &Here) -> Result<Vec<String>, Fault> {
        let mut chats: Vec<String> = Vec::new();
        for item in self.control.store().inbox().unanswered(row.workspace).await? {
            let answers = !matches!(item.cause, Cause::Clear) && super::of(&item).is_none();
            let told = !here.is_shared() || item.chat == row.chat;
            let chat = item.chat.to_string();
            if answers && told && !chats.contains(&chat) {
                chats.push(chat);
            }
        }
        Ok(chats)
    }

    async fn budget(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let mut user = self.control.store().users().user_of(row.workspace).await?;
        if !rest.is_empty() {
            // The first user runs this machine; the others ask them.
            if user.id.number() != 1 {
                return Err(CommandRefusal::NotYourBudget { of: user.name }.into());
            }
            let usd = rest.trim_start_matches('$').parse::<f64>();
            let said = || rest.to_owned();
            let usd = usd.map_err(|error| CommandRefusal::NoAmount { said: said(), error })?;
            user = self
                .control
                .tasks()
                .set_budget(&who(row), &user.name, Some(usd_to_nano(usd)), None)
                .await?;
        }
        Ok(format!("{}.", self.control.tasks().budget_line(&user, here.to).await?))
    }
}

pub(super) fn line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Who wrote it.
pub(super) fn who(row: &InboxItem) -> Actor {
    match &row.cause {
        cloister_protocol::link::Cause::Message { from, .. } => Actor::person(from),
        cloister_protocol::link::Cause::TasksEnded { .. }
        | cloister_protocol::link::Cause::Clear => Actor::CONTROL,
    }
}
