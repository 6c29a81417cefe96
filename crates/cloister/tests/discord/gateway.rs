//! The gateway: resumed where that is possible, caught up with where it is not, and never hammered.

use std::time::{Duration, Instant};

use cloister_testkit::discord::permissions::{
    DIRECT_MESSAGES, GUILD_MEMBERS, GUILD_MESSAGES, GUILD_PRESENCES, GUILDS, MESSAGE_CONTENT,
};
use cloister_testkit::discord::{Letter, Person};

use crate::world::{SOON, World, echoes, eventually};

async fn met() -> (World, Person, u64) {
    let world = World::builder().config(SOON).start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "before", "echo: before").await;
    (world, ann, dm)
}

/// Each of these was answered once, in this order, and nothing else.
async fn answered_once(person: &Person, channel: u64, said: &[&str]) {
    for text in said {
        person.wait_for_text(channel, &format!("echo: {text}")).await;
    }
    person.ask(channel, "the last", "echo: the last").await;
    let mut expected = vec!["echo: before".to_owned()];
    expected.extend(said.iter().map(|text| format!("echo: {text}")));
    expected.push("echo: the last".to_owned());
    assert_eq!(echoes(person, channel), expected);
}

async fn resumed(world: &World, times: usize) {
    eventually("it has resumed", || async { (world.discord.resumes() >= times).then_some(()) })
        .await;
}

/// X6: only the intents that are needed are asked for, by name; presences and members are not.
#[tokio::test]
async fn only_needed_intents_are_asked_for() {
    let (world, _ann, _dm) = met().await;
    let session = world.discord.sessions().pop().unwrap();
    for needed in [GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT] {
        assert_ne!(session.intents & needed, 0, "{:b}", session.intents);
    }
    assert_eq!(session.intents & (GUILD_MEMBERS | GUILD_PRESENCES), 0, "{:b}", session.intents);
    assert_eq!(session.shard, (0, 1));
    world.assert_clean();
}

/// X1: a connection that breaks is resumed, and what was said meanwhile comes by the replay.
#[tokio::test]
async fn a_broken_connection_is_resumed() {
    let (world, ann, dm) = met().await;
    world.discord.gateway_down(true);
    ann.say(dm, "one");
    ann.say(dm, "two");
    world.discord.gateway_down(false);
    answered_once(&ann, dm, &["one", "two"]).await;
    assert_eq!((world.discord.identifies(), world.discord.resumes()), (1, 1));
    world.assert_clean();
}

/// X6: asked to reconnect, it resumes where it was told to; so after close codes that allow it.
#[tokio::test]
async fn reconnects_and_closes_are_resumed() {
    let (world, ann, dm) = met().await;
    world.discord.reconnect();
    resumed(&world, 1).await;
    ann.ask(dm, "one", "echo: one").await;
    world.discord.close(4000);
    resumed(&world, 2).await;
    ann.ask(dm, "two", "echo: two").await;
    world.discord.invalidate(true);
    resumed(&world, 3).await;
    // What stands before the gateway goes away: the session does not end with it.
    world.discord.close(1001);
    resumed(&world, 4).await;
    world.discord.close(1000);
    resumed(&world, 5).await;
    answered_once(&ann, dm, &["one", "two"]).await;
    assert_eq!(world.discord.identifies(), 1);
    assert_eq!(world.discord.resumed_elsewhere(), 0, "at the address for it");
    world.assert_clean();
}

/// X1: a resume that is refused: a new session, and what was missed is fetched from the channels, in order.
#[tokio::test]
async fn a_refused_resume_is_caught_up_with() {
    let (world, ann, dm) = met().await;
    world.discord.refuse_resumes(1);
    world.discord.gateway_down(true);
    ann.say(dm, "one");
    ann.send(dm, Letter::text("two").file("a.txt", "text/plain", b"a"));
    ann.say(dm, "three");
    world.discord.gateway_down(false);
    ann.wait_for_text(dm, "echo: three").await;
    ann.ask(dm, "the last", "echo: the last").await;
    let asked: Vec<String> =
        world.model.requests().iter().map(cloister_testkit::Received::last_user_text).collect();
    let words = ["before", "one", "two", "three", "the last"];
    assert_eq!(asked.len(), words.len(), "{asked:#?}");
    for (asked, word) in asked.iter().zip(words) {
        assert!(asked.contains(word), "{word}: {asked}");
    }
    assert_eq!(world.discord.identifies(), 2);
    world.assert_clean();
}

