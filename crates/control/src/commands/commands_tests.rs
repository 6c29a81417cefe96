use cloister_protocol::{AgentFrame, ApprovalId, ChatId, ErrorCode};
use cloister_store::Actor;
use cloister_store::approvals::ApprovalState;
use cloister_store::conversations::{Conversation, ConversationKind};
use cloister_store::inbox::InboxItem;
use cloister_store::users::User;

use super::*;
use crate::Heard;
use crate::test_world::{ADA, BOB, C1, CLUB, World};

#[test]
fn commands_are_told_from_talk() {
    assert_eq!(parse("/Status ").unwrap().verb, Some(Verb::Status));
    assert_eq!(parse("!cancel T3").unwrap().rest, "T3");
    assert!(parse("/frobnicate").unwrap().verb.is_none());
    for talk in ["status", "/etc/hosts is wrong", "/", "!?", "/new\nline", "and /help"] {
        assert!(parse(talk).is_none(), "{talk:?}");
    }
}

#[test]
fn every_command_is_found_by_its_name_with_either_sign() {
    for command in COMMANDS {
        for sign in ['/', '!'] {
            let typed = parse(&format!("{sign}{}", command.name)).unwrap();
            assert_eq!(typed.verb, Some(command.verb));
        }
    }
    let asked_for = "start new archive rename chats clear context status cancel tasks settings yes no \
                     approve deny pair help";
    for name in asked_for.split_whitespace() {
        assert!(COMMANDS.iter().any(|command| command.name == name), "{name}");
    }
}

/// Somebody who types in a conversation, or on the web.
struct Typing<'a> {
    world: &'a World,
    user: &'a User,
    chat: (cloister_protocol::WorkspaceId, ChatId),
    conversation: Option<Conversation>,
}

impl<'a> Typing<'a> {
    /// In the person's own chat, on the web.
    fn on_web(world: &'a World, user: &'a User) -> Self {
        Self { world, user, chat: (user.workspace, C1), conversation: None }
    }

    /// In a chat of the club, over the agent socket: no conversation says that others read along.
    fn in_club(world: &'a World, user: &'a User, chat: ChatId) -> Self {
        Self { world, user, chat: (world.club.workspace, chat), conversation: None }
    }

    async fn heard(world: &'a World, user: &'a User, id: &str, heard: Heard<'_>) -> Self {
        let speaker = world.speaker(id, heard).await;
        let chat = (speaker.workspace, speaker.chat);
        Self { world, user, chat, conversation: Some(speaker.conversation) }
    }

    async fn direct(world: &'a World, user: &'a User, id: &str) -> Self {
        Self::heard(world, user, id, Heard::Direct("!dm:example.org")).await
    }

    async fn row(&self, text: &str) -> InboxItem {
        self.world.stored(self.chat, self.user, text, self.conversation.as_ref()).await
    }

    async fn said_to(&self, row: &InboxItem, text: &str) -> (String, Option<ErrorCode>) {
        self.world.control.commands().said_to(row, &parse(text).unwrap()).await.unwrap()
    }

    async fn types(&self, text: &str) -> (String, Option<ErrorCode>) {
        self.said_to(&self.row(text).await, text).await
    }

    /// What is answered to something that must work.
    async fn gets(&self, text: &str) -> String {
        let (said, error) = self.types(text).await;
        assert_eq!(error, None, "{text}: {said}");
        said
    }

    /// What is answered to something that must not.
    async fn is_refused(&self, text: &str) -> String {
        let (said, error) = self.types(text).await;
        assert!(error.is_some(), "{text}: {said}");
        said
    }
}

async fn club() -> World {
    let world = World::new().await;
    world.club_room("general", CLUB).await;
    world
}

impl World {
    async fn state(&self, id: ApprovalId) -> ApprovalState {
        self.store().approvals().approval(id).await.unwrap().state
    }
}

