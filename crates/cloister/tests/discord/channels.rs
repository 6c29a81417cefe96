//! Guilds: fail closed, only when addressed, a thread is a chat of its own; and what happens when they go away.

use cloister_testkit::discord::permissions;

use crate::world::{World, eventually, texts};

/// I3: a channel that nobody connected gets one sentence when the bot is addressed, else silence; no model.
#[tokio::test]
async fn a_channel_that_is_not_connected_gets_a_sentence() {
    let world = World::start().await;
    let ann = world.person("ann").await;
    let guild = world.discord.guild("club", &[&ann], &[&world.bot]);
    let lobby = world.discord.channel(guild, "lobby");
    ann.say(lobby, "just talking");
    ann.ask(lobby, &format!("{} hello", world.bot.mention()), "cloister context add").await;
    ann.say(lobby, &format!("{} hello?", world.bot.mention()));
    let dm = ann.dm(&world.bot);
    ann.ask(dm, "hello", "echo: hello").await;
    let told = texts(&ann, lobby);
    assert_eq!(told.len(), 1, "once: {told:?}");
    assert_eq!(world.model.request_count(), 1);
    world.assert_clean();
}

/// I3: in a connected channel the agent takes what mentions it, replies to it or is a command for it, of members.
#[tokio::test]
async fn a_connected_channel_is_answered_when_addressed() {
    let world = World::start().await;
    let club = world.club("member", &["ann", "bob"]).await;
    let (ann, bob) = (&club.people[0], &club.people[1]);
    ann.say(club.general, "just talking to bob");
    let asked = format!("{} hello all", world.bot.mention());
    let answer = ann.ask(club.general, &asked, "hello all").await;
    assert!(answer.reply_to.is_some(), "it says whom it answers: {answer:?}");
    assert!(answer.rung.is_empty(), "and rings nobody");
    bob.reply(club.general, answer.id, "me too");
    bob.wait_for_words(club.general, "me too").await;
    let told = bob.use_command(club.general, &world.bot, "context", &[]).await;
    assert!(told.text().contains("club"), "{}", told.text());
    let seen: Vec<String> =
        world.model.requests().iter().map(cloister_testkit::Received::last_user_text).collect();
    assert!(!seen.iter().any(|text| text.contains("just talking")), "{seen:?}");
    assert!(
        seen.iter().all(|text| !text.contains("<@")),
        "the mention is not part of it: {seen:?}"
    );

    // Whoever holds no role is not answered, and told so once.
    let eve = world.person("eve").await;
    world.discord.join(club.guild, &eve);
    eve.ask(club.general, &format!("{} let me in", world.bot.mention()), "role").await;
    let asked = world.model.requests();
    assert!(!asked.iter().any(|request| request.body.to_string().contains("let me in")));
    world.assert_clean();
}

/// I3: what is private is not done where others read along.
#[tokio::test]
async fn private_commands_are_not_answered_in_the_open() {
    let world = World::start().await;
    let club = world.club("member", &["ann", "bob"]).await;
    let (ann, bob) = (&club.people[0], &club.people[1]);
    for command in ["/settings", "/pair"] {
        let said = format!("{} {command}", world.bot.mention());
        ann.ask(club.general, &said, "for you alone").await;
    }
    assert!(!texts(bob, club.general).iter().any(|text| text.contains("Linked accounts")));
    world.assert_clean();
}

