//! Groups are community contexts: closed unless an operator opened them, and quiet unless they are spoken to
//! (X5, I3).

use cloister_testkit::telegram::{BotSettings, Fault, FileKind, Group, Person, Seen, Sent};

use crate::world::{World, asks, count, eventually};

/// A group with Ann and Bob that is the context `general` of the club; each has this role.
async fn club(world: &World, role: &str) -> (Person, Person, Group) {
    let (ann, bob) = (world.person("ann").await, world.person("bob").await);
    let group = world.telegram.group("Club", &[&ann, &bob]);
    world.club(&group, &[("ann", role), ("bob", role)]).await;
    group.add_bot(&ann, &world.bot);
    (ann, bob, group)
}

/// I3: in a group that nobody connected the bot says so when it is spoken to, once, and is silent otherwise;
/// nothing of what is said there reaches a model.
#[tokio::test]
async fn a_group_that_is_not_connected_is_closed() {
    let world = World::start().await;
    let (ann, anns) = world.met("ann").await;
    let group = world.telegram.group("Somewhere", &[&ann]);
    group.add_bot(&ann, &world.bot);
    let place = group.place();
    ann.say(&place, "nobody asked you");
    ann.say(&place, "/status");
    let told = ann.ask(&place, "@cloister_bot tell me my secrets", "connect").await;
    assert!(told.text.contains(&group.id().to_string()), "the number to connect: {}", told.text);
    ann.say(&place, "@cloister_bot really?");
    ann.ask(&anns, "hello", "echo: hello").await;
    assert_eq!(ann.heard(&place).len(), 1, "{:?}", ann.heard_texts(&place));
    assert_eq!(world.model.request_count(), 1);
}

/// In a connected group the agent takes what mentions it, replies to it, or is a command for it, and nothing
/// else.
#[tokio::test]
async fn only_what_is_for_the_bot_is_taken() {
    let world = World::start().await;
    let (ann, bob, group) = club(&world, "member").await;
    let place = group.place();
    for text in [
        "I talk to bob",
        "a mail to me@cloister_bot.example",
        "@another_bot hello",
        "/start@another_bot",
        "cloister_bot is nice",
    ] {
        ann.say(&place, text);
    }
    let answer = ann.ask(&place, "@cloister_bot hello all", "echo: hello all").await;
    bob.reply(&place, answer.id, "and I reply");
    bob.wait_for_words(&place, "and I reply").await;
    ann.ask(&place, "/context@cloister_bot", "general").await;
    ann.ask(&place, "/context", "general").await;
    assert_eq!(world.model.request_count(), 2, "{:?}", ann.heard_texts(&place));
    let asked = world.model.requests();
    let text = |at: usize| asked[at].last_user_text();
    assert!(text(0).contains("hello all") && !text(0).contains("@cloister_bot"), "{}", text(0));
    assert!(text(1).contains("and I reply"), "{}", text(1));
}

/// I3: what is private is not said in a group, and who administers it decides about it.
#[tokio::test]
async fn a_group_keeps_to_itself() {
    let world = World::start().await;
    let (ann, _, group) = club(&world, "member").await;
    let place = group.place();
    for (command, refused) in [
        ("/settings@cloister_bot", "for you alone"),
        ("/pair@cloister_bot", "for you alone"),
        ("/allow@cloister_bot example.org", "not allowed"),
        ("/admin_channel@cloister_bot enable", "not"),
    ] {
        ann.ask(&place, command, refused).await;
    }
    assert_eq!(world.model.request_count(), 0);
}

/// Strangers and people without a role are not answered by a model.
#[tokio::test]
async fn strangers_in_a_group_reach_nothing() {
    let world = World::start().await;
    let (ann, _, group) = club(&world, "member").await;
    let place = group.place();
    let eve = world.telegram.person("eve");
    let mallory = world.person("mallory").await;
    for person in [&eve, &mallory] {
        group.add_person(person);
    }
    mallory.ask(&place, "@cloister_bot let me in", "role").await;
    eve.say(&place, "@cloister_bot let me in, too");
    eve.say(&place, "@cloister_bot pair");
    ann.ask(&place, "@cloister_bot hello", "echo: hello").await;
    assert_eq!(world.model.request_count(), 1);
    assert_eq!(count(&ann, &place, "Your code is"), 0, "no code where others read along");
}

/// `/task`, `/approve` and `/deny` work in a group, for who may.
#[tokio::test]
async fn tasks_and_approvals_in_a_group() {
    let world = World::start().await;
    let (ann, bob, group) = club(&world, "admin").await;
    let place = group.place();
    ann.ask(
        &place,
        "/task@cloister_bot run: mkdir -p old && rm -r old && echo gone-$((20 + 3))",
        "T1",
    )
    .await;
    let question = ann.wait_for(&place, "a question", asks).await;
    assert!(question.text.contains("/approve A1"), "{}", question.text);
    bob.ask(&place, "/yes@cloister_bot", "nothing of yours").await;
    assert_eq!(world.waiting("club").await, 1, "nobody's yes answers what another was asked");
    ann.say(&place, "/approve@cloister_bot A1");
    ann.wait_for_words(&place, "gone-23").await;
}

