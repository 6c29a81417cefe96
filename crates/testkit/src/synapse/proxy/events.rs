//! The joined rooms in the answer to a sync: taken apart and put together.

use serde_json::{Map, Value, json};

pub(super) fn has_timeline(rooms: &Value) -> bool {
    let rooms = rooms.as_object().into_iter().flatten();
    rooms.into_iter().any(|(_, room)| {
        room.pointer("/timeline/events").and_then(Value::as_array).is_some_and(|e| !e.is_empty())
    })
}

/// Takes what happened in the rooms out of them; a room stays with all else it says.
pub(super) fn take_timelines(rooms: &mut Value) -> Value {
    let mut taken = Map::new();
    for (id, room) in rooms.as_object_mut().into_iter().flatten() {
        let Some(events) = room.pointer_mut("/timeline/events").map(Value::take) else { continue };
        room["timeline"]["events"] = json!([]);
        taken.insert(id.clone(), json!({"timeline": {"events": events, "limited": false}}));
    }
    Value::Object(taken)
}

/// Adds the events of rooms behind those of others; rooms that are new are added whole.
pub(super) fn append(rooms: &mut Value, more: Value) {
    let Value::Object(more) = more else { return };
    for (id, room) in more {
        let Some(known) = rooms.get_mut(&id) else {
            rooms[id] = room;
            continue;
        };
        let added = room.pointer("/timeline/events").and_then(Value::as_array).cloned();
        let events = known.pointer_mut("/timeline/events").and_then(Value::as_array_mut);
        if let (Some(events), Some(added)) = (events, added) {
            events.extend(added);
        } else if let Some(timeline) = room.get("timeline") {
            known["timeline"] = timeline.clone();
        }
    }
}

/// Takes out what says that a room is encrypted.
pub(super) fn hide_encryption(rooms: &mut Value) {
    for (_, room) in rooms.as_object_mut().into_iter().flatten() {
        for list in ["/state/events", "/timeline/events"] {
            if let Some(events) = room.pointer_mut(list).and_then(Value::as_array_mut) {
                events.retain(|event| event["type"] != "m.room.encryption");
            }
        }
    }
}
