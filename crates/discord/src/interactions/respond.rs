//! Acknowledging an interaction, in time.

use std::time::Duration;

use serde_json::{Value, json};

use super::Interactions;
use super::autocomplete::Offered;
use crate::rest::{Fault, Request, at, codes};
use crate::wire::{Interaction, snowflake};

/// Discord waits three seconds, on the way there and back too.
const IN_TIME: Duration = Duration::from_millis(2500);

/// Only who interacted sees it.
const EPHEMERAL: u64 = 1 << 6;
/// And no address in it is fetched by itself.
const QUIET: u64 = EPHEMERAL | 1 << 2;
/// The kinds of an acknowledgement.
const SAYS: u8 = 4;
const WILL_SAY: u8 = 5;
const WILL_EDIT: u8 = 6;
const OFFERS: u8 = 8;

/// What Discord made of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledged {
    Now,
    /// By us, before we were killed.
    Before,
    /// It is too late: Discord has told the person that nothing came.
    TooLate,
}

/// An acknowledgement, as Discord takes it.
pub(super) struct Acknowledgement(Value);

/// "Is thinking…", for everybody or for one person alone.
pub(super) fn thinking(private: bool) -> Acknowledgement {
    let flags = if private { EPHEMERAL } else { 0 };
    Acknowledgement(json!({ "type": WILL_SAY, "data": { "flags": flags } }))
}

/// A press was seen; the message stays as it is until it is edited.
pub(super) fn seen() -> Acknowledgement {
    Acknowledgement(json!({ "type": WILL_EDIT }))
}

/// A sentence that only who interacted sees.
pub(super) fn only_for_them(words: &str) -> Acknowledgement {
    Acknowledgement(json!({ "type": SAYS, "data": whispered(words) }))
}

/// What can be chosen from.
pub(super) fn offer(choices: &[Offered]) -> Acknowledgement {
    Acknowledgement(json!({ "type": OFFERS, "data": { "choices": choices } }))
}

fn whispered(words: &str) -> Value {
    let words: String = words.chars().take(1900).collect();
    json!({ "content": words, "flags": QUIET, "allowed_mentions": { "parse": [] } })
}

impl Interactions {
    /// Tells Discord that an interaction was heard.
    pub(super) async fn acknowledge(
        &self,
        asked: &Interaction,
        response: &Acknowledgement,
    ) -> Acknowledged {
        let Some(id) = snowflake(&asked.id) else {
            return Acknowledged::TooLate;
        };
        let mut tries = 2;
        loop {
            let there = Request::post(at::callback(id, &asked.token)).by_token();
            let request = match there.saying(&response.0) {
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
        let there = Request::post(at::after(self.bot.application(), &asked.token)).by_token();
        let told = match there.saying(&whispered(words)) {
            Ok(request) => self.bot.done(request).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = told {
            tracing::debug!(interaction = asked.id, %fault, "who pressed a button could not be told");
        }
    }
}