/// X2: an unknown command gets a short hint, with what may have been meant.
#[tokio::test]
async fn an_unknown_command_gets_a_hint() {
    let world = World::new().await;
    let web = Typing::on_web(&world, &world.ada);
    assert_eq!(
        web.is_refused("/statsu now").await,
        "/statsu: there is no such command\ndid you mean /status? /help lists them all"
    );
    let matrix = Typing::direct(&world, &world.ada, ADA).await;
    assert_eq!(
        matrix.is_refused("/frobnicate").await,
        "!frobnicate: there is no such command\n!help lists them"
    );
}

#[tokio::test]
async fn help_is_short_grouped_and_spelled_for_its_surface() {
    let world = World::new().await;
    let web = Typing::on_web(&world, &world.ada).gets("/help").await;
    assert!(web.lines().count() <= 9, "{web}");
    for command in COMMANDS {
        assert!(web.contains(command.usage), "{} is not in\n{web}", command.usage);
    }
    let matrix = Typing::direct(&world, &world.ada, ADA).await;
    let help = matrix.gets("!help").await;
    assert!(help.contains("!new [title]") && !help.contains(" /"), "{help}");
    assert_eq!(
        matrix.gets("!help cancel").await,
        "!cancel [T1 | all]: stop one task, or everything that runs in this chat"
    );
    assert!(matrix.is_refused("!help cancle").await.contains("!help cancel"));
    assert_eq!(
        matrix.gets("!start").await,
        world.control.surfaces().welcome(world.ada.id, "matrix").await.unwrap()
    );
}

/// X2: `!new` makes the chat and wants a room for it, both or none, and once however often the row is run.
#[tokio::test]
async fn a_new_chat_wants_a_room_once() {
    let world = World::new().await;
    let ada = Typing::direct(&world, &world.ada, ADA).await;
    let mut changes = world.control.surfaces().chat_changes();
    let row = ada.row("!new Taxes 2026").await;
    let (said, _) = ada.said_to(&row, "!new Taxes 2026").await;
    assert!(said.starts_with("C2 “Taxes 2026”:"), "{said}");
    changes.next().await;
    assert_eq!(ada.said_to(&row, "!new Taxes 2026").await.0, said, "the same row again");
    let wanted =
        world.store().conversations().conversations_to_mend(world.connector.id).await.unwrap();
    let [wanted] = wanted.as_slice() else { panic!("{wanted:?}") };
    let Conversation { external_id, chat, kind, user, .. } = &wanted.conversation;
    assert_eq!((external_id, chat.number(), kind), (&None, 2, &ConversationKind::Room));
    assert_eq!((*user, wanted.title.as_str()), (Some(world.ada.id), "Taxes 2026"));
    assert_eq!(world.store().chats().of(world.ada.workspace).await.unwrap().len(), 2);
    let listed = ada.gets("!chats").await;
    assert_eq!(listed, "C1  [matrix] (here)\nC2 Taxes 2026 [matrix, being opened]");

    let web = Typing::on_web(&world, &world.ada);
    assert_eq!(web.gets("/new Garden").await, "C3 is open.");
    let wanted =
        world.store().conversations().conversations_to_mend(world.connector.id).await.unwrap();
    assert_eq!(wanted.len(), 1, "the web wants no room");
}

