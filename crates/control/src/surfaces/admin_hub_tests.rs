use cloister_protocol::admin::ConnectorState;
use cloister_protocol::link::Cause;
use cloister_protocol::{AgentFrame, ChatId, End, ErrorCode, TurnId, Update, Usage};
use cloister_store::inbox::{HeardIn, Inbound, InboxItem, Meant};
use cloister_store::secrets::NewSecret;
use cloister_store::users::User;
use cloister_vault::{Binding, Form, Owner};

use super::*;
use crate::surfaces::Health;
use crate::test_world::{ADA, BOB, CLUB, World, quietly};
use crate::{Heard, SurfaceOptions};

const ROOT: &str = "@root:example.org";

impl World {
    /// The club's room, with root in it.
    async fn hub_room(&self) -> Conversation {
        let account = crate::account("matrix", ROOT, "").unwrap();
        self.control
            .people()
            .link_identity(&Actor::person("root"), &self.root, &account)
            .await
            .unwrap();
        self.club_room("operators", CLUB).await;
        self.role(&self.root, "member").await;
        self.speaker(ROOT, Heard::Shared(CLUB)).await.conversation
    }

    /// The same, as the admin hub.
    async fn hub_made(&self) -> Conversation {
        let room = self.hub_room().await;
        self.control.admin_hubs().admin_channel(self.root.id, Some(&room), "enable").await.unwrap();
        room
    }

    /// Where a person and the agent are alone.
    async fn alone(&self, who: &str) -> Conversation {
        self.speaker(who, Heard::Direct(&format!("!{who}"))).await.conversation
    }

    /// A message and its answer.
    async fn exchange(&self, user: &User, place: &Conversation, asked: &str, answer: &str) {
        let chat: (WorkspaceId, ChatId) = (place.workspace, place.chat);
        let row = self.stored(chat, user, asked, Some(place)).await;
        self.answer_to(chat, &row, answer).await;
    }

    /// Something is asked and answered that tasks are started for; its inbox row.
    async fn began(&self, place: &Conversation, text: &str, heard: Option<&Conversation>) -> i64 {
        let chat = (place.workspace, place.chat);
        let row = self.stored(chat, &self.ada, text, heard).await;
        self.answer_to(chat, &row, "I begin").await;
        row.id
    }

    /// The tasks of a turn have ended, and that is told where the person is; its inbox row.
    async fn ended(&self, place: &Conversation, began: i64, answer: &str) -> i64 {
        let chat = (place.workspace, place.chat);
        let inbound = Inbound {
            source: "tasks".into(),
            external_id: format!("{}:t-m{began}:T{began}", place.workspace),
            workspace: place.workspace,
            chat: place.chat,
            cause: Cause::TasksEnded { reports: Vec::new() },
            meant: Meant::Words,
            heard_in: Some(HeardIn { conversation: place.id, origin: None }),
        };
        let row = self.store().inbox().accept(inbound).await.unwrap().item;
        self.answer_to(chat, &row, answer).await;
        row.id
    }

    async fn answer_to(&self, chat: (WorkspaceId, ChatId), row: &InboxItem, answer: &str) {
        let turn = TurnId::of_trigger(&row.trigger().unwrap());
        let end = AgentFrame::End(End {
            turn: turn.clone(),
            message: None,
            text: answer.to_owned(),
            usage: Usage::default(),
            error: None,
        });
        self.store()
            .outbox()
            .end_turn(row.id, chat, &turn, Some(&end))
            .await
            .unwrap()
            .told
            .unwrap();
    }

    async fn look(&self) {
        self.control.admin_hubs().look_after_hubs(&mut HashMap::new()).await.unwrap();
    }

    /// The notices that wait to be told in a conversation.
    async fn shown_in(&self, place: &Conversation) -> Vec<String> {
        let rows = self.store().outbox().to_tell(place.id).await.unwrap();
        let notice = |row: OutboxItem| match row.frame {
            AgentFrame::Update(Update::Notice { text }) => Some(text),
            _ => None,
        };
        rows.into_iter().filter_map(notice).collect()
    }
}