/// X1: more was missed than one page of messages holds; all of it comes, in order, in channels and threads too.
#[tokio::test]
async fn a_long_absence_is_caught_up_with() {
    const MANY: usize = 130;
    let config = "[limits]\nperson_burst = 1000\nperson_per_s = 1000.0\n";
    let mut world = World::builder().config(config).start().await;
    let club = world.club("member", &["ann"]).await;
    let ann = &club.people[0];
    let bot = world.bot.mention();
    let dm = ann.dm(&world.bot);
    ann.ask(dm, "before", "echo: before").await;
    let thread = ann.start_thread(club.general, None, "Taxes");
    ann.ask(thread, &format!("{bot} in the thread"), "in the thread").await;
    ann.ask(club.general, &format!("{bot} in the channel"), "in the channel").await;
    world.stack.stop().await.unwrap();
    world.discord.forget_sessions();
    for number in 0..MANY {
        // Only some of it is to be answered: the rest is talk of others.
        let said = if number % 13 == 0 { format!("{bot} number {number}.") } else { "talk".into() };
        ann.say(club.general, &said);
    }
    ann.say(thread, &format!("{bot} thread question"));
    ann.say(dm, "direct question");
    world.stack.restart().await.unwrap();
    ann.wait_for_text(dm, "echo: direct question").await;
    ann.wait_for_words(thread, "thread question").await;
    ann.wait_for_words(club.general, "number 117.").await;
    ann.ask(club.general, &format!("{bot} the last one"), "the last one").await;
    let heard = crate::world::texts(ann, club.general);
    let numbers: Vec<usize> = heard
        .iter()
        .filter_map(|text| text.split("number ").nth(1)?.split('.').next()?.parse().ok())
        .collect();
    assert_eq!(numbers, (0..MANY).step_by(13).collect::<Vec<_>>(), "each once and in order");
    world.assert_clean();
}

/// X1: what was said while the product was stopped is answered after the start: resumed or fetched.
#[tokio::test]
async fn what_was_said_during_a_stop_is_answered() {
    let (mut world, ann, dm) = met().await;
    world.stack.stop().await.unwrap();
    ann.say(dm, "while you were away");
    world.stack.restart().await.unwrap();
    answered_once(&ann, dm, &["while you were away"]).await;
    world.assert_clean();
}

/// X1: killed again and again while messages flow; each is answered once and in order.
#[tokio::test]
async fn killed_while_messages_flow() {
    const KILLS: u64 = 4;
    let (mut world, ann, dm) = met().await;
    let mut said = Vec::new();
    for number in 0..KILLS {
        let text = format!("number {number}");
        ann.say(dm, &text);
        said.push(text);
        // Every time a little later: reading, thinking, answering.
        tokio::time::sleep(Duration::from_millis(number * 90)).await;
        world.stack.kill().await.unwrap();
        if number % 2 == 1 {
            world.discord.forget_sessions();
        }
        world.stack.restart().await.unwrap();
    }
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    answered_once(&ann, dm, &said).await;
    world.assert_clean();
}

/// X1: killed in the middle of an answer that streams: it becomes whole, and is not there twice.
#[tokio::test]
async fn killed_in_the_middle_of_an_answer() {
    let (mut world, ann, dm) = met().await;
    let (reply, steps) =
        cloister_testkit::Reply::text("this text is never whole").chunks(6).stepped();
    world.model.enqueue(reply);
    steps.allow(3);
    ann.say(dm, "hello");
    ann.wait_for(dm, "a part", |seen| seen.content.starts_with("this")).await;
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    answered_once(&ann, dm, &["hello"]).await;
    let left = crate::world::texts(&ann, dm);
    assert!(!left.iter().any(|text| text.starts_with("this text")), "{left:#?}");
    world.assert_clean();
}

/// X6: a connection that is dead without saying so is noticed by its heartbeats and made again.
#[tokio::test]
async fn a_dead_connection_is_noticed() {
    let world = World::builder().config(SOON).bare().await;
    world.discord.heartbeats(Duration::from_millis(400), true);
    world.add_bot(&world.bot).await;
    world.until_state("connected").await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "before", "echo: before").await;
    world.discord.heartbeats(Duration::from_millis(400), false);
    resumed(&world, 1).await;
    world.discord.heartbeats(Duration::from_secs(40), true);
    world.discord.disconnect();
    answered_once(&ann, dm, &[]).await;
    world.assert_clean();
}

