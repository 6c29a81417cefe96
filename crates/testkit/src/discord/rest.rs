//! REST v10: which address does what, and how it refuses.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Map, Value, json};

use super::body::Upload;
use super::state::{Id, Shared, State};
use super::{accounts, channels, commands, interactions, messages, reading};

/// A request that was let in.
pub(super) struct Call {
    pub(super) method: String,
    pub(super) route: String,
    pub(super) segments: Vec<String>,
    pub(super) query: HashMap<String, String>,
    pub(super) json: Value,
    pub(super) files: Vec<Upload>,
    pub(super) bytes: usize,
    /// Who asks; 0 where a token in the address says it.
    pub(super) bot: Id,
}

#[derive(Debug)]
pub(super) enum Done {
    Json(Value),
    Empty,
}

/// What is refused, in the words of the service.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: u32,
    pub(super) message: String,
    pub(super) errors: Option<Value>,
    /// In seconds.
    pub(super) retry_after: Option<f64>,
}

impl Refusal {
    pub(super) fn new(status: u16, code: u32, message: &str) -> Self {
        Self { status, code, message: message.to_owned(), errors: None, retry_after: None }
    }

    pub(super) fn unknown(code: u32, what: &str) -> Self {
        Self::new(404, code, &format!("Unknown {what}"))
    }

    pub(super) fn missing_access() -> Self {
        Self::new(403, 50001, "Missing Access")
    }

    pub(super) fn missing_permissions() -> Self {
        Self::new(403, 50013, "Missing Permissions")
    }

    pub(super) fn invalid_form(errors: Value) -> Self {
        Self { errors: Some(errors), ..Self::new(400, 50035, "Invalid Form Body") }
    }

    pub(super) fn envelope(&self) -> Value {
        let mut told = json!({"message": self.message, "code": self.code});
        if let Some(errors) = &self.errors {
            told["errors"] = errors.clone();
        }
        if let Some(after) = self.retry_after {
            told["retry_after"] = json!(after);
            told["global"] = json!(false);
        }
        told
    }

    /// Whether whoever asked should have known better.
    pub(super) fn is_our_fault(&self) -> bool {
        self.status == 400 || self.status == 413
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} {}", self.status, self.code, self.message)?;
        if let Some(errors) = &self.errors {
            write!(out, " {errors}")?;
        }
        Ok(())
    }
}

pub(super) type Outcome = Result<Done, Refusal>;

/// What is wrong with a form, each at its place.
#[derive(Debug, Default)]
pub(super) struct Wrongs(Option<Value>);

impl Wrongs {
    pub(super) fn add(&mut self, place: &str, code: &str, message: &str) {
        let mut at = self.0.get_or_insert_with(|| json!({}));
        for part in place.split('.') {
            let Value::Object(fields) = at else { return };
            at = fields.entry(part).or_insert_with(|| Value::Object(Map::new()));
        }
        at["_errors"] = json!([{"code": code, "message": message}]);
    }

    pub(super) fn too_long(&mut self, place: &str, most: usize) {
        let message = format!("Must be {most} or fewer in length.");
        self.add(place, "BASE_TYPE_MAX_LENGTH", &message);
    }

    pub(super) fn required(&mut self, place: &str) {
        self.add(place, "BASE_TYPE_REQUIRED", "This field is required");
    }

    pub(super) fn done(self) -> Result<(), Refusal> {
        match self.0 {
            None => Ok(()),
            Some(errors) => Err(Refusal::invalid_form(errors)),
        }
    }
}

/// Fields that nobody knows are a mistake of who sends them.
pub(super) fn only(state: &mut State, route: &str, json: &Value, known: &[&str]) {
    let Some(fields) = json.as_object() else { return };
    for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
        state.complain(format!("{route}: there is no field {name:?}"));
    }
}

pub(super) fn query(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub(super) fn act(shared: &Shared, call: &Call) -> Outcome {
    let mut state = shared.state();
    let state = &mut *state;
    let segments: Vec<&str> = call.segments.iter().map(String::as_str).collect();
    let done = match (call.method.as_str(), segments.as_slice()) {
        (_, ["users" | "applications" | "gateway" | "oauth2" | "guilds", ..])
            if !segments.contains(&"commands") =>
        {
            accounts::act(shared, state, call, &segments)
        }
        (_, ["applications", application, rest @ ..]) => {
            commands::act(state, call, application, rest)
        }
        ("POST", ["channels", channel, "messages"]) => {
            messages::create(shared, state, call, id(channel)?)
        }
        ("GET", ["channels", channel, "messages"]) => {
            reading::list(shared, state, call, id(channel)?)
        }
        ("GET", ["channels", channel, "messages", message]) => {
            reading::one(shared, state, call, id(channel)?, id(message)?)
        }
        ("PATCH", ["channels", channel, "messages", message]) => {
            messages::edit(shared, state, call, id(channel)?, id(message)?)
        }
        ("DELETE", ["channels", channel, "messages", message]) => {
            messages::delete(state, call, id(channel)?, id(message)?)
        }
        (_, ["channels", channel, rest @ ..]) => {
            channels::act(shared, state, call, id(channel)?, rest)
        }
        (_, ["interactions" | "webhooks", ..]) => interactions::act(shared, state, call, &segments),
        _ => Err(no_route(state, call)),
    };
    shared.stir();
    done
}

pub(super) fn no_route(state: &mut State, call: &Call) -> Refusal {
    state.complain(format!("{}: no such address", call.route));
    Refusal::new(404, 0, "404: Not Found")
}

pub(super) fn id(text: &str) -> Result<Id, Refusal> {
    let wrong = |_error| {
        let mut wrongs = Wrongs::default();
        wrongs.add("id", "NUMBER_TYPE_COERCE", &format!("Value {text:?} is not snowflake."));
        wrongs.done().err().unwrap_or_else(Refusal::missing_access)
    };
    text.parse().map_err(wrong)
}
