//! What a person with the plainest of clients does to rooms, and what the server says a room is: no library of ours
//! stands between.

use serde_json::{Value, json};

use super::SynapseError;
use super::account::unique;
use super::http::escaped;
use super::plain::PlainPerson;

impl PlainPerson {
    /// Makes a room, as this body of `createRoom` says.
    pub async fn make_room(&self, body: &Value) -> Result<String, SynapseError> {
        let made = self.call("POST", "/_matrix/client/v3/createRoom", Some(body)).await?;
        Ok(text(&made, "room_id"))
    }

    /// Sends any event; its id.
    pub async fn send(
        &self,
        room: &str,
        kind: &str,
        content: &Value,
    ) -> Result<String, SynapseError> {
        let path = path_of(room, &format!("send/{}/{}", escaped(kind), unique()));
        Ok(text(&self.call("PUT", &path, Some(content)).await?, "event_id"))
    }

    /// Reacts to a message; the id of the reaction.
    pub async fn react(&self, room: &str, to: &str, with: &str) -> Result<String, SynapseError> {
        let relation = json!({"rel_type": "m.annotation", "event_id": to, "key": with});
        self.send(room, "m.reaction", &json!({"m.relates_to": relation})).await
    }

    /// Takes an event away.
    pub async fn redact(&self, room: &str, event: &str) -> Result<(), SynapseError> {
        let path = path_of(room, &format!("redact/{}/{}", escaped(event), unique()));
        self.call("PUT", &path, Some(&json!({}))).await.map(drop)
    }

    pub async fn set_state(
        &self,
        room: &str,
        kind: &str,
        content: &Value,
    ) -> Result<(), SynapseError> {
        let path = path_of(room, &format!("state/{}/", escaped(kind)));
        self.call("PUT", &path, Some(content)).await.map(drop)
    }

    /// The content of a state event, as the server has it.
    pub async fn state(&self, room: &str, kind: &str, key: &str) -> Result<Value, SynapseError> {
        let path = path_of(room, &format!("state/{}/{}", escaped(kind), escaped(key)));
        self.call("GET", &path, None).await
    }

    /// What somebody is in a room, as the server has it; empty if they never had to do with it.
    pub async fn membership(&self, room: &str, whom: &str) -> Result<String, SynapseError> {
        match self.state(room, "m.room.member", whom).await {
            Ok(content) => Ok(text(&content, "membership")),
            Err(SynapseError::Refused { status: 404, .. }) => Ok(String::new()),
            Err(error) => Err(error),
        }
    }

    /// Invites somebody to a room.
    pub async fn ask_in(&self, room: &str, whom: &str) -> Result<(), SynapseError> {
        let path = path_of(room, "invite");
        self.call("POST", &path, Some(&json!({"user_id": whom}))).await.map(drop)
    }

    pub async fn join(&self, room: &str) -> Result<(), SynapseError> {
        self.call("POST", &path_of(room, "join"), Some(&json!({}))).await.map(drop)
    }

    pub async fn leave(&self, room: &str) -> Result<(), SynapseError> {
        self.call("POST", &path_of(room, "leave"), Some(&json!({}))).await.map(drop)
    }

    /// The rooms that the account is in, as the server has it.
    pub async fn joined(&self) -> Result<Vec<String>, SynapseError> {
        let listed = self.call("GET", "/_matrix/client/v3/joined_rooms", None).await?;
        let rooms = listed.get("joined_rooms").and_then(Value::as_array);
        Ok(rooms.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Every event of a room that the server shows, from the beginning.
    pub async fn events(&self, room: &str) -> Result<Vec<Value>, SynapseError> {
        let mut events = Vec::new();
        let mut from = String::new();
        loop {
            let path = path_of(room, &format!("messages?dir=f&limit=500{from}"));
            let page = self.call("GET", &path, None).await?;
            let chunk = page.get("chunk").and_then(Value::as_array).cloned().unwrap_or_default();
            let end = page.get("end").and_then(Value::as_str);
            let done = chunk.is_empty() || end.is_none();
            events.extend(chunk);
            if done {
                return Ok(events);
            }
            from = format!("&from={}", escaped(end.unwrap_or_default()));
        }
    }
}

fn path_of(room: &str, what: &str) -> String {
    format!("/_matrix/client/v3/rooms/{}/{what}", escaped(room))
}

fn text(object: &Value, field: &str) -> String {
    object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
