use super::*;
use crate::db::Store;
use crate::users::UserLimits;

#[tokio::test]
async fn what_was_chosen_is_not_changed_by_what_is_heard() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("cloister.db")).await.unwrap();
    let limits = UserLimits { quota_bytes: 1, max_executors: 1, daily_budget: 1, task_budget: 1 };
    let ada = "ada".parse().unwrap();
    let ada = store.users().add_user(&Actor::Operator, &ada, limits).await.unwrap().id;
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
