use super::*;
use crate::test_telegram::{ADA_THERE, BOB_THERE, Telegram};
use crate::test_world::{C1, World};

fn values(choices: &[Choice]) -> Vec<&str> {
    choices.iter().map(|choice| choice.value.as_str()).collect()
}

/// X6: who types is offered their own chats, tasks and questions, and nobody else's.
#[tokio::test]
async fn people_choose_from_what_is_theirs() {
    let world = World::new().await;
    Telegram::new(&world).await;
    let (ada, bob) = (&world.ada, &world.bob);
    world.store().new_chat(ada.workspace, "Taxes", None).await.unwrap();
    let away = world.store().new_chat(ada.workspace, "Old", None).await.unwrap().id;
    world.control.archive_chat(ada.workspace, away, true).await.unwrap();
    let hers = world.asked(ada.workspace, C1, ada.id, "middle").await;
    let his = world.asked(bob.workspace, C1, bob.id, "middle").await;
    let offered = async |by: &str, kind, typed: &str| {
        world.control.choices("telegram", by, kind, typed).await.unwrap()
    };
    let chats = offered(ADA_THERE, ChoiceKind::Chats, "").await;
    assert_eq!(values(&chats), ["C2", "C1"]);
    assert_eq!(chats[0].label, "C2 · Taxes");
    assert_eq!(values(&offered(ADA_THERE, ChoiceKind::Chats, " TAX").await), ["C2"]);
    assert!(offered(ADA_THERE, ChoiceKind::Chats, "old").await.is_empty());
    let asked = offered(ADA_THERE, ChoiceKind::Approvals, "").await;
    assert_eq!(values(&asked), [hers.to_string()]);
    let asked = offered(BOB_THERE, ChoiceKind::Approvals, "").await;
    assert_eq!(values(&asked), [his.to_string()]);
    let tasks = offered(ADA_THERE, ChoiceKind::Tasks, "t1").await;
    assert_eq!(values(&tasks), ["T1"]);
    for kind in [ChoiceKind::Chats, ChoiceKind::Tasks, ChoiceKind::Approvals] {
        assert!(offered("666", kind, "").await.is_empty(), "a stranger chooses from nothing");
    }
}

#[tokio::test]
async fn no_more_is_offered_than_a_surface_takes() {
    let world = World::new().await;
    Telegram::new(&world).await;
    for number in 0..40 {
        let title = format!("{number} {}", "long ".repeat(40));
        world.store().new_chat(world.ada.workspace, &title, None).await.unwrap();
    }
    let chats = world.control.choices("telegram", ADA_THERE, ChoiceKind::Chats, "").await.unwrap();
    assert_eq!(chats.len(), MOST_CHOICES);
    assert!(chats.iter().all(|choice| choice.label.chars().count() <= 100));
    assert_eq!(chats[0].value, "C41", "the newest first");
}
