//! X5: buttons, and everything that must not work with them.

use cloister_protocol::{ChatId, ErrorCode};
use cloister_store::Actor;
use cloister_store::inbox::InboxItem;

use super::*;
use crate::Heard;
use crate::test_telegram::{ADA_THERE, BOB_THERE, GROUP, Telegram};
use crate::test_world::{ADA, C1, World};

const HELP: Press = Press::Command(String::new());

fn command(text: &str) -> Press {
    Press::Command(text.to_owned())
}

impl Telegram<'_> {
    async fn asked(&self, place: &Conversation) -> ApprovalId {
        self.world.asked(place.workspace, place.chat, self.world.ada.id, "middle").await
    }

    async fn state(&self, approval: ApprovalId) -> ApprovalState {
        self.world.store().approvals().approval(approval).await.unwrap().state
    }

    /// What was handed over as messages with this text.
    async fn handed_over(&self, text: &str) -> usize {
        let said = self
            .world
            .store()
            .outbox()
            .transcript(self.world.ada.workspace, C1, 100)
            .await
            .unwrap();
        said.iter().filter(|line| line.from == "ada" && line.text == text).count()
    }
}

fn code<T: std::fmt::Debug>(refused: Result<T, SurfaceError>) -> ErrorCode {
    refused.unwrap_err().code()
}

#[test]
fn a_token_can_not_be_guessed() {
    let tokens: Vec<String> = (0..1000).map(|_| new_token().unwrap()).collect();
    for token in &tokens {
        assert_eq!(token.len(), TOKEN_CHARS);
        assert!(token.bytes().all(|b| ALPHABET.contains(&b)), "{token}");
    }
    let different: std::collections::BTreeSet<&String> = tokens.iter().collect();
    assert_eq!(different.len(), tokens.len());
}

/// A button answers the question that it was made for, as who pressed it, once.
#[tokio::test]
async fn a_button_answers_a_question_once() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let lobby = telegram.lobby().await;
    let approval = telegram.asked(&lobby).await;
    let presses = [Answer::Allow, Answer::Deny].map(|answer| Press::Answer { approval, answer });
    let tokens = world.control.surfaces().mint_buttons(&lobby, &presses).await.unwrap();
    let [allow, deny] = tokens.as_slice() else { panic!("{tokens:?}") };
    let done = telegram.press(ADA_THERE, ADA_THERE, allow).await.unwrap();
    let ButtonDone::Answered(answered) = done else { panic!("{done:?}") };
    assert_eq!((answered.id, answered.state), (approval, ApprovalState::Allowed));
    assert_eq!(code(telegram.press(ADA_THERE, ADA_THERE, allow).await), ErrorCode::Conflict);
    assert!(telegram.press(ADA_THERE, ADA_THERE, deny).await.is_err(), "it is answered");
    assert_eq!(telegram.state(approval).await, ApprovalState::Allowed);
}

/// What can't be read any more is answered by no button; what only asks for something works.
#[tokio::test]
async fn a_question_that_is_gone_is_not_answered_by_its_button() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let lobby = telegram.lobby().await;
    let approval = telegram.asked(&lobby).await;
    for answer in [Answer::Allow, Answer::Deny] {
        let token = telegram.mint(&lobby, Press::Answer { approval, answer }).await;
        let refused = telegram.press_below(Below::Gone, ADA_THERE, ADA_THERE, &token).await;
        let words = refused.unwrap_err().body().fix.unwrap();
        assert!(words.contains(&format!("/approve {approval}")), "{words}");
        assert_eq!(telegram.state(approval).await, ApprovalState::Pending);
    }
    let status = telegram.mint(&lobby, command("/status")).await;
    telegram.press_below(Below::Gone, ADA_THERE, ADA_THERE, &status).await.unwrap();
    let allow = telegram.mint(&lobby, Press::Answer { approval, answer: Answer::Allow }).await;
    telegram.press(ADA_THERE, ADA_THERE, &allow).await.unwrap();
    assert_eq!(telegram.state(approval).await, ApprovalState::Allowed);
}

/// A command is handed over as the person's own message, once, also when the press comes twice at the same time.
#[tokio::test]
async fn a_command_is_handed_over_once() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let lobby = telegram.lobby().await;
    let token = telegram.mint(&lobby, command("/status")).await;
    let presses = (0..5).map(|_| telegram.press(ADA_THERE, ADA_THERE, &token));
    let done = futures_util::future::join_all(presses).await;
    assert!(done.iter().any(Result::is_ok));
    for done in done.into_iter().flatten() {
        assert!(matches!(done, ButtonDone::Command { text } if text == "/status"));
    }
    assert_eq!(telegram.handed_over("/status").await, 1);
    assert_eq!(code(telegram.press(ADA_THERE, ADA_THERE, &token).await), ErrorCode::Conflict);
    assert_eq!(telegram.handed_over("/status").await, 1);
}

