//! Who speaks, and to which chat: by the account and the channel, never by a name.

use cloister_kit::PlaneError;
use cloister_kit::words::{asks_to_pair, clean, short};
use cloister_protocol::surface::{
    ChatsChanged, Locate, Located, PairingWords, Speaker, TakeBackRefusal,
};

use super::{ChannelPlace, Seen, Speakers, text};
use crate::wire::Account;

/// Whose words they are, where, and what becomes of them.
pub(crate) enum Speaks {
    To(Box<Speaker>),
    /// Not taken; what to say about it, unless it was said lately. Of a stranger it is taken back if it can't be
    /// said.
    Not {
        tell: Option<String>,
        stranger: bool,
    },
}

impl Speakers {
    /// Who speaks there, if it is somebody whose words are taken. Everybody else is told so, once in a while.
    pub(super) async fn speaker_of(
        &self,
        place: &ChannelPlace,
        seen: Seen<'_>,
    ) -> Result<Option<Box<Speaker>>, PlaneError> {
        let message = seen.message;
        let channel = message.channel_id.as_str();
        let words = text::own_words(message, &self.called(message));
        let words = if seen.edited { "" } else { words.as_str() };
        // A code is for one person's eyes.
        let may_see = place.direct;
        match self.speaks(place, channel, &message.author, (words, may_see)).await? {
            Speaks::To(speaker) => Ok(Some(speaker)),
            Speaks::Not { tell, stranger } => {
                if let Some(tell) = tell {
                    let key = format!("refused-{}", message.id);
                    let told = self.bot.sayings().speak(channel, &key, &tell).await;
                    if !told && stranger {
                        let account = message.author.id.clone();
                        self.bot.plane.call(TakeBackRefusal { account }).await?;
                    }
                }
                Ok(None)
            }
        }
    }

    /// The same without saying anything. `may_see`: nobody else sees the answer, so a code can be in it.
    pub(crate) async fn speaks(
        &self,
        place: &ChannelPlace,
        channel: &str,
        account: &Account,
        (words, may_see): (&str, bool),
    ) -> Result<Speaks, PlaneError> {
        let locate = Locate {
            connector: self.bot.id(),
            sender: account.id.clone(),
            heard: place.heard(channel),
            // Discord says it of nobody who writes.
            language: None,
        };
        match self.bot.plane.call(locate).await? {
            Located::To(mut speaker) => {
                // Who is heard there can be told something there.
                if speaker.conversation.broken.is_some() {
                    self.bot.places().set_broken(speaker.conversation.id, None).await?;
                    speaker.conversation.broken = None;
                    self.bot.plane.tell(ChatsChanged {});
                }
                Ok(Speaks::To(speaker))
            }
            Located::Stranger { .. } if asks_to_pair(words) => {
                let tell = if may_see {
                    let (name, account) = (known_as(account), account.id.clone());
                    self.bot.plane.call(PairingWords { account, name }).await?
                } else {
                    Some(PAIR_ALONE.to_owned())
                };
                Ok(Speaks::Not { tell, stranger: false })
            }
            Located::Stranger { tell } => Ok(Speaks::Not { tell, stranger: true }),
            Located::NotHere { tell } => Ok(Speaks::Not { tell, stranger: false }),
        }
    }
}

const PAIR_ALONE: &str = "A code is for your eyes alone: write `pair` to me in a direct message, or use the command \
     `/pair`.";

/// How an operator sees an account that wants to be linked: what it calls itself, and what it is.
fn known_as(account: &Account) -> String {
    let shown = short(clean(account.shown()).trim(), 60);
    let name = short(clean(&account.username).trim(), 40);
    let digits =
        account.discriminator.as_deref().filter(|digits| !matches!(*digits, "" | "0" | "0000"));
    let name = digits.map_or_else(|| name.clone(), |digits| format!("{name}#{}", short(digits, 4)));
    if shown == name { format!("@{name}") } else { format!("{shown} (@{name})") }
}

#[cfg(test)]
#[path = "speakers_tests.rs"]
mod tests;
