//! Why Discord ended a connection for good, and what the operator can do. Pure.

/// A refusal that no second try overcomes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The token is none any more.
    Token,
    /// The words of messages are not for this bot until that is switched on.
    Intents,
    /// There are more servers than one connection serves: asked again, Discord says how many it takes.
    Shards,
    /// We ask for what Discord does not know.
    Ours(u16),
}

impl Refusal {
    /// What a close code means; none: it is tried again.
    pub(super) const fn of(code: u16) -> Option<Self> {
        match code {
            4004 => Some(Self::Token),
            4010 | 4011 => Some(Self::Shards),
            4012 | 4013 => Some(Self::Ours(code)),
            4014 => Some(Self::Intents),
            _ => None,
        }
    }

    pub(super) fn problem(self) -> String {
        match self {
            Self::Token => NO_TOKEN.to_owned(),
            Self::Intents => "Discord does not let this bot read messages: open \
                 https://discord.com/developers/applications, choose the application, then Bot, and switch on \
                 \"Message Content Intent\" under Privileged Gateway Intents. It is tried again every few minutes"
                .to_owned(),
            Self::Shards => "Discord wants this bot in more connections: they are counted anew".to_owned(),
            Self::Ours(code) => format!(
                "Discord refuses the connection with code {code}: this version can't talk to it any more. \
                 Update cloister"
            ),
        }
    }
}

/// What is said when the token is not taken.
pub(super) const NO_TOKEN: &str = "Discord does not take the bot's token: open https://discord.com/developers/applications, choose the application, \
     then Bot, press \"Reset Token\", and add the bot again with `cloister discord add --token-file FILE` (its \
     conversations and chats stay)";

/// Whether the session can't be resumed after this close code of Discord's. One that goes away (1000, 1001) does not
/// end it: only if we say so it does.
pub(super) const fn forgets_the_session(code: u16) -> bool {
    matches!(code, 4007 | 4009)
}

#[cfg(test)]
#[path = "refusals_tests.rs"]
mod tests;
