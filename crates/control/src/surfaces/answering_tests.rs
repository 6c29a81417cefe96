use cloister_protocol::{Answer, ApprovalId, ErrorCode};
use cloister_store::Actor;
use cloister_store::approvals::ApprovalState;
use cloister_store::conversations::Conversation;

use super::*;
use crate::Heard;
use crate::test_world::{ADA, BOB, C1, CLUB, World};

const MESSAGE: &str = "$question";

impl World {
    /// Writes down that a question was posted in a conversation, as its message.
    async fn posted(&self, conversation: &Conversation, question: ApprovalId) {
        let rows = self.store().outbox().to_tell(conversation.id).await.unwrap();
        let asks = |row: &&cloister_store::outbox::OutboxItem| matches!(&row.frame, AgentFrame::Ask(ask) if ask.approval == question);
        let row = rows.iter().find(asks).unwrap();
        self.store().outbox().begin_post(conversation.id, "key", Some(row.id)).await.unwrap();
        self.store().outbox().finish_post(conversation.id, "key", MESSAGE).await.unwrap();
    }

    async fn presses(
        &self,
        by: &str,
        conversation: &Conversation,
        message: &str,
    ) -> Result<Option<Approval>, SurfaceError> {
        let conversation = conversation.id;
        let answer = Answer::Allow;
        self.control
            .surfaces()
            .press(Pressed { surface: "matrix", by, conversation, message, answer })
            .await
    }

    /// The conversation, after somebody wrote there: what is asked in its chat is told there.
    async fn active(&self, by: &str, heard: Heard<'_>) -> Conversation {
        let speaker = self.speaker(by, heard).await;
        let message = crate::IncomingMessage {
            surface: "matrix",
            workspace: speaker.workspace,
            chat: speaker.chat,
            id: "m".parse().unwrap(),
            from: speaker.name,
            text: "!status".into(),
            attachments: Vec::new(),
            instead: None,
            heard_in: Some(cloister_store::inbox::HeardIn {
                conversation: speaker.conversation.id,
                origin: None,
            }),
        };
        self.control.inbox().receive(message).await.unwrap();
        speaker.conversation
    }
}

/// X2: a reaction to a question answers it, as the person whose account reacted.
#[tokio::test]
async fn a_reaction_answers_the_question_it_is_on() {
    let world = World::new().await;
    let room = world.active(ADA, Heard::Direct("!dm")).await;
    let question = world.asked(world.ada.workspace, C1, world.ada.id, "outward").await;
    world.posted(&room, question).await;
    assert!(world.presses(ADA, &room, "$other").await.unwrap().is_none(), "it asks nothing");
    let approval = world.presses(ADA, &room, MESSAGE).await.unwrap().unwrap();
    assert_eq!((approval.id, approval.state), (question, ApprovalState::Allowed));
    let again = world.presses(ADA, &room, MESSAGE).await.unwrap_err();
    assert_eq!(again.code(), ErrorCode::NotFound, "it is answered once");
}

/// E63, E81: a reaction of who may not answer changes nothing: a stranger, a member who was not asked, a person
/// with every role elsewhere.
#[tokio::test]
async fn a_reaction_of_who_may_not_answer_changes_nothing() {
    let world = World::new().await;
    let overlord = crate::account("matrix", "@root:example.org", "").unwrap();
    world
        .control
        .people()
        .link_identity(&Actor::person("root"), &world.root, &overlord)
        .await
        .unwrap();
    let own = world.active(ADA, Heard::Direct("!dm")).await;
    let private = world.asked(world.ada.workspace, C1, world.ada.id, "outward").await;
    world.posted(&own, private).await;
    for other in [BOB, "@root:example.org", "@eve:example.org"] {
        let refused = world.presses(other, &own, MESSAGE).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Forbidden, "{other}");
    }

    world.club_room("general", CLUB).await;
    world.role(&world.ada, "member").await;
    world.role(&world.bob, "member").await;
    let shared = world.active(ADA, Heard::Shared(CLUB)).await;
    let middle = world.asked(shared.workspace, shared.chat, world.ada.id, "middle").await;
    world.posted(&shared, middle).await;
    assert!(world.presses(BOB, &shared, MESSAGE).await.is_err(), "bob was not asked");
    // The same message in another conversation is another message.
    assert!(world.presses(ADA, &own, "$elsewhere").await.unwrap().is_none());
    for question in [private, middle] {
        let state = world.store().approvals().approval(question).await.unwrap().state;
        assert_eq!(state, ApprovalState::Pending);
    }
    world.presses(ADA, &shared, MESSAGE).await.unwrap().unwrap();
}