/// I3: only who may manage connectors makes an admin hub, and only of a connected group.
#[tokio::test]
async fn a_hub_is_made_by_who_may_manage_connectors_alone() {
    let world = World::new().await;
    let room = world.hub_room().await;
    for role in ["member", "operator", "admin", "overlord"] {
        world.role(&world.ada, role).await;
    }
    let operator = "operator@platform".parse().unwrap();
    world.control.people().give_role(quietly(&world.bob), &world.bob, &operator).await.unwrap();
    for user in [world.ada.id, world.bob.id] {
        for typed in ["enable", "disable", ""] {
            let refused = world
                .control
                .admin_hubs()
                .admin_channel(user, Some(&room), typed)
                .await
                .unwrap_err();
            assert_eq!(refused.code(), ErrorCode::Forbidden, "{user} {typed}");
        }
    }
    assert!(world.store().outbox().admin_hubs().await.unwrap().is_empty());

    let alone = world.alone(ROOT).await;
    for nowhere in [None, Some(&alone)] {
        let refused =
            world.control.admin_hubs().admin_channel(world.root.id, nowhere, "enable").await;
        assert_eq!(refused.unwrap_err().code(), ErrorCode::BadRequest);
    }
    let root = world.root.id;
    let command =
        |typed: &'static str| world.control.admin_hubs().admin_channel(root, Some(&room), typed);
    assert!(command("").await.unwrap().contains("not the admin hub"));
    assert!(command("on").await.is_err());
    assert!(command("enable").await.unwrap().contains("admin hub of this account now"));
    assert!(command("Enable").await.unwrap().contains("already"));
    let hubs = world.store().outbox().admin_hubs().await.unwrap();
    assert_eq!(hubs.len(), 1);
    assert_eq!(hubs[0].conversation.id, room.id);
    let view = world.control.surfaces().connector_view(&world.connector, Vec::new()).await.unwrap();
    assert!(view.facts.contains(&("admin hub".to_owned(), CLUB.to_owned())), "{view:?}");
    assert!(command("disable").await.unwrap().contains("no admin hub any more"));
    assert!(command("disable").await.unwrap().contains("not the admin hub"));
    assert!(world.store().outbox().admin_hubs().await.unwrap().is_empty());
    let entries = world.store().audit().audit_tail(50).await.unwrap();
    for action in ["admin_hub.enable", "admin_hub.disable"] {
        assert_eq!(entries.iter().filter(|entry| entry.action == action).count(), 1, "{action}");
    }
}

/// I3: what staff say with the agent in private is shown in the hub, once, and they were told so before.
#[tokio::test]
async fn staff_are_told_once_and_then_mirrored() {
    let world = World::new().await;
    world.role(&world.ada, "admin").await;
    let (ada, bob) = (world.alone(ADA).await, world.alone(BOB).await);
    world.exchange(&world.ada, &ada, "before the hub", "secretly").await;
    let hub = world.hub_made().await;
    let told = world.shown_in(&ada).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("admin hub") && told[0].contains("admin@workspace"), "{told:?}");
    assert!(world.shown_in(&bob).await.is_empty(), "bob is not staff");

    world.look().await;
    assert!(world.shown_in(&hub).await.is_empty(), "what was said before stays between the two");
    world.exchange(&world.ada, &ada, "which door?\nthe left one?", "the *left* one").await;
    world.look().await;
    world.look().await;
    let shown = world.shown_in(&hub).await;
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(
        shown[0],
        "**ada** wrote in C1:\n\n> which door?\n> the left one?\n\nThe answer:\n\n> the *left* one"
    );
    assert_eq!(world.shown_in(&ada).await.len(), 1, "they are told once");

    // Who becomes staff later is told first, and mirrored from then on.
    world.role(&world.bob, "operator").await;
    world.exchange(&world.bob, &bob, "a first word", "yes").await;
    world.look().await;
    assert_eq!(world.shown_in(&hub).await.len(), 1);
    assert_eq!(world.shown_in(&bob).await.len(), 1);
    world.exchange(&world.bob, &bob, "a second word", "yes").await;
    world.look().await;
    let shown = world.shown_in(&hub).await;
    assert!(shown.len() == 2 && shown[1].contains("a second word"), "{shown:?}");

    // Who is staff no more is by themselves again.
    let held = format!("operator@workspace:{}", world.club.workspace).parse().unwrap();
    world.control.people().take_role(quietly(&world.bob), &world.bob, &held).await.unwrap();
    world.exchange(&world.bob, &bob, "a private word", "yes").await;
    world.look().await;
    assert_eq!(world.shown_in(&hub).await.len(), 2);
}

