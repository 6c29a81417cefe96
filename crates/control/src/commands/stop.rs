//! The emergency stop, said in a chat by somebody who may.

use cloister_policy::engine::{PlatformCall, Request};
use cloister_store::Actor;
use cloister_store::inbox::InboxItem;

use crate::commands::{CommandError, CommandRefusal, Commands};

impl Commands {
    pub(super) async fn stop_everything(
        &self,
        row: &InboxItem,
        rest: &str,
    ) -> Result<String, CommandError> {
        let (what, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if what != "all" {
            return Err(CommandRefusal::StopWhat.into());
        }
        let actor = self.who_may(row, PlatformCall::EmergencyStop).await?;
        let stopped = self.control.stops().stop_all(&actor, reason).await?;
        let left = match stopped.left {
            0 => String::new(),
            left => format!(" {left} are not gone yet."),
        };
        Ok(format!(
            "{} {} running tasks were ended and go on after /release.{left}",
            self.control.stops().stop_sentence(),
            stopped.ended
        ))
    }

    pub(super) async fn release_everything(&self, row: &InboxItem) -> Result<String, CommandError> {
        let actor = self.who_may(row, PlatformCall::EmergencyRelease).await?;
        Ok(match self.control.stops().release_all(&actor).await? {
            Some(_) => "Everything goes on.".to_owned(),
            None => "Nothing was stopped.".to_owned(),
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
