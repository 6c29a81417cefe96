//! Answers to the press of a button.

use serde_json::json;

use super::super::params::Params;
use super::super::refusal::{Answer, Refusal};
use super::super::state::State;

const MAX_TEXT: usize = 200;

pub(super) fn answer(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let old =
        || Refusal::bad("query is too old and response timeout expired or query ID is invalid");
    let id = params.text("callback_query_id").unwrap_or_default();
    let text = params.text("text");
    let alert = params.flag("show_alert");
    params.int("cache_time")?;
    if text.as_ref().is_some_and(|text| text.chars().count() > MAX_TEXT) {
        state.complain("an answer to a press that is too long");
        return Err(Refusal::bad("MESSAGE_TOO_LONG"));
    }
    let lasts = state.query_lasts;
    let query = state.queries.get_mut(&id).ok_or_else(old)?;
    if query.bot != bot || query.answer.is_some() || query.expired || query.at.elapsed() > lasts {
        return Err(old());
    }
    query.answer = Some(json!({"text": text.unwrap_or_default(), "alert": alert}));
    Ok(json!(true))
}
