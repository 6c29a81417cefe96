//! Keyboards under messages: what Telegram takes as one.

use serde_json::Value;

use super::refusal::Refusal;
use super::state::State;

const MAX_BUTTONS: usize = 100;
const MAX_IN_A_ROW: usize = 8;
const MAX_DATA: usize = 64;

/// The inline keyboard of a message; none where it has no buttons.
pub(super) fn inline(state: &mut State, markup: Option<Value>) -> Result<Option<Value>, Refusal> {
    let Some(markup) = markup else { return Ok(None) };
    let Some(rows) = markup.get("inline_keyboard").and_then(Value::as_array) else {
        if markup.as_object().is_some_and(serde_json::Map::is_empty) {
            return Ok(None);
        }
        state.complain(format!("a reply_markup that is no inline keyboard: {markup}"));
        return Err(Refusal::bad("inline keyboard expected"));
    };
    let mut count = 0;
    for row in rows {
        let Some(row) = row.as_array() else {
            return Err(Refusal::bad("can't parse inline keyboard button: expected an Array"));
        };
        if row.len() > MAX_IN_A_ROW {
            state.complain(format!("{} buttons in a row", row.len()));
        }
        count += row.len();
        for button in row {
            check(state, button)?;
        }
    }
    if count > MAX_BUTTONS {
        return Err(Refusal::bad("reply markup is too long"));
    }
    let markup = serde_json::json!({ "inline_keyboard": rows });
    Ok((count > 0).then_some(markup))
}

fn check(state: &mut State, button: &Value) -> Result<(), Refusal> {
    let text = button["text"].as_str().unwrap_or_default();
    if text.trim().is_empty() {
        state.complain(format!("a button without text: {button}"));
        return Err(Refusal::bad(
            "can't parse inline keyboard button: Field \"text\" must be non-empty",
        ));
    }
    match button.get("callback_data").map(|data| data.as_str().unwrap_or_default()) {
        Some(data) if data.is_empty() || data.len() > MAX_DATA => {
            state.complain(format!("callback data of {} bytes", data.len()));
            Err(Refusal::bad("BUTTON_DATA_INVALID"))
        }
        Some(_) => Ok(()),
        None if button.get("url").is_some() => Ok(()),
        None => Err(Refusal::bad("text buttons are unallowed in the inline keyboard")),
    }
}
