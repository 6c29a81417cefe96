//! What is for one person alone, where others read along, when it can't be shown to that person any more.

use std::time::Duration;

use cloister_testkit::discord::Fault;

use crate::world::{World, texts};

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
