use super::is_private;
use crate::incoming::ChannelPlace;

/// What is a person's own is not shown to a channel (X6).
#[test]
fn answers_about_a_person_are_for_that_person_where_others_read_along() {
    let channel = ChannelPlace { guild: Some("1".to_owned()), ..ChannelPlace::default() };
    let direct = ChannelPlace { direct: true, ..ChannelPlace::default() };
    for command in ["settings", "approvals", "chats", "pair", "config", "grants"] {
        assert!(is_private(command, &channel), "{command}");
        assert!(!is_private(command, &direct), "{command}: alone with the agent nothing is hidden");
    }
    for command in ["task", "approve", "deny", "new", "cancel"] {
        assert!(!is_private(command, &channel), "{command}");
    }
}