/// A file in a group is taken when its caption speaks to the bot.
#[tokio::test]
async fn a_file_in_a_group() {
    let world = World::start().await;
    let (ann, _, group) = club(&world, "member").await;
    let place = group.place();
    let file = |name: &str| Sent::file(FileKind::Document, name, "text/plain", b"read me");
    ann.send(&place, file("private.txt"));
    ann.send(&place, file("shared.txt").caption("@cloister_bot what is this?"));
    let told = world.told_model("what is this?").await;
    assert!(told.contains("shared.txt") && !told.contains("private.txt"), "{told}");
    assert_eq!(world.incoming().len(), 1, "{:?}", world.incoming());
}

/// A bot in privacy mode hears less, and is the same for who speaks to it.
#[tokio::test]
async fn a_bot_in_privacy_mode() {
    let settings = BotSettings { reads_everything: false, ..BotSettings::default() };
    let world = World::builder().bot(settings).start().await;
    let (ann, _, group) = club(&world, "member").await;
    let place = group.place();
    ann.say(&place, "not for bots");
    let answer = ann.ask(&place, "@cloister_bot hello", "echo: hello").await;
    ann.reply(&place, answer.id, "and this?");
    ann.wait_for_words(&place, "and this?").await;
}

/// Thrown out of a group: it is quiet, and back when it is let in again.
#[tokio::test]
async fn thrown_out_and_let_in_again() {
    let world = World::start().await;
    let (ann, _, group) = club(&world, "member").await;
    let place = group.place();
    ann.ask(&place, "@cloister_bot hello", "echo: hello").await;
    group.kick(&ann, &world.bot);
    ann.say(&place, "@cloister_bot are you there?");
    group.add_bot(&ann, &world.bot);
    ann.ask(&place, "@cloister_bot welcome back", "echo: welcome back").await;
    assert_eq!(count(&ann, &place, "are you there"), 0, "{:?}", ann.heard_texts(&place));
}

/// Several bots in one control plane: each answers in its own chats.
#[tokio::test]
async fn several_bots_answer_each_in_their_chats() {
    let world = World::start().await;
    let other = world.telegram.bot("other_bot");
    world.add_bot(&other, &[]).await;
    let (ann, first) = world.met("ann").await;
    let second = ann.with(&other);
    ann.start(&second);
    ann.wait_for_words(&second, "Hello").await;
    ann.ask(&first, "hello first", "echo: hello first").await;
    ann.ask(&second, "hello second", "echo: hello second").await;
    assert_eq!(count(&ann, &first, "hello second"), 0);
    assert_eq!(count(&ann, &second, "hello first"), 0);
    let listed = world.json(&["telegram", "list"]).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
}

/// P8, the attack: an agent that writes somebody's name in a group does not ring them, whatever is around the name and
/// whether the marks are taken; in a private chat names stay as they are.
#[tokio::test]
async fn names_in_an_answer_ring_nobody() {
    let evil = "🦊 **ask @bob_77 now**, (@eve_88) or `@in_code` at ada@example.org, https://example.org/@page";
    let model = crate::streaming::says("names", cloister_testkit::Reply::text(evil));
    let world = World::builder().model(model).start().await;
    let (ann, _, group) = club(&world, "member").await;
    let (place, private) = (group.place(), ann.with(&world.bot));
    let seen = ann.ask(&place, "@cloister_bot names", "eve_88").await;
    assert_eq!(seen.rings(), Vec::<String>::new(), "{}", seen.text);
    assert_eq!(seen.marked("code"), ["@in_code"], "marks are where they were");
    assert_eq!(seen.marked("bold"), ["ask ＠bob_77 now"]);
    assert!(seen.text.contains("ada@example.org, https://example.org/@page"), "{}", seen.text);
    let refused = "Bad Request: can't parse entities: entity offset is wrong".to_owned();
    let refuse = Fault::Refuse { code: 400, description: refused };
    world.telegram.lay_times("sendMessage", refuse, 1);
    ann.say(&place, "@cloister_bot names again");
    let plainly = |told: &Seen| told.id > seen.id && told.text.contains("eve_88");
    let plain = ann.wait_for(&place, "the same without marks", plainly).await;
    assert!(plain.rings().is_empty() && plain.entities.is_empty(), "{}", plain.text);
    let alone = ann.ask(&private, "names", "eve_88").await;
    assert_eq!(alone.rings(), ["bob_77", "eve_88"], "nobody else is there: {}", alone.text);
}

/// A topic that was closed while something was to be said there, and is opened again: it is said then.
#[tokio::test]
async fn a_topic_that_is_opened_again_is_told_what_waited() {
    let world = World::start().await;
    let ann = world.person("ann").await;
    let forum = world.telegram.forum("Club", &[&ann]);
    world.club(&forum, &[("ann", "member")]).await;
    forum.add_bot(&ann, &world.bot);
    let plans = forum.open_topic(&ann, "Plans");
    ann.ask(&plans, "@cloister_bot hello", "echo: hello").await;
    let (reply, steps) = cloister_testkit::Reply::text("here you are").chunks(2).stepped();
    world.model.enqueue(reply);
    ann.say(&plans, "@cloister_bot something");
    world.told_model("something").await;
    ann.close_topic(&plans, true);
    steps.allow(10);
    eventually("it is refused", || async {
        let sent = world.telegram.calls("sendMessage");
        sent.last().is_some_and(|call| call.code == 400).then_some(())
    })
    .await;
    assert_eq!(count(&ann, &plans, "here you are"), 0);
    ann.close_topic(&plans, false);
    ann.wait_for_words(&plans, "here you are").await;
    assert_eq!(count(&ann, &plans, "here you are"), 1);
}
