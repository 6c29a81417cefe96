//! Requests with pictures, and models that see none: no picture goes to one, and it is told that there was one.

use bytes::Bytes;
use cloister_control::books::Model;
use serde_json::{Value, json};

use super::failure::Failure;
use super::request::ChatRequest;

/// What stands in the place of a picture.
const LEFT_OUT: &str = "[A picture was here. You can't see pictures, and no other model could look at it: say so, and \
                        go by the words alone.]";

/// The order in which a request is tried, and what of it each model is shown.
pub(super) struct PictureOrder {
    whole: ChatRequest,
    /// None where there is no picture to leave out.
    blind: Option<ChatRequest>,
}

impl PictureOrder {
    pub(super) fn of(request: &ChatRequest) -> Self {
        let blind = request.has_images().then(|| without_pictures(request));
        Self { whole: request.clone(), blind }
    }

    /// Models that are known to see nothing come last: all who may see are asked before.
    pub(super) fn arrange(&self, mut chain: Vec<Model>) -> Vec<Model> {
        if self.blind.is_some() {
            chain.sort_by_key(|model| model.profile.vision == Some(false));
        }
        chain
    }

    /// What this model is shown.
    pub(super) fn for_model(&self, model: &Model) -> ChatRequest {
        let blind = self.blind.as_ref().filter(|_| model.profile.vision == Some(false));
        blind.unwrap_or(&self.whole).clone()
    }

    /// What a model of which nothing was known is shown after it has refused the pictures.
    pub(super) fn after(&self, model: &Model, failure: &Failure) -> Option<ChatRequest> {
        let unknown = model.profile.vision.is_none() && failure.is_about_pictures();
        self.blind.clone().filter(|_| unknown)
    }
}

fn without_pictures(request: &ChatRequest) -> ChatRequest {
    let Ok(mut whole) = serde_json::from_slice::<Value>(&request.closed_with("}")) else {
        return request.clone();
    };
    let messages = whole.get_mut("messages").and_then(Value::as_array_mut);
    for message in messages.into_iter().flatten() {
        let Some(Value::Array(parts)) = message.get_mut("content") else { continue };
        for part in parts.iter_mut().filter(|part| part.get("image_url").is_some()) {
            *part = json!({"type": "text", "text": LEFT_OUT});
        }
        // Who sees nothing often takes nothing but a string.
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        message["content"] = Value::from(texts.join("\n\n"));
    }
    let mut object = whole.to_string();
    object.pop();
    request.with_object(Bytes::from(object))
}

#[cfg(test)]
#[path = "pictures_tests.rs"]
mod tests;
