//! X5: a conversation that shows one chat at a time.

use cloister_protocol::{ChatId, Language};
use cloister_store::Actor;

use crate::Heard;
use crate::test_telegram::{ADA_THERE, BOB_THERE, Telegram};
use crate::test_world::{C1, World};

const C2: ChatId = ChatId::from_number(2);
const DOOR: Heard<'_> = Heard::Direct(ADA_THERE);

#[tokio::test]
async fn a_lobby_is_turned_by_new_and_chats() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let said = telegram.answers("m1", "/new Taxes").await;
    assert!(said.starts_with("C2 “Taxes” is shown here from now on"), "{said}");
    assert_eq!(telegram.lobby().await.chat, C2);
    let said = telegram.answers("m2", "/chats").await;
    assert!(said.contains("C2 Taxes [telegram] (here)") && said.contains("/chats C1"), "{said}");
    let said = telegram.answers("m3", "/chats c1").await;
    assert!(said.starts_with("C1 is shown here"), "{said}");
    assert_eq!(telegram.lobby().await.chat, C1);
    let said = telegram.answers("m4", "/chats C9").await;
    assert!(said.contains("there is no chat C9"), "{said}");
    assert_eq!(telegram.lobby().await.chat, C1);
    world
        .control
        .chats()
        .archive_chat(&Actor::person("test"), world.ada.workspace, C2, true)
        .await
        .unwrap();
    let said = telegram.answers("m5", "/chats C2").await;
    assert!(said.contains("It is archived"), "{said}");
}

/// X1: what is written right after a lobby was turned is for the chat that it shows then, also before the command
/// was answered; and a message that comes again is the same one, whatever is shown by then.
#[tokio::test]
async fn what_is_written_next_is_for_the_chat_that_is_shown() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let (first, _) = telegram.hears(ADA_THERE, DOOR, ("m1", "/new Taxes")).await.unwrap();
    assert_eq!(first.chat, C1);
    let (next, receipt) = telegram.hears(ADA_THERE, DOOR, ("m2", "hello")).await.unwrap();
    assert_eq!((next.chat, receipt.duplicate), (C2, false));
    let (again, receipt) = telegram.hears(ADA_THERE, DOOR, ("m1", "/new Taxes")).await.unwrap();
    assert!(receipt.duplicate, "it was written in C1, and the lobby shows C2");
    let stored = async |id: &str| {
        let id = id.parse().unwrap();
        world.control.inbox().stored_message("telegram", &again, &id).await.unwrap()
    };
    assert_eq!(stored("m1").await.unwrap().chat, C1);
    assert_eq!(stored("m2").await.unwrap().chat, C2);
    assert!(stored("m3").await.is_none());
    assert_eq!(world.store().chats().of(world.ada.workspace).await.unwrap().len(), 2);
    assert_eq!(telegram.lobby().await.chat, C2);
}

/// What commands answer is said in the language of who typed them; what they name stays as it is.
#[tokio::test]
async fn commands_answer_in_the_language_of_who_types_them() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let (languages, ada) = (world.control.people().languages(), &world.ada);
    let herself = Actor::person("ada");
    for (number, to, said) in [
        (
            1,
            Language::De,
            ["wird von jetzt an hier gezeigt", "heißt jetzt", "nichts draußen", "Archiviert"],
        ),
        (
            2,
            Language::Ru,
            ["теперь показан здесь", "теперь называется", "снаружи недоступно", "архив"],
        ),
    ] {
        languages.choose_language(&herself, ada.id, Some(to)).await.unwrap();
        let answer =
            async |name: &str, text: &str| telegram.answers(&format!("{name}{number}"), text).await;
        let new = answer("n", "/new Taxes").await;
        assert!(new.contains(said[0]) && new.contains("“Taxes”"), "{new}");
        let renamed = answer("r", "/rename Steuern").await;
        assert!(renamed.contains(said[1]) && renamed.contains("Steuern"), "{renamed}");
        let network = answer("w", "/network").await;
        assert!(network.contains(said[2]) && network.contains("/allow pypi.org"), "{network}");
        answer("a", "/archive C1").await;
        let listed = answer("l", "/chats").await;
        assert!(listed.to_lowercase().contains(&said[3].to_lowercase()), "{listed}");
        answer("u", "/archive C1 undo").await;
    }
}

/// An old message that comes again turns nothing back.
#[tokio::test]
async fn a_message_that_comes_again_turns_nothing_back() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    telegram.answers("m1", "/new Taxes").await;
    telegram.answers("m2", "/chats C1").await;
    telegram.answers("m3", "/chats C2").await;
    for id in ["m2", "m1"] {
        let text = if id == "m1" { "/new Taxes" } else { "/chats C1" };
        let (_, receipt) = telegram.hears(ADA_THERE, DOOR, (id, text)).await.unwrap();
        assert!(receipt.duplicate);
        assert_eq!(telegram.lobby().await.chat, C2);
    }
}

/// With a home, every chat has a topic of its own there, and the conversation itself stays as it is.
#[tokio::test]
async fn with_topics_a_lobby_stays_as_it_is() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let (ada, connector) = (&world.ada, telegram.connector.id);
    world.store().chats().set_home(connector, ada.id, Some(ADA_THERE)).await.unwrap();
    let said = telegram.answers("m1", "/new Taxes").await;
    assert_eq!(said, "C2 “Taxes”: a topic is being opened for it.");
    assert_eq!(telegram.lobby().await.chat, C1);
    let wanted = world.store().conversations().conversations_to_mend(connector).await.unwrap();
    assert_eq!(wanted.iter().map(|mend| mend.title.as_str()).collect::<Vec<_>>(), ["Taxes"]);
    let said = telegram.answers("m2", "/chats C2").await;
    assert!(said.contains("it is being opened") && !said.contains("write there"), "{said}");
    assert_eq!(telegram.lobby().await.chat, C1);
}

/// E81: no lobby shows somebody else's chat, however it is asked for.
#[tokio::test]
async fn a_lobby_shows_nobody_elses_chat() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), world.bob.workspace, "Bob's", None)
        .await
        .unwrap();
    let lobby = telegram.lobby().await;
    let said = telegram.answers("m1", "/chats C2").await;
    assert!(said.contains("there is no chat C2") && !said.contains("Bob"), "{said}");
    let said = telegram.answers("m2", "/chats").await;
    assert!(!said.contains("Bob"), "{said}");
    assert!(world.store().chats().show_in_lobby(lobby.id, C2, "x").await.is_err());
    let his = telegram.speaker(BOB_THERE, Heard::Direct(BOB_THERE)).await;
    assert_eq!((his.workspace, his.chat), (world.bob.workspace, C1));
    let now = telegram.lobby().await;
    assert_eq!((now.workspace, now.chat), (world.ada.workspace, C1));
}
