use crate::surfaces::{Button, Press};
use crate::test_telegram::{ADA_THERE, GROUP, Telegram};
use crate::test_world::{C1, World};
use crate::{Heard, menu};
use cloister_store::Actor;

fn shown(buttons: &[Button]) -> Vec<(String, String)> {
    let does = |press: &Press| match press {
        Press::Command(text) => text.clone(),
        Press::Answer { approval, answer } => format!("{} {approval}", answer.as_str()),
    };
    buttons.iter().map(|button| (button.label.clone(), does(&button.press))).collect()
}

async fn offered(telegram: &Telegram<'_>, id: &str, text: &str) -> Vec<(String, String)> {
    let world = telegram.world;
    let (speaker, _) =
        telegram.hears(ADA_THERE, Heard::Direct(ADA_THERE), (id, text)).await.unwrap();
    let id = id.parse().unwrap();
    let row =
        world.control.inbox().stored_message("telegram", &speaker, &id).await.unwrap().unwrap();
    shown(&world.control.commands().buttons_below(&row).await.unwrap())
}

fn pair(label: &str, command: &str) -> (String, String) {
    (label.to_owned(), command.to_owned())
}

/// X5: lists come with what can be done about each: other chats, running tasks, open questions.
#[tokio::test]
async fn lists_have_buttons() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), world.ada.workspace, "Taxes", None)
        .await
        .unwrap();
    let chats = offered(&telegram, "m1", "/chats").await;
    assert_eq!(chats, [pair("C2 · Taxes", "/chats C2"), pair("New chat", "/new")]);
    assert!(offered(&telegram, "m2", "/status").await.is_empty(), "nothing runs");
    let asked = world.asked(world.ada.workspace, C1, world.ada.id, "middle").await;
    let status = offered(&telegram, "m3", "/status").await;
    let cancel = pair("Cancel T1 · a task", "/cancel T1");
    assert_eq!(status, [cancel.clone(), pair("What is asked", "/approvals")]);
    assert_eq!(offered(&telegram, "m4", "/tasks").await, [cancel]);
    let answers = offered(&telegram, "m5", "/approvals").await;
    let (allow, deny) = (format!("Allow {asked}"), format!("Deny {asked}"));
    assert_eq!(
        answers,
        [pair(&allow, &format!("allow {asked}")), pair(&deny, &format!("deny {asked}"))]
    );
    let settings = offered(&telegram, "m6", "/config").await;
    assert!(settings.contains(&pair("Chats", "/chats")), "{settings:?}");
    for (number, plain) in ["hello", "/help", "/nonsense", "/cancel T9"].into_iter().enumerate() {
        assert!(offered(&telegram, &format!("p{number}"), plain).await.is_empty(), "{plain}");
    }
    for (_, does) in chats.iter().chain(&settings) {
        assert!(crate::commands::parse(does).unwrap().verb.is_some(), "{does}");
    }
}

/// I3: where others read along, no button opens what is somebody's own.
#[tokio::test]
async fn a_group_is_offered_nothing_private() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    telegram.club_group().await;
    world.role(&world.ada, "member").await;
    world.asked(world.ada.workspace, C1, world.ada.id, "middle").await;
    world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), world.ada.workspace, "Taxes", None)
        .await
        .unwrap();
    for (id, text) in
        [("g1", "/chats"), ("g2", "/status"), ("g3", "/settings"), ("g4", "/approvals")]
    {
        let group = Heard::Shared(GROUP);
        let (speaker, _) = telegram.hears(ADA_THERE, group, (id, text)).await.unwrap();
        let id = id.parse().unwrap();
        let row =
            world.control.inbox().stored_message("telegram", &speaker, &id).await.unwrap().unwrap();
        let buttons = shown(&world.control.commands().buttons_below(&row).await.unwrap());
        assert!(buttons.is_empty(), "{text}: {buttons:?}");
    }
}

/// X5, X6: what a surface offers fits what platforms take, and is understood when it is typed.
#[tokio::test]
async fn the_menu_is_understood() {
    let items: Vec<_> = menu().collect();
    for item in &items {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        assert!((1..=32).contains(&item.name.len()) && item.name.bytes().all(fits), "{item:?}");
        assert!((1..=100).contains(&item.help.chars().count()), "{item:?}");
        for sign in ['/', '!'] {
            let typed = crate::commands::parse(&format!("{sign}{} x", item.name)).unwrap();
            assert!(typed.verb.is_some(), "{item:?}");
        }
    }
    let names: Vec<&str> = items.iter().map(|item| item.name).collect();
    for asked_for in
        "start new archive rename chats clear status cancel config settings task approve deny \
                      admin_channel"
            .split_whitespace()
    {
        assert!(names.contains(&asked_for), "{asked_for}");
    }
}

/// X6: a task is started from a person's own words, once, and shown in full to who may see it.
#[tokio::test]
async fn a_task_is_started_and_shown() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let said = telegram.answers("m1", "/task sort the photos\nby year").await;
    assert!(said.starts_with("T1 is started: sort the photos"), "{said}");
    let task = world.store().tasks().list(world.ada.workspace, 9).await.unwrap();
    let [task] = task.as_slice() else { panic!("{task:?}") };
    assert_eq!(task.instructions, "sort the photos\nby year");
    assert_eq!((task.person, task.chat), (world.ada.id, C1));
    let said = telegram.answers("m2", "/task T1").await;
    assert!(
        said.contains("sort the photos\nby year") && said.contains("T1 sort the photos"),
        "{said}"
    );
    let said = telegram.answers("m3", "/task").await;
    assert!(said.contains("say what is to be done"), "{said}");
    world.asked(world.bob.workspace, C1, world.bob.id, "middle").await;
    let said = telegram.answers("m4", "/task T2").await;
    assert!(said.contains("there is no task T2"), "somebody else's: {said}");
    assert_eq!(world.store().tasks().list(world.ada.workspace, 9).await.unwrap().len(), 1);
}