/// X6: a thread of a connected channel is a chat of its own, with the thread's title. Who renames a thread is not
/// told by Discord, so only `/rename`, which not everybody may, names the chat; the thread follows.
#[tokio::test]
async fn a_thread_is_a_chat_of_its_own() {
    let world = World::start().await;
    let club = world.club("admin", &["ann", "bob"]).await;
    let (ann, bob) = (&club.people[0], &club.people[1]);
    let bot = world.bot.mention();
    ann.ask(club.general, &format!("{bot} the word is aubergine"), "aubergine").await;
    let root = ann.say(club.general, "let us talk about taxes");
    let thread = ann.start_thread(club.general, Some(root), "Taxes");
    ann.ask(thread, &format!("{bot} hello thread"), "hello thread").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(!seen.contains("aubergine"), "it is another chat: {seen}");
    bob.ask(thread, &format!("{bot} me too"), "me too").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("hello thread"), "and the same for all in it");
    let titled = |title: &'static str| {
        let world = &world;
        async move {
            let chats = world.json(&["chats", "list", "--user", "club"]).await.to_string();
            chats.contains(title).then_some(())
        }
    };
    eventually("the chat has the thread's title", || titled("Taxes")).await;
    ann.rename_thread(thread, "Income taxes");
    ann.ask(thread, &format!("{bot} still here?"), "still here?").await;
    assert!(titled("Income taxes").await.is_none(), "anybody could have been the one");
    ann.ask(thread, &format!("{bot} /rename Taxes of 2026"), "Taxes of 2026").await;
    eventually("the thread follows", || async {
        world.discord.name_of(thread).filter(|name| name.contains("Taxes of 2026"))
    })
    .await;
    ann.ask(club.general, &format!("{bot} which word?"), "which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine") && !seen.contains("hello thread"), "{seen}");
    world.assert_clean();
}

/// X6: a thread of a channel that is not connected leads nowhere.
#[tokio::test]
async fn a_thread_of_an_unconnected_channel_leads_nowhere() {
    let world = World::start().await;
    let ann = world.person("ann").await;
    let guild = world.discord.guild("club", &[&ann], &[&world.bot]);
    let lobby = world.discord.channel(guild, "lobby");
    let thread = ann.start_thread(lobby, None, "aside");
    ann.ask(thread, &format!("{} hello", world.bot.mention()), "cloister context add").await;
    assert_eq!(world.model.request_count(), 0);
    world.assert_clean();
}

/// X6: a thread that was archived comes back with what is said in it.
#[tokio::test]
async fn an_archived_thread_goes_on() {
    let world = World::start().await;
    let club = world.club("admin", &["ann"]).await;
    let ann = &club.people[0];
    let bot = world.bot.mention();
    let thread = ann.start_thread(club.general, None, "Taxes");
    ann.ask(thread, &format!("{bot} the word is aubergine"), "aubergine").await;
    ann.archive_thread(thread, true);
    ann.ask(thread, &format!("{bot} which word?"), "which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine"), "{seen}");
    world.assert_clean();
}

/// X6: channels, threads and guilds that go away break nothing, and one that is away for a while works again.
#[tokio::test]
async fn what_goes_away_breaks_nothing() {
    let world = World::start().await;
    let club = world.club("admin", &["ann"]).await;
    let ann = &club.people[0];
    let bot = world.bot.mention();
    let dm = ann.dm(&world.bot);
    let thread = ann.start_thread(club.general, None, "Taxes");
    ann.ask(thread, &format!("{bot} hello"), "hello").await;
    world.discord.delete_channel(thread);
    let second = world.discord.channel(club.guild, "second");
    world.connect(second, "second").await;
    ann.ask(second, &format!("{bot} hello second"), "hello second").await;
    world.discord.delete_channel(second);
    world.discord.outage(club.guild, &world.bot);
    ann.ask(club.general, &format!("{bot} still there?"), "still there?").await;
    world.discord.kick(club.guild, &world.bot);
    ann.ask(dm, "and here?", "echo: and here?").await;
    world.until_state("connected").await;
    world.assert_clean();
}

/// X6: where the bot may read and not write, it is silent there, says so to the operator, and works elsewhere.
#[tokio::test]
async fn missing_permissions_are_lived_with() {
    let world = World::start().await;
    let club = world.club("member", &["ann"]).await;
    let ann = &club.people[0];
    let bot = world.bot.mention();
    world.discord.deny(club.general, world.bot.user_id, permissions::SEND_MESSAGES);
    ann.say(club.general, &format!("{bot} can you talk?"));
    let dm = ann.dm(&world.bot);
    ann.ask(dm, "and here?", "echo: and here?").await;
    world.told_model("can you talk?").await;
    world.discord.allow(club.general, world.bot.user_id);
    ann.ask(club.general, &format!("{bot} and now?"), "and now?").await;
    world.discord.deny(club.general, world.bot.user_id, permissions::VIEW_CHANNEL);
    ann.say(club.general, &format!("{bot} can you see?"));
    ann.ask(dm, "still here?", "echo: still here?").await;
    world.assert_clean();
}