/// X2: renaming and putting away reach the rooms, from wherever they are done.
#[tokio::test]
async fn a_room_is_to_show_what_its_chat_became() {
    let world = World::new().await;
    let room = world.room_of(&world.ada, C1, "!room").await;
    world.store().conversations().set_shown(room.id, "", false).await.unwrap();
    let ada = Typing::heard(&world, &world.ada, ADA, Heard::Direct("!room")).await;
    let mut changes = world.control.surfaces().chat_changes();
    assert_eq!(ada.gets("!rename Taxes").await, "C1 is now “Taxes”.");
    changes.next().await;
    let mend =
        world.store().conversations().conversations_to_mend(world.connector.id).await.unwrap();
    assert_eq!(mend.first().map(|mend| mend.title.as_str()), Some("Taxes"));
    assert!(ada.is_refused("!rename  ").await.contains("!rename TITLE"));
    let said = ada.gets("!archive").await;
    assert!(said.starts_with("C1 is archived.") && said.contains("stays readable"), "{said}");
    changes.next().await;
    world
        .control
        .chats()
        .archive_chat(&Actor::person("test"), world.ada.workspace, C1, false)
        .await
        .unwrap();
    changes.next().await;
    let bobs = world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), world.bob.workspace, "", None)
        .await
        .unwrap()
        .id;
    ada.is_refused(&format!("!archive {bobs}")).await;
    assert!(
        !world.store().chats().chat(world.bob.workspace, bobs).await.unwrap().archived,
        "bob's C2"
    );
}

/// X2: who has put their only chat away can still say so, and opens it or another.
#[tokio::test]
async fn a_command_is_taken_in_an_archived_chat_and_talk_is_not() {
    let world = World::new().await;
    let speaker = world.speaker(ADA, Heard::Direct("!dm")).await;
    world
        .control
        .chats()
        .archive_chat(&Actor::person("test"), world.ada.workspace, C1, true)
        .await
        .unwrap();
    let say = |id: &str, text: &str| {
        world.control.inbox().receive(crate::IncomingMessage {
            surface: "matrix",
            workspace: speaker.workspace,
            chat: speaker.chat,
            id: id.parse().unwrap(),
            from: speaker.name.clone(),
            text: text.into(),
            attachments: Vec::new(),
            instead: None,
            heard_in: Some(cloister_store::inbox::HeardIn {
                conversation: speaker.conversation.id,
                origin: None,
            }),
        })
    };
    let refused = say("a", "hello").await.unwrap_err().body();
    assert_eq!(refused.message, "chat C1 is archived");
    assert!(refused.fix.unwrap().contains("/archive undo"));
    assert!(!say("b", "!archive undo").await.unwrap().duplicate);
    assert!(say("b", "!archive undo").await.unwrap().duplicate, "the same event again");
    let rows = world.store().inbox().unanswered(speaker.workspace).await.unwrap();
    assert!(rows.len() <= 1, "{rows:?}");
    let ada = Typing::heard(&world, &world.ada, ADA, Heard::Direct("!dm")).await;
    world
        .control
        .chats()
        .archive_chat(&Actor::person("test"), world.ada.workspace, C1, true)
        .await
        .unwrap();
    assert_eq!(ada.gets("!archive undo").await, "C1 is open again.");
    assert_eq!(ada.gets("!new").await, "C2: its room is being opened, and you are invited to it.");
    assert_eq!(ada.gets("!archive C2").await, "C2 is archived. Its files and history stay.");
    assert_eq!(ada.gets("!archive c2 undo").await, "C2 is open again.");
}

/// I3: where others read along, chats are opened and put away by who administers the community.
#[tokio::test]
async fn a_member_of_a_community_does_not_change_which_chats_it_has() {
    let world = club().await;
    world.role(&world.ada, "member").await;
    world.role(&world.bob, "admin").await;
    let shared = Heard::Shared(CLUB);
    let member = Typing::heard(&world, &world.ada, ADA, shared).await;
    for command in ["!new Mine", "!archive"] {
        let said = member.is_refused(command).await;
        assert!(said.contains("only by who administers it"), "{said}");
    }
    let chats = world.store().chats().of(world.club.workspace).await.unwrap();
    assert!(chats.iter().all(|chat| !chat.archived), "{chats:?}");
    assert!(
        world
            .store()
            .conversations()
            .conversations_to_mend(world.connector.id)
            .await
            .unwrap()
            .is_empty()
    );

    // What a member may not do elsewhere is not done by a command either.
    member.is_refused("!allow evil.example.org").await;
    member.is_refused("!budget 1000").await;
    let rules = world.store().egress().egress_rules(world.club.id).await.unwrap();
    assert!(rules.is_empty(), "{rules:?}");
    let admin = Typing::heard(&world, &world.bob, BOB, shared).await;
    admin.gets("!allow example.org").await;
    admin.gets("!new Planning").await;
}

