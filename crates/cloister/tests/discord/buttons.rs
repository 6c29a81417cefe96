//! Buttons, and everything that can be tried with them.

use cloister_testkit::discord::{Person, Seen};

use crate::world::{World, eventually, texts};

const RISKY: &str = "run: mkdir -p old && rm -r old && echo gone";

/// The question that a risky task asks.
async fn question(person: &Person, channel: u64) -> Seen {
    let asked = |seen: &Seen| seen.text().contains("rm -r old") && !seen.buttons.is_empty();
    person.wait_for(channel, "a question with buttons", asked).await
}

/// G2, X6: a question is an embed that shows exactly what is asked; a press answers it, and it then says who did.
#[tokio::test]
async fn a_question_is_answered_with_a_press() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.say(dm, RISKY);
    let asked = question(&ann, dm).await;
    assert!(!asked.embeds.is_empty(), "{asked:?}");
    assert!(asked.button("Allow once").is_some() && asked.button("Deny").is_some(), "{asked:?}");
    // A token says nothing of what it is for.
    assert!(asked.buttons.iter().all(|button| button.custom_id.len() == 22), "{asked:?}");
    let pressed = ann.press(&asked, "Allow once");
    ann.answer(pressed).await;
    ann.wait_for_words(dm, "gone").await;
    let settled = |seen: &Seen| seen.id == asked.id && seen.text().contains("ann allowed it once");
    let settled = ann.wait_for(dm, "who answered", settled).await;
    assert!(settled.buttons.is_empty(), "{settled:?}");
    assert_eq!(world.waiting("ann").await, 0);
    world.assert_clean();
}

/// G2: a refusal is one too.
#[tokio::test]
async fn a_question_is_denied_with_a_press() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.say(dm, RISKY);
    let asked = question(&ann, dm).await;
    ann.answer(ann.press(&asked, "Deny")).await;
    let settled = |seen: &Seen| seen.id == asked.id && seen.text().contains("ann denied it");
    ann.wait_for(dm, "who answered", settled).await;
    assert_eq!(world.waiting("ann").await, 0);
    world.assert_clean();
}

/// X6: a button of `/chats` shows that chat; one of `/status` cancels a task.
#[tokio::test]
async fn buttons_of_commands_do_what_they_say() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "the word is aubergine", "echo: the word is aubergine").await;
    ann.ask(dm, "/new Groceries", "C2").await;
    let listed = ann.ask(dm, "/chats", "Groceries").await;
    ann.answer(ann.press(&listed, "C1")).await;
    eventually("the first chat is shown", || async {
        ann.ask(dm, "which word?", "echo: which word?").await;
        let seen = world.model.requests().pop().unwrap().body.to_string();
        seen.contains("aubergine").then_some(())
    })
    .await;
    ann.say(dm, "run: sleep 60");
    let running = eventually("it runs", || async {
        let told = ann.ask(dm, "/tasks", "").await;
        told.button("Cancel").is_some().then_some(told)
    })
    .await;
    ann.answer(ann.press(&running, "Cancel")).await;
    eventually("it is cancelled", || async {
        let tasks = world.json(&["task", "list", "--user", "ann"]).await.to_string();
        tasks.contains("cancelled").then_some(())
    })
    .await;
    world.assert_clean();
}

/// Attack: a made-up token does nothing, wherever it is pressed, and says nothing of what there is.
#[tokio::test]
async fn a_forged_button_does_nothing() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.say(dm, RISKY);
    let asked = question(&ann, dm).await;
    let real = asked.button("Allow once").unwrap().custom_id.clone();
    let mut near = real.clone();
    let last = near.pop().unwrap();
    near.push(if last == 'A' { 'B' } else { 'A' });
    let long = "x".repeat(100);
    let forged = [
        near.as_str(),
        "A1",
        "allow:A1",
        "{\"approval\":\"A1\",\"answer\":\"allow\"}",
        "' OR 1=1 --",
        &long,
    ];
    for token in forged {
        let told = ann.told(ann.press_raw(dm, asked.id, token)).await;
        assert!(told.text().contains("button"), "{token}: {}", told.text());
        assert!(!told.text().contains("A1"), "{token}: {}", told.text());
        assert_eq!(world.waiting("ann").await, 1, "{token}");
    }
    ann.answer(ann.press(&asked, "Deny")).await;
    world.assert_clean();
}

/// Attack: a press is good once: the second, and a replay of the first, do nothing.
#[tokio::test]
async fn a_button_is_good_once() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;
    let listed = ann.ask(dm, "/chats", "C1").await;
    ann.answer(ann.press(&listed, "New chat")).await;
    ann.wait_for_words(dm, "C2").await;
    let again = ann.told(ann.press(&listed, "New chat")).await;
    assert!(again.text().contains("pressed before"), "{}", again.text());
    let token = listed.button("New chat").unwrap().custom_id.clone();
    ann.answer(ann.press_raw(dm, listed.id, &token)).await;
    world.discord.replay_again(10);
    world.discord.disconnect();
    eventually("it has resumed", || async { (world.discord.resumes() > 0).then_some(()) }).await;
    ann.ask(dm, "and now?", "echo: and now?").await;
    let chats = world.json(&["chats", "list", "--user", "ann"]).await;
    assert_eq!(chats.as_array().unwrap().len(), 2, "{chats}");
    let wrong = world.discord.complaints();
    assert!(wrong.iter().all(|known| known.contains("40060")), "{wrong:?}");
}

