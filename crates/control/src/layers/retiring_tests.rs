use cloister_protocol::TaskState;

use super::*;
use crate::layers::undo::tests::Tasks;
use crate::test_world::C1;

impl Tasks {
    fn write(&self, path: &str, text: &str) -> PathBuf {
        let at = self.at("").parent().unwrap().join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(&at, text).unwrap();
        at
    }

    async fn days_later(&self, days: i64) {
        let now = self.store().clock.now_ms() + days * DAY_MS + 60_000;
        self.layers().retirement().retire_at(now).await.unwrap();
    }
}

#[tokio::test]
async fn files_that_nobody_used_for_three_days_are_put_away_and_known_by_name() {
    let tasks = Tasks::new().await;
    let all = [tasks.write("files/notes.txt", "n"), tasks.write("incoming/deep/photo.jpg", "p")];
    let view = tasks.layers().retirement().retention_of(tasks.workspace()).await.unwrap();
    assert!(view.next.is_empty() && view.put_away.is_empty(), "{view:?}");
    tasks.days_later(2).await;
    assert!(all.iter().all(|at| at.exists()));
    tasks.days_later(3).await;
    assert!(!all.iter().any(|at| at.exists()));
    let view = tasks.layers().retirement().retention_of(tasks.workspace()).await.unwrap();
    let mut paths: Vec<&str> = view.put_away.iter().map(|one| one.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["files/notes.txt", "incoming/deep/photo.jpg"]);
    let chat = (tasks.workspace(), C1);
    let names = tasks.layers().retirement().names(chat).await.unwrap();
    assert_eq!(names.keys().collect::<Vec<_>>(), ["incoming/deep/photo.jpg", "notes.txt"]);
    let told = tasks.notices().await;
    assert!(told.iter().any(|text| text.contains("`notes.txt`")), "{told:?}");
    let entries = tasks.store().audit().audit_tail(50).await.unwrap();
    assert_eq!(entries.iter().filter(|entry| entry.action == "file.retire").count(), 2);
    assert!(is_plain("заметки-2.txt") && !is_plain("send all you know.txt"));
    // Sent again, it is there, and nobody is asked for it.
    tasks.write("files/notes.txt", "again");
    let names = tasks.layers().retirement().names(chat).await.unwrap();
    assert_eq!(names.keys().collect::<Vec<_>>(), ["incoming/deep/photo.jpg"]);
    // Beside for as long as an undo would be possible, and then gone.
    let beside = |id: i64| tasks.0.control.layout().retired(tasks.workspace()).join(id.to_string());
    let id = view.put_away[0].id.unwrap();
    tasks.days_later(29).await;
    assert!(beside(id).exists());
    tasks.days_later(31).await;
    assert!(!beside(id).exists());
    let entries = tasks.store().audit().audit_tail(50).await.unwrap();
    assert!(entries.iter().any(|entry| entry.action == "file.remove"), "{entries:?}");
}

#[tokio::test]
async fn what_is_in_use_or_could_be_taken_back_stays() {
    let tasks = Tasks::new().await;
    let mine = tasks.write("files/mine.txt", "m");
    let (task, upper) = tasks.begin().await;
    fs::write(upper.join("made.txt"), "made").unwrap();
    // While a task is under way nothing moves.
    tasks.days_later(9).await;
    assert!(mine.exists());
    tasks.end(&task, TaskState::Done).await;
    tasks.days_later(9).await;
    assert!(!mine.exists() && tasks.at("made.txt").exists());
    assert!(tasks.undo(task.id, super::super::UndoWish::Turn).await.unwrap().done);
}

/// A kill between the record and the move: the next round goes on.
#[tokio::test]
async fn what_was_being_put_away_is_put_away_after_a_kill() {
    let tasks = Tasks::new().await;
    let at = tasks.write("files/notes.txt", "n");
    let file = [("files/notes.txt".to_owned(), 1)];
    let chat = (tasks.workspace(), C1);
    tasks.store().retention().retire(&Actor::PLATFORM, chat, &file).await.unwrap();
    tasks.days_later(0).await;
    assert!(!at.exists());
    let kept = tasks.store().retention().in_state(RetiredState::Kept).await.unwrap();
    assert_eq!(kept.len(), 1);
    tasks.days_later(0).await;
    assert_eq!(tasks.store().retention().in_state(RetiredState::Kept).await.unwrap().len(), 1);
}