/// I3, E63: a person who is not staff is never shown in a hub: not with no role, not as a member, not as who
/// runs something else.
#[tokio::test]
async fn who_is_not_staff_is_never_mirrored() {
    let world = World::new().await;
    world.role(&world.ada, "member").await;
    world.role(&world.ada, "viewer").await;
    let elsewhere = format!("admin@workspace:{}", world.bob.workspace).parse().unwrap();
    world.control.people().give_role(quietly(&world.bob), &world.bob, &elsewhere).await.unwrap();
    let inner = format!("admin@context:{}/operators", world.club.workspace).parse().unwrap();
    world.control.people().give_role(quietly(&world.bob), &world.bob, &inner).await.unwrap();
    let hub = world.hub_made().await;
    let (ada, bob) = (world.alone(ADA).await, world.alone(BOB).await);
    let shared = world.speaker(ADA, Heard::Shared(CLUB)).await.conversation;
    for round in 0..3 {
        world.exchange(&world.ada, &ada, &format!("private {round}"), "an answer").await;
        world.exchange(&world.bob, &bob, &format!("private {round}"), "an answer").await;
        world.exchange(&world.ada, &shared, &format!("in the room {round}"), "an answer").await;
        world.look().await;
    }
    assert!(world.shown_in(&hub).await.is_empty());
    assert!(world.shown_in(&ada).await.is_empty() && world.shown_in(&bob).await.is_empty());
}

