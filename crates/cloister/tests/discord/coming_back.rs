//! Who left, and what vanished: the same day, with the next message, without a false word.

use cloister_testkit::Reply;

use crate::world::{World, texts};

/// Nobody leaves a direct channel; who closed theirs could not be told how to pair, and is told when
/// they come again the same day.
#[tokio::test]
async fn a_stranger_who_could_not_be_told_is_told_later() {
    let world = World::start().await;
    let eve = world.discord.person("eve");
    let dm = eve.dm(&world.bot);
    eve.close_dms();
    eve.say(dm, "hello");
    // What was said first is looked at first.
    let (ann, anns) = world.met("ann").await;
    ann.ask(anns, "hello", "echo: hello").await;
    assert_eq!(texts(&eve, dm), Vec::<String>::new());
    eve.open_dms();
    eve.ask(dm, "and now?", "pair").await;
    eve.ask(dm, "pair", "cloister pair").await;
    world.link("eve", &eve).await;
    eve.ask(dm, "it is me", "echo: it is me").await;
    world.assert_clean();
}

/// Nobody claims that a thread is there which was deleted; a server that the bot was taken off is the
/// same again with the next message once it is back.
#[tokio::test]
async fn what_is_gone_is_not_claimed_and_what_comes_back_goes_on() {
    let world = World::start().await;
    let club = world.club("admin", &["ann"]).await;
    let ann = &club.people[0];
    let bot = world.bot.mention();
    ann.ask(club.general, &format!("{bot} the word is aubergine"), "aubergine").await;
    let thread = ann.start_thread(club.general, None, "Taxes");
    ann.ask(thread, &format!("{bot} hello thread"), "hello thread").await;
    world.discord.delete_channel(thread);
    ann.ask(club.general, &format!("{bot} after it"), "after it").await;
    ann.ask(club.general, &format!("{bot} /chats C3"), "no chat C3").await;
    let another = ann.start_thread(club.general, None, "Taxes again");
    ann.ask(another, &format!("{bot} hello again"), "hello again").await;

    world.discord.kick(club.guild, &world.bot);
    world.discord.invite(club.guild, &world.bot);
    ann.ask(club.general, &format!("{bot} which word?"), "which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine"), "it is the same chat");
    world.assert_clean();
}

/// Who asks what is going on while an answer is being written is told so.
#[tokio::test]
async fn an_answer_under_way_is_told_of() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let (reply, steps) = Reply::text("this goes on for ever").chunks(5).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    ann.say(dm, "talk");
    world.told_model("talk").await;
    let status = ann.ask(dm, "/status", "Budget").await.text();
    assert!(status.contains("answering in C1"), "{status}");
    assert!(!status.contains("Nothing is running"), "{status}");
    steps.allow(10);
    ann.wait_for_words(dm, "this goes on for ever").await;
    ann.ask(dm, "/status", "Nothing is running").await;
    world.assert_clean();
}
