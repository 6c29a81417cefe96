//! What could not be taken at once: files to be fetched, albums to be gathered, whatever came after them, and
//! what failed for a reason of its own. Conversations side by side, each in its order.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use cloister_kit::PlaneError;
use cloister_kit::fetching::{self, NotFetched};
use cloister_kit::waiting::{AT_LAST_MS, Outcome, Step, Waits, Working, holds_nobody};
use cloister_protocol::surface::{
    DiscardFile, Dropped, FirstWaiting, Speaker, StopWaiting, WaitingEvent, WaitingPlaces,
    WhyWaiting,
};
use cloister_protocol::{Attachment, ErrorCode};
use futures_util::FutureExt;

use super::Intake;
use super::addressed::{Addressed, addressed};
use super::albums::{Together, Waiting, first_together};
use super::content::{Content, Said, content, edited};
use super::messages::Handed;
use crate::bot::Bot;
use crate::updates::wire::Message;

/// How much of what waits in a conversation is looked at: the parts of an album stand near each other.
const LOOKED_AT: u32 = 40;
/// What a failure of its own costs of the patience with a message.
const FAILURE: u32 = 4;

impl Waits for Bot {
    const WORK: &'static str = "telegram conversation";

    fn working(&self) -> &Working {
        &self.intake.working
    }

    async fn places(&self) -> Result<Vec<String>, PlaneError> {
        self.plane.call(WaitingPlaces { connector: self.id(), unreadable: None }).await
    }

    async fn take_next(&self, place: &str) -> Result<Step, PlaneError> {
        let (connector, most) = (self.id(), LOOKED_AT);
        let first = FirstWaiting { connector, place: place.to_owned(), most };
        let rows = self.plane.call(first).await?;
        let mut waiting = Vec::new();
        for row in rows {
            match Waiting::read(row) {
                Ok(read) => waiting.push(read),
                Err(row) => self.intake().drop_unreadable(&row).await?,
            }
        }
        let wait_ms = i64::try_from(self.options.album_wait().as_millis()).unwrap_or(i64::MAX);
        let now = self.plane.now_ms();
        waiting.sort_by_key(|one: &Waiting| holds_nobody(&one.row, now));
        let Some(together) = first_together(waiting, now, wait_ms) else {
            return Ok(Step::Nothing);
        };
        if let Some(wait) = together.wait_ms {
            let wait = Duration::from_millis(u64::try_from(wait).unwrap_or_default());
            return Ok(Step::After(wait + Duration::from_millis(20)));
        }
        let Some(first) = together.parts.first() else { return Ok(Step::Nothing) };
        let outcome = match AssertUnwindSafe(Box::pin(self.intake().take_together(&together)))
            .catch_unwind()
            .await
        {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) if error.may_pass() => return Err(error),
            Ok(Err(error)) => self.intake().failed(first, &error.chain()).await?,
            Err(_panic) => self.intake().failed(first, "a panic; the log has it").await?,
        };
        match outcome {
            Outcome::Done => {
                // The first one last: see `albums`.
                for part in together.parts.iter().rev() {
                    self.intake().taken(&part.row).await?;
                }
                Ok(Step::Next)
            }
            Outcome::Later(_) if now.saturating_sub(first.row.since) > AT_LAST_MS => {
                self.intake().give_up(first, "it waited for days").await?;
                for part in together.parts.iter().rev() {
                    self.intake().taken(&part.row).await?;
                }
                Ok(Step::Next)
            }
            Outcome::Later(why) => {
                let is_file = |part: &Waiting| part.row.why == WhyWaiting::NoFile;
                let step = Step::later(why, together.parts.iter().any(is_file));
                Ok(step.holding(holds_nobody(&first.row, now)))
            }
        }
    }
}

impl Intake {
    /// It waits no longer.
    async fn taken(&self, row: &WaitingEvent) -> Result<(), PlaneError> {
        let (place, event) = (row.place.clone(), row.event.clone());
        self.bot.plane.call(StopWaiting { connector: self.bot.id(), place, event }).await?;
        Ok(())
    }

    async fn drop_unreadable(&self, row: &WaitingEvent) -> Result<(), PlaneError> {
        tracing::error!(place = row.place, event = row.event, "what waited can't be read");
        self.taken(row).await
    }

    /// It failed for a reason of its own: it is tried a few times, then given up.
    async fn failed(&self, waiting: &Waiting, why: &str) -> Result<Outcome, PlaneError> {
        if self.bot.intake.patience.left(&waiting.row.event, FAILURE) {
            return Ok(Outcome::Later(WhyWaiting::Busy));
        }
        self.give_up(waiting, why).await?;
        Ok(Outcome::Done)
    }

