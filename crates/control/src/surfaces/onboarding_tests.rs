use super::naming;
use crate::test_world::World;

/// X2: a welcome names the commands as they are typed on that surface.
#[tokio::test]
async fn a_welcome_names_the_commands_as_they_are_typed_there() {
    let world = World::new().await;
    let matrix = world.control.surfaces().welcome(world.ada.id, "matrix").await.unwrap();
    assert!(matrix.starts_with("Hello ada."), "{matrix}");
    for command in ["!new", "!chats", "!yes", "!no", "!cancel", "!clear", "!help", "!settings"] {
        assert!(matrix.contains(&format!("`{command}")), "{command} in {matrix}");
    }
    let web = world.control.surfaces().welcome(world.ada.id, "web").await.unwrap();
    assert!(web.contains("`/new") && !web.contains("`!"), "{web}");
}

/// I2: who asks for a code gets one, and a flood of asking is answered once.
#[tokio::test]
async fn who_asks_for_codes_again_and_again_is_answered_a_few_times() {
    let world = World::new().await;
    for asks in ["pair", " Pair ", "!pair", "/PAIR"] {
        assert!(cloister_kit::words::asks_to_pair(asks), "{asks}");
    }
    for talk in ["pair me", "repair", "", "!"] {
        assert!(!cloister_kit::words::asks_to_pair(talk), "{talk}");
    }
    let mut answers = Vec::new();
    for _ in 0..20 {
        let words =
            world.control.surfaces().pairing_words("matrix", "@eve:example.org", "Eve").await;
        answers.extend(words);
    }
    assert_eq!(answers.len(), 4, "three codes, and once that it is too often: {answers:?}");
    assert!(answers.iter().take(3).all(|words| words.contains("`cloister pair ")), "{answers:?}");
    assert!(answers.last().unwrap().contains("try again in"), "{answers:?}");
}

/// A stranger who begins anew is told again, a few times a day, and not as often as they like.
#[tokio::test]
async fn who_begins_anew_is_told_again_a_few_times() {
    let world = World::new().await;
    let told = |who: &str| world.control.surfaces().refusal_again("matrix", who);
    let again = (0..20).filter(|_| told("@eve:example.org").is_some()).count();
    assert_eq!(again, 3);
    assert!(told("@bob:example.org").is_some_and(|words| words.contains("pair")));
}

#[tokio::test]
async fn a_flood_is_answered_once_in_a_while() {
    let world = World::new().await;
    let once = |surface: &str, key: &str| world.control.surfaces().once_a_while(surface, key);
    let said = (0..50).filter(|_| once("matrix", "busy 1")).count();
    assert_eq!(said, 1);
    assert!(once("matrix", "busy 2"), "another conversation is told on its own");
    assert!(once("telegram", "busy 1"), "and so is another surface");
}

/// A connector that asks about ever new and endless names has some of them remembered, and keeps nobody else's
/// conversations from being told.
#[tokio::test]
async fn what_one_connector_asks_about_is_bounded_and_its_own() {
    let world = World::new().await;
    let once = |surface: &str, key: &str| world.control.surfaces().once_a_while(surface, key);
    let fresh = (0..20_000).filter(|number| once("discord", &format!("name {number}"))).count();
    assert!(fresh < 20_000, "{fresh} are remembered");
    assert!(once("matrix", "name 1"));
    let endless = "n".repeat(1 << 20);
    assert!(once("telegram", &endless));
    assert!(!once("telegram", &format!("{endless}n")), "the beginning counts");
}

/// X9: who is not connected is told which conversation to connect; an id that a shell could take for more is not.
#[test]
fn what_to_connect_is_named_if_it_is_one_word() {
    let words = "Connect it with `cloister context add`.";
    let named = naming(words, "telegram", "-1001234/7");
    assert!(named.contains("--surface telegram --conversation='-1001234/7'`."), "{named}");
    for odd in ["a'; rm -rf ~; '", "a`b", "a b", "$(x)"] {
        assert_eq!(naming(words, "matrix", odd), words);
    }
    assert_eq!(naming("Write to me directly.", "discord", "1"), "Write to me directly.");
}
