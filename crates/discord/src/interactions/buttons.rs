//! Buttons: done as the person whose account pressed them, once.

use std::time::Duration;

use cloister_kit::PlaneError;
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{ApprovalState, Below, ButtonDone, PressButton};

use super::Interactions;
use super::respond::{Acknowledged, only_for_them, seen};
use crate::wire::Interaction;

/// How long a press usually takes at most; what takes longer is acknowledged before it is done.
const USUALLY: Duration = Duration::from_millis(1500);

impl Interactions {
    pub(super) async fn take_press(&self, asked: &Interaction) -> Result<(), PlaneError> {
        let (Some(account), Some(channel)) = (asked.by(), asked.place()) else { return Ok(()) };
        let pressed = PressButton {
            connector: self.bot.id(),
            place: channel.to_owned(),
            by: account.id.clone(),
            token: asked.data.custom_id.clone(),
            // Discord takes no press of what was deleted.
            below: Below::Shown,
        };
        let mut press = Box::pin(self.bot.plane.call(pressed));
        if let Ok(done) = tokio::time::timeout(USUALLY, &mut press).await {
            let response = words_for(&done).map_or_else(seen, |words| only_for_them(&words));
            self.acknowledge(asked, &response).await;
            return Ok(());
        }
        let there = self.acknowledge(asked, &seen()).await;
        if let (Some(words), true) = (words_for(&press.await), there != Acknowledged::TooLate) {
            self.whisper(asked, &words).await;
        }
        Ok(())
    }
}

/// What who pressed is told, and nobody else; none: the question is edited, or the command answered, where
/// everybody sees it.
fn words_for(done: &Result<ButtonDone, PlaneError>) -> Option<String> {
    match done {
        Ok(ButtonDone::Answered { state: ApprovalState::Pending }) => {
            Some("Your answer counts, and waits for another person's.".to_owned())
        }
        Ok(ButtonDone::Answered { .. } | ButtonDone::Command { .. }) => None,
        Err(error) => {
            if error.code() == ErrorCode::Internal {
                tracing::error!(error = error.chain(), "a button could not be pressed");
            }
            Some(refusal(error))
        }
    }
}

/// Why nothing happened, for who pressed.
fn refusal(error: &PlaneError) -> String {
    let body = error.body();
    let fix = body.fix.map(|fix| format!(" ({fix})")).unwrap_or_default();
    format!("Nothing happened: {}{fix}.", body.message)
}
