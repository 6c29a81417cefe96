//! Buttons: what a surface shows below a message, and what becomes of a press.
//!
//! Promises: a token can't be guessed, is good in the conversation that it was made for and nowhere else, for
//! whom it was made and nobody else, for a limited time and for one effect; it answers a question while that is
//! there to be read. What it does is kept here and never read from what comes back. Who is refused learns no more
//! than that.

use std::time::Duration;

use cloister_policy::engine::Ownership;
pub use cloister_protocol::surface::{Below, Button, MOST_BUTTONS, Press};
use cloister_protocol::{Answer, ApprovalId, UserId};
use cloister_store::approvals::{Approval, ApprovalState};
use cloister_store::buttons::{KeptButton, NewButtons, button_hash};
use cloister_store::connectors::ConnectorId;
use cloister_store::conversations::{Conversation, ConversationKind};
use cloister_store::inbox::HeardIn;
use serde::{Deserialize, Serialize};

use crate::error::Fault;
use crate::inbox::IncomingMessage;
use crate::surfaces::{SurfaceError, SurfaceRefusal, Surfaces};

/// How many characters a token has; each is one of 64.
const TOKEN_CHARS: usize = 22;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A question waits for days; a list of chats is out of date sooner.
const ANSWER_LIVES: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const COMMAND_LIVES: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// A button that somebody pressed.
#[derive(Clone, Copy, Debug)]
pub struct PressedButton<'a> {
    pub surface: &'static str,
    /// Whose account pressed it, as the surface vouches for.
    pub by: &'a str,
    pub connector: ConnectorId,
    /// Where it was pressed, as the surface names it.
    pub conversation: &'a str,
    pub token: &'a str,
    pub below: Below,
}

/// What a press did.
#[derive(Clone, Debug)]
pub enum ButtonDone {
    Answered(Box<Approval>),
    /// It was handed over as that person's message, once; its answer is told like any other.
    Command {
        text: String,
    },
}

/// A press as it is kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    Answer {
        approval: ApprovalId,
        answer: Answer,
        /// Of what the question showed when the button was made.
        digest: String,
    },
    Command(String),
}

impl Surfaces {
    /// Makes a token for each press, in order. What a person may press is shown to them in a conversation of
    /// theirs, so it is for them alone; where others read along, it is for whoever the policies let.
    pub async fn mint_buttons(
        &self,
        conversation: &Conversation,
        presses: &[Press],
    ) -> Result<Vec<String>, SurfaceError> {
        if presses.len() > MOST_BUTTONS {
            return Err(SurfaceRefusal::TooManyButtons.into());
        }
        let mut tokens = Vec::with_capacity(presses.len());
        let mut kept = Vec::with_capacity(presses.len());
        for press in presses {
            let (press, lives) = self.to_keep(conversation, press).await?;
            let json = serde_json::to_string(&press)
                .map_err(|error| Fault::io("a button could not be kept")(error.into()))?;
            let lives = i64::try_from(lives.as_millis()).unwrap_or(i64::MAX);
            let token = new_token().map_err(Fault::io("no button could be made"))?;
            let until = self.control.store().clock.now_ms().saturating_add(lives);
            kept.push((button_hash(&token), json, until));
            tokens.push(token);
        }
        if tokens.is_empty() {
            return Ok(tokens);
        }
        let user = self.presser_of(conversation).await?;
        let new = NewButtons { conversation: conversation.id, user, buttons: &kept };
        self.control.store().inbox().keep_buttons(&new).await?;
        Ok(tokens)
    }

    /// Who alone may press what is shown in a conversation.
    async fn presser_of(&self, conversation: &Conversation) -> Result<Option<UserId>, Fault> {
        Ok(match self.control.people().place(conversation.workspace).await?.ownership {
            Ownership::Private { owner } => Some(owner),
            Ownership::Community => conversation.user,
        })
    }

    async fn to_keep(
        &self,
        conversation: &Conversation,
        press: &Press,
    ) -> Result<(Kept, Duration), SurfaceError> {
        match press {
            Press::Command(command) => Ok((Kept::Command(command.clone()), COMMAND_LIVES)),
            Press::Answer { approval, answer } => {
                let asked = self.control.store().approvals().approval(*approval).await?;
                let here = asked.workspace == conversation.workspace;
                let shared = conversation.kind == ConversationKind::Shared;
                // Where others read along, only what is asked there is answered there.
                if !here || shared && asked.chat != conversation.chat {
                    return Err(SurfaceRefusal::NotAskedHere { approval: *approval }.into());
                }
                let (approval, answer, digest) = (*approval, *answer, asked.digest);
                Ok((Kept::Answer { approval, answer, digest }, ANSWER_LIVES))
            }
        }
    }

