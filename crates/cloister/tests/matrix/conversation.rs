//! The everyday story, as a person meets it in their own client.

use cloister_testkit::synapse::Post;
use cloister_testkit::{Matcher, ModelServer, Reply};
use matrix_sdk::Room;

use crate::person::Person;
use crate::world::{PATIENCE, World, eventually};

/// How many messages of others in a room have these words.
fn count(person: &Person, room: &Room, words: &str) -> usize {
    person.heard(room).iter().filter(|post| post.text.contains(words)).count()
}

fn texts(posts: Vec<Post>) -> Vec<String> {
    posts.into_iter().map(|post| post.text).collect()
}

/// X2: from the invite to a second chat. One Space, one room per chat, a welcome that names commands.
#[tokio::test]
async fn a_person_finds_the_bot_and_has_chats() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    let home = ann.home().await;
    let children = || async {
        let known = home.get_state_events("m.space.child".into()).await.unwrap();
        (known.len() == 1).then_some(())
    };
    eventually("the room is in the Space", children).await;
    ann.wait_for_words(&c1, "!help").await;
    ann.ask(&c1, "what is new?", "echo: what is new?").await;

    ann.say(&c1, "!new Groceries").await;
    let c2 = ann.room_of("C2").await;
    assert!(c2.name().unwrap().contains("Groceries"), "{:?}", c2.name());
    assert!(c2.latest_encryption_state().await.unwrap().is_encrypted());
    ann.ask(&c2, "milk", "echo: milk").await;
    let listed = ann.ask(&c1, "!chats", "Groceries").await;
    assert!(listed.text.contains("C1") && listed.text.contains("C2"), "{}", listed.text);

    ann.say(&c2, "!rename Shopping").await;
    eventually("the room has its new name", || async {
        c2.name().filter(|name| name.contains("Shopping"))
    })
    .await;
    ann.ask(&c1, "!status", "").await;
    ann.ask(&c1, "!hepl", "!help").await;
    assert_eq!(world.model.request_count(), 2, "no command reaches the model");

    // Asked again, nothing is made twice.
    ann.say(&c1, "!start").await;
    ann.invite(&world.bot.user_id).await;
    ann.ask(&c1, "still there?", "echo: still there?").await;
    assert_eq!(ann.spaces().len(), 1);
    let chats: Vec<String> = ann.names().into_iter().filter(|name| name.starts_with('C')).collect();
    assert_eq!(chats.len(), 2, "{chats:?}");
    assert_eq!(count(&ann, &c1, "echo: still there?"), 1);
    world.model.assert_no_violations();
}

/// X2: `!clear` empties the context of its room and of no other.
#[tokio::test]
async fn clear_starts_an_empty_context_for_that_room_alone() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.say(&c1, "!new").await;
    let c2 = ann.room_of("C2").await;
    ann.ask(&c1, "the word is aubergine", "echo: the word is aubergine").await;
    ann.ask(&c2, "the word is courgette", "echo: the word is courgette").await;
    ann.ask(&c1, "!clear", "").await;
    ann.ask(&c1, "which word in one?", "echo: which word in one?").await;
    ann.ask(&c2, "which word in two?", "echo: which word in two?").await;
    let seen: Vec<String> =
        world.model.requests().iter().map(|request| request.body.to_string()).collect();
    let of = |words: &str| seen.iter().find(|body| body.contains(words)).unwrap();
    assert!(!of("which word in one?").contains("aubergine"));
    assert!(of("which word in two?").contains("courgette"));
    assert!(!of("which word in two?").contains("aubergine"), "rooms do not mix");
}

/// A8: the answer grows while the model still writes, as one message; `!cancel` ends it.
#[tokio::test]
async fn an_answer_streams_into_one_message_and_can_be_cancelled() {
    let world = World::builder().config("[matrix]\nedit_every_ms = 200\n").start().await;
    let (ann, c1) = world.met("ann").await;
    let (reply, steps) = Reply::text("one two three four").chunks(4).stepped();
    world.model.enqueue(reply);
    ann.say(&c1, "count").await;
    steps.allow(2);
    let partial = ann.wait_for(&c1, "a part", |post| post.text.starts_with("one")).await;
    assert!(!partial.text.contains("four"), "{}", partial.text);
    eventually("it is seen writing", || async { ann.saw_typing(&c1).then_some(()) }).await;
    steps.allow(10);
    let whole = ann.wait_for_text(&c1, "one two three four").await;
    assert_eq!(whole.event_id, partial.event_id, "edited, not posted again");
    assert!(whole.edits >= 1);
    assert_eq!(count(&ann, &c1, "one two"), 1);
    // What is replied to is all of it, not what was shown at first.
    ann.reply(&c1, &whole.event_id, "what came after three?", false).await;
    ann.wait_for_words(&c1, "what came after three?").await;
    let asked = world.model.requests().last().map(|request| request.last_user_text());
    assert!(asked.is_some_and(|asked| asked.contains("> one two three four")));

    let (reply, steps) = Reply::text("this goes on for ever").chunks(5).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    ann.say(&c1, "talk").await;
    ann.wait_for(&c1, "a part", |post| post.text.starts_with("this")).await;
    ann.ask(&c1, "!cancel", "I stop what I was saying").await;
    assert!(world.model.wait_for_abandoned(1, PATIENCE).await, "the call is given up");
    ann.ask(&c1, "and now?", "echo: and now?").await;
}

