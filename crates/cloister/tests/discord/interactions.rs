//! Slash commands and what is offered while they are typed: answered in time, privately where others read along.

use std::time::Duration;

use cloister_testkit::Reply;
use cloister_testkit::discord::Fault;

use crate::world::{PATIENCE, World, eventually, texts};

/// X6: the commands are registered once, with what Discord wants to know, and not written again.
#[tokio::test]
async fn commands_are_registered_once() {
    let mut world = World::start().await;
    let registered = |world: &World| world.discord.commands(&world.bot);
    eventually("commands are there", || async { (!registered(&world).is_empty()).then_some(()) })
        .await;
    let commands = registered(&world);
    let names: Vec<&str> = commands.iter().filter_map(|c| c["name"].as_str()).collect();
    for name in ["task", "status", "approve", "deny", "new", "chats", "cancel", "help"] {
        assert!(names.contains(&name), "/{name} is not in {names:?}");
    }
    let completes = |name: &str, option: &str| {
        let command = commands.iter().find(|command| command["name"] == name).unwrap();
        let mut options = command["options"].as_array().unwrap().iter();
        options.any(|known| known["name"] == option && known["autocomplete"] == true)
    };
    assert!(completes("chats", "chat") && completes("cancel", "task"));
    assert!(completes("approve", "question"));
    world.stack.restart().await.unwrap();
    world.until_state("connected").await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;
    assert_eq!(world.discord.registrations(&world.bot), 1, "nothing had changed");
    world.assert_clean();
}

/// X6: a slash command is answered in its own place, and works as if it were typed.
#[tokio::test]
async fn a_slash_command_is_answered_in_its_place() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;
    let status = ann.use_command(dm, &world.bot, "status", &[]).await;
    assert!(status.text().contains("Nothing is running."), "{}", status.text());
    let made = ann.use_command(dm, &world.bot, "new", &[("title", "Groceries")]).await;
    assert!(made.text().contains("C2"), "{}", made.text());
    ann.ask(dm, "milk", "echo: milk").await;
    let chats = world.json(&["chats", "list", "--user", "ann"]).await.to_string();
    assert!(chats.contains("Groceries"), "{chats}");
    let back = ann.use_command(dm, &world.bot, "chats", &[("chat", "C1")]).await;
    assert!(back.text().contains("C1"), "{}", back.text());
    let thinking = ann.messages(dm).into_iter().filter(|seen| seen.thinking).count();
    assert_eq!(thinking, 0, "nothing is left thinking");
    assert_eq!(world.model.request_count(), 2);
    world.assert_clean();
}

/// X6: `/task` starts work at once, shows it, and its end is told.
#[tokio::test]
async fn a_task_is_started_shown_and_cancelled_by_commands() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let begun =
        ann.use_command(dm, &world.bot, "task", &[("what", "run: echo made-by-task")]).await;
    assert!(begun.text().contains("T1"), "{}", begun.text());
    ann.wait_for_words(dm, "made-by-task").await;
    let shown = ann.use_command(dm, &world.bot, "task", &[("what", "T1")]).await;
    assert!(shown.text().contains("T1"), "{}", shown.text());
    world.assert_clean();
}

