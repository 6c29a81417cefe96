//! A topic per chat, in private chats and in forums: (chat, topic) is the key, and titles follow both ways (X5).

use std::time::Duration;

use cloister_testkit::Reply;
use cloister_testkit::telegram::{BotSettings, Fault, Person, Place};

use crate::world::{World, asks, count, eventually};

async fn until_named(person: &Person, place: &Place, name: &str) {
    eventually(&format!("the topic is called {name:?}"), || async {
        let topics = person.topics_of(&place.whole());
        topics.iter().any(|(known, called)| known == place && called == name).then_some(())
    })
    .await;
}

fn names(world: &World, person: &Person) -> Vec<String> {
    person.topics(&world.bot).into_iter().map(|(_, name)| name).collect()
}

async fn chats(world: &World, user: &str) -> String {
    world.json(&["chats", "list", "--user", user]).await.to_string()
}

/// X5: from Start to a second chat: each chat has one topic, and what is said in one stays in it.
#[tokio::test]
async fn each_chat_has_a_topic() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    ann.ask(&c1, "the word is aubergine", "echo: the word is aubergine").await;
    ann.say(&c1, "/new Groceries");
    let c2 = ann.topic(&world.bot, "C2").await;
    until_named(&ann, &c2, "C2 · Groceries").await;
    ann.ask(&c2, "milk", "echo: milk").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(!seen.contains("aubergine"), "chats do not mix");
    assert_eq!(count(&ann, &c1, "milk"), 0);
    assert_eq!(count(&ann, &c2, "aubergine"), 0);
    assert_eq!(ann.topics(&world.bot).len(), 2);
    assert!(world.telegram.calls("createForumTopic").len() == 2);
    // Asked again, nothing is made twice.
    ann.start(&ann.with(&world.bot));
    ann.ask(&c1, "still there?", "echo: still there?").await;
    assert_eq!(ann.topics(&world.bot).len(), 2, "{:?}", names(&world, &ann));
}

/// X5: what is said in a new topic while Telegram's answer is still on its way is said in its chat.
#[tokio::test]
async fn a_topic_is_spoken_in_before_its_number_is_known() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    world.telegram.lay_times("createForumTopic", Fault::Late(Duration::from_secs(2)), 1);
    ann.say(&c1, "/new Groceries");
    let c2 = ann.topic(&world.bot, "C2").await;
    ann.ask(&c2, "milk", "echo: milk").await;
    assert_eq!(names(&world, &ann), ["C1", "C2 · Groceries"]);
    assert!(!chats(&world, "ann").await.contains("C3"));
}

/// X5: titles follow both ways, and a name that Telegram would not take is cut.
#[tokio::test]
async fn titles_follow_both_ways() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    ann.say(&c1, "/rename Garden");
    until_named(&ann, &c1, "C1 · Garden").await;
    ann.rename_topic(&c1, "Kitchen");
    eventually("the chat has the new title", || async {
        chats(&world, "ann").await.contains("Kitchen").then_some(())
    })
    .await;
    let long = "x".repeat(140);
    ann.say(&c1, &format!("/rename {long}"));
    eventually("it is cut", || async {
        let topics = ann.topics(&world.bot);
        topics.first().filter(|(_, name)| name.contains("xxxx")).cloned()
    })
    .await;
    // Whatever was renamed by whom, it ends: nobody answers the other's renames for ever.
    let renames = world.telegram.calls("editForumTopic").len();
    ann.ask(&c1, "hello", "echo: hello").await;
    assert!(renames <= 4, "{renames}");
    assert_eq!(world.telegram.calls("editForumTopic").len(), renames);
}

/// X5: a topic that the person opens is a new chat with that title.
#[tokio::test]
async fn a_topic_that_is_opened_is_a_chat() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    ann.ask(&c1, "the word is aubergine", "echo: the word is aubergine").await;
    let taxes = ann.open_topic(&world.bot, "Taxes");
    ann.ask(&taxes, "how much?", "echo: how much?").await;
    assert!(chats(&world, "ann").await.contains("Taxes"));
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(!seen.contains("aubergine"), "a chat of its own");
    assert_eq!(ann.topics(&world.bot).len(), 2, "{:?}", names(&world, &ann));
}

/// X5: chats that were made on other surfaces, before and after, have topics as well.
#[tokio::test]
async fn chats_from_elsewhere_get_topics() {
    let world = World::with_topics().await;
    let ann = world.person("ann").await;
    world.json(&["chats", "new", "Garden", "--user", "ann"]).await;
    ann.start(&ann.with(&world.bot));
    let garden = ann.topic(&world.bot, "C2").await;
    until_named(&ann, &garden, "C2 · Garden").await;
    world.json(&["chats", "new", "Kitchen", "--user", "ann"]).await;
    let kitchen = ann.topic(&world.bot, "C3").await;
    ann.ask(&kitchen, "hello", "echo: hello").await;
}

