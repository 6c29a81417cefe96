//! A message becomes a turn: quoted what it replies to, with its files, in the chat of its channel.

use cloister_kit::PlaneError;
use cloister_kit::fetching::{self, NotFetched};
use cloister_kit::waiting::Outcome;
use cloister_kit::words::{quoted, short};
use cloister_protocol::surface::{
    AnswerToldBy, DiscardFile, Incoming, Receive, Speaker, WhyWaiting,
};
use cloister_protocol::{Attachment, MAX_ATTACHMENTS};

use super::{ChannelPlace, Intake, Seen, text};
use crate::outgoing::Origin;
use crate::wire::Message;

impl Intake {
    pub(super) async fn take_message(
        &self,
        place: &ChannelPlace,
        seen: Seen<'_>,
    ) -> Result<Outcome, PlaneError> {
        let message = seen.message;
        let Some(speaker) = self.bot.speakers().speaker_of(place, seen).await? else {
            return Ok(Outcome::Done);
        };
        // What is stored needs no file fetched for it again, and no quote.
        if self.stored(&speaker, &message.id).await?.is_some() {
            return Ok(Outcome::Done);
        }
        let attachments = match self.fetch_all(&speaker, seen).await {
            Ok(attachments) => attachments,
            Err(outcome) => return outcome,
        };
        let mut words = text::words(message, &self.bot.speakers().called(message));
        if message.replies_to().is_some() && !self.bot.plane.commands().is_command(&words) {
            let quote = self.quote(&speaker, message).await;
            words = if words.is_empty() { quote } else { format!("{quote}\n\n{words}") };
        }
        if words.is_empty() && attachments.is_empty() {
            self.said_nothing(place, seen).await;
            return Ok(Outcome::Done);
        }
        match self.hand_over(&speaker, seen, words, attachments.clone()).await {
            Ok(()) => Ok(Outcome::Done),
            Err(error) => {
                // They are fetched again when the message is tried again.
                self.discard(&speaker, attachments).await;
                self.not_taken(seen, error).await
            }
        }
    }

    pub(super) async fn hand_over(
        &self,
        speaker: &Speaker,
        seen: Seen<'_>,
        text: String,
        attachments: Vec<Attachment>,
    ) -> Result<(), PlaneError> {
        let origin = Origin { message: Some(seen.message.id.clone()), ..Origin::default() };
        let message = Incoming {
            id: seen.id().parse()?,
            speaker: speaker.clone(),
            text,
            attachments,
            origin: Some(origin.to_json()),
        };
        self.bot.plane.call(Receive { message }).await?;
        Ok(())
    }

    /// Fetches every file of a message, or says what becomes of the message without them.
    async fn fetch_all(
        &self,
        speaker: &Speaker,
        seen: Seen<'_>,
    ) -> Result<Vec<Attachment>, Result<Outcome, PlaneError>> {
        let (channel, id) = (seen.message.channel_id.as_str(), seen.message.id.as_str());
        let mut files = text::files_of(seen.message);
        if files.len() > MAX_ATTACHMENTS {
            let words =
                format!("I take {MAX_ATTACHMENTS} files with a message: the others I left out.");
            self.bot.sayings().speak(channel, &format!("files-{id}"), &words).await;
            files.truncate(MAX_ATTACHMENTS);
        }
        let mut fetched = Vec::new();
        for (number, file) in files.iter().enumerate() {
            let problem = match self.fetch(speaker, file).await {
                Ok(attachment) => {
                    fetched.push(attachment);
                    continue;
                }
                // The others may be of use without it.
                Err(NotFetched::Never(words)) => {
                    self.bot.sayings().speak(channel, &format!("file-{id}-{number}"), &words).await;
                    continue;
                }
                Err(problem) => problem,
            };
            self.discard(speaker, fetched).await;
            return Err(match problem {
                NotFetched::Passing { why, patience } => {
                    if self.bot.intake.patience.left(id, patience) {
                        tracing::debug!(channel, id, why, "a file could not be fetched");
                        return Err(Ok(Outcome::Later(WhyWaiting::NoFile)));
                    }
                    tracing::warn!(channel, id, why, "a file is given up");
                    self.not_taken(seen, fetching::given_up(&file.name, "Discord")).await
                }
                NotFetched::Never(_) => Ok(Outcome::Done),
                NotFetched::Plane(error) => self.not_taken(seen, error).await,
            });
        }
        Ok(fetched)
    }

    async fn discard(&self, speaker: &Speaker, attachments: Vec<Attachment>) {
        for attachment in attachments {
            let discard = DiscardFile { workspace: speaker.workspace, attachment };
            if let Err(error) = self.bot.plane.call(discard).await {
                tracing::warn!(error = error.chain(), "a file that nobody needs stays");
            }
        }
    }

    /// A mention alone, or a message of a kind that nothing can be done with.
    async fn said_nothing(&self, place: &ChannelPlace, seen: Seen<'_>) {
        let message = seen.message;
        if !text::files_of(message).is_empty() {
            // What became of its files was said.
            return;
        }
        let words = if place.direct {
            "I can't do anything with that. Write to me, or send a file, a picture or a voice message."
        } else {
            "What can I do? Write it after my name, or reply to this."
        };
        self.bot.sayings().tell(&message.channel_id, "nothing", super::MINUTE, words).await;
    }

    /// The message that is replied to, as somebody's words.
    async fn quote(&self, speaker: &Speaker, message: &Message) -> String {
        let Some(earlier) = message.referenced_message.as_deref() else {
            return quoted("in reply to a message that I can't read", "");
        };
        if earlier.author.id != self.bot.me.id.to_string() {
            let whose = format!("in reply to {}", short(earlier.author.shown(), 120));
            return quoted(&whose, &text::said_by(earlier));
        }
        let whose = "in reply to what you (the agent) wrote";
        match self.answer_told_by(speaker, &earlier.id).await {
            Some(answer) => quoted(whose, &answer),
            None => quoted(whose, &text::said_by(earlier)),
        }
    }

    /// The answer that begins with a message of ours, whole: the message itself holds a part of it.
    async fn answer_told_by(&self, speaker: &Speaker, message: &str) -> Option<String> {
        let (conversation, message) = (speaker.conversation.id, message.to_owned());
        self.bot.plane.call(AnswerToldBy { conversation, message }).await.ok().flatten()
    }
}
