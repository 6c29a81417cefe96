//! Buttons, and everything that can be done with them that is not meant: forged, replayed, pressed by somebody
//! else, somewhere else, too late (X5, G2).

use std::time::Duration;

use cloister_testkit::telegram::{Person, Place, Seen};

use crate::world::{World, asks, count, eventually};

const RISKY: &str = "run: mkdir -p old && rm -r old && echo gone-$((20 + 3))";

/// What it says when it was done; the question does not say it.
const DONE: &str = "gone-23";

/// A question that waits for Ann.
async fn asked(_world: &World, ann: &Person, chat: &Place) -> Seen {
    ann.say(chat, RISKY);
    ann.wait_for(chat, "a question", asks).await
}

/// G2: a question has exactly what is offered as buttons; pressing one answers it, and the question loses them
/// and says who answered.
#[tokio::test]
async fn a_question_is_answered_with_a_touch() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let question = asked(&world, &ann, &chat).await;
    assert!(question.text.contains("rm -r old"), "{}", question.text);
    let mut tokens: Vec<&str> = question.buttons.iter().map(|b| b.data.as_str()).collect();
    // Each says nothing, and is long enough not to be guessed.
    assert!(tokens.iter().all(|token| (22..=64).contains(&token.len())), "{tokens:?}");
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), question.buttons.len(), "no two are alike");
    let said = ann.press(&chat, &question, "👍").answered().await;
    assert!(said.to_lowercase().contains("allowed"), "{said}");
    ann.wait_for_words(&chat, DONE).await;
    let settled = ann
        .wait_for(&chat, "it is settled", |seen| seen.id == question.id && seen.buttons.is_empty());
    assert!(settled.await.text.contains("ann"), "who answered is said");
}

/// Denied with a touch: nothing is done.
#[tokio::test]
async fn a_question_is_denied_with_a_touch() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let question = asked(&world, &ann, &chat).await;
    ann.press(&chat, &question, "👎").answered().await;
    eventually("nothing waits", || async { (world.waiting("ann").await == 0).then_some(()) }).await;
    ann.wait_for(&chat, "it is settled", |seen| seen.id == question.id && seen.buttons.is_empty())
        .await;
}

/// The attack: data that was never handed out, in every shape, answers nothing.
#[tokio::test]
async fn forged_data_does_nothing() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let question = asked(&world, &ann, &chat).await;
    let real = question.buttons.first().unwrap().data.clone();
    let mut flipped: Vec<char> = real.chars().collect();
    let last = flipped.last_mut().unwrap();
    *last = if *last == 'A' { 'B' } else { 'A' };
    let flipped: String = flipped.into_iter().collect();
    let long = "x".repeat(64);
    for data in
        ["", "A1", "allow", "approve:A1:allow", "/approve A1", &flipped, &long, "' OR 1=1 --"]
    {
        let said = ann.press_data(&chat, question.id, data).answered().await;
        assert!(!said.to_lowercase().contains("allowed"), "{data}: {said}");
    }
    assert_eq!(world.waiting("ann").await, 1, "it still waits");
    assert_eq!(count(&ann, &chat, DONE), 0);
}

/// The attack: what was pressed once is pressed again, and told again by Telegram; it counts once.
#[tokio::test]
async fn a_press_counts_once() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let question = asked(&world, &ann, &chat).await;
    let allow = question.buttons.iter().find(|button| button.label.contains("👍")).unwrap().clone();
    let press = ann.press_data(&chat, question.id, &allow.data);
    press.answered().await;
    press.repeat(&world.bot);
    ann.wait_for_words(&chat, DONE).await;

    // The same kind of thing is asked again: the old button is not an answer to it.
    ann.say(&chat, "run: mkdir -p older && rm -r older && echo gone-$((20 + 4))");
    let next = ann.wait_for(&chat, "another question", |seen| seen.id != question.id && asks(seen));
    let next = next.await;
    let said = ann.press_data(&chat, question.id, &allow.data).answered().await;
    assert!(!said.to_lowercase().contains("allowed"), "{said}");
    let said = ann.press_data(&chat, next.id, &allow.data).answered().await;
    assert!(!said.to_lowercase().contains("allowed"), "{said}");
    assert_eq!(world.waiting("ann").await, 1);
    assert_eq!(count(&ann, &chat, "gone-24"), 0);
}