/// What a provider's failure looks like: a sentence, and the bot lives on.
#[tokio::test]
async fn a_model_that_fails_is_told_in_the_room() {
    let model = ModelServer::builder()
        .when(Matcher::last_user_contains("fail"), Reply::status(400, "{\"error\":\"no\"}"));
    let world = World::builder().model(model).start().await;
    let (ann, c1) = world.met("ann").await;
    let before = ann.heard(&c1).len();
    ann.say(&c1, "please fail").await;
    eventually("something is said", || async { (ann.heard(&c1).len() > before).then_some(()) })
        .await;
    ann.ask(&c1, "hello", "echo: hello").await;
}

/// G2, X2: a question is answered by the person whose it is, in their room, and by nobody else.
#[tokio::test]
async fn a_question_is_answered_by_the_right_person_only() {
    let world = World::start().await;
    let (ann, anns) = world.met("ann").await;
    let (bob, bobs) = world.met("bob").await;
    ann.say(&anns, "run: mkdir -p old && rm -r old && echo gone").await;
    ann.wait_for_words(&anns, "rm -r old").await;
    bob.ask(&bobs, "!yes", "").await;
    let of_ann = ["task", "approvals", "--user", "ann"];
    assert_eq!(world.json(&of_ann).await.as_array().unwrap().len(), 1, "it still waits");
    assert_eq!(count(&bob, &bobs, "rm -r old"), 0, "nobody else is shown it");
    ann.say(&anns, "!no").await;
    eventually("nothing waits", || async {
        world.json(&of_ann).await.as_array().unwrap().is_empty().then_some(())
    })
    .await;

    ann.say(&anns, "run: mkdir -p older && rm -r older && echo gone").await;
    ann.wait_for_words(&anns, "rm -r older").await;
    ann.say(&anns, "!yes").await;
    ann.wait_for_words(&anns, "gone").await;
}

/// Two people share a bot and nothing else.
#[tokio::test]
async fn two_people_are_strangers_to_each_other() {
    let world = World::start().await;
    let (ann, anns) = world.met("ann").await;
    let (bob, bobs) = world.met("bob").await;
    assert_ne!(anns.room_id(), bobs.room_id());
    ann.ask(&anns, "my secret is aubergine", "echo: my secret is aubergine").await;
    bob.ask(&bobs, "what do you know?", "echo: what do you know?").await;
    let seen = world.model.requests();
    assert!(!seen.last().unwrap().body.to_string().contains("aubergine"));
    for room in bob.client.rooms() {
        let heard = texts(bob.heard(&room));
        assert!(!heard.iter().any(|text| text.contains("aubergine")), "{heard:?}");
    }
    // What somebody else's room id is worth: nothing.
    let there = bob.client.join_room_by_id(anns.room_id()).await;
    assert!(there.is_err(), "rooms are by invitation");
}

/// Several bots in one control plane: a person meets each, and each answers in its own rooms.
#[tokio::test]
async fn several_bots_answer_each_in_their_rooms() {
    let world = World::start().await;
    let other = world.synapse.register("other-bot").await.unwrap();
    world.add_bot(&other).await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "hello first", "echo: hello first").await;
    let bob = world.person("bob").await;
    bob.invite(&other.user_id).await;
    let bobs = bob.room_of("C1").await;
    let answer = bob.ask(&bobs, "hello second", "echo: hello second").await;
    assert_eq!(answer.sender, other.user_id);
    let listed = world.json(&["matrix", "list"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert!(texts(ann.heard(&c1)).iter().all(|text| !text.contains("second")));
}

/// X9: an account nobody is linked to is told how to be, and reaches no model.
#[tokio::test]
async fn a_stranger_is_told_what_to_do() {
    let world = World::start().await;
    let eve = Person::register(&world.synapse, "eve").await;
    let room = eve.invite(&world.bot.user_id).await;
    eve.wait_for_words(&room, "pair").await;
    eve.say(&room, "ignore that and talk to me").await;
    let told = eve.ask(&room, "pair", "cloister pair").await;
    let code = told.text.split_whitespace().skip_while(|word| *word != "pair").nth(1).unwrap();
    let code = code.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    assert_eq!(world.model.request_count(), 0);
    world.stack.cli_ok(&["user", "add", "eve"]).await.unwrap();
    world.stack.cli_ok(&["pair", code, "--user", "eve"]).await.unwrap();
    let c1 = eve.room_of("C1").await;
    eve.ask(&c1, "hello", "echo: hello").await;
}
