use super::*;
use crate::actor::Actor;
use crate::test_world;

#[tokio::test]
async fn what_a_sub_task_changed_is_part_of_what_the_task_above_did() {
    let (_dir, store) = test_world::store().await;
    let user = test_world::add(&store, "ada").await;
    store.chats().new_chat(&Actor::person("ada"), user.workspace, "", None).await.unwrap();
    let new = |parent| crate::tasks::NewTask {
        workspace: user.workspace,
        chat: ChatId::from_number(1),
        person: user.id,
        parent,
        turn: cloister_protocol::TurnId::of_message(1),
        title: "t".into(),
        instructions: "i".into(),
        request: String::new(),
        files: vec![],
        plan_first: false,
        budget: 1,
        hosts: None,
        secrets: None,
        marks: vec![],
    };
    let above = store.tasks().delegate(new(None), "s", "1").await.unwrap().id;
    let below = store.tasks().delegate(new(Some(above)), "s", "2").await.unwrap().id;
    let documents = store.task_documents();
    assert_eq!(documents.standing(above).await.unwrap(), None);
    documents.note((user.workspace, above), "MEMORY.md", Some("a"), "b").await.unwrap();
    documents.note((user.workspace, below), "skills/x/SKILL.md", None, "x").await.unwrap();
    let of = documents.of(above).await.unwrap();
    assert_eq!(
        of.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(),
        ["MEMORY.md", "skills/x/SKILL.md"]
    );
    assert_eq!(documents.of(below).await.unwrap().len(), 1);
    assert_eq!(documents.standing(above).await.unwrap(), Some(false));
    let chat = (user.workspace, ChatId::from_number(1));
    assert_eq!(documents.newest_of_chat(chat).await.unwrap(), Some(above));

    let undone = UndoneDocument { from: Some("b".into()), to: None };
    let marks: Vec<_> = of.iter().map(|one| (one.id, Some(undone.clone()))).collect();
    documents.set_undone(&marks).await.unwrap();
    let again = documents.of(above).await.unwrap();
    assert!(again.iter().all(|one| one.undone.as_ref() == Some(&undone)), "{again:?}");
    assert_eq!(documents.standing(above).await.unwrap(), Some(true));
    assert_eq!(documents.newest_of_chat(chat).await.unwrap(), None);
    documents.set_undone(&[(of[0].id, None)]).await.unwrap();
    assert_eq!(documents.of(above).await.unwrap()[0].undone, None);

    let tasks = documents.tasks().await.unwrap();
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert_eq!((tasks[0].1, tasks[0].2), (chat.1, above));
    documents.set_told(&[above], 7).await.unwrap();
    documents.set_told(&[above], 8).await.unwrap();
    assert_eq!(documents.told().await.unwrap().get(&above), Some(&8));
    let entry = crate::audit::Entry::new(&Actor::PLATFORM, "task.forget", above);
    documents.forget(above, entry.of_workspace(user.workspace)).await.unwrap();
    assert!(documents.told().await.unwrap().is_empty());
    assert_eq!(documents.standing(above).await.unwrap(), None);
}
