//! Acknowledging an interaction, in time.

use std::time::Duration;

use twilight_model::channel::message::{AllowedMentions, MessageFlags};
use twilight_model::http::interaction::{
    InteractionResponse, InteractionResponseData, InteractionResponseType,
};
use twilight_model::id::Id;

use crate::discord::bot::Bot;
use crate::discord::rest::{self, Fault, codes};
use crate::discord::wire::{Interaction, snowflake};

/// Discord waits three seconds, on the way there and back too.
const IN_TIME: Duration = Duration::from_millis(2500);

/// What Discord made of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledged {
    Now,
    /// By us, before we were killed.
    Before,
    /// It is too late: Discord has told the person that nothing came.
    TooLate,
}

/// "Is thinking…", for everybody or for one person alone.
pub(super) fn thinking(private: bool) -> InteractionResponse {
    let flags = private.then_some(MessageFlags::EPHEMERAL);
    let data = InteractionResponseData { flags, ..InteractionResponseData::default() };
    InteractionResponse {
        kind: InteractionResponseType::DeferredChannelMessageWithSource,
        data: Some(data),
    }
}

/// A press was seen; the message stays as it is until it is edited.
pub(super) fn seen() -> InteractionResponse {
    InteractionResponse { kind: InteractionResponseType::DeferredUpdateMessage, data: None }
}

/// A sentence that only who interacted sees.
pub(super) fn only_for_them(words: &str) -> InteractionResponse {
    let data = InteractionResponseData {
        content: Some(words.chars().take(1900).collect()),
        flags: Some(MessageFlags::EPHEMERAL),
        allowed_mentions: Some(AllowedMentions::default()),
        ..InteractionResponseData::default()
    };
    InteractionResponse {
        kind: InteractionResponseType::ChannelMessageWithSource,
        data: Some(data),
    }
}

impl Bot {
    /// Tells Discord that an interaction was heard.
    pub(super) async fn acknowledge(
        &self,
        asked: &Interaction,
        response: &InteractionResponse,
    ) -> Acknowledged {
        let Some(id) = snowflake(&asked.id).and_then(Id::new_checked) else {
            return Acknowledged::TooLate;
        };
        let client = self.interactions();
        let mut tries = 2;
        loop {
            let request = client.create_response(id, &asked.token, response);
            let told = tokio::time::timeout(IN_TIME, rest::call(IN_TIME, request)).await;
            let fault = match told {
                Ok(Ok(_)) => return Acknowledged::Now,
                Ok(Err(fault)) => fault,
                Err(_late) => Fault::Unreachable("no answer in time".to_owned()),
            };
            tries -= 1;
            match fault {
                fault if fault.code() == Some(codes::ALREADY_ACKNOWLEDGED) => {
                    return Acknowledged::Before;
                }
                // Whether it got there is not known: the second says so.
                Fault::Unreachable(_) if tries > 0 => {}
                fault => {
                    tracing::debug!(interaction = asked.id, %fault, "an interaction came too late");
                    self.control.metrics().connector_error(crate::discord::SURFACE, "interaction");
                    return Acknowledged::TooLate;
                }
            }
        }
    }

    /// Says something to who interacted and to nobody else, after it was acknowledged.
    pub(super) async fn whisper(&self, asked: &Interaction, words: &str) {
        let client = self.interactions();
        let words: String = words.chars().take(1900).collect();
        let nobody = AllowedMentions::default();
        let request = client
            .create_followup(&asked.token)
            .allowed_mentions(Some(&nobody))
            .flags(MessageFlags::EPHEMERAL)
            .content(&words);
        if let Err(fault) = self.done(request).await {
            tracing::debug!(interaction = asked.id, %fault, "who pressed a button could not be told");
        }
    }
}
