//! What a client sends, read, or told what is wrong with it.

use cloister_protocol::{ClientFrame, ErrorCode, ErrorFrame, MAX_FRAME_BYTES};

pub(crate) fn error(code: ErrorCode, message: &str, id: Option<String>) -> ErrorFrame {
    ErrorFrame { code, message: message.to_owned(), id, retry_after_s: None }
}

/// Reads a frame, or says what is wrong with it.
pub(crate) fn read_frame(text: &str) -> Result<ClientFrame, ErrorFrame> {
    if text.len() > MAX_FRAME_BYTES {
        let message =
            format!("the frame has {} bytes; at most {MAX_FRAME_BYTES} are taken", text.len());
        return Err(error(ErrorCode::TooLarge, &message, None));
    }
    // Twice only where something is wrong with it.
    serde_json::from_str(text).or_else(|_unreadable| read_closely(text))
}

/// Reads a frame that is none at first sight, to say what is wrong with it.
fn read_closely(text: &str) -> Result<ClientFrame, ErrorFrame> {
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|e| error(ErrorCode::BadRequest, &format!("the frame is not JSON: {e}"), None))?;
    let id = value.get("id").and_then(|id| id.as_str()).map(|id| id.chars().take(128).collect());
    let Some(kind) = value.get("type").and_then(|kind| kind.as_str()) else {
        return Err(error(ErrorCode::BadRequest, "the frame has no \"type\"", id));
    };
    if !["message", "cancel", "approval"].contains(&kind) {
        let kind: String = kind.chars().take(40).collect();
        let message = format!("{kind:?} is not a frame that a client sends");
        return Err(error(ErrorCode::UnknownType, &message, id));
    }
    serde_json::from_value(value).map_err(|e| error(ErrorCode::BadRequest, &e.to_string(), id))
}