/// I3: what is a person's own is not said where others read along.
#[tokio::test]
async fn nothing_private_is_said_in_a_shared_conversation() {
    let world = club().await;
    world.role(&world.ada, "member").await;
    world.club_room("other", "!other").await;
    let secret = world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), world.ada.workspace, "PRIVATE_CANARY", None)
        .await
        .unwrap();
    world.asked(world.ada.workspace, secret.id, world.ada.id, "middle").await;
    let ada = Typing::heard(&world, &world.ada, ADA, Heard::Shared(CLUB)).await;
    assert!(ada.is_refused("!settings").await.contains("for you alone"));
    assert!(ada.is_refused("!pair").await.contains("for you alone"));
    for command in ["!chats", "!status", "!tasks", "!approvals", "!context", "!grants", "!network"]
    {
        let said = ada.gets(command).await;
        for canary in ["PRIVATE_CANARY", "other", "example.org:", ADA] {
            assert!(!said.contains(canary), "{command}: {said}");
        }
    }
}

/// X2, E63: `!yes` answers what is asked of that person in that chat, and never anything else.
#[tokio::test]
async fn a_yes_answers_only_what_was_asked_of_them_there() {
    let world = World::new().await;
    let other = world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), world.ada.workspace, "", None)
        .await
        .unwrap()
        .id;
    let elsewhere = world.asked(world.ada.workspace, other, world.ada.id, "outward").await;
    let bobs = world.asked(world.bob.workspace, C1, world.bob.id, "outward").await;
    let ada = Typing::direct(&world, &world.ada, ADA).await;
    for answer in ["!yes", "!no", "/approve", "!deny stop"] {
        assert!(ada.is_refused(answer).await.contains("nothing waits"), "{answer}");
    }
    // Naming another's question does not help either.
    ada.is_refused(&format!("!approve {bobs}")).await;
    ada.is_refused(&format!("!no {bobs}")).await;
    assert_eq!(world.state(bobs).await, ApprovalState::Pending);
    assert_eq!(world.state(elsewhere).await, ApprovalState::Pending);

    let here = world.asked(world.ada.workspace, C1, world.ada.id, "outward").await;
    assert_eq!(ada.gets("!yes").await, format!("{here} allowed: a question"));
    assert_eq!(world.state(here).await, ApprovalState::Allowed);
    assert_eq!(world.state(elsewhere).await, ApprovalState::Pending);
    assert_eq!(
        ada.gets(&format!("!no {elsewhere}")).await,
        format!("{elsewhere} refused: a question")
    );
}

#[tokio::test]
async fn when_several_wait_it_must_be_said_which() {
    let world = World::new().await;
    let first = world.asked(world.ada.workspace, C1, world.ada.id, "outward").await;
    let second = world.asked(world.ada.workspace, C1, world.ada.id, "outward").await;
    let ada = Typing::direct(&world, &world.ada, ADA).await;
    let said = ada.is_refused("!yes").await;
    assert!(said.contains(&format!("({first}, {second})")), "{said}");
    assert!(said.contains(&format!("!approve {first}")), "{said}");
    assert_eq!(world.state(first).await, ApprovalState::Pending);
    ada.gets(&format!("!approve {second}")).await;
    assert_eq!(ada.gets("!deny").await, format!("{first} refused: a question"));
}

