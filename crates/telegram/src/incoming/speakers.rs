//! Who speaks, and to which chat: by the account and the conversation, never by a name.

use cloister_kit::words::asks_to_pair;
use cloister_kit::{PlaneError, part};
use cloister_protocol::surface::{
    ChatsChanged, ContextOf, Conversation, ConversationAt, ConversationKind, Heard, IsKnown,
    Locate, Located, PairingWords, RefusalAgain, SetBroken, Speaker, WhoIs,
};

use super::HOUR;
use super::addressed::Addressed;
use crate::bot::Bot;
use crate::updates::wire::{Message, User};

/// How far Telegram's clock and ours may be apart: who writes as soon as the bot is there is heard.
const CLOCKS_DIFFER_MS: i64 = 60 * 1000;
const PAIR_IN_PRIVATE: &str =
    "I give no code where others read along. Write `pair` to me in a private chat.";
const ONE_PERSON: &str =
    "This bot serves one person alone. Whoever runs this can tell you which one is yours.";
const SPEAKS_AS_GROUP: &str = "I can't tell who you are: you write here as the group or as a channel. Write as yourself \
     (turn off *Remain anonymous* in your admin rights, or choose your own account next to the text field).";

/// Who wrote a message; none: a bot, or who speaks as a group or a channel.
pub(super) fn sender(message: &Message) -> Option<&User> {
    let from = message.from.as_ref()?;
    (!from.is_bot && message.sender_chat.is_none() && from.id > 0).then_some(from)
}

/// Whether somebody pressed *Start*.
fn begins(typed: &str) -> bool {
    let word = typed.split_whitespace().next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|word| word.eq_ignore_ascii_case("start"))
}

part! {
    /// Who speaks, and who is listened to.
    pub(crate) struct Speakers of Bot;
}

impl Speakers {
    /// Whether an account belongs to somebody.
    pub(super) async fn knows(&self, account: i64) -> Result<bool, PlaneError> {
        self.bot.plane.call(IsKnown { account: account.to_string() }).await
    }

    /// Who speaks there, if it is somebody whose words are taken. Everybody else is told so, once in a while.
    pub(crate) async fn speaker(
        &self,
        message: &Message,
        typed: &str,
    ) -> Result<Option<Box<Speaker>>, PlaneError> {
        let Some(from) = sender(message) else { return Ok(None) };
        let account = from.id.to_string();
        let place = message.place();
        if !self.serves(&account).await? {
            self.bot.sayings().tell(&place, "one-person", HOUR, ONE_PERSON);
            return Ok(None);
        }
        let of = message.chat.id.to_string();
        let title = self.bot.topics().title_of(message);
        let heard = match (message.is_private(), message.thread()) {
            (true, None) => Heard::Direct(place.clone()),
            (true, Some(_)) => Heard::OwnThread { of: of.clone(), id: place.clone(), title },
            (false, None) => Heard::Shared(place.clone()),
            (false, Some(_)) => Heard::Thread { of: of.clone(), id: place.clone(), title },
        };
        // Nobody else is in a private chat; what claims to be one and is not is not believed.
        if message.is_private() && message.chat.id != from.id {
            tracing::warn!(place, "a private chat with somebody else's number");
            return Ok(None);
        }
        self.bot.topics().until_known(message).await?;
        match self
            .bot
            .plane
            .call(Locate {
                connector: self.bot.id(),
                sender: account,
                heard,
                language: from.language_code.clone(),
            })
            .await?
        {
            Located::To(mut speaker) => {
                self.came_back(&mut speaker.conversation).await?;
                if message.is_private() {
                    self.bot.topics().at_home(&speaker, &of).await?;
                }
                Ok(Some(speaker))
            }
            Located::Stranger { tell } => {
                self.hear_stranger(message, from, typed, tell).await;
                Ok(None)
            }
            Located::NotHere { tell } => {
                if let Some(mut tell) = tell {
                    // Nowhere in Telegram's apps does the number stand that an operator needs.
                    if tell.contains("context add") {
                        tell.push_str(&format!(" This one is `--conversation={place}`."));
                    }
                    self.bot.sayings().speak(
                        &place,
                        &format!("not-here-{}", message.name()),
                        &tell,
                    );
                }
                Ok(None)
            }
        }
    }

