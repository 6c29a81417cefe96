//! What people are told that answers nothing they said: once per key, in the outbox before it is sent.

use cloister_protocol::{AgentFrame, ChatId, Update, UserId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::users::User;

use crate::control::part;
use crate::error::Fault;

/// Roles whose holders look after the platform.
const KEEPERS: [&str; 3] = ["operator", "admin", "overlord"];

part! {
    /// What people are told unasked.
    pub(crate) struct Notices;
}

impl Notices {
    /// Tells a person something, once per key.
    pub(crate) async fn tell_once(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        key: &str,
        text: String,
    ) -> Result<(), Fault> {
        let frame = AgentFrame::Update(Update::Notice { text });
        if let Some(item) =
            self.control.store().outbox().notify((workspace, chat), key, &frame).await?
        {
            self.control.hub().say_stored(item);
        }
        Ok(())
    }

    /// Those who look after the whole platform.
    pub(crate) async fn keepers(&self) -> Result<Vec<User>, Fault> {
        let mut ids: Vec<UserId> = Vec::new();
        let mut keepers = Vec::new();
        for (name, held) in self.control.store().users().all_roles().await? {
            let everywhere = KEEPERS.contains(&held.role.as_str()) && held.scope == "platform";
            if everywhere {
                let user = self.control.store().users().user(&name).await?;
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
    ) -> Result<(), Fault> {
        self.control.store().chats().ensure_first_chat(&Actor::CONTROL, user.workspace).await?;
        self.tell_once(user.workspace, ChatId::from_number(1), key, text).await
    }
}