    /// Does what a button does, as the person whose account pressed it. What is refused says why in words for
    /// who pressed it.
    pub async fn press_button(
        &self,
        pressed: PressedButton<'_>,
    ) -> Result<ButtonDone, SurfaceError> {
        let Some(identity) =
            self.control.store().users().identity(pressed.surface, pressed.by).await?
        else {
            return Err(SurfaceRefusal::Stranger.into());
        };
        let hash = button_hash(pressed.token);
        let (conversation, button) = self.button_there(&pressed, &hash).await?;
        self.may_press(identity.user, &conversation, &button).await?;
        if button.used_at.is_some() {
            return Err(SurfaceRefusal::ButtonUsed.into());
        }
        if button.expires_at <= self.control.store().clock.now_ms() {
            return Err(SurfaceRefusal::ButtonExpired.into());
        }
        let kept: Kept = serde_json::from_str(&button.press)
            .map_err(|error| Fault::io("a button could not be read")(error.into()))?;
        let done = match kept {
            Kept::Answer { approval, .. } if pressed.below == Below::Gone => {
                return Err(SurfaceRefusal::ButtonWithdrawn { approval }.into());
            }
            Kept::Answer { approval, answer, digest } => {
                let given = (approval, answer, digest.as_str());
                self.press_answer(identity.user, &conversation, given).await?
            }
            Kept::Command(text) => {
                self.press_command(identity.user, pressed.surface, (&conversation, &hash), text)
                    .await?
            }
        };
        // An answer that waits for another person can be given by that person with the same button; that nobody
        // answers twice is seen to where answers are taken.
        let waits =
            matches!(&done, ButtonDone::Answered(asked) if asked.state == ApprovalState::Pending);
        if !waits {
            self.control.store().inbox().use_button(&hash).await?;
        }
        Ok(done)
    }

    /// The button and where it was pressed; one that is not of there is unknown there.
    async fn button_there(
        &self,
        pressed: &PressedButton<'_>,
        hash: &str,
    ) -> Result<(Conversation, KeptButton), SurfaceError> {
        let known = self
            .control
            .store()
            .conversations()
            .conversation(pressed.connector, pressed.conversation)
            .await?;
        let Some(conversation) = known else { return Err(SurfaceRefusal::NoButton.into()) };
        let surface = self.control.store().chats().surface_of(conversation.id).await?;
        let button = self.control.store().inbox().button(hash).await?;
        match button {
            Some(button)
                if button.conversation == conversation.id
                    && surface.as_deref() == Some(pressed.surface) =>
            {
                Ok((conversation, button))
            }
            Some(_) | None => Err(SurfaceRefusal::NoButton.into()),
        }
    }

    async fn may_press(
        &self,
        user: UserId,
        conversation: &Conversation,
        button: &KeptButton,
    ) -> Result<(), SurfaceError> {
        let owner = match self.control.people().place(conversation.workspace).await?.ownership {
            Ownership::Private { owner } => Some(owner),
            Ownership::Community => None,
        };
        let for_somebody_else = |only: Option<UserId>| only.is_some_and(|only| only != user);
        if for_somebody_else(button.user) || for_somebody_else(owner) {
            return Err(SurfaceRefusal::ButtonOfSomebodyElse.into());
        }
        Ok(())
    }

    async fn press_answer(
        &self,
        user: UserId,
        conversation: &Conversation,
        (approval, answer, digest): (ApprovalId, Answer, &str),
    ) -> Result<ButtonDone, SurfaceError> {
        let digest = Some(digest).filter(|digest| !digest.is_empty());
        let workspace = conversation.workspace;
        let answered =
            self.control.gates().answer_approval(user, workspace, approval, answer, digest).await?;
        self.control.store().chats().was_active(conversation.id).await?;
        Ok(ButtonDone::Answered(Box::new(answered)))
    }

    /// Hands a command over as the person's message. Its id is the button's: it is taken once.
    async fn press_command(
        &self,
        user: UserId,
        surface: &'static str,
        (conversation, hash): (&Conversation, &str),
        text: String,
    ) -> Result<ButtonDone, SurfaceError> {
        let id = hash.chars().take(32).collect::<String>();
        let message = IncomingMessage {
            surface,
            workspace: conversation.workspace,
            chat: conversation.chat,
            id: format!("button-{id}").parse()?,
            from: self.control.store().users().user_by_id(user).await?.name,
            text: text.clone(),
            attachments: Vec::new(),
            instead: None,
            heard_in: Some(HeardIn { conversation: conversation.id, origin: None }),
        };
        self.control.inbox().receive(message).await?;
        Ok(ButtonDone::Command { text })
    }
}

/// As much chance as 132 coins.
fn new_token() -> std::io::Result<String> {
    let mut bytes = [0u8; TOKEN_CHARS];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    let letter = |byte: &u8| ALPHABET.get(usize::from(byte & 63)).copied().map(char::from);
    Ok(bytes.iter().filter_map(letter).collect())
}

#[cfg(test)]
#[path = "buttons_tests.rs"]
mod tests;