    /// It is not taken, and never will be: it is on record, and the person is told.
    async fn give_up(&self, waiting: &Waiting, why: &str) -> Result<(), PlaneError> {
        let (place, event) = (&waiting.row.place, &waiting.row.event);
        self.bot.plane.count_error("skipped");
        tracing::error!(place, event, why, "a message is given up after several tries");
        let (what, why) = (event.clone(), why.to_owned());
        self.bot.plane.call(Dropped { connector: self.bot.id(), what, why }).await?;
        let words = "I could not take a message of yours, for a reason of mine that is in the log. Send it \
                     again, perhaps in other words.";
        self.bot.sayings().speak(place, &format!("given-up-{event}"), words);
        Ok(())
    }

    async fn take_together(&self, together: &Together) -> Result<Outcome, PlaneError> {
        let Some((first, message)) =
            together.parts.first().and_then(|first| Some((first, first.message()?)))
        else {
            return Ok(Outcome::Done);
        };
        if first.is_edit() {
            let Some(words) = edited(message, &self.us()) else { return Ok(Outcome::Done) };
            let Some(speaker) = self.bot.speakers().speaker(message, "").await? else {
                return Ok(Outcome::Done);
            };
            return self.take_edit(message, &speaker, &words).await;
        }
        let parts: Vec<&Message> = together.parts.iter().filter_map(Waiting::message).collect();
        let us = self.us();
        let named = |part: &&Message| match addressed(part, &us) {
            Addressed::ToUs | Addressed::Command => true,
            Addressed::ToAnother | Addressed::No => false,
        };
        if !message.is_private() && !parts.iter().any(named) {
            return Ok(Outcome::Done);
        }
        let said: Vec<Said> = parts.iter().filter_map(|part| said_in(content(part, &us))).collect();
        let typed = said.iter().map(|said| said.typed.as_str()).find(|typed| !typed.is_empty());
        let speaker = self.bot.speakers().speaker(message, typed.unwrap_or_default()).await?;
        let Some(speaker) = speaker else { return Ok(Outcome::Done) };
        self.take_with_files(message, &speaker, &said).await
    }

    /// Fetches the files and hands everything over as one message.
    async fn take_with_files(
        &self,
        message: &Message,
        speaker: &Speaker,
        said: &[Said],
    ) -> Result<Outcome, PlaneError> {
        let name = message.name();
        // What is stored needs no file fetched for it again.
        if self.stored(speaker, &name).await?.is_some() {
            return Ok(Outcome::Done);
        }
        let mut fetched = Fetched { bot: &self.bot, speaker, files: Vec::new() };
        let mut missing = Vec::new();
        for file in said.iter().filter_map(|said| said.file.as_ref()) {
            match self.fetch(speaker, file).await {
                Ok(attachment) => fetched.files.push(attachment),
                Err(NotFetched::Passing { why, patience }) => {
                    tracing::debug!(name, why, "a file could not be fetched");
                    if self.bot.intake.patience.left(&name, patience) {
                        return Ok(Outcome::Later(WhyWaiting::NoFile));
                    }
                    tracing::warn!(name, why, "a file is given up");
                    return self
                        .not_taken(message, fetching::given_up(&file.name, "Telegram"))
                        .await;
                }
                Err(NotFetched::Never(words)) => missing.push(words),
                Err(NotFetched::Plane(error)) => return self.not_taken(message, error).await,
            }
        }
        if !missing.is_empty() {
            self.bot.sayings().speak(
                &message.place(),
                &format!("file-{name}"),
                &missing.join("\n\n"),
            );
            // The words alone would be answered as if the file had come.
            if fetched.files.is_empty() {
                return Ok(Outcome::Done);
            }
        }
        let texts: Vec<&str> = said.iter().map(|said| said.text.trim()).collect();
        let mut text = texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
        text.dedup();
        // Stopped from here on, it may be stored: its files stay.
        let attachments = std::mem::take(&mut fetched.files);
        let handed = Handed {
            speaker,
            name: &name,
            message: message.answerable(),
            text: text.join("\n\n"),
            attachments: attachments.clone(),
        };
        match self.hand_over(handed).await {
            Ok(()) => Ok(Outcome::Done),
            Err(error) => {
                // Without an answer it may be stored all the same, and needs its files.
                if error.code() != ErrorCode::ShuttingDown {
                    fetched.files = attachments;
                }
                self.not_taken(message, error).await
            }
        }
    }
}

fn said_in(content: Content) -> Option<Said> {
    match content {
        Content::Said(said) => Some(said),
        Content::Unusable(_) | Content::Nothing => None,
    }
}

/// Files of a message that is not taken yet: removed with this, to be fetched again.
struct Fetched<'a> {
    bot: &'a Bot,
    speaker: &'a Speaker,
    files: Vec<Attachment>,
}

impl Drop for Fetched<'_> {
    fn drop(&mut self) {
        for file in &self.files {
            let (workspace, attachment) = (self.speaker.workspace, file.clone());
            self.bot.plane.tell(DiscardFile { workspace, attachment });
        }
    }
}