/// The attack: another person of the same bot has seen the data and presses it, in a chat of their own.
#[tokio::test]
async fn anothers_button_is_not_mine() {
    let world = World::start().await;
    let (ann, anns) = world.met("ann").await;
    let (bob, bobs) = world.met("bob").await;
    let question = asked(&world, &ann, &anns).await;
    let own = bob.ask(&bobs, "/chats", "C1").await;
    for button in &question.buttons {
        let said = bob.press_data(&bobs, own.id, &button.data).answered().await;
        assert!(!said.to_lowercase().contains("allowed") && !said.contains("rm -r"), "{said}");
    }
    // Neither does an account that nobody is linked to.
    let eve = world.telegram.person("eve");
    let eves = eve.with(&world.bot);
    let told = eve.ask(&eves, "hello", "pair").await;
    for button in &question.buttons {
        eve.press_data(&eves, told.id, &button.data).answered().await;
    }
    assert_eq!(world.waiting("ann").await, 1);
    ann.press(&anns, &question, "👍").answered().await;
    ann.wait_for_words(&anns, DONE).await;
}

/// The attack: in a group, a member who may not answer presses; one who may does.
#[tokio::test]
async fn in_a_group_only_who_may_answer_answers() {
    let world = World::start().await;
    let (ann, bob) = (world.person("ann").await, world.person("bob").await);
    let mallory = world.telegram.person("mallory");
    let group = world.telegram.group("Club", &[&ann, &bob, &mallory]);
    world.club(&group, &[("ann", "admin"), ("bob", "member")]).await;
    group.add_bot(&ann, &world.bot);
    let place = group.place();
    ann.say(&place, &format!("@cloister_bot {RISKY}"));
    let question = ann.wait_for(&place, "a question", asks).await;
    for (person, who) in [(&mallory, "a stranger"), (&bob, "a member")] {
        let said = person.press(&place, &question, "👍").answered().await;
        assert!(!said.to_lowercase().contains("allowed"), "{who}: {said}");
        assert_eq!(world.waiting("club").await, 1, "{who}");
    }
    ann.press(&place, &question, "👍").answered().await;
    ann.wait_for_words(&place, DONE).await;
}

/// Buttons of a list work once, in their conversation, for their person; what a press does is done once even if
/// Telegram tells of it twice.
#[tokio::test]
async fn a_new_chat_is_made_once_by_a_press() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let listed = ann.ask(&chat, "/chats", "C1").await;
    let button = listed.buttons.iter().find(|b| b.label.to_lowercase().contains("new")).unwrap();
    let press = ann.press_data(&chat, listed.id, &button.data);
    press.answered().await;
    press.repeat(&world.bot);
    ann.press_data(&chat, listed.id, &button.data).answered().await;
    eventually("there is a second chat", || async {
        world
            .json(&["chats", "list", "--user", "ann"])
            .await
            .to_string()
            .contains("C2")
            .then_some(())
    })
    .await;
    ann.ask(&chat, "hello", "echo: hello").await;
    let chats = world.json(&["chats", "list", "--user", "ann"]).await;
    assert_eq!(chats.as_array().map(Vec::len), Some(2), "{chats}");
}

/// An answer that comes too late for the client, and a button of a message that is gone: no harm.
#[tokio::test]
async fn late_and_lost_presses_do_no_harm() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let question = asked(&world, &ann, &chat).await;
    world.telegram.presses_last(Duration::ZERO);
    let press = ann.press(&chat, &question, "👍");
    press.expire();
    ann.wait_for_words(&chat, DONE).await;
    assert!(press.answer().is_none());
    world.telegram.presses_last(Duration::from_secs(60));
    ann.press_data(&chat, question.id, "whatever").answered().await;
    ann.ask(&chat, "hello", "echo: hello").await;
}

/// E: after a restart a question that waits is still answered by its button.
#[tokio::test]
async fn a_button_outlives_a_restart() {
    let mut world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let question = asked(&world, &ann, &chat).await;
    world.stack.kill().await.unwrap();
    let press = ann.press(&chat, &question, "👍");
    world.stack.restart().await.unwrap();
    press.answered().await;
    ann.wait_for_words(&chat, DONE).await;
    // Killed before it knew that the question had got there, it asks again, and says so.
    let heard = ann.heard_texts(&chat);
    let count = |words: &str| heard.iter().filter(|text| text.starts_with(words)).count();
    assert_eq!(count("A1"), 1 + count("I was interrupted"), "{heard:#?}");
}

