use super::*;
use crate::test_world;

#[tokio::test]
async fn what_was_chosen_is_not_changed_by_what_is_heard() {
    let (_dir, store) = test_world::store().await;
    let ada = test_world::add(&store, "ada").await.id;
    let users = store.users();
    assert_eq!(users.language(ada).await.unwrap().best(), None);
    users.note_language(ada, Language::Ru).await.unwrap();
    assert_eq!(users.language(ada).await.unwrap().best(), Some(Language::Ru));
    let actor = Actor::person("ada");
    users.choose_language(&actor, ada, Some(Language::De)).await.unwrap();
    users.note_language(ada, Language::En).await.unwrap();
    assert_eq!(users.language(ada).await.unwrap().best(), Some(Language::De));
    users.choose_language(&actor, ada, None).await.unwrap();
    assert_eq!(users.language(ada).await.unwrap().best(), Some(Language::En));
}
