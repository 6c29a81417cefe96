use serde_json::json;

use super::{Event, Packet};

#[test]
fn a_message_is_read_although_something_in_it_is_of_an_unknown_kind() {
    let packet = json!({"op": 0, "s": 4, "t": "MESSAGE_CREATE", "d": {
        "id": "1000", "channel_id": "7", "type": 0, "content": "hello",
        "author": {"id": "5", "username": "ada", "avatar_decoration_data": {"new": true}},
        "components": [{"type": 99, "odd": []}], "flags": "many",
        "attachments": [{"no": "address"}, {"url": "https://cdn.discordapp.com/a", "size": "big"}],
    }});
    let packet = Packet::read(&packet.to_string()).expect("a packet");
    assert_eq!((packet.op, packet.s), (0, Some(4)));
    let Event::Said(message) = Event::read("MESSAGE_CREATE", packet.d) else {
        panic!("no message")
    };
    assert_eq!((message.content.as_str(), message.author.id.as_str()), ("hello", "5"));
    assert_eq!(message.attachments.len(), 1, "what can't be read is left out");
    assert!(message.is_by_a_person());
}

/// A server that is out of order has not thrown the bot out.
#[test]
fn a_server_that_is_unavailable_is_not_gone() {
    let unavailable = Event::read("GUILD_DELETE", json!({"id": "3", "unavailable": true}));
    assert!(matches!(unavailable, Event::Nothing));
    let gone = Event::read("GUILD_DELETE", json!({"id": "3"}));
    assert!(matches!(gone, Event::GuildGone(id) if id == "3"));
}

#[test]
fn what_cannot_be_read_is_nothing() {
    assert!(matches!(Event::read("MESSAGE_CREATE", json!([])), Event::Nothing));
    assert!(matches!(Event::read("SOMETHING_NEW", json!({})), Event::Nothing));
    assert!(Packet::read("not json").is_none());
}

#[test]
fn only_what_was_said_says_how_far_messages_were_heard() {
    let said = Event::read("MESSAGE_CREATE", json!({"id": "1000", "channel_id": "7"}));
    assert_eq!(said.mark(), Some(1000));
    let edited = Event::read("MESSAGE_UPDATE", json!({"id": "999999", "channel_id": "7"}));
    assert_eq!(edited.mark(), None);
}

#[test]
fn a_session_says_which_servers_will_come() {
    let data =
        json!({"guilds": [{"id": "7", "unavailable": true}, {"unavailable": true}, {"id": "8"}]});
    let Event::Ready(servers) = Event::read("READY", data) else { panic!("no beginning") };
    assert_eq!(servers, ["7", "8"]);
}
