//! Acknowledging an interaction, in time.

use std::time::Duration;

use serde_json::{Value, json};
use twilight_http::request::Request;
use twilight_http::routing::Route;
use twilight_model::channel::message::{AllowedMentions, MessageFlags};
use twilight_model::http::interaction::{
    InteractionResponse, InteractionResponseData, InteractionResponseType,
};

use super::Interactions;
use crate::rest::{Fault, codes};
use crate::wire::{Interaction, snowflake};

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

/// Of what only one person sees: no address in it is fetched by itself.
const QUIET: MessageFlags = MessageFlags::EPHEMERAL.union(MessageFlags::SUPPRESS_EMBEDS);

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
        flags: Some(QUIET),
        allowed_mentions: Some(AllowedMentions::default()),
        ..InteractionResponseData::default()
    };
    InteractionResponse {
        kind: InteractionResponseType::ChannelMessageWithSource,
        data: Some(data),
    }
}

impl Interactions {
    /// Tells Discord that an interaction was heard.
    pub(super) async fn acknowledge(
        &self,
        asked: &Interaction,
        response: &InteractionResponse,
    ) -> Acknowledged {
        let Some(id) = snowflake(&asked.id) else {
            return Acknowledged::TooLate;
        };
        let route = Route::InteractionCallback {
            interaction_id: id,
            interaction_token: &asked.token,
            with_response: false,
        };
        let mut tries = 2;
        loop {
            let request = match by_token(&route, &json!(response)) {
                Ok(request) => request,
                Err(fault) => {
                    tracing::warn!(%fault, "an interaction can't be answered");
                    return Acknowledged::TooLate;
                }
            };
            let told = tokio::time::timeout(IN_TIME, self.bot.rest.done(IN_TIME, request)).await;
            let fault = match told {
                Ok(Ok(())) => return Acknowledged::Now,
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
                    self.bot.plane.count_error("interaction");
                    return Acknowledged::TooLate;
                }
            }
        }
    }

    /// Says something to who interacted and to nobody else, after it was acknowledged.
    pub(super) async fn whisper(&self, asked: &Interaction, words: &str) {
        let route = Route::ExecuteWebhook {
            thread_id: None,
            token: &asked.token,
            wait: Some(true),
            with_components: None,
            webhook_id: self.bot.application().get(),
        };
        let words: String = words.chars().take(1900).collect();
        let said = json!({
            "content": words,
            "flags": QUIET.bits(),
            "allowed_mentions": AllowedMentions::default(),
        });
        let told = match by_token(&route, &said) {
            Ok(request) => self.bot.done(request).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = told {
            tracing::debug!(interaction = asked.id, %fault, "who pressed a button could not be told");
        }
    }
}

/// A request that an interaction's own token allows.
fn by_token(route: &Route<'_>, body: &Value) -> Result<Request, Fault> {
    let request = Request::builder(route).use_authorization_token(false);
    let request = request.body(body.to_string().into_bytes()).build();
    request.map_err(|error| Fault::not_made(&error))
}