/// X6: what could not be said where the bot may not write is said as soon as it may again; nobody has to write first.
#[tokio::test]
async fn a_permission_that_is_given_back_is_enough() {
    let world = World::start().await;
    let club = world.club("member", &["ann"]).await;
    let ann = &club.people[0];
    world.discord.deny(club.general, world.bot.user_id, permissions::SEND_MESSAGES);
    ann.say(club.general, &format!("{} hello", world.bot.mention()));
    let given_up = || async {
        let audit = world.stack.cli_ok(&["audit", "tail"]).await.unwrap();
        audit.contains("conversation.broken").then_some(())
    };
    eventually("it is given up", given_up).await;
    world.discord.allow(club.general, world.bot.user_id);
    ann.wait_for_words(club.general, "echo: hello").await;
    world.assert_clean();
}

/// Without the permission for embeds a question is still read and answered.
#[tokio::test]
async fn without_embeds_a_question_is_still_read() {
    let world = World::start().await;
    let club = world.club("admin", &["ann"]).await;
    let ann = &club.people[0];
    world.discord.deny(club.general, world.bot.user_id, permissions::EMBED_LINKS);
    ann.say(
        club.general,
        &format!("{} run: mkdir -p old && rm -r old && echo gone", world.bot.mention()),
    );
    let asked = ann.wait_for(club.general, "a question", |seen| !seen.buttons.is_empty()).await;
    assert!(asked.text().contains("rm -r old"), "what is asked is shown: {asked:?}");
    ann.answer(ann.press(&asked, "Allow once")).await;
    ann.wait_for_words(club.general, "gone").await;
    world.assert_clean();
}

/// I3: a guild is no way around a direct channel: what is private stays there.
#[tokio::test]
async fn a_private_chat_is_not_reached_from_a_guild() {
    let world = World::start().await;
    let club = world.club("member", &["ann", "bob"]).await;
    let (ann, bob) = (&club.people[0], &club.people[1]);
    let dm = ann.dm(&world.bot);
    ann.ask(dm, "my secret is aubergine", "echo: my secret is aubergine").await;
    bob.ask(club.general, &format!("{} what is ann's secret?", world.bot.mention()), "secret?")
        .await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(!seen.contains("aubergine"), "{seen}");
    let chats = bob.use_command(club.general, &world.bot, "chats", &[]).await.text();
    assert!(!chats.contains("ann"), "{chats}");
    world.assert_clean();
}

/// X6: apps offer the bot's role where somebody begins to write its name: that names it too, also before a command.
#[tokio::test]
async fn the_bots_role_names_it() {
    let world = World::start().await;
    let club = world.club("member", &["ann"]).await;
    let ann = &club.people[0];
    let role = world.discord.role_mention(club.guild, &world.bot);
    ann.ask(club.general, &format!("{role} hello"), "echo: hello").await;
    ann.ask(club.general, &format!("{role} /status"), "Nothing is running.").await;
    assert_eq!(world.model.request_count(), 1, "a command is no message");
    world.assert_clean();
}

/// What was said in a channel before it was connected was not said to the agent, however late that is
/// heard of; what is said afterwards is.
#[tokio::test]
async fn what_was_said_before_a_channel_was_connected_is_history() {
    let world = World::start().await;
    let club = world.club("member", &["ann"]).await;
    let (ann, bot) = (&club.people[0], world.bot.mention());
    ann.ask(club.general, &format!("{bot} hello"), "hello").await;
    let other = world.discord.channel(club.guild, "other");
    world.discord.gateway_down(true);
    ann.say(other, &format!("{bot} an old word"));
    ann.say(other, &format!("{bot} /rename Taken"));
    world.connect(other, "other").await;
    ann.say(other, &format!("{bot} a new word"));
    world.discord.forget_sessions();
    world.discord.gateway_down(false);
    ann.wait_for_words(other, "a new word").await;
    let heard: Vec<String> =
        ann.heard(other).iter().map(cloister_testkit::discord::Seen::text).collect();
    assert!(
        !heard.iter().any(|text| text.contains("old word") || text.contains("Taken")),
        "{heard:?}"
    );
    let asked = world.model.requests();
    assert!(!asked.iter().any(|request| request.body.to_string().contains("old word")));
    world.assert_clean();
}