/// X6: intents that are switched off in the portal: the operator is told what to switch on; nobody is hammered.
#[tokio::test]
async fn intents_that_are_switched_off_are_told() {
    let world = World::builder().config(SOON).bare().await;
    world.discord.privileged(&world.bot, 0);
    let file = world.token_file("helper", &world.bot.token);
    let (api, gateway) = (world.discord.url(), world.discord.gateway_url());
    let add = ["discord", "add", "--token-file", file.to_str().unwrap(), "--api-url", &api];
    let added = world.stack.cli(&[&add[..], &["--gateway-url", &gateway]].concat()).await.unwrap();
    let said = format!("{}{}", added.stdout, added.stderr);
    if added.ok() {
        let view = eventually("it says what is wrong", || async {
            let view = world.bot_view().await;
            view["problem"]
                .as_str()
                .is_some_and(|p| p.contains("Message Content Intent"))
                .then_some(view)
        })
        .await;
        assert_ne!(view["state"], "connected", "{view}");
        let status = world.stack.cli(&["discord", "status"]).await.unwrap();
        assert!(format!("{status:?}").contains("Message Content Intent"), "{status:?}");
    } else {
        assert!(said.contains("Message Content Intent"), "{said}");
    }
    let before = world.discord.identifies();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(world.discord.identifies() <= before + 2, "it waits between two tries");
    world.assert_clean();
}

/// X6: intents that are switched off while it runs, and on again.
#[tokio::test]
async fn a_token_that_is_reset_needs_an_operator() {
    let (mut world, ann, dm) = met().await;
    let old = world.bot.token.clone();
    world.discord.reset_token(&mut world.bot);
    let view = eventually("it is told", || async {
        let view = world.bot_view().await;
        view["problem"].as_str().is_some_and(|p| p.contains("discord add")).then_some(view)
    })
    .await;
    assert_ne!(view["state"], "connected", "{view}");
    let since = Instant::now();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(world.discord.count_since(since, "") <= 4, "nobody is hammered");
    ann.say(dm, "one");
    world.add_bot(&world.bot).await;
    world.until_state("connected").await;
    answered_once(&ann, dm, &["one"]).await;
    assert!(!world.stack.log().contains(&old));
    world.assert_clean();
}

/// X6: no session is begun when Discord says that none is left, and the operator sees why.
#[tokio::test]
async fn no_session_is_begun_when_none_is_left() {
    let (mut world, _ann, _dm) = met().await;
    world.stack.stop().await.unwrap();
    world.discord.forget_sessions();
    world.discord.starts(&world.bot, 1, 0);
    let before = world.discord.identifies();
    world.stack.restart().await.unwrap();
    eventually("the operator sees it", || async {
        let view = world.bot_view().await;
        (view["state"] == "retrying" && view["problem"].is_string()).then_some(())
    })
    .await;
    assert_eq!(world.discord.identifies(), before);
    world.assert_clean();
}

/// X6: as many shards as Discord recommends; each guild is served by its own, direct channels by the first.
#[tokio::test]
async fn shards_as_many_as_recommended() {
    let world = World::builder().config(SOON).bare().await;
    world.discord.starts(&world.bot, 2, 1000);
    world.add_bot(&world.bot).await;
    eventually("both shards are there", || async {
        let mut shards: Vec<_> =
            world.discord.sessions().iter().filter(|s| s.connected).map(|s| s.shard).collect();
        shards.sort_unstable();
        (shards == [(0, 2), (1, 2)]).then_some(())
    })
    .await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;
    world.assert_clean();
}

/// X6: identifying too fast is answered with an invalid session; it waits and comes back.
#[tokio::test]
async fn an_identify_that_was_too_fast_is_repeated() {
    let world = World::builder().config(SOON).bare().await;
    world.discord.identify_every(Duration::from_secs(3));
    world.add_bot(&world.bot).await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "before", "echo: before").await;
    world.discord.forget_sessions();
    ann.say(dm, "one");
    answered_once(&ann, dm, &["one"]).await;
    world.assert_clean();
}
