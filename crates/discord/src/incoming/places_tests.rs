use cloister_protocol::surface::Heard;
use serde_json::json;

use super::ChannelPlace;
use crate::wire::Channel;

fn place(channel: serde_json::Value) -> ChannelPlace {
    let channel: Channel = serde_json::from_value(channel).expect("a channel");
    ChannelPlace::of(&channel, None)
}

/// I3: direct, channel and thread are three things; what is not known to be direct is shared.
#[test]
fn a_channel_is_what_discord_says_it_is() {
    let direct = place(json!({"id": "1", "type": 1}));
    assert_eq!(direct.heard("1"), Heard::Direct("1".to_owned()));
    let channel = place(json!({"id": "2", "type": 0, "guild_id": "9", "parent_id": "8"}));
    let shared = |id: &str| Heard::Shared(id.to_owned());
    assert_eq!(channel.heard("2"), shared("2"), "a category is no parent of a thread");
    let thread = place(json!({"id": "3", "type": 11, "parent_id": "2", "name": "plans"}));
    let (of, id, title) = ("2".to_owned(), "3".to_owned(), "plans".to_owned());
    assert_eq!(thread.heard("3"), Heard::Thread { of, id, title });
    for kind in [3, 4, 5, 13, 15, 99] {
        let other = place(json!({"id": "4", "type": kind}));
        assert_eq!(other.heard("4"), shared("4"), "{kind}");
    }
}
