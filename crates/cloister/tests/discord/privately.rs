//! What is for one person alone, where others read along, when it can't be shown to that person any more.

use std::time::Duration;

use cloister_testkit::discord::Fault;

use crate::world::{SOON, World, eventually, texts};

/// X6, attack: whoever waits until Discord no longer takes private answers reads nothing of one.
#[tokio::test]
async fn a_private_answer_that_is_too_late_is_said_nowhere_else() {
    let world = World::start().await;
    let club = world.club("admin", &["ann", "bob"]).await;
    let (ann, bob) = (&club.people[0], &club.people[1]);
    world.discord.interactions_last(Duration::from_secs(3), Duration::from_millis(300));
    world.discord.lay_times("PATCH /webhooks", Fault::Late(Duration::from_millis(600)), 1);
    ann.slash(club.general, &world.bot, "settings", &[]);
    bob.wait_for_words(club.general, "is for one person alone").await;
    let shown = texts(bob, club.general);
    assert_eq!(shown.len(), 1, "{shown:?}");
    // Given again, it is answered, and again to that person alone.
    world.discord.interactions_last(Duration::from_secs(3), Duration::from_secs(900));
    let told = ann.use_command(club.general, &world.bot, "settings", &[]).await;
    assert!(told.is_ephemeral() && !told.text().is_empty(), "{told:?}");
    assert_eq!(texts(bob, club.general), shown);
    assert!(!shown.concat().contains(&told.text()), "{shown:?}");
    world.assert_clean();
}

/// X1, X6: Discord does not know a private answer again: one whose sending was cut is sent again, and said to be.
#[tokio::test]
async fn a_private_answer_that_is_sent_again_is_announced() {
    let world = World::builder().config(SOON).start().await;
    let club = world.club("admin", &["ann", "bob"]).await;
    let (ann, bob) = (&club.people[0], &club.people[1]);
    // More than one message can hold.
    let long = ["a".repeat(60), "b".repeat(60), "c".repeat(60)].join(".");
    for number in 0..12 {
        let host = format!("{long}.{number}.example.org");
        ann.use_command(club.general, &world.bot, "allow", &[("host", &host)]).await;
    }
    let before = texts(bob, club.general);
    world.discord.lay_times("POST /webhooks", Fault::Lost, 1);
    ann.use_command(club.general, &world.bot, "network", &[]).await;
    ann.wait_for_words(club.general, "I was interrupted").await;
    let all = || async {
        let shown = texts(ann, club.general);
        let notice = shown.iter().position(|text| text.contains("I was interrupted"))?;
        (shown.len() > notice + 1).then_some((shown, notice))
    };
    let (shown, notice) = eventually("it is shown again", all).await;
    assert_eq!(world.discord.pending(), 0, "the fault was met");
    assert_eq!(shown[notice - 1], shown[notice + 1], "the same again: {shown:#?}");
    assert_eq!(texts(bob, club.general), before, "nobody else sees any of it");
    world.assert_clean();
}
