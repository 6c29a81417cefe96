//! A second surface in a test world: a bot with which people have one private conversation each, and groups.

use cloister_protocol::AgentFrame;
use cloister_protocol::admin::ContextChange;
use cloister_protocol::surface::{Located, Speaker};
use cloister_store::Actor;
use cloister_store::connectors::Connector;
use cloister_store::conversations::{Conversation, ConversationKind};
use cloister_store::inbox::HeardIn;
use cloister_testkit::rows;

use crate::inbox::Receipt;
use crate::people::Heard;
use crate::test_world::World;
use crate::{Below, ButtonDone, ControlError, IncomingMessage, Press, PressedButton, SurfaceError};

/// The accounts of Ada and Bob, and with them their private conversations.
pub(crate) const ADA_THERE: &str = "1001";
pub(crate) const BOB_THERE: &str = "1002";
/// The club's group, once `Telegram::club_group` was called.
pub(crate) const GROUP: &str = "-100200";

pub(crate) struct Telegram<'a> {
    pub(crate) world: &'a World,
    pub(crate) connector: Connector,
}

impl<'a> Telegram<'a> {
    pub(crate) async fn new(world: &'a World) -> Self {
        for (user, id) in [(&world.ada, ADA_THERE), (&world.bob, BOB_THERE)] {
            let account = crate::account("telegram", id, "anybody").unwrap();
            world
                .control
                .people()
                .link_identity(&Actor::person("root"), user, &account)
                .await
                .unwrap();
        }
        let connector = Self::bot(world, "77").await;
        Self { world, connector }
    }

    pub(crate) async fn bot(world: &World, account: &str) -> Connector {
        let new = rows::bot("telegram", account);
        world.store().conversations().put_connector(&Actor::person("test"), &new).await.unwrap()
    }

    /// Makes the group a context of the club.
    pub(crate) async fn club_group(&self) {
        let change = ContextChange {
            surface: Some("telegram".into()),
            conversation: Some(GROUP.into()),
            new: true,
            ..ContextChange::default()
        };
        let club = self.world.club.workspace;
        self.world
            .control
            .contexts()
            .change_context(&Actor::person("root"), club, "group", change)
            .await
            .unwrap();
    }

    pub(crate) async fn locate(&self, sender: &str, heard: Heard<'_>) -> Located {
        self.world
            .control
            .contexts()
            .locate(self.connector.id, "telegram", sender, heard, None)
            .await
            .unwrap()
    }

    pub(crate) async fn speaker(&self, sender: &str, heard: Heard<'_>) -> Speaker {
        match self.locate(sender, heard).await {
            Located::To(speaker) => *speaker,
            nowhere => panic!("{sender} in {heard:?} leads nowhere: {nowhere:?}"),
        }
    }

    /// Ada's private conversation.
    pub(crate) async fn lobby(&self) -> Conversation {
        let lobby = self.speaker(ADA_THERE, Heard::Direct(ADA_THERE)).await.conversation;
        assert_eq!(lobby.kind, ConversationKind::Lobby);
        lobby
    }

    /// Something is written there, and handed over as a surface does it.
    pub(crate) async fn hears(
        &self,
        sender: &str,
        heard: Heard<'_>,
        (id, text): (&str, &str),
    ) -> Result<(Speaker, Receipt), ControlError> {
        let speaker = self.speaker(sender, heard).await;
        let message = IncomingMessage {
            surface: "telegram",
            workspace: speaker.workspace,
            chat: speaker.chat,
            id: id.parse().unwrap(),
            from: speaker.name.clone(),
            text: text.to_owned(),
            attachments: Vec::new(),
            instead: None,
            heard_in: Some(HeardIn { conversation: speaker.conversation.id, origin: None }),
        };
        let receipt = self.world.control.inbox().receive(message).await?;
        Ok((speaker, receipt))
    }

    /// Ada types a command in her private conversation; what is answered.
    pub(crate) async fn answers(&self, id: &str, text: &str) -> String {
        let (_, receipt) =
            self.hears(ADA_THERE, Heard::Direct(ADA_THERE), (id, text)).await.unwrap();
        let workspace = self.world.ada.workspace;
        for _ in 0..400 {
            let rows =
                self.world.store().outbox().outbox_of_turn(workspace, &receipt.turn).await.unwrap();
            let end = rows.into_iter().find_map(|row| match row.frame {
                AgentFrame::End(end) => Some(end.text),
                _ => None,
            });
            if let Some(text) = end {
                return text;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{text} was not answered");
    }

    pub(crate) async fn mint(&self, place: &Conversation, press: Press) -> String {
        let tokens = self.world.control.surfaces().mint_buttons(place, &[press]).await.unwrap();
        tokens.into_iter().next().unwrap()
    }

    pub(crate) async fn press(
        &self,
        by: &str,
        conversation: &str,
        token: &str,
    ) -> Result<ButtonDone, SurfaceError> {
        self.press_below(Below::Shown, by, conversation, token).await
    }

    pub(crate) async fn press_below(
        &self,
        below: Below,
        by: &str,
        conversation: &str,
        token: &str,
    ) -> Result<ButtonDone, SurfaceError> {
        let connector = self.connector.id;
        let pressed =
            PressedButton { surface: "telegram", by, connector, conversation, token, below };
        self.world.control.surfaces().press_button(pressed).await
    }
}