/// X5: an archived chat says so in its topic's name; nothing is tried for ever that private chats do not have.
#[tokio::test]
async fn an_archived_chat_shows_it() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    ann.say(&c1, "/new Old things");
    let c2 = ann.topic(&world.bot, "C2").await;
    ann.ask(&c2, "/archive", "stays readable").await;
    until_named(&ann, &c2, "C2 · Old things (archived)").await;
    ann.ask(&c2, "anybody?", "/archive undo").await;
    ann.ask(&c2, "/archive undo", "C2 is open again.").await;
    until_named(&ann, &c2, "C2 · Old things").await;
    let tried = world.telegram.calls("closeForumTopic").len()
        + world.telegram.calls("reopenForumTopic").len();
    assert!(tried <= 2, "{tried}");
}

/// A topic that the person deleted: what is to be said finds a place, and the chat goes on.
#[tokio::test]
async fn a_deleted_topic_loses_nothing() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    let (reply, steps) = Reply::text("here you are").chunks(2).stepped();
    world.model.enqueue(reply);
    ann.say(&c1, "something");
    world.told_model("something").await;
    ann.delete_topic(&c1);
    steps.allow(10);
    eventually("the answer is somewhere", || async {
        let mut places: Vec<Place> = ann.topics(&world.bot).into_iter().map(|(at, _)| at).collect();
        places.push(ann.with(&world.bot));
        places.iter().any(|place| count(&ann, place, "here you are") == 1).then_some(())
    })
    .await;
    let again = ann.topic(&world.bot, "C1").await;
    assert_ne!(again, c1);
    ann.ask(&again, "hello", "echo: hello").await;
}

/// X5: topics are switched off at BotFather: what a chat has to say is said in the private chat, with its name, and
/// `/new` and `/chats` work there as for a bot that never had topics. Switched on again, each chat has one.
#[tokio::test]
async fn without_topics_again_nothing_is_lost() {
    let mut world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    ann.say(&c1, "/new Taxes");
    let c2 = ann.topic(&world.bot, "C2").await;
    let (reply, steps) = Reply::text("here you are").chunks(2).stepped();
    world.model.enqueue(reply);
    ann.say(&c2, "something");
    world.told_model("something").await;
    world.telegram.switch_topics(&world.bot, false);
    steps.allow(10);
    let lobby = ann.with(&world.bot);
    let answer = ann.wait_for_words(&lobby, "here you are").await;
    assert!(answer.text.contains("C2"), "it says of which chat it is: {}", answer.text);
    assert_eq!(count(&ann, &lobby, "here you are"), 1);
    ann.ask(&lobby, "/new Garden", "C3 “Garden” is shown here from now on").await;
    ann.ask(&lobby, "tomatoes", "echo: tomatoes").await;
    let listed = ann.ask(&lobby, "/chats", "C2 Taxes").await;
    ann.press(&lobby, &listed, "C2").answered().await;
    ann.wait_for_words(&lobby, "C2 “Taxes” is shown here from now on").await;
    ann.ask(&lobby, "how much?", "echo: how much?").await;
    // Over a restart it stays so; and it is found out when they are on again.
    world.stack.kill().await.unwrap();
    world.telegram.switch_topics(&world.bot, true);
    world.stack.restart().await.unwrap();
    ann.say(&lobby, "hello again");
    let garden = ann.topic(&world.bot, "C3").await;
    ann.ask(&garden, "cucumbers", "echo: cucumbers").await;
}

/// The same while nothing runs here: the next start finds it out.
#[tokio::test]
async fn topics_are_switched_off_while_nobody_looks() {
    let mut world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    world.stack.kill().await.unwrap();
    world.telegram.switch_topics(&world.bot, false);
    world.stack.restart().await.unwrap();
    let lobby = ann.with(&world.bot);
    ann.ask(&lobby, "/new Taxes", "C2 “Taxes” is shown here from now on").await;
    ann.ask(&lobby, "how much?", "echo: how much?").await;
}

