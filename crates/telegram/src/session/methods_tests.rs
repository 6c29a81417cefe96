use serde_json::json;

use super::*;

/// What is said is spelled as Telegram reads it, and what there is not is left out.
#[test]
fn a_message_is_spelled_as_telegram_reads_it() {
    let entity = |kind, url: Option<&str>| Entity {
        kind,
        offset: 0,
        length: 2,
        url: url.map(str::to_owned),
        language: None,
    };
    let mut message = SendMessage {
        chat_id: -5,
        message_thread_id: None,
        text: "hi".to_owned(),
        entities: Vec::new(),
        link_preview_options: LinkPreview { is_disabled: true },
        reply_parameters: None,
        reply_markup: None,
    };
    let bare = json!({"chat_id": -5, "text": "hi", "link_preview_options": {"is_disabled": true}});
    assert_eq!(serde_json::to_value(&message).unwrap(), bare);
    message.message_thread_id = Some(7);
    message.entities = vec![
        entity(EntityKind::ExpandableBlockquote, None),
        entity(EntityKind::TextLink, Some("https://a.example")),
    ];
    message.reply_parameters = Some(Reply { message_id: 3, allow_sending_without_reply: true });
    let button = KeyboardButton { text: "Yes".to_owned(), callback_data: "token".to_owned() };
    message.reply_markup = Some(Keyboard { inline_keyboard: vec![vec![button]] });
    let said = serde_json::to_value(&message).unwrap();
    assert_eq!(said["message_thread_id"], 7);
    assert_eq!(
        said["entities"],
        json!([
            {"type": "expandable_blockquote", "offset": 0, "length": 2},
            {"type": "text_link", "offset": 0, "length": 2, "url": "https://a.example"},
        ])
    );
    assert_eq!(
        said["reply_parameters"],
        json!({"message_id": 3, "allow_sending_without_reply": true})
    );
    assert_eq!(
        said["reply_markup"],
        json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "token"}]]})
    );
}

#[test]
fn scopes_and_actions_are_spelled_as_telegram_reads_them() {
    for (scope, name) in [
        (CommandScope::Private, "all_private_chats"),
        (CommandScope::Groups, "all_group_chats"),
        (CommandScope::Administrators, "all_chat_administrators"),
    ] {
        assert_eq!(serde_json::to_value(scope).unwrap(), json!({ "type": name }));
    }
    for (action, name) in [
        (Action::Typing, "typing"),
        (Action::UploadPhoto, "upload_photo"),
        (Action::UploadVoice, "upload_voice"),
        (Action::UploadVideo, "upload_video"),
        (Action::UploadDocument, "upload_document"),
    ] {
        assert_eq!(serde_json::to_value(action).unwrap(), json!(name));
    }
}