/// E81, X9: nobody presses for somebody else: not a stranger, not another person, whatever they may do elsewhere.
#[tokio::test]
async fn nobody_presses_what_is_for_somebody_else() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let overlord = crate::account("telegram", "1", "").unwrap();
    world
        .control
        .people()
        .link_identity(&Actor::person("root"), &world.root, &overlord)
        .await
        .unwrap();
    let lobby = telegram.lobby().await;
    let approval = telegram.asked(&lobby).await;
    let answer = telegram.mint(&lobby, Press::Answer { approval, answer: Answer::Allow }).await;
    let status = telegram.mint(&lobby, command("/status")).await;
    for other in ["666", BOB_THERE, "1", ADA, ""] {
        for token in [&answer, &status] {
            let refused = telegram.press(other, ADA_THERE, token).await;
            assert_eq!(code(refused), ErrorCode::Forbidden, "{other}");
        }
    }
    assert_eq!(telegram.state(approval).await, ApprovalState::Pending);
    assert_eq!(telegram.handed_over("/status").await, 0);
    telegram.press(ADA_THERE, ADA_THERE, &answer).await.unwrap();
}

/// A token is good where it was made: not in another conversation, not over another bot, not on another surface.
#[tokio::test]
async fn a_token_is_good_in_its_conversation_alone() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let lobby = telegram.lobby().await;
    let token = telegram.mint(&lobby, command("/status")).await;
    let topic = Heard::OwnThread { of: ADA_THERE, id: "1001/5", title: "Taxes" };
    telegram.speaker(ADA_THERE, topic).await;
    for elsewhere in ["1001/5", "1002", "", "no such"] {
        let refused = telegram.press(ADA_THERE, elsewhere, &token).await;
        assert_eq!(code(refused), ErrorCode::NotFound, "{elsewhere}");
    }
    let other = Telegram { world: &world, connector: Telegram::bot(&world, "78").await };
    other.lobby().await;
    assert_eq!(code(other.press(ADA_THERE, ADA_THERE, &token).await), ErrorCode::NotFound);
    let by_matrix = PressedButton {
        surface: "matrix",
        by: ADA,
        connector: telegram.connector.id,
        conversation: ADA_THERE,
        token: &token,
        below: Below::Shown,
    };
    assert_eq!(code(world.control.surfaces().press_button(by_matrix).await), ErrorCode::NotFound);
    assert_eq!(telegram.handed_over("/status").await, 0);
    telegram.press(ADA_THERE, ADA_THERE, &token).await.unwrap();
}

/// What was made up, changed or has expired does nothing.
#[tokio::test]
async fn a_guessed_or_old_token_does_nothing() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let lobby = telegram.lobby().await;
    let token = telegram.mint(&lobby, command("/status")).await;
    let hash = button_hash(&token);
    let shorter: String = token.chars().take(21).collect();
    let guesses =
        ["", "A", &new_token().unwrap(), &shorter, &format!("{token}A"), &hash, "/status"];
    for guess in guesses {
        let refused = telegram.press(ADA_THERE, ADA_THERE, guess).await;
        assert_eq!(code(refused), ErrorCode::NotFound, "{guess}");
    }
    let old = new_token().unwrap();
    let press = serde_json::to_string(&Kept::Command("/status".into())).unwrap();
    let buttons = [(button_hash(&old), press, world.store().clock.now_ms() - 1)];
    let user = Some(world.ada.id);
    let new = NewButtons { conversation: lobby.id, user, buttons: &buttons };
    world.store().inbox().keep_buttons(&new).await.unwrap();
    let refused = telegram.press(ADA_THERE, ADA_THERE, &old).await.unwrap_err();
    assert!(refused.body().message.contains("too old"), "{refused}");
    assert_eq!(code(telegram.press(BOB_THERE, ADA_THERE, &old).await), ErrorCode::Forbidden);
    assert_eq!(telegram.handed_over("/status").await, 0);
}