/// X5: a server that says it has topics and lets bots open none: the person is told, and nobody is asked for ever.
#[tokio::test]
async fn topics_that_can_not_be_made_are_done_without() {
    let world = World::with_topics().await;
    let description = "Bad Request: BOT_FORUM_CREATE_FORBIDDEN".to_owned();
    world.telegram.lay("createForumTopic", Fault::Refuse { code: 400, description });
    let ann = world.person("ann").await;
    let lobby = ann.with(&world.bot);
    ann.start(&lobby);
    ann.wait_for_words(&lobby, "no topics here").await;
    ann.ask(&lobby, "/new Taxes", "C2 “Taxes” is shown here from now on").await;
    world.json(&["chats", "new", "Garden", "--user", "ann"]).await;
    ann.ask(&lobby, "how much?", "echo: how much?").await;
    ann.ask(&lobby, "/chats C3", "C3 “Garden” is shown here from now on").await;
    ann.ask(&lobby, "tomatoes", "echo: tomatoes").await;
    assert_eq!(count(&ann, &lobby, "no topics here"), 1);
    assert_eq!(world.telegram.calls("createForumTopic").len(), 1);
    // Where people open topics, they are chats as ever.
    let own = ann.open_topic(&world.bot, "Kitchen");
    ann.ask(&own, "hello", "echo: hello").await;
    ann.ask(&own, "/new Cellar", "open one, and write to me there").await;
    ann.ask(&own, "/chats C2", "outside of the topics").await;
}

/// The general part of the chat is a lobby: it is answered there, and looks at one chat at a time.
#[tokio::test]
async fn the_general_part_is_a_lobby() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    let lobby = ann.with(&world.bot);
    ann.ask(&lobby, "hello", "echo: hello").await;
    assert_eq!(count(&ann, &c1, "echo: hello"), 0, "it was asked elsewhere");
    let listed = ann.ask(&lobby, "/chats", "C1").await;
    assert!(!listed.buttons.is_empty());
}

/// Questions, drafts and files are in the topic of their chat.
#[tokio::test]
async fn everything_of_a_chat_is_in_its_topic() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    ann.say(&c1, "run: mkdir -p old && rm -r old && echo gone-$((20 + 3))");
    let question = ann.wait_for(&c1, "a question", asks).await;
    assert!(ann.saw_typing(&c1));
    ann.press(&c1, &question, "👍").answered().await;
    ann.wait_for_words(&c1, "gone-23").await;
    let lobby = ann.with(&world.bot);
    assert_eq!(count(&ann, &lobby, "rm -r old"), 0);
    assert!(ann.drafts(&lobby).is_empty());
}

/// A bot whose topics are turned on later: the chats get topics, and nothing is lost on the way.
#[tokio::test]
async fn people_may_not_open_topics_and_chats_still_have_them() {
    let settings =
        BotSettings { topics: true, people_open_topics: false, ..BotSettings::default() };
    let world = World::builder().bot(settings).start().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    ann.ask(&c1, "hello", "echo: hello").await;
}

/// X1: a topic whose making was refused for a while is made when it can be, once.
#[tokio::test]
async fn a_topic_that_can_not_be_made_at_once_is_made_later() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    world.telegram.lay_times("createForumTopic", Fault::TooMany { retry_after: 1 }, 1);
    world.telegram.lay_times("createForumTopic", Fault::Status(502), 1);
    ann.say(&c1, "/new Twins");
    let c2 = ann.topic(&world.bot, "C2").await;
    ann.ask(&c2, "hello", "echo: hello").await;
    let twins = names(&world, &ann).into_iter().filter(|name| name.starts_with("C2")).count();
    assert_eq!(twins, 1);
    let calls = world.telegram.calls("createForumTopic");
    let waited =
        calls.windows(2).find(|pair| pair[0].code == 429).map(|pair| pair[1].at - pair[0].at);
    assert!(waited.is_some_and(|waited| waited >= Duration::from_millis(900)), "{waited:?}");
}

/// I3, X5: a forum group: each topic of a connected group is a chat of its own in that context.
#[tokio::test]
async fn topics_of_a_forum_are_chats() {
    let world = World::start().await;
    let ann = world.person("ann").await;
    let forum = world.telegram.forum("Club", &[&ann]);
    world.club(&forum, &[("ann", "member")]).await;
    forum.add_bot(&ann, &world.bot);
    forum.promote(&ann, &world.bot);
    let (plans, other) = (forum.open_topic(&ann, "Plans"), forum.open_topic(&ann, "Other"));
    let answer = ann.ask(&plans, "@cloister_bot the word is aubergine", "echo:").await;
    assert!(answer.text.contains("aubergine"));
    ann.ask(&other, "@cloister_bot which word?", "which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(!seen.contains("aubergine"), "topics do not mix");
    let chats = chats(&world, "club").await;
    assert!(chats.contains("Plans") && chats.contains("Other"), "{chats}");
    assert_eq!(count(&ann, &forum.place(), "echo:"), 0, "answers stay in their topics");
    ann.rename_topic(&plans, "Designs");
    eventually("the chat has the new title", || async {
        world
            .json(&["chats", "list", "--user", "club"])
            .await
            .to_string()
            .contains("Designs")
            .then_some(())
    })
    .await;
}