/// A button in a topic is good for weeks: after some days Telegram tells no more than the chat of what it is below. What
/// a question showed can't be seen then, and its button says how it is answered.
#[tokio::test]
async fn an_old_button_in_a_topic_is_good_unless_it_answers() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    let question = asked(&world, &ann, &c1).await;
    let listed = ann.ask(&c1, "/chats", "C1").await;
    world.telegram.messages_are_old();
    // What is no button of ours, and a button of somebody else, still do nothing.
    let forged = ann.press_data(&c1, question.id, "AAAAAAAAAAAAAAAAAAAAAA").answered().await;
    assert!(forged.contains("does nothing"), "{forged}");
    let bob = world.person("bob").await;
    bob.start(&bob.with(&world.bot));
    let bobs = bob.topic(&world.bot, "C1").await;
    let his = bob.ask(&bobs, "/chats", "C1").await;
    let allow = question.buttons.iter().find(|button| button.label.contains("👍")).unwrap();
    let stolen = bob.press_data(&bobs, his.id, &allow.data).answered().await;
    assert!(stolen.contains("does nothing"), "{stolen}");
    let said = ann.press(&c1, &question, "👍").answered().await;
    assert!(said.contains("can't see") && said.contains("/approve A1"), "{said}");
    assert_eq!(world.waiting("ann").await, 1);
    let new = listed.buttons.iter().find(|b| b.label.to_lowercase().contains("new")).unwrap();
    ann.press_data(&c1, listed.id, &new.data).answered().await;
    ann.topic(&world.bot, "C2").await;
    ann.say(&c1, "/approve A1");
    ann.wait_for_words(&c1, DONE).await;
}

/// A question that was deleted is shown to nobody, and no button of it answers it.
#[tokio::test]
async fn a_question_that_was_deleted_is_not_answered_by_its_buttons() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let question = asked(&world, &ann, &chat).await;
    ann.delete(&chat, question.id);
    for button in &question.buttons {
        let said = ann.press_data(&chat, question.id, &button.data).answered().await;
        assert!(said.contains("can't see"), "{}: {said}", button.label);
    }
    assert_eq!(world.waiting("ann").await, 1, "nobody is shown the question");
    assert_eq!(count(&ann, &chat, DONE), 0);
    ann.say(&chat, "/approve A1");
    ann.wait_for_words(&chat, DONE).await;
}

/// What was settled stays settled, whatever is pressed afterwards.
#[tokio::test]
async fn what_was_settled_is_not_answered_again() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let question = asked(&world, &ann, &chat).await;
    ann.say(&chat, "/deny A1");
    eventually("nothing waits", || async { (world.waiting("ann").await == 0).then_some(()) }).await;
    for button in &question.buttons {
        let said = ann.press_data(&chat, question.id, &button.data).answered().await;
        assert!(!said.to_lowercase().contains("allowed"), "{}: {said}", button.label);
    }
    ann.ask(&chat, "hello", "echo: hello").await;
    assert_eq!(count(&ann, &chat, DONE), 0);
}

/// What is asked in private is answered there, and not where others are, whoever presses and
/// whatever Telegram still tells of the message.
#[tokio::test]
async fn a_private_question_is_not_answered_where_others_are() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let eve = world.telegram.person("eve");
    let group = world.telegram.group("Club", &[&ann, &eve]);
    world.club(&group, &[("ann", "admin")]).await;
    group.add_bot(&ann, &world.bot);
    let place = group.place();
    let there = ann.ask(&place, "@cloister_bot hello", "echo: hello").await;
    let question = asked(&world, &ann, &chat).await;
    for old in [false, true] {
        if old {
            world.telegram.messages_are_old();
        }
        for person in [&ann, &eve] {
            for button in &question.buttons {
                let said = person.press_data(&place, there.id, &button.data).answered().await;
                assert!(!said.to_lowercase().contains("allowed"), "{}: {said}", button.label);
            }
        }
    }
    assert_eq!(world.waiting("ann").await, 1);
    assert_eq!(count(&ann, &chat, DONE), 0);
}