/// I3: neither secrets nor codes nor what commands answer are shown.
#[tokio::test]
async fn secrets_codes_and_commands_are_not_shown() {
    let world = World::new().await;
    world.role(&world.ada, "admin").await;
    let ada = world.alone(ADA).await;
    let hub = world.hub_made().await;
    let form = Form::Header { name: "authorization".into(), template: "Bearer {}".into() };
    let binding = Binding::new(vec!["api.example.org".parse().unwrap()], form).unwrap();
    for (owner, name, value) in [
        (Owner::User(world.ada.id), "own", "sk-of-ada-1234"),
        (Owner::Platform, "bot", r#"{"access_token":"syt_platform_token","device":"X"}"#),
    ] {
        let new = NewSecret {
            owner,
            name: name.parse().unwrap(),
            binding: binding.clone(),
            value: value.to_owned().into(),
        };
        world.control.secrets().set_secret(&Actor::person("test"), new).await.unwrap();
    }
    world.exchange(&world.ada, &ada, "use sk-of-ada-1234 there", "I did").await;
    world.exchange(&world.ada, &ada, "what is it?", "it is syt_platform_token, I think").await;
    for command in ["/pair", "!status", "pair", "/admin-channel", "/grants"] {
        world.exchange(&world.ada, &ada, command, "Your code is ABCD-EFGH").await;
    }
    world.look().await;
    let shown = world.shown_in(&hub).await;
    assert_eq!(shown.len(), 2, "{shown:?}");
    let all = shown.join("\n");
    for hidden in ["sk-of-ada", "syt_platform", "ABCD", "/pair"] {
        assert!(!all.contains(hidden), "{all}");
    }
    assert!(all.contains("holds a secret") && all.contains("what is it?"), "{all}");
}

/// I3: the end of a task is shown in the hub if the task began in private over the same connector, after they were
/// told; what was begun on the web, over another connector or by a command stays there, however many turns it took.
#[tokio::test]
async fn what_began_elsewhere_is_not_shown_when_it_ends() {
    use crate::test_telegram::{ADA_THERE, Telegram};
    let world = World::new().await;
    world.role(&world.ada, "admin").await;
    let ada = world.alone(ADA).await;
    let telegram = Telegram::new(&world).await.speaker(ADA_THERE, Heard::Direct(ADA_THERE)).await;
    let early = world.began(&ada, "before they knew", Some(&ada)).await;
    let hub = world.hub_made().await;
    let asked = world.began(&ada, "do it", Some(&ada)).await;
    let on_the_web = world.began(&ada, "privately", None).await;
    let elsewhere = world.began(&ada, "over there", Some(&telegram.conversation)).await;
    let commanded = world.began(&ada, "/task sort the photos", Some(&ada)).await;
    world.look().await;
    let before = world.shown_in(&hub).await.len();
    for (began, answer) in [
        (early, "early result"),
        (on_the_web, "web result"),
        (elsewhere, "other result"),
        (commanded, "commanded result"),
    ] {
        let ended = world.ended(&ada, began, answer).await;
        world.ended(&ada, ended, answer).await;
    }
    world.look().await;
    let shown = world.shown_in(&hub).await;
    assert_eq!(shown.len(), before, "{shown:?}");
    let ended = world.ended(&ada, asked, "first result").await;
    world.ended(&ada, ended, "second result").await;
    world.look().await;
    let shown = world.shown_in(&hub).await;
    let ends = shown.iter().filter(|text| text.contains("when a task ended")).count();
    assert_eq!((shown.len() - before, ends), (2, 2), "{shown:?}");
    assert!(shown.last().unwrap().contains("second result"), "{shown:?}");
}

/// X11: a hub is shown things at a bounded rate, each of a bounded size; what is too fast waits, in order.
#[tokio::test]
async fn what_is_too_fast_waits_and_is_not_lost() {
    let world = World::new().await;
    world.role(&world.ada, "admin").await;
    let ada = world.alone(ADA).await;
    let hub = world.hub_made().await;
    world.exchange(&world.ada, &ada, &"long ".repeat(10_000), &"x".repeat(100_000)).await;
    for number in 1..40 {
        world.exchange(&world.ada, &ada, &format!("question {number}"), "an answer").await;
    }
    world.look().await;
    world.look().await;
    let shown = world.shown_in(&hub).await;
    assert!((20..25).contains(&shown.len()), "{}", shown.len());
    assert!(shown[0].len() < 5_000, "{}", shown[0].len());
    for (number, text) in shown.iter().enumerate().skip(1) {
        assert!(text.contains(&format!("question {number}\n")), "{number}: {text}");
    }
    let waiting = world.store().outbox().admin_hubs().await.unwrap().remove(0);
    let (left, _) = world.store().outbox().exchanges(&waiting, 100).await.unwrap();
    assert_eq!(left.len(), 40 - shown.len(), "the others wait");
}

/// A connector that stops working is told once, also across a restart, and that it works again too.
#[tokio::test]
async fn a_connector_that_stops_working_is_told() {
    let world = World::new().await;
    let hub = world.hub_made().await;
    let id = world.connector.id;
    let health = |state| Health {
        surface: "matrix",
        state,
        problem: Some("the token was revoked".to_owned()),
        last_heard_at: None,
        reconciled: None,
    };
    world.control.surfaces().report_health(id, health(ConnectorState::Connected));
    world.look().await;
    assert!(world.shown_in(&hub).await.is_empty());
    world.control.surfaces().report_health(id, health(ConnectorState::Retrying));
    world.look().await;
    assert!(world.shown_in(&hub).await.is_empty(), "a moment is not told");
    world.control.surfaces().report_health(id, health(ConnectorState::LoggedOut));
    world.look().await;
    world.look().await;
    let told = world.shown_in(&hub).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("does not work") && told[0].contains("the token was revoked"));
    // No program serves it here: it is looked for like one of an operator's own.
    assert!(told[0].contains("`cloister connector status matrix`"), "{told:?}");

    let world = world.restarted(SurfaceOptions::default()).await;
    world.control.surfaces().report_health(id, health(ConnectorState::LoggedOut));
    world.look().await;
    assert_eq!(world.shown_in(&hub).await.len(), 1);
    world.control.surfaces().report_health(id, health(ConnectorState::Connected));
    world.look().await;
    let told = world.shown_in(&hub).await;
    assert!(told.len() == 2 && told[1].contains("works again"), "{told:?}");
}

