//! Agents that use far more than usual: the person and whoever runs the platform hear of it, without a word
//! of what is worked on.

use std::time::Duration;

use cloister_protocol::{ChatId, UserId};
use cloister_store::users::User;

use crate::control::Control;
use crate::error::ControlError;
use crate::metrics::TokenSpike;

const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Roles whose holders look after the platform.
const KEEPERS: [&str; 3] = ["operator", "admin", "overlord"];

impl Control {
    /// Tells of spikes as they come.
    pub(crate) async fn watch_spikes(&self) {
        loop {
            tokio::select! {
                () = self.inner.stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            for spike in self.metrics().take_token_spikes() {
                if let Err(error) = self.tell_spike(spike).await {
                    tracing::error!(user = %spike.user, error = error.chain(), "a token spike could not be told");
                }
            }
        }
    }

    pub(crate) async fn tell_spike(&self, spike: TokenSpike) -> Result<(), ControlError> {
        let user = self.store().user_by_id(spike.user).await?;
        tracing::warn!(user = %spike.user, tokens = spike.tokens, usual = spike.usual, "an agent uses far more tokens than usual");
        let much = much(&spike);
        // Once an hour: a key is told once.
        let key = format!("spike-{}-{}", spike.user, self.store().clock.now_ms() / 3_600_000);
        let own = format!(
            "Your agent has used {much}. If that is not what you wanted: /tasks shows what runs, /cancel stops it."
        );
        self.tell_in_first_chat(&user, &key, own).await?;
        let theirs = format!(
            "The agent of {} has used {much}. `cloister task list --open` shows what runs; `cloister budget set {} \
             --daily USD` limits it.",
            user.name, user.name
        );
        for keeper in self.keepers().await? {
            if keeper.id != user.id {
                self.tell_in_first_chat(&keeper, &key, theirs.clone()).await?;
            }
        }
        Ok(())
    }

    /// Those who look after the whole platform.
    pub(crate) async fn keepers(&self) -> Result<Vec<User>, ControlError> {
        let mut ids: Vec<UserId> = Vec::new();
        let mut keepers = Vec::new();
        for (name, held) in self.store().all_roles().await? {
            let everywhere = KEEPERS.contains(&held.role.as_str()) && held.scope == "platform";
            if everywhere {
                let user = self.store().user(&name).await?;
                if !ids.contains(&user.id) {
                    ids.push(user.id);
                    keepers.push(user);
                }
            }
        }
        Ok(keepers)
    }

    pub(crate) async fn tell_in_first_chat(
        &self,
        user: &User,
        key: &str,
        text: String,
    ) -> Result<(), ControlError> {
        self.store().ensure_first_chat(user.workspace).await?;
        self.tell_once(user.workspace, ChatId::from_number(1), key, text).await
    }
}

fn much(spike: &TokenSpike) -> String {
    match spike.usual.filter(|usual| *usual > 0) {
        Some(usual) => {
            let times = spike.tokens / usual;
            format!("{times} times its usual tokens in the last 10 minutes ({})", spike.tokens)
        }
        None => format!("{} tokens in the last 10 minutes", spike.tokens),
    }
}