/// X6: tasks and chats are offered while they are typed: one's own, at most 25, by what is typed.
#[tokio::test]
async fn what_is_typed_is_completed_with_ones_own() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let (bob, bobs) = world.met("bob").await;
    ann.ask(dm, "hello", "echo: hello").await;
    ann.ask(dm, "/new Aubergines", "C2").await;
    ann.ask(dm, "/new Courgettes", "C3").await;
    bob.ask(bobs, "/new Secrets of Bob", "C2").await;
    let chats = ann.complete(dm, &world.bot, "chats", "chat", "").await;
    let values: Vec<&str> = chats.iter().map(|(_, value)| value.as_str()).collect();
    assert!(
        values.contains(&"C1") && values.contains(&"C2") && values.contains(&"C3"),
        "{chats:?}"
    );
    assert!(!chats.iter().any(|(label, _)| label.contains("Secrets")), "{chats:?}");
    let typed = ann.complete(dm, &world.bot, "chats", "chat", "auber").await;
    assert_eq!(typed.len(), 1, "{typed:?}");
    assert!(typed.iter().any(|(label, value)| label.contains("Aubergines") && value == "C2"));

    ann.say(dm, "run: sleep 30");
    eventually("it runs", || async {
        let tasks = ann.complete(dm, &world.bot, "cancel", "task", "").await;
        tasks.iter().any(|(_, value)| value == "T1").then_some(())
    })
    .await;
    assert!(bob.complete(bobs, &world.bot, "cancel", "task", "").await.is_empty());
    let done = ann.use_command(dm, &world.bot, "cancel", &[("task", "T1")]).await;
    assert!(done.text().contains("T1"), "{}", done.text());
    world.assert_clean();
}

/// X6: who administers a community is offered what its commands take where they type, also in a thread that nobody
/// has spoken in, and nothing that they would refuse.
#[tokio::test]
async fn what_is_offered_in_a_channel_is_taken() {
    let world = World::start().await;
    let club = world.club("admin", &["ann"]).await;
    let (ann, bot) = (&club.people[0], &world.bot);
    ann.ask(club.general, &format!("{} hello", bot.mention()), "echo: hello").await;
    let thread = ann.start_thread(club.general, None, "Recipes");
    let values = async |channel: u64, command: &str| -> Vec<String> {
        let offered = ann.complete(channel, bot, command, "chat", "").await;
        offered.into_iter().map(|(_, value)| value).collect()
    };
    let here = values(club.general, "chats").await;
    assert_eq!((here.len(), values(thread, "archive").await), (1, here.clone()));
    assert!(values(thread, "chats").await.is_empty(), "its chat begins with the first word");
    ann.ask(thread, &format!("{} soup", bot.mention()), "echo: soup").await;
    let there = values(thread, "chats").await;
    assert!(there.len() == 1 && there != here, "{there:?}");
    assert_eq!(values(club.general, "chats").await, here, "`/chats` takes no other");
    assert_eq!(values(club.general, "archive").await.len(), 2);
    let shown = ann.use_command(thread, bot, "chats", &[("chat", &there[0])]).await;
    assert!(shown.text().contains("Recipes"), "{}", shown.text());
    let away = ann.use_command(club.general, bot, "archive", &[("chat", &there[0])]).await;
    assert!(away.text().contains(&there[0]), "{}", away.text());
    world.assert_clean();
}

/// X9: a stranger is offered nothing, and what they use is answered for them alone.
#[tokio::test]
async fn a_stranger_is_offered_nothing() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "/new Secret plans", "C2").await;
    let eve = world.discord.person("eve");
    let eves = eve.dm(&world.bot);
    let offered = eve.complete(eves, &world.bot, "chats", "chat", "").await;
    assert!(offered.is_empty(), "{offered:?}");
    let told = eve.use_command(eves, &world.bot, "status", &[]).await;
    assert!(told.text().contains("pair"), "{}", told.text());
    let guild = world.discord.guild("club", &[&eve], &[&world.bot]);
    let general = world.discord.channel(guild, "general");
    let told = eve.use_command(general, &world.bot, "status", &[]).await;
    assert!(told.is_ephemeral(), "{told:?}");
    assert_eq!(world.model.request_count(), 0);
    world.assert_clean();
}

/// X6, I3: where others read along, what is private is shown to who asked for it alone.
#[tokio::test]
async fn private_things_are_ephemeral_where_others_read_along() {
    let world = World::start().await;
    let club = world.club("member", &["ann", "bob"]).await;
    let (ann, bob) = (&club.people[0], &club.people[1]);
    for command in ["settings", "pair", "budget"] {
        let told = ann.use_command(club.general, &world.bot, command, &[]).await;
        assert!(told.is_ephemeral(), "/{command}: {told:?}");
        assert!(!told.text().is_empty(), "/{command}");
    }
    let shown = texts(bob, club.general);
    assert!(shown.is_empty(), "nobody else sees it: {shown:?}");
    world.assert_clean();
}