/// Attack: two presses at once answer once, and the contrary one does not undo it.
#[tokio::test]
async fn racing_presses_answer_once() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.say(dm, RISKY);
    let asked = question(&ann, dm).await;
    let presses: Vec<u64> = ["Deny", "Allow once", "Deny", "Allow once"]
        .into_iter()
        .map(|label| ann.press(&asked, label))
        .collect();
    for pressed in presses {
        ann.answer(pressed).await;
    }
    let audit = world.stack.cli_ok(&["audit", "tail"]).await.unwrap();
    let answered = audit.lines().filter(|line| line.contains("approval.answer")).count();
    assert!(answered <= 1, "{audit}");
    assert_eq!(world.waiting("ann").await, 0);
    world.assert_clean();
}

/// Attack: somebody else's button, pressed where it is, in one's own channel, and by a stranger.
#[tokio::test]
async fn a_button_is_for_its_person_alone() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let (bob, bobs) = world.met("bob").await;
    let eve = world.discord.person("eve");
    bob.ask(bobs, "hello", "echo: hello").await;
    ann.say(dm, RISKY);
    let asked = question(&ann, dm).await;
    let token = asked.button("Allow once").unwrap().custom_id.clone();
    let his = bob.heard(bobs).pop().unwrap();
    for (who, channel, message) in
        [(&bob, dm, asked.id), (&bob, bobs, asked.id), (&bob, bobs, his.id), (&eve, dm, asked.id)]
    {
        let told = who.told(who.press_raw(channel, message, &token)).await;
        assert!(!told.text().contains("rm -r"), "nothing is told of it: {}", told.text());
        assert!(!told.text().contains("A1"), "nor which it is: {}", told.text());
        assert_eq!(world.waiting("ann").await, 1);
    }
    assert!(!texts(&bob, bobs).iter().any(|text| text.contains("rm -r old")));
    ann.answer(ann.press(&asked, "Allow once")).await;
    ann.wait_for_words(dm, "gone").await;
    world.assert_clean();
}

/// Attack: the buttons of what was shown to one person alone are pressed by others, who got hold of them.
#[tokio::test]
async fn an_ephemeral_button_of_another_is_refused() {
    let world = World::start().await;
    let club = world.club("admin", &["ann"]).await;
    let ann = &club.people[0];
    let (eve, mal) = (world.person("eve").await, world.discord.person("mal"));
    for who in [&eve, &mal] {
        world.discord.join(club.guild, who);
    }
    ann.say(club.general, &format!("{} run: sleep 60", world.bot.mention()));
    let hers = eventually("her task is listed for her alone", || async {
        let listed = ann.use_command(club.general, &world.bot, "tasks", &[]).await;
        assert!(listed.is_ephemeral(), "{listed:?}");
        listed.message.filter(|message| message.button("Cancel").is_some())
    })
    .await;
    let token = hers.button("Cancel").unwrap().custom_id.clone();
    for who in [&eve, &mal] {
        assert!(!who.messages(club.general).iter().any(|seen| seen.id == hers.id), "unseen");
        let told = who.told(who.press_raw(club.general, hers.id, &token)).await;
        assert!(told.ephemeral, "{told:?}");
        let tasks = world.json(&["task", "list", "--user", "club"]).await.to_string();
        assert!(!tasks.contains("cancelled"), "{tasks}");
    }
    ann.answer(ann.press(&hers, "Cancel")).await;
    eventually("hers does it", || async {
        let tasks = world.json(&["task", "list", "--user", "club"]).await.to_string();
        tasks.contains("cancelled").then_some(())
    })
    .await;
    world.assert_clean();
}

/// E63, G2: in a community, who may answer does so with a press; who may not is refused, privately.
#[tokio::test]
async fn in_a_community_only_who_may_answers() {
    let world = World::start().await;
    let club = world.club("admin", &["ann"]).await;
    let ann = &club.people[0];
    let eve = world.person("eve").await;
    world.stack.cli_ok(&["role", "give", "eve", "member", "--scope", &club.scope]).await.unwrap();
    world.discord.join(club.guild, &eve);
    let mal = world.discord.person("mal");
    world.discord.join(club.guild, &mal);
    ann.say(club.general, &format!("{} {RISKY}", world.bot.mention()));
    let asked = question(ann, club.general).await;
    for who in [&eve, &mal] {
        let told = who.told(who.press(&asked, "Allow once")).await;
        assert!(told.ephemeral, "{told:?}");
        assert_eq!(world.waiting("club").await, 1);
    }
    ann.answer(ann.press(&asked, "Allow once")).await;
    ann.wait_for_words(club.general, "gone").await;
    world.assert_clean();
}

/// X1: a press while the product is down is answered or can be given again; it never counts twice.
#[tokio::test]
async fn a_press_survives_a_kill() {
    let mut world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.say(dm, RISKY);
    let asked = question(&ann, dm).await;
    world.stack.kill().await.unwrap();
    let lost = ann.press(&asked, "Allow once");
    world.stack.restart().await.unwrap();
    world.until_state("connected").await;
    if ann.outcome(lost).await.is_none() && world.waiting("ann").await == 1 {
        ann.answer(ann.press(&asked, "Allow once")).await;
    }
    ann.wait_for_words(dm, "gone").await;
    let wrong = world.discord.complaints();
    assert!(wrong.iter().all(|known| known.contains("10062")), "{wrong:?}");
}
