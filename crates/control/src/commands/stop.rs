//! The emergency stop, said in a chat by somebody who may.

use cloister_policy::engine::{PlatformCall, Request};
use cloister_protocol::Language;
use cloister_store::Actor;
use cloister_store::inbox::InboxItem;
use cloister_words::{count, say};

use crate::commands::{CommandError, CommandRefusal, Commands};

impl Commands {
    pub(super) async fn stop_everything(
        &self,
        row: &InboxItem,
        to: Language,
        rest: &str,
    ) -> Result<String, CommandError> {
        let (what, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if what != "all" {
            return Err(CommandRefusal::StopWhat.into());
        }
        let actor = self.who_may(row, PlatformCall::EmergencyStop).await?;
        let stopped = self.control.stops().stop_all(&actor, reason).await?;
        let mut text = self.control.stops().stop_sentence(to);
        let ended = count!(
            to,
            stopped.ended,
            "{n} running task was ended and goes on after /release.",
            "{n} running tasks were ended and go on after /release."
        );
        text.push_str(&format!(" {ended}"));
        if stopped.left > 0 {
            let left = count!(to, stopped.left, "{n} is not gone yet.", "{n} are not gone yet.");
            text.push_str(&format!(" {left}"));
        }
        Ok(text)
    }

    pub(super) async fn release_everything(
        &self,
        row: &InboxItem,
        to: Language,
    ) -> Result<String, CommandError> {
        let actor = self.who_may(row, PlatformCall::EmergencyRelease).await?;
        Ok(match self.control.stops().release_all(&actor).await? {
            Some(_) => say!(to, "Everything goes on."),
            None => say!(to, "Nothing was stopped."),
        })
    }

    /// Who wrote it, if the policies let them do this.
    async fn who_may(&self, row: &InboxItem, call: PlatformCall) -> Result<Actor, CommandError> {
        let user = self.control.provenance().person_of(row).await?;
        let person = self.control.people().person(user).await?;
        self.control.people().require(&Request::platform(&person, call))?;
        Ok(self.control.accounts().acting(user).await?)
    }
}