/// X6: a command that takes its time is acknowledged within three seconds, and answered when it is done.
#[tokio::test]
async fn a_slow_command_is_acknowledged_in_time() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;
    // Everything else is slow, so that only the acknowledgement can be in time.
    world.discord.lay("PATCH /webhooks", Fault::Late(Duration::from_millis(3500)));
    let used = ann.slash(dm, &world.bot, "status", &[]);
    let told = ann.answer(used).await;
    assert_eq!(told.kind, 5, "it was deferred");
    assert!(told.text().contains("Nothing is running."), "{}", told.text());
    world.assert_clean();
}

/// X6: what could not be acknowledged in time is not answered into the void, and nothing breaks.
#[tokio::test]
async fn a_late_acknowledgement_breaks_nothing() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;
    world.discord.interactions_last(Duration::from_millis(200), Duration::from_secs(900));
    world.discord.lay_times("POST /interactions", Fault::Late(Duration::from_millis(400)), 1);
    let used = ann.slash(dm, &world.bot, "status", &[]);
    assert!(ann.outcome(used).await.is_none(), "the client says that nothing came");
    ann.ask(dm, "are you there?", "echo: are you there?").await;
    world.assert_clean();
}

/// X6: an interaction's token lasts fifteen minutes; what comes later is told as an ordinary message where only
/// the person reads it.
#[tokio::test]
async fn an_answer_after_the_token_ran_out_is_told_otherwise() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;
    world.discord.interactions_last(Duration::from_secs(3), Duration::from_millis(300));
    world.discord.lay_times("PATCH /webhooks", Fault::Late(Duration::from_millis(500)), 1);
    ann.slash(dm, &world.bot, "status", &[]);
    ann.wait_for_words(dm, "Nothing is running.").await;
    world.assert_clean();
}

/// X1: an interaction that is told twice is done once.
#[tokio::test]
async fn an_interaction_that_is_replayed_is_done_once() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;
    let made = ann.use_command(dm, &world.bot, "new", &[("title", "Once")]).await;
    assert!(made.text().contains("C2"), "{}", made.text());
    world.discord.replay_again(5);
    world.discord.disconnect();
    eventually("it has resumed", || async { (world.discord.resumes() > 0).then_some(()) }).await;
    ann.ask(dm, "and now?", "echo: and now?").await;
    let chats = world.json(&["chats", "list", "--user", "ann"]).await;
    assert_eq!(chats.as_array().unwrap().len(), 2, "{chats}");
    // The second acknowledgement is refused, and that is all.
    let wrong = world.discord.complaints();
    assert!(wrong.iter().all(|known| known.contains("40060")), "{wrong:?}");
    world.discord.forgive();
    world.assert_clean();
}

/// X6: a command of one who may not is refused, privately.
#[tokio::test]
async fn who_may_not_is_refused_privately() {
    let world = World::start().await;
    let club = world.club("member", &["ann", "bob"]).await;
    let (ann, bob) = (&club.people[0], &club.people[1]);
    let told = ann.use_command(club.general, &world.bot, "stop", &[("what", "all")]).await;
    assert!(told.is_ephemeral(), "{told:?}");
    let refused = told.text();
    assert!(refused.contains("not allowed") || refused.contains("may not"), "{refused}");
    assert!(texts(bob, club.general).is_empty());
    world.assert_clean();
}

/// A8: an answer of the model to what a command began streams as an ordinary message.
#[tokio::test]
async fn a_message_after_a_command_is_answered() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.use_command(dm, &world.bot, "start", &[]).await;
    let (reply, steps) = Reply::text("a b c d").chunks(4).stepped();
    world.model.enqueue(reply);
    ann.say(dm, "letters");
    steps.allow(10);
    ann.wait_for_text(dm, "a b c d").await;
    assert!(world.model.wait_for_n(1, PATIENCE).await.is_some());
    world.assert_clean();
}
