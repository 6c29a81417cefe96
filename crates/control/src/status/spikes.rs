//! Agents that use far more than usual: the person and whoever runs the platform hear of it, without a word
//! of what is worked on.

use std::time::Duration;

use cloister_words::say;

use crate::crew::Rounds;
use crate::error::Fault;
use crate::metrics::TokenSpike;
use crate::status::Status;

const LOOK_EVERY: Duration = Duration::from_secs(10);

impl Status {
    /// Tells of spikes as they come.
    pub(crate) async fn watch_spikes(&self, rounds: &Rounds) {
        loop {
            rounds.begins(LOOK_EVERY);
            tokio::select! {
                () = self.control.inner.stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            for spike in self.control.metrics().take_token_spikes() {
                if let Err(error) = self.tell_spike(spike).await {
                    tracing::error!(user = %spike.user, error = error.chain(), "a token spike could not be told");
                }
            }
        }
    }

    pub(crate) async fn tell_spike(&self, spike: TokenSpike) -> Result<(), Fault> {
        let user = self.control.store().users().user_by_id(spike.user).await?;
        tracing::warn!(user = %spike.user, tokens = spike.tokens, usual = spike.usual, "an agent uses far more tokens than usual");
        let much = much(&spike);
        // Once an hour: a key is told once.
        let key =
            format!("spike-{}-{}", spike.user, self.control.store().clock.now_ms() / 3_600_000);
        let to = self.control.people().languages().language_of(user.id).await?;
        let tokens = spike.tokens;
        let own = match times_usual(&spike) {
            Some(times) => say!(
                to,
                "Your agent has used {times} times its usual tokens in the last 10 minutes ({tokens}). If that is not what you wanted: /tasks shows what runs, /cancel stops it.",
                times,
                tokens
            ),
            None => say!(
                to,
                "Your agent has used {tokens} tokens in the last 10 minutes. If that is not what you wanted: /tasks shows what runs, /cancel stops it.",
                tokens
            ),
        };
        self.control.notices().tell_in_first_chat(&user, &key, own).await?;
        let theirs = format!(
            "The agent of {} has used {much}. `cloister task list --open` shows what runs; `cloister budget set {} \
             --daily USD` limits it.",
            user.name, user.name
        );
        for keeper in self.control.notices().keepers().await? {
            if keeper.id != user.id {
                self.control.notices().tell_in_first_chat(&keeper, &key, theirs.clone()).await?;
            }
        }
        Ok(())
    }
}

/// How many times what is usual that is.
fn times_usual(spike: &TokenSpike) -> Option<u64> {
    spike.usual.and_then(|usual| spike.tokens.checked_div(usual))
}

fn much(spike: &TokenSpike) -> String {
    match times_usual(spike) {
        Some(times) => {
            format!("{times} times its usual tokens in the last 10 minutes ({})", spike.tokens)
        }
        None => format!("{} tokens in the last 10 minutes", spike.tokens),
    }
}