/// E63, I3: where others read along, the policies say who may answer and who may command.
#[tokio::test]
async fn in_a_group_the_policies_say_who_may_press() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    telegram.club_group().await;
    world.role(&world.ada, "member").await;
    world.role(&world.bob, "viewer").await;
    let group = telegram.speaker(ADA_THERE, Heard::Shared(GROUP)).await.conversation;
    let approval = telegram.asked(&group).await;
    let answer = telegram.mint(&group, Press::Answer { approval, answer: Answer::Allow }).await;
    let status = telegram.mint(&group, command("/status")).await;
    for other in [BOB_THERE, "666"] {
        for token in [&answer, &status] {
            assert!(telegram.press(other, GROUP, token).await.is_err(), "{other}");
        }
    }
    assert_eq!(telegram.state(approval).await, ApprovalState::Pending);
    telegram.press(ADA_THERE, GROUP, &answer).await.unwrap();
    telegram.press(ADA_THERE, GROUP, &status).await.unwrap();
    assert_eq!(telegram.state(approval).await, ApprovalState::Allowed);
    // What is asked in a private chat gets no button where others read along.
    let private = world.asked(world.ada.workspace, C1, world.ada.id, "middle").await;
    let press = [Press::Answer { approval: private, answer: Answer::Allow }];
    assert_eq!(
        code(world.control.surfaces().mint_buttons(&group, &press).await),
        ErrorCode::NotFound
    );
}

/// E63: what two people must allow is allowed by two, with the same button; who pressed it once counts once.
#[tokio::test]
async fn what_two_must_allow_is_pressed_by_two() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    telegram.club_group().await;
    world.role(&world.ada, "member").await;
    world.role(&world.bob, "admin").await;
    let group = telegram.speaker(ADA_THERE, Heard::Shared(GROUP)).await.conversation;
    let (club, chat) = (group.workspace, group.chat);
    let approval = world.asked_of(2, club, chat, world.ada.id, "middle").await;
    let token = telegram.mint(&group, Press::Answer { approval, answer: Answer::Allow }).await;
    for round in 0..2 {
        let pressed = telegram.press(ADA_THERE, GROUP, &token).await;
        assert_eq!(pressed.is_ok(), round == 0, "{pressed:?}");
        assert_eq!(telegram.state(approval).await, ApprovalState::Pending);
    }
    telegram.press(BOB_THERE, GROUP, &token).await.unwrap();
    assert_eq!(telegram.state(approval).await, ApprovalState::Allowed);
    assert_eq!(code(telegram.press(BOB_THERE, GROUP, &token).await), ErrorCode::Conflict);
}

/// I1: an account that is unlinked presses nothing any more, in its own conversation too.
#[tokio::test]
async fn an_unlinked_account_presses_nothing() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let lobby = telegram.lobby().await;
    let token = telegram.mint(&lobby, command("/status")).await;
    let account = crate::account("telegram", ADA_THERE, "").unwrap();
    world
        .control
        .people()
        .unlink_identity(&Actor::person("root"), &world.ada, &account)
        .await
        .unwrap();
    assert_eq!(code(telegram.press(ADA_THERE, ADA_THERE, &token).await), ErrorCode::Forbidden);
    assert_eq!(telegram.handed_over("/status").await, 0);
}

#[tokio::test]
async fn a_message_has_a_bounded_number_of_buttons() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let lobby = telegram.lobby().await;
    let many = vec![HELP; MOST_BUTTONS + 1];
    assert_eq!(
        code(world.control.surfaces().mint_buttons(&lobby, &many).await),
        ErrorCode::BadRequest
    );
    let most = vec![HELP; MOST_BUTTONS];
    assert_eq!(
        world.control.surfaces().mint_buttons(&lobby, &most).await.unwrap().len(),
        MOST_BUTTONS
    );
    assert!(world.control.surfaces().mint_buttons(&lobby, &[]).await.unwrap().is_empty());
}

/// A press whose message was stored before everything was killed is taken as the same one.
#[tokio::test]
async fn a_press_that_was_interrupted_has_one_effect() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let lobby = telegram.lobby().await;
    let token = telegram.mint(&lobby, command("/new Taxes")).await;
    let hash = button_hash(&token);
    let handed = (&lobby, hash.as_str());
    let first = world.control.surfaces().press_command(
        world.ada.id,
        "telegram",
        handed,
        "/new Taxes".to_owned(),
    );
    first.await.unwrap();
    // Killed here: the button is not used up. The lobby shows the new chat by now.
    telegram.press(ADA_THERE, ADA_THERE, &token).await.unwrap();
    let chats = world.store().chats().of(world.ada.workspace).await.unwrap();
    assert_eq!(chats.len(), 2, "{chats:?}");
    let rows: Vec<InboxItem> = world.store().inbox().unanswered(world.ada.workspace).await.unwrap();
    assert!(rows.len() <= 1, "{rows:?}");
    assert_eq!(telegram.lobby().await.chat, ChatId::from_number(2));
}
