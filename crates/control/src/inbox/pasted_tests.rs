use cloister_protocol::link::Cause;
use cloister_protocol::{Attachment, MessageId};

use super::*;
use crate::test_world::{C1, World};

impl World {
    async fn pasted(&self, id: &str, text: &str, attachments: Vec<Attachment>) -> Vec<Attachment> {
        let id: MessageId = id.parse().unwrap();
        let message = IncomingMessage {
            surface: "test",
            workspace: self.ada.workspace,
            chat: C1,
            id: id.clone(),
            from: self.ada.name.clone(),
            text: text.to_owned(),
            attachments,
            instead: None,
            heard_in: None,
        };
        self.control.inbox().receive(message).await.unwrap();
        let key = format!("{}:{C1}:{id}", self.ada.workspace);
        let stored = self.control.store().inbox().stored_before("test", &key).await.unwrap();
        let Cause::Message { text: kept, attachments, .. } = stored.unwrap().cause else {
            panic!()
        };
        assert_eq!(kept, text, "the words stay as they are");
        attachments
    }

    fn file(&self, attachment: &Attachment) -> String {
        let at = self.control.layout().chat_incoming(self.ada.workspace, C1);
        std::fs::read_to_string(at.join(&attachment.name)).unwrap()
    }
}

#[tokio::test]
async fn a_long_text_is_a_file_of_the_chat_too_and_a_short_one_is_not() {
    let world = World::new().await;
    let long = format!("Sum this up:\n{}", "one line of many\n".repeat(12_000));
    let files = world.pasted("m1", &long, Vec::new()).await;
    assert_eq!(files.len(), 1);
    assert_eq!((files[0].name.as_str(), files[0].mime.as_str()), ("pasted.txt", "text/plain"));
    assert_eq!(world.file(&files[0]), long);
    assert!(world.pasted("m2", "Thanks.", Vec::new()).await.is_empty());
    // A command keeps nothing: nobody is to read it.
    let command = format!("/task {}", "x".repeat(20_000));
    assert!(world.pasted("m3", &command, Vec::new()).await.is_empty());
    // The same again is the same message; with its file it needs no second one.
    assert_eq!(world.pasted("m1", &long, Vec::new()).await, files);
    assert_eq!(world.pasted("m4", &long, files.clone()).await, files);
    let another = world.pasted("m5", &long.to_uppercase(), Vec::new()).await;
    assert_eq!(another[0].name, "pasted-2.txt");
}