/// I2: that a code was asked for is told, with whose account it is, without the code, and not without end.
#[tokio::test]
async fn a_pairing_code_is_told_of_and_never_told() {
    let world = World::new().await;
    let hub = world.hub_made().await;
    let name = "Eve`\n**boss**";
    let code =
        world.control.people().begin_pairing("matrix", "@eve:example.org", name).await.unwrap();
    let told = world.shown_in(&hub).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("`@eve:example.org`") && !told[0].contains(&code), "{told:?}");
    assert!(told[0].starts_with("`Eve'**boss**`"), "a name is shown as it is: {told:?}");
    world.control.people().begin_pairing("telegram", "12", "x").await.unwrap();
    assert_eq!(world.shown_in(&hub).await.len(), 1, "another surface has its own hub");
    for number in 0..20 {
        let who = format!("@eve{number}:example.org");
        world.control.people().begin_pairing("matrix", &who, "x").await.unwrap();
    }
    assert_eq!(world.shown_in(&hub).await.len(), 5, "a flood is not told in full");
}

/// G8: an emergency stop and its end are told, each once.
#[tokio::test]
async fn an_emergency_stop_is_told() {
    let world = World::new().await;
    let hub = world.hub_made().await;
    world.control.stops().stop_all(&Actor::person("root"), "it smells").await.unwrap();
    world.control.stops().stop_all(&Actor::person("root"), "it smells").await.unwrap();
    let told = world.shown_in(&hub).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("stopped by root") && told[0].contains("it smells"), "{told:?}");
    world.control.stops().release_all(&Actor::person("root")).await.unwrap();
    world.control.stops().release_all(&Actor::person("root")).await.unwrap();
    let told = world.shown_in(&hub).await;
    assert!(told.len() == 2 && told[1].contains("released by root"), "{told:?}");
}

/// A hub whose context is gone is none: nothing is told to who is in that room now.
#[tokio::test]
async fn a_hub_ends_with_its_context() {
    let world = World::new().await;
    world.role(&world.ada, "admin").await;
    let ada = world.alone(ADA).await;
    let hub = world.hub_made().await;
    world
        .control
        .contexts()
        .remove_context(&Actor::person("root"), world.club.workspace, "operators")
        .await
        .unwrap();
    world.exchange(&world.ada, &ada, "who listens?", "nobody").await;
    world.look().await;
    world.control.stops().stop_all(&Actor::person("root"), "").await.unwrap();
    assert!(world.shown_in(&hub).await.is_empty());
    assert!(world.control.admin_hubs().open_hubs().await.unwrap().is_empty());
}

#[test]
fn staff_run_things_there_or_everywhere() {
    let club = WorkspaceId::from_number(7);
    let holds = |role: &str| staff_role(&[role.parse().unwrap()], club).is_some();
    for role in ["operator@platform", "admin@platform", "overlord@platform", "admin@workspace:w7"] {
        assert!(holds(role), "{role}");
    }
    for role in [
        "member@platform",
        "viewer@platform",
        "member@workspace:w7",
        "admin@workspace:w8",
        "admin@context:w7/operators",
        "operator@model:big",
    ] {
        assert!(!holds(role), "{role}");
    }
    assert!(staff_role(&[], club).is_none());
}