/// E63: two people in one community room: neither answers by a yes what the other was asked, and who may not
/// answer for others does not do so by naming it.
#[tokio::test]
async fn nobody_answers_for_another_by_a_yes() {
    let world = club().await;
    world.role(&world.ada, "member").await;
    world.role(&world.bob, "member").await;
    let shared = Heard::Shared(CLUB);
    let ada = Typing::heard(&world, &world.ada, ADA, shared).await;
    let bob = Typing::heard(&world, &world.bob, BOB, shared).await;
    let (workspace, chat) = ada.chat;
    let of_ada = world.asked(workspace, chat, world.ada.id, "middle").await;
    for attack in ["!yes".to_owned(), format!("!approve {of_ada}"), format!("/no {of_ada}")] {
        bob.is_refused(&attack).await;
        assert_eq!(world.state(of_ada).await, ApprovalState::Pending, "{attack}");
    }
    // With a question of their own, a yes is about that one.
    let of_bob = world.asked(workspace, chat, world.bob.id, "middle").await;
    bob.gets("!yes").await;
    assert_eq!(world.state(of_bob).await, ApprovalState::Allowed);
    assert_eq!(world.state(of_ada).await, ApprovalState::Pending);
    ada.gets("!yes").await;
    assert_eq!(world.state(of_ada).await, ApprovalState::Allowed);

    // Who administers it answers for others, by naming what they answer.
    world.role(&world.bob, "admin").await;
    let of_ada = world.asked(workspace, chat, world.ada.id, "outward").await;
    assert!(bob.is_refused("!yes").await.contains(&of_ada.to_string()));
    assert_eq!(world.state(of_ada).await, ApprovalState::Pending);
    bob.gets(&format!("!deny {of_ada}")).await;
    assert_eq!(world.state(of_ada).await, ApprovalState::Denied);
}

/// E63: in a shared conversation only what was asked there can be answered.
#[tokio::test]
async fn a_question_of_another_room_is_not_answered_here() {
    let world = club().await;
    world.role(&world.bob, "admin").await;
    world.club_room("board", "!board").await;
    let board = Typing::heard(&world, &world.bob, BOB, Heard::Shared("!board")).await;
    let (workspace, chat) = board.chat;
    let question = world.asked(workspace, chat, world.bob.id, "outward").await;
    let general = Typing::heard(&world, &world.bob, BOB, Heard::Shared(CLUB)).await;
    for attack in ["!yes".to_owned(), format!("!approve {question}")] {
        general.is_refused(&attack).await;
    }
    assert_eq!(world.state(question).await, ApprovalState::Pending);
    board.gets("!yes").await;
    // What was allowed there is not told here, nor taken back.
    assert!(!general.gets("!grants").await.contains(&question.to_string()));
    general.is_refused("!revoke G1").await;
    assert!(board.gets("!grants").await.contains(&question.to_string()));
    board.gets("!revoke G1").await;
}

#[tokio::test]
async fn a_task_is_cancelled_by_its_number_in_any_spelling() {
    let world = World::new().await;
    let ada = Typing::direct(&world, &world.ada, ADA).await;
    for spelled in ["!cancel {}", "/cancel T{}", "!cancel t{}", "!cancel #{}"] {
        let question = world.asked(world.ada.workspace, C1, world.ada.id, "outward").await;
        let task = world.store().approvals().approval(question).await.unwrap().task.unwrap();
        let said = ada.gets(&spelled.replace("{}", task.to_string().trim_start_matches('T'))).await;
        assert_eq!(said, format!("Cancelled: {task}."));
    }
    let of_bob = world.asked(world.bob.workspace, C1, world.bob.id, "outward").await;
    let of_bob = world.store().approvals().approval(of_bob).await.unwrap().task.unwrap();
    for attack in ["!cancel {}", "!retry {}"] {
        let said = ada.is_refused(&attack.replace("{}", &of_bob.to_string())).await;
        assert!(said.contains("there is no task"), "{said}");
    }
    assert_eq!(world.store().tasks().open_tasks(world.bob.workspace).await.unwrap().len(), 1);
    assert!(ada.gets("!tasks").await.contains("cancelled"));
}

