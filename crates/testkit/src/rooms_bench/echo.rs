//! The floor: a bot that repeats what it hears and does nothing else.

use std::time::Duration;

use tokio::task::JoinSet;

use crate::synapse::{Account, PlainPerson, Synapse, SynapseError};

/// How long it may take to be in all its rooms.
const JOIN_TIME: Duration = Duration::from_secs(120);

/// Repeats until it is dropped.
pub(super) struct Echo {
    _repeating: JoinSet<()>,
}

impl Echo {
    /// Joins so many rooms, and listens from there on.
    pub(super) async fn start(
        synapse: &Synapse,
        account: Account,
        rooms: usize,
    ) -> Result<Self, SynapseError> {
        let mut bot = PlainPerson::of(synapse, account);
        let all = |bot: &PlainPerson| (bot.rooms().count() >= rooms).then_some(());
        bot.until("the echo is in its rooms", JOIN_TIME, all).await?;
        let mut repeating = JoinSet::new();
        repeating.spawn(repeat(bot));
        Ok(Self { _repeating: repeating })
    }
}

async fn repeat(mut bot: PlainPerson) {
    let mut answers = JoinSet::new();
    // What was said before is not answered.
    bot.take_news();
    loop {
        if bot.sync_for(Duration::from_secs(30)).await.is_err() {
            continue;
        }
        for (room, post) in bot.take_news() {
            if post.sender != bot.id() {
                let bot = bot.speaker();
                answers.spawn(async move {
                    bot.say(&room, &format!("echo: {}", post.text)).await.ok();
                });
            }
        }
        while answers.try_join_next().is_some() {}
    }
}