    async fn hear_stranger(
        &self,
        message: &Message,
        from: &User,
        typed: &str,
        tell: Option<String>,
    ) {
        let place = message.place();
        let key = format!("stranger-{}", message.name());
        let account = from.id.to_string();
        // Who begins anew has cleared or blocked the chat where they were told.
        let anew = message.is_private() && begins(typed);
        let tell = match tell {
            None if anew => {
                let again = RefusalAgain { account: account.clone() };
                self.bot.plane.call(again).await.unwrap_or_default()
            }
            tell => tell,
        };
        if asks_to_pair(typed) {
            if !message.is_private() {
                return self.bot.sayings().tell(&place, "pair-in-private", HOUR, PAIR_IN_PRIVATE);
            }
            let asked = PairingWords { account, name: from.described() };
            if let Ok(Some(words)) = self.bot.plane.call(asked).await {
                self.bot.sayings().speak(&place, &key, &words);
            }
        } else if let Some(mut words) = tell {
            if !message.is_private() {
                words.push_str(" In a private chat with me, please: others read along here.");
            }
            self.bot.sayings().speak_to_stranger(&place, &key, &words, &account);
        }
    }

    /// Whether this bot is for that account: a bot of one person's own is for nobody else. Who is nobody is
    /// told so elsewhere.
    pub(super) async fn serves(&self, account: &str) -> Result<bool, PlaneError> {
        let Some(owner) = &self.bot.settings.owner else { return Ok(true) };
        let whose = self.bot.plane.call(WhoIs { account: account.to_owned() }).await?;
        Ok(whose.is_none_or(|person| person.name.as_str() == owner))
    }

    /// Who is heard there can be told something there.
    async fn came_back(&self, conversation: &mut Conversation) -> Result<(), PlaneError> {
        if conversation.broken.take().is_some() {
            self.bot.plane.call(SetBroken { conversation: conversation.id, why: None }).await?;
            self.bot.plane.tell(ChatsChanged {});
        }
        Ok(())
    }

    /// Whether something that was said where others read along is to be looked at. Who is not named there is
    /// heard in silence.
    pub(super) async fn listens(
        &self,
        message: &Message,
        addressed: Addressed,
    ) -> Result<bool, PlaneError> {
        if message.is_private() {
            return Ok(true);
        }
        let since = match addressed {
            Addressed::ToAnother | Addressed::No => return Ok(false),
            Addressed::ToUs | Addressed::Command => self.connected_since(message).await?,
        };
        let named = match since {
            Some(since) => message.was_written_since(since),
            // Every bot there may have got a command: one that is not connected says nothing.
            None => addressed == Addressed::ToUs,
        };
        if named && sender(message).is_none() {
            let person = message.from.as_ref().is_some_and(|from| !from.is_bot)
                || message.sender_chat.is_some();
            if person && since.is_some() {
                self.bot.sayings().tell(&message.place(), "anonymous", HOUR, SPEAKS_AS_GROUP);
            }
            return Ok(false);
        }
        Ok(named)
    }

    /// Whether an operator had connected the group, or the topic, when this was written. What was said there before
    /// was not said to us.
    pub(super) async fn was_connected(&self, message: &Message) -> Result<bool, PlaneError> {
        let since = self.connected_since(message).await?;
        Ok(since.is_some_and(|since| message.was_written_since(since)))
    }

    /// Since when an operator has the group, or the topic, connected, in Unix milliseconds; none: it is not.
    async fn connected_since(&self, message: &Message) -> Result<Option<i64>, PlaneError> {
        let plane = &self.bot.plane;
        let names = [message.place(), message.chat.id.to_string()];
        for id in &names {
            if let Some(context) = plane.call(ContextOf { place: id.clone() }).await? {
                return Ok(Some(context.created_at));
            }
        }
        for id in &names {
            let at = ConversationAt { connector: self.bot.id(), place: id.clone() };
            let known = plane.call(at).await?;
            if known.is_some_and(|known| known.kind == ConversationKind::Shared) {
                // We were spoken to there while it was.
                return Ok(Some(self.bot.connector.created_at));
            }
        }
        Ok(None)
    }

    /// Whether it was written before this bot was connected. Telegram keeps for a day what nobody took: it was said
    /// to whoever answered here then, or to nobody.
    pub(super) fn predates_us(&self, message: &Message) -> bool {
        !message.was_written_since(self.bot.connector.created_at.saturating_sub(CLOCKS_DIFFER_MS))
    }
}
