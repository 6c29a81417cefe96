use super::*;
use crate::test_world::{C1, World};

/// What was stored is what was decided when it came, whatever its text would be taken for by now.
#[tokio::test]
async fn a_command_is_what_it_was_decided_to_be() {
    let world = World::new().await;
    let ada = (world.ada.workspace, C1);
    let mut row = world.stored(ada, &world.ada, "/Cancel  T3 ", None).await;
    let typed = of(&row).unwrap();
    assert_eq!((typed.verb, typed.rest.as_str()), (Some(Verb::Cancel), "T3"));
    let kept = world.store().inbox().inbox_item(row.id).await.unwrap().unwrap();
    assert_eq!(kept.meant, row.meant);
    assert_eq!(
        kept.meant,
        Meant::Command(TypedCommand { name: "cancel".into(), rest: "T3".into() })
    );

    row.meant = Meant::Words;
    assert!(of(&row).is_none(), "it was for the agent");
    let gone = TypedCommand { name: "of-another-version".into(), rest: String::new() };
    row.meant = Meant::Command(gone);
    assert!(of(&row).unwrap().verb.is_none(), "it is answered that there is no such command");
}

/// What was stored before it was kept whether it is a command is read as it was then.
#[tokio::test]
async fn what_was_not_decided_is_read() {
    let world = World::new().await;
    for (text, verb) in [("!status", Some(Verb::Status)), ("/etc/hosts", None), ("hello", None)] {
        let mut row = world.stored((world.ada.workspace, C1), &world.ada, text, None).await;
        assert_eq!(of(&row).and_then(|typed| typed.verb), verb, "{text}");
        row.meant = Meant::Undecided;
        assert_eq!(of(&row).and_then(|typed| typed.verb), verb, "{text}");
    }
}