#[tokio::test]
async fn context_says_where_one_is_and_how_much_is_there() {
    let world = World::new().await;
    let ada = Typing::direct(&world, &world.ada, ADA).await;
    for text in ["hello", "/etc/hosts is wrong", "!important", "and more"] {
        ada.row(text).await;
    }
    let said = ada.gets("!context").await;
    assert!(said.starts_with("C1 in the workspace of ada (private).\n"), "{said}");
    assert!(said.contains("Models: all.\nTools: all."), "{said}");
    assert!(said.contains("In this conversation: 3 messages since it began."), "{said}");
    assert!(said.ends_with("!clear starts it afresh."), "{said}");
    ada.gets("!clear").await;
    ada.row("again").await;
    let said = ada.gets("!context").await;
    assert!(said.contains("In this conversation: 1 message since it was cleared at"), "{said}");
}

/// X2: `!clear` empties the context of its chat, and of no other.
#[tokio::test]
async fn a_clear_is_of_one_chat_alone() {
    let world = World::new().await;
    let workspace = world.ada.workspace;
    let other = world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), workspace, "", None)
        .await
        .unwrap()
        .id;
    let ada = Typing::direct(&world, &world.ada, ADA).await;
    for chat in [C1, other] {
        world.stored((workspace, chat), &world.ada, "remember this", None).await;
    }
    let row = ada.row("!clear").await;
    for _ in 0..2 {
        ada.said_to(&row, "!clear").await;
    }
    let cleared = world.store().chats().since_clear(workspace, C1).await.unwrap();
    assert_eq!((cleared.messages, cleared.cleared_at.is_some()), (0, true));
    let kept = world.store().chats().since_clear(workspace, other).await.unwrap();
    assert_eq!((kept.messages, kept.cleared_at), (1, None));
    let owed = world.store().inbox().unanswered(workspace).await.unwrap();
    let clears =
        owed.iter().filter(|row| matches!(row.cause, cloister_protocol::link::Cause::Clear));
    let clears: Vec<ChatId> = clears.map(|row| row.chat).collect();
    assert_eq!(clears, [C1], "the agent is told once, and of this chat alone");
}

