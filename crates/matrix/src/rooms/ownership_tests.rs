use matrix_sdk::ruma::user_id;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn event(sender: &str, kind: &str, content: &serde_json::Value) -> StateEvent {
    let json = json!({
        "type": kind, "sender": sender, "state_key": "", "content": content,
        "event_id": "$x", "origin_server_ts": 5,
    });
    StateEvent::parse(&json.to_string()).unwrap()
}

fn ours() -> ChatClaim {
    let chat = ChatId::from_number(2);
    ChatClaim::new(WorkspaceId::from_number(1), chat, user_id!("@ada:example.org").to_owned())
}

#[test]
fn what_is_written_is_the_agreed_shape() {
    let written = serde_json::to_value(ours()).unwrap();
    let agreed = json!({
        "v": 1, "workspace": "w1", "chat": "C2", "user": "@ada:example.org", "kind": "room",
    });
    assert_eq!(written, agreed);
    let home = HomeClaim::new(user_id!("@ada:example.org").to_owned());
    assert_eq!(serde_json::to_value(home).unwrap(), json!({"v": 1, "user": "@ada:example.org"}));
}

#[test]
fn what_this_account_wrote_is_read_back() {
    let bot = user_id!("@bot:example.org");
    let written = event(bot.as_str(), CHAT_EVENT, &serde_json::to_value(ours()).unwrap());
    assert_eq!(claim_in(&[written], bot), Claim::Chat(ours()));
    assert_eq!(claim_in(&[], bot), Claim::None);
}

#[test]
fn a_redacted_or_newer_mark_claims_nothing() {
    let bot = user_id!("@bot:example.org");
    assert_eq!(claim_in(&[event(bot.as_str(), CHAT_EVENT, &json!({}))], bot), Claim::Unreadable);
    let mut newer = serde_json::to_value(ours()).unwrap();
    newer["v"] = json!(2);
    assert_eq!(claim_in(&[event(bot.as_str(), CHAT_EVENT, &newer)], bot), Claim::Unreadable);
}

proptest! {
    /// X4: whoever else writes our mark, with whatever in it, claims nothing.
    #[test]
    fn no_foreign_sender_is_believed(
        sender in "@[a-z0-9.-]{1,12}:[a-z]{1,8}\\.org",
        chat in 1u32..1000,
        home in any::<bool>(),
    ) {
        let bot = user_id!("@the-bot:example.com");
        let mut claim = ours();
        claim.chat = ChatId::from_number(chat);
        let kind = if home { HOME_EVENT } else { CHAT_EVENT };
        let forged = event(&sender, kind, &serde_json::to_value(claim).unwrap());
        prop_assert_eq!(claim_in(&[forged], bot), Claim::Foreign { sender });
    }
}