#[tokio::test]
async fn settings_say_how_a_person_is_set_up() {
    let world = World::new().await;
    world
        .control
        .egress()
        .allow_egress(&Actor::person("ada"), world.ada.id, "example.org")
        .await
        .unwrap();
    let ada = Typing::direct(&world, &world.ada, ADA).await;
    let said = ada.gets("!settings").await;
    for part in [
        "You are ada.",
        "member@workspace:",
        "!budget",
        "Hosts allowed: 1 (!network, !allow, !forbid)",
        "Allowed for longer than once: 0 (!grants, !revoke)",
        "@ada:example.org on matrix",
        "for C1:",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert!(!said.contains(BOB), "{said}");
}

#[tokio::test]
async fn a_code_is_given_where_one_is_of_use() {
    let world = World::new().await;
    let web = Typing::on_web(&world, &world.ada);
    assert!(web.gets("/pair").await.contains("no code is needed"));
    let ada = Typing::direct(&world, &world.ada, ADA).await;
    let said = ada.gets("!pair").await;
    assert!(
        said.contains("You are ada here already") && said.contains("`cloister pair "),
        "{said}"
    );
}

/// A command never reaches the model: its turn ends with our own words, where it was typed.
#[tokio::test]
async fn a_command_is_answered_where_it_was_typed() {
    let world = World::new().await;
    let ada = Typing::direct(&world, &world.ada, ADA).await;
    let row = ada.row("!nonsense").await;
    world.control.commands().run_command(&row, parse("!nonsense").unwrap()).await.unwrap();
    let conversation = ada.conversation.unwrap().id;
    let told = world.store().outbox().to_tell(conversation).await.unwrap();
    let [told] = told.as_slice() else { panic!("{told:?}") };
    let AgentFrame::End(end) = &told.frame else { panic!("{told:?}") };
    assert!(end.text.contains("no such command"), "{}", end.text);
    assert!(world.store().inbox().unanswered(world.ada.workspace).await.unwrap().is_empty());
}

/// I2: over the agent socket a chat of a community is as shared as its room: what is another chat's is neither
/// told nor touched, what is a person's own is not written there, and only who administers it directs it.
#[tokio::test]
async fn a_community_is_shared_over_the_agent_socket_too() {
    let world = club().await;
    world.club_room("board", "!board:example.org").await;
    world.role(&world.ada, "member").await;
    world.role(&world.bob, "member").await;
    let workspace = world.club.workspace;
    let board = Typing::heard(&world, &world.ada, ADA, Heard::Shared("!board:example.org")).await;
    let asked = world.asked(workspace, board.chat.1, world.ada.id, "outward").await;
    let task = world.store().approvals().approval(asked).await.unwrap().task.unwrap();
    let room = Typing::heard(&world, &world.bob, BOB, Heard::Shared(CLUB)).await;
    let bob = Typing::in_club(&world, &world.bob, room.chat.1);
    assert_ne!(board.chat, bob.chat);
    for list in ["/tasks", "/status", "/approvals", "/grants", "/chats"] {
        let told = bob.gets(list).await;
        for theirs in [asked.to_string(), task.to_string(), board.chat.1.to_string()] {
            assert!(!told.contains(&theirs), "{list}: {told}");
        }
    }
    for reach in [
        format!("/cancel {task}"),
        format!("/task {task}"),
        format!("/retry {task}"),
        format!("/no {asked}"),
        format!("/chats {}", board.chat.1),
        format!("/archive {}", board.chat.1),
        "/archive".to_owned(),
        "/new mine".to_owned(),
        "/settings".to_owned(),
    ] {
        bob.is_refused(&reach).await;
    }
    let chats = world.store().chats().of(workspace).await.unwrap();
    assert!(chats.iter().all(|chat| !chat.archived && chat.title != "mine"), "{chats:?}");
    assert_eq!(world.state(asked).await, ApprovalState::Pending);
    assert_eq!(world.store().tasks().open_tasks(workspace).await.unwrap().len(), 1);

    // Who administers it may, over the socket as in the room.
    world.role(&world.ada, "admin").await;
    let ada = Typing::in_club(&world, &world.ada, bob.chat.1);
    ada.gets("/new theirs").await;
    ada.gets("/archive").await;
    // In one's own chat nobody reads along.
    let own = Typing::on_web(&world, &world.bob);
    own.gets("/settings").await;
    own.gets("/new mine").await;
}

#[path = "agents_tests.rs"]
mod agents;
#[path = "models_tests.rs"]
mod models;

/// `/allow` names a task to repeat only where the latest one of the chat failed.
#[tokio::test]
async fn allowing_a_host_names_no_task_that_did_not_fail() {
    let world = World::new().await;
    let web = Typing::on_web(&world, &world.ada);
    let said = web.gets("/allow pypi.org").await;
    assert!(said.contains("may now reach pypi.org") && !said.contains("/retry"), "{said}");
}

/// A chat without a name is listed by the words that began it.
#[tokio::test]
async fn chats_are_listed_by_what_began_them() {
    let world = World::new().await;
    let web = Typing::on_web(&world, &world.ada);
    web.row("plant beans").await;
    let listed = web.gets("/chats").await;
    assert!(listed.starts_with("C1 plant beans (here)"), "{listed}");
    let agents = web.gets("/agent").await;
    assert!(agents.contains("C1 “plant beans” (here)"), "{agents}");
}

/// Who mistypes a command is told so: nothing has failed that an operator could mend.
#[tokio::test]
async fn a_command_that_is_none_is_no_failed_answer() {
    let world = World::new().await;
    let web = Typing::on_web(&world, &world.ada);
    let row = web.row("/hlep").await;
    let typed = parse("/hlep").unwrap();
    world.control.commands().run_command(&row, typed).await.unwrap();
    let lately = world.control.metrics().turns_lately();
    assert_eq!((lately.all(), lately.bad), (0, 0));
}
